//! The canonical syntax: JSON Schema, with every keyword checked at its place.

use trefoil_syntax::hash::HashMap;

use trefoil_syntax::yaml::{YamlEntry, YamlMapping, YamlNode, YamlScalar, YamlText};
use trefoil_syntax::{Diagnostic, suggestions};
use trefoil_template::Value;
use trefoil_template::limits::PATTERNS_BYTES;

use super::keywords::{DELICATE, KEYWORD_NAMES, KEYWORDS, KeywordValueKind, keyword_value_kind};
use super::schema_reading::{SchemaReading, TYPES};
use super::{LESS, value_check};
use crate::spelling_fixes::fix_spelling;
use crate::yaml_reader::to_value;
use trefoil_syntax::suggestions::NearMatch;

/// Checks a schema and returns it.
pub fn check_subschema(reading: &mut SchemaReading<'_>, node: &YamlNode, depth: usize) -> Value {
    if let Some((YamlScalar::Bool(b), _)) = node.as_scalar() {
        return Value::Bool(b);
    }
    if !reading.check_depth(node, depth) {
        return Value::Bool(true);
    }
    let Some(mapping) = node.as_mapping() else {
        reading.wrong_type(node, "a schema", "a mapping");
        return Value::Bool(true);
    };
    let partial = reading.take_partial();
    let (before, blocks) = (reading.has_failed(), reading.reader.block_count());
    for entry in &mapping.entries {
        check_keyword(reading, entry, depth);
    }
    reading.reader.note_blocks(mapping, KEYWORD_NAMES.as_slice(), &[], blocks);
    let value = to_value(node);
    if before == reading.has_failed() {
        cross_checks(reading, node, &value, partial);
    }
    value
}

/// Checks one keyword.
pub fn check_keyword(reading: &mut SchemaReading<'_>, entry: &YamlEntry, depth: usize) {
    let name = &*entry.key.value;
    let Some(holds) = keyword_value_kind(name) else {
        unknown(reading, &entry.key);
        return;
    };
    if DELICATE.contains(&name) {
        reading.note_delicate();
    }
    let node = &entry.value;
    match holds {
        KeywordValueKind::Types => check_types(reading, node),
        KeywordValueKind::Schema => {
            if matches!(name, "if" | "then" | "else" | "not") {
                reading.note_partial();
            }
            check_subschema(reading, node, depth + 1);
        }
        KeywordValueKind::Schemas => match node.as_sequence() {
            Some(items) if !items.is_empty() => {
                for item in items {
                    if name != "prefixItems" {
                        reading.note_partial();
                    }
                    check_subschema(reading, item, depth + 1);
                }
            }
            _ => reading.wrong_type(node, name, "a list of at least one schema"),
        },
        KeywordValueKind::Named => match node.as_mapping() {
            Some(named) => {
                for entry in &named.entries {
                    check_subschema(reading, &entry.value, depth + 1);
                }
            }
            None => reading.wrong_type(node, name, "a mapping"),
        },
        KeywordValueKind::Number | KeywordValueKind::Positive => {
            number(reading, node, name, holds == KeywordValueKind::Positive)
        }
        KeywordValueKind::Count => count(reading, node, name),
        KeywordValueKind::Boolean => {
            if !matches!(node.as_scalar(), Some((YamlScalar::Bool(_), _))) {
                reading.wrong_type(node, name, "true or false");
            }
        }
        KeywordValueKind::Text => {
            text(reading, node, name);
        }
        KeywordValueKind::Pattern => check_pattern(reading, node, name),
        KeywordValueKind::Names => names(reading, node, name),
        KeywordValueKind::NamesByName => match node.as_mapping() {
            Some(named) => {
                for entry in &named.entries {
                    names(reading, &entry.value, &entry.key.value);
                }
            }
            None => reading.wrong_type(node, name, "a mapping"),
        },
        KeywordValueKind::Values => match node.as_sequence() {
            Some([]) if name == "enum" => {
                reading.report_error(node.span, "`enum` is empty, so no value is valid".to_owned())
            }
            Some(_) => {}
            None => reading.wrong_type(node, name, "a list of at least one value"),
        },
        KeywordValueKind::Reference => {
            if let Some(pointer) = text(reading, node, name) {
                reading.note_reference(pointer);
            }
        }
        KeywordValueKind::Any => {}
    }
}

/// Checks the value of `pattern`.
fn check_pattern(reading: &mut SchemaReading<'_>, node: &YamlNode, name: &str) {
    let Some(pattern) = text(reading, node, name) else { return };
    match reading.reader.book_pattern(&pattern.value) {
        Ok(Some(_)) => {}
        Ok(None) => {
            let fault = value_check::pattern_fault(&pattern.value);
            reading.report_error(node.span, format!("`{}` {fault}", pattern.value));
        }
        Err(true) => {
            let message = format!("the patterns up to here need more than {} MB", PATTERNS_BYTES >> 20);
            let d = Diagnostic::new_error("invalid-schema", reading.reader.location_of(node.span), message);
            reading.report_finding(d.with_help(LESS));
        }
        Err(false) => reading.mark_failed(),
    }
}

fn unknown(reading: &mut SchemaReading<'_>, key: &YamlText) {
    if key.value.starts_with("x-") {
        return;
    }
    let at = reading.reader.location_of(key.span);
    let d = Diagnostic::new_warning("unknown-key", at, format!("JSON Schema has no keyword `{}`", key.value));
    let near = match &*key.value {
        "min" => Some(NearMatch { name: "minimum", distance: 4, sure: true }),
        "max" => Some(NearMatch { name: "maximum", distance: 4, sure: true }),
        other => suggestions::find_near_match(other, KEYWORDS.iter().map(|(k, _)| *k)),
    };
    reading.reader.report_finding(match near {
        Some(near) => fix_spelling(d.with_help(format!("did you mean `{}`?", near.name)), at, key, near),
        None => d,
    });
}

/// `type`: a name or a list of names.
pub fn check_types(reading: &mut SchemaReading<'_>, node: &YamlNode) {
    match (node.as_string(), node.as_sequence()) {
        (Some(name), _) => {
            reading.type_name(name);
        }
        (_, Some(items)) if !items.is_empty() => {
            for item in items {
                match item.as_string() {
                    Some(name) => {
                        reading.type_name(name);
                    }
                    None if item.is_null() => {
                        let d = Diagnostic::new_error(
                            "invalid-schema",
                            reading.reader.location_of(item.span),
                            "a type must be text",
                        );
                        reading.report_finding(d.with_help("write `\"null\"` in quotes"));
                    }
                    None => reading.wrong_type(item, "type", "the name of a type"),
                }
            }
        }
        _ => reading.wrong_type(node, "type", "the name of a type, or a list of them"),
    }
}

fn text<'n>(reading: &mut SchemaReading<'_>, node: &'n YamlNode, name: &str) -> Option<&'n YamlText> {
    let text = node.as_string();
    if text.is_none() {
        reading.wrong_type(node, name, "text");
    }
    text
}

fn number(reading: &mut SchemaReading<'_>, node: &YamlNode, name: &str, positive: bool) {
    let value = match node.as_scalar() {
        Some((YamlScalar::Int(i), _)) => i as f64,
        Some((YamlScalar::UInt(u), _)) => u as f64,
        Some((YamlScalar::Float(f), _)) if f.is_finite() => f,
        _ => return reading.wrong_type(node, name, "a number"),
    };
    if positive && value <= 0.0 {
        reading.report_error(node.span, format!("`{name}` must be more than 0"));
    }
}

fn count(reading: &mut SchemaReading<'_>, node: &YamlNode, name: &str) {
    if !matches!(node.as_scalar(), Some((YamlScalar::Int(0..), _))) {
        reading.wrong_type(node, name, "a whole number from 0");
    }
}

/// `required`: a list of names.
fn names(reading: &mut SchemaReading<'_>, node: &YamlNode, name: &str) {
    match node.as_sequence() {
        Some(items) => {
            let mut seen: HashMap<&str, &YamlText> = HashMap::default();
            for item in items {
                let Some(text) = item.as_string() else {
                    reading.wrong_type(item, name, "a name");
                    continue;
                };
                if let Some(first) = seen.get(&*text.value) {
                    let at = reading.reader.location_of(text.span);
                    let d = Diagnostic::new_error("invalid-schema", at, format!("`{}` is listed twice", text.value));
                    reading.report_finding(d.with_label(reading.reader.location_of(first.span), "the first one"));
                } else {
                    seen.insert(&text.value, text);
                }
            }
        }
        None => {
            let message = format!("`{name}` must be a list of names, not {}", node.kind_description());
            let mut d = Diagnostic::new_error("invalid-schema", reading.reader.location_of(node.span), message);
            if let Some((YamlScalar::Bool(b), _)) = node.as_scalar() {
                d = d.with_help(if b {
                    "write a list of required names next to `properties`"
                } else {
                    "remove it: a property is optional unless a `required` list next to `properties` names it"
                });
            }
            reading.report_finding(d);
        }
    }
}

/// Checks keywords against each other: `enum` against `type`, `default` against all, `required` against `properties`.
/// `partial`: a sibling schema may declare more.
pub fn cross_checks(reading: &mut SchemaReading<'_>, node: &YamlNode, schema: &Value, partial: bool) {
    let Some(mapping) = node.as_mapping() else { return };
    check_choice_types(reading, mapping);
    misplaced(reading, mapping);
    for limits in LIMITS {
        limit_checks(reading, mapping, limits);
    }
    check_default(reading, mapping, schema);
    if !partial && !allows_undeclared(mapping) {
        check_required(reading, mapping);
    }
}

/// Checks `enum` against `type`.
fn check_choice_types(reading: &mut SchemaReading<'_>, mapping: &YamlMapping) {
    let (Some(types), Some(choices)) = (mapping.get("type"), mapping.get("enum")) else { return };
    let Some(choices) = choices.value.as_sequence() else { return };
    let only_type = serde_json::json!({ "type": to_value(&types.value).to_json() });
    for choice in choices {
        if value_check::plain_fit(&only_type, &to_value(choice).to_json()).is_some() {
            let d = Diagnostic::new_error(
                "invalid-schema",
                reading.reader.location_of(choice.span),
                "this choice does not match the type",
            );
            reading.report_pointless(d.with_label(reading.reader.location_of(types.value.span), "the type"));
        }
    }
}

/// Checks `default` against the schema.
fn check_default(reading: &mut SchemaReading<'_>, mapping: &YamlMapping, schema: &Value) {
    if let Some(default) = mapping.get("default")
        && !default.value.is_null()
        && let Some(why) = value_check::plain_fit(&schema.to_json(), &to_value(&default.value).to_json())
    {
        let at = reading.reader.location_of(default.value.span);
        let message = format!("the default does not match its own schema: {why}");
        // In JSON Schema a default is only an annotation; filling it in would fail.
        let rule = if reading.is_plain() { "wrong-default" } else { "invalid-schema" };
        let d = Diagnostic::new_error(rule, at, message);
        reading.report_pointless(d);
    }
}

/// Whether other properties are explicitly allowed, so that one of them may be required.
fn allows_undeclared(mapping: &YamlMapping) -> bool {
    let more =
        ["additionalProperties", "patternProperties", "allOf", "anyOf", "oneOf", "$ref", "$dynamicRef", "then", "else"];
    more.iter().any(|key| match mapping.get(key) {
        Some(entry) => !matches!(entry.value.as_scalar(), Some((YamlScalar::Bool(false), _))),
        None => false,
    })
}

/// Checks `required` against `properties`.
fn check_required(reading: &mut SchemaReading<'_>, mapping: &YamlMapping) {
    let (Some(required), Some(properties)) = (mapping.get("required"), mapping.get("properties")) else { return };
    let (Some(names), Some(declared)) = (required.value.as_sequence(), properties.value.as_mapping()) else { return };
    for name in names {
        let Some(name) = name.as_string() else { continue };
        if declared.get(&name.value).is_some() {
            continue;
        }
        let at = reading.reader.location_of(name.span);
        let message = format!("`{}` is required but not in `properties`", name.value);
        // A property that is already required is not suggested again.
        let is_required =
            |key: &str| names.iter().any(|name| matches!(name.as_string(), Some(text) if &*text.value == key));
        let free = declared.entries.iter().map(|entry| &*entry.key.value).filter(|key| !is_required(key));
        let mut near = suggestions::find_near_match(&name.value, free);
        if let Some(near) = &mut near {
            near.sure = near.sure && reading.reader.confirms_misspelling(near.name, &name.value);
        }
        let mended = |d: Diagnostic| match near {
            Some(near) => fix_spelling(d.with_help(format!("did you mean `{}`?", near.name)), at, name, near),
            None => d,
        };
        match mapping.get("additionalProperties") {
            // Other properties are not allowed, but this one is required.
            Some(closed) => {
                let message = format!("{message}, and additional properties are not allowed, so no value is valid");
                let d = Diagnostic::new_error("invalid-schema", at, message);
                reading
                    .report_pointless(mended(d.with_label(reading.reader.location_of(closed.key.span), "no others")));
            }
            None => reading.reader.report_finding(mended(Diagnostic::new_warning("invalid-schema", at, message))),
        }
    }
}

/// Reports choices that are listed twice, and keywords that apply to another type than the declared one.
fn misplaced(reading: &mut SchemaReading<'_>, mapping: &YamlMapping) {
    if let Some(choices) = mapping.get("enum").and_then(|entry| entry.value.as_sequence()) {
        repeated_choices(reading, choices);
    }
    let Some(kind) = mapping.get("type").and_then(|entry| entry.value.as_string()) else { return };
    pointless(reading, mapping, kind);
    let is_known = matches!(&*kind.value, "string" | "number" | "integer" | "boolean" | "object" | "array");
    for (key, of) in [("properties", "object"), ("items", "array")] {
        let Some(entry) = mapping.get(key) else { continue };
        if !is_known || &*kind.value == of {
            continue;
        }
        let message = format!("`{key}` has no effect with `type: {}`: it is for `type: {of}`", kind.value);
        let d = Diagnostic::new_warning("invalid-schema", reading.reader.location_of(entry.key.span), message);
        let d = d.with_label(reading.reader.location_of(kind.span), "the type");
        reading.reader.report_finding(match key {
            "properties" if &*kind.value == "array" => {
                d.with_help("describe what a list contains under `items`: `items: { type: object, properties: ... }`")
            }
            _ => d.with_help(format!("write `type: {of}`, or remove `{key}`")),
        });
    }
}

/// Reports choices that are listed twice, or differ only in case.
fn repeated_choices(reading: &mut SchemaReading<'_>, choices: &[YamlNode]) {
    let texts: Vec<&YamlText> = choices.iter().filter_map(YamlNode::as_string).collect();
    let mut seen: HashMap<&str, &YamlText> = HashMap::default();
    for &text in &texts {
        match seen.get(&*text.value) {
            Some(first) => {
                let message = format!("`{}` is listed twice", text.value);
                let d = Diagnostic::new_warning("invalid-schema", reading.reader.location_of(text.span), message);
                reading.reader.report_finding(d.with_label(reading.reader.location_of(first.span), "the first one"));
            }
            None => {
                seen.insert(&text.value, text);
            }
        }
    }
    if choices.len() > 40 {
        return;
    }
    for (index, text) in texts.iter().enumerate() {
        let alike = |other: &&&YamlText| other.value != text.value && other.value.eq_ignore_ascii_case(&text.value);
        if let Some(first) = texts.iter().take(index).find(alike) {
            let message = format!("`{}` and `{}` differ only in case", first.value, text.value);
            let d = Diagnostic::new_info("invalid-schema", reading.reader.location_of(text.span), message);
            reading.reader.report_finding(d.with_label(reading.reader.location_of(first.span), "the other one"));
        }
    }
}

type SingleTypeKeyword = (&'static str, &'static [&'static str], &'static [(&'static str, &'static str)]);

/// Keywords that apply to one type only, the type, and the equivalent limits for texts and lists.
const OF_TYPE: &[SingleTypeKeyword] = &[
    ("min", NUMBERS, &[("string", "minLength"), ("array", "minItems")]),
    ("max", NUMBERS, &[("string", "maxLength"), ("array", "maxItems")]),
    ("minimum", NUMBERS, &[("string", "minLength"), ("array", "minItems")]),
    ("maximum", NUMBERS, &[("string", "maxLength"), ("array", "maxItems")]),
    ("exclusiveMinimum", NUMBERS, &[]),
    ("exclusiveMaximum", NUMBERS, &[]),
    ("multipleOf", NUMBERS, &[]),
    ("minLength", &["string"], &[("array", "minItems"), ("number", "minimum"), ("integer", "minimum")]),
    ("maxLength", &["string"], &[("array", "maxItems"), ("number", "maximum"), ("integer", "maximum")]),
    ("pattern", &["string"], &[]),
    ("minItems", &["array"], &[("string", "minLength"), ("number", "minimum"), ("integer", "minimum")]),
    ("maxItems", &["array"], &[("string", "maxLength"), ("number", "maximum"), ("integer", "maximum")]),
    ("uniqueItems", &["array"], &[]),
    ("required", &["object"], &[]),
];

const NUMBERS: &[&str] = &["number", "integer"];

/// Reports limits that do not apply to the declared type.
fn pointless(reading: &mut SchemaReading<'_>, mapping: &YamlMapping, kind: &YamlText) {
    for entry in &mapping.entries {
        let Some((key, of, others)) = OF_TYPE.iter().find(|(key, ..)| *key == &*entry.key.value) else { continue };
        if of.contains(&&*kind.value) || !TYPES.contains(&&*kind.value) {
            continue;
        }
        let sound = match *key {
            "required" => entry.value.as_sequence().is_some(),
            "pattern" | "uniqueItems" => true,
            _ => matches!(
                entry.value.as_scalar(),
                Some((YamlScalar::Int(_) | YamlScalar::UInt(_) | YamlScalar::Float(_), _))
            ),
        };
        // An invalid value is reported separately.
        if !sound {
            continue;
        }
        let message = format!(
            "`{key}` has no effect with `type: {}`: it is for `type: {}`",
            kind.value,
            of.join("` and `type: ")
        );
        let d = Diagnostic::new_warning("invalid-schema", reading.reader.location_of(entry.key.span), message);
        let d = d.with_label(reading.reader.location_of(kind.span), "the type");
        let other = others.iter().find(|(kind_of, _)| *kind_of == &*kind.value);
        reading.reader.report_finding(match other {
            Some((_, other)) if mapping.get(other).is_none() => {
                d.with_help(format!("write `{other}`")).with_suggestion(
                    format!("write `{other}`"),
                    reading.reader.location_of(entry.key.content_span()),
                    *other,
                )
            }
            _ if *key == "required" && &*kind.value == "array" => {
                d.with_help("describe the objects in a list under `items`")
            }
            _ => d.with_help(format!("remove `{key}`")),
        });
    }
}

/// Pairs of lower and upper limits, and whether the two may be equal.
const LIMITS: &[(&str, &str, bool)] = &[
    ("minimum", "maximum", true),
    ("min", "max", true),
    ("min", "maximum", true),
    ("minimum", "max", true),
    ("exclusiveMinimum", "maximum", false),
    ("minimum", "exclusiveMaximum", false),
    ("exclusiveMinimum", "exclusiveMaximum", false),
    ("minLength", "maxLength", true),
    ("minItems", "maxItems", true),
    ("minProperties", "maxProperties", true),
];

/// Reports a lower limit above the upper one.
fn limit_checks(reading: &mut SchemaReading<'_>, mapping: &YamlMapping, (low, high, equal): &(&str, &str, bool)) {
    let entry = |key: &str| Some((mapping.get(key)?, to_value(&mapping.get(key)?.value).as_f64()?));
    let (Some((least, from)), Some((most, to))) = (entry(low), entry(high)) else { return };
    if from < to || (*equal && from <= to) {
        return;
    }
    let relation = if from > to { "above" } else { "no less than" };
    let at = reading.reader.location_of(most.value.span);
    let d = Diagnostic::new_error(
        "invalid-schema",
        at,
        format!("no value is valid: `{low}` {from} is {relation} `{high}` {to}"),
    );
    reading.report_pointless(d.with_label(reading.reader.location_of(least.value.span), format!("`{low}`")));
}
