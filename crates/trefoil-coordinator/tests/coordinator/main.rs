//! Tests the coordinator through its public interface, with a host in memory: it performs work in the order of a seed, and ends
//! anywhere.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on fails"
)]

mod crashes;
mod edits;
mod inputs;
mod memory_host;
mod turns;

#[path = "../../../trefoil-machine/tests/machine/machine.rs"]
#[allow(dead_code, reason = "only the answers are used here")]
mod machine;
#[path = "../../../trefoil-machine/tests/machine/random.rs"]
mod random;
