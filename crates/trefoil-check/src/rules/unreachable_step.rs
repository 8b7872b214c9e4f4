//! A step, state or node that no run begins.

use trefoil_syntax::Severity;

use crate::rule::{Context, Group, Rule, Run};
use crate::semantic::flow::Why;
use crate::words;

pub(super) const RULE: Rule = Rule {
    name: "unreachable-step",
    group: Group::Flow,
    level: Some(Severity::Warning),
    strict: Some(Severity::Error),
    page: include_str!("unreachable_step.md"),
    run: Run::Program(run),
};

fn run(cx: &mut Context<'_>) {
    let program = cx.model.program;
    for dead in &cx.model.reach().dead {
        let Some(step) = program.step(dead.step) else { continue };
        let name = words::step(program, dead.step);
        let (what, there, help) = match dead.why {
            Why::When => ("its condition can never hold", "this is never true", "mend the condition, or take the step out"),
            Why::Arm => ("a condition before it always holds", "this is always true", "put it first, or take it out"),
            Why::Before => ("the step before it never ends well", "this fails whenever it runs", "mend that step"),
            Why::Edges => (
                "no edge to it can be taken",
                "this can never hold",
                "mend the condition of one edge, or take the node out",
            ),
            Why::Transitions => (
                "no transition to it can be taken",
                "never taken",
                "move that transition up, or mend its condition",
            ),
            Why::Empty => ("the list it is done for is empty", "over nothing", "name a list with items"),
            // `dead-fallback` tells.
            Why::Fallback => continue,
        };
        let mut finding = cx.finding(step.origin, format!("{name} never runs: {what}")).help(help);
        if let Some(at) = dead.at.filter(|at| *at != step.origin) {
            finding = finding.label(at, there);
        }
        cx.report(finding);
    }
}
