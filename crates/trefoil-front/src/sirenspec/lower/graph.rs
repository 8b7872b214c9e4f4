//! The graph of a workflow: its nodes and edges, and the output tree.

use trefoil_ir::{Edge, Export, Expr, Graph, GraphNode, NodeId, StepId};

use super::flow::Workflow;
use super::message::Carried;
use crate::sirenspec::manifest::Root;
use crate::sirenspec::names::known::NodeName;
use crate::sirenspec::names::links::Link;
use crate::sirenspec::names::source::{parts, seeded};
use crate::sirenspec::names::stand::{Reading, Stand};

/// The graph; `steps` are those of the nodes, in order.
pub fn graph(flow: &Workflow<'_>, carried: &Carried, steps: &[StepId]) -> Graph {
    Graph { nodes: steps.iter().enumerate().map(|(at, step)| node(flow, carried, at, *step)).collect() }
}

fn node(flow: &Workflow<'_>, carried: &Carried, at: usize, step: StepId) -> GraphNode {
    let links = flow.links;
    let incoming = links.incoming(at).filter_map(|link| edge(flow, carried, link)).collect();
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

fn edge(flow: &Workflow<'_>, carried: &Carried, link: &Link) -> Option<Edge> {
    let written = flow.manifest.edges.get(link.edge)?;
    let when = written.when.and_then(|text| flow.texts.get(Reading::EdgeFrom(link.from), Stand::Plain, text));
    let result = flow.known.nodes.get(link.from).map(|n| n.result());
    Some(Edge {
        from: id(link.from),
        when: when.and_then(|bound| bound.text.cond()),
        carry: carried.slot(link.from, link.to).zip(result),
        origin: flow.at(written.node.span),
    })
}

fn id(at: usize) -> NodeId {
    NodeId(at as u32)
}

/// The output tree: the seeds under `output`, overlaid with what nodes wrote there; later nodes take precedence.
pub fn output(flow: &Workflow<'_>) -> Expr {
    let written = flow.known.writes.iter().enumerate().filter(|(_, write)| write.root == Root::Output);
    let writes: Vec<usize> = written.map(|(at, _)| at).collect();
    Expr::Read(seeded(flow.known, Root::Output, parts(flow.known, flow.links, &writes)))
}

/// The results that a caller can read under the output: those of every node, by id.
pub fn exports(flow: &Workflow<'_>) -> Vec<Export> {
    let node = |n: &NodeName| Export { key: n.id.clone(), slot: n.slot, member: n.output.clone(), inner: n.exports };
    flow.known.nodes.iter().map(node).collect()
}
