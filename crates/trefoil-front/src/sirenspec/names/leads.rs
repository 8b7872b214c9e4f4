//! What a path under `working` or `output` leads to for who reads it: who wrote what touches it and has ended by then.

use std::sync::Arc;

use super::place::Here;
use super::stand::Reading;
use crate::sirenspec::manifest::Root;

/// What a path leads to, for who reads it.
#[derive(Debug, PartialEq)]
pub enum Leads {
    /// To values that are there by now, or may be.
    There(There),
    /// Into the agents of the reader's own swarm.
    Agents,
    /// To what the reader itself leaves.
    Own(usize),
    /// To what a node leaves that has not ended by then.
    Late {
        /// The node.
        node: usize,
        /// It writes the path; else it is named by its id.
        writes: bool,
    },
    /// Nowhere. `begins`: the id of a node continues after it.
    Nowhere {
        /// As said.
        begins: bool,
    },
}

/// Values that are there by now, or may be.
#[derive(Debug, Default, PartialEq)]
pub struct There {
    /// Those that were written, by nodes that have ended.
    pub writes: Vec<usize>,
    /// The context of a node, and how many segments name it.
    pub node: Option<(usize, usize)>,
    /// A written or seeded value can be read.
    pub provided: bool,
    /// A seeded value is there.
    pub seeded: bool,
}

impl Here {
    /// What a path of a tree leads to.
    pub fn leads(&self, root: Root, path: &[Arc<str>]) -> Leads {
        let known = &*self.known;
        let mut look = known.look(root, path);
        if let Some((node, taken)) = look.named
            && self.is_own(node)
            && !self.swarm().is_empty()
            && path.get(taken).is_some_and(|name| **name == *"agents")
        {
            return self.own_agents(path.get(taken + 1));
        }
        let written = |w: &usize| known.writes.get(*w).is_some_and(|w| self.ended(w.node));
        let late: Vec<usize> = look.writes.iter().copied().filter(|w| !written(w)).collect();
        look.writes.retain(written);
        let provided = look.seeded || look.writes.iter().any(|w| known.provides(*w, path));
        let node = match look.named.filter(|_| look.in_node) {
            Some((node, _)) if self.is_own(node) && provided => None,
            Some((node, taken)) if self.is_own(node) => {
                let all = !self.swarm().is_empty() && path.len() == taken;
                return if all { Leads::Agents } else { Leads::Own(node) };
            }
            Some((node, _)) if !self.ended(node) && provided => None,
            Some((node, _)) if !self.ended(node) => return Leads::Late { node, writes: false },
            node => node,
        };
        if !provided && node.is_none() {
            let later = late.iter().find(|w| known.provides(**w, path)).and_then(|w| known.writes.get(*w));
            return match later {
                Some(write) if self.is_own(write.node) => Leads::Own(write.node),
                Some(write) => Leads::Late { node: write.node, writes: true },
                None => Leads::Nowhere { begins: root == Root::Working && known.begins_id(path) },
            };
        }
        Leads::There(There { writes: look.writes, node, provided, seeded: look.seeded })
    }

    fn is_own(&self, node: usize) -> bool {
        self.who == Reading::Node(node)
    }

    fn own_agents(&self, agent: Option<&Arc<str>>) -> Leads {
        match agent {
            Some(agent) if !self.swarm().iter().any(|(id, _)| id == agent) => Leads::Nowhere { begins: false },
            _ => Leads::Agents,
        }
    }

    /// The nodes that may have written the value, in order.
    pub fn producers(&self, there: &There, path: &[Arc<str>]) -> Vec<usize> {
        let known = &*self.known;
        let writers = there.writes.iter().filter(|w| known.provides(**w, path)).filter_map(|w| known.writes.get(*w));
        let mut all: Vec<usize> = writers.map(|w| w.node).chain(there.node.map(|(n, _)| n)).collect();
        all.sort_unstable();
        all.dedup();
        all
    }
}
