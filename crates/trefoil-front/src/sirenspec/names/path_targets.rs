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
        let look = known.look_up_path(root, path);
        if let Some((node, taken)) = look.named
            && self.is_own(node)
            && !self.swarm_agents().is_empty()
            && matches!(path.get(taken), Some(name) if **name == *"agents")
        {
            return self.own_agents(path.get(taken + 1));
        }
        let is_written = |write: &usize| match known.writes.get(*write) {
            Some(write) => self.has_ended(write.node),
            None => false,
        };
        let (writes, late): (Vec<usize>, Vec<usize>) = look.writes.into_iter().partition(is_written);
        let provided = look.seeded || writes.iter().any(|w| known.provides_value(*w, path));
        let named = if look.in_node { look.named } else { None };
        let node = match named {
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
            let later = match late.iter().find(|w| known.provides_value(**w, path)) {
                Some(write) => known.writes.get(*write),
                None => None,
            };
            return match later {
                Some(write) if self.is_own(write.node) => TreePathTarget::Own(write.node),
                Some(write) => TreePathTarget::Late { node: write.node, writes: true },
                None => TreePathTarget::Nowhere { begins: root == StateTree::Working && known.begins_id(path) },
            };
        }
        TreePathTarget::There(AvailableValues { writes, node, provided, seeded: look.seeded })
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
        let mut nodes: Vec<usize> = Vec::with_capacity(there.writes.len() + 1);
        for at in &there.writes {
            if let Some(write) = known.writes.get(*at)
                && known.provides_value(*at, path)
            {
                nodes.push(write.node);
            }
        }
        if let Some((node, _)) = there.node {
            nodes.push(node);
        }
        nodes.sort_unstable();
        nodes.dedup();
        nodes
    }
}
