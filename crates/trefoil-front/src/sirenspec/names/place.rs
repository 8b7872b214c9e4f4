//! A place of texts in a workflow, and what it has of its own: an instance's loop variables and inputs, a swarm's
//! agents, what has ended by now.

use std::sync::Arc;

use trefoil_ir::{Defined, Position, SlotId, Source, types as ir};
use trefoil_syntax::suggest;
use trefoil_template::{Object, Value};

use super::known::{Instance, Known, NodeName};
use super::links::Links;
use super::stand::{Reading, Stand};
use super::types;
use crate::names::Entry;
use crate::types::integer_type;

/// A place of texts.
#[derive(Clone)]
pub struct Here {
    /// What there is.
    pub known: Arc<Known>,
    /// Which node ends before which.
    pub links: Arc<Links>,
    /// Who reads.
    pub who: Reading,
    /// Where in it.
    pub stand: Stand,
    /// What the text is for.
    pub position: Position,
}

/// What may be asked of what was spent so far.
pub const SPENT: [&str; 2] = ["total_tokens", "estimated_usd"];

impl Here {
    /// Whether the text is a condition.
    pub fn is_condition(&self) -> bool {
        matches!(self.who, Reading::EdgeFrom(_))
    }

    /// The node that reads.
    pub fn node(&self) -> Option<&NodeName> {
        match self.who {
            Reading::Node(node) => self.known.nodes.get(node),
            _ => None,
        }
    }

    /// What only instances of a factory see.
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

    /// Whether a failing agent of that swarm leaves the others to continue.
    pub fn is_lenient(&self) -> bool {
        self.stand == Stand::Synthesis { instance: false } && self.node().is_some_and(|node| node.lenient)
    }

    /// Whether a node has ended by now.
    pub fn ended(&self, node: usize) -> bool {
        match (&self.links.order, self.who) {
            (None, _) | (_, Reading::Nobody) => true,
            (Some(order), Reading::Node(me)) => order.precedes(node, me),
            (Some(order), Reading::EdgeFrom(from)) => node == from || order.precedes(node, from),
        }
    }

    /// Whether one of these nodes has left its result for sure.
    pub fn surely(&self, producers: &[usize]) -> bool {
        match self.who {
            Reading::Node(me) => self.links.surely(me, producers),
            Reading::EdgeFrom(from) => {
                (producers.contains(&from) && !self.links.skips(from)) || self.links.surely(from, producers)
            }
            Reading::Nobody => true,
        }
    }

    /// Whether an unknown input is a misspelt one, in an agent that no node uses: otherwise a factory may pass it.
    pub fn is_slip(&self, field: &str) -> bool {
        let near = suggest::near(field, self.known.inputs.names());
        !self.known.is_made(field) && near.is_some_and(|near| near.sure)
    }

    /// An unknown name. In an agent that no node uses, it may exist where the agent is used.
    pub fn unknown(&self) -> Defined {
        if self.who == Reading::Nobody { Defined::Sometimes } else { Defined::Never }
    }

    /// What was spent so far, named by so many segments.
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

/// The type of what was spent so far.
pub fn spent_type() -> Value {
    types::object(SPENT.into_iter().zip([integer_type(), ir::any()]).map(|(name, of)| (name.into(), of)))
}
