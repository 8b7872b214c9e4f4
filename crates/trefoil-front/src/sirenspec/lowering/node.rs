//! Nodes as steps of the graph: the parts that all types of node share.

use trefoil_ir::{Step, StepId, StepKind, UnsupportedFeature};

use super::flow::{FlowBuilder, WorkflowLowering};
use super::lowered_node::LoweredNode;
use super::message::CarriedMessages;
use super::{agent, call, factory, human, swrm, tool};
use crate::sirenspec::manifest::NodeKind;

/// Lowers a node.
pub fn lower_node(
    flow: &WorkflowLowering<'_>,
    made: &mut FlowBuilder<'_>,
    carried: &CarriedMessages,
    at: usize,
) -> Option<StepId> {
    let node = flow.manifest.nodes.get(at)?;
    let name = flow.known.nodes.get(at)?;
    let lowered = match &node.kind {
        NodeKind::Agent(kind) => agent::lower_agent_node(flow, made, carried, at, kind),
        NodeKind::Swrm(kind) => swrm::lower_swarm_node(flow, made, at, kind),
        NodeKind::Factory(kind) => factory::lower_factory_node(flow, made, carried, at, kind),
        NodeKind::Call(kind) => call::lower_call_node(flow, made, at, kind),
        NodeKind::Human(kind) => human::lower_human_node(flow, at, kind),
        NodeKind::Tool(kind) => tool::lower_tool_node(flow, at, kind),
        NodeKind::Broken => None,
    };
    let mut lowered = match lowered {
        Some(lowered) => lowered,
        // A node that lacks something required (reported) is still a node, but its effect is unknown.
        None => LoweredNode::new(StepKind::Refused(UnsupportedFeature {
            feature: "an unknown node".into(),
            message: "".into(),
            ..UnsupportedFeature::default()
        })),
    };
    if matches!(node.kind, NodeKind::Swrm(_) | NodeKind::Factory(_)) {
        // Retries by default are for agent nodes, but no retries at all concerns every model call.
        lowered.policy.retry = flow.manifest.defaults.retry.clone().filter(|retry| retry.max_attempts == 1);
    }
    Some(made.builder.add_step(Step {
        kind: lowered.kind,
        label: Some(node.id.value.clone()),
        origin: flow.location_of(node.id.span),
        when: None,
        out: Some(name.slot),
        shape: lowered.shape,
        policy: lowered.policy,
    }))
}
