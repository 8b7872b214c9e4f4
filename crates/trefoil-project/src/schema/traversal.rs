//! Finds the parts of a format's schema that apply to one place.

use std::collections::HashSet;

use serde_json::{Map, Value};
use trefoil_syntax::yaml::YamlNode;

use super::matching::{matches_schema, of_type};
use super::{AllowedValue, SchemaKey, SchemaSegment, ValueForm};

type JsonObject = Map<String, Value>;

/// The keys of the mapping at a path.
pub fn keys(schema: &Value, root: &YamlNode, path: &[SchemaSegment]) -> Vec<SchemaKey> {
    let (parts, _) = parts_at_path(schema, root, path);
    let mut keys: Vec<SchemaKey> = Vec::new();
    for part in &parts {
        let required = part.get("required").and_then(Value::as_array);
        let is_required = |name: &str| required.is_some_and(|r| r.iter().any(|v| v.as_str() == Some(name)));
        for (name, says) in part.get("properties").and_then(Value::as_object).into_iter().flatten() {
            let key = key(schema, name, says, is_required(name));
            match keys.iter_mut().find(|k| k.name == *name) {
                Some(known) => merge(known, key),
                None => keys.push(key),
            }
        }
    }
    for part in &parts {
        for name in part.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str) {
            keys.iter_mut().filter(|k| k.name == name).for_each(|k| k.required = true);
        }
    }
    keys
}

/// The choice of values at a path. The current value is to be replaced, so it excludes no choice.
pub fn values(schema: &Value, root: &YamlNode, path: &[SchemaSegment]) -> Vec<AllowedValue> {
    let Some((last, above)) = path.split_last() else { return choices(&parts_at_path(schema, root, path).0) };
    let (parts, _) = parts_at_path(schema, root, above);
    choices(&expand(schema, parts.into_iter().filter_map(|part| step(part, last)), None))
}

/// The parts of the schema that apply to a path, and the node at the path.
fn parts_at_path<'s>(
    schema: &'s Value,
    root: &YamlNode,
    path: &[SchemaSegment],
) -> (Vec<&'s JsonObject>, Option<YamlNode>) {
    let mut node = Some(root.clone());
    let mut parts = expand(schema, [schema], node.as_ref());
    for segment in path {
        let inner: Vec<&Value> = parts.iter().filter_map(|part| step(part, segment)).collect();
        node = node.as_ref().and_then(|n| child(n, segment));
        parts = expand(schema, inner, node.as_ref());
    }
    (parts, node)
}

fn child(node: &YamlNode, segment: &SchemaSegment) -> Option<YamlNode> {
    match segment {
        SchemaSegment::Key(key) => node.as_mapping()?.get(key).map(|e| e.value.clone()),
        SchemaSegment::Item(at) => node.as_sequence()?.get(*at).cloned(),
    }
}

fn step<'s>(part: &'s JsonObject, segment: &SchemaSegment) -> Option<&'s Value> {
    match segment {
        SchemaSegment::Key(key) => {
            let named = part.get("properties").and_then(|p| p.get(key));
            named.or_else(|| part.get("additionalProperties"))
        }
        SchemaSegment::Item(_) => part.get("items"),
    }
}

/// Follows references and resolves combinations: returns the plain schemas that apply to the place. Alternatives that
/// do not match the node are skipped; without a node, all are kept.
fn expand<'s>(
    root: &'s Value,
    schemas: impl IntoIterator<Item = &'s Value>,
    node: Option<&YamlNode>,
) -> Vec<&'s JsonObject> {
    let mut parts = Vec::new();
    let mut seen = HashSet::new();
    let mut open: Vec<&Value> = schemas.into_iter().collect();
    open.reverse();
    while let Some(schema) = open.pop() {
        let Some(object) = schema.as_object() else { continue };
        if !seen.insert(std::ptr::from_ref(object)) {
            continue;
        }
        if let Some(says) = object.get("type")
            && node.is_some_and(|n| !of_type(says, n))
        {
            continue;
        }
        parts.push(object);
        let mut next = Vec::new();
        next.extend(object.get("$ref").and_then(Value::as_str).and_then(|r| root.pointer(r.trim_start_matches('#'))));
        if let Some(condition) = object.get("if") {
            let holds = node.is_none_or(|n| matches_schema(condition, n));
            next.extend(object.get(if holds { "then" } else { "else" }));
        }
        for keyword in ["allOf", "anyOf", "oneOf"] {
            let all = object.get(keyword).and_then(Value::as_array).into_iter().flatten();
            next.extend(all.filter(|s| keyword == "allOf" || !only_requires(s)));
        }
        open.extend(next.into_iter().rev());
    }
    parts
}

/// Whether a schema is only `{required: [a]}`. As one of several alternatives, it makes no key required.
fn only_requires(schema: &Value) -> bool {
    schema.as_object().is_some_and(|o| o.len() == 1 && o.contains_key("required"))
}

fn key(root: &Value, name: &str, says: &Value, required: bool) -> SchemaKey {
    let parts = expand(root, [says], None);
    let first = |keyword: &str| parts.iter().find_map(|p| p.get(keyword));
    let typed = |wanted: &str| parts.iter().any(|p| p.get("type").and_then(Value::as_str) == Some(wanted));
    let scalar = typed("string") || typed("number") || typed("integer") || typed("boolean");
    SchemaKey {
        name: name.to_owned(),
        description: first("description").and_then(Value::as_str).unwrap_or_default().to_owned(),
        values: choices(&parts),
        takes: match (scalar, typed("array"), typed("object")) {
            (false, true, false) => ValueForm::List,
            (false, false, true) => ValueForm::Mapping,
            _ => ValueForm::Scalar,
        },
        required,
        deprecated: first("deprecated").and_then(Value::as_bool) == Some(true),
    }
}

/// Merges two descriptions of a key; the more detailed one is used.
fn merge(known: &mut SchemaKey, more: SchemaKey) {
    known.required |= more.required;
    if known.description.is_empty() {
        known.description = more.description;
    }
    if known.values.is_empty() {
        known.values = more.values;
    }
    if known.takes == ValueForm::Scalar {
        known.takes = more.takes;
    }
}

fn choices(parts: &[&JsonObject]) -> Vec<AllowedValue> {
    let mut found: Vec<AllowedValue> = Vec::new();
    let mut add = |value: &Value, open: bool| {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        if !found.iter().any(|c| c.text == text) {
            found.push(AllowedValue { text, open });
        }
    };
    for part in parts {
        part.get("const").into_iter().for_each(|v| add(v, false));
        part.get("enum").and_then(Value::as_array).into_iter().flatten().for_each(|v| add(v, false));
        if part.get("type").and_then(Value::as_str) == Some("boolean") {
            [true, false].into_iter().for_each(|b| add(&b.into(), false));
        }
        part.get("examples").and_then(Value::as_array).into_iter().flatten().for_each(|v| add(v, true));
    }
    found
}
