//! Tests of the store in a file, with real files, locks and damage.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic, reason = "tests")]

mod faults;
mod letters;
mod reading;
mod runs;
mod suite;
mod world;
