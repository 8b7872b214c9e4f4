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
mod newer;
mod no_effect;
mod runs;
mod scores;
mod shell;
mod support;
mod swallowed_keys;
mod templates;
mod workflows;
mod world;
