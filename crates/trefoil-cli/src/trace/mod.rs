//! A recorded trace for people: reading the file, the tree of a run, one step's prompts with where each part came from.
//!
//! Works on the JSON, so that a trace of another version or machine is shown as far as it is understood. Everything in it
//! is a stranger's text: nothing of it reaches a terminal as it is.

mod names;
mod read;
mod step;
mod tree;
mod words;

pub use read::read;
pub use step::{MissingStep, step};
pub use tree::tree;

/// How it is shown.
#[derive(Debug, Clone, Copy)]
pub struct TraceLook {
    /// With colours.
    pub color: bool,
    /// Columns.
    pub width: usize,
}
