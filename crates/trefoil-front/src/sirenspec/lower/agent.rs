//! Agent nodes: one model call, with retries and a fallback.

use trefoil_ir::{Expr, OnFailure as Remaining, Source, StepKind};
use trefoil_template::Value;

use super::flow::{FlowBuilder, Scope, Workflow};
use super::lowered::Lowered;
use super::message::Carried;
use crate::sirenspec::manifest::{Agent, AgentNode, OnFailure};

/// Lowers an agent node.
pub fn lower(
    flow: &Workflow<'_>,
    made: &mut FlowBuilder<'_>,
    carried: &Carried,
    at: usize,
    node: &AgentNode<'_>,
) -> Option<Lowered> {
    let agent = flow.manifest.agent(&node.agent?.value)?;
    let guards = flow.guards(made, agent.guardrails.as_ref());
    let message = flow.message(made, carried, at);
    let mut call = flow.call(agent.id.value.clone(), agent.model.as_ref(), message, guards);
    call.system = system(flow, &mut Scope::plain(at), agent);
    call.parameters.max_tokens = node.max_tokens;
    call.places.extend(node.max_tokens_at.map(|at| ("max_tokens", flow.at(at))));
    call.stream = node.streaming;
    let mut lowered = Lowered::new(StepKind::Model(Box::new(call)));
    lowered.shape = Some(Expr::Object(vec![("output".into(), Expr::Read(Source::Result))]));
    // A policy with one attempt is one: without any, the engine's own retries apply.
    lowered.policy.retry = node.retry.as_ref().or(flow.manifest.defaults.retry.as_ref()).cloned();
    lowered.policy.on_failure = match node.on_failure.as_ref().or(flow.manifest.defaults.on_failure.as_ref()) {
        Some(OnFailure::Skip) => Remaining::Skip,
        Some(OnFailure::UseDefault(text)) => Remaining::Use(Box::new(Expr::Const(Value::Str(text.clone())))),
        Some(OnFailure::Abort | OnFailure::Fallback(_)) | None => Remaining::Fail,
    };
    Some(lowered)
}

/// The agent's system message. In a run, an empty text means none.
pub fn system(flow: &Workflow<'_>, scope: &mut Scope<'_>, agent: &Agent<'_>) -> Option<Expr> {
    agent.system.map(|text| flow.prompt(scope, text))
}
