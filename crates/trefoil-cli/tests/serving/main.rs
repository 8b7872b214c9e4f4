//! `trefoil serve` as its operator runs it: killed under load, attacked, with others on one Postgres server, without its store.
#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stderr,
    reason = "a test that cannot go on fails, and figures are for whoever runs it"
)]

mod attacks;
mod busy;
mod called;
mod drained;
mod edits;
mod http;
mod journal;
mod keys;
mod killed;
mod log;
mod outage;
mod rights;
mod scene;
mod several;
mod watcher;

#[path = "../cli/provider.rs"]
#[allow(dead_code, reason = "shared with other tests")]
mod provider;
#[path = "../cli/world.rs"]
#[allow(dead_code, reason = "shared with other tests")]
mod world;
