//! Undefined agents, unused agents, and calls that may use more than the whole run.

use trefoil_ir::OnExceeded;
use trefoil_syntax::yaml::YamlText;
use trefoil_syntax::{Diagnostic, suggestions};

use super::subject::{CheckedWorkflow, FindingList};
use trefoil_front::sirenspec::manifest::{AgentNode, FactoryWorker, NodeKind};
use trefoil_front::sirenspec::names::binding::unused_agents;
use trefoil_front::spelling_fixes::fix_spelling;

/// Checks the agents, and the nodes that name them.
pub fn check_agents(subject: &CheckedWorkflow<'_>, found: &mut FindingList) {
    for node in &subject.manifest.nodes {
        match &node.kind {
            NodeKind::Agent(node) => {
                if let Some(name) = node.agent
                    && is_there(subject, name, found)
                {
                    beyond_budget(subject, node, found);
                }
            }
            NodeKind::Factory(factory) => {
                if let Some(FactoryWorker::Agent(name)) = &factory.worker {
                    is_there(subject, name, found);
                }
            }
            _ => {}
        }
    }
    for agent in unused_agents(subject.manifest) {
        found.push(Diagnostic::new_warning(
            "unused",
            subject.location_of(agent.id.span),
            format!("agent `{}` is never used", agent.id.value),
        ));
    }
}

/// Whether an agent of this name exists; reports an unknown one.
fn is_there(subject: &CheckedWorkflow<'_>, name: &YamlText, found: &mut FindingList) -> bool {
    if subject.manifest.find_agent(&name.value).is_some() {
        return true;
    }
    let at = subject.location_of(name.span);
    let d = Diagnostic::new_error("unknown-reference", at, format!("unknown agent `{}`", name.value));
    let ids = || subject.manifest.agents.iter().map(|a| &*a.id.value);
    found.push(match suggestions::find_near_match(&name.value, ids()) {
        Some(near) => fix_spelling(d.with_help(format!("did you mean `{}`?", near.name)), at, name, near),
        None if subject.manifest.agents.is_empty() => d.with_help("declare it under `agents:`"),
        None => d.with_help(format!("available: {}", ids().map(|id| format!("`{id}`")).collect::<Vec<_>>().join(", "))),
    });
    false
}

/// Reports that one call may exceed the budget of the whole run.
fn beyond_budget(subject: &CheckedWorkflow<'_>, node: &AgentNode<'_>, found: &mut FindingList) {
    let budget = subject.manifest.budget.as_ref().filter(|b| b.on_exceeded != OnExceeded::Warn);
    let all = budget.and_then(|b| b.max_tokens);
    let (Some(all), Some(one), Some(at)) = (all, node.max_tokens, node.max_tokens_at) else { return };
    if u64::from(one) > all {
        let message = format!("one call may use {one} tokens, but the run's budget is {all}");
        let d = Diagnostic::new_warning("conflicting-limits", subject.location_of(at), message);
        found.push(d.with_help("lower it, or raise `max_tokens` of `budget`"));
    }
}
