//! Agent nodes: one model call, retried, with something in its place when it fails.

use trefoil_ir::{Expr, OnExceeded, OnFailure as Remaining, Position, Retry, Source, StepKind};
use trefoil_syntax::yaml::Text;
use trefoil_syntax::{Diagnostic, suggest};
use trefoil_template::Value;

use super::flow::{Made, Workflow};
use super::message::Carried;
use super::node::Lowered;
use super::scope::{Reading, Scope};
use crate::read::respelt;
use crate::sirenspec::manifest::{Agent, AgentNode, OnFailure};

/// Lowers an agent node.
pub fn lower(
    flow: &Workflow<'_, '_>,
    made: &mut Made<'_>,
    carried: &Carried,
    at: usize,
    node: &AgentNode<'_>,
) -> Option<Lowered> {
    let name = node.agent?;
    let agent = find(flow, name)?;
    let scope = Scope::new(flow, Reading::Node(at));
    let guards = flow.guards(made, agent.guardrails.as_ref());
    let mut call = flow.call(agent.id.value.clone(), agent.model.as_ref(), flow.message(carried, at), guards);
    call.system = system(flow, &scope, agent);
    call.parameters.max_tokens = node.max_tokens;
    call.places.extend(node.max_tokens_at.map(|at| ("max_tokens", flow.reader.at(at))));
    beyond_budget(flow, node);
    call.stream = node.streaming;
    let mut lowered = Lowered::new(StepKind::Model(Box::new(call)));
    lowered.shape = Some(Expr::Object(vec![("output".into(), Expr::Read(Source::Result))]));
    lowered.policy.retry = node.retry.as_ref().or(flow.manifest.defaults.retry.as_ref()).filter(|r| tries(r)).cloned();
    lowered.policy.on_failure = match node.on_failure.as_ref().or(flow.manifest.defaults.on_failure.as_ref()) {
        Some(OnFailure::Skip) => Remaining::Skip,
        Some(OnFailure::UseDefault(text)) => Remaining::Use(Box::new(Expr::Const(Value::Str(text.clone())))),
        Some(OnFailure::Abort | OnFailure::Fallback(_)) | None => Remaining::Fail,
    };
    Some(lowered)
}

/// Says that one call may use more than the whole run.
fn beyond_budget(flow: &Workflow<'_, '_>, node: &AgentNode<'_>) {
    let all = flow
        .manifest
        .budget
        .as_ref()
        .filter(|b| b.ceilings.on_exceeded != OnExceeded::Warn)
        .and_then(|b| b.ceilings.max_tokens);
    let (Some(all), Some(one), Some(at)) = (all, node.max_tokens, node.max_tokens_at) else { return };
    if u64::from(one) > all {
        let message = format!("one call may use {one} tokens, and the whole run no more than {all}");
        let d = Diagnostic::warning("out-of-range", flow.reader.at(at), message);
        flow.reader.report(d.help("lower it, or raise `max_tokens` of `budget`"));
    }
}

fn tries(retry: &Retry) -> bool {
    retry.max_attempts > 1
}

/// The agent of a name, or a report.
pub fn find<'m>(flow: &Workflow<'m, '_>, name: &Text) -> Option<&'m Agent<'m>> {
    let found = flow.manifest.agent(&name.value);
    if found.is_none() {
        let mut d = Diagnostic::error(
            "unknown-reference",
            flow.reader.at(name.span),
            format!("there is no agent `{}`", name.value),
        );
        let ids = || flow.manifest.agents.iter().map(|a| &*a.id.value);
        d = match suggest::near(&name.value, ids()) {
            Some(near) => {
                respelt(d.help(format!("did you mean `{}`?", near.name)), flow.reader.at(name.span), name, near)
            }
            None if flow.manifest.agents.is_empty() => d.help("declare it under `agents:`"),
            None => d.help(format!("available: {}", ids().map(|id| format!("`{id}`")).collect::<Vec<_>>().join(", "))),
        };
        flow.reader.report(d);
    }
    found
}

/// The agent's system message; a run takes empty text for none.
pub fn system(flow: &Workflow<'_, '_>, scope: &Scope<'_, '_, '_>, agent: &Agent<'_>) -> Option<Expr> {
    agent.system.map(|text| flow.text(scope, Position::System, text))
}
