//! The SirenSpec front end.

mod calls;
mod corpus;
mod examples;
mod instead;
mod lost;
mod names;
mod order;
mod reading;
mod seed;
mod settings;
mod slips;
mod steps;
mod support;
