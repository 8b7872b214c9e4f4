//! `inputSchema` and `outputSchema`: both syntaxes are read to JSON Schema (draft 2020-12), and every mistake is
//! reported at its key.
//!
//! *Canonical*: `$schema` is text, or `type: object` with a `properties` mapping. Anything else is the *shorthand*: a
//! map from property names to types or definitions.

mod nullable;
mod shorthand;

use trefoil_syntax::yaml::{Entry, Mapping, Node, Text};
use trefoil_syntax::{Diagnostic, Span, suggest};
use trefoil_template::{Object, Value};

pub use crate::schema::fit::fits;
pub use nullable::nullable;

use crate::mend::respelt;
use crate::read::Reader;
use crate::schema::reading::{self, SchemaReading};
use crate::schema::{MAX_BYTES, bounded, canonical, fit, keywords};

/// A schema as declared.
pub struct Schema<'n> {
    /// As a strict JSON Schema, for answers.
    pub json: Value,
    /// The properties of its root.
    pub properties: Vec<Property<'n>>,
    /// Whether other properties are rejected.
    pub closed: bool,
    /// Whether it is written in the shorthand.
    pub shorthand: bool,
    /// Whether the root describes an object.
    pub object: bool,
    /// Whether the root has keywords (`anyOf`, `if`, ...) whose result a filled-in null could change.
    pub combined: bool,
    /// Whether no error was reported in it.
    pub sound: bool,
    /// The place of its key.
    pub key: Span,
    /// The schema as written.
    pub node: Option<&'n Node>,
}

/// A property of a schema's root.
pub struct Property<'n> {
    /// Its name.
    pub name: &'n Text,
    /// Its strict schema.
    pub json: Value,
    /// The value if the property is omitted.
    pub default: Option<Value>,
    /// Whether a canonical schema lists it in `required`.
    pub required: bool,
}

/// Reads the schema under a key.
pub fn read<'n>(reader: &Reader<'_>, entry: &'n Entry) -> Schema<'n> {
    let mut reading = SchemaReading::new(reader);
    let mut schema = match entry.value.mapping() {
        None => {
            reader.wrong_type(&entry.value, &entry.key.value, "a mapping");
            reading.fail();
            empty(entry.key.span)
        }
        Some(mapping) if is_canonical(mapping) => canonical_root(&mut reading, entry, mapping),
        Some(mapping) if let Some(d) = nearly_canonical(&mut reading, mapping) => {
            reading.report(d);
            empty(entry.key.span)
        }
        Some(mapping) => shorthand_root(&mut reading, entry, mapping),
    };
    reading.check_pointers(&schema.json);
    if !reading.failed() {
        check_whole(&mut reading, entry, &schema.json);
    }
    schema.sound = !reading.failed();
    schema.node = Some(&entry.value);
    schema
}

fn empty<'n>(key: Span) -> Schema<'n> {
    Schema {
        json: Value::Object(Object::default().into()),
        properties: Vec::new(),
        closed: false,
        shorthand: false,
        object: false,
        combined: false,
        sound: false,
        key,
        node: None,
    }
}

fn is_canonical(mapping: &Mapping) -> bool {
    let text = |key: &str| mapping.get(key).and_then(|e| e.value.string());
    let object = text("type").is_some_and(|t| &*t.value == "object");
    let properties = mapping.get("properties").is_some_and(|e| e.value.mapping().is_some());
    text("$schema").is_some() || (object && properties)
}

/// Reports why a map with `type` and `properties` is not a JSON Schema, unless both are names of properties with types.
fn nearly_canonical(reading: &mut SchemaReading<'_>, mapping: &Mapping) -> Option<Diagnostic> {
    if let Some((entry, near)) = misspelt(mapping) {
        let at = reading.reader.at(entry.key.span);
        let message = format!("JSON Schema has no keyword `{}`, and this one lacks `{}`", entry.key.value, near.name);
        let d = Diagnostic::error("unknown-key", at, message).help(format!("did you mean `{}`?", near.name));
        return Some(respelt(d, at, &entry.key, near));
    }
    let (name, properties) = (mapping.get("type")?.value.string()?, &mapping.get("properties")?.value);
    if properties.string().is_some() || properties.mapping().is_some_and(|m| m.get("type").is_some()) {
        return None;
    }
    if &*name.value == "object" {
        let message = format!("`properties` must be a mapping, not {}", properties.describe());
        let d = Diagnostic::error("invalid-schema", reading.reader.at(properties.span), message);
        return Some(d.help("write `NAME: { type: string }` for each property"));
    }
    let message = format!("`type: {}` has no `properties`", name.value);
    let at = reading.reader.at(name.span);
    Some(Diagnostic::error("invalid-schema", at, message).suggestion("write `object`", at, "object"))
}

fn canonical_root<'n>(reading: &mut SchemaReading<'_>, entry: &'n Entry, mapping: &'n Mapping) -> Schema<'n> {
    let json = canonical::subschema(reading, &entry.value, 1);
    let required: Vec<&str> = mapping
        .get("required")
        .and_then(|e| e.value.sequence())
        .map(|items| items.iter().filter_map(Node::string).map(|t| &*t.value).collect())
        .unwrap_or_default();
    let declared = mapping.get("properties").and_then(|e| e.value.mapping()).map_or(&[][..], |m| &m.entries);
    let inside = json.as_object().and_then(|o| o.get("properties")).and_then(Value::as_object);
    let properties = declared
        .iter()
        .map(|e| {
            let json = inside.and_then(|o| o.get(&e.key.value)).cloned().unwrap_or(Value::Bool(true));
            let default = default_of(&json);
            Property { name: &e.key, json, default, required: required.contains(&&*e.key.value) }
        })
        .collect();
    let words = |key: &str| mapping.get(key).is_some();
    let combined = keywords::COMBINING.iter().any(|k| words(k));
    let closed = json.as_object().is_some_and(|o| match o.get("additionalProperties") {
        Some(more) => *more == Value::Bool(false) && !o.contains_key("patternProperties"),
        // Only the declared properties are allowed, unless another keyword could declare more.
        None => !declared.is_empty() && !combined && !o.contains_key("$ref") && !o.contains_key("$dynamicRef"),
    });
    Schema {
        properties,
        closed,
        object: mapping.get("type").and_then(|e| e.value.string()).is_some_and(|t| &*t.value == "object"),
        combined,
        json,
        ..empty(entry.key.span)
    }
}

/// The schema of an object with these properties only.
pub fn closed_object(properties: Value, required: Vec<Value>) -> Value {
    let members: [(&str, Value); 4] = [
        ("type", "object".into()),
        ("properties", properties),
        ("required", required.into()),
        ("additionalProperties", false.into()),
    ];
    Value::from_iter(members)
}

fn shorthand_root<'n>(reading: &mut SchemaReading<'_>, entry: &'n Entry, mapping: &'n Mapping) -> Schema<'n> {
    let mut properties = Vec::with_capacity(mapping.entries.len());
    looks_canonical(reading, mapping);
    own_items(reading, mapping);
    for property in &mapping.entries {
        let json = shorthand::property(reading, &property.value, &property.key, 2);
        let default = default_of(&json);
        properties.push(Property { name: &property.key, json, default, required: false });
    }
    let members = properties.iter().map(|p: &Property<'_>| (p.name.value.clone(), p.json.clone()));
    let required = properties.iter().map(|p| Value::Str(p.name.value.clone()));
    Schema {
        json: closed_object(Value::from_iter(members), required.collect()),
        properties,
        closed: true,
        shorthand: true,
        object: true,
        ..empty(entry.key.span)
    }
}

/// Reports a map with `type: object`, or one that consists of keywords only, because JSON Schema was probably intended.
fn looks_canonical(reading: &mut SchemaReading<'_>, mapping: &Mapping) {
    let Some((entry, name)) = mapping.get("type").and_then(|e| e.value.string().map(|t| (e, t))) else { return };
    let structural = mapping.entries.iter().all(|e| keywords::STRUCTURAL.contains(&&*e.key.value));
    if &*name.value == "object" || (structural && reading::TYPES.contains(&&*name.value)) {
        let message = "this declares a property named `type`, because `properties` is missing next to it";
        let d = Diagnostic::warning("invalid-schema", reading.reader.at(entry.key.span), message);
        reading.reader.report(d.help("to use JSON Schema, write `type: object` and `properties:`"));
    }
}

/// The misspelt one of the two keywords that every JSON Schema of an object has.
fn misspelt(mapping: &Mapping) -> Option<(&Entry, suggest::Near<'static>)> {
    let is_object = |entry: &Entry| entry.value.string().is_some_and(|text| &*text.value == "object");
    let is_mapping = |entry: &Entry| entry.value.mapping().is_some();
    let (lacks, fits): (_, &dyn Fn(&Entry) -> bool) = match (mapping.get("type"), mapping.get("properties")) {
        (Some(entry), None) if is_object(entry) => ("properties", &is_mapping),
        (None, Some(entry)) if is_mapping(entry) => ("type", &is_object),
        _ => return None,
    };
    mapping.entries.iter().filter(|entry| fits(entry)).find_map(|entry| {
        let near = suggest::near(&entry.key.value, [lacks])?;
        Some((entry, near))
    })
}

/// Reports a property named `items` directly after a list that does not declare its items, because it was probably
/// meant for the list.
fn own_items(reading: &mut SchemaReading<'_>, mapping: &Mapping) {
    for pair in mapping.entries.windows(2) {
        let [list, items] = pair else { continue };
        if &*items.key.value != "items" || items.value.mapping().is_none() {
            continue;
        }
        let array = list.value.mapping().is_some_and(|m| {
            m.get("items").is_none()
                && m.get("type").and_then(|e| e.value.string()).is_some_and(|t| &*t.value == "array")
        });
        if array && !reading.reader.confirms("items", "") {
            let message = format!(
                "`items` is read as a separate property, so `{}` does not say what its items are",
                list.key.value
            );
            let d = Diagnostic::warning("invalid-schema", reading.reader.at(items.key.span), message);
            let d = d.label(reading.reader.at(list.key.span), "the list");
            reading.reader.report(d.help(format!("indent it to make it part of `{}`", list.key.value)));
        }
    }
}

/// The default; null counts as no default.
fn default_of(schema: &Value) -> Option<Value> {
    schema.as_object()?.get("default").filter(|d| !matches!(d, Value::Null)).cloned()
}

/// Checks of the whole schema: its size, and mistakes that the checks at the keys do not find.
fn check_whole(reading: &mut SchemaReading<'_>, entry: &Entry, json: &Value) {
    let bytes = json.json_length();
    if bytes > MAX_BYTES {
        let message = format!("the schema is too large: {bytes} bytes, at most {MAX_BYTES}");
        reading.error(entry.key.span, message);
    }
    if reading.failed() || !reading.delicate() {
        return;
    }
    let plain = json.to_json();
    if let Err(why) = fit::compile(&plain) {
        return reading.error(entry.key.span, format!("`{}` is not a valid schema: {why}", entry.key.value));
    }
    if !bounded(reading.reader, &entry.value, &plain) {
        reading.fail();
    }
}
