//! Paths into input fields whose defaults lack them. A run may pass a value that has them, so these are warnings.

use std::sync::Arc;

use trefoil_syntax::{Diagnostic, suggest};
use trefoil_template::Value;

use super::name::Name;
use crate::sirenspec::subject::Found;
use trefoil_front::mend;
use trefoil_front::sirenspec::manifest::{NodeKind, Over};
use trefoil_front::sirenspec::names::known::words;
use trefoil_front::sirenspec::names::stand::{Reading, Stand};

/// A path into a default of the input.
pub fn in_default(name: Name<'_, '_>, field: &str, found: &mut Found) {
    let hidden = name.here().own_inputs().iter().any(|(own, _)| **own == *field);
    if hidden || name.reference().default.is_some() {
        return;
    }
    let path = words(&name.reference().path);
    let default = name.known().inputs.field(field).and_then(|field| field.default());
    let Some((missing, keys)) = default.and_then(|default| lacks(default, path.get(2..)?)) else { return };
    let segment = missing + 2;
    let before = path.get(..segment).unwrap_or_default().join(".");
    lacking(name, segment, &format!("`{before}` has no"), &keys, found);
}

/// A member of the items of an input.
pub fn in_items(name: Name<'_, '_>, found: &mut Found) {
    let path = words(&name.reference().path);
    let (Reading::Node(me), None, Some(rest)) = (name.here().who, &name.reference().default, path.get(1..)) else {
        return;
    };
    if path.first().is_none_or(|head| **head != *"item") || rest.is_empty() {
        return;
    }
    let Some(NodeKind::Factory(factory)) = name.kind(me) else { return };
    let Some(Over::List(text)) = &factory.over else { return };
    let over = name.subject.text(me, Stand::Decides("for_each"), text).and_then(|bound| bound.as_template());
    let Some(template) = over.filter(|template| template.is_single()) else { return };
    let [over] = template.references() else { return };
    let [root, field] = over.path.as_slice() else { return };
    if *root.name != *"inputs" || over.default.is_some() {
        return;
    }
    let default = name.known().inputs.field(&field.name).and_then(|field| field.default());
    let items = default.and_then(Value::as_list).unwrap_or_default();
    let Some(all) = items.iter().map(|item| lacks(item, rest)).collect::<Option<Vec<_>>>() else { return };
    let Some((missing, keys)) = all.into_iter().next() else { return };
    lacking(name, missing + 1, &format!("no item of `{}` has", over.dotted()), &keys, found);
}

fn lacking(name: Name<'_, '_>, segment: usize, what: &str, keys: &[&str], found: &mut Found) {
    let word = name.reference().path.get(segment).map_or("", |s| &*s.name);
    let message = format!("{what} `{word}` by its default, so a run without that input fails");
    let d = Diagnostic::warning("unresolved-name", name.at(), message);
    let d = d.of_property();
    found.push(match suggest::near(word, keys.iter().copied()) {
        Some(near) => {
            let d = d.help(format!("did you mean `{}`?", near.name));
            mend::renamed(d, name.used.segment(segment), near, false)
        }
        None if keys.is_empty() => d,
        None => d.help(format!("available: `{}`", keys.join("`, `"))),
    });
}

/// The first segment that a value lacks, and the members that it has. An empty or null value matches anything.
fn lacks<'v>(value: &'v Value, path: &[Arc<str>]) -> Option<(usize, Vec<&'v str>)> {
    let mut value = value;
    for (at, segment) in path.iter().enumerate() {
        let inner = match value {
            Value::Object(members) if !members.is_empty() => {
                members.get(segment).ok_or_else(|| members.keys().map(|k| &**k).collect())
            }
            Value::List(items) if !items.is_empty() => {
                segment.parse::<usize>().ok().and_then(|i| items.get(i)).ok_or_else(Vec::new)
            }
            Value::Object(_) | Value::List(_) | Value::Null => return None,
            _ => Err(Vec::new()),
        };
        match inner {
            Ok(inner) => value = inner,
            Err(keys) => return Some((at, keys)),
        }
    }
    None
}
