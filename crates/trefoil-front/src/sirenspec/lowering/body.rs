//! The flow of one factory instance: its slots, and what it reads from the enclosing workflow.
//!
//! A body is closed: every source outside it becomes a capture, which is filled when the fan-out starts.

use std::sync::Arc;

use trefoil_ir::{ComposedPart, SlotId, Source, ValueExpression};
use trefoil_template::{Value, ValueObject};

use crate::program_builder::FlowSlots;
use crate::sirenspec::names::workflow_names::{FactoryInstance, INSTANCE, SirenNames};

/// A factory's body under construction.
#[derive(Debug)]
pub struct FactoryBody {
    /// Its slots.
    pub slots: FlowSlots,
    /// The values captured from outside.
    pub captures: Vec<(SlotId, Source)>,
}

/// The slot in the instance's flow; `None`: it is a slot of the enclosing workflow.
pub fn instance_slot(slot: SlotId) -> Option<SlotId> {
    slot.0.checked_sub(INSTANCE).map(SlotId)
}

impl FactoryBody {
    /// A body with the slots that its instances have.
    pub fn new(instance: &FactoryInstance) -> Self {
        Self { slots: instance.slots.clone(), captures: Vec::new() }
    }

    /// A source as seen from the body.
    pub fn close_source(&mut self, known: &SirenNames, source: Source) -> Source {
        match source {
            Source::Slot(slot) => Source::Slot(self.slot(known, slot)),
            Source::Member(slot, path) => Source::Member(self.slot(known, slot), path),
            Source::Layered { top, path, under } => {
                Source::Layered { top: self.slot(known, top), path, under: self.slot(known, under) }
            }
            Source::Either(first, second) => {
                Source::Either(Box::new(self.close_source(known, *first)), Box::new(self.close_source(known, *second)))
            }
            Source::Compose { seed, mut parts } if parts.iter().all(|part| instance_slot(part.slot).is_some()) => {
                for part in &mut parts {
                    part.slot = instance_slot(part.slot).unwrap_or(part.slot);
                }
                Source::Compose { seed, parts }
            }
            Source::Compose { .. } | Source::Spent(_) => Source::Slot(self.capture(known, source)),
            Source::Const(_)
            | Source::Environment
            | Source::Secrets
            | Source::RunId
            | Source::Result
            | Source::Failure
            | Source::Missing(..) => source,
        }
    }

    /// A message of the workflow as seen from the body.
    pub fn close_message(&mut self, known: &SirenNames, message: ValueExpression) -> ValueExpression {
        match message {
            ValueExpression::Read(source) => ValueExpression::Read(self.close_source(known, source)),
            ValueExpression::Join { parts, separator, otherwise } => ValueExpression::Join {
                parts: parts.into_iter().map(|part| self.close_source(known, part)).collect(),
                separator,
                otherwise: Box::new(self.close_message(known, *otherwise)),
            },
            other => other,
        }
    }

    fn slot(&mut self, known: &SirenNames, slot: SlotId) -> SlotId {
        match instance_slot(slot) {
            Some(slot) => slot,
            None => self.capture(known, Source::Slot(slot)),
        }
    }

    fn capture(&mut self, known: &SirenNames, source: Source) -> SlotId {
        if let Some((slot, _)) = self.captures.iter().find(|(_, s)| *s == source) {
            return *slot;
        }
        let slot = self.slots.add_slot(capture_name(known, &source));
        self.captures.push((slot, source));
        slot
    }
}

fn capture_name(known: &SirenNames, source: &Source) -> Arc<str> {
    let name = match source {
        Source::Slot(slot) if *slot == known.inputs.slot => return "inputs (outer)".into(),
        Source::Slot(slot) => known.nodes.iter().find(|node| node.slot == *slot).map(|node| &node.id),
        Source::Spent(_) => return "_budget".into(),
        Source::Compose { seed: Value::Object(seed), parts } => first_key(seed, parts),
        _ => None,
    };
    match name {
        Some(name) => name.clone(),
        None => "outer".into(),
    }
}

/// The first key of a composed tree: that of a written part, otherwise that of a seeded value.
fn first_key<'s>(seed: &'s ValueObject, parts: &'s [ComposedPart]) -> Option<&'s Arc<str>> {
    if let Some(part) = parts.first()
        && let Some(key) = part.at.first()
    {
        return Some(key);
    }
    seed.keys().next()
}
