//! The features as plain data, over the examples of the project, and a session of a client elsewhere.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stderr,
    reason = "a test that cannot go on fails, and a skipped one says so"
)]

mod all_features;
mod foreign_client;
