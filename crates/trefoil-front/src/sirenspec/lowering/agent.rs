//! Agent nodes: one model call, with retries and a fallback.

use trefoil_ir::{OnStepFailure as Remaining, Source, StepKind, ValueExpression};
use trefoil_template::Value;

use super::flow::{FlowBuilder, NodeTextSite, WorkflowLowering};
use super::lowered_node::LoweredNode;
use super::message::CarriedMessages;
use crate::sirenspec::manifest::{AgentNode, NodeFailurePolicy, SirenAgent};

/// Lowers an agent node.
pub fn lower_agent_node(
    flow: &WorkflowLowering<'_>,
    made: &mut FlowBuilder<'_>,
    carried: &CarriedMessages,
    at: usize,
    node: &AgentNode<'_>,
) -> Option<LoweredNode> {
    let agent = flow.manifest.find_agent(&node.agent?.value)?;
    let guards = flow.call_guards(made, agent.guardrails.as_ref());
    let message = flow.user_message(made, carried, at);
    let mut call = flow.model_call(agent.id.value.clone(), agent.model.as_ref(), message, guards);
    call.system = system_message(flow, &mut NodeTextSite::for_node(at), agent);
    call.parameters.max_tokens = node.max_tokens;
    call.places.extend(node.max_tokens_at.map(|at| ("max_tokens", flow.location_of(at))));
    call.stream = node.streaming;
    let mut lowered = LoweredNode::new(StepKind::Model(Box::new(call)));
    lowered.shape = Some(ValueExpression::Object(vec![("output".into(), ValueExpression::Read(Source::Result))]));
    // A policy with one attempt is one: without any, the engine's own retries apply.
    lowered.policy.retry = node.retry.as_ref().or(flow.manifest.defaults.retry.as_ref()).cloned();
    lowered.policy.on_failure = match node.on_failure.as_ref().or(flow.manifest.defaults.on_failure.as_ref()) {
        Some(NodeFailurePolicy::Skip) => Remaining::Skip,
        Some(NodeFailurePolicy::UseDefault(text)) => {
            Remaining::Use(Box::new(ValueExpression::Const(Value::Str(text.clone()))))
        }
        Some(NodeFailurePolicy::Abort | NodeFailurePolicy::Fallback(_)) | None => Remaining::Fail,
    };
    Some(lowered)
}

/// The agent's system message. In a run, an empty text means none.
pub fn system_message(
    flow: &WorkflowLowering<'_>,
    scope: &mut NodeTextSite<'_>,
    agent: &SirenAgent<'_>,
) -> Option<ValueExpression> {
    agent.system.map(|text| flow.prompt_expression(scope, text))
}
