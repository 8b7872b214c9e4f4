//! How a run reads what a path of a tree resolves to. A shared tree does not exist in memory, so the slots of its
//! writers are composed for each path.

use std::sync::Arc;

use trefoil_ir::{ComposedPart, SlotId, Source};
use trefoil_template::{Value, ValueObject};

use super::links::NodeLinks;
use super::path_targets::AvailableValues;
use super::tree::TreeNames;
use super::workflow_names::{NodeName, SirenNames};
use crate::names::PathSource;
use crate::sirenspec::manifest::StateTree;

impl TreeNames {
    /// How a run reads the value.
    pub fn available_source(&self, there: &AvailableValues) -> PathSource {
        let known = self.workflow_names();
        match (there.provided, there.node) {
            (false, Some((node, taken))) => self.in_node(node, self.base + taken),
            (true, Some((node, _))) if let Some(node) = known.nodes.get(node) => {
                let (first, second) = (self.composed_source(&there.writes), lay_node(node));
                let source = Source::Either(Box::new(first), Box::new(second));
                PathSource { source, skip: self.base as u16 }
            }
            _ => self.in_tree(there),
        }
    }

    /// The context of a node only.
    fn in_node(&self, node: usize, skip: usize) -> PathSource {
        let Some(node) = self.workflow_names().nodes.get(node) else {
            return PathSource { source: Source::missing_segment(0), skip: 0 };
        };
        let rest = self.path.get(skip - self.base..).unwrap_or(&[]);
        match (node.exports, rest) {
            (Some(under), [output, _, ..]) if **output == *"output" => {
                let source = Source::Layered { top: node.slot, path: vec!["output".into()], under };
                PathSource { source, skip: skip as u16 + 1 }
            }
            _ => PathSource { source: Source::Slot(node.slot), skip: skip as u16 },
        }
    }

    /// Written and seeded values only.
    fn in_tree(&self, there: &AvailableValues) -> PathSource {
        let known = self.workflow_names();
        if let [write] = there.writes.as_slice()
            && let Some(write) = known.writes.get(*write)
            && write.path.len() <= self.path.len()
            && let Some(head) = self.path.first()
            && known.tree_seeds(self.root).get(head).is_none()
            && self.here.surely_has_result(&[write.node])
            && let Some(node) = known.nodes.get(write.node)
        {
            let source = Source::Member(node.slot, write.member.clone());
            return PathSource { source, skip: (self.base + write.path.len()) as u16 };
        }
        PathSource { source: self.composed_source(&there.writes), skip: self.base as u16 }
    }

    /// The part of a tree that the path reads.
    fn composed_source(&self, writes: &[usize]) -> Source {
        let mut seed = ValueObject::default();
        if let Some(head) = self.path.first()
            && let Some(value) = self.workflow_names().tree_seeds(self.root).get(head)
        {
            seed.insert(head.clone(), value.clone());
        }
        laid_over(seed, write_parts(self.workflow_names(), &self.here.links, writes))
    }

    /// The whole tree, as far as it exists at this point.
    pub fn whole_tree(&self) -> Source {
        let known = self.workflow_names();
        let mut all = Vec::new();
        if self.root == StateTree::Working {
            for (at, node) in known.nodes.iter().enumerate() {
                if self.here.has_ended(at) {
                    all.push(ComposedPart { at: segments(&node.id), slot: node.slot, member: Vec::new() });
                }
            }
        }
        let mut written = Vec::new();
        for (at, write) in known.writes.iter().enumerate() {
            if write.root == self.root && self.here.has_ended(write.node) {
                written.push(at);
            }
        }
        all.extend(write_parts(known, &self.here.links, &written));
        laid_over(known.tree_seeds(self.root).clone(), all)
    }

    /// The agents of the reader's own swarm.
    pub fn swarm_source(&self) -> PathSource {
        let own = self.here.swarm_agents();
        let (taken, rest) = self.behind_id();
        let skip = (self.base + taken) as u16;
        if let [_, agent, ..] = rest
            && let Some((_, slot)) = own.iter().find(|(id, _)| id == agent)
        {
            return PathSource { source: Source::Slot(*slot), skip: skip + 2 };
        }
        let part = |(id, slot): &(Arc<str>, SlotId)| ComposedPart {
            at: vec!["agents".into(), id.clone()],
            slot: *slot,
            member: Vec::new(),
        };
        let seed: ValueObject = [("agents".into(), Value::Object(Arc::default()))].into_iter().collect();
        let source = Source::Compose { seed: Value::Object(Arc::new(seed)), parts: own.iter().map(part).collect() };
        PathSource { source, skip }
    }
}

/// Written values as parts of a tree; later nodes take precedence.
pub fn write_parts(known: &SirenNames, links: &NodeLinks, writes: &[usize]) -> Vec<ComposedPart> {
    let mut parts: Vec<(usize, ComposedPart)> = Vec::with_capacity(writes.len());
    for write in writes {
        let Some(write) = known.writes.get(*write) else { continue };
        let Some(node) = known.nodes.get(write.node) else { continue };
        let part = ComposedPart { at: write.path.clone(), slot: node.slot, member: write.member.clone() };
        parts.push((node_rank(links, write.node), part));
    }
    parts.sort_by_key(|(rank, _)| *rank);
    parts.into_iter().map(|(_, part)| part).collect()
}

/// The place of a node in the order; without one, in the file.
fn node_rank(links: &NodeLinks, node: usize) -> usize {
    match &links.order {
        Some(order) => order.rank.get(node).copied().unwrap_or(node),
        None => node,
    }
}

/// Parts merged into a seed. Without parts, the value is known at load time.
fn laid_over(seed: ValueObject, parts: Vec<ComposedPart>) -> Source {
    let seed = Value::Object(Arc::new(seed));
    if parts.is_empty() { Source::Const(seed) } else { Source::Compose { seed, parts } }
}

/// A node's context as a tree, so that a path that starts with the node's id resolves in it.
fn lay_node(node: &NodeName) -> Source {
    let at = segments(&node.id);
    let mut seed = Value::Object(Arc::default());
    for key in at.iter().rev() {
        seed = Value::Object(Arc::new([(key.clone(), seed)].into_iter().collect()));
    }
    Source::Compose { seed, parts: vec![ComposedPart { at, slot: node.slot, member: Vec::new() }] }
}

/// A node's id as a path, because ids may contain dots.
fn segments(id: &str) -> Vec<Arc<str>> {
    id.split('.').map(Arc::from).collect()
}

/// Parts merged into all seeded values of a tree.
pub fn seeded_source(known: &SirenNames, root: StateTree, parts: Vec<ComposedPart>) -> Source {
    Source::Compose { seed: Value::Object(Arc::new(known.tree_seeds(root).clone())), parts }
}
