//! Makes a schema accept null as well: input properties are nullable.

use trefoil_ir::types::keyword;
use trefoil_template::{Object, Value};

/// With these keywords, `type` alone does not decide whether null is valid.
const DECIDING: &[&str] = &["$ref", "$dynamicRef", "const", "allOf", "anyOf", "oneOf", "not", "if"];

/// The schema with null allowed.
pub fn nullable(schema: &Value) -> Value {
    let Some(object) = schema.as_object() else {
        return if *schema == Value::Bool(false) { types(vec![Value::from("null")]) } else { schema.clone() };
    };
    if object.keys().any(|k| DECIDING.contains(&&**k)) || !object.contains_key("type") && object.contains_key("enum") {
        return either(schema);
    }
    let mut wider = object.clone();
    let Some(kind) = wider.get_mut("type") else { return schema.clone() };
    let mut kinds = match &*kind {
        Value::List(kinds) => kinds.to_vec(),
        one => vec![one.clone()],
    };
    let null = keyword("null");
    if !kinds.contains(&null) {
        kinds.push(null);
    }
    *kind = Value::List(kinds.into());
    if let Some(Value::List(choices)) = wider.get("enum")
        && !choices.contains(&Value::Null)
    {
        let mut choices = choices.to_vec();
        choices.push(Value::Null);
        wider.insert("enum".into(), Value::List(choices.into()));
    }
    Value::Object(wider.into())
}

fn types(kinds: Vec<Value>) -> Value {
    let mut object = Object::default();
    object.insert("type".into(), Value::List(kinds.into()));
    Value::Object(object.into())
}

fn either(schema: &Value) -> Value {
    let mut null = Object::default();
    null.insert("type".into(), Value::from("null"));
    let mut object = Object::default();
    object.insert("anyOf".into(), Value::List(vec![schema.clone(), Value::Object(null.into())].into()));
    if let Some(default) = schema.as_object().and_then(|o| o.get("default")) {
        object.insert("default".into(), default.clone());
    }
    Value::Object(object.into())
}
