//! The names that can start a path in a text, listed only here. [`tree`](super::tree) handles the names under `working`
//! and `output`.

use std::sync::Arc;

use trefoil_ir::types::ValueType;
use trefoil_ir::{BindingFault, Source, TextRole, ValuePresence};
use trefoil_template::{MissingCause, PathSegment};

use super::name_scope::SirenScope;
use super::node_part::ReadingPoint;
use super::tree::TreeNames;
use crate::names::TagNotation;
use crate::names::is_variable;
use crate::names::{BoundPath, NameAbsence, NameEntry, NameMatch, NameResolver, NameScope, PathResolution};
use crate::sirenspec::manifest::StateTree;

/// The notation of tags.
const TAGS: TagNotation = TagNotation {
    space: " ",
    statements: "this format has no blocks; use `| default('text')` or `when` on an edge",
    comparison: None,
};

impl SirenScope {
    /// The input field with this name.
    fn field(&self, name: &str) -> NameMatch {
        if let Some(instance) = self.factory_instance()
            && let Some((_, at)) = self.own_inputs().iter().find(|(known, _)| &**known == name)
        {
            let entry = NameEntry::new(ValueType::Any).with_source(Source::Slot(instance.rendered), 1);
            return NameMatch::Is(entry.with_declaration(Some(*at)));
        }
        let inputs = &self.known.inputs;
        match inputs.find_field(name) {
            Some(field) => {
                let entry = NameEntry::new(field.schema.clone()).with_declaration(field.declared);
                NameMatch::Is(entry.with_source(Source::Slot(inputs.slot), 1))
            }
            None if self.who == ReadingPoint::Nobody => NameMatch::Maybe(
                NameEntry::new(ValueType::Any)
                    .with_defined(ValuePresence::Sometimes)
                    .with_source(Source::missing_segment(1), 0),
            ),
            None => NameMatch::Never(NameAbsence { what: None, names: self.input_names() }),
        }
    }

    /// The input fields of the workflow, followed by those of the instance.
    fn input_names(&self) -> Vec<Arc<str>> {
        let mut names: Vec<Arc<str>> = self.known.inputs.field_names().map(Arc::from).collect();
        for (name, _) in self.own_inputs() {
            names.push(name.clone());
        }
        names
    }

    /// A loop variable.
    fn variable(&self, name: &str) -> NameEntry {
        let slot = match (self.factory_instance(), name) {
            (Some(instance), "item") => instance.item,
            (Some(instance), "index") => Some(instance.index),
            (Some(instance), _) => Some(instance.total),
            (None, _) => None,
        };
        let schema = if name == "item" { ValueType::Any } else { ValueType::INTEGER };
        match slot {
            Some(slot) => NameEntry::new(schema).with_source(Source::Slot(slot), 1),
            None => NameEntry::new(ValueType::Any)
                .with_defined(self.unknown_name_presence())
                .with_source(Source::Missing(MissingCause::OutsideLoop, BindingFault::Unsaid), 0),
        }
    }
}

impl NameScope for SirenScope {
    fn text_position(&self) -> TextRole {
        self.position
    }

    fn root_entry(&self) -> NameEntry {
        NameEntry { refuses: true, ..NameEntry::from_names(PathRoots(Arc::new(self.clone()))) }
    }

    fn tag_notation(&self) -> Option<&'static TagNotation> {
        Some(&TAGS)
    }

    // `lint` knows what else these names are called elsewhere.
    fn scope_description(&self) -> Option<&'static str> {
        None
    }

    /// A single word is not treated as a placeholder, except loop variables, inputs, and written names that are not
    /// everyday words.
    fn is_meant(&self, path: &[PathSegment], bound: &BoundPath, _alone: bool) -> bool {
        let words: Vec<&str> = path.iter().map(|s| &*s.name).collect();
        match words.as_slice() {
            ["item" | "index" | "total", ..] => {
                matches!(bound.entries.first(), Some(entry) if entry.defined == ValuePresence::Always)
            }
            ["inputs", _, ..] => bound.end != PathResolution::Open(1),
            ["env", name] => is_variable(name),
            ["_budget", _] => true,
            ["inputs" | "env" | "_budget" | "working" | "output"] | ["env" | "_budget", ..] => false,
            [name] => name.contains('_') && self.known.node_of(name).is_none(),
            _ => true,
        }
    }

    fn whole_path(&self, path: &str) -> Option<String> {
        let is_own = self.own_inputs().iter().any(|(name, _)| **name == *path);
        if is_own || self.known.inputs.find_field(path).is_some() {
            return Some(format!("inputs.{path}"));
        }
        None
    }
}

/// The names that can start a path.
struct PathRoots(Arc<SirenScope>);

impl NameResolver for PathRoots {
    fn get(&self, name: &str) -> NameMatch {
        let here = &self.0;
        let tree = |root: StateTree| {
            NameMatch::Is(NameEntry::new(ValueType::OBJECT).with_inner_names(TreeNames::for_tree(here.clone(), root)))
        };
        let namespace = |entry: NameEntry| {
            NameMatch::Is(
                entry.with_source(Source::Missing(MissingCause::NoField(name.into()), BindingFault::Unsaid), 0),
            )
        };
        match name {
            "working" => tree(StateTree::Working),
            "output" => tree(StateTree::Output),
            "_budget" => NameMatch::Is(here.usage_entry(1)),
            _ if here.is_condition() => NameMatch::Never(NameAbsence::default()),
            "inputs" => namespace(NameEntry::new(ValueType::OBJECT).with_inner_names(InputFields(here.clone()))),
            "env" => namespace(NameEntry::new(ValueType::OBJECT).with_inner_names(EnvironmentNames)),
            "item" | "index" | "total" => NameMatch::Is(here.variable(name)),
            _ => TreeNames::for_template(here.clone()).get(name),
        }
    }

    fn all_entries(&self) -> Vec<(Arc<str>, NameEntry)> {
        if self.0.is_condition() { self.0.offered_to_condition() } else { self.0.suggested_names() }
    }
}

/// `inputs`.
struct InputFields(Arc<SirenScope>);

impl NameResolver for InputFields {
    fn get(&self, name: &str) -> NameMatch {
        self.0.field(name)
    }

    fn all_entries(&self) -> Vec<(Arc<str>, NameEntry)> {
        let mut all = Vec::new();
        for name in self.0.input_names() {
            if let NameMatch::Is(entry) = self.0.field(&name) {
                all.push((name, entry));
            }
        }
        all
    }
}

/// `env`: any name may be set.
struct EnvironmentNames;

impl NameResolver for EnvironmentNames {
    fn get(&self, _name: &str) -> NameMatch {
        NameMatch::Is(
            NameEntry::new(ValueType::TEXT).with_defined(ValuePresence::Sometimes).with_source(Source::Environment, 1),
        )
    }

    fn all_entries(&self) -> Vec<(Arc<str>, NameEntry)> {
        Vec::new()
    }
}
