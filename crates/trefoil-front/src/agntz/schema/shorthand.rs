//! The shorthand: `name: type`, or `name: {type, default, enum, min, max, ...}`.

use trefoil_syntax::yaml::{YamlMapping, YamlNode, YamlText};
use trefoil_syntax::{Diagnostic, suggestions};
use trefoil_template::{Value, ValueObject};

use crate::schema::canonical_syntax;
use crate::schema::keywords::{KEYWORDS, keyword_value_kind};
use crate::schema::schema_reading::{SchemaReading, TYPES};
use crate::spelling_fixes::{fix_spelling, join_names};
use crate::yaml_reader::to_value;

/// Reads one property's definition as JSON Schema.
pub fn read_property(reading: &mut SchemaReading<'_>, node: &YamlNode, name: &YamlText, depth: usize) -> Value {
    if !reading.check_depth(node, depth) {
        return Value::Bool(true);
    }
    if let Some(bare) = name.value.strip_suffix('?')
        && !bare.is_empty()
    {
        let at = reading.reader.location_of(name.span);
        let message = format!("`?` is part of the name `{}`, which no template can read", name.value);
        let d = Diagnostic::new_warning("invalid-schema", at, message);
        let d = d.with_help(format!("write `{bare}`: every input may be missing, and is then null or its `default`"));
        let near = suggestions::NearMatch { name: bare, distance: 1, sure: false };
        reading.reader.report_finding(fix_spelling(d, at, name, near));
    }
    if let Some(text) = node.as_string() {
        let known = reading.type_name(text);
        return if known { Value::from_iter([("type", text.value.clone())]) } else { Value::Bool(true) };
    }
    match node.as_mapping() {
        Some(mapping) => definition(reading, node, mapping, name, depth),
        None => {
            let message = format!("`{}` must be a type or a definition, not {}", name.value, node.kind_description());
            let d = Diagnostic::new_error("invalid-schema", reading.reader.location_of(node.span), message);
            reading.report_finding(d.with_help(format!(
                "for example `{}: string`; types are {}",
                name.value,
                join_names(TYPES.iter().copied())
            )));
            Value::Bool(true)
        }
    }
}

fn definition(
    reading: &mut SchemaReading<'_>,
    node: &YamlNode,
    mapping: &YamlMapping,
    name: &YamlText,
    depth: usize,
) -> Value {
    if mapping.get("type").is_none() {
        let d = Diagnostic::new_error(
            "invalid-schema",
            reading.reader.location_of(name.span),
            format!("`{}` needs `type`", name.value),
        );
        reading.report_finding(d.with_help(format!("available: {}", join_names(TYPES.iter().copied()))));
    }
    let before = reading.has_failed();
    let mut schema = ValueObject::default();
    for entry in &mapping.entries {
        let key = &entry.key;
        let value = match &*key.value {
            "min" | "max" => {
                let long = if &*key.value == "min" { "minimum" } else { "maximum" };
                if mapping.get(long).is_some() {
                    reading.report_error(key.span, format!("`{}` is short for `{long}`, but both are set", key.value));
                }
                number(reading, &entry.value, &key.value);
                schema.insert(long.into(), to_value(&entry.value));
                continue;
            }
            "properties" => properties(reading, &entry.value, depth),
            "items" => read_property(reading, &entry.value, key, depth + 1),
            "default" if entry.value.is_null() => {
                if matches!(entry.value.as_scalar(), Some((_, text)) if text.value.is_empty()) {
                    reading.reader.report_warning("no-effect", key.span, "`default` has no value, so it has no effect");
                }
                continue;
            }
            "required" if entry.value.as_scalar().is_some() => {
                let at = reading.reader.location_of(entry.value.span);
                let message = format!("`required` must be a list of names, not {}", entry.value.kind_description());
                let d = Diagnostic::new_error("invalid-schema", at, message);
                reading.report_finding(
                    d.with_help("remove it: a property without `default` is required, and null if missing"),
                );
                continue;
            }
            word => {
                match keyword_value_kind(word) {
                    Some(_) => canonical_syntax::check_keyword(reading, entry, depth),
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
    if before == reading.has_failed() {
        canonical_syntax::cross_checks(reading, node, &schema, false);
    }
    schema
}

fn properties(reading: &mut SchemaReading<'_>, node: &YamlNode, depth: usize) -> Value {
    let Some(mapping) = node.as_mapping() else {
        reading.wrong_type(node, "properties", "a mapping");
        return Value::Object(ValueObject::default().into());
    };
    let mut properties = ValueObject::default();
    for property in &mapping.entries {
        let schema = read_property(reading, &property.value, &property.key, depth + 1);
        properties.insert(property.key.value.clone(), schema);
    }
    Value::Object(properties.into())
}

fn number(reading: &mut SchemaReading<'_>, node: &YamlNode, what: &str) {
    use trefoil_syntax::yaml::YamlScalar;
    if !matches!(node.as_scalar(), Some((YamlScalar::Int(_) | YamlScalar::UInt(_) | YamlScalar::Float(_), _))) {
        reading.wrong_type(node, what, "a number");
    }
}

fn unknown(reading: &mut SchemaReading<'_>, key: &YamlText) {
    let at = reading.reader.location_of(key.span);
    let d = Diagnostic::new_warning("unknown-key", at, format!("a property has no key `{}`", key.value));
    let words = KEYWORDS.iter().map(|(k, _)| *k).chain(["min", "max"]);
    reading.reader.report_finding(match (&*key.value, suggestions::find_near_match(&key.value, words)) {
        ("nullable" | "optional", _) => {
            d.with_help("every property is optional; a missing one is null, or its `default`")
        }
        (_, Some(near)) => fix_spelling(d.with_help(format!("did you mean `{}`?", near.name)), at, key, near),
        (_, None) => d,
    });
}
