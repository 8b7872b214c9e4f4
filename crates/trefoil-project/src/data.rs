//! Data files: JSON or YAML that is not a manifest (states, inputs).

use std::collections::HashSet;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use trefoil_front::yaml_reader::to_value;
use trefoil_syntax::yaml::{self, YamlLimits};
use trefoil_syntax::{Diagnostic, FindingSeverity, Location, SourceFile, SourceFiles, Span};
use trefoil_template::foreign_json::without_mark;
use trefoil_template::{Value, json_nodes, limits, read_own_json};

/// Whether mistakes are described as those of JSON: in a file of that name, or in the value of an option.
fn is_json(name: &str) -> bool {
    name.ends_with(".json") || name.starts_with("--")
}

/// The value in a file, as JSON or otherwise YAML; or the mistakes in it.
pub fn parse_data_file(name: &str, bytes: Vec<u8>) -> Result<Value, (SourceFiles, Vec<Diagnostic>)> {
    let source = SourceFile::from_bytes(name, bytes);
    if source.not_utf8().is_some() {
        let mut files = SourceFiles::default();
        let file = files.add_file(source.clone());
        let message = format!("`{name}` is not UTF-8 text");
        return Err((
            files,
            vec![Diagnostic::without_location("yaml-encoding", FindingSeverity::Error, Some(file), message)],
        ));
    }
    let text = source.text();
    if text.len() > limits::VALUE_NODES && json_nodes(text.as_bytes()) > limits::VALUE_NODES {
        let mut files = SourceFiles::default();
        let file = files.add_file(source.clone());
        let message = format!("`{name}` has more than {} values", limits::VALUE_NODES);
        return Err((
            files,
            vec![Diagnostic::without_location("yaml-limit", FindingSeverity::Error, Some(file), message)],
        ));
    }
    let json = parse_strict_json(text);
    if let Ok(json) = json {
        return Ok(Value::from_json(json));
    }
    let mut files = SourceFiles::default();
    let file = files.add_file(source.clone());
    if let (true, Err(error)) = (is_json(name), json) {
        let line = source.line_span(error.line() as u32);
        // Columns do not count a byte order mark.
        let mark = if error.line() == 1 { text.len() - without_mark(text.as_bytes()).len() } else { 0 };
        let at = (line.start + (mark + error.column().saturating_sub(1)) as u32).min(line.end);
        let message = error.to_string();
        let message = message.split(" at line").next().unwrap_or(&message);
        let at = Location::new(file, Span::new(at, at));
        let found = Diagnostic::new_error("json-syntax", at, message.to_owned());
        let found = match message {
            "key must be a string" => found.with_help("write names in double quotes: `{\"name\": 1}`"),
            "expected value" => found.with_help("write texts in double quotes: `\"text\"`"),
            _ => found,
        };
        return Err((files, vec![found]));
    }
    let parsed = yaml::parse(file, &source, &YamlLimits::default());
    let failed = parsed.diagnostics.iter().any(|d| d.severity == FindingSeverity::Error);
    match parsed.root {
        Some(root) if !failed => Ok(to_value(&root)),
        _ => Err((files, parsed.diagnostics)),
    }
}

/// Parses JSON and rejects duplicate keys, because only one of them would be used.
pub(crate) fn parse_strict_json(text: &str) -> serde_json::Result<serde_json::Value> {
    read_own_json::<UniqueKeys>(text)?;
    read_own_json(text)
}

/// Any value whose objects have no duplicate keys.
struct UniqueKeys;

impl<'de> Deserialize<'de> for UniqueKeys {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Self)
    }
}

impl<'de> Visitor<'de> for UniqueKeys {
    type Value = Self;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }
    fn visit_bool<E: Error>(self, _: bool) -> Result<Self, E> {
        Ok(self)
    }
    fn visit_i64<E: Error>(self, _: i64) -> Result<Self, E> {
        Ok(self)
    }
    fn visit_u64<E: Error>(self, _: u64) -> Result<Self, E> {
        Ok(self)
    }
    fn visit_f64<E: Error>(self, _: f64) -> Result<Self, E> {
        Ok(self)
    }
    fn visit_str<E: Error>(self, _: &str) -> Result<Self, E> {
        Ok(self)
    }
    fn visit_unit<E: Error>(self) -> Result<Self, E> {
        Ok(self)
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut all: A) -> Result<Self, A::Error> {
        while all.next_element::<Self>()?.is_some() {}
        Ok(self)
    }
    fn visit_map<A: MapAccess<'de>>(self, mut all: A) -> Result<Self, A::Error> {
        let mut keys = HashSet::new();
        while let Some(key) = all.next_key::<String>()? {
            if keys.contains(&key) {
                return Err(A::Error::custom(format_args!("the key `{key}` is set twice")));
            }
            keys.insert(key);
            all.next_value::<Self>()?;
        }
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn marks_and_halves_do_not_make_data_unreadable() {
        let table = [
            ("{\"q\": \"x\"}", json!({"q": "x"})),
            ("\u{feff}{\"q\": \"x\"}", json!({"q": "x"})),
            ("{\"q\": \"cut \\ud83c\"}", json!({"q": "cut \u{fffd}"})),
            ("\u{feff}[\"\\ud83c\\udf1e\"]", json!(["🌞"])),
        ];
        for (text, value) in table {
            for name in ["in.json", "--input-json", "in.yaml"] {
                let read = parse_data_file(name, text.as_bytes().to_vec());
                assert_eq!(
                    read.map(|value| value.to_json()).map_err(|(_, found)| found),
                    Ok(value.clone()),
                    "{name}: {text}"
                );
            }
        }
        // Mistakes keep their place.
        for (text, at) in [("{\"q\" 1}", 5), ("\u{feff}{\"q\" 1}", 8), ("\u{feff}{\"p\": 1,\n\"q\" 1}", 16)] {
            let (_, found) = parse_data_file("in.json", text.as_bytes().to_vec()).unwrap_err();
            assert_eq!(found[0].span.unwrap().start, at, "{text}");
        }
    }
}
