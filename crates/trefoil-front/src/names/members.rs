//! Where the members of a value are declared.

use std::sync::Arc;

use trefoil_syntax::yaml::{Mapping, Node};
use trefoil_syntax::{FileId, Location};
use trefoil_template::Value;

/// Where the members of a value are declared, by name.
#[derive(Debug, Clone, Default)]
pub struct Members(Arc<[Member]>);

/// A member: its name, where it is declared (a format's own fields are nowhere), and its own members.
pub type Member = (Arc<str>, Option<Location>, Members);

impl Members {
    /// These.
    pub fn of(members: Vec<Member>) -> Self {
        Self(members.into())
    }
    /// Where a member is declared, and its own members. An item of a list has those of the list.
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
    /// Where a path has no member to continue to: the place of the first one that there is.
    pub fn where_it_ends<'a>(&self, path: impl Iterator<Item = &'a str>) -> Option<Location> {
        let mut here = self.clone();
        for name in path {
            match here.get(name) {
                Some((_, inner)) => here = inner,
                None => break,
            }
        }
        here.0.iter().find_map(|(_, at, _)| *at)
    }
    /// Where a member is declared.
    pub fn place(&self, name: &str) -> Option<Location> {
        self.get(name)?.0
    }
}

/// Where the properties of a schema of another file are; that file's own lowering declares them.
pub fn places(file: FileId, node: &Node, json: &Value) -> Members {
    let Some(mapping) = members_of(node) else { return Members::default() };
    let declared = json.get("properties");
    let members = mapping.entries.iter().map(|entry| {
        let schema = declared.and_then(|p| p.get(&entry.key.value)).cloned().unwrap_or(Value::Bool(true));
        let inner = places(file, &entry.value, items(&schema));
        (entry.key.value.clone(), Some(Location::new(file, entry.key.content())), inner)
    });
    Members::of(members.collect())
}

/// The properties that a schema writes down, its own or those of its items.
pub(crate) fn members_of(node: &Node) -> Option<&Mapping> {
    let mapping = node.mapping()?;
    match mapping.get("properties") {
        Some(properties) => properties.value.mapping(),
        None => members_of(&mapping.get("items")?.value),
    }
}

/// The schema of what is listed, where it is one of a list.
pub(crate) fn items(schema: &Value) -> &Value {
    match (schema.get("properties"), schema.get("items")) {
        (None, Some(inner)) => items(inner),
        _ => schema,
    }
}
