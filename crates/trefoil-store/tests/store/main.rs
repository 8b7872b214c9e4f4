//! Tests of stores: SQLite with real files, locks and damage, Postgres with a real server.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic, reason = "tests")]

mod earlier_builds;
mod faults;
#[cfg(feature = "postgres")]
mod figures;
mod letters;
#[cfg(feature = "postgres")]
mod list_times;
mod one_act;
#[cfg(feature = "postgres")]
mod outage;
#[cfg(feature = "postgres")]
mod postgres;
mod reading;
mod runs;
mod shared_permits;
mod suite;
mod world;

#[path = "../../../trefoil-machine/tests/machine/machine.rs"]
#[allow(dead_code, reason = "the machine's tests use the rest")]
mod machine;
mod programs;
#[path = "../../../trefoil-machine/tests/machine/random.rs"]
mod random;
