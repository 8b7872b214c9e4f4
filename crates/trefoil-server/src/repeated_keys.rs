//! Keys that are in an object of a request twice. JSON lets readers choose one of them, so two of them may have read different requests.

use std::collections::HashSet;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use trefoil_template::read_json_bytes;

/// The place of the first key that is there twice: `input.plan`.
///
/// # Errors
///
/// The text is no JSON.
pub fn find_repeated_key(json: &[u8]) -> serde_json::Result<Option<String>> {
    let read: RepeatedKey = read_json_bytes(json)?;
    Ok(read.0)
}

struct RepeatedKey(Option<String>);

impl<'de> serde::Deserialize<'de> for RepeatedKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut search = KeySearch { path: Vec::new(), found: None };
        deserializer.deserialize_any(ValueSearch(&mut search))?;
        Ok(Self(search.found))
    }
}

struct KeySearch {
    path: Vec<String>,
    found: Option<String>,
}

struct ValueSearch<'s>(&'s mut KeySearch);

impl<'de> DeserializeSeed<'de> for ValueSearch<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        match self.0.found {
            Some(_) => IgnoredAny::deserialize_rest(deserializer),
            None => deserializer.deserialize_any(self),
        }
    }
}

/// Reads a value without a look at it.
trait IgnoredRest {
    fn deserialize_rest<'de, D: Deserializer<'de>>(deserializer: D) -> Result<(), D::Error>;
}

impl IgnoredRest for IgnoredAny {
    fn deserialize_rest<'de, D: Deserializer<'de>>(deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_ignored_any(Self).map(drop)
    }
}

impl<'de> Visitor<'de> for ValueSearch<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }
    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }
    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }
    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }
    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }
    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }
    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let mut index = 0;
        loop {
            self.0.path.push(format!("[{index}]"));
            let is_last = items.next_element_seed(ValueSearch(&mut *self.0))?.is_none();
            self.0.path.pop();
            if is_last {
                return Ok(());
            }
            index += 1;
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        let mut seen = HashSet::new();
        while let Some(key) = members.next_key::<String>()? {
            let dot = if self.0.path.is_empty() { "" } else { "." };
            self.0.path.push(format!("{dot}{key}"));
            if !seen.insert(key) {
                self.0.found.get_or_insert_with(|| self.0.path.concat());
            }
            members.next_value_seed(ValueSearch(&mut *self.0))?;
            self.0.path.pop();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_key_that_is_there_twice_is_named_by_its_place() {
        let found = |json: &str| find_repeated_key(json.as_bytes()).unwrap();
        assert_eq!(found(r#"{"a": {"b": 1, "c": [{"b": 1}, {"b": null}]}, "b": "a"}"#), None);
        assert_eq!(found(r#"{"input": {"plan": 1, "plan": 2, "plan": 3}}"#).as_deref(), Some("input.plan"));
        assert_eq!(found(r#"{"a": [0, {"x": {"y": 1.5, "\u0079": true}}]}"#).as_deref(), Some("a[1].x.y"));
        assert_eq!(found(r#"[{"a": 1, "a": {"a": 1}}]"#).as_deref(), Some("[0].a"));
        assert!(find_repeated_key(b"{").is_err());
    }
}
