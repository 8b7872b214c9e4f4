//! The features as plain data, over the examples of the project.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stderr,
    reason = "a test that cannot go on fails, and a skipped one says so"
)]

mod all_features;
