//! A node without edges in a graph with edges, and a node that lost the edge that decided whether it runs.

use trefoil_ir::{Graph, StepKind};
use trefoil_syntax::Severity;

use crate::rule::{Context, Group, Rule, Run};
use crate::words;

pub(super) const RULE: Rule = Rule {
    name: "unconnected-node",
    group: Group::Flow,
    level: Some(Severity::Info),
    strict: Some(Severity::Warning),
    page: include_str!("unconnected_node.md"),
    run: Run::Whole(run),
};

fn run(cx: &mut Context<'_>) {
    let program = cx.model.program;
    for &(_, id) in cx.model.reachable() {
        let Some(StepKind::Graph(graph)) = program.step(id).map(|s| &s.kind) else { continue };
        for at in apart(graph) {
            let Some(step) = graph.nodes.get(at).map(|n| n.step) else { continue };
            let Some(origin) = program.step(step).map(|s| s.origin) else { continue };
            let name = words::step(program, step);
            let waits = graph.nodes.get(at).is_some_and(|n| !n.after.is_empty());
            let when = if waits { "as soon as the values it reads exist" } else { "at the start" };
            let message = format!("{name} has no edges, so it always runs, {when}");
            let finding = cx.finding(origin, message);
            cx.report(finding.help("add an edge if it should run after another node"));
        }
        for (at, beside, from) in undecided(graph) {
            let steps = [at, beside, from].map(|at| graph.nodes.get(at).map(|n| n.step));
            let [Some(step), Some(beside), Some(from)] = steps else { continue };
            let Some(origin) = program.step(step).map(|s| s.origin) else { continue };
            let [name, beside, from] = [step, beside, from].map(|step| words::step(program, step));
            let message = format!("no edge leads to {name}, so it always runs, although {beside} has a condition");
            cx.report(cx.finding(origin, message).help(format!("add an edge from {from} with a condition")));
        }
    }
}

/// The nodes without edges, in a graph that has edges.
fn apart(graph: &Graph) -> Vec<usize> {
    if graph.nodes.iter().all(|n| n.incoming.is_empty()) {
        return Vec::new();
    }
    let mut connected = vec![false; graph.nodes.len()];
    let mut connect = |at: usize| {
        if let Some(place) = connected.get_mut(at) {
            *place = true;
        }
    };
    for (at, node) in graph.nodes.iter().enumerate() {
        let others = node.incoming.iter().map(|e| e.from);
        let others = others.chain(node.fallback_of.iter().copied()).chain(node.fallback);
        for other in others {
            connect(other.index());
            connect(at);
        }
    }
    connected.iter().enumerate().filter(|(_, c)| !**c).map(|(at, _)| at).collect()
}

/// Nodes without an incoming edge next to nodes that one node selects between, where all lead to the same node. Each is
/// returned with one of those and with the selecting node.
fn undecided(graph: &Graph) -> Vec<(usize, usize, usize)> {
    let decided = |at: usize| {
        let [edge] = graph.nodes.get(at)?.incoming.as_slice() else { return None };
        edge.when.as_ref().map(|_| edge.from.index())
    };
    let lost = |at: usize| {
        let node = graph.nodes.get(at)?;
        (node.incoming.is_empty() && node.fallback_of.is_empty()).then_some(at)
    };
    let mut found = Vec::new();
    for node in &graph.nodes {
        let before: Vec<usize> = node.incoming.iter().map(|edge| edge.from.index()).collect();
        let lost: Vec<usize> = before.iter().filter_map(|at| lost(*at)).collect();
        let others: Vec<(usize, usize)> = before.iter().filter_map(|at| Some((*at, decided(*at)?))).collect();
        if let ([one], [(beside, from), _, ..]) = (lost.as_slice(), others.as_slice())
            && others.len() + 1 == before.len()
            && others.iter().all(|(_, other)| other == from && other != one)
        {
            found.push((*one, *beside, *from));
        }
    }
    found
}
