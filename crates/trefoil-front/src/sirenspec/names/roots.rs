//! The names that can start a path in a text of this format; no other file lists them. [`tree`](super::tree) has the names under
//! `working` and `output`.

use std::sync::Arc;

use trefoil_ir::types::ValueType;
use trefoil_ir::{BindingFault, Source, TextRole, ValuePresence};
use trefoil_template::{MissingCause, PathSegment};

use super::name_scope::SirenScope;
use super::node_part::ReadingPoint;
use super::tree::TreeNames;
use crate::names::{
    BoundPath, NameAbsence, NameEntry, NameMatch, NameResolver, NameScope, PathResolution, TagNotation, is_variable,
};
use crate::sirenspec::manifest::StateTree;

/// The notation of tags.
const TAGS: TagNotation = TagNotation {
    space: " ",
    statements: "this format has no blocks; use `| default('text')` or `when` on an edge",
    comparison: None,
};

impl SirenScope {
    /// The input with this name: of the factory's instance, otherwise of the workflow.
    fn find_input(&self, name: &str) -> NameMatch {
        if let Some(instance) = self.factory_instance()
            && let Some((_, declaration)) = self.own_inputs().iter().find(|(known, _)| &**known == name)
        {
            let entry = NameEntry::new(ValueType::Any).with_source(Source::Slot(instance.rendered), 1);
            return NameMatch::Is(entry.with_declaration(Some(*declaration)));
        }
        let inputs = &self.known.inputs;
        match inputs.find_field(name) {
            Some(field) => {
                let entry = NameEntry::new(field.schema.clone()).with_declaration(field.declared);
                NameMatch::Is(entry.with_source(Source::Slot(inputs.slot), 1))
            }
            // The workflow that will use the agent may have the input.
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

    /// A loop variable: `item`, `index` or `total`.
    fn loop_variable(&self, name: &str) -> NameEntry {
        let slot = match self.factory_instance() {
            Some(instance) => match name {
                "item" => instance.item,
                "index" => Some(instance.index),
                _ => Some(instance.total),
            },
            None => None,
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

    // `None`: the crate `lint` reports unknown names, because it knows the corresponding names of other systems.
    fn scope_description(&self) -> Option<&'static str> {
        None
    }

    /// A single word is probably prose, not a placeholder. Exceptions are loop variables, inputs, and written names that are not
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
        let scope = &self.0;
        let tree = |root: StateTree| {
            let names = TreeNames::for_tree(scope.clone(), root);
            NameMatch::Is(NameEntry::new(ValueType::OBJECT).with_inner_names(names))
        };
        // A namespace is not a value: a run that reads it as a whole finds nothing.
        let namespace = |entry: NameEntry| {
            let no_value = Source::Missing(MissingCause::NoField(name.into()), BindingFault::Unsaid);
            NameMatch::Is(entry.with_source(no_value, 0))
        };
        match name {
            "working" => tree(StateTree::Working),
            "output" => tree(StateTree::Output),
            "_budget" => NameMatch::Is(scope.usage_entry(1)),
            // A condition can read nothing else.
            _ if scope.is_condition() => NameMatch::Never(NameAbsence::default()),
            "inputs" => namespace(NameEntry::new(ValueType::OBJECT).with_inner_names(InputFields(scope.clone()))),
            "env" => namespace(NameEntry::new(ValueType::OBJECT).with_inner_names(EnvironmentNames)),
            "item" | "index" | "total" => NameMatch::Is(scope.loop_variable(name)),
            _ => TreeNames::for_template(scope.clone()).get(name),
        }
    }

    fn all_entries(&self) -> Vec<(Arc<str>, NameEntry)> {
        if self.0.is_condition() { self.0.condition_names() } else { self.0.suggested_names() }
    }
}

/// The members of `inputs`.
struct InputFields(Arc<SirenScope>);

impl NameResolver for InputFields {
    fn get(&self, name: &str) -> NameMatch {
        self.0.find_input(name)
    }

    fn all_entries(&self) -> Vec<(Arc<str>, NameEntry)> {
        let mut all = Vec::new();
        for name in self.0.input_names() {
            if let NameMatch::Is(entry) = self.0.find_input(&name) {
                all.push((name, entry));
            }
        }
        all
    }
}

/// The members of `env`. Any name may be set, so every name exists and none is listed.
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
