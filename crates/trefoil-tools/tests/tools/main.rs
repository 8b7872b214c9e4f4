//! Tools against real servers on this machine.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on fails"
)]

mod attacks;
mod conformance;
mod guard;
mod server;
