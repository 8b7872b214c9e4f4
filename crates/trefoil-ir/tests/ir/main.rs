//! The IR, through its public interface.

#![allow(clippy::indexing_slicing, clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod fingerprint;
mod prices;
mod types;
mod valid;
