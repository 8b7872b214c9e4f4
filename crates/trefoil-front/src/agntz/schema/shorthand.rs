//! The shorthand: `name: type`, or `name: {type, default, enum, min, max, ...}`.

use trefoil_syntax::yaml::{Mapping, Node, Text};
use trefoil_syntax::{Diagnostic, suggest};
use trefoil_template::{Object, Value};

use crate::mend::{listed, respelt};
use crate::read::to_value;
use crate::schema::canonical;
use crate::schema::keywords::{KEYWORDS, holds};
use crate::schema::reading::{SchemaReading, TYPES};

/// Reads one property's definition as JSON Schema.
pub fn property(reading: &mut SchemaReading<'_>, node: &Node, name: &Text, depth: usize) -> Value {
    if !reading.shallow(node, depth) {
        return Value::Bool(true);
    }
    if let Some(bare) = name.value.strip_suffix('?').filter(|bare| !bare.is_empty()) {
        let at = reading.reader.at(name.span);
        let message = format!("`?` is part of the name `{}`, which no template can read", name.value);
        let d = Diagnostic::warning("invalid-schema", at, message);
        let d = d.help(format!("write `{bare}`: every input may be missing, and is then null or its `default`"));
        let near = suggest::Near { name: bare, distance: 1, sure: false };
        reading.reader.report(respelt(d, at, name, near));
    }
    if let Some(text) = node.string() {
        let known = reading.type_name(text);
        return if known { Value::from_iter([("type", text.value.clone())]) } else { Value::Bool(true) };
    }
    match node.mapping() {
        Some(mapping) => definition(reading, node, mapping, name, depth),
        None => {
            let message = format!("`{}` must be a type or a definition, not {}", name.value, node.describe());
            let d = Diagnostic::error("invalid-schema", reading.reader.at(node.span), message);
            reading.report(d.help(format!(
                "for example `{}: string`; types are {}",
                name.value,
                listed(TYPES.iter().copied())
            )));
            Value::Bool(true)
        }
    }
}

fn definition(reading: &mut SchemaReading<'_>, node: &Node, mapping: &Mapping, name: &Text, depth: usize) -> Value {
    if mapping.get("type").is_none() {
        let d =
            Diagnostic::error("invalid-schema", reading.reader.at(name.span), format!("`{}` needs `type`", name.value));
        reading.report(d.help(format!("available: {}", listed(TYPES.iter().copied()))));
    }
    let before = reading.failed();
    let mut schema = Object::default();
    for entry in &mapping.entries {
        let key = &entry.key;
        let value = match &*key.value {
            "min" | "max" => {
                let long = if &*key.value == "min" { "minimum" } else { "maximum" };
                if mapping.get(long).is_some() {
                    reading.error(key.span, format!("`{}` is short for `{long}`, but both are set", key.value));
                }
                number(reading, &entry.value, &key.value);
                schema.insert(long.into(), to_value(&entry.value));
                continue;
            }
            "properties" => properties(reading, &entry.value, depth),
            "items" => property(reading, &entry.value, key, depth + 1),
            "default" if entry.value.is_null() => {
                if entry.value.scalar().is_some_and(|(_, text)| text.value.is_empty()) {
                    reading.reader.warning("no-effect", key.span, "`default` has no value, so it has no effect");
                }
                continue;
            }
            "required" if entry.value.scalar().is_some() => {
                let at = reading.reader.at(entry.value.span);
                let message = format!("`required` must be a list of names, not {}", entry.value.describe());
                let d = Diagnostic::error("invalid-schema", at, message);
                reading.report(d.help("remove it: a property without `default` is required, and null if missing"));
                continue;
            }
            word => {
                match holds(word) {
                    Some(_) => canonical::keyword(reading, entry, depth),
                    None => unknown(reading, key),
                }
                to_value(&entry.value)
            }
        };
        schema.insert(key.value.clone(), value);
    }
    if schema.contains_key("properties") && !schema.contains_key("additionalProperties") {
        schema.insert("additionalProperties".into(), Value::Bool(false));
    }
    let schema = Value::Object(schema.into());
    if before == reading.failed() {
        canonical::cross_checks(reading, node, &schema, false);
    }
    schema
}

fn properties(reading: &mut SchemaReading<'_>, node: &Node, depth: usize) -> Value {
    let Some(mapping) = node.mapping() else {
        reading.wrong_type(node, "properties", "a mapping");
        return Value::Object(Object::default().into());
    };
    let inner = mapping.entries.iter().map(|e| (e.key.value.clone(), property(reading, &e.value, &e.key, depth + 1)));
    Value::Object(inner.collect::<Object>().into())
}

fn number(reading: &mut SchemaReading<'_>, node: &Node, what: &str) {
    use trefoil_syntax::yaml::Scalar;
    if !matches!(node.scalar(), Some((Scalar::Int(_) | Scalar::UInt(_) | Scalar::Float(_), _))) {
        reading.wrong_type(node, what, "a number");
    }
}

fn unknown(reading: &mut SchemaReading<'_>, key: &Text) {
    let at = reading.reader.at(key.span);
    let d = Diagnostic::warning("unknown-key", at, format!("a property has no key `{}`", key.value));
    let words = KEYWORDS.iter().map(|(k, _)| *k).chain(["min", "max"]);
    reading.reader.report(match (&*key.value, suggest::near(&key.value, words)) {
        ("nullable" | "optional", _) => d.help("every property is optional; a missing one is null, or its `default`"),
        (_, Some(near)) => respelt(d.help(format!("did you mean `{}`?", near.name)), at, key, near),
        (_, None) => d,
    });
}
