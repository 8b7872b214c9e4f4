//! The AEGIS front end.

mod agents;
mod corpus;
mod examples;
mod foreign_words;
mod inputs;
mod judges;
mod loops;
mod misplaced;
mod names;
mod no_effect;
mod runs;
mod shell;
mod support;
mod templates;
mod workflows;
mod world;
