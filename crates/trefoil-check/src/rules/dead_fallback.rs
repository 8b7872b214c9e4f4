//! A fallback node that never runs.

use trefoil_ir::StepKind;
use trefoil_syntax::Severity;

use crate::rule::{Context, Group, Rule, Run};
use crate::semantic::flow::Why;
use crate::words;

pub(super) const RULE: Rule = Rule {
    name: "dead-fallback",
    group: Group::Flow,
    level: Some(Severity::Warning),
    strict: Some(Severity::Error),
    page: include_str!("dead_fallback.md"),
    run: Run::Declared(run),
};

fn run(cx: &mut Context<'_>) {
    let program = cx.model.program;
    for dead in cx.model.reach().dead.iter().filter(|d| d.why == Why::Fallback) {
        let step = &program.steps[dead.step];
        let message = format!(
            "{} never runs, because the node it replaces never runs or cannot fail",
            words::step(program, dead.step)
        );
        let mut finding = cx.finding(step.origin, message);
        for (_, _, step) in cx.model.reachable_steps() {
            let StepKind::Graph(graph) = &step.kind else { continue };
            let Some(node) = graph.nodes.iter().find(|n| n.step == dead.step) else { continue };
            for main in &node.fallback_of {
                finding = finding.label(program.steps[graph.nodes[*main].step].origin, "this node");
            }
        }
        cx.report(finding.help("fix what leads to that node, or remove the fallback"));
    }
}
