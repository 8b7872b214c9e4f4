//! Shows recorded traces: reads the file, formats the tree of a run, and one step's prompts with the origin of each
//! part.
//!
//! Works on the JSON, so that traces of other versions are shown as far as they are understood. All texts in a trace
//! are untrusted and are escaped for the terminal.

mod names;
mod read;
mod step;
mod tree;
mod words;

pub use read::read;
pub use step::{calls, step};
pub use tree::tree;

use trefoil_host::command::RunOptions;

/// The style of the output.
#[derive(Debug, Clone, Copy)]
pub struct TraceLook<'n> {
    /// The name of the trace in suggested commands.
    pub name: &'n str,
    /// The options of suggested commands.
    pub options: &'n RunOptions,
    /// Use colours.
    pub color: bool,
    /// The width of the terminal.
    pub width: usize,
}
