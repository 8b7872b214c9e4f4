//! The agntz front end: a test is a manifest and what the checker says about it.

mod corpus;
mod examples;
mod habits;
mod limits;
mod lowering;
mod manifest;
mod mutations;
mod names;
mod schema;
mod slips;
mod steps;
mod support;
mod tools;
