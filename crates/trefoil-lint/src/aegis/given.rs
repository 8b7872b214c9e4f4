//! What a state passes to a callee that declares its input: the literal part of a JSON text is checked against the
//! schema. The values of placeholders are unknown here.

use std::sync::Arc;

use trefoil_syntax::yaml::YamlText;
use trefoil_syntax::{Diagnostic, Location, Span, suggestions};
use trefoil_template::{ValueObject, read_json};

use super::unit::{FindingList, WorkflowUnit, with_help};
use trefoil_front::ManifestSource;
use trefoil_front::aegis::manifest::AegisUnitKind;
use trefoil_front::aegis::manifest::schema::JsonSchema;
use trefoil_front::aegis::names::ALWAYS;

/// The inputs of every call.
pub fn check_call_inputs(unit: &WorkflowUnit<'_, '_>, found: &mut FindingList) {
    let file = unit.file;
    for callee in unit.callees {
        if callee.judges {
            continue;
        }
        let name = &*callee.name.value;
        let wraps = callee.unit == AegisUnitKind::Workflow;
        let declared = unit.directory.takes_object(callee.unit, name);
        let taker = declared.as_ref().map(|(file, schema)| InputReceiver { name, schema, file: *file, wraps });
        match (taker, callee.input) {
            (Some(taker), Some(input)) => check(file, input, &taker, found),
            (Some(taker), None) if wraps => {
                missing(file, callee.name.span, &taker, "the state has no `input`", &|_| false, found);
            }
            (Some(taker), None) => passed_on(unit, callee.name, &taker, found),
            (None, Some(input)) if wraps && unit.directory.document_of(callee.unit, name).is_some() => {
                broken(file, input, found);
            }
            (None, _) => {}
        }
    }
}

/// Without an input template, the agent gets the workflow's start input, which has only the declared properties.
fn passed_on(unit: &WorkflowUnit<'_, '_>, name: &YamlText, taker: &InputReceiver<'_>, found: &mut FindingList) {
    let start = &unit.names.input;
    if start.is_complete() {
        let given = |name: &str| ALWAYS.contains(&name) || start.declares_field(name);
        let help = "without `input` the agent gets the start input, and `input_schema` does not declare it";
        missing(unit.file, name.span, taker, help, &given, found);
    }
}

/// The callee that receives the input.
struct InputReceiver<'a> {
    pub name: &'a str,
    pub schema: &'a JsonSchema,
    /// The file of the schema.
    pub file: trefoil_syntax::FileId,
    /// Whether a text that is not an object is passed as the `input` of one.
    pub wraps: bool,
}

/// Replaces a placeholder: valid as a number and inside quotes.
pub const PLACEHOLDER: &str = "9007199254740881";

/// Checks the text of an input.
fn check(file: ManifestSource<'_>, text: &YamlText, taker: &InputReceiver<'_>, found: &mut FindingList) {
    let Some(probe) = probe_text(&text.value) else { return };
    let probe = probe.trim();
    if probe.is_empty() || probe.starts_with(PLACEHOLDER) {
        return;
    }
    if !probe.starts_with('{') {
        return if taker.wraps {
            missing(file, text.span, taker, "", &|name| name == "input", found);
        } else {
            found.push(no_object(file, text, taker, "this is text"));
        };
    }
    match read_json::<ValueObject>(probe) {
        Ok(given) => {
            let mut meant = Vec::new();
            for (key, _) in given.iter().filter(|(key, _)| !key.contains(PLACEHOLDER)) {
                meant.extend(unknown(file, text, taker, key, &given, found));
            }
            missing(file, text.span, taker, "", &|name| given.contains_key(name) || meant.contains(&name), found);
        }
        Err(error) => {
            let message = error.to_string();
            let why = message.split(" at line ").next().unwrap_or_default();
            found.push(no_object(file, text, taker, &format!("this is not JSON: {why}")));
        }
    }
}

/// A text that was certainly meant as a JSON object but is invalid.
fn broken(file: ManifestSource<'_>, text: &YamlText, found: &mut FindingList) {
    let Some(probe) = probe_text(&text.value) else { return };
    let probe = probe.trim();
    let begins = matches!(probe.strip_prefix('{'), Some(rest) if rest.trim_start().starts_with('"'));
    if begins && let Err(error) = read_json::<ValueObject>(probe) {
        let message = error.to_string();
        let why = message.split(" at line ").next().unwrap_or_default();
        let message = format!("this looks like a JSON object but does not parse: {why}");
        let d = Diagnostic::new_warning("schema-mismatch", file.location_of(text.span), message);
        found.push(d.with_help("as written, the workflow gets the whole text as its `input`"));
    }
}

/// The text with a replacement for every placeholder; `None` if its contents depend on a block.
pub fn probe_text(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(open) = rest.find("{{") {
        let (before, tag) = rest.split_at_checked(open)?;
        if before.ends_with('\\') {
            return None;
        }
        let (left, right) = if tag.starts_with("{{{") { ("{{{", "}}}") } else { ("{{", "}}") };
        let inner = tag.strip_prefix(left)?;
        let end = inner.find(right)?;
        let inside = inner.get(..end)?.trim().trim_start_matches('~').trim_start();
        if inside.starts_with(['#', '/', '^', '!', '>', '*']) || inside == "else" {
            return None;
        }
        out.push_str(before);
        out.push_str(PLACEHOLDER);
        rest = inner.get(end + right.len()..)?;
    }
    out.push_str(rest);
    Some(out)
}

fn no_object(file: ManifestSource<'_>, text: &YamlText, taker: &InputReceiver<'_>, why: &str) -> Diagnostic {
    let message = format!("`{}` needs an object, but {why}", taker.name);
    let all: Vec<_> = taker.schema.declared_properties().take(8).map(|(p, _)| format!("\"{p}\": ...")).collect();
    let d = Diagnostic::new_warning("schema-mismatch", file.location_of(text.span), message);
    let d = d.with_label(Location::new(taker.file, taker.schema.node.span), "declared here");
    d.with_help(format!("write `{{{}}}`; `{{{{json path}}}}` prints a value as JSON", all.join(", ")))
}

/// Reports properties that the callee needs but does not get. `at` should pass them; `help` says what the callee gets
/// instead.
fn missing(
    file: ManifestSource<'_>,
    at: Span,
    taker: &InputReceiver<'_>,
    help: &str,
    given: &dyn Fn(&str) -> bool,
    found: &mut FindingList,
) {
    let schema = taker.schema;
    for (property, _) in schema.declared_properties() {
        if !needs(schema, property) || given(property) {
            continue;
        }
        let message = format!("`{}` needs `{property}`, but does not get it", taker.name);
        let d = Diagnostic::new_warning("missing-input", file.location_of(at), message);
        let d = d.with_label(Location::new(taker.file, schema.property_at(property)), "required here");
        found.push(with_help(d, help));
    }
}

/// Whether a property is required.
fn needs(schema: &JsonSchema, property: &str) -> bool {
    if !schema.requires_property(property) {
        return false;
    }
    for (name, declared) in schema.declared_properties() {
        if **name == *property && declared.get("default").is_some() {
            return false;
        }
    }
    true
}

/// Reports a property that the callee does not declare: certain if its schema is closed, probable if a similar name
/// exists. Returns the required property that was certainly meant, if any.
fn unknown<'t>(
    file: ManifestSource<'_>,
    text: &YamlText,
    taker: &InputReceiver<'t>,
    key: &Arc<str>,
    given: &ValueObject,
    found: &mut FindingList,
) -> Option<&'t str> {
    let schema = taker.schema;
    if schema.declared_properties().any(|(p, _)| p == key) || schema.declared_properties().next().is_none() {
        return None;
    }
    let near = suggestions::find_near_match(key, schema.declared_properties().map(|(property, _)| &**property));
    let near = match near {
        Some(near) if near.sure => near,
        _ => {
            if schema.is_closed() {
                let all: Vec<String> =
                    schema.declared_properties().map(|(property, _)| format!("`{property}`")).collect();
                found.push(finding(file, text, taker, key).with_help(format!("available: {}", all.join(", "))));
            }
            return None;
        }
    };
    let lacks = needs(schema, near.name) && !given.contains_key(near.name);
    let mut d = finding(file, text, taker, key).with_help(format!("did you mean `{}`?", near.name));
    if lacks {
        // Has the same effect as a missing one.
        d.rule = "missing-input";
        d.message = format!("`{}` needs `{}`, but gets `{key}`", taker.name, near.name);
        d.labels.clear();
        d = d.with_label(Location::new(taker.file, schema.property_at(near.name)), "required here");
    }
    if let Some(at) = text.value.find(&format!("\"{key}\"")) {
        let place = text.source_span((at + 1) as u32..(at + 1 + key.len()) as u32);
        // Only if the file spells the key as decoded.
        if (place.end - place.start) as usize == key.len() {
            d = d.with_suggestion(format!("write `{}`", near.name), file.location_of(place), near.name);
        }
    }
    found.push(d);
    if lacks { Some(near.name) } else { None }
}

fn finding(file: ManifestSource<'_>, text: &YamlText, taker: &InputReceiver<'_>, key: &str) -> Diagnostic {
    let quoted = format!("\"{key}\"");
    let at = match text.value.find(&quoted) {
        Some(at) => text.source_span(at as u32..(at + quoted.len()) as u32),
        None => text.span,
    };
    let message = format!("`{}` does not declare `{key}`", taker.name);
    let d = Diagnostic::new_warning("unknown-input", file.location_of(at), message);
    d.with_label(Location::new(taker.file, taker.schema.node.span), "its inputs")
}
