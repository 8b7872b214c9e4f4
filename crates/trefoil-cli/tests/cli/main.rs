//! The real binary, as somebody types it. No provider's key reaches it.

mod bad_input;
mod cancel;
mod check;
mod corpus;
mod examples;
mod render;
mod run;
mod show;
mod world;
