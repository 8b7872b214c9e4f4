//! Whether a node matches the small schemas that distinguish the kinds of a format: `kind` is this word, a key is
//! present. Checks nothing else, so a half-written document still gets completions.

use serde_json::Value;
use trefoil_syntax::yaml::{YamlNode, YamlNodeKind, YamlScalar};

/// Whether the node matches. Keywords other than types, words and required keys are ignored.
pub fn matches_schema(schema: &Value, node: &YamlNode) -> bool {
    let Some(schema) = schema.as_object() else { return true };
    schema.iter().all(|(keyword, says)| matches_keyword(keyword, says, node))
}

fn matches_keyword(keyword: &str, says: &Value, node: &YamlNode) -> bool {
    match (keyword, says) {
        ("type", _) => of_type(says, node),
        ("const", _) => is(says, node),
        ("enum", Value::Array(choices)) => choices.iter().any(|choice| is(choice, node)),
        ("required", Value::Array(names)) => names.iter().all(|name| has(node, name)),
        ("properties", Value::Object(properties)) => {
            properties.iter().all(|(name, inner)| match value_of(node, name) {
                Some(value) => matches_schema(inner, value),
                None => true,
            })
        }
        ("anyOf", Value::Array(some)) => some.iter().any(|schema| matches_schema(schema, node)),
        _ => true,
    }
}

fn value_of<'n>(node: &'n YamlNode, name: &str) -> Option<&'n YamlNode> {
    Some(&node.as_mapping()?.get(name)?.value)
}

/// Whether a node has a required key.
fn has(node: &YamlNode, name: &Value) -> bool {
    match name.as_str() {
        Some(name) => value_of(node, name).is_some(),
        None => true,
    }
}

/// Whether a node has a type, or one in a list. An empty value may still become any type.
pub fn of_type(says: &Value, node: &YamlNode) -> bool {
    if node.is_null() {
        return true;
    }
    let one = |name: &str| match &*node.kind {
        YamlNodeKind::Mapping(_) => name == "object",
        YamlNodeKind::Sequence(_) => name == "array",
        YamlNodeKind::Scalar(YamlScalar::Str, _) => name == "string",
        YamlNodeKind::Scalar(YamlScalar::Bool(_), _) => name == "boolean",
        YamlNodeKind::Scalar(..) => matches!(name, "number" | "integer"),
    };
    match says {
        Value::String(name) => one(name),
        Value::Array(names) => names.iter().any(|name| matches!(name.as_str(), Some(name) if one(name))),
        _ => true,
    }
}

fn is(value: &Value, node: &YamlNode) -> bool {
    let Some((scalar, text)) = node.as_scalar() else { return false };
    match (value, scalar) {
        (Value::String(word), YamlScalar::Str) => **word == *text.value,
        (Value::Bool(a), YamlScalar::Bool(b)) => *a == b,
        (Value::Number(a), YamlScalar::Int(b)) => a.as_i64() == Some(b),
        _ => false,
    }
}
