//! Mistakes that people make, seeded into sound manifests: is each one found, on the right line, with the right fix?
//!
//! - `manifest`: a sound manifest and what is where in it
//! - `edit`: changes of its text, and the lines on which each has to be noticed
//! - `classes`: the mistakes, one function each
//! - `run`: seeds them, checks, counts
//! - `table`: the result for a person
//!
//! Deterministic: the same seed picks the same places. Writes nothing to disk; a mutated text is an overlay.
#![allow(
    clippy::indexing_slicing,
    reason = "a test tool; offsets are those of the tree, and a wrong one has to be seen"
)]

pub mod classes;
pub mod edit;
pub mod manifest;
pub mod run;
pub mod table;

pub use manifest::Manifest;
pub use run::{Limits, Outcome, run};
