//! Commands about the runs of a server, with the real binary on both sides. A binary of its own: it starts servers.
#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stderr,
    reason = "a test that cannot go on fails"
)]

#[path = "../cli/provider.rs"]
#[allow(dead_code, reason = "shared with other tests")]
mod provider;
#[path = "../cli/pty.rs"]
#[allow(dead_code, reason = "shared with other tests")]
mod pty;
#[path = "../cli/world.rs"]
#[allow(dead_code, reason = "shared with other tests")]
mod world;

mod certificates;
mod connection;
mod limits;
mod live;
mod refusals;
mod runs;
mod scene;
mod traces;
