//! A node without edges in a graph with edges, and a node that lost the edge that decided whether it runs.

use trefoil_ir::{GraphNode, NodeId, StepGraph, StepKind};
use trefoil_syntax::FindingSeverity;

use crate::rule::{Rule, RuleContext, RuleGroup, RuleSource};
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
        let name = |node: NodeId| words::step_name(program, graph.nodes[node].step);
        for [node, beside, from] in undecided(graph) {
            let origin = program.steps[graph.nodes[node].step].origin;
            let message = format!(
                "no edge leads to {}, so it always runs, although {} has a condition",
                name(node),
                name(beside)
            );
            let help = format!("add an edge from {} with a condition", name(from));
            cx.report_finding(cx.new_finding(origin, message).with_help(help));
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
        let mut others: Vec<NodeId> = node.incoming.iter().map(|edge| edge.from).collect();
        others.extend(&node.fallback_of);
        others.extend(node.fallback);
        for other in others {
            connected[other] = true;
            connected[id] = true;
        }
    }
    let mut apart = Vec::new();
    for (id, node) in graph.nodes.entries() {
        if !connected[id] {
            apart.push(node);
        }
    }
    apart
}

/// Nodes without an incoming edge next to nodes that one node selects between, where all lead to the same node. Each is
/// returned with one of those and with the selecting node.
fn undecided(graph: &StepGraph) -> Vec<[NodeId; 3]> {
    let mut found = Vec::new();
    for node in &graph.nodes {
        // The selected nodes have the one that selects them.
        let (mut lost, mut selected) = (Vec::new(), Vec::new());
        for edge in &node.incoming {
            let before = &graph.nodes[edge.from];
            match before.incoming.as_slice() {
                [] if before.fallback_of.is_empty() => lost.push(edge.from),
                [only] if only.when.is_some() => selected.push((edge.from, only.from)),
                _ => {}
            }
        }
        if let ([lost], [(beside, from), _, ..]) = (lost.as_slice(), selected.as_slice())
            && selected.len() + 1 == node.incoming.len()
            && selected.iter().all(|(_, selecting)| selecting == from && selecting != lost)
        {
            found.push([*lost, *beside, *from]);
        }
    }
    found
}
