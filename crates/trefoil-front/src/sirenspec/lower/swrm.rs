//! Swarms: concurrent agents, followed by a synthesis or a list of their answers. Either a node, or the work of a
//! factory for each item.

use std::sync::Arc;

use trefoil_ir::{ComposedPart, Expr, Parallel, SlotId, Source, Step, StepId, StepKind, StepPolicy};
use trefoil_template::Value;

use super::flow::{FlowBuilder, Scope, Workflow};
use super::lowered::Lowered;
use crate::sirenspec::manifest::{Swrm, Synthesis};
use crate::sirenspec::names::stand::Stand;

/// Lowers a swrm node: `{output, agents: {ID: {output}}}`.
pub fn lower(flow: &Workflow<'_>, made: &mut FlowBuilder<'_>, at: usize, swrm: &Swrm<'_>) -> Option<Lowered> {
    let members = flow.known.nodes.get(at).map(|n| n.agents.clone())?;
    let kind = steps(flow, made, &mut Scope::plain(at), &members, swrm);
    let mut lowered = Lowered::new(kind);
    let parts = members.into_iter().map(|(id, slot)| ComposedPart { at: vec![id], slot, member: Vec::new() }).collect();
    lowered.shape = Some(Expr::Object(vec![
        ("output".into(), Expr::Read(Source::Result)),
        ("agents".into(), Expr::Read(Source::Compose { seed: Value::Object(Arc::default()), parts })),
    ]));
    Some(lowered)
}

/// The steps of the agents and of the synthesis; the result is the swarm's output.
pub fn steps(
    flow: &Workflow<'_>,
    made: &mut FlowBuilder<'_>,
    scope: &mut Scope<'_>,
    members: &[(Arc<str>, SlotId)],
    swrm: &Swrm<'_>,
) -> StepKind {
    let branches: Vec<StepId> = swrm
        .members
        .iter()
        .zip(members)
        .map(|(member, (_, slot))| {
            let id = &member.id.value;
            let kind = call(flow, made, scope, id.clone(), &member.call);
            made.builder.step(Step {
                kind,
                label: Some(id.clone()),
                origin: flow.at(member.id.span),
                when: None,
                out: Some(*slot),
                shape: Some(Expr::Object(vec![("output".into(), Expr::Read(Source::Result))])),
                policy: StepPolicy::default(),
            })
        })
        .collect();
    let origin = swrm.members.first().map_or_else(Default::default, |m| m.id.span);
    let parallel = Parallel { branches, concurrency: swrm.concurrency, on_failure: swrm.on_failure };
    let parallel = made.builder.step(crate::build::plain(StepKind::Parallel(parallel), flow.at(origin)));
    let last = match &swrm.synthesis {
        Some(synthesis) => {
            scope.stand = Stand::Synthesis { instance: scope.body.is_some() };
            let taken = members.iter().any(|(id, _)| &**id == "synthesis");
            let name: Arc<str> = if taken { "(synthesis)".into() } else { "synthesis".into() };
            let kind = call(flow, made, scope, name.clone(), synthesis);
            let mut step = crate::build::plain(kind, flow.at(synthesis.origin));
            step.label = Some(name);
            step
        }
        None => crate::build::plain(StepKind::Compute(list(members)), flow.at(origin)),
    };
    let last = made.builder.step(last);
    StepKind::Sequence(vec![parallel, last])
}

/// A prompt as a user message without a system message.
fn call(
    flow: &Workflow<'_>,
    made: &mut FlowBuilder<'_>,
    scope: &mut Scope<'_>,
    speaker: Arc<str>,
    call: &Synthesis<'_>,
) -> StepKind {
    let user = flow.text_or(scope, call.prompt);
    let guards = flow.guards(made, call.guardrails.as_ref());
    StepKind::Model(Box::new(flow.call(speaker, call.model.as_ref(), user, guards)))
}

/// The agents' texts in order, with an empty text for a failed one.
fn list(members: &[(Arc<str>, SlotId)]) -> Expr {
    let text = |slot: SlotId| {
        let source = Source::Member(slot, vec!["output".into()]);
        let then = Box::new(Expr::Read(source.clone()));
        Expr::If { source, then, otherwise: Box::new(Expr::Const(Value::from(""))) }
    };
    Expr::List(members.iter().map(|(_, slot)| text(*slot)).collect())
}
