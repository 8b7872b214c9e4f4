//! The runtime, through its public interface: programs made by a small builder, the machine driven by hand, the driver
//! with ports in memory.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on fails"
)]

mod build;
mod driving;
mod embedded;
mod graphs;
mod holes;
mod intake;
mod iterations;
mod limits;
mod machine;
mod misfits;
mod policies;
mod properties;
mod random;
mod states;
mod steps;
mod unasked;
mod valid;
mod whole;
mod world;
