//! Values in `output_template` that `output_schema` does not accept. Only the type of a placeholder's value is known,
//! so a finding means that the value can never match.

use trefoil_ir::types::{Kind, Kinds, ObjectType, Type};
use trefoil_syntax::yaml::{self, Node, Scalar, Text};
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
        let Some((_, declared)) = schema.of.members().find(|(p, _)| &***p == key) else { continue };
        for (at, why) in misfits(unit, declared, &entry.value, true) {
            let message = format!("`{key}` does not match `output_schema`: {why}");
            let d = Diagnostic::warning("schema-mismatch", unit.file.at(at), message);
            found.push(d.label(unit.file.at(schema.property_at(key)), "declared here"));
        }
    }
}

/// The parts of a value that do not match. `top`: the top level, where a run converts texts to the declared type.
fn misfits(unit: &Workflow<'_, '_>, wanted: &Type, node: &Node, top: bool) -> Vec<(Span, String)> {
    let whole = |kind: Kind| {
        let kinds = wanted.kinds().filter(|all| !all.has(kind))?;
        Some(vec![(node.span, instead(kinds, kind.spoken()))])
    };
    match &*node.kind {
        yaml::Kind::Mapping(mapping) => whole(Kind::Object).unwrap_or_else(|| {
            let declared = wanted.as_object();
            let member = |name: &str| declared.and_then(|object| object.members.get(name));
            let required = declared.and_then(|object| object.required.as_ref());
            let absent = required.into_iter().flatten().filter(|name| mapping.get(name).is_none());
            let absent = absent.map(|name| (node.span, format!("it needs `{name}`")));
            let closed = declared.is_some_and(ObjectType::is_closed);
            let extra = mapping.entries.iter().filter(|e| closed && member(&e.key.value).is_none());
            let extra = extra.map(|e| (e.key.span, format!("`{}` is not declared", e.key.value)));
            let inner = mapping.entries.iter().filter_map(|e| Some((member(&e.key.value)?, &e.value)));
            let inner = inner.flat_map(|(wanted, node)| misfits(unit, wanted, node, false));
            absent.chain(extra).chain(inner).collect()
        }),
        yaml::Kind::Sequence(items) => {
            whole(Kind::List).unwrap_or_else(|| match wanted.as_list().and_then(|list| list.rest.as_ref()) {
                Some(of) => items.iter().flat_map(|item| misfits(unit, of, item, false)).collect(),
                None => Vec::new(),
            })
        }
        yaml::Kind::Scalar(Scalar::Str, text) => {
            of_text(unit, wanted, text, top).into_iter().map(|why| (node.span, why)).collect()
        }
        yaml::Kind::Scalar(..) => wanted.refuses(&to_value(node)).into_iter().map(|why| (node.span, why)).collect(),
    }
}

/// Why a text never matches, considering what its placeholders can print.
fn of_text(unit: &Workflow<'_, '_>, wanted: &Type, text: &Text, top: bool) -> Option<String> {
    let bound = unit.texts.get(Moment::End, text)?;
    let probe = probe(&text.value)?;
    let written = probe.trim();
    let kinds = wanted.solid_kinds()?;
    let constant = !written.contains(PLACEHOLDER);
    if !top || kinds.has(Kind::Text) {
        return wanted.refuses(&Value::Str(text.value.clone())).filter(|_| constant);
    }
    let kind = kinds.iter().next().filter(|kind| kinds.is(*kind))?;
    if constant {
        return match converted(kind, written) {
            Some(value) => wanted.refuses(&value),
            None => Some(instead(kinds, "this text")),
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
        let never = !given.has(kind) && !given.has(Kind::Text);
        return never.then(|| instead(kinds, &given.to_string()));
    }
    let begins = match kind {
        Kind::List => written.starts_with('['),
        Kind::Object => written.starts_with('{'),
        _ => !written.replace(PLACEHOLDER, "").contains(char::is_alphabetic),
    };
    // A list or an object may start with a placeholder.
    let may = begins || matches!(kind, Kind::List | Kind::Object) && written.starts_with(PLACEHOLDER);
    (!may).then(|| instead(kinds, "text around a placeholder"))
}

/// The value to which a run converts a text.
fn converted(kind: Kind, text: &str) -> Option<Value> {
    let value: Value = match kind {
        Kind::Boolean if !matches!(text, "true" | "false") => return None,
        _ => read_json(text).ok()?,
    };
    Some(value)
}

fn instead(kinds: Kinds, given: &str) -> String {
    format!("it must be {kinds}, not {given}")
}
