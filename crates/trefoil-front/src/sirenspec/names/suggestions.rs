//! The names that editors suggest for a text, in the order of suggestion: first those that only this text has.

use std::sync::Arc;

use trefoil_ir::ValuePresence;
use trefoil_ir::types::ValueType;

use super::name_scope::{SirenScope, spent_type};
use super::node_part::ReadingPoint;
use super::workflow_names;
use crate::names::NameEntry;
use crate::sirenspec::manifest::StateTree;

impl SirenScope {
    /// The names that can start a path in a template.
    pub fn suggested_names(&self) -> Vec<(Arc<str>, NameEntry)> {
        let local_names = self.local_names();
        let mut names = self.ended_nodes("");
        // In an instance, its own inputs hide those of the workflow.
        for field in &self.known.inputs.fields {
            let name: Arc<str> = format!("inputs.{}", field.name).into();
            if local_names.iter().any(|(local, _)| *local == name) {
                continue;
            }
            let schema = if &*field.name == "message" { ValueType::TEXT } else { field.schema.clone() };
            let entry = NameEntry::new(schema).with_declaration(field.declared).with_note(field.field_note());
            names.push((name, entry));
        }
        for (root, prefix) in
            [(StateTree::Working, ""), (StateTree::Working, "working."), (StateTree::Output, "output.")]
        {
            names.extend(self.known.keys.visible_names(root, prefix, &|node| self.node_presence(node)));
        }
        names.splice(0..0, local_names);
        let environment = NameEntry::new(ValueType::OBJECT).with_note("environment variables: `env.NAME`");
        names.push(("env".into(), environment));
        names.push(("_budget".into(), NameEntry::new(spent_type()).with_note("the run's usage so far")));
        names
    }

    /// The names that can start a path in a condition.
    pub fn condition_names(&self) -> Vec<(Arc<str>, NameEntry)> {
        let mut names = self.ended_nodes("working.");
        for (root, prefix) in [(StateTree::Working, "working."), (StateTree::Output, "output.")] {
            names.extend(self.known.keys.visible_names(root, prefix, &|node| self.node_presence(node)));
        }
        names.push(("_budget".into(), NameEntry::new(spent_type()).with_note("the run's usage so far")));
        names
    }

    /// The nodes that may have ended at this point.
    fn ended_nodes(&self, prefix: &str) -> Vec<(Arc<str>, NameEntry)> {
        let mut names = Vec::new();
        for (index, node) in self.known.nodes.iter().enumerate() {
            let Some(presence) = self.node_presence(index) else { continue };
            let entry = NameEntry::new(node.schema.clone()).with_defined(presence).with_declaration(Some(node.at));
            names.push((format!("{prefix}{}", node.id).into(), entry.with_note(node.note.clone())));
        }
        names
    }

    /// Whether a node has a result at this point; `None`: it cannot have ended. Considers only the node, not the paths to this
    /// point: a node that a condition may skip is `Sometimes`, even if every path to this point goes through it.
    fn node_presence(&self, node: usize) -> Option<ValuePresence> {
        if !self.has_ended(node) {
            return None;
        }
        let always_has_result = self.links.always_runs(node) && self.links.leaves_result(node);
        if always_has_result || self.who == ReadingPoint::EdgeFrom(node) {
            Some(ValuePresence::Always)
        } else {
            Some(ValuePresence::Sometimes)
        }
    }

    /// The names that only this text has: loop variables, the rendered inputs of an instance, the agents of its own swarm.
    fn local_names(&self) -> Vec<(Arc<str>, NameEntry)> {
        let mut names: Vec<(Arc<str>, NameEntry)> = Vec::new();
        if let Some(instance) = self.factory_instance() {
            if instance.item.is_some() {
                names.push((
                    "item".into(),
                    NameEntry::new(ValueType::Any).with_note("the list element of this instance"),
                ));
            }
            let integer = |note: &str| NameEntry::new(ValueType::INTEGER).with_note(note);
            names.push(("index".into(), integer("the position of this instance, from 0")));
            names.push(("total".into(), integer("the number of instances")));
            for (name, declaration) in self.own_inputs() {
                let entry = NameEntry::new(ValueType::Any).with_declaration(Some(*declaration));
                let entry = entry.with_note("an input of this instance");
                names.push((format!("inputs.{name}").into(), entry));
            }
        }
        if let Some(node) = self.reading_node()
            && !self.swarm_agents().is_empty()
        {
            let schema = workflow_names::swarm_type(self.swarm_agents());
            let agents = NameEntry::new(schema).with_declaration(Some(node.at));
            names.push((format!("{}.agents", node.id).into(), agents.with_note("the agents of this swarm")));
        }
        names
    }
}
