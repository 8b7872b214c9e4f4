//! Inputs that a sub-workflow needs but does not get, and those it gets but does not read.

use std::sync::Arc;

use trefoil_syntax::yaml::{YamlEntry, YamlText};
use trefoil_syntax::{Diagnostic, FindingSeverity, suggestions};

use super::subject::{CheckedWorkflow, FindingList};
use trefoil_front::sirenspec::manifest::{CallNode, NodeKind};
use trefoil_front::sirenspec::names::callee::SirenCallee;
use trefoil_front::spelling_fixes::fix_spelling;

/// Checks every workflow node whose file exists.
pub fn check_calls(subject: &CheckedWorkflow<'_>, found: &mut FindingList) {
    for (node, child) in subject.manifest.nodes.iter().zip(subject.children) {
        if let (NodeKind::Call(call), Some(child)) = (&node.kind, child) {
            one(subject, call, child, found);
        }
    }
}

/// Inputs that the sub-workflow needs, and those that it does not read.
fn one(subject: &CheckedWorkflow<'_>, node: &CallNode<'_>, child: &SirenCallee, found: &mut FindingList) {
    let Some(reference) = node.reference else { return };
    let given = |name: &Arc<str>| node.inputs.iter().any(|e| e.key.value == *name);
    // A required field that is passed under a similar name.
    let mut meant: Vec<&str> = Vec::new();
    for entry in &node.inputs {
        if !child.wanted.known.contains(&entry.key.value) {
            let mut open: Vec<&str> = Vec::new();
            for name in &child.wanted.known {
                if !given(name) && !child.wanted.lacking.contains(name) {
                    open.push(name);
                }
            }
            if let Some(near) = suggestions::find_near_match(&entry.key.value, open) {
                meant.push(near.name);
                found.push(slip(subject, entry, reference, child, near));
                continue;
            }
            found.push(
                Diagnostic::new_warning(
                    "unknown-input",
                    subject.location_of(entry.key.span),
                    format!("`{}` has no effect: `{}` does not read it", entry.key.value, reference.value),
                )
                .with_help(format!("write `{{{{ inputs.{} }}}}` where it should be read", entry.key.value)),
            );
        }
    }
    // A field passed under another name is the mistake, and was reported.
    let told = node.inputs.iter().any(|e| !child.wanted.known.contains(&e.key.value));
    for name in &child.wanted.lacking {
        if told {
            break;
        }
        let message =
            format!("`{}` reads `inputs.{name}`, which is neither passed here nor declared there", reference.value);
        let d = Diagnostic::new_error("missing-input", subject.location_of(reference.span), message);
        found.push(d.with_help(format!("pass it: `inputs: {{{name}: ...}}`")));
    }
    for name in &child.wanted.needed {
        if &**name == "message" || given(name) || meant.contains(&&**name) {
            continue;
        }
        let message = format!("`{}` needs the input `{name}`", reference.value);
        let mut d = Diagnostic::new_error("missing-input", subject.location_of(reference.span), message);
        if let Some((_, declared)) = child.wanted.places.iter().find(|(known, _)| known == name) {
            d = d.with_label(*declared, "declared here");
        }
        found.push(d.with_help(format!("pass it: `inputs: {{{name}: ...}}`")));
    }
}

/// An input with a name similar to that of a field: an error if the field is required.
fn slip(
    subject: &CheckedWorkflow<'_>,
    entry: &YamlEntry,
    reference: &YamlText,
    child: &SirenCallee,
    near: suggestions::NearMatch<'_>,
) -> Diagnostic {
    let needed = child.wanted.needed.iter().any(|n| &**n == near.name);
    let (severity, why) = match needed {
        true => (FindingSeverity::Error, format!(", but needs `{}`", near.name)),
        false => (FindingSeverity::Warning, String::new()),
    };
    let (name, at) = (&entry.key.value, subject.location_of(entry.key.span));
    let message = format!("`{}` has no input `{name}`{why}", reference.value);
    let mut d =
        Diagnostic::new("unknown-input", severity, at, message).with_help(format!("did you mean `{}`?", near.name));
    if let Some((_, declared)) = child.wanted.places.iter().find(|(n, _)| **n == *near.name) {
        d = d.with_label(*declared, "declared here");
    }
    fix_spelling(d, at, &entry.key, near)
}
