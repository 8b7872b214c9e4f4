//! A condition on an edge without effect, because another edge leads past it.

use trefoil_ir::{Edge, Graph, StepKind};
use trefoil_syntax::Severity;

use crate::rule::{Context, Group, Rule, Run};
use crate::semantic::meeting::Order;
use crate::words;

pub(super) const RULE: Rule = Rule {
    name: "bypassed-gate",
    group: Group::Flow,
    level: Some(Severity::Warning),
    strict: Some(Severity::Error),
    page: include_str!("bypassed_gate.md"),
    run: Run::Declared(run),
};

fn run(cx: &mut Context<'_>) {
    let program = cx.model.program;
    for &(_, at) in cx.model.reachable() {
        let Some(StepKind::Graph(graph)) = program.step(at).map(|s| &s.kind) else { continue };
        let order = Order::of(graph);
        let name = |at: usize| graph.nodes.get(at).map(|n| words::step(program, n.step));
        for (at, node) in graph.nodes.iter().enumerate() {
            for (gate, past) in node.incoming.iter().filter_map(|gate| Some((gate, past(graph, &order, at, gate)?))) {
                let names = (name(at), name(gate.from.index()), name(past));
                let ((Some(node), Some(gated), Some(past)), Some(when)) = (names, &gate.when) else { continue };
                let message =
                    format!("this condition does not keep {node} from running: the edge from {past} leads past {gated}");
                let d = cx.finding(when.origin, message);
                cx.report(d.help(format!("remove the edge from {past} to {node}, or this condition")));
            }
        }
    }
}

/// The node before a gate that has an unconditional edge past it.
fn past(graph: &Graph, order: &Order, node: usize, gate: &Edge) -> Option<usize> {
    gate.when.as_ref()?;
    let free = graph.nodes.get(node)?.incoming.iter().filter(|edge| edge.when.is_none());
    let from = gate.from.index();
    // An unconditional edge from the gate itself is reported separately.
    let mut free: Vec<usize> = free.map(|edge| edge.from.index()).collect();
    if free.contains(&from) {
        return None;
    }
    free.retain(|other| order.precedes(*other, from));
    free.first().copied()
}
