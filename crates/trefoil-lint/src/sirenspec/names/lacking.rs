//! Paths into input fields whose defaults lack them. A run may pass a value that has them, so these are warnings.

use std::sync::Arc;

use trefoil_syntax::{Diagnostic, suggestions};
use trefoil_template::Value;

use super::name::NameReference;
use crate::sirenspec::subject::FindingList;
use trefoil_front::sirenspec::manifest::{FactoryItems, NodeKind};
use trefoil_front::sirenspec::names::node_part::{NodePart, ReadingPoint};
use trefoil_front::sirenspec::names::workflow_names::segment_names;
use trefoil_front::spelling_fixes;

/// A path into a default of the input.
pub fn in_default(name: NameReference<'_, '_>, field: &str, found: &mut FindingList) {
    let hidden = name.text_position().own_inputs().iter().any(|(own, _)| **own == *field);
    if hidden || name.reference().default.is_some() {
        return;
    }
    let path = segment_names(&name.reference().path);
    let Some(default) = default_of(name, field) else { return };
    let Some((missing, keys)) = lacks(default, path.get(2..).unwrap_or_default()) else { return };
    let segment = missing + 2;
    let before = path.get(..segment).unwrap_or_default().join(".");
    report_missing_member(name, segment, &format!("`{before}` has no"), &keys, found);
}

/// The default of an input field.
fn default_of<'a>(name: NameReference<'a, '_>, field: &str) -> Option<&'a Value> {
    name.workflow_names().inputs.find_field(field)?.default_value()
}

/// A member of the items of an input.
pub fn in_items(name: NameReference<'_, '_>, found: &mut FindingList) {
    let path = segment_names(&name.reference().path);
    let (ReadingPoint::Node(me), None, Some(rest)) =
        (name.text_position().who, &name.reference().default, path.get(1..))
    else {
        return;
    };
    if name.first_word() != "item" || rest.is_empty() {
        return;
    }
    let Some(NodeKind::Factory(factory)) = name.node_kind(me) else { return };
    let Some(FactoryItems::List(text)) = &factory.over else { return };
    let Some(bound) = name.subject.node_text(me, NodePart::Decides("for_each"), text) else { return };
    let Some(template) = bound.as_template() else { return };
    let ([over], true) = (template.references(), template.is_single()) else { return };
    let [root, field] = over.path.as_slice() else { return };
    if *root.name != *"inputs" || over.default.is_some() {
        return;
    }
    let Some(Value::List(items)) = default_of(name, &field.name) else { return };
    if items.iter().any(|item| lacks(item, rest).is_none()) {
        return;
    }
    let Some((missing, keys)) = items.first().and_then(|item| lacks(item, rest)) else { return };
    report_missing_member(name, missing + 1, &format!("no item of `{}` has", over.dotted_path()), &keys, found);
}

fn report_missing_member(
    name: NameReference<'_, '_>,
    segment: usize,
    what: &str,
    keys: &[&str],
    found: &mut FindingList,
) {
    let Some(word) = name.reference().path.get(segment) else { return };
    let word = &*word.name;
    let message = format!("{what} `{word}` by its default, so a run without that input fails");
    let d = Diagnostic::new_warning("unresolved-name", name.source_location(), message);
    let d = d.of_property();
    found.push(match suggestions::find_near_match(word, keys.iter().copied()) {
        Some(near) => {
            let d = d.with_help(format!("did you mean `{}`?", near.name));
            spelling_fixes::fix_name(d, name.used.segment_location(segment), near, false)
        }
        None if keys.is_empty() => d,
        None => d.with_help(format!("available: `{}`", keys.join("`, `"))),
    });
}

/// The first segment that a value lacks, and the members that it has. An empty or null value matches anything.
fn lacks<'v>(value: &'v Value, path: &[Arc<str>]) -> Option<(usize, Vec<&'v str>)> {
    let mut value = value;
    for (at, segment) in path.iter().enumerate() {
        let inner = match value {
            Value::Object(members) if !members.is_empty() => members.get(segment),
            Value::List(items) if !items.is_empty() => match segment.parse::<usize>() {
                Ok(index) => items.get(index),
                Err(_) => None,
            },
            Value::Object(_) | Value::List(_) | Value::Null => return None,
            _ => None,
        };
        match (inner, value) {
            (Some(inner), _) => value = inner,
            (None, Value::Object(members)) => return Some((at, members.keys().map(|key| &**key).collect())),
            (None, _) => return Some((at, Vec::new())),
        }
    }
    None
}
