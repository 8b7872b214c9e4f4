//! The IR, through its public interface.

#![allow(clippy::indexing_slicing, reason = "a test that cannot go on fails")]

mod valid;
