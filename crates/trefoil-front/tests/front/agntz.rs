//! The agntz front end.

mod corpus;
mod examples;
mod scratch;
mod support;
