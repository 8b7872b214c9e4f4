//! Describes types in a short form, and finds their properties.

use std::sync::Arc;

use trefoil_ir::types::{Kind, Kinds, Type};
use trefoil_template::Value;

/// Maximum number of properties that are listed; the rest is only counted.
const SHOWN: usize = 6;
/// Maximum depth at which types are described.
const DEPTH: usize = 3;

/// A type in a few words: `{ draft: text, notes?: list of text }`.
pub fn describe(of: &Type) -> String {
    written(of, DEPTH)
}

fn written(of: &Type, depth: usize) -> String {
    let [any_of, one_of, _] = of.forms();
    let forms = if any_of.is_empty() { one_of } else { any_of };
    if !of.listed().is_empty() {
        return joined(of.listed().iter().take(SHOWN).map(literal), of.listed().len());
    }
    if !forms.is_empty() {
        return joined(forms.iter().take(SHOWN).map(|one| written(one, depth.saturating_sub(1))), forms.len());
    }
    match of.kinds().or_else(|| of.as_object().map(|_| Kinds::of(Kind::Object))) {
        Some(kinds) => joined(kinds.iter().map(|kind| one(of, kind, depth)), 0),
        None => "anything".to_owned(),
    }
}

fn one(of: &Type, kind: Kind, depth: usize) -> String {
    match kind {
        Kind::Text => "text".to_owned(),
        Kind::Number if of.is_integer() || names_integer(of) => "whole number".to_owned(),
        Kind::List => match of.as_list().and_then(|list| list.rest.as_ref()) {
            Some(items) if depth > 0 && *items != Type::Any => format!("list of {}", written(items, depth - 1)),
            _ => "list".to_owned(),
        },
        Kind::Object => {
            let members = properties(of);
            if members.is_empty() || depth == 0 {
                return "object".to_owned();
            }
            let shown = members.iter().take(SHOWN).map(|m| {
                let mark = if m.required { "" } else { "?" };
                format!("{}{mark}: {}", m.name, written(m.of, depth - 1))
            });
            let more = if members.len() > SHOWN { ", …" } else { "" };
            format!("{{ {}{more} }}", shown.collect::<Vec<_>>().join(", "))
        }
        other => other.name().to_owned(),
    }
}

/// Whether whole numbers are one of several kinds.
fn names_integer(of: &Type) -> bool {
    let names = of.keyword("type").and_then(Value::as_list).unwrap_or_default();
    names.iter().any(|name| name.as_str() == Some("integer"))
}

fn joined(words: impl Iterator<Item = String>, all: usize) -> String {
    let mut words: Vec<String> = words.collect();
    if all > words.len() {
        words.push("…".to_owned());
    }
    words.dedup();
    words.join(" | ")
}

fn literal(value: &Value) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

/// A property of a type.
#[derive(Debug, Clone, Copy)]
pub struct Property<'s> {
    /// Its name.
    pub name: &'s Arc<str>,
    /// Its type.
    pub of: &'s Type,
    /// Whether it always exists.
    pub required: bool,
}

/// The properties that a value of this type may have, in any of its alternatives.
pub fn properties(of: &Type) -> Vec<Property<'_>> {
    let mut out: Vec<Property<'_>> = Vec::new();
    collect(of, DEPTH, &mut out);
    out
}

fn collect<'s>(of: &'s Type, depth: usize, out: &mut Vec<Property<'s>>) {
    let requires = |name: &str| of.as_object().is_some_and(|object| object.requires(name));
    let new: Vec<_> = of.members().filter(|(name, _)| !out.iter().any(|p| p.name == *name)).collect();
    out.extend(new.into_iter().map(|(name, of)| Property { name, of, required: requires(name) }));
    if depth > 0 {
        of.forms().into_iter().flatten().for_each(|form| collect(form, depth - 1, out));
    }
}

/// The type of a member: a property, or any item of a list.
pub fn member<'s>(of: &'s Type, name: &str) -> Option<&'s Type> {
    if let Some(property) = properties(of).into_iter().find(|p| **p.name == *name) {
        return Some(property.of);
    }
    let list = of.as_list().filter(|_| name.bytes().all(|b| b.is_ascii_digit()));
    list.and_then(|list| list.rest.as_ref())
}

/// The values that a type lists, as JSON.
pub fn values(of: &Type) -> Vec<Value> {
    let booleans = [true, false].map(Value::Bool);
    let boolean = of.listed().is_empty() && of.kinds().is_some_and(|kinds| kinds.is(Kind::Boolean));
    of.listed().iter().cloned().chain(booleans.into_iter().filter(|_| boolean)).collect()
}
