//! Constructors for types of values, as JSON Schemas. [`trefoil_ir::types`] has the operations on them.

use std::sync::{Arc, LazyLock};

use trefoil_ir::types::{keyword, keywords};
use trefoil_template::{Number, Object, Value};

/// Type `string`.
pub fn text_type() -> Value {
    static TYPE: LazyLock<Value> = LazyLock::new(|| make("string"));
    TYPE.clone()
}

/// Type `integer`.
pub fn integer_type() -> Value {
    static TYPE: LazyLock<Value> = LazyLock::new(|| make("integer"));
    TYPE.clone()
}

/// Type `number`.
pub fn number_type() -> Value {
    static TYPE: LazyLock<Value> = LazyLock::new(|| make("number"));
    TYPE.clone()
}

/// Type `object`, with any members.
pub fn object_type() -> Value {
    static TYPE: LazyLock<Value> = LazyLock::new(|| make("object"));
    TYPE.clone()
}

fn make(name: &str) -> Value {
    keywords([("type", Value::from(name))])
}

/// An object with exactly these members.
pub fn object_of(members: impl IntoIterator<Item = (Arc<str>, Value)>) -> Value {
    keywords([
        ("type", keyword("object")),
        ("properties", object(members)),
        ("additionalProperties", Value::Bool(false)),
    ])
}

/// A list with items of this type.
pub fn list_of(item: Value) -> Value {
    keywords([("type", keyword("array")), ("items", item)])
}

fn object(members: impl IntoIterator<Item = (Arc<str>, Value)>) -> Value {
    Value::Object(Arc::new(members.into_iter().collect::<Object>()))
}

/// The type of a value. Its objects are complete; its lists may contain anything.
pub fn type_of(value: &Value) -> Value {
    match value {
        Value::Null => Value::Bool(true),
        Value::Bool(_) => make("boolean"),
        Value::Number(Number::Float(_)) => number_type(),
        Value::Number(_) => integer_type(),
        Value::Str(_) | Value::Masked(_) => text_type(),
        Value::List(_) => make("array"),
        Value::Object(members) => object_of(members.iter().map(|(k, v)| (k.clone(), type_of(v)))),
    }
}

/// The type of a member of a value, if the type declares it; otherwise `true`.
pub fn member_type(schema: &Value, name: &str) -> Value {
    let found = match schema.get("properties").and_then(|p| p.get(name)) {
        None if name.bytes().all(|b| b.is_ascii_digit()) => schema.get("items"),
        found => found,
    };
    found.cloned().unwrap_or(Value::Bool(true))
}

/// Whether a value of a type never has a member of this name.
pub fn is_closed(schema: &Value, name: &str) -> bool {
    match schema.get("type").and_then(Value::as_str) {
        Some("object") => {
            schema.get("additionalProperties") == Some(&Value::Bool(false))
                && schema.get("properties").and_then(|p| p.get(name)).is_none()
        }
        Some("array") => !name.bytes().all(|b| b.is_ascii_digit()),
        Some(_) => true,
        None => false,
    }
}
