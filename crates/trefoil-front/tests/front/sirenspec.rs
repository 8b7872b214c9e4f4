//! The SirenSpec front end.

mod corpus;
mod support;
