//! The places where the members of a value are declared.

use std::sync::Arc;

use trefoil_ir::types::ValueType;
use trefoil_syntax::yaml::{YamlMapping, YamlNode};
use trefoil_syntax::{FileId, Location};

/// The places where the members of a value are declared, by name.
#[derive(Debug, Clone, Default)]
pub struct MemberDeclarations(Arc<[MemberDeclaration]>);

/// A member: its name, its declaration (fields of the format have none), and its own members.
pub type MemberDeclaration = (Arc<str>, Option<Location>, MemberDeclarations);

impl MemberDeclarations {
    /// A set of members.
    pub fn from_members(members: Vec<MemberDeclaration>) -> Self {
        Self(members.into())
    }
    /// The declaration of a member, and its own members. An index of a list returns the members of the list's items.
    pub fn get(&self, name: &str) -> Option<(Option<Location>, MemberDeclarations)> {
        let found = self.0.iter().find(|(n, ..)| &**n == name);
        match found {
            Some((_, at, inner)) => Some((*at, inner.clone())),
            None if name.bytes().all(|b| b.is_ascii_digit()) => Some((None, self.clone())),
            None => None,
        }
    }
    /// Every member.
    pub fn all_members(&self) -> impl Iterator<Item = MemberDeclaration> + '_ {
        self.0.iter().cloned()
    }
    /// The declaration of a member.
    pub fn declaration_of(&self, name: &str) -> Option<Location> {
        self.get(name)?.0
    }
}

/// The places of the properties of a schema in another file, which are declared when that file is lowered.
pub fn property_declarations(file: FileId, node: &YamlNode, of: &ValueType) -> MemberDeclarations {
    let Some(mapping) = members_of(node) else { return MemberDeclarations::default() };
    let mut members = Vec::with_capacity(mapping.entries.len());
    for entry in &mapping.entries {
        let inner = property_declarations(file, &entry.value, item_type(&of.property_type(&entry.key.value)));
        members.push((entry.key.value.clone(), Some(Location::new(file, entry.key.content_span())), inner));
    }
    MemberDeclarations::from_members(members)
}

/// The properties that a schema declares, itself or for its items.
pub(crate) fn members_of(node: &YamlNode) -> Option<&YamlMapping> {
    let mapping = node.as_mapping()?;
    match mapping.get("properties") {
        Some(properties) => properties.value.as_mapping(),
        None => members_of(&mapping.get("items")?.value),
    }
}

/// The type of a list's items; otherwise the type itself.
pub(crate) fn item_type(of: &ValueType) -> &ValueType {
    match of.as_list().and_then(|list| list.rest.as_ref()) {
        Some(inner) if of.object_members().next().is_none() => item_type(inner),
        _ => of,
    }
}
