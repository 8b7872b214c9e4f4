//! A fallback node that never runs.

use trefoil_ir::StepKind;
use trefoil_syntax::FindingSeverity;

use crate::rule::{Rule, RuleContext, RuleGroup, RuleSource};
use crate::semantic::reachability::DeadStepReason;
use crate::words;

pub(super) const RULE: Rule = Rule {
    name: "dead-fallback",
    group: RuleGroup::Flow,
    level: Some(FindingSeverity::Warning),
    strict: Some(FindingSeverity::Error),
    page: include_str!("dead_fallback.md"),
    run: RuleSource::Declared(run),
};

fn run(cx: &mut RuleContext<'_>) {
    let program = cx.model.program;
    for dead in cx.model.reach_analysis().dead.iter().filter(|d| d.why == DeadStepReason::Fallback) {
        let step = &program.steps[dead.step];
        let message = format!(
            "{} never runs, because the node it replaces never runs or cannot fail",
            words::step_name(program, dead.step)
        );
        let mut finding = cx.new_finding(step.origin, message);
        for (_, _, step) in cx.model.reachable_steps() {
            let StepKind::Graph(graph) = &step.kind else { continue };
            let Some(node) = graph.nodes.iter().find(|n| n.step == dead.step) else { continue };
            for main in &node.fallback_of {
                finding = finding.with_label(program.steps[graph.nodes[*main].step].origin, "this node");
            }
        }
        cx.report_finding(finding.with_help("fix what leads to that node, or remove the fallback"));
    }
}
