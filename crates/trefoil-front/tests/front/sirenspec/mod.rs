//! The SirenSpec front end.

mod calls;
mod conditions;
mod corpus;
mod examples;
mod factories;
mod foreign_words;
mod inputs;
mod models;
mod names;
mod order;
mod paths;
mod placeholders;
mod reading;
mod seed;
mod settings;
mod steps;
mod support;
