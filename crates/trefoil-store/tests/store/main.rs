//! Tests of the store in a file, with real files, locks and damage.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic, reason = "tests")]

mod faults;
mod letters;
mod reading;
mod runs;
mod suite;
mod world;

#[path = "../../../trefoil-machine/tests/machine/machine.rs"]
#[allow(dead_code, reason = "the machine's tests use the rest")]
mod machine;
mod programs;
#[path = "../../../trefoil-machine/tests/machine/random.rs"]
mod random;
