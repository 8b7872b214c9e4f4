//! Values that may have more members than their types declare: a model's answer does not always match its schema, and
//! the input of a run may have members that the default lacks.

use std::sync::Arc;

use super::{InnerNames, MemberDeclarations, NameEntry, NameMatch, look_up_member};
use trefoil_ir::ValuePresence;
use trefoil_ir::types::ValueType;

/// A value whose undeclared members can be read as well.
#[must_use]
pub fn allow_other_members(value: NameEntry) -> NameEntry {
    let places = match value.inside {
        InnerNames::Value(places) | InnerNames::Loose(places) => places,
        InnerNames::Names(_) => MemberDeclarations::default(),
    };
    NameEntry { inside: InnerNames::Loose(places), ..value }
}

/// A member of such a value.
pub(super) fn look_up_open_member(of: &NameEntry, places: &MemberDeclarations, name: &str) -> NameMatch {
    match look_up_member(of, places, name) {
        NameMatch::Is(entry) => NameMatch::Is(allow_other_members(entry)),
        NameMatch::Maybe(entry) => NameMatch::Maybe(allow_other_members(entry)),
        NameMatch::Never(_) => {
            NameMatch::Maybe(allow_other_members(NameEntry::new(ValueType::Any).with_defined(ValuePresence::Never)))
        }
    }
}

/// The members that its type declares.
pub(super) fn declared_members(of: &NameEntry, places: &MemberDeclarations) -> Vec<(Arc<str>, NameEntry)> {
    of.schema
        .object_members()
        .filter_map(|(name, _)| Some((name.clone(), found(look_up_open_member(of, places, name))?)))
        .collect()
}

fn found(found: NameMatch) -> Option<NameEntry> {
    match found {
        NameMatch::Is(entry) | NameMatch::Maybe(entry) => Some(entry),
        NameMatch::Never(_) => None,
    }
}
