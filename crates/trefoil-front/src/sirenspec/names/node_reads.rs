//! Which nodes' templates read the results of which other nodes: a node waits for what it reads.

use trefoil_syntax::Location;

use super::texts::ParsedNodeText;
use super::workflow_names::{SirenNames, segment_names};
use crate::sirenspec::manifest::StateTree;

/// A read of one node's result by another node.
pub struct NodeRead {
    /// The node that reads.
    pub reader: usize,
    /// The node whose result is read.
    pub source: usize,
    /// The reference.
    pub at: Location,
    /// As written.
    pub path: String,
    /// Whether the source is named by its id; otherwise by a path it writes, which may have had a value before.
    pub by_id: bool,
}

/// All reads.
pub fn find_reads(known: &SirenNames, texts: &[ParsedNodeText]) -> Vec<NodeRead> {
    let mut all = Vec::new();
    for ParsedNodeText { node: reader, text, .. } in texts {
        // The readable parts of a text with mistakes also affect the order.
        for reference in text.readable_references() {
            let Some((head, rest)) = reference.path.split_first() else { continue };
            let (root, path) = match &*head.name {
                "inputs" | "env" | "item" | "index" | "total" | "_budget" => continue,
                "working" => (StateTree::Working, rest),
                "output" => (StateTree::Output, rest),
                _ => (StateTree::Working, reference.path.as_slice()),
            };
            let look = known.look_up_path(root, &segment_names(path));
            let at = text.place_of(reference.span.clone());
            let mut add = |source: usize, by_id: bool| {
                if source != *reader {
                    all.push(NodeRead { reader: *reader, source, at, path: reference.dotted_path(), by_id });
                }
            };
            let mut named = None;
            if let Some((source, _)) = look.named
                && look.in_node
            {
                add(source, true);
                named = Some(source);
            }
            for write in look.writes.iter().filter_map(|w| known.writes.get(*w)) {
                if Some(write.node) != named {
                    add(write.node, false);
                }
            }
        }
    }
    all
}
