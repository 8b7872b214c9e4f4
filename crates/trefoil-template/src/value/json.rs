//! Conversion from and to JSON with `serde` and `serde_json`.

use std::fmt;
use std::sync::Arc;

use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::foreign_json::read_json;
use super::{Value, ValueNumber, ValueObject};

impl Value {
    /// Parses a JSON text from outside, see [`foreign_json`](super::foreign_json).
    pub fn parse(text: &str) -> Result<Value, serde_json::Error> {
        read_json(text)
    }
    /// Converts from JSON.
    pub fn from_json(json: serde_json::Value) -> Value {
        use serde_json::Value as Json;
        match json {
            Json::Null => Value::Null,
            Json::Bool(b) => Value::Bool(b),
            Json::Number(n) => Value::Number(match (n.as_i64(), n.as_u64()) {
                (Some(n), _) => ValueNumber::Int(n),
                (_, Some(n)) => ValueNumber::UInt(n),
                _ => ValueNumber::Float(n.as_f64().unwrap_or(f64::NAN)),
            }),
            Json::String(s) => Value::from(s),
            Json::Array(items) => Value::from(items.into_iter().map(Value::from_json).collect::<Vec<_>>()),
            Json::Object(members) => {
                let members = members.into_iter().map(|(k, v)| (Arc::from(k), Value::from_json(v)));
                Value::from(members.collect::<ValueObject>())
            }
        }
    }

    /// Converts to JSON. Masked text becomes `***`; numbers that JSON does not have become null.
    pub fn to_json(&self) -> serde_json::Value {
        use serde_json::Value as Json;
        match self {
            Self::Null => Json::Null,
            Self::Bool(b) => Json::Bool(*b),
            Self::Number(ValueNumber::Int(n)) => (*n).into(),
            Self::Number(ValueNumber::UInt(n)) => (*n).into(),
            Self::Number(ValueNumber::Float(n)) => match exact_integer(*n) {
                Some(n) => n.into(),
                None => serde_json::Number::from_f64(*n).map_or(Json::Null, Json::Number),
            },
            Self::Str(s) => Json::String(s.to_string()),
            Self::List(items) => Json::Array(items.iter().map(Value::to_json).collect()),
            Self::Object(object) => Json::Object(object.iter().map(|(k, v)| (k.to_string(), v.to_json())).collect()),
            Self::Masked(_) => Json::String(self.to_text().to_string()),
        }
    }
}

/// A float without a fraction as the integer that templates print, as long as floats represent integers exactly.
fn exact_integer(n: f64) -> Option<i64> {
    // 2 to the power of 53.
    const MAX_EXACT: f64 = 9_007_199_254_740_992.0;
    if n.fract() == 0.0 && n.abs() <= MAX_EXACT { Some(n as i64) } else { None }
}

impl Value {
    /// The length of its JSON in bytes, computed without allocating it.
    pub fn json_length(&self) -> usize {
        struct ByteCounter(usize);
        impl std::io::Write for ByteCounter {
            fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
                self.0 += bytes.len();
                Ok(bytes.len())
            }
            fn flush(&mut self) -> std::io::Result<()> {
                Ok(())
            }
        }
        let mut count = ByteCounter(0);
        // Counting cannot fail, and every value can be serialized.
        let _ = serde_json::to_writer(&mut count, self);
        count.0
    }
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Bool(b) => serializer.serialize_bool(*b),
            Self::Number(n) => n.serialize(serializer),
            Self::Str(s) => serializer.serialize_str(s),
            Self::List(items) => serializer.collect_seq(items.iter()),
            Self::Object(object) => serializer.collect_map(object.iter()),
            Self::Masked(_) => serializer.serialize_str(&self.to_text()),
        }
    }
}

impl Serialize for ValueNumber {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Int(n) => serializer.serialize_i64(*n),
            Self::UInt(n) => serializer.serialize_u64(*n),
            Self::Float(n) if n.is_finite() => match exact_integer(*n) {
                Some(n) => serializer.serialize_i64(n),
                None => serializer.serialize_f64(*n),
            },
            Self::Float(_) => serializer.serialize_unit(),
        }
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyValueVisitor)
    }
}

/// Accepts any JSON value.
struct AnyValueVisitor;

impl<'de> Visitor<'de> for AnyValueVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }
    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }
    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }
    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        Value::deserialize(deserializer)
    }
    fn visit_bool<E>(self, b: bool) -> Result<Value, E> {
        Ok(b.into())
    }
    fn visit_i64<E>(self, n: i64) -> Result<Value, E> {
        Ok(n.into())
    }
    fn visit_u64<E>(self, n: u64) -> Result<Value, E> {
        Ok(n.into())
    }
    fn visit_f64<E>(self, n: f64) -> Result<Value, E> {
        Ok(n.into())
    }
    fn visit_str<E>(self, s: &str) -> Result<Value, E> {
        Ok(s.into())
    }
    fn visit_string<E>(self, s: String) -> Result<Value, E> {
        Ok(s.into())
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element()? {
            items.push(item);
        }
        Ok(items.into())
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut object = ValueObject::default();
        while let Some((key, value)) = map.next_entry::<String, Value>()? {
            object.insert(key.into(), value);
        }
        Ok(object.into())
    }
}
