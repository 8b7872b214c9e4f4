//! The flow of one factory instance: its loop variables, its inputs, and what it reads from the workflow around it.
//!
//! A body is closed: every source outside becomes a capture, filled when the fan-out starts.

use std::sync::Arc;

use trefoil_ir::{SlotId, Source};
use trefoil_syntax::Location;
use trefoil_template::Value;

use super::flow::{Slots, Workflow};

/// A factory's body under construction.
#[derive(Debug)]
pub struct Body {
    /// Its slots.
    pub slots: Slots,
    /// What comes in from outside.
    pub captures: Vec<(SlotId, Source)>,
    /// The slot of the (empty) call input.
    pub intake: SlotId,
    /// The list element; none with `swarm_size`.
    pub item: Option<SlotId>,
    /// Its position.
    pub index: SlotId,
    /// How many there are.
    pub total: SlotId,
    /// The rendered `inputs`, and their names once they may be read.
    pub rendered: SlotId,
    names: Vec<(Arc<str>, Location)>,
    /// A template reads the element of the list.
    pub reads_item: bool,
    /// A template reads its position.
    pub reads_index: bool,
}

impl Body {
    /// An empty body; `each`: there is a list element.
    pub fn new(each: bool) -> Self {
        let mut slots = Slots::default();
        Self {
            intake: slots.add("call"),
            item: each.then(|| slots.add("item")),
            index: slots.add("index"),
            total: slots.add("total"),
            rendered: slots.add("inputs"),
            slots,
            captures: Vec::new(),
            names: Vec::new(),
            reads_item: false,
            reads_index: false,
        }
    }

    /// From here on templates see the rendered inputs.
    pub fn show_inputs(&mut self, names: impl Iterator<Item = (Arc<str>, Location)>) {
        self.names = names.collect();
    }

    /// The slot of a loop variable.
    pub fn variable(&self, name: &str) -> Option<SlotId> {
        match name {
            "item" => self.item,
            "index" => Some(self.index),
            _ => Some(self.total),
        }
    }

    /// A rendered input: its source, and the segments that stand for it.
    pub fn input(&self, name: &str) -> Option<(Source, u16)> {
        self.names.iter().any(|(n, _)| &**n == name).then_some((Source::Slot(self.rendered), 1))
    }

    /// The names of the rendered inputs.
    pub fn input_names(&self) -> Vec<String> {
        self.names.iter().map(|(n, _)| n.to_string()).collect()
    }

    /// The rendered inputs, and where they are declared.
    pub fn inputs(&self) -> &[(Arc<str>, Location)] {
        &self.names
    }

    /// A source of the workflow as a source of the body.
    pub fn close(&mut self, flow: &Workflow<'_, '_>, source: Source) -> Source {
        match source {
            Source::Slot(slot) => Source::Slot(self.capture(flow, Source::Slot(slot))),
            Source::Member(slot, path) => Source::Member(self.capture(flow, Source::Slot(slot)), path),
            Source::Layered { top, path, under } => Source::Layered {
                top: self.capture(flow, Source::Slot(top)),
                path,
                under: self.capture(flow, Source::Slot(under)),
            },
            Source::Either(first, second) => {
                Source::Either(Box::new(self.close(flow, *first)), Box::new(self.close(flow, *second)))
            }
            Source::Compose { .. } | Source::Spent(_) => Source::Slot(self.capture(flow, source)),
            Source::Const(_)
            | Source::Environment
            | Source::Secrets
            | Source::RunId
            | Source::Result
            | Source::Failure
            | Source::Missing(_) => source,
        }
    }

    fn capture(&mut self, flow: &Workflow<'_, '_>, source: Source) -> SlotId {
        if let Some((slot, _)) = self.captures.iter().find(|(_, s)| *s == source) {
            return *slot;
        }
        let name: Arc<str> = match &source {
            Source::Slot(slot) if *slot == flow.inputs.slot => "inputs (outer)".into(),
            Source::Slot(slot) => {
                let node = flow.names.nodes.iter().find(|n| n.slot == *slot);
                node.map_or_else(|| "outer".into(), |n| n.id.value.clone())
            }
            Source::Spent(_) => "_budget".into(),
            Source::Compose { seed: Value::Object(seed), parts } => {
                let first = parts.first().and_then(|p| p.at.first()).or_else(|| seed.keys().next());
                first.cloned().unwrap_or_else(|| "outer".into())
            }
            _ => "outer".into(),
        };
        let slot = self.slots.add(name);
        self.captures.push((slot, source));
        slot
    }
}
