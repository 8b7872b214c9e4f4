//! Helpers for the tests of several crates: building programs, driving the machine step by step, a database server. No
//! async, no ports.
#![allow(
    missing_docs,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "read beside the tests that use it; a test that cannot go on fails"
)]

pub mod build;
pub mod postgres;
pub mod run;

pub use build::Build;
pub use run::Run;
