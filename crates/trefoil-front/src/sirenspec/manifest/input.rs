//! `input` and `state`: the initial values of a run.

use trefoil_syntax::yaml::{YamlEntry, YamlNode, YamlText};
use trefoil_syntax::{Diagnostic, Span};
use trefoil_template::{Value, ValueObject};

use super::scalar;
use super::write::StateTree;
use crate::name_facts::key_value_span;
use crate::yaml_reader::to_value;
use crate::{ManifestReader, MappingReader};

/// A declared field of the run's input.
#[derive(Debug, Clone)]
pub struct DeclaredInputField<'n> {
    /// Its name.
    pub name: &'n YamlText,
    /// The span of the whole field.
    pub span: Span,
    /// The default; `None`: the run must pass a value.
    pub default: Option<Value>,
}

/// Values that exist before any node runs.
#[derive(Debug, Clone, Default)]
pub struct SeededState<'n> {
    /// Under `working`.
    pub working: ValueObject,
    /// Under `output`.
    pub output: ValueObject,
    /// The values as written, with their trees.
    pub written: Vec<(StateTree, &'n YamlNode)>,
}

/// `input`: `message` and other fields, whose defaults define their types.
pub fn read_input<'n>(fields: &mut MappingReader<'n, '_>) -> Vec<DeclaredInputField<'n>> {
    let Some(input) = fields.read_mapping("input") else { return Vec::new() };
    let mut declared = Vec::with_capacity(input.entries().len());
    for entry in input.entries() {
        let is_null = entry.value.is_null();
        if &*entry.key.value == "message" && !is_null && entry.value.as_string().is_none() {
            input.reader.wrong_type(&entry.value, "message", "text");
        } else {
            declared_with_type(input.reader, entry);
        }
        stand_in(input.reader, entry);
        scalar::no_templates(input.reader, &entry.value, "input");
        let default = if is_null { None } else { Some(to_value(&entry.value)) };
        declared.push(DeclaredInputField { name: &entry.key, span: key_value_span(entry), default });
    }
    declared
}

/// `state`.
pub fn read_seeded_state<'n>(fields: &mut MappingReader<'n, '_>) -> SeededState<'n> {
    let Some(mut state) = fields.read_mapping("state") else { return SeededState::default() };
    let mut written = Vec::new();
    let working = tree(&mut state, StateTree::Working, &mut written);
    let output = tree(&mut state, StateTree::Output, &mut written);
    let result = SeededState { working, output, written };
    state.finish_mapping();
    result
}

fn tree<'n>(
    state: &mut MappingReader<'n, '_>,
    root: StateTree,
    written: &mut Vec<(StateTree, &'n YamlNode)>,
) -> ValueObject {
    let key = root.tree_name();
    let reader = state.reader;
    let Some(entry) = state.take(key) else { return ValueObject::default() };
    let node = &entry.value;
    written.push((root, node));
    scalar::no_templates(reader, node, "state");
    match node.as_mapping() {
        Some(mapping) => mapping.entries.iter().map(|e| (e.key.value.clone(), to_value(&e.value))).collect(),
        None => {
            reader.wrong_type(node, key, "a mapping");
            ValueObject::default()
        }
    }
}

/// Reports a default that is not a value: the name of a type, as other formats declare it, or a text that was meant to
/// be replaced.
fn stand_in(reader: &ManifestReader<'_>, entry: &YamlEntry) {
    const WORDS: [&str; 16] = [
        "string", "str", "number", "integer", "int", "float", "boolean", "bool", "array", "object", "dict", "required",
        "TODO", "TBD", "FIXME", "...",
    ];
    let Some(text) = entry.value.as_string() else { return };
    let value = text.value.trim();
    // In a field for the name of a type, such a name is a value.
    let named = ["type", "kind", "format"].iter().any(|word| entry.key.value.to_ascii_lowercase().contains(word));
    if !is_blank(value) && (!WORDS.contains(&value) || named) {
        return;
    }
    let message = format!("the default of `{}` is the text `{value}`", entry.key.value);
    let d = Diagnostic::new_warning("wrong-default", reader.location_of(entry.value.span), message);
    reader
        .report_finding(d.with_help(format!("write a default value, or `{}:` for a required field", entry.key.value)));
}

/// Whether a text is to be replaced: `<your name>`.
fn is_blank(value: &str) -> bool {
    if !value.starts_with('<') || !value.ends_with('>') {
        return false;
    }
    let inside = value.get(1..).unwrap_or_default().to_ascii_lowercase();
    inside.starts_with("your") || inside.starts_with("insert") || inside.starts_with("todo")
}

/// Reports a field that is declared with a type, as in other formats; here the mapping itself would be the default.
fn declared_with_type(reader: &ManifestReader<'_>, entry: &YamlEntry) {
    const TYPES: [&str; 13] = [
        "string", "str", "text", "number", "integer", "int", "float", "boolean", "bool", "array", "list", "object",
        "dict",
    ];
    // Other keys of a schema may also occur in a field whose value is a schema.
    const KEYS: [&str; 8] = ["type", "default", "description", "required", "enum", "title", "examples", "example"];
    let Some(mapping) = entry.value.as_mapping() else { return };
    let Some(kind) = mapping.get("type") else { return };
    let Some(kind) = kind.value.as_string() else { return };
    if !TYPES.contains(&&*kind.value) || !mapping.entries.iter().all(|e| KEYS.contains(&&*e.key.value)) {
        return;
    }
    let message = format!("the default of `{}` is this whole mapping", entry.key.value);
    let d = Diagnostic::new_warning("no-effect", reader.location_of(entry.key.span), message);
    if let Some(default) = mapping.get("default")
        && let Some((_, text)) = default.value.as_scalar()
    {
        reader.report_finding(d.with_help(format!("write only the default: `{}: {}`", entry.key.value, text.value)));
    } else {
        reader.report_finding(
            d.with_help(format!("write only the default, or `{}:` for a required field", entry.key.value)),
        );
    }
}
