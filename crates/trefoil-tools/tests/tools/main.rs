//! Tools against real servers on this machine.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test that cannot go on fails"
)]

mod attacks;
mod commands;
mod conformance;
mod foreign_json;
mod guard;
#[cfg(feature = "mcp")]
mod mcp;
#[cfg(feature = "mcp")]
mod mcp_odd;
mod python;
#[cfg(all(feature = "mcp", unix))]
mod reference;
mod server;
mod site;
#[cfg(feature = "mcp")]
mod stand_in;
