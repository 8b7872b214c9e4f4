//! The AEGIS front end.

mod corpus;
mod support;
