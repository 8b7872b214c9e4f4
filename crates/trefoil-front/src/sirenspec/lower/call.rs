//! Workflow nodes: another file's flow, called with the message and the node's inputs.

use std::sync::Arc;

use trefoil_ir::{Call, Callee, Expr, Source, StepKind};
use trefoil_syntax::yaml::{Entry, Text};
use trefoil_syntax::{Diagnostic, Severity, suggest};
use trefoil_template::{Object, Value};

use super::Child;
use super::flow::Workflow;
use super::node::Lowered;
use super::scope::{Reading, Scope};
use crate::read::respelt;
use crate::sirenspec::manifest::CallNode;

/// Lowers a workflow node: `{output}`, the sub-workflow's output tree.
pub fn lower(flow: &Workflow<'_, '_>, at: usize, node: &CallNode<'_>, child: Option<&Child>) -> Option<Lowered> {
    let scope = Scope::new(flow, Reading::Node(at));
    let given: Vec<(Arc<str>, Expr)> =
        node.inputs.iter().map(|e| (e.key.value.clone(), flow.input(&scope, &e.value))).collect();
    let child = child?;
    check(flow, node, child);
    let mut layers = Vec::new();
    let overridden = node.inputs.iter().any(|e| &*e.key.value == "message");
    if child.wanted.known.iter().any(|n| &**n == "message") && !overridden {
        let source = Source::Member(flow.inputs.slot, vec!["message".into()]);
        let message = Expr::Object(vec![("message".into(), Expr::Read(source.clone()))]);
        if child.wanted.needed.iter().any(|n| &**n == "message") {
            flow.inputs.read_message(flow.reader.at(node.reference?.span));
            layers.push(message);
        } else {
            // The sub-workflow has a message of its own for when there is none.
            let nothing = Expr::Const(Value::Object(Arc::new(Object::default())));
            layers.push(Expr::If { source, then: Box::new(message), otherwise: Box::new(nothing) });
        }
    }
    layers.push(Expr::Object(given));
    let input = match layers.len() {
        1 => layers.pop(),
        _ => Some(Expr::Merge(layers)),
    };
    let exports = flow.names.nodes.get(at).and_then(|n| n.exports);
    let mut lowered = Lowered::new(StepKind::Call(Box::new(Call { callee: Callee::Flow(child.flow), input, exports })));
    lowered.shape = Some(Expr::Object(vec![("output".into(), Expr::Read(Source::Result))]));
    Some(lowered)
}

/// What the sub-workflow needs, and what it does not read.
fn check(flow: &Workflow<'_, '_>, node: &CallNode<'_>, child: &Child) {
    let Some(reference) = node.reference else { return };
    let given = |name: &Arc<str>| node.inputs.iter().any(|e| e.key.value == *name);
    // A field that has to be given and stands here under a name that is nearly its own.
    let mut meant: Vec<&str> = Vec::new();
    for entry in &node.inputs {
        if !child.wanted.known.contains(&entry.key.value) {
            let open = child.wanted.known.iter().filter(|n| !given(n) && !child.wanted.lacking.contains(n));
            if let Some(near) = suggest::near(&entry.key.value, open.map(|n| &**n)) {
                meant.push(near.name);
                flow.reader.report(slip(flow, entry, reference, child, near));
                continue;
            }
            flow.reader.report(
                Diagnostic::warning(
                    "no-effect",
                    flow.reader.at(entry.key.span),
                    format!("`{}` has no effect: `{}` does not read it", entry.key.value, reference.value),
                )
                .help(format!("it is read there as `{{{{ inputs.{} }}}}`", entry.key.value)),
            );
        }
    }
    // A field under another name is the slip, and was told.
    let told = node.inputs.iter().any(|e| !child.wanted.known.contains(&e.key.value));
    for name in child.wanted.lacking.iter().filter(|_| !told) {
        let message =
            format!("`{}` reads `inputs.{name}`, which is neither given here nor declared there", reference.value);
        let d = Diagnostic::error("missing-key", flow.reader.at(reference.span), message);
        flow.reader.report(d.help(format!("give it: `inputs: {{{name}: ...}}`")));
    }
    for name in child.wanted.needed.iter().filter(|n| &***n != "message") {
        if !given(name) && !meant.contains(&&**name) {
            let message = format!("`{}` needs the input `{name}`", reference.value);
            let d = Diagnostic::error("missing-key", flow.reader.at(reference.span), message);
            let declared = child.wanted.places.iter().find(|(n, _)| n == name).map(|(_, at)| *at);
            let d = declared.into_iter().fold(d, |d, at| d.label(at, "declared here"));
            flow.reader.report(d.help(format!("give it: `inputs: {{{name}: ...}}`")));
        }
    }
}

/// An input under a name that is nearly that of a field: an error where the field has to be given.
fn slip(
    flow: &Workflow<'_, '_>,
    entry: &Entry,
    reference: &Text,
    child: &Child,
    near: suggest::Near<'_>,
) -> Diagnostic {
    let needed = child.wanted.needed.iter().any(|n| &**n == near.name);
    let (severity, why) = match needed {
        true => (Severity::Error, format!(", and needs `{}`", near.name)),
        false => (Severity::Warning, String::new()),
    };
    let (name, at) = (&entry.key.value, flow.reader.at(entry.key.span));
    let message = format!("`{}` has no input `{name}`{why}", reference.value);
    let mut d = Diagnostic::new("unknown-input", severity, at, message).help(format!("did you mean `{}`?", near.name));
    if let Some((_, declared)) = child.wanted.places.iter().find(|(n, _)| **n == *near.name) {
        d = d.label(*declared, "declared here");
    }
    respelt(d, at, &entry.key, near)
}
