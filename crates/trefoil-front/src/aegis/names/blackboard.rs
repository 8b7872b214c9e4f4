//! The Blackboard and the start input: keys that the manifest writes, declared fields, and values that the caller of a
//! run may add.

use std::collections::BTreeMap;
use std::sync::Arc;

use trefoil_ir::types::ValueType;
use trefoil_ir::{Source, ValuePresence};

use super::state_order::StatePrecedence;
use super::workflow_names::{ALWAYS, AegisInput, BlackboardKey, RenderMoment, WorkflowNames};
use crate::names::{FixedObject, NameEntry, NameKind, NameMatch, NameResolver, allow_other_members};

/// A field of the input of a run or an agent; the fields in `free` need no declaration.
pub fn input_field(input: &AegisInput, name: &str, free: &[&str]) -> NameMatch {
    if let Some(schema) = &input.schema
        && let Some(object) = schema.of.as_object()
        && let Some(of) = object.members.get(name)
    {
        let sure = schema.requires_property(name) || of.schema_keyword("default").is_some();
        let (at, inner) = input.members.get(name).unwrap_or_default();
        let entry = NameEntry::new(of.clone()).with_defined(if sure {
            ValuePresence::Always
        } else {
            ValuePresence::Sometimes
        });
        return NameMatch::Is(
            allow_other_members(entry.with_declaration(at).with_members(inner))
                .with_kind(NameKind::Input)
                .with_note("an input"),
        );
    }
    let entry = allow_other_members(NameEntry::new(ValueType::Any).with_defined(ValuePresence::Sometimes))
        .with_kind(NameKind::Input);
    let closed = matches!(&input.schema, Some(schema) if schema.of_objects() && schema.is_closed());
    match name {
        _ if free.contains(&name) => NameMatch::Is(entry),
        _ if closed => NameMatch::Maybe(entry.with_defined(ValuePresence::Never)),
        _ => NameMatch::Maybe(entry),
    }
}

/// The fields of the start input, addressed with one segment more than `depth`.
pub struct StartFields {
    pub names: Arc<WorkflowNames>,
    pub depth: u16,
}

impl NameResolver for StartFields {
    fn get(&self, name: &str) -> NameMatch {
        read(input_field(&self.names.input, name, ALWAYS), Source::Slot(self.names.fixed.input), self.depth)
    }

    fn all_entries(&self) -> Vec<(Arc<str>, NameEntry)> {
        let names = self.names.input.field_names();
        names.filter_map(|name| named_entry(name, self.get(name))).collect()
    }
}

/// The keys of the Blackboard, addressed with one segment more than `depth`.
pub struct BlackboardKeys {
    pub names: Arc<WorkflowNames>,
    pub moment: RenderMoment,
    pub depth: u16,
}

impl NameResolver for BlackboardKeys {
    fn get(&self, name: &str) -> NameMatch {
        let names = &self.names;
        let found = match names.keys.get(name) {
            Some(key) => NameMatch::Is(written(names, self.moment, key)),
            None => input_field(&names.input, name, ALWAYS),
        };
        match read(found, Source::Slot(names.fixed.blackboard), self.depth) {
            NameMatch::Is(entry) => NameMatch::Is(entry.with_kind(NameKind::Key)),
            NameMatch::Maybe(entry) => NameMatch::Maybe(entry.with_kind(NameKind::Key)),
            never => never,
        }
    }

    fn all_entries(&self) -> Vec<(Arc<str>, NameEntry)> {
        self.names.keys.keys().filter_map(|name| named_entry(name, self.get(name))).collect()
    }
}

/// The type of a Blackboard with these keys.
pub fn type_of_keys(keys: &BTreeMap<Arc<str>, BlackboardKey>) -> ValueType {
    let keys = keys.iter().map(|(name, key)| (name.clone(), NameEntry::new(key.schema.clone())));
    FixedObject::from_entries(keys).with_others(allow_other_members(NameEntry::new(ValueType::Any))).object_type()
}

/// A key that the manifest writes. A start input may contain it as well.
fn written(names: &WorkflowNames, moment: RenderMoment, key: &BlackboardKey) -> NameEntry {
    let note = if key.seeded { "in the context" } else { "written to the Blackboard" };
    let entry = allow_other_members(
        NameEntry::new(key.schema.clone()).with_declaration(Some(key.at)).with_members(key.members.clone()),
    )
    .with_note(note);
    let always = |writer: &usize| names.precedence_at(*writer, moment) == StatePrecedence::Always;
    if key.seeded || key.writers.iter().any(always) { entry } else { entry.with_defined(ValuePresence::Sometimes) }
}

fn read(found: NameMatch, source: Source, skip: u16) -> NameMatch {
    match found {
        NameMatch::Is(entry) => NameMatch::Is(entry.with_source(source, skip)),
        NameMatch::Maybe(entry) => NameMatch::Maybe(entry.with_source(source, skip)),
        never => never,
    }
}

pub fn named_entry(name: &Arc<str>, found: NameMatch) -> Option<(Arc<str>, NameEntry)> {
    match found {
        NameMatch::Is(entry) | NameMatch::Maybe(entry) => Some((name.clone(), entry)),
        NameMatch::Never(_) => None,
    }
}
