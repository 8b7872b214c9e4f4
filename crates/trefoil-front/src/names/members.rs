//! The places where the members of a value are declared.

use std::sync::Arc;

use trefoil_ir::types::Type;
use trefoil_syntax::yaml::{Mapping, Node};
use trefoil_syntax::{FileId, Location};

/// The places where the members of a value are declared, by name.
#[derive(Debug, Clone, Default)]
pub struct Members(Arc<[Member]>);

/// A member: its name, its declaration (fields of the format have none), and its own members.
pub type Member = (Arc<str>, Option<Location>, Members);

impl Members {
    /// A set of members.
    pub fn of(members: Vec<Member>) -> Self {
        Self(members.into())
    }
    /// The declaration of a member, and its own members. An index of a list returns the members of the list's items.
    pub fn get(&self, name: &str) -> Option<(Option<Location>, Members)> {
        let found = self.0.iter().find(|(n, ..)| &**n == name);
        match found {
            Some((_, at, inner)) => Some((*at, inner.clone())),
            None if name.bytes().all(|b| b.is_ascii_digit()) => Some((None, self.clone())),
            None => None,
        }
    }
    /// Every member.
    pub fn all(&self) -> impl Iterator<Item = Member> + '_ {
        self.0.iter().cloned()
    }
    /// The declaration of a member.
    pub fn place(&self, name: &str) -> Option<Location> {
        self.get(name)?.0
    }
}

/// The places of the properties of a schema in another file, which are declared when that file is lowered.
pub fn places(file: FileId, node: &Node, of: &Type) -> Members {
    let Some(mapping) = members_of(node) else { return Members::default() };
    let members = mapping.entries.iter().map(|entry| {
        let inner = places(file, &entry.value, items(&of.property(&entry.key.value)));
        (entry.key.value.clone(), Some(Location::new(file, entry.key.content())), inner)
    });
    Members::of(members.collect())
}

/// The properties that a schema declares, itself or for its items.
pub(crate) fn members_of(node: &Node) -> Option<&Mapping> {
    let mapping = node.mapping()?;
    match mapping.get("properties") {
        Some(properties) => properties.value.mapping(),
        None => members_of(&mapping.get("items")?.value),
    }
}

/// The type of a list's items; otherwise the type itself.
pub(crate) fn items(of: &Type) -> &Type {
    match of.as_list().and_then(|list| list.rest.as_ref()) {
        Some(inner) if of.members().next().is_none() => items(inner),
        _ => of,
    }
}
