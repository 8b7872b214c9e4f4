//! Makes a schema accept null as well: input properties are nullable.

use trefoil_template::Value;

/// With these keywords, `type` alone does not decide whether null is valid.
const DECIDING: &[&str] = &["$ref", "$dynamicRef", "const", "allOf", "anyOf", "oneOf", "not", "if"];

/// The schema with null allowed.
pub fn allow_null(schema: &Value) -> Value {
    let Some(object) = schema.as_object() else {
        return if *schema == Value::Bool(false) {
            Value::from_iter([("type", vec![Value::from("null")])])
        } else {
            schema.clone()
        };
    };
    let is_decided_elsewhere = object.keys().any(|k| DECIDING.contains(&&**k));
    if is_decided_elsewhere || !object.contains_key("type") && object.contains_key("enum") {
        return either(schema);
    }
    let mut wider = object.clone();
    let Some(kind) = wider.get_mut("type") else { return schema.clone() };
    let mut kinds = match &*kind {
        Value::List(kinds) => kinds.to_vec(),
        one => vec![one.clone()],
    };
    let null = Value::from("null");
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

fn either(schema: &Value) -> Value {
    let null = Value::from_iter([("type", "null")]);
    let mut members = vec![("anyOf", Value::from(vec![schema.clone(), null]))];
    if let Some(default) = schema.get("default") {
        members.push(("default", default.clone()));
    }
    Value::from_iter(members)
}
