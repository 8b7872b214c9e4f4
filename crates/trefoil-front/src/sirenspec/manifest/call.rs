//! Workflow nodes: another file as a node.

use trefoil_syntax::yaml::{YamlEntry, YamlText};

use super::write::{self, NodeWrite};
use super::{factory, scalar};
use crate::MappingReader;

/// A sub-workflow.
#[derive(Debug, Clone)]
pub struct CallNode<'n> {
    /// The file, relative to the file of the node.
    pub reference: Option<&'n YamlText>,
    /// The values for the sub-workflow's `inputs.*`, in addition to the message.
    pub inputs: Vec<&'n YamlEntry>,
    /// A second path for its output.
    pub writes: Option<NodeWrite<'n>>,
    /// The maximum nesting of workflows at this node.
    pub max_depth: u32,
}

/// The keys of a workflow node.
pub fn read_call_node<'n>(fields: &mut MappingReader<'n, '_>) -> CallNode<'n> {
    CallNode {
        reference: scalar::require_plain(fields, "ref"),
        inputs: factory::read_node_inputs(fields),
        writes: write::optional_write(fields),
        max_depth: scalar::read_count(fields, "max_depth", 1).unwrap_or(10),
    }
}
