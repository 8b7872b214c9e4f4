//! Tests the runtime through its public interface: programs built by hand, run by the driver with in-memory ports.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on fails"
)]

mod called;
mod conversations;
mod cut_off;
mod drafts;
mod driving;
mod edits;
mod graphs;
mod holes;
mod incomplete_answers;
mod inputs;
mod iterations;
mod limits;
mod policies;
mod private_values;
mod queues;
mod reopened;
mod schema_retries;
mod shared_limits;
mod states;
mod steps;
mod suites;
mod transport_retries;
mod waiting;
mod world;
