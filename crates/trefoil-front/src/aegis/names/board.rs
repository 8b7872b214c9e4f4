//! The Blackboard and the start input: keys that the manifest writes, declared fields, and values that the caller of a
//! run may add.

use std::collections::BTreeMap;
use std::sync::Arc;

use trefoil_ir::types::Type;
use trefoil_ir::{Defined, Source};

use super::known::{ALWAYS, BoardKey, Input, Moment, WorkflowNames};
use super::paths::Before;
use crate::names::{Entry, Found, Listed, Names, Sort, loose};

/// A field of the input of a run or an agent; the fields in `free` need no declaration.
pub fn field(input: &Input, name: &str, free: &[&str]) -> Found {
    let declared = input.schema.as_ref().and_then(|s| Some((s, s.of.as_object()?.members.get(name)?)));
    if let Some((schema, of)) = declared {
        let sure = schema.requires(name) || of.keyword("default").is_some();
        let (at, inner) = input.members.get(name).unwrap_or_default();
        let entry = Entry::new(of.clone()).defined(if sure { Defined::Always } else { Defined::Sometimes });
        return Found::Is(loose(entry.declared(at).members(inner)).sort(Sort::Input).note("an input"));
    }
    let entry = loose(Entry::new(Type::Any).defined(Defined::Sometimes)).sort(Sort::Input);
    let closed = input.schema.as_ref().is_some_and(|s| s.of_objects() && s.closed());
    match name {
        _ if free.contains(&name) => Found::Is(entry),
        _ if closed => Found::Maybe(entry.defined(Defined::Never)),
        _ => Found::Maybe(entry),
    }
}

/// The fields of the start input, addressed with one segment more than `depth`.
pub struct StartFields {
    pub names: Arc<WorkflowNames>,
    pub depth: u16,
}

impl Names for StartFields {
    fn get(&self, name: &str) -> Found {
        read(field(&self.names.input, name, ALWAYS), Source::Slot(self.names.fixed.input), self.depth)
    }

    fn all(&self) -> Vec<(Arc<str>, Entry)> {
        let names = self.names.input.fields();
        names.filter_map(|name| found(name, self.get(name))).collect()
    }
}

/// The keys of the Blackboard, addressed with one segment more than `depth`.
pub struct Keys {
    pub names: Arc<WorkflowNames>,
    pub moment: Moment,
    pub depth: u16,
}

impl Names for Keys {
    fn get(&self, name: &str) -> Found {
        let names = &self.names;
        let found = match names.keys.get(name) {
            Some(key) => Found::Is(written(names, self.moment, key)),
            None => field(&names.input, name, ALWAYS),
        };
        match read(found, Source::Slot(names.fixed.blackboard), self.depth) {
            Found::Is(entry) => Found::Is(entry.sort(Sort::Key)),
            Found::Maybe(entry) => Found::Maybe(entry.sort(Sort::Key)),
            never => never,
        }
    }

    fn all(&self) -> Vec<(Arc<str>, Entry)> {
        self.names.keys.keys().filter_map(|name| found(name, self.get(name))).collect()
    }
}

/// The type of a Blackboard with these keys.
pub fn type_of_keys(keys: &BTreeMap<Arc<str>, BoardKey>) -> Type {
    let keys = keys.iter().map(|(name, key)| (name.clone(), Entry::new(key.schema.clone())));
    Listed::of(keys).others(loose(Entry::new(Type::Any))).schema()
}

/// A key that the manifest writes. A start input may contain it as well.
fn written(names: &WorkflowNames, moment: Moment, key: &BoardKey) -> Entry {
    let note = if key.seeded { "in the context" } else { "written to the Blackboard" };
    let entry = loose(Entry::new(key.schema.clone()).declared(Some(key.at)).members(key.members.clone())).note(note);
    let always = |writer: &usize| names.before(*writer, moment) == Before::Always;
    if key.seeded || key.writers.iter().any(always) { entry } else { entry.defined(Defined::Sometimes) }
}

fn read(found: Found, source: Source, skip: u16) -> Found {
    match found {
        Found::Is(entry) => Found::Is(entry.read(source, skip)),
        Found::Maybe(entry) => Found::Maybe(entry.read(source, skip)),
        never => never,
    }
}

pub fn found(name: &Arc<str>, found: Found) -> Option<(Arc<str>, Entry)> {
    match found {
        Found::Is(entry) | Found::Maybe(entry) => Some((name.clone(), entry)),
        Found::Never(_) => None,
    }
}
