//! What works here but not in the published original system. Off by default.
//!
//! Contains only measured facts about SirenSpec 0.1.2.

use trefoil_syntax::{Diagnostic, Location};
use trefoil_template::Reference;

use super::subject::{CheckedWorkflow, FindingList};
use trefoil_front::bound_text::BoundText;
use trefoil_front::names::BoundReference;
use trefoil_front::sirenspec::manifest::{FactoryWorker, NodeKind};
use trefoil_front::sirenspec::names::node_part::NodePart;

/// Checks the templates, the fan-outs and the budget.
pub fn check_portability(subject: &CheckedWorkflow<'_>, found: &mut FindingList) {
    for text in subject.texts.all_texts().iter().filter(|text| text.text.as_template().is_some()) {
        let listed = text.here.stand == NodePart::Decides("for_each");
        found.extend(text.text.uses.iter().filter_map(|used| placeholder(subject, &text.text, used, listed)));
    }
    for node in &subject.manifest.nodes {
        if let NodeKind::Factory(factory) = &node.kind
            && let Some(FactoryWorker::Swrm(swarm)) = &factory.worker
            && swarm.synthesis.is_none()
        {
            let message =
                "in the published original, a factory of swarms without `synthesis` fails the run with a `TypeError`";
            found.push(finding(subject.location_of(node.id.span), message, "add a `synthesis`"));
        }
    }
    if let Some(at) = subject.manifest.budget.as_ref().and_then(|budget| budget.calls_at) {
        let message = "the published original ignores `max_calls`";
        found.push(finding(at, message, "use `max_tokens`, which both support"));
    }
}

/// How the original system interprets a placeholder, if differently. `listed`: it is the list of a fan-out.
fn placeholder(
    subject: &CheckedWorkflow<'_>,
    text: &BoundText,
    used: &BoundReference,
    listed: bool,
) -> Option<Diagnostic> {
    let reference = &used.reference;
    let (tag, filter) = written(text, reference);
    let path = reference.dotted_path();
    let mut segments = reference.path.iter().map(|segment| &*segment.name);
    let (first, second) = (segments.next().unwrap_or_default(), segments.next().unwrap_or_default());
    let lost = |why: &str, help: &'static str| Some((format!("{why}, so `{path}` is undefined there"), help));
    let (message, help) = if tag.contains('\n') {
        let message = "the published original does not replace a placeholder that spans several lines";
        Some((message.to_owned(), "write it on one line"))
    } else if matches!(first, "working" | "output" | "_budget") {
        let why = format!("templates of the published original do not have `{first}`");
        lost(&why, "read the node that wrote it, as in `{{ node.output }}`")
    } else if listed && filter.contains("json_or_default") {
        let message = "in the published original, `json_or_default` has no effect in `for_each`";
        Some((message.to_owned(), "make the node before it return a JSON list"))
    } else if reference.default.as_deref() == Some("") && !filter.contains("json_or_default") {
        let message = "the published original does not support an empty default";
        Some((message.to_owned(), "write a word instead, as in `default('none')`"))
    } else if first == "inputs" && own_input(subject, second) {
        lost("the published original drops every field of `input` except `message`", "put the value into the message")
    } else if segments.any(|name| !name.is_empty() && name.bytes().all(|b| b.is_ascii_digit())) {
        lost("the published original cannot read a list item", "read the whole list")
    } else {
        None
    }?;
    Some(finding(used.at, &message, help))
}

/// The tag of a reference, and the text after its path in it.
fn written<'t>(text: &'t BoundText, reference: &Reference) -> (&'t str, &'t str) {
    let value = &*text.source.value;
    let (start, end) = (reference.span.start as usize, reference.span.end as usize);
    let open = value.get(..start).and_then(|before| before.rfind("{{")).unwrap_or(start);
    let close = value.get(end..).and_then(|after| after.find("}}")).map_or(end, |at| end + at);
    (value.get(open..close).unwrap_or_default(), value.get(end..close).unwrap_or_default())
}

/// Whether a template can mean a field of this file's `input`, which no node passes on under the same name.
fn own_input(subject: &CheckedWorkflow<'_>, name: &str) -> bool {
    let passed = subject.manifest.nodes.iter().any(|node| {
        let inputs = match &node.kind {
            NodeKind::Factory(factory) => &factory.inputs,
            NodeKind::Call(call) => &call.inputs,
            _ => return false,
        };
        inputs.iter().any(|entry| &*entry.key.value == name)
    });
    name != "message" && !passed && subject.manifest.input.iter().any(|field| &*field.name.value == name)
}

fn finding(at: Location, message: &str, help: &str) -> Diagnostic {
    Diagnostic::new_warning("portability", at, message).with_help(help)
}
