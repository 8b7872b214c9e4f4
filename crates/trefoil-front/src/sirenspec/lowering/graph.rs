//! The graph of a workflow: its nodes and edges, and the output tree.

use trefoil_ir::{FlowExport, GraphEdge, GraphNode, NodeId, StepGraph, StepId, ValueExpression};

use super::flow::WorkflowLowering;
use super::message::CarriedMessages;
use crate::sirenspec::manifest::StateTree;
use crate::sirenspec::names::links::NodeEdge;
use crate::sirenspec::names::node_part::{NodePart, ReadingPoint};
use crate::sirenspec::names::source::{seeded_source, write_parts};
use crate::sirenspec::names::workflow_names::NodeName;

/// The graph; `steps` are those of the nodes, in order.
pub fn build_graph(flow: &WorkflowLowering<'_>, carried: &CarriedMessages, steps: &[StepId]) -> StepGraph {
    StepGraph { nodes: steps.iter().enumerate().map(|(at, step)| node(flow, carried, at, *step)).collect() }
}

fn node(flow: &WorkflowLowering<'_>, carried: &CarriedMessages, at: usize, step: StepId) -> GraphNode {
    let links = flow.links;
    let incoming = links.incoming_edges(at).filter_map(|link| edge(flow, carried, link)).collect();
    let mut after: Vec<NodeId> = links.after.get(at).into_iter().flatten().map(|n| id(*n)).collect();
    after.sort_unstable();
    after.dedup();
    GraphNode {
        step,
        incoming,
        after,
        fallback_of: links.fallback_of.get(at).into_iter().flatten().map(|n| id(*n)).collect(),
        fallback: links.fallback.get(at).copied().flatten().map(id),
    }
}

fn edge(flow: &WorkflowLowering<'_>, carried: &CarriedMessages, link: &NodeEdge) -> Option<GraphEdge> {
    let written = flow.manifest.edges.get(link.edge)?;
    let when = written.when.and_then(|text| flow.texts.get(ReadingPoint::EdgeFrom(link.from), NodePart::Plain, text));
    let result = flow.known.nodes.get(link.from).map(|n| n.result_source());
    Some(GraphEdge {
        from: id(link.from),
        when: when.and_then(|bound| bound.text.to_condition()),
        carry: carried.edge_slot(link.from, link.to).zip(result),
        origin: flow.location_of(written.node.span),
    })
}

fn id(at: usize) -> NodeId {
    NodeId(at as u32)
}

/// The output tree: the seeds under `output`, overlaid with what nodes wrote there; later nodes take precedence.
pub fn output_expression(flow: &WorkflowLowering<'_>) -> ValueExpression {
    let written = flow.known.writes.iter().enumerate().filter(|(_, write)| write.root == StateTree::Output);
    let writes: Vec<usize> = written.map(|(at, _)| at).collect();
    ValueExpression::Read(seeded_source(flow.known, StateTree::Output, write_parts(flow.known, flow.links, &writes)))
}

/// The results that a caller can read under the output: those of every node, by id.
pub fn node_exports(flow: &WorkflowLowering<'_>) -> Vec<FlowExport> {
    let node =
        |n: &NodeName| FlowExport { key: n.id.clone(), slot: n.slot, member: n.output.clone(), inner: n.exports };
    flow.known.nodes.iter().map(node).collect()
}
