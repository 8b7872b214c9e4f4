//! Puts common mistakes into correct manifests, and tests whether each is found on the right line with the right fix.
//!
//! - `manifest`: a correct manifest and its places
//! - `edit`: changes of its text, and the lines on which each may be reported
//! - `classes`: the mistakes, one function each
//! - `run`: makes the mistakes, checks, counts
//! - `table`: formats the result
//!
//! Deterministic: the same seed selects the same places. Nothing is written to disk; a mutated text is an overlay.
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
