//! A node without edges in a graph with edges, and a node that lost the edge that decided whether it runs.

use trefoil_ir::{StepGraph, GraphNode, NodeId, StepKind};
use trefoil_syntax::FindingSeverity;

use crate::rule::{RuleContext, RuleGroup, Rule, RuleSource};
use crate::words;

pub(super) const RULE: Rule = Rule {
    name: "unconnected-node",
    group: RuleGroup::Flow,
    level: Some(FindingSeverity::Info),
    strict: Some(FindingSeverity::Warning),
    page: include_str!("unconnected_node.md"),
    run: RuleSource::Whole(run),
};

fn run(cx: &mut RuleContext<'_>) {
    let program = cx.model.program;
    for (_, _, step) in cx.model.reachable_steps() {
        let StepKind::Graph(graph) = &step.kind else { continue };
        for node in apart(graph) {
            let name = words::step_name(program, node.step);
            let when = if node.after.is_empty() { "at the start" } else { "as soon as the values it reads exist" };
            let message = format!("{name} has no edges, so it always runs, {when}");
            let finding = cx.new_finding(program.steps[node.step].origin, message);
            cx.report_finding(finding.with_help("add an edge if it should run after another node"));
        }
        for nodes in undecided(graph) {
            let [step, beside, from] = nodes.map(|id| graph.nodes[id].step);
            let origin = program.steps[step].origin;
            let [name, beside, from] = [step, beside, from].map(|step| words::step_name(program, step));
            let message = format!("no edge leads to {name}, so it always runs, although {beside} has a condition");
            cx.report_finding(cx.new_finding(origin, message).with_help(format!("add an edge from {from} with a condition")));
        }
    }
}

/// The nodes without edges, in a graph that has edges.
fn apart(graph: &StepGraph) -> Vec<&GraphNode> {
    if graph.nodes.iter().all(|n| n.incoming.is_empty()) {
        return Vec::new();
    }
    let mut connected = graph.nodes.map(|_| false);
    for (id, node) in graph.nodes.entries() {
        let others = node.incoming.iter().map(|e| e.from);
        for other in others.chain(node.fallback_of.iter().copied()).chain(node.fallback) {
            connected[other] = true;
            connected[id] = true;
        }
    }
    graph.nodes.entries().filter(|(id, _)| !connected[*id]).map(|(_, node)| node).collect()
}

/// Nodes without an incoming edge next to nodes that one node selects between, where all lead to the same node. Each is
/// returned with one of those and with the selecting node.
fn undecided(graph: &StepGraph) -> Vec<[NodeId; 3]> {
    let decided = |id: NodeId| {
        let [edge] = graph.nodes[id].incoming.as_slice() else { return None };
        edge.when.as_ref().map(|_| edge.from)
    };
    let lost = |id: &NodeId| graph.nodes[*id].incoming.is_empty() && graph.nodes[*id].fallback_of.is_empty();
    let mut found = Vec::new();
    for node in &graph.nodes {
        let before: Vec<NodeId> = node.incoming.iter().map(|edge| edge.from).collect();
        let lost: Vec<NodeId> = before.iter().copied().filter(lost).collect();
        let others: Vec<(NodeId, NodeId)> = before.iter().filter_map(|id| Some((*id, decided(*id)?))).collect();
        if let ([one], [(beside, from), _, ..]) = (lost.as_slice(), others.as_slice())
            && others.len() + 1 == before.len()
            && others.iter().all(|(_, other)| other == from && other != one)
        {
            found.push([*one, *beside, *from]);
        }
    }
    found
}
