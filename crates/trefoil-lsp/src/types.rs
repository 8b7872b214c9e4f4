//! Describes types in a short form, and finds their properties.

use std::sync::Arc;

use trefoil_ir::types::{ValueKind, ValueKinds, ValueType};
use trefoil_template::Value;

/// Maximum number of properties that are listed; the rest is only counted.
const SHOWN: usize = 6;
/// Maximum depth at which types are described.
const DEPTH: usize = 3;

/// A type in a few words: `{ draft: text, notes?: list of text }`.
pub fn describe_type(of: &ValueType) -> String {
    render_type(of, DEPTH)
}

fn render_type(of: &ValueType, depth: usize) -> String {
    let [any_of, one_of, _] = of.schema_forms();
    let forms = if any_of.is_empty() { one_of } else { any_of };
    if !of.listed_values().is_empty() {
        return join_alternatives(of.listed_values().iter().take(SHOWN).map(literal), of.listed_values().len());
    }
    if !forms.is_empty() {
        return join_alternatives(
            forms.iter().take(SHOWN).map(|one| render_type(one, depth.saturating_sub(1))),
            forms.len(),
        );
    }
    match of.value_kinds().or_else(|| of.as_object().map(|_| ValueKinds::from_kind(ValueKind::Object))) {
        Some(kinds) => join_alternatives(kinds.iter().map(|kind| one(of, kind, depth)), 0),
        None => "anything".to_owned(),
    }
}

fn one(of: &ValueType, kind: ValueKind, depth: usize) -> String {
    match kind {
        ValueKind::Text => "text".to_owned(),
        ValueKind::Number if of.is_integer() || names_integer(of) => "whole number".to_owned(),
        ValueKind::List => match of.as_list().and_then(|list| list.rest.as_ref()) {
            Some(items) if depth > 0 && *items != ValueType::Any => {
                format!("list of {}", render_type(items, depth - 1))
            }
            _ => "list".to_owned(),
        },
        ValueKind::Object => {
            let members = list_properties(of);
            if members.is_empty() || depth == 0 {
                return "object".to_owned();
            }
            let shown = members.iter().take(SHOWN).map(|m| {
                let mark = if m.required { "" } else { "?" };
                format!("{}{mark}: {}", m.name, render_type(m.of, depth - 1))
            });
            let more = if members.len() > SHOWN { ", …" } else { "" };
            format!("{{ {}{more} }}", shown.collect::<Vec<_>>().join(", "))
        }
        other => other.name().to_owned(),
    }
}

/// Whether whole numbers are one of several kinds.
fn names_integer(of: &ValueType) -> bool {
    let names = of.schema_keyword("type").and_then(Value::as_list).unwrap_or_default();
    names.iter().any(|name| name.as_str() == Some("integer"))
}

fn join_alternatives(words: impl Iterator<Item = String>, all: usize) -> String {
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
pub struct TypeProperty<'s> {
    /// Its name.
    pub name: &'s Arc<str>,
    /// Its type.
    pub of: &'s ValueType,
    /// Whether it always exists.
    pub required: bool,
}

/// The properties that a value of this type may have, in any of its alternatives.
pub fn list_properties(of: &ValueType) -> Vec<TypeProperty<'_>> {
    let mut out: Vec<TypeProperty<'_>> = Vec::new();
    collect(of, DEPTH, &mut out);
    out
}

fn collect<'s>(of: &'s ValueType, depth: usize, out: &mut Vec<TypeProperty<'s>>) {
    let requires = |name: &str| of.as_object().is_some_and(|object| object.requires_member(name));
    let new: Vec<_> = of.object_members().filter(|(name, _)| !out.iter().any(|p| p.name == *name)).collect();
    out.extend(new.into_iter().map(|(name, of)| TypeProperty { name, of, required: requires(name) }));
    if depth > 0 {
        of.schema_forms().into_iter().flatten().for_each(|form| collect(form, depth - 1, out));
    }
}

/// The type of a member: a property, or any item of a list.
pub fn member_type<'s>(of: &'s ValueType, name: &str) -> Option<&'s ValueType> {
    if let Some(property) = list_properties(of).into_iter().find(|p| **p.name == *name) {
        return Some(property.of);
    }
    let list = of.as_list().filter(|_| name.bytes().all(|b| b.is_ascii_digit()));
    list.and_then(|list| list.rest.as_ref())
}

/// The values that a type lists, as JSON.
pub fn listed_values(of: &ValueType) -> Vec<Value> {
    let booleans = [true, false].map(Value::Bool);
    let boolean =
        of.listed_values().is_empty() && of.value_kinds().is_some_and(|kinds| kinds.is_only(ValueKind::Boolean));
    of.listed_values().iter().cloned().chain(booleans.into_iter().filter(|_| boolean)).collect()
}
