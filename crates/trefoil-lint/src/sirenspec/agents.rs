//! Undefined agents, unused agents, and calls that may use more than the whole run.

use trefoil_ir::OnExceeded;
use trefoil_syntax::yaml::Text;
use trefoil_syntax::{Diagnostic, suggest};

use super::subject::{Found, Subject};
use trefoil_front::mend::respelt;
use trefoil_front::sirenspec::manifest::{AgentNode, NodeKind, Worker};
use trefoil_front::sirenspec::names::binding::unused;

/// Checks the agents, and the nodes that name them.
pub fn check(subject: &Subject<'_>, found: &mut Found) {
    for node in &subject.manifest.nodes {
        match &node.kind {
            NodeKind::Agent(node) => {
                let known = node.agent.is_some_and(|name| is_there(subject, name, found));
                if known {
                    beyond_budget(subject, node, found);
                }
            }
            NodeKind::Factory(factory) => {
                if let Some(Worker::Agent(name)) = &factory.worker {
                    is_there(subject, name, found);
                }
            }
            _ => {}
        }
    }
    for agent in unused(subject.manifest) {
        found.push(Diagnostic::warning(
            "unused",
            subject.at(agent.id.span),
            format!("agent `{}` is never used", agent.id.value),
        ));
    }
}

/// Whether an agent of this name exists; reports an unknown one.
fn is_there(subject: &Subject<'_>, name: &Text, found: &mut Found) -> bool {
    if subject.manifest.agent(&name.value).is_some() {
        return true;
    }
    let at = subject.at(name.span);
    let d = Diagnostic::error("unknown-reference", at, format!("unknown agent `{}`", name.value));
    let ids = || subject.manifest.agents.iter().map(|a| &*a.id.value);
    found.push(match suggest::near(&name.value, ids()) {
        Some(near) => respelt(d.help(format!("did you mean `{}`?", near.name)), at, name, near),
        None if subject.manifest.agents.is_empty() => d.help("declare it under `agents:`"),
        None => d.help(format!("available: {}", ids().map(|id| format!("`{id}`")).collect::<Vec<_>>().join(", "))),
    });
    false
}

/// Reports that one call may exceed the budget of the whole run.
fn beyond_budget(subject: &Subject<'_>, node: &AgentNode<'_>, found: &mut Found) {
    let budget = subject.manifest.budget.as_ref().filter(|b| b.on_exceeded != OnExceeded::Warn);
    let all = budget.and_then(|b| b.max_tokens);
    let (Some(all), Some(one), Some(at)) = (all, node.max_tokens, node.max_tokens_at) else { return };
    if u64::from(one) > all {
        let message = format!("one call may use {one} tokens, but the run's budget is {all}");
        let d = Diagnostic::warning("conflicting-limits", subject.at(at), message);
        found.push(d.help("lower it, or raise `max_tokens` of `budget`"));
    }
}
