//! Schemas on their way to a provider.

use serde_json::{Map, Value as Json};

/// Providers take names of letters, digits, `_` and `-`, at most this many.
const LONGEST_NAME: usize = 64;

/// A schema's name as providers take it.
pub(super) fn name(name: &str) -> String {
    let name: String = name
        .chars()
        .take(LONGEST_NAME)
        .map(|c| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') { c } else { '_' })
        .collect();
    if name.is_empty() { "answer".to_owned() } else { name }
}

/// The schema in words, for the system message.
pub(super) fn instruction(schema: &Json) -> String {
    format!(
        "Reply with one JSON value that matches this JSON Schema, and nothing else: no prose before or after it, no code fence.\n\n{schema}"
    )
}

/// Whether a schema already is what OpenAI's strict mode asks for: an object at the root, every object closed, every
/// property required, only keywords that it knows. Anything else is sent without `strict`: changing the schema so that it
/// fits would change what the manifest says.
pub(super) fn is_strict(schema: &Json) -> bool {
    schema.get("type").and_then(Json::as_str) == Some("object") && strict(schema)
}

/// <https://platform.openai.com/docs/guides/structured-outputs#supported-schemas>
const STRICT_KEYWORDS: &[&str] = &[
    "$defs",
    "$ref",
    "$schema",
    "additionalProperties",
    "anyOf",
    "const",
    "description",
    "enum",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "format",
    "items",
    "maxItems",
    "maximum",
    "minItems",
    "minimum",
    "multipleOf",
    "pattern",
    "properties",
    "required",
    "title",
    "type",
];

fn strict(schema: &Json) -> bool {
    let Some(schema) = schema.as_object() else { return false };
    let all = |name: &str| match schema.get(name) {
        None => true,
        Some(Json::Object(members)) => members.values().all(strict),
        Some(Json::Array(items)) => items.iter().all(strict),
        Some(_) => false,
    };
    schema.keys().all(|k| STRICT_KEYWORDS.contains(&k.as_str()))
        && (!is_object(schema) || closed(schema))
        && all("properties")
        && all("$defs")
        && all("anyOf")
        && schema.get("items").is_none_or(strict)
}

fn is_object(schema: &Map<String, Json>) -> bool {
    let object = |t: &Json| t.as_str() == Some("object");
    schema.contains_key("properties")
        || schema.get("type").is_some_and(|t| object(t) || t.as_array().is_some_and(|all| all.iter().any(object)))
}

fn closed(schema: &Map<String, Json>) -> bool {
    let required = |name: &String| {
        schema.get("required").and_then(Json::as_array).is_some_and(|all| all.iter().any(|r| r.as_str() == Some(name)))
    };
    schema.get("additionalProperties") == Some(&Json::Bool(false))
        && schema.get("properties").and_then(Json::as_object).is_some_and(|all| all.keys().all(required))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_what_is_already_strict_is_called_so() {
        let inner = json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"],
            "additionalProperties": false});
        assert!(is_strict(&inner));
        let nested = |inner: Json| {
            is_strict(
                &json!({"type": "object", "properties": {"x": {"type": "array", "items": inner}}, "required": ["x"],
                "additionalProperties": false}),
            )
        };
        assert!(nested(inner.clone()));
        let without = |key: &str| {
            let mut schema = inner.clone();
            schema.as_object_mut().unwrap().remove(key);
            schema
        };
        for key in ["required", "additionalProperties"] {
            assert!(!is_strict(&without(key)), "{key}");
            assert!(!nested(without(key)), "nested {key}");
        }
        assert!(!is_strict(&json!({"type": "array", "items": {"type": "string"}})));
        assert!(!nested(json!({"oneOf": [{"type": "string"}]})));
    }

    #[test]
    fn names_are_made_acceptable() {
        assert_eq!(name("review output/2"), "review_output_2");
        assert_eq!(name(""), "answer");
        assert_eq!(name(&"x".repeat(100)).len(), 64);
    }
}
