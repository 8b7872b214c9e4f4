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
    let listed = of.listed_values();
    if !listed.is_empty() {
        return join_alternatives(listed.iter().take(SHOWN).map(literal), listed.len());
    }
    let [any_of, one_of, _] = of.schema_forms();
    let forms = if any_of.is_empty() { one_of } else { any_of };
    if !forms.is_empty() {
        let shown = forms.iter().take(SHOWN).map(|form| render_type(form, depth.saturating_sub(1)));
        return join_alternatives(shown, forms.len());
    }
    let kinds = match of.value_kinds() {
        Some(kinds) => kinds,
        None if of.as_object().is_some() => ValueKinds::from_kind(ValueKind::Object),
        None => return "anything".to_owned(),
    };
    join_alternatives(kinds.iter().map(|kind| one(of, kind, depth)), 0)
}

fn one(of: &ValueType, kind: ValueKind, depth: usize) -> String {
    match kind {
        ValueKind::Text => "text".to_owned(),
        ValueKind::Number if of.is_integer() || names_integer(of) => "whole number".to_owned(),
        ValueKind::List => match rest_type(of) {
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
            let mut shown = Vec::new();
            for member in members.iter().take(SHOWN) {
                let mark = if member.required { "" } else { "?" };
                shown.push(format!("{}{mark}: {}", member.name, render_type(member.of, depth - 1)));
            }
            let more = if members.len() > SHOWN { ", …" } else { "" };
            format!("{{ {}{more} }}", shown.join(", "))
        }
        other => other.name().to_owned(),
    }
}

/// The type of the items of a list.
fn rest_type(of: &ValueType) -> Option<&ValueType> {
    of.as_list()?.rest.as_ref()
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
    if let Some(object) = of.as_object() {
        for (name, member) in &object.members {
            if !out.iter().any(|known| known.name == name) {
                out.push(TypeProperty { name, of: member, required: object.requires_member(name) });
            }
        }
    }
    if depth > 0 {
        for form in of.schema_forms().into_iter().flatten() {
            collect(form, depth - 1, out);
        }
    }
}

/// The type of a member: a property, or any item of a list.
pub fn member_type<'s>(of: &'s ValueType, name: &str) -> Option<&'s ValueType> {
    if let Some(property) = list_properties(of).into_iter().find(|p| **p.name == *name) {
        return Some(property.of);
    }
    if name.bytes().all(|b| b.is_ascii_digit()) { rest_type(of) } else { None }
}

/// The type of what a path of member names leads to.
pub fn type_at_path<'s>(of: &'s ValueType, path: &[&str]) -> Option<&'s ValueType> {
    let mut reached = of;
    for name in path {
        reached = member_type(reached, name)?;
    }
    Some(reached)
}

/// The values that a type lists, as JSON.
pub fn listed_values(of: &ValueType) -> Vec<Value> {
    let listed = of.listed_values();
    if listed.is_empty() && matches!(of.value_kinds(), Some(kinds) if kinds.is_only(ValueKind::Boolean)) {
        return vec![Value::Bool(true), Value::Bool(false)];
    }
    listed.to_vec()
}
