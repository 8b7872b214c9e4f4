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
        let required = list(part, "required");
        let Some(Value::Object(properties)) = part.get("properties") else { continue };
        for (name, says) in properties {
            let is_required = required.iter().any(|required| required.as_str() == Some(name));
            let key = key(schema, name, says, is_required);
            match keys.iter_mut().find(|known| known.name == *name) {
                Some(known) => merge(known, key),
                None => keys.push(key),
            }
        }
    }
    for part in &parts {
        for name in list(part, "required") {
            for key in &mut keys {
                key.required |= name.as_str() == Some(&key.name);
            }
        }
    }
    keys
}

/// The items of a keyword that has a list.
fn list<'s>(part: &'s JsonObject, keyword: &str) -> &'s [Value] {
    match part.get(keyword) {
        Some(Value::Array(items)) => items,
        _ => &[],
    }
}

/// The word of a keyword that has one.
fn word<'s>(part: &'s JsonObject, keyword: &str) -> Option<&'s str> {
    part.get(keyword)?.as_str()
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
        node = node.and_then(|node| child(&node, segment));
        parts = expand(schema, inner, node.as_ref());
    }
    (parts, node)
}

fn child(node: &YamlNode, segment: &SchemaSegment) -> Option<YamlNode> {
    match segment {
        SchemaSegment::Key(key) => Some(node.as_mapping()?.get(key)?.value.clone()),
        SchemaSegment::Item(at) => node.as_sequence()?.get(*at).cloned(),
    }
}

fn step<'s>(part: &'s JsonObject, segment: &SchemaSegment) -> Option<&'s Value> {
    match segment {
        SchemaSegment::Key(key) => {
            if let Some(properties) = part.get("properties")
                && let Some(named) = properties.get(key)
            {
                return Some(named);
            }
            part.get("additionalProperties")
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
        if let (Some(says), Some(node)) = (object.get("type"), node)
            && !of_type(says, node)
        {
            continue;
        }
        parts.push(object);
        let mut next = Vec::new();
        if let Some(reference) = word(object, "$ref") {
            next.extend(root.pointer(reference.trim_start_matches('#')));
        }
        if let Some(condition) = object.get("if") {
            let holds = match node {
                Some(node) => matches_schema(condition, node),
                None => true,
            };
            next.extend(object.get(if holds { "then" } else { "else" }));
        }
        for keyword in ["allOf", "anyOf", "oneOf"] {
            for schema in list(object, keyword) {
                if keyword == "allOf" || !only_requires(schema) {
                    next.push(schema);
                }
            }
        }
        open.extend(next.into_iter().rev());
    }
    parts
}

/// Whether a schema is only `{required: [a]}`. As one of several alternatives, it makes no key required.
fn only_requires(schema: &Value) -> bool {
    matches!(schema, Value::Object(object) if object.len() == 1 && object.contains_key("required"))
}

fn key(root: &Value, name: &str, says: &Value, required: bool) -> SchemaKey {
    let parts = expand(root, [says], None);
    let first = |keyword: &str| parts.iter().find_map(|part| part.get(keyword));
    let typed = |wanted: &str| parts.iter().any(|part| word(part, "type") == Some(wanted));
    let description = match first("description") {
        Some(Value::String(description)) => description.clone(),
        _ => String::new(),
    };
    let scalar = typed("string") || typed("number") || typed("integer") || typed("boolean");
    SchemaKey {
        name: name.to_owned(),
        description,
        values: choices(&parts),
        takes: match (scalar, typed("array"), typed("object")) {
            (false, true, false) => ValueForm::List,
            (false, false, true) => ValueForm::Mapping,
            _ => ValueForm::Scalar,
        },
        required,
        deprecated: matches!(first("deprecated"), Some(Value::Bool(true))),
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
        let text = match value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        if !found.iter().any(|known| known.text == text) {
            found.push(AllowedValue { text, open });
        }
    };
    for part in parts {
        if let Some(constant) = part.get("const") {
            add(constant, false);
        }
        for choice in list(part, "enum") {
            add(choice, false);
        }
        if word(part, "type") == Some("boolean") {
            add(&true.into(), false);
            add(&false.into(), false);
        }
        for example in list(part, "examples") {
            add(example, true);
        }
    }
    found
}
