//! A condition on an edge without effect, because another edge leads past it.

use trefoil_ir::{GraphNode, NodeId, StepKind};
use trefoil_syntax::FindingSeverity;

use crate::rule::{Rule, RuleContext, RuleGroup, RuleSource};
use crate::semantic::concurrency::NodeOrder;
use crate::words;

pub(super) const RULE: Rule = Rule {
    name: "bypassed-gate",
    group: RuleGroup::Flow,
    level: Some(FindingSeverity::Warning),
    strict: Some(FindingSeverity::Error),
    page: include_str!("bypassed_gate.md"),
    run: RuleSource::Declared(run),
};

fn run(cx: &mut RuleContext<'_>) {
    let program = cx.model.program;
    for (_, _, step) in cx.model.reachable_steps() {
        let StepKind::Graph(graph) = &step.kind else { continue };
        let order = NodeOrder::from_graph(graph);
        let name = |id: NodeId| words::step_name(program, graph.nodes[id].step);
        for (id, node) in graph.nodes.entries() {
            for gate in &node.incoming {
                let Some(when) = &gate.when else { continue };
                let Some(past) = past(&order, node, gate.from) else { continue };
                let [node, gated, past] = [id, gate.from, past].map(name);
                let message = format!(
                    "this condition does not keep {node} from running: the edge from {past} leads past {gated}"
                );
                let d = cx.new_finding(when.origin, message);
                cx.report_finding(d.with_help(format!("remove the edge from {past} to {node}, or this condition")));
            }
        }
    }
}

/// The node before a gate that has an unconditional edge past it.
fn past(order: &NodeOrder, node: &GraphNode, gate: NodeId) -> Option<NodeId> {
    let mut free = node.incoming.iter().filter(|edge| edge.when.is_none()).map(|edge| edge.from);
    // An unconditional edge from the gate itself is reported separately.
    if free.clone().any(|from| from == gate) {
        return None;
    }
    free.find(|from| order.is_before(*from, gate))
}
