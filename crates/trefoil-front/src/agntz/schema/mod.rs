//! `inputSchema` and `outputSchema`: both syntaxes are read to JSON Schema (draft 2020-12), and every mistake is
//! reported at its key.
//!
//! *Canonical*: `$schema` is text, or `type: object` with a `properties` mapping. Anything else is the *shorthand*: a
//! map from property names to types or definitions.

mod nullable_schema;
mod shorthand;

use trefoil_syntax::yaml::{YamlEntry, YamlMapping, YamlNode, YamlText};
use trefoil_syntax::{Diagnostic, Span, suggestions};
use trefoil_template::{Value, ValueObject};

pub use crate::schema::value_check::misfit_reason;
pub use nullable_schema::allow_null;

use crate::schema::schema_reading::{self, SchemaReading};
use crate::schema::{MAX_BYTES, canonical_syntax, check_work_limit, keywords, value_check};
use crate::spelling_fixes::fix_spelling;
use crate::yaml_reader::ManifestReader;

/// A schema as declared.
pub struct AgntzSchema<'n> {
    /// As a strict JSON Schema, for answers.
    pub json: Value,
    /// The properties of its root.
    pub properties: Vec<SchemaProperty<'n>>,
    /// Whether other properties are rejected.
    pub closed: bool,
    /// Whether it is written in the shorthand.
    pub shorthand: bool,
    /// Whether the root describes an object.
    pub object: bool,
    /// Whether the root has keywords (`anyOf`, `if`, ...) whose result could change if a missing property becomes null.
    pub combined: bool,
    /// Whether it is valid: no error was reported in it.
    pub sound: bool,
    /// The place of its key.
    pub key: Span,
    /// The schema as written.
    pub node: Option<&'n YamlNode>,
}

/// A property of a schema's root.
pub struct SchemaProperty<'n> {
    /// Its name.
    pub name: &'n YamlText,
    /// Its strict schema.
    pub json: Value,
    /// The value if the property is omitted.
    pub default: Option<Value>,
    /// Whether a canonical schema lists it in `required`.
    pub required: bool,
}

/// Reads the schema under a key.
pub fn read_schema<'n>(reader: &ManifestReader<'_>, entry: &'n YamlEntry) -> AgntzSchema<'n> {
    let mut reading = SchemaReading::new(reader);
    let mut schema = match entry.value.as_mapping() {
        None => {
            reader.wrong_type(&entry.value, &entry.key.value, "a mapping");
            reading.mark_failed();
            empty_schema(entry.key.span)
        }
        Some(mapping) if is_canonical(mapping) => read_canonical_root(&mut reading, entry, mapping),
        Some(mapping) if let Some(finding) = almost_canonical(&mut reading, mapping) => {
            reading.report_finding(finding);
            empty_schema(entry.key.span)
        }
        Some(mapping) => read_shorthand_root(&mut reading, entry, mapping),
    };
    reading.check_pointers(&schema.json);
    if !reading.has_failed() {
        check_whole_schema(&mut reading, entry, &schema.json);
    }
    schema.sound = !reading.has_failed();
    schema.node = Some(&entry.value);
    schema
}

/// A schema that allows everything and declares nothing.
fn empty_schema<'n>(key: Span) -> AgntzSchema<'n> {
    AgntzSchema {
        json: Value::Object(ValueObject::default().into()),
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

fn is_canonical(mapping: &YamlMapping) -> bool {
    let has_schema = matches!(mapping.get("$schema"), Some(entry) if entry.value.as_string().is_some());
    let has_properties = matches!(mapping.get("properties"), Some(entry) if entry.value.as_mapping().is_some());
    has_schema || (has_type(mapping, "object") && has_properties)
}

/// Whether the value of `type` is this word.
fn has_type(mapping: &YamlMapping, word: &str) -> bool {
    matches!(mapping.get("type"), Some(entry) if is_word(&entry.value, word))
}

fn is_word(node: &YamlNode, word: &str) -> bool {
    matches!(node.as_string(), Some(text) if &*text.value == word)
}

/// Why a mapping that was meant as a JSON Schema is not one. `None` if it can be shorthand: `type` and `properties` may also
/// be the names of two properties.
fn almost_canonical(reading: &mut SchemaReading<'_>, mapping: &YamlMapping) -> Option<Diagnostic> {
    if let Some((entry, near)) = misspelled_keyword(mapping) {
        let at = reading.reader.location_of(entry.key.span);
        let message = format!("JSON Schema has no keyword `{}`, and this one lacks `{}`", entry.key.value, near.name);
        let finding = Diagnostic::new_error("unknown-key", at, message);
        let finding = finding.with_help(format!("did you mean `{}`?", near.name));
        return Some(fix_spelling(finding, at, &entry.key, near));
    }
    let type_name = mapping.get("type")?.value.as_string()?;
    let properties = &mapping.get("properties")?.value;
    let defines_property = matches!(properties.as_mapping(), Some(definition) if definition.get("type").is_some());
    if properties.as_string().is_some() || defines_property {
        return None;
    }
    if &*type_name.value == "object" {
        let message = format!("`properties` must be a mapping, not {}", properties.kind_description());
        let at = reading.reader.location_of(properties.span);
        let finding = Diagnostic::new_error("invalid-schema", at, message);
        return Some(finding.with_help("write `NAME: { type: string }` for each property"));
    }
    let message = format!("`type: {}` has no `properties`", type_name.value);
    let at = reading.reader.location_of(type_name.span);
    Some(Diagnostic::new_error("invalid-schema", at, message).with_suggestion("write `object`", at, "object"))
}

fn read_canonical_root<'n>(
    reading: &mut SchemaReading<'_>,
    entry: &'n YamlEntry,
    mapping: &'n YamlMapping,
) -> AgntzSchema<'n> {
    let json = canonical_syntax::check_subschema(reading, &entry.value, 1);
    let properties = canonical_properties(mapping, &json);
    let combined = keywords::COMBINING.iter().any(|keyword| mapping.get(keyword).is_some());
    AgntzSchema {
        closed: is_closed(&json, !properties.is_empty(), combined),
        properties,
        object: has_type(mapping, "object"),
        combined,
        json,
        ..empty_schema(entry.key.span)
    }
}

fn canonical_properties<'n>(mapping: &'n YamlMapping, json: &Value) -> Vec<SchemaProperty<'n>> {
    let required = required_names(mapping);
    let mut properties = Vec::new();
    let Some(declared) = mapping.get("properties") else { return properties };
    let Some(declared) = declared.value.as_mapping() else { return properties };
    for property in &declared.entries {
        let name = &property.key;
        let json = property_schema(json, &name.value).cloned().unwrap_or(Value::Bool(true));
        let default = default_value(&json);
        properties.push(SchemaProperty { name, json, default, required: required.contains(&&*name.value) });
    }
    properties
}

/// The property names in `required`.
fn required_names(mapping: &YamlMapping) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    let Some(required) = mapping.get("required") else { return names };
    for item in required.value.as_sequence().unwrap_or_default() {
        if let Some(name) = item.as_string() {
            names.push(&name.value);
        }
    }
    names
}

fn property_schema<'v>(json: &'v Value, name: &str) -> Option<&'v Value> {
    json.as_object()?.get("properties")?.as_object()?.get(name)
}

/// Whether a canonical schema allows only the declared properties.
fn is_closed(json: &Value, has_properties: bool, combined: bool) -> bool {
    let Some(object) = json.as_object() else { return false };
    match object.get("additionalProperties") {
        Some(additional) => *additional == Value::Bool(false) && !object.contains_key("patternProperties"),
        // Only the declared properties are allowed, unless another keyword could declare more.
        None => has_properties && !combined && !object.contains_key("$ref") && !object.contains_key("$dynamicRef"),
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

fn read_shorthand_root<'n>(
    reading: &mut SchemaReading<'_>,
    entry: &'n YamlEntry,
    mapping: &'n YamlMapping,
) -> AgntzSchema<'n> {
    let mut properties = Vec::with_capacity(mapping.entries.len());
    let mut members = ValueObject::default();
    let mut required = Vec::with_capacity(mapping.entries.len());
    check_for_json_schema(reading, mapping);
    check_for_detached_items(reading, mapping);
    for property in &mapping.entries {
        let name = &property.key;
        let json = shorthand::read_property(reading, &property.value, name, 2);
        let default = default_value(&json);
        members.insert(name.value.clone(), json.clone());
        required.push(Value::Str(name.value.clone()));
        properties.push(SchemaProperty { name, json, default, required: false });
    }
    AgntzSchema {
        json: closed_object(members.into(), required),
        properties,
        closed: true,
        shorthand: true,
        object: true,
        ..empty_schema(entry.key.span)
    }
}

/// Reports a mapping in shorthand that was probably meant as JSON Schema: its `type` is `object`, or it has only keywords.
fn check_for_json_schema(reading: &mut SchemaReading<'_>, mapping: &YamlMapping) {
    let Some(entry) = mapping.get("type") else { return };
    let Some(type_name) = entry.value.as_string() else { return };
    let has_only_keywords = mapping.entries.iter().all(|e| keywords::STRUCTURAL.contains(&&*e.key.value));
    let is_type = schema_reading::TYPES.contains(&&*type_name.value);
    if &*type_name.value == "object" || (has_only_keywords && is_type) {
        let message = "this declares a property named `type`, because `properties` is missing next to it";
        let at = reading.reader.location_of(entry.key.span);
        let finding = Diagnostic::new_warning("invalid-schema", at, message);
        reading.reader.report_finding(finding.with_help("to use JSON Schema, write `type: object` and `properties:`"));
    }
}

/// The misspelled keyword, if only one of `type: object` and `properties` is missing, and a similar key has a value that
/// would be valid for it.
fn misspelled_keyword(mapping: &YamlMapping) -> Option<(&YamlEntry, suggestions::NearMatch<'static>)> {
    let missing = match (mapping.get("type"), mapping.get("properties")) {
        (Some(entry), None) if is_word(&entry.value, "object") => "properties",
        (None, Some(entry)) if entry.value.as_mapping().is_some() => "type",
        _ => return None,
    };
    for entry in &mapping.entries {
        let has_valid_value = match missing {
            "type" => is_word(&entry.value, "object"),
            _ => entry.value.as_mapping().is_some(),
        };
        if has_valid_value && let Some(near) = suggestions::find_near_match(&entry.key.value, [missing]) {
            return Some((entry, near));
        }
    }
    None
}

/// Reports a property named `items` directly after a list that does not declare its items. It was probably meant for the list,
/// and is not indented enough.
fn check_for_detached_items(reading: &mut SchemaReading<'_>, mapping: &YamlMapping) {
    for pair in mapping.entries.windows(2) {
        let [list, items] = pair else { continue };
        if &*items.key.value != "items" || items.value.as_mapping().is_none() {
            continue;
        }
        let Some(definition) = list.value.as_mapping() else { continue };
        let lacks_items = definition.get("items").is_none() && has_type(definition, "array");
        if lacks_items && !reading.reader.confirms_misspelling("items", "") {
            let message = format!(
                "`items` is read as a separate property, so `{}` does not say what its items are",
                list.key.value
            );
            let at = reading.reader.location_of(items.key.span);
            let finding = Diagnostic::new_warning("invalid-schema", at, message)
                .with_label(reading.reader.location_of(list.key.span), "the list")
                .with_help(format!("indent it to make it part of `{}`", list.key.value));
            reading.reader.report_finding(finding);
        }
    }
}

/// The value of `default`. Null counts as no default.
fn default_value(schema: &Value) -> Option<Value> {
    match schema.as_object()?.get("default")? {
        Value::Null => None,
        default => Some(default.clone()),
    }
}

/// Checks of the whole schema: its size, and mistakes that the checks at the keys do not find.
fn check_whole_schema(reading: &mut SchemaReading<'_>, entry: &YamlEntry, json: &Value) {
    let bytes = json.json_length();
    if bytes > MAX_BYTES {
        let message = format!("the schema is too large: {bytes} bytes, at most {MAX_BYTES}");
        reading.report_error(entry.key.span, message);
    }
    if reading.has_failed() || !reading.is_delicate() {
        return;
    }
    let plain = json.to_json();
    if let Err(why) = value_check::compile_schema(&plain) {
        return reading.report_error(entry.key.span, format!("`{}` is not a valid schema: {why}", entry.key.value));
    }
    if !check_work_limit(reading.reader, &entry.value, &plain) {
        reading.mark_failed();
    }
}
