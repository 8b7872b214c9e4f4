//! The SirenSpec front end.

mod corpus;
mod scratch;
mod support;
