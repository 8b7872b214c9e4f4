//! The server as its clients see it: over HTTP, with a store in a file, and models that answer from a script.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod api;
mod clients;
mod conformance;
mod described_api;
mod edited_runs;
mod flow_files;
mod histories;
mod language_server;
mod mcp;
mod openai;
mod openai_requests;
mod openai_streams;
mod page;
mod repeated_requests;
mod resume_permissions;
mod test_server;
