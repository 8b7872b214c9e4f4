//! The user message of an agent node: what the node that leads to it left (decision S5).

use std::collections::BTreeMap;

use trefoil_ir::{Expr, SlotId, Source};

use super::flow::{FlowBuilder, Workflow};
use crate::sirenspec::manifest::NodeKind;

/// How many nodes in a row may leave nothing before a node gets the run's message instead of an earlier node's output.
const DEEPEST: u32 = 16;

/// What flows along edges: per edge into a join, the slot that is filled when it is taken.
#[derive(Debug, Default)]
pub struct Carried(BTreeMap<(usize, usize), SlotId>);

impl Carried {
    /// The slot for what flows from one node to another, if it has to be kept.
    pub fn slot(&self, from: usize, to: usize) -> Option<SlotId> {
        self.0.get(&(from, to)).copied()
    }
}

impl Workflow<'_> {
    /// Slots for the edges whose being taken matters: conditional ones into nodes with several predecessors.
    pub fn carried(&self, made: &mut FlowBuilder<'_>) -> Carried {
        let mut carried = Carried::default();
        for to in 0..self.known.nodes.len() {
            let sources = self.predecessors(to);
            if sources.len() < 2 {
                continue;
            }
            for from in sources {
                let conditional = self.links.incoming(to).filter(|l| l.from == from).all(|l| l.conditional);
                let ids = [from, to].map(|at| self.known.nodes.get(at).map_or("", |n| &*n.id));
                if conditional {
                    let slot = made.slot(ids.join(" -> "));
                    carried.0.insert((from, to), slot);
                }
            }
        }
        carried
    }

    /// The nodes whose edges lead to this one, in the order of the file.
    fn predecessors(&self, node: usize) -> Vec<usize> {
        let mut sources: Vec<usize> = self.links.incoming(node).map(|l| l.from).collect();
        sources.sort_unstable();
        sources.dedup();
        sources
    }

    /// The user message of a node.
    pub fn message(&self, made: &mut FlowBuilder<'_>, carried: &Carried, node: usize) -> Expr {
        let mains = self.links.fallback_of.get(node).map(Vec::as_slice).unwrap_or_default();
        match mains {
            // Right after the node in whose place it runs, which left nothing: it is sent what that node was sent.
            [main] if self.links.chain && self.leading(node) == mains => {
                self.message_within(made, carried, *main, DEEPEST)
            }
            _ => self.message_within(made, carried, node, DEEPEST),
        }
    }

    fn message_within(&self, made: &mut FlowBuilder<'_>, carried: &Carried, node: usize, depth: u32) -> Expr {
        let leading = self.leading(node);
        let mains = self.links.fallback_of.get(node).map(Vec::as_slice).unwrap_or_default();
        if leading.is_empty() {
            return match mains {
                // A fallback does the job of the node that failed.
                [main] if depth > 0 => self.message_within(made, carried, *main, depth - 1),
                _ => self.input_message(made),
            };
        }
        let parts = leading.iter().filter_map(|from| match carried.slot(*from, node) {
            Some(slot) => Some(Source::Slot(slot)),
            None => self.known.nodes.get(*from).map(|n| n.result()),
        });
        let otherwise = match leading.as_slice() {
            all if all.iter().all(|from| self.leaves_something(*from)) => Expr::Const("".into()),
            [from] if depth > 0 => self.message_within(made, carried, *from, depth - 1),
            _ => self.input_message(made),
        };
        Expr::Join { parts: parts.collect(), separator: "\n\n".into(), otherwise: Box::new(otherwise) }
    }

    fn input_message(&self, made: &mut FlowBuilder<'_>) -> Expr {
        let at = self.manifest.nodes.first().map_or_else(Default::default, |n| n.id.span);
        made.message.get_or_insert(self.at(at));
        Expr::Read(Source::Member(self.known.inputs.slot, vec!["message".into()]))
    }

    /// The nodes whose output a node receives.
    fn leading(&self, node: usize) -> Vec<usize> {
        if self.links.chain {
            return self.links.after.get(node).and_then(|after| after.first()).copied().into_iter().collect();
        }
        self.predecessors(node)
    }

    /// Whether a node that led on has an output for sure.
    fn leaves_something(&self, node: usize) -> bool {
        let stands_in = self.links.fallback_of.get(node).is_some_and(|of| !of.is_empty());
        match self.manifest.nodes.get(node).map(|n| &n.kind) {
            // May be null.
            Some(NodeKind::Tool(_)) => false,
            _ if self.links.chain => !stands_in && self.links.leaves(node),
            // An edge is taken when its node ended well.
            _ => !self.links.skips(node),
        }
    }
}
