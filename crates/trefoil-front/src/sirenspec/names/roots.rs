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
        let rendered = self.factory_instance().map(|i| i.rendered);
        if let Some(((_, at), slot)) = self.own_inputs().iter().find(|(n, _)| &**n == name).zip(rendered) {
            return NameMatch::Is(
                NameEntry::new(ValueType::Any).with_source(Source::Slot(slot), 1).with_declaration(Some(*at)),
            );
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
            None => {
                let own = self.own_inputs().iter().map(|(name, _)| name.clone());
                NameMatch::Never(NameAbsence {
                    what: None,
                    names: inputs.field_names().map(Arc::from).chain(own).collect(),
                })
            }
        }
    }

    /// A loop variable.
    fn variable(&self, name: &str) -> NameEntry {
        let slot = self.factory_instance().and_then(|instance| match name {
            "item" => instance.item,
            "index" => Some(instance.index),
            _ => Some(instance.total),
        });
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
                bound.entries.first().is_some_and(|e| e.defined == ValuePresence::Always)
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
        let own = self.own_inputs().iter().any(|(name, _)| **name == *path);
        (own || self.known.inputs.find_field(path).is_some()).then(|| format!("inputs.{path}"))
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
        let fields = self.0.known.inputs.field_names().map(Arc::from);
        let own = self.0.own_inputs().iter().map(|(name, _)| name.clone());
        let entry = |name: Arc<str>| match self.0.field(&name) {
            NameMatch::Is(entry) => Some((name, entry)),
            _ => None,
        };
        fields.chain(own).filter_map(entry).collect()
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
