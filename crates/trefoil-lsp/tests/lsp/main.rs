//! The features as plain data, over the examples of the project.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that cannot go on fails")]

mod everywhere;
