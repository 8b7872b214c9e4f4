//! Instances of a factory that are all the same, because nothing reads their item.

use trefoil_syntax::Diagnostic;
use trefoil_syntax::yaml::{Style, Text};

use super::subject::{Found, Subject};
use trefoil_front::names::Use;
use trefoil_front::sirenspec::manifest::{FactoryNode, Over, Worker};
use trefoil_front::sirenspec::names::stand::{Reading, Stand};
use trefoil_front::sirenspec::names::types::written_list;

/// Checks every factory with a list.
pub fn check(subject: &Subject<'_>, found: &mut Found) {
    for (at, factory) in subject.factories() {
        let Some(Over::List(list)) = &factory.over else { continue };
        let in_inputs = reads(subject, at, "item", |stand| stand == Stand::Inputs);
        if !in_inputs && bare_variable(subject, factory, found) {
            continue;
        }
        // Without inputs, the item is sent to the agent.
        let sent = match &factory.worker {
            None => true,
            Some(Worker::Agent(name)) => factory.inputs.is_empty() || subject.manifest.agent(&name.value).is_none(),
            Some(Worker::Swrm(_)) => false,
        };
        if !sent && !reads(subject, at, "item", |_| true) {
            same_for_all(subject, at, factory, list, found);
        }
    }
}

/// Whether a text of an instance reads a loop variable.
fn reads(subject: &Subject<'_>, node: usize, variable: &str, of: impl Fn(Stand) -> bool) -> bool {
    let named = |used: &Use| used.reference.path.first().is_some_and(|head| *head.name == *variable);
    let texts = subject.texts.all().iter().filter(|text| text.here.who == Reading::Node(node));
    let mut texts = texts.filter(|text| text.here.instance().is_some() && of(text.here.stand));
    texts.any(|bound| bound.text.uses.iter().any(named))
}

/// An input that is the literal name of the loop variable instead of its value.
fn bare_variable(subject: &Subject<'_>, factory: &FactoryNode<'_>, found: &mut Found) -> bool {
    let mut texts = factory.inputs.iter().filter_map(|e| e.value.string());
    let Some(text) = texts.find(|text| matches!(&*text.value, "item" | "$item")) else { return false };
    let place = subject.at(text.content());
    let message = format!("`{}` is text, so every instance gets this word", text.value);
    let d = Diagnostic::warning("not-a-placeholder", place, message);
    found.push(match text.style {
        Style::Plain => d.suggestion("write `\"{{ item }}\"`", place, "\"{{ item }}\""),
        Style::Single | Style::Double => d.suggestion("write `{{ item }}`", place, "{{ item }}"),
        _ => d.help("write `{{ item }}`"),
    });
    true
}

/// No instance reads its item. A literal list may be used only for its length, if the indexes distinguish the
/// instances.
fn same_for_all(subject: &Subject<'_>, at: usize, factory: &FactoryNode<'_>, list: &Text, found: &mut Found) {
    let Some(bound) = subject.text(at, Stand::Decides("for_each"), list) else { return };
    let Some(template) = bound.as_template() else { return };
    // If the list is made from `item`, that is the mistake; and one item is a single task.
    let confused = template.references().iter().any(|r| r.path.first().is_some_and(|s| *s.name == *"item"));
    let written = || template.literal().and_then(written_list);
    let single = || written().is_some_and(|list| list.as_list().is_some_and(|list| list.len() < 2));
    let by_index = reads(subject, at, "index", |_| true);
    if confused || by_index && template.literal().is_some() || single() {
        return;
    }
    let message = match by_index {
        true => "the items of the list have no effect: nothing reads `item`",
        false => "every instance does the same work: nothing reads `item`",
    };
    let d = Diagnostic::warning("unused", subject.at(list.span), message);
    found.push(match factory.inputs.is_empty() {
        true => d.help("write `{{ item }}` in the prompts of its agents"),
        false => d.help("pass it to them: `inputs: {task: \"{{ item }}\"}`"),
    });
}
