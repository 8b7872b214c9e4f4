//! Tests of the model providers: over real HTTP against a server in this process, and one suite for all of them.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests may fail the test"
)]

#[cfg(feature = "http")]
mod anthropic;
#[cfg(feature = "http")]
mod bursts;
#[cfg(feature = "http")]
mod chat;
mod conformance;
#[cfg(feature = "http")]
mod declared;
#[cfg(feature = "http")]
mod docs;
#[cfg(feature = "http")]
mod errors;
#[cfg(feature = "http")]
mod faces;
#[cfg(feature = "http")]
mod failures;
#[cfg(feature = "http")]
mod fallback;
mod finish_and_usage;
#[cfg(feature = "http")]
mod foreign_json;
#[cfg(feature = "http")]
mod incomplete;
#[cfg(feature = "http")]
mod neighbours;
mod plan;
mod program;
#[cfg(feature = "http")]
mod recorded;
mod request;
#[cfg(feature = "http")]
mod responses;
mod scripted;
#[cfg(feature = "http")]
mod server;
#[cfg(feature = "http")]
mod streams;
#[cfg(feature = "http")]
mod tools;
