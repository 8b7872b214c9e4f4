//! Workflow nodes: another file as a node.

use trefoil_syntax::yaml::{Entry, Text};

use super::write::{self, Write};
use super::{factory, scalar};
use crate::Fields;

/// A sub-workflow.
#[derive(Debug, Clone)]
pub struct CallNode<'n> {
    /// The file, relative to the file of the node.
    pub reference: Option<&'n Text>,
    /// The values for the sub-workflow's `inputs.*`, in addition to the message.
    pub inputs: Vec<&'n Entry>,
    /// A second path for its output.
    pub writes: Option<Write<'n>>,
    /// The maximum nesting of workflows at this node.
    pub max_depth: u32,
}

/// The keys of a workflow node.
pub fn read<'n>(fields: &mut Fields<'n, '_>) -> CallNode<'n> {
    CallNode {
        reference: scalar::require_plain(fields, "ref"),
        inputs: factory::inputs(fields),
        writes: write::optional(fields),
        max_depth: scalar::count(fields, "max_depth", 1).unwrap_or(10),
    }
}
