//! Lowers a workflow with bound texts to a flow with a graph; factory instances are separate flows. Total and silent:
//! mistakes were reported before, and placeholders take their place.

mod agent;
mod body;
mod call;
mod factory;
mod flow;
mod graph;
mod human;
mod lowered;
mod message;
mod node;
mod swrm;
mod tool;

pub use flow::Workflow;

use trefoil_ir::{Flow, FlowId, StepId, StepKind};

use super::names::child::Wanted;
use crate::Builder;
use crate::build::plain;
use flow::FlowBuilder;

/// Lowers a workflow. `entry`: a run can start here. Returns its flow, and what callers need to know about its input.
pub fn workflow(builder: &mut Builder, flow: &Workflow<'_>, name: &str, entry: bool) -> (FlowId, Wanted) {
    let id = builder.reserve_flow();
    let mut made = FlowBuilder::new(builder, flow.known.slots.clone());
    let carried = flow.carried(&mut made);
    let nodes = 0..flow.manifest.nodes.len();
    made.builder.expect(nodes.len() + 1);
    let steps: Vec<StepId> = nodes.filter_map(|at| node::lower(flow, &mut made, &carried, at)).collect();
    let origin = flow.known.at(flow.manifest.nodes.first().map_or_else(Default::default, |n| n.id.span));
    let graph = graph::graph(flow, &carried, &steps);
    let body = made.builder.step(plain(StepKind::Graph(graph), origin));
    let mut reads = flow.texts.reads(&flow.known.inputs);
    if let Some(at) = made.message {
        reads.field("message", at, true);
    }
    let lowered = Flow {
        name: name.into(),
        sort: "workflow",
        origin,
        slots: made.slots.0,
        intake: flow.known.inputs.intake(&reads, entry),
        init: Vec::new(),
        body,
        output: Some(graph::output(flow)),
        exports: graph::exports(flow),
        budget: flow.manifest.budget.clone(),
    };
    builder.set_flow(id, lowered);
    (id, flow.known.inputs.wanted(&reads))
}
