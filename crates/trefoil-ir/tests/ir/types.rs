//! Types that schemas declare, and which of them fit where another one is wanted.

use serde_json::{Value as Json, json};
use trefoil_ir::types::{TypeMember, ValueKind, ValueType};
use trefoil_template::Value;

fn declared(schema: Json) -> ValueType {
    ValueType::from_schema(&Value::from_json(schema))
}

#[test]
fn a_schema_that_says_no_more_than_a_type_is_that_type() {
    let fields = json!({"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"],
        "additionalProperties": false});
    let table = [
        (json!(true), ValueType::Any),
        (json!({"type": "string"}), ValueType::TEXT),
        (json!({"type": "integer"}), ValueType::INTEGER),
        (json!({"const": "x", "type": "string"}), ValueType::of_value(&Value::from("x"))),
        (json!({"type": "array", "items": {"type": "number"}}), ValueType::list_of(ValueType::NUMBER)),
        (
            json!({"anyOf": [{"type": "string"}, {"type": "null"}]}),
            ValueType::union_of([ValueType::TEXT, ValueType::NULL]),
        ),
        (
            fields,
            ValueType::object_of([("a".into(), ValueType::INTEGER, false)], trefoil_ir::types::OtherMembers::None),
        ),
    ];
    for (schema, of) in table {
        assert_eq!(declared(schema.clone()), of, "{schema}");
    }
}

#[test]
fn what_a_schema_says_in_addition_is_kept() {
    let text = declared(json!({"type": "string", "pattern": "^a", "maxLength": 3}));
    assert!(text.is_kind(ValueKind::Text) && text != ValueType::TEXT);
    assert_eq!((text.keyword_limit("maxLength"), text.schema_keyword("pattern").is_some()), (Some(3.0), true));
    // The reference may declare more members, and other kinds.
    let open = declared(json!({"$ref": "#/$defs/x", "type": "object", "properties": {"a": {}},
        "additionalProperties": false}));
    assert_eq!(open.find_member("b"), TypeMember::Maybe);
    assert!(open.declared_members().is_empty());
    let choice = declared(json!({"enum": ["a", 1]}));
    assert_eq!(choice.value_kinds().unwrap().to_string(), "text or a number");
    // A text in which a schema has the words of an internal mark is not an answer.
    assert!(!declared(json!({"type": "string", "$comment": "what somebody answered"})).is_answer());
}

#[test]
fn a_value_fits_unless_no_value_of_its_type_does() {
    let list = |items: Json| json!({"type": "array", "items": items});
    let object = |name: &str| {
        json!({"type": "object", "properties": {name: {"type": "string"}}, "required": [name],
        "additionalProperties": false})
    };
    let table = [
        (json!({"type": "string"}), json!({"type": ["string", "null"]}), None),
        (json!({}), json!({"type": "string"}), None),
        (json!({"type": "string"}), json!({"type": "number"}), Some("it must be a number, not text")),
        (list(object("a")), list(json!({"type": "string"})), Some("an item must be text, not an object")),
        (list(object("a")), list(object("b")), Some("an item has no `b`, which is required")),
        (object("a"), object("a"), None),
    ];
    for (held, wanted, why) in table {
        assert_eq!(
            declared(held.clone()).explain_mismatch(&declared(wanted.clone())).as_deref(),
            why,
            "{held} for {wanted}"
        );
    }
}
