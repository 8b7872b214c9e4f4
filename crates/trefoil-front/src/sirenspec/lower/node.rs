//! Nodes as steps of the graph: the parts that all types of node share.

use trefoil_ir::{Refused, Step, StepId, StepKind};

use super::flow::{FlowBuilder, Workflow};
use super::lowered::Lowered;
use super::message::Carried;
use super::{agent, call, factory, human, swrm, tool};
use crate::sirenspec::manifest::NodeKind;

/// Lowers a node.
pub fn lower(flow: &Workflow<'_>, made: &mut FlowBuilder<'_>, carried: &Carried, at: usize) -> Option<StepId> {
    let node = flow.manifest.nodes.get(at)?;
    let name = flow.known.nodes.get(at)?;
    let lowered = match &node.kind {
        NodeKind::Agent(kind) => agent::lower(flow, made, carried, at, kind),
        NodeKind::Swrm(kind) => swrm::lower(flow, made, at, kind),
        NodeKind::Factory(kind) => factory::lower(flow, made, carried, at, kind),
        NodeKind::Call(kind) => call::lower(flow, made, at, kind),
        NodeKind::Human(kind) => human::lower(flow, at, kind),
        NodeKind::Tool(kind) => tool::lower(flow, at, kind),
        NodeKind::Broken => None,
    };
    // A node that lacks something required (reported) is still a node, but its effect is unknown.
    let unknown =
        || StepKind::Refused(Refused { feature: "an unknown node".into(), message: "".into(), ..Refused::default() });
    let mut lowered = lowered.unwrap_or_else(|| Lowered::new(unknown()));
    if matches!(node.kind, NodeKind::Swrm(_) | NodeKind::Factory(_)) {
        // Retries by default are for agent nodes, but no retries at all concerns every model call.
        lowered.policy.retry = flow.manifest.defaults.retry.clone().filter(|retry| retry.max_attempts == 1);
    }
    Some(made.builder.step(Step {
        kind: lowered.kind,
        label: Some(node.id.value.clone()),
        origin: flow.at(node.id.span),
        when: None,
        out: Some(name.slot),
        shape: lowered.shape,
        policy: lowered.policy,
    }))
}
