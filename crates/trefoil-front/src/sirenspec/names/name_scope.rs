//! The place of a text in a workflow, and its additional names: an instance's loop variables and inputs, a swarm's
//! agents, the nodes that have ended.

use std::sync::Arc;

use trefoil_ir::types::ValueType;
use trefoil_ir::{SlotId, Source, TextRole, ValuePresence};
use trefoil_syntax::suggestions;
use trefoil_template::{Value, ValueObject};

use super::links::NodeLinks;
use super::node_part::{NodePart, ReadingPoint};
use super::workflow_names::{FactoryInstance, NodeName, SirenNames};
use crate::names::NameEntry;

/// A place of texts.
#[derive(Clone)]
pub struct SirenScope {
    /// The names of the workflow.
    pub known: Arc<SirenNames>,
    /// The order of the nodes.
    pub links: Arc<NodeLinks>,
    /// The reader.
    pub who: ReadingPoint,
    /// The part of the node.
    pub stand: NodePart,
    /// What the text is used for.
    pub position: TextRole,
}

/// The members of the usage so far.
pub const SPENT: [&str; 2] = ["total_tokens", "estimated_usd"];

impl SirenScope {
    /// Whether the text is a condition.
    pub fn is_condition(&self) -> bool {
        matches!(self.who, ReadingPoint::EdgeFrom(_))
    }

    /// The node that contains the text.
    pub fn reading_node(&self) -> Option<&NodeName> {
        match self.who {
            ReadingPoint::Node(node) => self.known.nodes.get(node),
            _ => None,
        }
    }

    /// The names available only in instances of a factory.
    pub fn factory_instance(&self) -> Option<&FactoryInstance> {
        match self.stand {
            NodePart::Inputs | NodePart::Instance | NodePart::Synthesis { instance: true } => {
                self.reading_node()?.instance.as_ref()
            }
            _ => None,
        }
    }

    /// The rendered inputs of a factory that can be read here.
    pub fn own_inputs(&self) -> &[(Arc<str>, trefoil_syntax::Location)] {
        match self.stand {
            NodePart::Inputs => &[],
            _ => match self.factory_instance() {
                Some(instance) => &instance.inputs,
                None => &[],
            },
        }
    }

    /// The agents of the reader's own swarm, in its synthesis.
    pub fn swarm_agents(&self) -> &[(Arc<str>, SlotId)] {
        let NodePart::Synthesis { instance } = self.stand else { return &[] };
        if instance {
            return match self.factory_instance() {
                Some(instance) => &instance.agents,
                None => &[],
            };
        }
        match self.reading_node() {
            Some(node) => &node.agents,
            None => &[],
        }
    }

    /// Whether the other agents of that swarm continue when one fails.
    pub fn is_lenient(&self) -> bool {
        self.stand == NodePart::Synthesis { instance: false }
            && matches!(self.reading_node(), Some(node) if node.lenient)
    }

    /// Whether a node has ended at this point.
    pub fn has_ended(&self, node: usize) -> bool {
        match (&self.links.order, self.who) {
            (None, _) | (_, ReadingPoint::Nobody) => true,
            (Some(order), ReadingPoint::Node(me)) => order.ends_before(node, me),
            (Some(order), ReadingPoint::EdgeFrom(from)) => node == from || order.ends_before(node, from),
        }
    }

    /// Whether one of these nodes certainly has a result.
    pub fn surely_has_result(&self, producers: &[usize]) -> bool {
        match self.who {
            ReadingPoint::Node(me) => self.links.surely_has_result(me, producers),
            ReadingPoint::EdgeFrom(from) => {
                (producers.contains(&from) && !self.links.skips_on_failure(from))
                    || self.links.surely_has_result(from, producers)
            }
            ReadingPoint::Nobody => true,
        }
    }

    /// Whether an unknown input, in an agent that no node uses, is a misspelling. Otherwise a factory may pass it.
    pub fn is_slip(&self, field: &str) -> bool {
        let near = suggestions::find_near_match(field, self.known.inputs.field_names());
        !self.known.is_made(field) && matches!(near, Some(near) if near.sure)
    }

    /// An unknown name. In an agent that no node uses, it may exist where the agent will be used.
    pub fn unknown_name_presence(&self) -> ValuePresence {
        if self.who == ReadingPoint::Nobody { ValuePresence::Sometimes } else { ValuePresence::Never }
    }

    /// The usage so far, at this depth of a path.
    pub fn usage_entry(&self, skip: u16) -> NameEntry {
        let mut spent: Vec<SlotId> = Vec::new();
        if let (Some(order), ReadingPoint::Node(node) | ReadingPoint::EdgeFrom(node)) = (&self.links.order, self.who) {
            for earlier in order.preceding_nodes(node) {
                spent.extend(self.node_slot(earlier));
            }
        }
        if let ReadingPoint::EdgeFrom(node) = self.who {
            spent.extend(self.node_slot(node));
        }
        let source = if spent.is_empty() { Source::Const(nothing_spent()) } else { Source::Spent(spent) };
        NameEntry::new(spent_type()).with_source(source, skip)
    }

    fn node_slot(&self, node: usize) -> Option<SlotId> {
        Some(self.known.nodes.get(node)?.slot)
    }
}

/// The usage before any node has run.
fn nothing_spent() -> Value {
    let mut values = ValueObject::default();
    for (name, value) in SPENT.into_iter().zip([Value::from(0i64), Value::Null]) {
        values.insert(name.into(), value);
    }
    Value::Object(Arc::new(values))
}

/// The type of the usage so far.
pub fn spent_type() -> ValueType {
    ValueType::optional_fields(
        SPENT.into_iter().zip([ValueType::INTEGER, ValueType::Any]).map(|(name, of)| (name.into(), of)),
    )
}
