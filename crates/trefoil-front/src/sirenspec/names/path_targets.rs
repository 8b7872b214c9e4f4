//! What a path under `working` or `output` resolves to for a reader: the overlapping writes by nodes that have ended.

use std::sync::Arc;

use super::name_scope::SirenScope;
use super::node_part::ReadingPoint;
use crate::sirenspec::manifest::StateTree;

/// What a path resolves to for a reader.
#[derive(Debug, PartialEq)]
pub enum TreePathTarget {
    /// To values that exist, or may exist, at this point.
    There(AvailableValues),
    /// To the agents of the reader's own swarm.
    Agents,
    /// To the result of the reader itself.
    Own(usize),
    /// To the result of a node that has not ended yet.
    Late {
        /// The node.
        node: usize,
        /// Whether it writes the path; otherwise the path contains its id.
        writes: bool,
    },
    /// To nothing.
    Nowhere {
        /// Whether the path is the start of a node's id.
        begins: bool,
    },
}

/// Values that exist, or may exist, at this point.
#[derive(Debug, Default, PartialEq)]
pub struct AvailableValues {
    /// The writes by nodes that have ended.
    pub writes: Vec<usize>,
    /// The node whose context is read, and the number of segments in its id.
    pub node: Option<(usize, usize)>,
    /// Whether a written or seeded value can be read.
    pub provided: bool,
    /// Whether there is a seeded value.
    pub seeded: bool,
}

impl SirenScope {
    /// What a path in a tree resolves to.
    pub fn resolve_path(&self, root: StateTree, path: &[Arc<str>]) -> TreePathTarget {
        let known = &*self.known;
        let mut look = known.look_up_path(root, path);
        if let Some((node, taken)) = look.named
            && self.is_own(node)
            && !self.swarm_agents().is_empty()
            && path.get(taken).is_some_and(|name| **name == *"agents")
        {
            return self.own_agents(path.get(taken + 1));
        }
        let written = |w: &usize| known.writes.get(*w).is_some_and(|w| self.has_ended(w.node));
        let late: Vec<usize> = look.writes.iter().copied().filter(|w| !written(w)).collect();
        look.writes.retain(written);
        let provided = look.seeded || look.writes.iter().any(|w| known.provides_value(*w, path));
        let node = match look.named.filter(|_| look.in_node) {
            Some((node, _)) if self.is_own(node) && provided => None,
            Some((node, taken)) if self.is_own(node) => {
                let all = !self.swarm_agents().is_empty() && path.len() == taken;
                return if all { TreePathTarget::Agents } else { TreePathTarget::Own(node) };
            }
            Some((node, _)) if !self.has_ended(node) && provided => None,
            Some((node, _)) if !self.has_ended(node) => return TreePathTarget::Late { node, writes: false },
            node => node,
        };
        if !provided && node.is_none() {
            let later = late.iter().find(|w| known.provides_value(**w, path)).and_then(|w| known.writes.get(*w));
            return match later {
                Some(write) if self.is_own(write.node) => TreePathTarget::Own(write.node),
                Some(write) => TreePathTarget::Late { node: write.node, writes: true },
                None => TreePathTarget::Nowhere { begins: root == StateTree::Working && known.begins_id(path) },
            };
        }
        TreePathTarget::There(AvailableValues { writes: look.writes, node, provided, seeded: look.seeded })
    }

    fn is_own(&self, node: usize) -> bool {
        self.who == ReadingPoint::Node(node)
    }

    fn own_agents(&self, agent: Option<&Arc<str>>) -> TreePathTarget {
        match agent {
            Some(agent) if !self.swarm_agents().iter().any(|(id, _)| id == agent) => {
                TreePathTarget::Nowhere { begins: false }
            }
            _ => TreePathTarget::Agents,
        }
    }

    /// The nodes that may have written the value, in order.
    pub fn producing_nodes(&self, there: &AvailableValues, path: &[Arc<str>]) -> Vec<usize> {
        let known = &*self.known;
        let writers =
            there.writes.iter().filter(|w| known.provides_value(**w, path)).filter_map(|w| known.writes.get(*w));
        let mut all: Vec<usize> = writers.map(|w| w.node).chain(there.node.map(|(n, _)| n)).collect();
        all.sort_unstable();
        all.dedup();
        all
    }
}
