//! The graph of a workflow: its nodes and edges, and the output tree.

use trefoil_ir::{BoundCondition, FlowExport, GraphEdge, GraphNode, NodeId, StepGraph, StepId, ValueExpression};
use trefoil_syntax::yaml::YamlText;

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
    let mut incoming = Vec::new();
    for link in links.incoming_edges(at) {
        incoming.extend(edge(flow, carried, link));
    }
    let mut after = match links.after.get(at) {
        Some(after) => ids(after),
        None => Vec::new(),
    };
    after.sort_unstable();
    after.dedup();
    let fallback_of = ids(links.replaced_by(at));
    let fallback = links.fallback.get(at).copied().flatten().map(id);
    GraphNode { step, incoming, after, fallback_of, fallback }
}

fn edge(flow: &WorkflowLowering<'_>, carried: &CarriedMessages, link: &NodeEdge) -> Option<GraphEdge> {
    let written = flow.manifest.edges.get(link.edge)?;
    let when = match written.when {
        Some(text) => condition(flow, link, text),
        None => None,
    };
    let carry = match (carried.edge_slot(link.from, link.to), flow.known.nodes.get(link.from)) {
        (Some(slot), Some(source)) => Some((slot, source.result_source())),
        _ => None,
    };
    Some(GraphEdge { from: id(link.from), when, carry, origin: flow.location_of(written.node.span) })
}

fn condition(flow: &WorkflowLowering<'_>, link: &NodeEdge, text: &YamlText) -> Option<BoundCondition> {
    flow.texts.get(ReadingPoint::EdgeFrom(link.from), NodePart::Plain, text)?.text.to_condition()
}

fn id(at: usize) -> NodeId {
    NodeId(at as u32)
}

fn ids(nodes: &[usize]) -> Vec<NodeId> {
    nodes.iter().map(|node| id(*node)).collect()
}

/// The output tree: the seeds under `output`, overlaid with what nodes wrote there; later nodes take precedence.
pub fn output_expression(flow: &WorkflowLowering<'_>) -> ValueExpression {
    let mut writes = Vec::new();
    for (at, write) in flow.known.writes.iter().enumerate() {
        if write.root == StateTree::Output {
            writes.push(at);
        }
    }
    ValueExpression::Read(seeded_source(flow.known, StateTree::Output, write_parts(flow.known, flow.links, &writes)))
}

/// The results that a caller can read under the output: those of every node, by id.
pub fn node_exports(flow: &WorkflowLowering<'_>) -> Vec<FlowExport> {
    let node =
        |n: &NodeName| FlowExport { key: n.id.clone(), slot: n.slot, member: n.output.clone(), inner: n.exports };
    flow.known.nodes.iter().map(node).collect()
}
