//! Factory nodes: a separate flow for every item, and the results as a list and as text.

use std::sync::Arc;

use trefoil_ir::{Expr, Flow, FlowId, ForEach, Intake, Items, Source, Step, StepId, StepKind};
use trefoil_template::Value;

use super::body::{self, Body};
use super::flow::{FlowBuilder, Scope, Workflow, broken};
use super::lowered::Lowered;
use super::message::Carried;
use super::{agent, swrm};
use crate::build::{FlowSlots, plain};
use crate::sirenspec::manifest::{FactoryNode, MAX_SWARM_SIZE, Over, Size, Worker};
use crate::sirenspec::names::known::Instance;
use crate::sirenspec::names::stand::Stand;
use crate::sirenspec::names::types::written_list;

/// Lowers a factory node: `{output, outputs}`.
pub fn lower(
    flow: &Workflow<'_>,
    made: &mut FlowBuilder<'_>,
    carried: &Carried,
    at: usize,
    node: &FactoryNode<'_>,
) -> Option<Lowered> {
    let instance = flow.known.nodes.get(at)?.instance.as_ref()?;
    let items = items(flow, at, node.over.as_ref()?);
    let mut body = Body::new(instance);
    let mut scope = Scope { node: at, stand: Stand::Inputs, body: Some(&mut body) };
    let inputs = node.inputs.iter().map(|e| (e.key.value.clone(), flow.input(&mut scope, &e.value)));
    let rendered: Vec<(Arc<str>, Expr)> = inputs.collect();
    let step = worker(flow, made, carried, node, instance, Scope { stand: Stand::Instance, ..scope })?;
    let own = |slot| body::own(slot).unwrap_or(slot);
    let (index, total, item) = (own(instance.index), own(instance.total), instance.item.map(own));
    let inner = inner(flow, made, at, instance, rendered, step, body.slots)?;
    let mut lowered = Lowered::new(StepKind::ForEach(Box::new(ForEach {
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
    lowered.policy.timeout_at = node.timeout_at.map(|at| flow.at(at));
    let outputs = || Expr::Read(Source::Result);
    lowered.shape =
        Some(Expr::Object(vec![("output".into(), Expr::Lines(Box::new(outputs()))), ("outputs".into(), outputs())]));
    Some(lowered)
}

/// The work of an instance.
fn worker(
    flow: &Workflow<'_>,
    made: &mut FlowBuilder<'_>,
    carried: &Carried,
    node: &FactoryNode<'_>,
    instance: &Instance,
    mut scope: Scope<'_>,
) -> Option<StepId> {
    let step = match node.worker.as_ref()? {
        Worker::Agent(name) => {
            let agent = flow.manifest.agent(&name.value)?;
            let guards = flow.guards(made, agent.guardrails.as_ref());
            let user = user_message(flow, made, carried, node, instance, &mut scope);
            let mut call = flow.call(agent.id.value.clone(), agent.model.as_ref(), user, guards);
            call.system = agent::system(flow, &mut scope, agent);
            let label = Some(agent.id.value.clone());
            Step { label, ..plain(StepKind::Model(Box::new(call)), flow.at(name.span)) }
        }
        Worker::Swrm(swarm) => {
            let own = |(id, slot): &(Arc<str>, _)| (id.clone(), body::own(*slot).unwrap_or(*slot));
            let members: Vec<_> = instance.agents.iter().map(own).collect();
            let origin = flow.manifest.nodes.get(scope.node).map_or_else(Default::default, |n| n.id.span);
            let kind = swrm::steps(flow, made, &mut scope, &members, swarm);
            plain(kind, flow.at(origin))
        }
    };
    Some(made.builder.step(step))
}

/// The flow of an instance.
fn inner(
    flow: &Workflow<'_>,
    made: &mut FlowBuilder<'_>,
    at: usize,
    instance: &Instance,
    rendered: Vec<(Arc<str>, Expr)>,
    body: StepId,
    slots: FlowSlots,
) -> Option<FlowId> {
    let id = flow.manifest.nodes.get(at)?.id;
    let own = |slot| body::own(slot).unwrap_or(slot);
    Some(made.builder.flow(Flow {
        name: id.value.clone(),
        sort: "instance",
        origin: flow.at(id.span),
        slots: slots.0,
        intake: Intake::plain(own(instance.intake)),
        init: if rendered.is_empty() { Vec::new() } else { vec![(own(instance.rendered), Expr::Object(rendered))] },
        body,
        output: None,
        exports: Vec::new(),
        budget: None,
    }))
}

/// The inputs as lines; without inputs, the item; without an item, the message to the node.
fn user_message(
    flow: &Workflow<'_>,
    made: &mut FlowBuilder<'_>,
    carried: &Carried,
    node: &FactoryNode<'_>,
    instance: &Instance,
    scope: &mut Scope<'_>,
) -> Expr {
    let own = |slot| body::own(slot).unwrap_or(slot);
    if !node.inputs.is_empty() {
        return Expr::Lines(Box::new(Expr::Read(Source::Slot(own(instance.rendered)))));
    }
    match (instance.item, &mut scope.body) {
        // The item is rendered as in templates: null prints as `null`.
        (Some(item), _) => Expr::Join {
            parts: vec![Source::Slot(own(item))],
            separator: "".into(),
            otherwise: Box::new(Expr::Const("null".into())),
        },
        (None, Some(body)) => {
            let message = flow.message(made, carried, scope.node);
            body.close_message(flow.known, message)
        }
        (None, None) => broken(),
    }
}

fn items(flow: &Workflow<'_>, node: usize, over: &Over<'_>) -> Items {
    let typed = |key, text| flow.typed(&mut Scope { node, stand: Stand::Decides(key), body: None }, text);
    match over {
        Over::List(text) => Items::List(match typed("for_each", text) {
            Expr::Const(Value::Str(written)) => written_list(&written).map_or_else(broken, Expr::Const),
            other => other,
        }),
        Over::Count(Size::Fixed(count)) => Items::Count(Expr::Const(Value::from(*count)), MAX_SWARM_SIZE),
        Over::Count(Size::Text(text)) => Items::Count(typed("swarm_size", text), MAX_SWARM_SIZE),
    }
}
