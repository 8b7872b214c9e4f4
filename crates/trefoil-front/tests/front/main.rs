//! The front ends, from YAML text to diagnostics and IR.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]
#![allow(clippy::print_stderr, reason = "a skipped test says so")]

mod aegis;
mod agntz;
mod facts;
mod no_retry;
mod sirenspec;
mod support;
mod worked_time;
