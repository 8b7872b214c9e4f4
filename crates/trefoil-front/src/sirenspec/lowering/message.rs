//! The user message of an agent node: the output of the node that leads to it.

use std::collections::BTreeMap;

use trefoil_ir::{SlotId, Source, ValueExpression};

use super::flow::{FlowBuilder, WorkflowLowering};
use crate::sirenspec::manifest::NodeKind;

/// How many nodes in a row may have no output before a node gets the run's message instead of an earlier node's output.
const DEEPEST: u32 = 16;

/// The values passed on by edges: for each edge into a join, the slot that is filled when the edge is taken.
#[derive(Debug, Default)]
pub struct CarriedMessages(BTreeMap<(usize, usize), SlotId>);

impl CarriedMessages {
    /// The slot for the value that one node passes to another, if it must be kept.
    pub fn edge_slot(&self, from: usize, to: usize) -> Option<SlotId> {
        self.0.get(&(from, to)).copied()
    }
}

impl WorkflowLowering<'_> {
    /// Slots for conditional edges into nodes with several predecessors, for which it matters whether the edge was
    /// taken.
    pub fn reserve_carried(&self, made: &mut FlowBuilder<'_>) -> CarriedMessages {
        let mut carried = CarriedMessages::default();
        for to in 0..self.known.nodes.len() {
            let sources = self.predecessors(to);
            if sources.len() < 2 {
                continue;
            }
            for from in sources {
                let is_conditional = self.links.incoming_edges(to).all(|link| link.from != from || link.conditional);
                if is_conditional {
                    let name = format!("{} -> {}", self.known.node_id(from), self.known.node_id(to));
                    carried.0.insert((from, to), made.slots.add_slot(name));
                }
            }
        }
        carried
    }

    /// The nodes with edges to this one, in file order.
    fn predecessors(&self, node: usize) -> Vec<usize> {
        let mut sources: Vec<usize> = self.links.incoming_edges(node).map(|l| l.from).collect();
        sources.sort_unstable();
        sources.dedup();
        sources
    }

    /// The user message of a node.
    pub fn user_message(&self, made: &mut FlowBuilder<'_>, carried: &CarriedMessages, node: usize) -> ValueExpression {
        let mains = self.links.replaced_by(node);
        match mains {
            // A fallback directly after its node, which has no output, gets the same message as that node.
            [main] if self.links.chain && self.leading(node) == mains => {
                self.message_within(made, carried, *main, DEEPEST)
            }
            _ => self.message_within(made, carried, node, DEEPEST),
        }
    }

    fn message_within(
        &self,
        made: &mut FlowBuilder<'_>,
        carried: &CarriedMessages,
        node: usize,
        depth: u32,
    ) -> ValueExpression {
        let leading = self.leading(node);
        if leading.is_empty() {
            return match self.links.replaced_by(node) {
                // A fallback gets the message of the node that failed.
                [main] if depth > 0 => self.message_within(made, carried, *main, depth - 1),
                _ => self.input_message(made),
            };
        }
        let mut parts = Vec::with_capacity(leading.len());
        for from in &leading {
            if let Some(slot) = carried.edge_slot(*from, node) {
                parts.push(Source::Slot(slot));
            } else if let Some(source) = self.known.nodes.get(*from) {
                parts.push(source.result_source());
            }
        }
        let otherwise = match leading.as_slice() {
            all if all.iter().all(|from| self.leaves_something(*from)) => ValueExpression::Const("".into()),
            [from] if depth > 0 => self.message_within(made, carried, *from, depth - 1),
            _ => self.input_message(made),
        };
        ValueExpression::Join { parts, separator: "\n\n".into(), otherwise: Box::new(otherwise) }
    }

    fn input_message(&self, made: &mut FlowBuilder<'_>) -> ValueExpression {
        made.message.get_or_insert(self.location_of(self.manifest.first_node_span()));
        ValueExpression::Read(Source::Member(self.known.inputs.slot, vec!["message".into()]))
    }

    /// The nodes whose output a node receives.
    fn leading(&self, node: usize) -> Vec<usize> {
        if self.links.chain {
            return match self.links.after.get(node) {
                Some(after) => after.iter().copied().take(1).collect(),
                None => Vec::new(),
            };
        }
        self.predecessors(node)
    }

    /// Whether a predecessor that ran certainly has an output.
    fn leaves_something(&self, node: usize) -> bool {
        // The result of a tool may be null.
        if matches!(self.manifest.nodes.get(node), Some(written) if matches!(written.kind, NodeKind::Tool(_))) {
            return false;
        }
        if self.links.chain {
            return self.links.replaced_by(node).is_empty() && self.links.leaves_result(node);
        }
        // An edge is taken only if its source succeeded.
        !self.links.skips_on_failure(node)
    }
}
