//! The AEGIS front end.

mod corpus;
mod examples;
mod scratch;
mod shell;
mod support;
