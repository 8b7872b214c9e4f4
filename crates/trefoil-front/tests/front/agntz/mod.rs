//! The agntz front end. Each test is a manifest and the checker's findings about it.

mod conditions;
mod corpus;
mod examples;
mod foreign_words;
mod limits;
mod lowering;
mod manifest;
mod misspelled;
mod models;
mod mutations;
mod names;
mod placeholders;
mod schema;
mod shapes;
mod steps;
mod support;
mod swallowed_keys;
mod tools;
