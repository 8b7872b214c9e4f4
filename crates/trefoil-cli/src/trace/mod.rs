//! Shows recorded traces: reads the file, formats the tree of a run, and one step's prompts with the origin of each
//! part.
//!
//! Works on the JSON, so that traces of other versions are shown as far as they are understood. All texts in a trace
//! are untrusted and are escaped for the terminal.

mod names;
mod step;
mod trace_file;
mod tree;
mod words;

pub use step::{find_calls, show_step};
pub use trace_file::read_trace;
pub use tree::format_tree;

use trefoil_host::command::RunOptions;

/// The style of the output.
#[derive(Debug, Clone, Copy)]
pub struct TraceStyle<'n> {
    /// The name of the trace in suggested commands.
    pub name: &'n str,
    /// The options of suggested commands.
    pub options: &'n RunOptions,
    /// Use colours.
    pub color: bool,
    /// The width of the terminal.
    pub width: usize,
}
