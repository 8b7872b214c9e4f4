//! The AEGIS front end.

mod agents;
mod corpus;
mod examples;
mod names;
mod scratch;
mod shell;
mod support;
mod workflows;
