//! Values in `output_template` that `output_schema` does not accept. Only the type of a placeholder's value is known,
//! so a finding means that the value can never match.

use trefoil_ir::types;
use trefoil_syntax::yaml::{Kind, Node, Scalar, Text};
use trefoil_syntax::{Diagnostic, Span};
use trefoil_template::{Value, read_json};

use super::given::{PLACEHOLDER, probe};
use super::unit::{Found, Workflow};
use trefoil_front::aegis::names::Moment;
use trefoil_front::names::is_path;
use trefoil_front::read::to_value;

/// Compares every key with its property.
pub fn check(unit: &Workflow<'_, '_>, found: &mut Found) {
    let (Some(node), Some(schema)) = (&unit.workflow.output_template, &unit.workflow.output_schema) else { return };
    for entry in node.mapping().into_iter().flat_map(|m| &m.entries) {
        let key = &*entry.key.value;
        let Some((_, declared)) = schema.properties().find(|(p, _)| &***p == key) else { continue };
        for (at, why) in misfits(unit, declared, &entry.value, true) {
            let message = format!("`{key}` does not match `output_schema`: {why}");
            let d = Diagnostic::warning("schema-mismatch", unit.file.at(at), message);
            found.push(d.label(unit.file.at(schema.property_at(key)), "declared here"));
        }
    }
}

/// The parts of a value that do not match. `top`: the top level, where a run converts texts to the declared type.
fn misfits(unit: &Workflow<'_, '_>, schema: &Value, node: &Node, top: bool) -> Vec<(Span, String)> {
    let whole = |kind: &str| {
        let kinds = types::kinds(schema).filter(|all| !all.contains(&kind))?;
        Some(vec![(node.span, instead(&kinds, types::spoken(kind)))])
    };
    match &*node.kind {
        Kind::Mapping(mapping) => whole("object").unwrap_or_else(|| {
            let declared = schema.get("properties").and_then(Value::as_object);
            let member = |name: &str| declared.and_then(|d| d.get(name));
            let required = schema.get("required").and_then(Value::as_list).unwrap_or_default();
            let absent = required.iter().filter_map(Value::as_str).filter(|name| mapping.get(name).is_none());
            let absent = absent.map(|name| (node.span, format!("it needs `{name}`")));
            let closed = schema.get("additionalProperties").and_then(Value::as_bool) == Some(false);
            let extra = mapping.entries.iter().filter(|e| closed && member(&e.key.value).is_none());
            let extra = extra.map(|e| (e.key.span, format!("`{}` is not declared", e.key.value)));
            let inner = mapping.entries.iter().filter_map(|e| Some((member(&e.key.value)?, &e.value)));
            let inner = inner.flat_map(|(schema, node)| misfits(unit, schema, node, false));
            absent.chain(extra).chain(inner).collect()
        }),
        Kind::Sequence(items) => whole("array").unwrap_or_else(|| match schema.get("items") {
            Some(of) => items.iter().flat_map(|item| misfits(unit, of, item, false)).collect(),
            None => Vec::new(),
        }),
        Kind::Scalar(Scalar::Str, text) => {
            of_text(unit, schema, text, top).into_iter().map(|why| (node.span, why)).collect()
        }
        Kind::Scalar(..) => types::refuses(schema, &to_value(node)).into_iter().map(|why| (node.span, why)).collect(),
    }
}

/// Why a text never matches, considering what its placeholders can print.
fn of_text(unit: &Workflow<'_, '_>, schema: &Value, text: &Text, top: bool) -> Option<String> {
    let bound = unit.texts.get(Moment::End, text)?;
    let probe = probe(&text.value)?;
    let written = probe.trim();
    let kinds = types::solid_kinds(schema).filter(|all| !all.is_empty())?;
    let constant = !written.contains(PLACEHOLDER);
    if !top || kinds.contains(&"string") {
        return types::refuses(schema, &Value::Str(text.value.clone())).filter(|_| constant);
    }
    let [kind] = &*kinds else { return None };
    if constant {
        return match converted(kind, written) {
            Some(value) => types::refuses(schema, &value),
            None => Some(instead(&kinds, "this text")),
        };
    }
    // The type of a helper's result is not known here.
    let path = written == PLACEHOLDER && is_path(text.value.trim().trim_matches(['{', '}']).trim());
    if bound.as_template().is_some_and(|template| template.is_single()) {
        if !path {
            return None;
        }
        let given = types::solid_kinds(&bound.value_type()).filter(|all| !all.is_empty())?;
        // A text may contain the required value.
        let never = !given.iter().any(|given| given == kind || *given == "string");
        return never.then(|| instead(&kinds, &types::spoken_kinds(&given)));
    }
    let begins = match *kind {
        "array" => written.starts_with('['),
        "object" => written.starts_with('{'),
        _ => !written.replace(PLACEHOLDER, "").contains(char::is_alphabetic),
    };
    // A list or an object may start with a placeholder.
    let may = begins || matches!(*kind, "array" | "object") && written.starts_with(PLACEHOLDER);
    (!may).then(|| instead(&kinds, "text around a placeholder"))
}

/// The value to which a run converts a text.
fn converted(kind: &str, text: &str) -> Option<Value> {
    let value: Value = match kind {
        "boolean" if !matches!(text, "true" | "false") => return None,
        _ => read_json(text).ok()?,
    };
    Some(value)
}

fn instead(kinds: &[&str], given: &str) -> String {
    format!("it must be {}, not {given}", types::spoken_kinds(kinds))
}
