//! The runtime, through its public interface: programs put together by hand, run by the driver with ports in memory.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on fails"
)]

mod driving;
mod graphs;
mod holes;
mod inputs;
mod iterations;
mod limits;
mod schema_retries;
mod policies;
mod states;
mod steps;
mod transport_retries;
mod incomplete_answers;
mod world;
