//! The rules and their pages, as users see them, with manifests of each dialect.

#![allow(clippy::print_stdout, reason = "a test says what it skips and what it saw")]
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test that cannot go on fails")]

mod aegis;
mod blackboard;
mod catalogue;
mod comparisons;
mod conditions;
mod corpus;
mod cost;
mod deep_types;
mod duplicate_findings;
mod endless_loop;
mod flow;
mod json;
mod limits;
mod meetings;
mod models;
mod nodes;
mod prompts;
mod safety;
mod sound_manifests;
mod steps;
mod support;
mod types;
