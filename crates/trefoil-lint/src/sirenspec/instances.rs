//! Instances of a factory that are all the same, because nothing reads their item.

use trefoil_syntax::Diagnostic;
use trefoil_syntax::yaml::{YamlStyle, YamlText};

use super::subject::{CheckedWorkflow, FindingList};
use trefoil_front::names::BoundReference;
use trefoil_front::sirenspec::manifest::{FactoryItems, FactoryNode, FactoryWorker};
use trefoil_front::sirenspec::names::node_part::{NodePart, ReadingPoint};
use trefoil_front::sirenspec::names::types::written_list;

/// Checks every factory with a list.
pub fn check_instances(subject: &CheckedWorkflow<'_>, found: &mut FindingList) {
    for (at, factory) in subject.factory_nodes() {
        let Some(FactoryItems::List(list)) = &factory.over else { continue };
        let in_inputs = reads(subject, at, "item", |stand| stand == NodePart::Inputs);
        if !in_inputs && bare_variable(subject, factory, found) {
            continue;
        }
        // Without inputs, the item is sent to the agent.
        let sent = match &factory.worker {
            None => true,
            Some(FactoryWorker::Agent(name)) => {
                factory.inputs.is_empty() || subject.manifest.find_agent(&name.value).is_none()
            }
            Some(FactoryWorker::Swrm(_)) => false,
        };
        if !sent && !reads(subject, at, "item", |_| true) {
            same_for_all(subject, at, factory, list, found);
        }
    }
}

/// Whether a text of an instance reads a loop variable.
fn reads(subject: &CheckedWorkflow<'_>, node: usize, variable: &str, of: impl Fn(NodePart) -> bool) -> bool {
    let named = |used: &BoundReference| used.reference.path.first().is_some_and(|head| *head.name == *variable);
    let texts = subject.texts.all_texts().iter().filter(|text| text.here.who == ReadingPoint::Node(node));
    let mut texts = texts.filter(|text| text.here.factory_instance().is_some() && of(text.here.stand));
    texts.any(|bound| bound.text.uses.iter().any(named))
}

/// An input that is the literal name of the loop variable instead of its value.
fn bare_variable(subject: &CheckedWorkflow<'_>, factory: &FactoryNode<'_>, found: &mut FindingList) -> bool {
    let mut texts = factory.inputs.iter().filter_map(|e| e.value.as_string());
    let Some(text) = texts.find(|text| matches!(&*text.value, "item" | "$item")) else { return false };
    let place = subject.location_of(text.content_span());
    let message = format!("`{}` is text, so every instance gets this word", text.value);
    let d = Diagnostic::new_warning("not-a-placeholder", place, message);
    found.push(match text.style {
        YamlStyle::Plain => d.with_suggestion("write `\"{{ item }}\"`", place, "\"{{ item }}\""),
        YamlStyle::Single | YamlStyle::Double => d.with_suggestion("write `{{ item }}`", place, "{{ item }}"),
        _ => d.with_help("write `{{ item }}`"),
    });
    true
}

/// No instance reads its item. A literal list may be used only for its length, if the indexes distinguish the
/// instances.
fn same_for_all(
    subject: &CheckedWorkflow<'_>,
    at: usize,
    factory: &FactoryNode<'_>,
    list: &YamlText,
    found: &mut FindingList,
) {
    let Some(bound) = subject.node_text(at, NodePart::Decides("for_each"), list) else { return };
    let Some(template) = bound.as_template() else { return };
    // If the list is made from `item`, that is the mistake; and one item is a single task.
    let confused = template.references().iter().any(|r| r.path.first().is_some_and(|s| *s.name == *"item"));
    let written = || template.literal_text().and_then(written_list);
    let single = || written().is_some_and(|list| list.as_list().is_some_and(|list| list.len() < 2));
    let by_index = reads(subject, at, "index", |_| true);
    if confused || by_index && template.literal_text().is_some() || single() {
        return;
    }
    let message = match by_index {
        true => "the items of the list have no effect: nothing reads `item`",
        false => "every instance does the same work: nothing reads `item`",
    };
    let d = Diagnostic::new_warning("unused", subject.location_of(list.span), message);
    found.push(match factory.inputs.is_empty() {
        true => d.with_help("write `{{ item }}` in the prompts of its agents"),
        false => d.with_help("pass it to them: `inputs: {task: \"{{ item }}\"}`"),
    });
}
