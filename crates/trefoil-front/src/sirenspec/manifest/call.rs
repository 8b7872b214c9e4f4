//! Workflow nodes: another file as one node.

use trefoil_syntax::yaml::{Entry, Text};

use super::write::{self, Write};
use super::{factory, scalar};
use crate::Fields;

/// A sub-workflow.
#[derive(Debug, Clone)]
pub struct CallNode<'n> {
    /// The file, relative to the one that names it.
    pub reference: Option<&'n Text>,
    /// What the sub-workflow sees as `inputs.*`, beside the message.
    pub inputs: Vec<&'n Entry>,
    /// A second place for its output.
    pub writes: Option<Write<'n>>,
    /// How deep workflows may be nested at this node.
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
