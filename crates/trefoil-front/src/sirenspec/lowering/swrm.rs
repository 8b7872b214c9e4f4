//! Swarms: concurrent agents, followed by a synthesis or a list of their answers. Either a node, or the work of a
//! factory for each item.

use std::sync::Arc;

use trefoil_ir::{ComposedPart, ParallelSteps, SlotId, Source, Step, StepId, StepKind, StepPolicy, ValueExpression};
use trefoil_syntax::Span;
use trefoil_template::Value;

use super::flow::{FlowBuilder, NodeTextSite, WorkflowLowering};
use super::lowered_node::LoweredNode;
use crate::sirenspec::manifest::{SirenSwarm, SwarmSynthesis};
use crate::sirenspec::names::node_part::NodePart;

/// Lowers a swrm node: `{output, agents: {ID: {output}}}`.
pub fn lower_swarm_node(
    flow: &WorkflowLowering<'_>,
    made: &mut FlowBuilder<'_>,
    at: usize,
    swrm: &SirenSwarm<'_>,
) -> Option<LoweredNode> {
    let members = flow.known.nodes.get(at)?.agents.clone();
    let kind = swarm_steps(flow, made, &mut NodeTextSite::for_node(at), &members, swrm);
    let mut lowered = LoweredNode::new(kind);
    let parts = members.into_iter().map(|(id, slot)| ComposedPart { at: vec![id], slot, member: Vec::new() }).collect();
    lowered.shape = Some(ValueExpression::Object(vec![
        ("output".into(), ValueExpression::Read(Source::Result)),
        ("agents".into(), ValueExpression::Read(Source::Compose { seed: Value::Object(Arc::default()), parts })),
    ]));
    Some(lowered)
}

/// The steps of the agents and of the synthesis; the result is the swarm's output.
pub fn swarm_steps(
    flow: &WorkflowLowering<'_>,
    made: &mut FlowBuilder<'_>,
    scope: &mut NodeTextSite<'_>,
    members: &[(Arc<str>, SlotId)],
    swrm: &SirenSwarm<'_>,
) -> StepKind {
    let mut branches: Vec<StepId> = Vec::with_capacity(swrm.members.len());
    for (member, (_, slot)) in swrm.members.iter().zip(members) {
        let id = &member.id.value;
        let kind = call(flow, made, scope, id.clone(), &member.call);
        branches.push(made.builder.add_step(Step {
            kind,
            label: Some(id.clone()),
            origin: flow.location_of(member.id.span),
            when: None,
            out: Some(*slot),
            shape: Some(ValueExpression::Object(vec![("output".into(), ValueExpression::Read(Source::Result))])),
            policy: StepPolicy::default(),
        }));
    }
    let origin = match swrm.members.first() {
        Some(member) => member.id.span,
        None => Span::default(),
    };
    let parallel = ParallelSteps { branches, concurrency: swrm.concurrency, on_failure: swrm.on_failure };
    let parallel = made
        .builder
        .add_step(crate::program_builder::plain_step(StepKind::Parallel(parallel), flow.location_of(origin)));
    let last = match &swrm.synthesis {
        Some(synthesis) => {
            scope.stand = NodePart::Synthesis { instance: scope.body.is_some() };
            let taken = members.iter().any(|(id, _)| &**id == "synthesis");
            let name: Arc<str> = if taken { "(synthesis)".into() } else { "synthesis".into() };
            let kind = call(flow, made, scope, name.clone(), synthesis);
            let mut step = crate::program_builder::plain_step(kind, flow.location_of(synthesis.origin));
            step.label = Some(name);
            step
        }
        None => crate::program_builder::plain_step(StepKind::Compute(list(members)), flow.location_of(origin)),
    };
    let last = made.builder.add_step(last);
    StepKind::Sequence(vec![parallel, last])
}

/// A prompt as a user message without a system message.
fn call(
    flow: &WorkflowLowering<'_>,
    made: &mut FlowBuilder<'_>,
    scope: &mut NodeTextSite<'_>,
    speaker: Arc<str>,
    call: &SwarmSynthesis<'_>,
) -> StepKind {
    let user = flow.text_or(scope, call.prompt);
    let guards = flow.call_guards(made, call.guardrails.as_ref());
    StepKind::Model(Box::new(flow.model_call(speaker, call.model.as_ref(), user, guards)))
}

/// The agents' texts in order, with an empty text for a failed one.
fn list(members: &[(Arc<str>, SlotId)]) -> ValueExpression {
    let text = |slot: SlotId| {
        let source = Source::Member(slot, vec!["output".into()]);
        let then = Box::new(ValueExpression::Read(source.clone()));
        ValueExpression::If { source, then, otherwise: Box::new(ValueExpression::Const(Value::from(""))) }
    };
    ValueExpression::List(members.iter().map(|(_, slot)| text(*slot)).collect())
}
