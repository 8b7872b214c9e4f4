//! A node that edges connect with no other, in a graph that has edges.

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
            let message = format!("{name} has no edges, so it runs in every run, {when}");
            let finding = cx.finding(origin, message);
            cx.report(finding.help("add an edge if it should run after another node"));
        }
    }
}

/// The nodes that no edge connects with another, where edges connect others.
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
