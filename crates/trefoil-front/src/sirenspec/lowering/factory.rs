//! Factory nodes: a separate flow for every item, and the results as a list and as text.

use std::sync::Arc;

use trefoil_ir::{
    FanOutItems, FlowDefinition, FlowId, ForEach, Intake, Source, Step, StepId, StepKind, ValueExpression,
};
use trefoil_syntax::Span;
use trefoil_template::Value;

use super::body::{self, FactoryBody};
use super::flow::{FlowBuilder, NodeTextSite, WorkflowLowering, broken_expression};
use super::lowered_node::LoweredNode;
use super::message::CarriedMessages;
use super::{agent, swrm};
use crate::program_builder::{FlowSlots, plain_step};
use crate::sirenspec::manifest::{FactoryItems, FactoryNode, FactoryWorker, MAX_SWARM_SIZE, SwarmSize};
use crate::sirenspec::names::node_part::NodePart;
use crate::sirenspec::names::types::written_list;
use crate::sirenspec::names::workflow_names::FactoryInstance;

/// Lowers a factory node: `{output, outputs}`.
pub fn lower_factory_node(
    flow: &WorkflowLowering<'_>,
    made: &mut FlowBuilder<'_>,
    carried: &CarriedMessages,
    at: usize,
    node: &FactoryNode<'_>,
) -> Option<LoweredNode> {
    let instance = flow.known.nodes.get(at)?.instance.as_ref()?;
    let items = items(flow, at, node.over.as_ref()?);
    let mut body = FactoryBody::new(instance);
    let mut scope = NodeTextSite { node: at, stand: NodePart::Inputs, body: Some(&mut body) };
    let mut rendered: Vec<(Arc<str>, ValueExpression)> = Vec::with_capacity(node.inputs.len());
    for entry in &node.inputs {
        rendered.push((entry.key.value.clone(), flow.input_expression(&mut scope, &entry.value)));
    }
    let step = worker(flow, made, carried, node, instance, NodeTextSite { stand: NodePart::Instance, ..scope })?;
    let own = |slot| body::instance_slot(slot).unwrap_or(slot);
    let (index, total, item) = (own(instance.index), own(instance.total), instance.item.map(own));
    let inner = inner(flow, made, at, instance, rendered, step, body.slots)?;
    let mut lowered = LoweredNode::new(StepKind::ForEach(Box::new(ForEach {
        items,
        body: inner,
        item,
        index,
        total,
        captures: body.captures,
        concurrency: Some(node.concurrency),
        timeout_ms: Some(node.timeout_ms),
        on_failure: node.on_failure,
        failed: Value::from(""),
    })));
    lowered.policy.timeout_at = node.timeout_at.map(|at| flow.location_of(at));
    let outputs = || ValueExpression::Read(Source::Result);
    lowered.shape = Some(ValueExpression::Object(vec![
        ("output".into(), ValueExpression::Lines(Box::new(outputs()))),
        ("outputs".into(), outputs()),
    ]));
    Some(lowered)
}

/// The work of an instance.
fn worker(
    flow: &WorkflowLowering<'_>,
    made: &mut FlowBuilder<'_>,
    carried: &CarriedMessages,
    node: &FactoryNode<'_>,
    instance: &FactoryInstance,
    mut scope: NodeTextSite<'_>,
) -> Option<StepId> {
    let step = match node.worker.as_ref()? {
        FactoryWorker::Agent(name) => {
            let agent = flow.manifest.find_agent(&name.value)?;
            let guards = flow.call_guards(made, agent.guardrails.as_ref());
            let user = user_message(flow, made, carried, node, instance, &mut scope);
            let mut call = flow.model_call(agent.id.value.clone(), agent.model.as_ref(), user, guards);
            call.system = agent::system_message(flow, &mut scope, agent);
            let label = Some(agent.id.value.clone());
            Step { label, ..plain_step(StepKind::Model(Box::new(call)), flow.location_of(name.span)) }
        }
        FactoryWorker::Swrm(swarm) => {
            let own = |(id, slot): &(Arc<str>, _)| (id.clone(), body::instance_slot(*slot).unwrap_or(*slot));
            let members: Vec<_> = instance.agents.iter().map(own).collect();
            let origin = match flow.manifest.nodes.get(scope.node) {
                Some(node) => node.id.span,
                None => Span::default(),
            };
            let kind = swrm::swarm_steps(flow, made, &mut scope, &members, swarm);
            plain_step(kind, flow.location_of(origin))
        }
    };
    Some(made.builder.add_step(step))
}

/// The flow of an instance.
fn inner(
    flow: &WorkflowLowering<'_>,
    made: &mut FlowBuilder<'_>,
    at: usize,
    instance: &FactoryInstance,
    rendered: Vec<(Arc<str>, ValueExpression)>,
    body: StepId,
    slots: FlowSlots,
) -> Option<FlowId> {
    let id = flow.manifest.nodes.get(at)?.id;
    let own = |slot| body::instance_slot(slot).unwrap_or(slot);
    Some(made.builder.add_flow(FlowDefinition {
        name: id.value.clone(),
        sort: "instance",
        origin: flow.location_of(id.span),
        slots: slots.0,
        intake: Intake::for_any_input(own(instance.intake)),
        init: if rendered.is_empty() {
            Vec::new()
        } else {
            vec![(own(instance.rendered), ValueExpression::Object(rendered))]
        },
        body,
        output: None,
        exports: Vec::new(),
        budget: None,
    }))
}

/// The inputs as lines; without inputs, the item; without an item, the message to the node.
fn user_message(
    flow: &WorkflowLowering<'_>,
    made: &mut FlowBuilder<'_>,
    carried: &CarriedMessages,
    node: &FactoryNode<'_>,
    instance: &FactoryInstance,
    scope: &mut NodeTextSite<'_>,
) -> ValueExpression {
    let own = |slot| body::instance_slot(slot).unwrap_or(slot);
    if !node.inputs.is_empty() {
        return ValueExpression::Lines(Box::new(ValueExpression::Read(Source::Slot(own(instance.rendered)))));
    }
    match (instance.item, &mut scope.body) {
        // The item is rendered as in templates: null prints as `null`.
        (Some(item), _) => ValueExpression::Join {
            parts: vec![Source::Slot(own(item))],
            separator: "".into(),
            otherwise: Box::new(ValueExpression::Const("null".into())),
        },
        (None, Some(body)) => {
            let message = flow.user_message(made, carried, scope.node);
            body.close_message(flow.known, message)
        }
        (None, None) => broken_expression(),
    }
}

fn items(flow: &WorkflowLowering<'_>, node: usize, over: &FactoryItems<'_>) -> FanOutItems {
    let typed =
        |key, text| flow.typed_expression(&mut NodeTextSite { node, stand: NodePart::Decides(key), body: None }, text);
    match over {
        FactoryItems::List(text) => FanOutItems::List(match typed("for_each", text) {
            ValueExpression::Const(Value::Str(written)) => match written_list(&written) {
                Some(list) => ValueExpression::Const(list),
                None => broken_expression(),
            },
            other => other,
        }),
        FactoryItems::Count(SwarmSize::Fixed(count)) => {
            FanOutItems::Count(ValueExpression::Const(Value::from(*count)), MAX_SWARM_SIZE)
        }
        FactoryItems::Count(SwarmSize::Text(text)) => FanOutItems::Count(typed("swarm_size", text), MAX_SWARM_SIZE),
    }
}
