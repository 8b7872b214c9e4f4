//! Schemas in the form that providers accept.

use serde_json::{Map, Value as Json};

use super::members::text_member;

/// Maximum length of a name. Providers accept letters, digits, `_` and `-`.
pub(super) const LONGEST_NAME: usize = 64;

/// Converts a name to a form that providers accept.
pub(super) fn to_wire_name(name: &str) -> String {
    let name: String = name
        .chars()
        .take(LONGEST_NAME)
        .map(|c| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') { c } else { '_' })
        .collect();
    if name.is_empty() { "answer".to_owned() } else { name }
}

/// The schema as an instruction for the system message.
pub(super) fn schema_instruction(schema: &Json) -> String {
    format!(
        "Reply with one JSON value that matches this JSON Schema, and nothing else: no prose before or after it, no code fence.\n\n{schema}"
    )
}

/// The subset of JSON Schema that a provider supports. Schemas outside of it are sent as text, because adapting them
/// would change the meaning of the manifest.
#[derive(Debug, Clone, Copy)]
pub(super) struct SchemaSubset {
    /// The keywords besides [`COMMON`].
    more: &'static [&'static str],
    /// Whether objects must exclude additional properties.
    closed: bool,
    /// Whether objects must require all of their properties.
    required: bool,
}

/// The keywords that all subsets have.
const COMMON: [&str; 10] = [
    "additionalProperties",
    "anyOf",
    "description",
    "enum",
    "format",
    "items",
    "properties",
    "required",
    "title",
    "type",
];

/// OpenAI's strict mode: <https://platform.openai.com/docs/guides/structured-outputs#supported-schemas>.
const STRICT: SchemaSubset = SchemaSubset {
    more: &[
        "$defs",
        "$ref",
        "$schema",
        "const",
        "exclusiveMaximum",
        "exclusiveMinimum",
        "maxItems",
        "maximum",
        "minItems",
        "minimum",
        "multipleOf",
        "pattern",
    ],
    closed: true,
    required: true,
};

/// Anthropic's subset: <https://platform.claude.com/docs/en/build-with-claude/structured-outputs>. Anthropic also
/// accepts references that are not recursive.
pub(super) const ANTHROPIC: SchemaSubset =
    SchemaSubset { more: &["$schema", "const", "default"], closed: true, required: false };

/// Gemini's subset: <https://ai.google.dev/api/generate-content#generationconfig>.
pub(super) const GEMINI: SchemaSubset = SchemaSubset {
    more: &["$defs", "$id", "$ref", "maxItems", "maximum", "minItems", "minimum", "oneOf", "prefixItems"],
    closed: false,
    required: false,
};

/// Cohere's subset: <https://docs.cohere.com/docs/structured-outputs#schema-constraints>.
pub(super) const COHERE: SchemaSubset =
    SchemaSubset { more: &["$defs", "$ref", "const", "pattern"], closed: false, required: false };

/// Inserts a schema as text after the existing system message, so that it is the last instruction before the
/// conversation.
pub(super) fn insert_instruction(messages: &mut Vec<Json>, schema: &Json) {
    let starts_with_system = matches!(messages.first(), Some(first) if text_member(first, "role") == Some("system"));
    let at = usize::from(starts_with_system);
    messages.insert(at, serde_json::json!({"role": "system", "content": schema_instruction(schema)}));
}

/// Whether OpenAI's strict mode supports a schema.
pub(super) fn is_strict(schema: &Json) -> bool {
    STRICT.accepts_schema(schema)
}

impl SchemaSubset {
    /// Whether a schema is within the subset, with an object at its root.
    pub(super) fn accepts_schema(&self, schema: &Json) -> bool {
        text_member(schema, "type") == Some("object") && self.within(schema)
    }

    fn within(&self, schema: &Json) -> bool {
        let Some(schema) = schema.as_object() else { return schema.is_boolean() && !self.closed };
        for keyword in schema.keys() {
            if !COMMON.contains(&keyword.as_str()) && !self.more.contains(&keyword.as_str()) {
                return false;
            }
        }
        if is_object(schema) && !self.object(schema) {
            return false;
        }
        for keyword in ["properties", "$defs", "anyOf", "oneOf", "prefixItems"] {
            let is_within = match schema.get(keyword) {
                None => true,
                Some(Json::Object(members)) => members.values().all(|inner| self.within(inner)),
                Some(Json::Array(items)) => items.iter().all(|inner| self.within(inner)),
                Some(_) => false,
            };
            if !is_within {
                return false;
            }
        }
        match schema.get("items") {
            Some(items) => self.within(items),
            None => true,
        }
    }

    fn object(&self, schema: &Map<String, Json>) -> bool {
        if self.closed && schema.get("additionalProperties") != Some(&Json::Bool(false)) {
            return false;
        }
        if !self.required {
            return true;
        }
        let Some(Json::Object(properties)) = schema.get("properties") else { return false };
        let required = match schema.get("required") {
            Some(Json::Array(names)) => names.as_slice(),
            _ => &[],
        };
        properties.keys().all(|name| required.iter().any(|known| known == name))
    }
}

fn is_object(schema: &Map<String, Json>) -> bool {
    if schema.contains_key("properties") {
        return true;
    }
    match schema.get("type") {
        Some(Json::Array(types)) => types.iter().any(|kind| kind == "object"),
        Some(kind) => kind == "object",
        None => false,
    }
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
        assert_eq!(to_wire_name("review output/2"), "review_output_2");
        assert_eq!(to_wire_name(""), "answer");
        assert_eq!(to_wire_name(&"x".repeat(100)).len(), 64);
    }
}
