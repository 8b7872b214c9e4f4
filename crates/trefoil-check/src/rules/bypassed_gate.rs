//! A condition on an edge without effect, because another edge leads past it.

use trefoil_ir::{GraphNode, NodeId, StepKind};
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
    for (_, _, step) in cx.model.reachable_steps() {
        let StepKind::Graph(graph) = &step.kind else { continue };
        let order = Order::of(graph);
        let name = |id: NodeId| words::step(program, graph.nodes[id].step);
        for (id, node) in graph.nodes.entries() {
            for gate in &node.incoming {
                let Some(when) = &gate.when else { continue };
                let Some(past) = past(&order, node, gate.from) else { continue };
                let [node, gated, past] = [id, gate.from, past].map(name);
                let message =
                    format!("this condition does not keep {node} from running: the edge from {past} leads past {gated}");
                let d = cx.finding(when.origin, message);
                cx.report(d.help(format!("remove the edge from {past} to {node}, or this condition")));
            }
        }
    }
}

/// The node before a gate that has an unconditional edge past it.
fn past(order: &Order, node: &GraphNode, gate: NodeId) -> Option<NodeId> {
    let mut free = node.incoming.iter().filter(|edge| edge.when.is_none()).map(|edge| edge.from);
    // An unconditional edge from the gate itself is reported separately.
    if free.clone().any(|from| from == gate) {
        return None;
    }
    free.find(|from| order.precedes(*from, gate))
}
