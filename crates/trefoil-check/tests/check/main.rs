//! The rules and their pages, as a user meets them, over manifests of each dialect.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test that cannot go on fails")]

mod catalogue;
mod corpus;
mod pages;
mod support;
mod types;
