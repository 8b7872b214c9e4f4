//! Describes JSON Schemas in a short form, and finds their properties.

use trefoil_template::Value;

/// Maximum number of properties that are listed; the rest is only counted.
const SHOWN: usize = 6;
/// Maximum depth at which types are described.
const DEPTH: usize = 3;

/// A schema in a few words: `{ draft: text, notes?: list of text }`.
pub fn describe(schema: &Value) -> String {
    written(schema, DEPTH)
}

fn written(schema: &Value, depth: usize) -> String {
    if let Some(allowed) = schema.get("enum").and_then(list) {
        return joined(allowed.iter().take(SHOWN).map(literal), allowed.len());
    }
    if let Some(constant) = schema.get("const") {
        return literal(constant);
    }
    for any in ["anyOf", "oneOf"] {
        if let Some(all) = schema.get(any).and_then(list) {
            return joined(all.iter().take(SHOWN).map(|s| written(s, depth.saturating_sub(1))), all.len());
        }
    }
    match schema.get("type") {
        Some(Value::Str(kind)) => one(schema, kind, depth),
        Some(Value::List(kinds)) => {
            joined(kinds.iter().filter_map(Value::as_str).map(|kind| one(schema, kind, depth)), kinds.len())
        }
        _ if schema.get("properties").is_some() => one(schema, "object", depth),
        _ => "anything".to_owned(),
    }
}

fn one(schema: &Value, kind: &str, depth: usize) -> String {
    match kind {
        "string" => "text".to_owned(),
        "integer" => "whole number".to_owned(),
        "array" => match schema.get("items") {
            Some(items) if depth > 0 && !matches!(items, Value::Bool(_)) => {
                format!("list of {}", written(items, depth - 1))
            }
            _ => "list".to_owned(),
        },
        "object" => {
            let members = properties(schema);
            if members.is_empty() || depth == 0 {
                return "object".to_owned();
            }
            let shown = members.iter().take(SHOWN).map(|m| {
                let mark = if m.required { "" } else { "?" };
                format!("{}{mark}: {}", m.name, written(m.schema, depth - 1))
            });
            let more = if members.len() > SHOWN { ", …" } else { "" };
            format!("{{ {}{more} }}", shown.collect::<Vec<_>>().join(", "))
        }
        other => other.to_owned(),
    }
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

fn list(value: &Value) -> Option<&[Value]> {
    match value {
        Value::List(items) => Some(items),
        _ => None,
    }
}

/// A property of a schema.
#[derive(Debug, Clone, Copy)]
pub struct Property<'s> {
    /// Its name.
    pub name: &'s str,
    /// Its schema.
    pub schema: &'s Value,
    /// Whether it always exists.
    pub required: bool,
}

/// The properties that a value of this schema may have, in any of its alternatives.
pub fn properties(schema: &Value) -> Vec<Property<'_>> {
    let mut out: Vec<Property<'_>> = Vec::new();
    collect(schema, DEPTH, &mut out);
    out
}

fn collect<'s>(schema: &'s Value, depth: usize, out: &mut Vec<Property<'s>>) {
    let required = schema.get("required").and_then(list).unwrap_or_default();
    if let Some(members) = schema.get("properties").and_then(Value::as_object) {
        for (name, schema) in
            members.iter().filter(|(name, _)| !out.iter().any(|p| p.name == &***name)).collect::<Vec<_>>()
        {
            let required = required.iter().any(|r| r.as_str() == Some(name));
            out.push(Property { name, schema, required });
        }
    }
    if depth > 0 {
        for several in ["anyOf", "oneOf", "allOf"] {
            for form in schema.get(several).and_then(list).unwrap_or_default() {
                collect(form, depth - 1, out);
            }
        }
    }
}

/// The schema of a member: a property, or any item of a list.
pub fn member<'s>(schema: &'s Value, name: &str) -> Option<&'s Value> {
    if let Some(property) = properties(schema).into_iter().find(|p| p.name == name) {
        return Some(property.schema);
    }
    name.bytes().all(|b| b.is_ascii_digit()).then(|| schema.get("items")).flatten()
}

/// The values that a schema allows, if it lists them.
pub fn values(schema: &Value) -> Vec<&Value> {
    match (schema.get("enum").and_then(list), schema.get("const")) {
        (Some(all), _) => all.iter().collect(),
        (None, Some(one)) => vec![one],
        _ => Vec::new(),
    }
}
