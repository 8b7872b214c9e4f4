//! The wire form of values: JSON from which another process can restore the same value, including holes.
//!
//! It is the value's JSON, with three exceptions. Each is an object with one member whose name starts with `$`:
//! - `{"$text": ["Bearer ", {"from": "secret", "name": "TOKEN"}]}`: text with holes;
//! - `{"$number": "NaN"}`: a number that JSON does not have, or an integer beyond 2^53, which not every reader
//!   preserves;
//! - `{"$object": {...}}`: an object that could be mistaken for one of these.
//!
//! For fields: `#[serde(with = "trefoil_template::wire")]`. Objects keep the order of their members.

use std::sync::Arc;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Masked, Value, ValueNumber, ValueObject};

const TEXT: &str = "$text";
const NUMBER: &str = "$number";
const OBJECT: &str = "$object";
/// Every JSON reader preserves integers whose absolute value is at most this (RFC 8259, section 6).
const SAFE: u64 = 1 << 53;

/// Writes the wire form.
pub fn serialize<S: Serializer>(value: &Value, serializer: S) -> Result<S::Ok, S::Error> {
    WireForm(value).serialize(serializer)
}

/// Reads the wire form. An object with one member whose name starts with `$` is one of the three exceptions or an
/// error.
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Value, D::Error> {
    decode_value(Value::deserialize(deserializer)?).map_err(D::Error::custom)
}

/// A value that is serialized in its wire form.
pub struct WireForm<'v>(pub &'v Value);

/// A value that is deserialized from its wire form.
#[derive(Debug, Clone, PartialEq)]
pub struct WireValue(pub Value);

impl<'de> Deserialize<'de> for WireValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserialize(deserializer).map(Self)
    }
}

impl Serialize for WireForm<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let special = |name: &str, text: String| -> [(String, String); 1] { [(name.to_owned(), text)] };
        match self.0 {
            Value::Null => serializer.serialize_unit(),
            Value::Bool(b) => serializer.serialize_bool(*b),
            Value::Str(text) => serializer.serialize_str(text),
            Value::Number(ValueNumber::Int(n)) if n.unsigned_abs() > SAFE => {
                serializer.collect_map(special(NUMBER, n.to_string()))
            }
            Value::Number(ValueNumber::UInt(n)) if *n > SAFE => serializer.collect_map(special(NUMBER, n.to_string())),
            Value::Number(ValueNumber::Float(n)) if !n.is_finite() => {
                serializer.collect_map(special(NUMBER, n.to_string()))
            }
            Value::Number(n) => n.serialize(serializer),
            Value::List(items) => serializer.collect_seq(items.iter().map(WireForm)),
            Value::Object(object) if is_special(object) => serializer.collect_map([(OBJECT, WireMembers(object))]),
            Value::Object(object) => WireMembers(object).serialize(serializer),
            Value::Masked(masked) => serializer.collect_map([(TEXT, &masked.pieces)]),
        }
    }
}

struct WireMembers<'v>(&'v ValueObject);

impl Serialize for WireMembers<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(key, value)| (key, WireForm(value))))
    }
}

/// The only member of an object that looks like one of the exceptions.
fn special(object: &ValueObject) -> Option<(&Arc<str>, &Value)> {
    object.iter().next().filter(|(key, _)| object.len() == 1 && key.starts_with('$'))
}

fn is_special(object: &ValueObject) -> bool {
    special(object).is_some()
}

/// Converts from the JSON of a wire form.
///
/// # Errors
///
/// An object with one member whose name starts with `$` that is not one of the three exceptions.
pub fn decode_value(json: Value) -> Result<Value, String> {
    Ok(match &json {
        Value::List(items) => items.iter().cloned().map(decode_value).collect::<Result<Vec<_>, _>>()?.into(),
        Value::Object(object) => match special(object) {
            None => members(object)?,
            Some((key, of)) => match (&**key, of) {
                (OBJECT, Value::Object(object)) => members(object)?,
                (NUMBER, Value::Str(text)) => Value::Number(number(text)?),
                (TEXT, pieces) => {
                    let pieces = serde_json::from_value(pieces.to_json()).map_err(|e| format!("`{TEXT}`: {e}"))?;
                    Masked { pieces }.into_value()
                }
                _ => return Err(format!("`{key}` is not a value of this version")),
            },
        },
        _ => json,
    })
}

fn members(object: &ValueObject) -> Result<Value, String> {
    let decoded = object.iter().map(|(key, value)| Ok((key.clone(), decode_value(value.clone())?)));
    Ok(Value::from(decoded.collect::<Result<ValueObject, String>>()?))
}

fn number(text: &str) -> Result<ValueNumber, String> {
    let int = || text.parse().ok().map(ValueNumber::Int);
    let uint = || text.parse().ok().map(ValueNumber::UInt);
    let float = || text.parse().ok().map(ValueNumber::Float);
    int().or_else(uint).or_else(float).ok_or_else(|| format!("`{text}` is not a number"))
}

/// Writes the wire form of an optional value.
pub fn serialize_optional<S: Serializer>(value: &Option<Value>, serializer: S) -> Result<S::Ok, S::Error> {
    value.as_ref().map(WireForm).serialize(serializer)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::{Hole, HoleKind, MaskedPiece};
    use proptest::prelude::*;

    fn written(value: &Value) -> String {
        serde_json::to_string(&WireForm(value)).unwrap()
    }
    fn read(json: &str) -> Result<Value, String> {
        let mut from = serde_json::Deserializer::from_str(json);
        deserialize(&mut from).map_err(|e| e.to_string())
    }

    #[test]
    fn each_exception_has_its_form() {
        let hole = Hole { default: Some("x".into()), json: true, quoted: 2, ..Hole::new(HoleKind::Env, "A") };
        let pieces = vec![
            MaskedPiece::Text("a ".into()),
            MaskedPiece::Hole(hole),
            MaskedPiece::Hole(Hole::new(HoleKind::Secret, "B")),
        ];
        let text = Masked { pieces }.into_value();
        let like: Value = [("$text", Value::from("no text with holes"))].into_iter().collect();
        let all: Value = [text, like, u64::MAX.into(), i64::MIN.into(), f64::INFINITY.into(), 0.5.into(), 3.0.into()]
            .into_iter()
            .collect();
        assert_eq!(
            written(&all),
            concat!(
                r#"[{"$text":["a ",{"from":"env","name":"A","default":"x","json":true,"quoted":2},"#,
                r#"{"from":"secret","name":"B"}]},{"$object":{"$text":"no text with holes"}},"#,
                r#"{"$number":"18446744073709551615"},{"$number":"-9223372036854775808"},{"$number":"inf"},0.5,3]"#
            )
        );
        assert_eq!(read(&written(&all)).unwrap(), all);
    }

    #[test]
    fn an_exception_of_a_later_version_is_an_error() {
        assert_eq!(read(r#"{"$blob": "x"}"#), Err("`$blob` is not a value of this version".to_owned()));
        assert!(read(r#"{"$text": [{"from": "vault", "name": "x"}]}"#).is_err());
        assert!(read(r#"{"$text": [{"from": "env", "name": "x", "more": 1}]}"#).is_err());
        assert_eq!(read(r#"{"$a": 1, "$b": 2}"#).unwrap().get("$a"), Some(&1.into()));
    }

    fn values() -> impl Strategy<Value = Value> {
        let hole = (any::<bool>(), "[a-z]{0,3}", proptest::option::of(".{0,3}"), any::<bool>(), any::<bool>(), 0..4u8)
            .prop_map(|(env, name, default, json, lenient, quoted)| {
                let kind = if env { HoleKind::Env } else { HoleKind::Secret };
                let default = default.map(Into::into);
                MaskedPiece::Hole(Hole { kind, name: name.into(), default, json, lenient, quoted })
            });
        let piece = prop_oneof![".{0,4}".prop_map(|t: String| MaskedPiece::Text(t.into())), hole];
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            any::<f64>().prop_filter("NaN equals nothing", |n| !n.is_nan()).prop_map(Value::from),
            ".{0,8}".prop_map(Value::from),
            proptest::collection::vec(piece, 1..4).prop_map(|pieces| Masked { pieces }.into_value()),
        ];
        let key =
            prop_oneof![Just("$text".to_owned()), Just("$object".to_owned()), Just("$number".to_owned()), ".{0,3}"];
        leaf.prop_recursive(4, 24, 4, move |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                proptest::collection::vec((key.clone(), inner), 0..3).prop_map(|members| {
                    members.into_iter().map(|(k, v)| (Arc::<str>::from(k), v)).collect::<ValueObject>().into()
                }),
            ]
        })
    }

    proptest! {
        #[test]
        fn every_value_comes_back(value in values()) {
            prop_assert_eq!(read(&written(&value)).unwrap(), value);
        }
    }
}
