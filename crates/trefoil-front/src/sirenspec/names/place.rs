//! The place of a text in a workflow, and its additional names: an instance's loop variables and inputs, a swarm's
//! agents, the nodes that have ended.

use std::sync::Arc;

use trefoil_ir::types::Type;
use trefoil_ir::{Defined, Position, SlotId, Source};
use trefoil_syntax::suggest;
use trefoil_template::{Object, Value};

use super::known::{Instance, Known, NodeName};
use super::links::Links;
use super::stand::{Reading, Stand};
use crate::names::Entry;

/// A place of texts.
#[derive(Clone)]
pub struct Here {
    /// The names of the workflow.
    pub known: Arc<Known>,
    /// The order of the nodes.
    pub links: Arc<Links>,
    /// The reader.
    pub who: Reading,
    /// The part of the node.
    pub stand: Stand,
    /// What the text is used for.
    pub position: Position,
}

/// The members of the usage so far.
pub const SPENT: [&str; 2] = ["total_tokens", "estimated_usd"];

impl Here {
    /// Whether the text is a condition.
    pub fn is_condition(&self) -> bool {
        matches!(self.who, Reading::EdgeFrom(_))
    }

    /// The node that contains the text.
    pub fn node(&self) -> Option<&NodeName> {
        match self.who {
            Reading::Node(node) => self.known.nodes.get(node),
            _ => None,
        }
    }

    /// The names available only in instances of a factory.
    pub fn instance(&self) -> Option<&Instance> {
        match self.stand {
            Stand::Inputs | Stand::Instance | Stand::Synthesis { instance: true } => self.node()?.instance.as_ref(),
            _ => None,
        }
    }

    /// The rendered inputs of a factory that can be read here.
    pub fn own_inputs(&self) -> &[(Arc<str>, trefoil_syntax::Location)] {
        match self.stand {
            Stand::Inputs => &[],
            _ => self.instance().map_or(&[], |instance| instance.inputs.as_slice()),
        }
    }

    /// The agents of the reader's own swarm, in its synthesis.
    pub fn swarm(&self) -> &[(Arc<str>, SlotId)] {
        match self.stand {
            Stand::Synthesis { instance: true } => self.instance().map_or(&[], |instance| instance.agents.as_slice()),
            Stand::Synthesis { instance: false } => self.node().map_or(&[], |node| node.agents.as_slice()),
            _ => &[],
        }
    }

    /// Whether the other agents of that swarm continue when one fails.
    pub fn is_lenient(&self) -> bool {
        self.stand == Stand::Synthesis { instance: false } && self.node().is_some_and(|node| node.lenient)
    }

    /// Whether a node has ended at this point.
    pub fn ended(&self, node: usize) -> bool {
        match (&self.links.order, self.who) {
            (None, _) | (_, Reading::Nobody) => true,
            (Some(order), Reading::Node(me)) => order.precedes(node, me),
            (Some(order), Reading::EdgeFrom(from)) => node == from || order.precedes(node, from),
        }
    }

    /// Whether one of these nodes certainly has a result.
    pub fn surely(&self, producers: &[usize]) -> bool {
        match self.who {
            Reading::Node(me) => self.links.surely(me, producers),
            Reading::EdgeFrom(from) => {
                (producers.contains(&from) && !self.links.skips(from)) || self.links.surely(from, producers)
            }
            Reading::Nobody => true,
        }
    }

    /// Whether an unknown input, in an agent that no node uses, is a misspelling. Otherwise a factory may pass it.
    pub fn is_slip(&self, field: &str) -> bool {
        let near = suggest::near(field, self.known.inputs.names());
        !self.known.is_made(field) && near.is_some_and(|near| near.sure)
    }

    /// An unknown name. In an agent that no node uses, it may exist where the agent will be used.
    pub fn unknown(&self) -> Defined {
        if self.who == Reading::Nobody { Defined::Sometimes } else { Defined::Never }
    }

    /// The usage so far, at this depth of a path.
    pub fn spent(&self, skip: u16) -> Entry {
        let mut spent: Vec<SlotId> = Vec::new();
        let slot = |node: usize| self.known.nodes.get(node).map(|n| n.slot);
        if let (Some(order), Reading::Node(node) | Reading::EdgeFrom(node)) = (&self.links.order, self.who) {
            spent.extend(order.preceding(node).filter_map(slot));
        }
        if let Reading::EdgeFrom(node) = self.who {
            spent.extend(slot(node));
        }
        let nothing = || {
            let values = SPENT.into_iter().zip([Value::from(0i64), Value::Null]);
            let values: Object = values.map(|(name, value)| (name.into(), value)).collect();
            Source::Const(Value::Object(Arc::new(values)))
        };
        let source = if spent.is_empty() { nothing() } else { Source::Spent(spent) };
        Entry::new(spent_type()).read(source, skip)
    }
}

/// The type of the usage so far.
pub fn spent_type() -> Type {
    Type::fields(SPENT.into_iter().zip([Type::INTEGER, Type::Any]).map(|(name, of)| (name.into(), of)))
}
