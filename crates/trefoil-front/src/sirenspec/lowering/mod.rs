//! Lowers a workflow with bound texts to a flow with a graph; factory instances are separate flows. Total and silent:
//! mistakes were reported before, and placeholders take their place.

mod agent;
mod body;
mod call;
mod factory;
mod flow;
mod graph;
mod human;
mod lowered_node;
mod message;
mod node;
mod swrm;
mod tool;

pub use flow::WorkflowLowering;

use trefoil_ir::{FlowDefinition, FlowId, StepId, StepKind};

use super::names::callee::CalleeInputs;
use crate::ProgramBuilder;
use crate::program_builder::plain_step;
use flow::FlowBuilder;

/// Lowers a workflow. `entry`: a run can start here. Returns its flow, and what callers need to know about its input.
pub fn lower_workflow(
    builder: &mut ProgramBuilder,
    flow: &WorkflowLowering<'_>,
    name: &str,
    entry: bool,
) -> (FlowId, CalleeInputs) {
    let id = builder.reserve_flow();
    let mut made = FlowBuilder::new(builder, flow.known.slots.clone());
    let carried = flow.reserve_carried(&mut made);
    let nodes = 0..flow.manifest.nodes.len();
    made.builder.reserve_steps(nodes.len() + 1);
    let steps: Vec<StepId> = nodes.filter_map(|at| node::lower_node(flow, &mut made, &carried, at)).collect();
    let origin = flow.known.location_of(flow.manifest.first_node_span());
    let graph = graph::build_graph(flow, &carried, &steps);
    let body = made.builder.add_step(plain_step(StepKind::Graph(graph), origin));
    let mut reads = flow.texts.input_reads(&flow.known.inputs);
    if let Some(at) = made.message {
        reads.note_field("message", at, true);
    }
    let lowered = FlowDefinition {
        name: name.into(),
        sort: "workflow",
        origin,
        slots: made.slots.0,
        intake: flow.known.inputs.build_intake(&reads, entry),
        init: Vec::new(),
        body,
        output: Some(graph::output_expression(flow)),
        exports: graph::node_exports(flow),
        budget: flow.manifest.budget.clone(),
    };
    builder.set_flow(id, lowered);
    (id, flow.known.inputs.callee_inputs(&reads))
}
