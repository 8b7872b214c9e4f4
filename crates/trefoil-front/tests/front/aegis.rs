//! The AEGIS front end.

mod agents;
mod corpus;
mod examples;
mod habits;
mod meant;
mod names;
mod runs;
mod shell;
mod slips;
mod support;
mod workflows;
mod world;
