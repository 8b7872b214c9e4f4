//! Values: printing, equality, JSON, holes.

use std::sync::Arc;

use serde_json::json;
use trefoil_template::{Hole, HoleKind, Masked, MaskedPiece, Value, ValueNumber, ValueObject};

#[test]
fn numbers_print_as_rfc_8785_says() {
    let cases: &[(Value, &str)] = &[
        (0.into(), "0"),
        ((-7).into(), "-7"),
        (i64::MIN.into(), "-9223372036854775808"),
        (i64::MAX.into(), "9223372036854775807"),
        (u64::MAX.into(), "18446744073709551615"),
        (1.0.into(), "1"),
        ((-0.0).into(), "0"),
        (1.5.into(), "1.5"),
        (1e20.into(), "100000000000000000000"),
        (1e21.into(), "1e+21"),
        (1e-6.into(), "0.000001"),
        (1e-7.into(), "1e-7"),
        (5e-324.into(), "5e-324"),
        (0.30000000000000004.into(), "0.30000000000000004"),
        (f64::MAX.into(), "1.7976931348623157e+308"),
    ];
    for (value, text) in cases {
        assert_eq!(&*value.to_text(), *text);
    }
}

#[test]
fn integers_beyond_64_bits_become_floats() {
    let value: Value = serde_json::from_str("[18446744073709551616, -9223372036854775809, 9007199254740993]").unwrap();
    assert_eq!(&*value.to_text(), "[18446744073709552000,-9223372036854776000,9007199254740993]");
}

#[test]
fn compact_json_keeps_order_and_non_ascii() {
    let value = Value::from_json(json!({"b": [1, null, true], "a": {"é": "q\"\\\n\t\u{1}\u{7f}世"}}));
    assert_eq!(&*value.to_text(), "{\"b\":[1,null,true],\"a\":{\"é\":\"q\\\"\\\\\\n\\t\\u0001\u{7f}世\"}}");
    assert_eq!(&*Value::from("verbatim \"x\"").to_text(), "verbatim \"x\"");
}

#[test]
fn equality_is_by_type_and_content() {
    let value = |text: &str| serde_json::from_str::<Value>(text).unwrap();
    assert_eq!(value("1"), value("1.0"));
    assert_eq!(value(r#"{"a":1,"b":[2]}"#), value(r#"{"b":[2.0],"a":1}"#));
    assert_ne!(value("1"), value("\"1\""));
    assert_ne!(value("1"), value("true"));
    assert_ne!(value("0"), value("null"));
    assert_ne!(value("[1]"), value("[1,1]"));
    // Exactly, not after rounding to a float.
    assert_ne!(value("9007199254740993"), value("9007199254740992.0"));
    assert_eq!(Value::from(u64::MAX), value("18446744073709551615"));
}

#[test]
fn members_are_own_members_and_digits_index_lists() {
    let value = Value::from_json(json!({"list": ["a", "b"], "0": "zero", "text": "abc"}));
    assert_eq!(value.get("0"), Some(&Value::from("zero")));
    let list = value.get("list").unwrap();
    assert_eq!(list.get("1"), Some(&Value::from("b")));
    for missing in ["2", "-1", "", "length", "1.0", "99999999999999999999"] {
        assert_eq!(list.get(missing), None, "{missing:?}");
    }
    for missing in ["constructor", "__proto__", "toString"] {
        assert_eq!(value.get(missing), None);
    }
    assert_eq!(value.get("text").unwrap().get("0"), None);
    // Also in objects large enough to be hashed.
    let large: Value = (0..100).map(|n| (n.to_string(), Value::from(n))).collect();
    assert_eq!(large.get("73"), Some(&Value::from(73)));
    assert_eq!(large.get("100"), None);
}

#[test]
fn serde_round_trip_keeps_values() {
    let text = r#"{"a":[1,-2,18446744073709551615,1.5,null,true,"x"],"b":{}}"#;
    let value: Value = serde_json::from_str(text).unwrap();
    assert_eq!(serde_json::to_string(&value).unwrap(), text);
    assert_eq!(Value::from_json(value.to_json()), value);
    let strange = Value::from(vec![f64::NAN.into(), f64::INFINITY.into()]);
    assert_eq!(serde_json::to_string(&strange).unwrap(), "[null,null]");
}

fn secret(name: &str) -> Value {
    Masked::from_hole(Hole::new(HoleKind::Secret, name)).into_value()
}

#[test]
fn holes_show_as_stars_wherever_they_are_printed() {
    let value: Value = [("auth", secret("KEY")), ("n", 1.into())].into_iter().collect();
    assert_eq!(&*value.to_text(), r#"{"auth":"***","n":1}"#);
    assert_eq!(serde_json::to_string(&value).unwrap(), r#"{"auth":"***","n":1}"#);
    assert_eq!(value.to_json(), json!({"auth": "***", "n": 1}));
    assert!(value.is_masked() && !Value::from(1).is_masked());
    assert!(!format!("{}", value.to_json()).contains("KEY"));
}

#[test]
fn filling_replaces_every_hole_and_applies_defaults() {
    let hole = |name: &str| Hole::new(HoleKind::Env, name);
    let masked = |pieces: Vec<MaskedPiece>| Masked { pieces }.into_value();
    let with_default = Hole { default: Some("fallback".into()), ..hole("UNSET") };
    let json = Hole { default: Some("[]".into()), json: true, ..hole("PROSE") };
    let value = Value::from(vec![
        masked(vec![
            MaskedPiece::Text("Bearer ".into()),
            MaskedPiece::Hole(hole("TOKEN")),
            MaskedPiece::Text("!".into()),
        ]),
        masked(vec![MaskedPiece::Hole(with_default)]),
        masked(vec![MaskedPiece::Hole(json)]),
        masked(vec![MaskedPiece::Hole(hole("UNSET"))]),
        masked(vec![MaskedPiece::Text("<".into()), MaskedPiece::Hole(hole("UNSET")), MaskedPiece::Text(">".into())]),
        "untouched".into(),
    ]);
    let filled = value.fill_holes(&mut |hole: &Hole| {
        Ok::<_, ()>(match &*hole.name {
            "TOKEN" => Some("s3cret".to_owned()),
            "PROSE" => Some("not json".to_owned()),
            _ => None,
        })
    });
    let expected = json!(["Bearer s3cret!", "fallback", "[]", null, "<>", "untouched"]);
    assert_eq!(filled, Ok(Value::from_json(expected)));
    let refused = value.fill_holes::<String, _>(&mut |hole: &Hole| Err(hole.name.clone()));
    assert_eq!(refused, Err(Arc::from("TOKEN")));
}

#[test]
fn a_secret_cannot_break_out_of_a_json_string() {
    let value: Value = [("key", secret("KEY"))].into_iter().collect();
    let printed = Value::from_json(json!({"kind": "text"}));
    assert_eq!(&*printed.to_text(), r#"{"kind":"text"}"#);
    // Printed into a text and then filled: the text is still JSON and contains the unchanged secret.
    let state: Value = [("o", value)].into_iter().collect();
    let template = trefoil_template::Template::parse("body={{o}}", &trefoil_template::Policy::AGNTZ).unwrap();
    let text = template.render_text(&state).unwrap();
    let filled = text.fill_holes(&mut |_: &Hole| Ok::<_, ()>("a\",\"admin\":\"yes\n".to_owned())).unwrap();
    let body = filled.as_str().unwrap().strip_prefix("body=").unwrap();
    let read: serde_json::Value = serde_json::from_str(body).unwrap();
    assert_eq!(read, json!({"key": "a\",\"admin\":\"yes\n"}));
}

#[test]
fn joined_text_keeps_its_holes() {
    let joined = Value::join(&["a".into(), secret("KEY"), Value::from_json(json!([1, null]))], ", ");
    assert_eq!(&*joined.to_text(), "a, ***, [1,null]");
    let filled = joined.fill_holes(&mut |_: &Hole| Ok::<_, ()>("k".to_owned()));
    assert_eq!(filled, Ok("a, k, [1,null]".into()));
    assert_eq!(Value::join(&[1.into(), 2.5.into()], ""), "12.5".into());
    assert_eq!(secret("KEY").text_value(), secret("KEY"));
    assert!(Value::from(vec![secret("KEY")]).text_value().is_masked());
}

#[test]
fn a_default_that_fires_is_no_secret() {
    let hole = Hole { default: Some("d".into()), ..Hole::new(HoleKind::Env, "X") };
    assert!(hole.takes_default(None) && hole.takes_default(Some("")) && !hole.takes_default(Some("x")));
    assert!(Hole { json: true, ..hole.clone() }.takes_default(Some("prose")));
    assert!(!Hole { default: None, ..hole }.takes_default(None));
}

#[test]
fn canonical_text_tells_values_and_holes_apart() {
    let same = [(json!({"a": 1, "b": 2}), json!({"b": 2.0, "a": 1})), (json!([1, "x"]), json!([1.0, "x"]))];
    for (a, b) in same {
        assert_eq!(Value::from_json(a).canonical_text(), Value::from_json(b).canonical_text());
    }
    let different = [
        Value::from("***"),
        secret("A"),
        secret("B"),
        Masked::from_hole(Hole::new(HoleKind::Env, "A")).into_value(),
        Masked::from_hole(Hole { default: Some("x".into()), ..Hole::new(HoleKind::Env, "A") }).into_value(),
        Value::from("1"),
        Value::from(1),
        Value::from(vec![1.into()]),
        Value::Null,
        "null".into(),
        Value::from(ValueObject::default()),
        Value::from(f64::NAN),
    ];
    let texts: std::collections::BTreeSet<String> = different.iter().map(Value::canonical_text).collect();
    assert_eq!(texts.len(), different.len());
}

#[test]
fn numbers_convert_when_nothing_is_lost() {
    assert_eq!(ValueNumber::Float(3.0).as_i64(), Some(3));
    assert_eq!(ValueNumber::Float(3.5).as_i64(), None);
    assert_eq!(ValueNumber::UInt(u64::MAX).as_i64(), None);
    assert_eq!(ValueNumber::Int(-1).as_u64(), None);
    assert_eq!(ValueNumber::Float(f64::NAN).compare_numeric(ValueNumber::Int(0)), None);
}
