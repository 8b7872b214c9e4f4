//! Values in `output_template` that `output_schema` does not accept. Only the type of a placeholder's value is known,
//! so a finding means that the value can never match.

use trefoil_ir::types::{ObjectType, ValueKind, ValueKinds, ValueType};
use trefoil_syntax::yaml::{self, YamlNode, YamlScalar, YamlText};
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
    for entry in node.as_mapping().into_iter().flat_map(|m| &m.entries) {
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
    let whole = |kind: ValueKind| {
        let kinds = wanted.value_kinds().filter(|all| !all.contains(kind))?;
        Some(vec![(node.span, type_mismatch_text(kinds, kind.display_name()))])
    };
    match &*node.kind {
        yaml::YamlNodeKind::Mapping(mapping) => whole(ValueKind::Object).unwrap_or_else(|| {
            let declared = wanted.as_object();
            let member = |name: &str| declared.and_then(|object| object.members.get(name));
            let required = declared.and_then(|object| object.required.as_ref());
            let absent = required.into_iter().flatten().filter(|name| mapping.get(name).is_none());
            let absent = absent.map(|name| (node.span, format!("it needs `{name}`")));
            let closed = declared.is_some_and(ObjectType::is_closed);
            let extra = mapping.entries.iter().filter(|e| closed && member(&e.key.value).is_none());
            let extra = extra.map(|e| (e.key.span, format!("`{}` is not declared", e.key.value)));
            let inner = mapping.entries.iter().filter_map(|e| Some((member(&e.key.value)?, &e.value)));
            let inner = inner.flat_map(|(wanted, node)| find_mismatches(unit, wanted, node, false));
            absent.chain(extra).chain(inner).collect()
        }),
        yaml::YamlNodeKind::Sequence(items) => {
            whole(ValueKind::List).unwrap_or_else(|| match wanted.as_list().and_then(|list| list.rest.as_ref()) {
                Some(of) => items.iter().flat_map(|item| find_mismatches(unit, of, item, false)).collect(),
                None => Vec::new(),
            })
        }
        yaml::YamlNodeKind::Scalar(YamlScalar::Str, text) => {
            of_text(unit, wanted, text, top).into_iter().map(|why| (node.span, why)).collect()
        }
        yaml::YamlNodeKind::Scalar(..) => {
            wanted.explain_rejection(&to_value(node)).into_iter().map(|why| (node.span, why)).collect()
        }
    }
}

/// Why a text never matches, considering what its placeholders can print.
fn of_text(unit: &WorkflowUnit<'_, '_>, wanted: &ValueType, text: &YamlText, top: bool) -> Option<String> {
    let bound = unit.texts.get(RenderMoment::End, text)?;
    let probe = probe_text(&text.value)?;
    let written = probe.trim();
    let kinds = wanted.solid_kinds()?;
    let constant = !written.contains(PLACEHOLDER);
    if !top || kinds.contains(ValueKind::Text) {
        return wanted.explain_rejection(&Value::Str(text.value.clone())).filter(|_| constant);
    }
    let kind = kinds.iter().next().filter(|kind| kinds.is_only(*kind))?;
    if constant {
        return match converted(kind, written) {
            Some(value) => wanted.explain_rejection(&value),
            None => Some(type_mismatch_text(kinds, "this text")),
        };
    }
    // The type of a helper's result is not known here.
    let path = written == PLACEHOLDER && is_path(text.value.trim().trim_matches(['{', '}']).trim());
    if bound.as_template().is_some_and(|template| template.is_single()) {
        if !path {
            return None;
        }
        let given = bound.value_type().solid_kinds()?;
        // A text may contain the required value.
        let never = !given.contains(kind) && !given.contains(ValueKind::Text);
        return never.then(|| type_mismatch_text(kinds, &given.to_string()));
    }
    let begins = match kind {
        ValueKind::List => written.starts_with('['),
        ValueKind::Object => written.starts_with('{'),
        _ => !written.replace(PLACEHOLDER, "").contains(char::is_alphabetic),
    };
    // A list or an object may start with a placeholder.
    let may = begins || matches!(kind, ValueKind::List | ValueKind::Object) && written.starts_with(PLACEHOLDER);
    (!may).then(|| type_mismatch_text(kinds, "text around a placeholder"))
}

/// The value to which a run converts a text.
fn converted(kind: ValueKind, text: &str) -> Option<Value> {
    let value: Value = match kind {
        ValueKind::Boolean if !matches!(text, "true" | "false") => return None,
        _ => read_json(text).ok()?,
    };
    Some(value)
}

fn type_mismatch_text(kinds: ValueKinds, given: &str) -> String {
    format!("it must be {kinds}, not {given}")
}
