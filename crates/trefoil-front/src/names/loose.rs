//! Values that may have more members than their types declare: a model's answer does not always match its schema, and
//! the input of a run may have members that the default lacks.

use std::sync::Arc;

use super::{Entry, Found, Inside, Members, member};
use trefoil_ir::Defined;
use trefoil_ir::types::Type;

/// A value whose undeclared members can be read as well.
#[must_use]
pub fn loose(value: Entry) -> Entry {
    let places = match value.inside {
        Inside::Value(places) | Inside::Loose(places) => places,
        Inside::Names(_) => Members::default(),
    };
    Entry { inside: Inside::Loose(places), ..value }
}

/// A member of such a value.
pub(super) fn get(of: &Entry, places: &Members, name: &str) -> Found {
    match member(of, places, name) {
        Found::Is(entry) => Found::Is(loose(entry)),
        Found::Maybe(entry) => Found::Maybe(loose(entry)),
        Found::Never(_) => Found::Maybe(loose(Entry::new(Type::Any).defined(Defined::Never))),
    }
}

/// The members that its type declares.
pub(super) fn all(of: &Entry, places: &Members) -> Vec<(Arc<str>, Entry)> {
    of.schema.members().filter_map(|(name, _)| Some((name.clone(), found(get(of, places, name))?))).collect()
}

fn found(found: Found) -> Option<Entry> {
    match found {
        Found::Is(entry) | Found::Maybe(entry) => Some(entry),
        Found::Never(_) => None,
    }
}
