//! The names that editors suggest for a text, in order.

use std::sync::Arc;

use trefoil_ir::ValuePresence;
use trefoil_ir::types::ValueType;

use super::name_scope::{SirenScope, spent_type};
use super::node_part::ReadingPoint;
use super::workflow_names;
use crate::names::NameEntry;
use crate::sirenspec::manifest::StateTree;

impl SirenScope {
    /// The names that can start a path in a template, in the order of suggestion.
    pub fn suggested_names(&self) -> Vec<(Arc<str>, NameEntry)> {
        let local = self.local();
        let mut names = self.nodes_ended("");
        // In an instance, its own inputs hide the workflow's.
        for field in &self.known.inputs.fields {
            let name: Arc<str> = format!("inputs.{}", field.name).into();
            if local.iter().any(|(own, _)| *own == name) {
                continue;
            }
            let schema = if &*field.name == "message" { ValueType::TEXT } else { field.schema.clone() };
            let entry = NameEntry::new(schema).with_declaration(field.declared).with_note(field.field_note());
            names.push((name, entry));
        }
        for (root, prefix) in
            [(StateTree::Working, ""), (StateTree::Working, "working."), (StateTree::Output, "output.")]
        {
            names.extend(self.known.keys.visible_names(root, prefix, &|node| self.as_offered(node)));
        }
        names.splice(0..0, local);
        let environment = NameEntry::new(ValueType::OBJECT).with_note("environment variables: `env.NAME`");
        names.push(("env".into(), environment));
        names.push(("_budget".into(), NameEntry::new(spent_type()).with_note("the run's usage so far")));
        names
    }

    /// The same in a condition.
    pub fn offered_to_condition(&self) -> Vec<(Arc<str>, NameEntry)> {
        let mut names = self.nodes_ended("working.");
        for (root, prefix) in [(StateTree::Working, "working."), (StateTree::Output, "output.")] {
            names.extend(self.known.keys.visible_names(root, prefix, &|node| self.as_offered(node)));
        }
        names.push(("_budget".into(), NameEntry::new(spent_type()).with_note("the run's usage so far")));
        names
    }

    fn nodes_ended(&self, prefix: &str) -> Vec<(Arc<str>, NameEntry)> {
        let mut names = Vec::new();
        for (at, node) in self.known.nodes.iter().enumerate() {
            let Some(presence) = self.as_offered(at) else { continue };
            let entry = NameEntry::new(node.schema.clone()).with_defined(presence).with_declaration(Some(node.at));
            names.push((format!("{prefix}{}", node.id).into(), entry.with_note(node.note.clone())));
        }
        names
    }

    /// Whether a node has run at this point, judging by the node alone: a node that a condition may skip is
    /// `Sometimes`, even if every path to this place goes through it.
    fn as_offered(&self, node: usize) -> Option<ValuePresence> {
        let always =
            self.links.always_runs(node) && self.links.leaves_result(node) || self.who == ReadingPoint::EdgeFrom(node);
        match (self.has_ended(node), always) {
            (true, true) => Some(ValuePresence::Always),
            (true, false) => Some(ValuePresence::Sometimes),
            (false, _) => None,
        }
    }

    /// Loop variables, rendered inputs, the agents of the reader's own swarm.
    fn local(&self) -> Vec<(Arc<str>, NameEntry)> {
        let mut names: Vec<(Arc<str>, NameEntry)> = Vec::new();
        if let Some(instance) = self.factory_instance() {
            if instance.item.is_some() {
                names.push((
                    "item".into(),
                    NameEntry::new(ValueType::Any).with_note("the list element of this instance"),
                ));
            }
            let number = |note: &str| NameEntry::new(ValueType::INTEGER).with_note(note);
            names.push(("index".into(), number("the position of this instance, from 0")));
            names.push(("total".into(), number("the number of instances")));
            for (name, at) in self.own_inputs() {
                let entry =
                    NameEntry::new(ValueType::Any).with_declaration(Some(*at)).with_note("an input of this instance");
                names.push((format!("inputs.{name}").into(), entry));
            }
        }
        if let Some(node) = self.reading_node()
            && !self.swarm_agents().is_empty()
        {
            let agents =
                NameEntry::new(workflow_names::swarm_type(self.swarm_agents())).with_declaration(Some(node.at));
            names.push((format!("{}.agents", node.id).into(), agents.with_note("the agents of this swarm")));
        }
        names
    }
}
