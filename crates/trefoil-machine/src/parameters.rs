//! What the schema of a tool's parameters says about single parameters. Schemas are from anywhere, so whatever cannot be
//! decided is allowed.

use trefoil_syntax::suggestions;
use trefoil_template::{Value, ValueObject};

/// Keywords with which other parts of a schema may define properties.
const ELSEWHERE: &[&str] = &["$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "if", "dependentSchemas"];

/// Why there is certainly no parameter of this name. A schema that says nothing about other names than those of its
/// `properties` means only these: a misspelt name would otherwise have no effect.
pub fn unknown_parameter(schema: &Value, name: &str) -> Option<String> {
    let has = |key: &str| matches!(schema.get(key), Some(value) if !value.is_null());
    let empty = ValueObject::default();
    let known = schema.get("properties").and_then(Value::as_object).unwrap_or(&empty);
    let closed = match schema.get("additionalProperties") {
        Some(Value::Bool(false)) => true,
        Some(Value::Bool(true) | Value::Object(_)) => false,
        _ => known.iter().next().is_some(),
    };
    if !closed || has("patternProperties") || ELSEWHERE.iter().any(|key| has(key)) || known.get(name).is_some() {
        return None;
    }
    let hint = match suggestions::nearest_name(name, known.keys().map(|known| &**known)) {
        Some(near) => format!("; did you mean `{near}`?"),
        None => String::new(),
    };
    Some(format!("it has no parameter `{name}`{hint}"))
}

/// The parameters without which a tool cannot be called.
pub fn required_parameters(schema: &Value) -> Vec<&str> {
    let Some(Value::List(required)) = schema.get("required") else { return Vec::new() };
    required.iter().filter_map(Value::as_str).collect()
}

/// Whether null is one of the values of a parameter, so that it means something else than no value.
pub fn accepts_null(schema: &Value, name: &str) -> bool {
    let Some(properties) = schema.get("properties") else { return false };
    matches!(properties.get(name), Some(schema) if is_nullable(schema, 0))
}

/// The number of nested alternatives that are looked at.
const DEPTH: usize = 4;

fn is_nullable(schema: &Value, depth: usize) -> bool {
    let has_null_type = match schema.get("type") {
        Some(Value::List(kinds)) => kinds.iter().any(|kind| kind.as_str() == Some("null")),
        Some(kind) => kind.as_str() == Some("null"),
        None => false,
    };
    let lists_null = matches!(schema.get("enum"), Some(Value::List(values)) if values.iter().any(Value::is_null));
    if has_null_type || lists_null || schema.get("nullable") == Some(&Value::Bool(true)) {
        return true;
    }
    if depth >= DEPTH {
        return false;
    }
    for key in ["anyOf", "oneOf"] {
        if let Some(Value::List(alternatives)) = schema.get(key)
            && alternatives.iter().any(|alternative| is_nullable(alternative, depth + 1))
        {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema(json: serde_json::Value) -> Value {
        Value::from_json(json)
    }

    #[test]
    fn only_names_that_a_schema_excludes_are_unknown() {
        let path = serde_json::json!({"path": {"type": "string"}});
        let unknown = |mut of: serde_json::Value| {
            of["type"] = "object".into();
            unknown_parameter(&schema(of), "paht")
        };
        let said = Some("it has no parameter `paht`; did you mean `path`?".to_owned());
        assert_eq!(unknown(serde_json::json!({"properties": path})), said);
        assert_eq!(unknown(serde_json::json!({"properties": path, "additionalProperties": false})), said);
        for open in [
            serde_json::json!({"properties": path, "additionalProperties": true}),
            serde_json::json!({"properties": path, "additionalProperties": {"type": "string"}}),
            serde_json::json!({"properties": path, "patternProperties": {"^p": {}}}),
            serde_json::json!({"properties": path, "allOf": [{"properties": {"paht": {}}}]}),
            serde_json::json!({"properties": {"paht": {}}}),
            serde_json::json!({}),
        ] {
            assert_eq!(unknown(open.clone()), None, "{open}");
        }
        assert!(unknown(serde_json::json!({"additionalProperties": false})).is_some());
    }

    #[test]
    fn null_is_a_value_only_if_the_schema_says_so() {
        let properties = serde_json::json!({
            "a": {"type": "string"}, "b": {"type": ["string", "null"]}, "c": {"anyOf": [{"type": "null"}]},
            "d": {"enum": [1, null]}, "e": {}
        });
        let all = schema(serde_json::json!({"properties": properties}));
        let nullable: Vec<&str> =
            ["a", "b", "c", "d", "e", "f"].into_iter().filter(|n| accepts_null(&all, n)).collect();
        assert_eq!(nullable, ["b", "c", "d"]);
    }
}
