//! Paths into input fields whose defaults have nothing there: a run may give what has, so these are warnings.

use trefoil_syntax::{Diagnostic, Location, suggest};
use trefoil_template::{Policy, Reference, Segment, Template, Value};

use super::scope::{Reading, Scope};
use crate::mend;
use crate::sirenspec::manifest::{NodeKind, Over};

impl Scope<'_, '_, '_> {
    /// A path into a default.
    pub(super) fn not_by_default(&self, reference: &Reference, at: Location, default: &Value, rest: &[Segment]) {
        let Some((missing, keys)) = lacks(default, rest) else { return };
        let segment = reference.path.len() - rest.len() + missing;
        let before: Vec<&str> = reference.path.iter().take(segment).map(|s| &*s.name).collect();
        self.lacking(reference, at, segment, &format!("`{}` has no", before.join(".")), &keys);
    }

    /// A member of the items of an input.
    pub(super) fn no_item_has(&self, reference: &Reference, at: Location) {
        let Reading::Node(me) = self.who else { return };
        let Some(NodeKind::Factory(factory)) = self.flow.manifest.nodes.get(me).map(|n| &n.kind) else { return };
        let Some((Over::List(text), rest)) = factory.over.as_ref().zip(reference.path.get(1..)) else { return };
        if rest.is_empty() {
            return;
        }
        let Ok(template) = Template::parse(&text.value, &Policy::SIRENSPEC) else { return };
        let ([over], true) = (template.references(), template.is_single()) else { return };
        let [root, field] = over.path.as_slice() else { return };
        let default =
            self.flow.inputs.default(&field.name).filter(|_| &*root.name == "inputs" && over.default.is_none());
        let items = default.and_then(Value::as_list).unwrap_or_default();
        let Some(all) = items.iter().map(|item| lacks(item, rest)).collect::<Option<Vec<_>>>() else { return };
        let Some((missing, keys)) = all.into_iter().next() else { return };
        self.lacking(reference, at, missing + 1, &format!("no item of `{}` has", over.dotted()), &keys);
    }

    fn lacking(&self, reference: &Reference, at: Location, segment: usize, what: &str, keys: &[&str]) {
        let name = reference.path.get(segment).map_or("", |s| &*s.name);
        let message = format!("{what} `{name}` by its default, so a run without that input fails");
        let d = Diagnostic::warning("unknown-property", at, message);
        self.flow.reader.report(match suggest::near(name, keys.iter().copied()) {
            Some(near) => {
                let d = d.help(format!("did you mean `{}`?", near.name));
                mend::renamed(d, mend::segment(reference, at, segment), near, false)
            }
            None if keys.is_empty() => d,
            None => d.help(format!("available: `{}`", keys.join("`, `"))),
        });
    }
}

/// The first segment that a value has nothing for, and what it has there. What is empty or null stands for anything.
fn lacks<'v>(value: &'v Value, path: &[Segment]) -> Option<(usize, Vec<&'v str>)> {
    let mut value = value;
    for (at, segment) in path.iter().enumerate() {
        let inner = match value {
            Value::Object(members) if !members.is_empty() => {
                members.get(&segment.name).ok_or_else(|| members.keys().map(|k| &**k).collect())
            }
            Value::List(items) if !items.is_empty() => {
                segment.name.parse::<usize>().ok().and_then(|i| items.get(i)).ok_or_else(Vec::new)
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
