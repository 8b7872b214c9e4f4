//! The names that editors suggest for a text, in order.

use std::sync::Arc;

use trefoil_ir::Defined;
use trefoil_ir::types::Type;

use super::known::{self, NodeName};
use super::place::{Here, spent_type};
use super::stand::Reading;
use crate::names::Entry;
use crate::sirenspec::manifest::Root;

impl Here {
    /// The names that can start a path in a template, in the order of suggestion.
    pub fn offered(&self) -> Vec<(Arc<str>, Entry)> {
        let local = self.local();
        let mut names = self.nodes_ended("");
        // In an instance, its own inputs hide the workflow's.
        let fields = self.known.inputs.fields.iter().map(|field| {
            let schema = if &*field.name == "message" { Type::TEXT } else { field.schema.clone() };
            let entry = Entry::new(schema).declared(field.declared).note(field.note());
            (Arc::from(format!("inputs.{}", field.name)), entry)
        });
        names.extend(fields.filter(|(name, _)| !local.iter().any(|(l, _)| l == name)));
        for (root, prefix) in [(Root::Working, ""), (Root::Working, "working."), (Root::Output, "output.")] {
            names.extend(self.known.keys.names(root, prefix, &|node| self.as_offered(node)));
        }
        names.splice(0..0, local);
        let environment = Entry::new(Type::OBJECT).note("environment variables: `env.NAME`");
        names.push(("env".into(), environment));
        names.push(("_budget".into(), Entry::new(spent_type()).note("the run's usage so far")));
        names
    }

    /// The same in a condition.
    pub fn offered_to_condition(&self) -> Vec<(Arc<str>, Entry)> {
        let mut names = self.nodes_ended("working.");
        for (root, prefix) in [(Root::Working, "working."), (Root::Output, "output.")] {
            names.extend(self.known.keys.names(root, prefix, &|node| self.as_offered(node)));
        }
        names.push(("_budget".into(), Entry::new(spent_type()).note("the run's usage so far")));
        names
    }

    fn nodes_ended(&self, prefix: &str) -> Vec<(Arc<str>, Entry)> {
        let node = |(at, node): (usize, &NodeName)| {
            let entry = Entry::new(node.schema.clone()).defined(self.as_offered(at)?).declared(Some(node.at));
            Some((format!("{prefix}{}", node.id).into(), entry.note(node.note.clone())))
        };
        self.known.nodes.iter().enumerate().filter_map(node).collect()
    }

    /// Whether a node has run at this point, judging by the node alone: a node that a condition may skip is
    /// `Sometimes`, even if every path to this place goes through it.
    fn as_offered(&self, node: usize) -> Option<Defined> {
        let always = self.links.runs(node) && self.links.leaves(node) || self.who == Reading::EdgeFrom(node);
        self.ended(node).then_some(if always { Defined::Always } else { Defined::Sometimes })
    }

    /// Loop variables, rendered inputs, the agents of the reader's own swarm.
    fn local(&self) -> Vec<(Arc<str>, Entry)> {
        let mut names: Vec<(Arc<str>, Entry)> = Vec::new();
        if let Some(instance) = self.instance() {
            if instance.item.is_some() {
                names.push(("item".into(), Entry::new(Type::Any).note("the list element of this instance")));
            }
            let number = |note: &str| Entry::new(Type::INTEGER).note(note);
            names.push(("index".into(), number("the position of this instance, from 0")));
            names.push(("total".into(), number("the number of instances")));
            names.extend(self.own_inputs().iter().map(|(name, at)| {
                let entry = Entry::new(Type::Any).declared(Some(*at)).note("an input of this instance");
                (format!("inputs.{name}").into(), entry)
            }));
        }
        if let Some(node) = self.node().filter(|_| !self.swarm().is_empty()) {
            let agents = Entry::new(known::agents(self.swarm())).declared(Some(node.at));
            names.push((format!("{}.agents", node.id).into(), agents.note("the agents of this swarm")));
        }
        names
    }
}
