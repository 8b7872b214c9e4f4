//! Values in `output_template` that `output_schema` does not accept. Only the type of a placeholder's value is known,
//! so a finding means that the value can never match.

use trefoil_ir::types::{ValueKind, ValueKinds, ValueType};
use trefoil_syntax::yaml::{YamlNode, YamlNodeKind, YamlScalar, YamlText};
use trefoil_syntax::{Diagnostic, Span};
use trefoil_template::{Value, read_json};

use super::given::{PLACEHOLDER, probe_text};
use super::unit::{FindingList, WorkflowUnit};
use trefoil_front::aegis::names::RenderMoment;
use trefoil_front::names::is_path;
use trefoil_front::yaml_reader::to_value;

/// Compares every key with its property.
pub fn check_output_types(unit: &WorkflowUnit<'_, '_>, found: &mut FindingList) {
    let (Some(node), Some(schema)) = (&unit.workflow.output_template, &unit.workflow.output_schema) else { return };
    let Some(mapping) = node.as_mapping() else { return };
    for entry in &mapping.entries {
        let key = &*entry.key.value;
        let Some((_, declared)) = schema.of.object_members().find(|(p, _)| &***p == key) else { continue };
        for (at, why) in find_mismatches(unit, declared, &entry.value, true) {
            let message = format!("`{key}` does not match `output_schema`: {why}");
            let d = Diagnostic::new_warning("schema-mismatch", unit.file.location_of(at), message);
            found.push(d.with_label(unit.file.location_of(schema.property_at(key)), "declared here"));
        }
    }
}

/// The parts of a value that do not match. `top`: the top level, where a run converts texts to the declared type.
fn find_mismatches(unit: &WorkflowUnit<'_, '_>, wanted: &ValueType, node: &YamlNode, top: bool) -> Vec<(Span, String)> {
    let kind = match &*node.kind {
        YamlNodeKind::Mapping(_) => ValueKind::Object,
        YamlNodeKind::Sequence(_) => ValueKind::List,
        YamlNodeKind::Scalar(scalar, text) => {
            let why = match scalar {
                YamlScalar::Str => of_text(unit, wanted, text, top),
                _ => wanted.explain_rejection(&to_value(node)),
            };
            return why.into_iter().map(|why| (node.span, why)).collect();
        }
    };
    if let Some(kinds) = wanted.value_kinds()
        && !kinds.contains(kind)
    {
        return vec![(node.span, type_mismatch_text(kinds, kind.display_name()))];
    }
    let mut found = Vec::new();
    match &*node.kind {
        YamlNodeKind::Mapping(mapping) => {
            let Some(declared) = wanted.as_object() else { return found };
            for name in declared.required.iter().flatten() {
                if mapping.get(name).is_none() {
                    found.push((node.span, format!("it needs `{name}`")));
                }
            }
            for entry in &mapping.entries {
                if declared.is_closed() && !declared.members.contains_key(&*entry.key.value) {
                    found.push((entry.key.span, format!("`{}` is not declared", entry.key.value)));
                }
            }
            for entry in &mapping.entries {
                if let Some(member) = declared.members.get(&*entry.key.value) {
                    found.extend(find_mismatches(unit, member, &entry.value, false));
                }
            }
        }
        YamlNodeKind::Sequence(items) => {
            if let Some(list) = wanted.as_list()
                && let Some(of) = &list.rest
            {
                for item in items {
                    found.extend(find_mismatches(unit, of, item, false));
                }
            }
        }
        YamlNodeKind::Scalar(..) => {}
    }
    found
}

/// Why a text never matches, considering what its placeholders can print.
fn of_text(unit: &WorkflowUnit<'_, '_>, wanted: &ValueType, text: &YamlText, top: bool) -> Option<String> {
    let bound = unit.texts.get(RenderMoment::End, text)?;
    let probe = probe_text(&text.value)?;
    let written = probe.trim();
    let kinds = wanted.solid_kinds()?;
    let constant = !written.contains(PLACEHOLDER);
    if !top || kinds.contains(ValueKind::Text) {
        return if constant { wanted.explain_rejection(&Value::Str(text.value.clone())) } else { None };
    }
    let kind = kinds.iter().next()?;
    if !kinds.is_only(kind) {
        return None;
    }
    if constant {
        return match converted(kind, written) {
            Some(value) => wanted.explain_rejection(&value),
            None => Some(type_mismatch_text(kinds, "this text")),
        };
    }
    // The type of a helper's result is not known here.
    let path = written == PLACEHOLDER && is_path(text.value.trim().trim_matches(['{', '}']).trim());
    if matches!(bound.as_template(), Some(template) if template.is_single()) {
        if !path {
            return None;
        }
        let given = bound.value_type().solid_kinds()?;
        // A text may contain the required value.
        if given.contains(kind) || given.contains(ValueKind::Text) {
            return None;
        }
        return Some(type_mismatch_text(kinds, &given.to_string()));
    }
    let begins = match kind {
        ValueKind::List => written.starts_with('['),
        ValueKind::Object => written.starts_with('{'),
        _ => !written.replace(PLACEHOLDER, "").contains(char::is_alphabetic),
    };
    // A list or an object may start with a placeholder.
    if begins || matches!(kind, ValueKind::List | ValueKind::Object) && written.starts_with(PLACEHOLDER) {
        return None;
    }
    Some(type_mismatch_text(kinds, "text around a placeholder"))
}

/// The value to which a run converts a text.
fn converted(kind: ValueKind, text: &str) -> Option<Value> {
    match kind {
        ValueKind::Boolean if !matches!(text, "true" | "false") => None,
        _ => read_json(text).ok(),
    }
}

fn type_mismatch_text(kinds: ValueKinds, given: &str) -> String {
    format!("it must be {kinds}, not {given}")
}
