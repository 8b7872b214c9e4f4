//! The real binary, as somebody types it. No provider's key reaches it.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stderr,
    reason = "a test that cannot go on fails, and a skipped one says so"
)]

mod attacks;
mod bad_input;
mod cancel;
mod check;
mod corpus;
#[cfg(unix)]
mod cut_off;
mod discovery;
mod durable;
mod examples;
mod fix;
#[cfg(unix)]
mod formats;
mod init;
mod inputs;
#[cfg(unix)]
mod kept;
mod levels;
mod lsp;
#[cfg(unix)]
mod offer;
mod pages;
mod plan_graph_ir;
mod portability;
#[cfg(unix)]
mod provider;
mod readme;
mod reference;
mod render;
mod run;
mod store;
#[cfg(unix)]
mod terminal;
mod tools;
mod trace;
mod world;
