//! Whether a node matches the small schemas that distinguish the kinds of a format: `kind` is this word, a key is
//! present. Checks nothing else, so a half-written document still gets completions.

use serde_json::Value;
use trefoil_syntax::yaml::{YamlNode, YamlNodeKind, YamlScalar};

/// Whether the node matches. Keywords other than types, words and required keys are ignored.
pub fn matches_schema(schema: &Value, node: &YamlNode) -> bool {
    let Some(schema) = schema.as_object() else { return true };
    schema.iter().all(|(keyword, says)| match keyword.as_str() {
        "type" => of_type(says, node),
        "const" => is(says, node),
        "enum" => says.as_array().is_none_or(|choices| choices.iter().any(|c| is(c, node))),
        "required" => says.as_array().into_iter().flatten().filter_map(Value::as_str).all(|name| has(node, name)),
        "properties" => says.as_object().into_iter().flatten().all(|(name, inner)| {
            node.as_mapping().and_then(|m| m.get(name)).is_none_or(|entry| matches_schema(inner, &entry.value))
        }),
        "anyOf" => says.as_array().is_none_or(|some| some.iter().any(|s| matches_schema(s, node))),
        _ => true,
    })
}

fn has(node: &YamlNode, name: &str) -> bool {
    node.as_mapping().is_some_and(|m| m.get(name).is_some())
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
        Value::Array(names) => names.iter().filter_map(Value::as_str).any(one),
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
