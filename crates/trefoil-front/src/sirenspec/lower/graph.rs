//! The graph of a workflow: its nodes with their edges, and the output tree at the end.

use trefoil_ir::{Edge, Export, Expr, Graph, GraphNode, NodeId, Source, StepId};
use trefoil_template::Value;

use super::answers;
use super::flow::Workflow;
use super::message::Carried;
use super::scope::{Reading, Scope};
use crate::sirenspec::manifest::Root;

/// The graph; the steps are those of the nodes, in order.
pub fn graph(flow: &Workflow<'_, '_>, carried: &Carried, steps: &[StepId]) -> Graph {
    let nodes = steps.iter().enumerate().map(|(at, step)| node(flow, carried, at, *step)).collect();
    let graph = Graph { nodes };
    answers::check(flow, &graph);
    graph
}

fn node(flow: &Workflow<'_, '_>, carried: &Carried, at: usize, step: StepId) -> GraphNode {
    let links = flow.links;
    let incoming = links
        .incoming(at)
        .map(|link| {
            let scope = Scope::new(flow, Reading::EdgeFrom(link.from));
            let result = flow.names.nodes.get(link.from).map(|n| n.result());
            Edge {
                from: id(link.from),
                when: link.edge.when.and_then(|text| flow.condition(&scope, text)),
                carry: carried.slot(link.from, at).zip(result),
                origin: flow.reader.at(link.edge.node.span),
            }
        })
        .collect();
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

fn id(at: usize) -> NodeId {
    NodeId(at as u32)
}

/// The output tree: what is seeded under `output`, overlaid by what nodes wrote there, the later node's last.
pub fn output(flow: &Workflow<'_, '_>) -> Expr {
    let writes: Vec<usize> = (0..flow.names.writes.len())
        .filter(|w| flow.names.writes.get(*w).is_some_and(|write| write.root == Root::Output))
        .collect();
    let seed = Value::Object(std::sync::Arc::new(flow.names.seeds(Root::Output).clone()));
    Expr::Read(Source::Compose { seed, parts: flow.parts(&writes) })
}

/// What a caller can read beneath the output: every node's result by its id.
pub fn exports(flow: &Workflow<'_, '_>) -> Vec<Export> {
    let node = |n: &super::names::NodeName<'_>| Export {
        key: n.id.value.clone(),
        slot: n.slot,
        member: n.output.clone(),
        inner: n.exports,
    };
    flow.names.nodes.iter().map(node).collect()
}
