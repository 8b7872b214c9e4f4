//! A step, state or node that never runs.

use trefoil_ir::StepId;
use trefoil_syntax::{FindingSeverity, Location};

use crate::rule::{Rule, RuleContext, RuleGroup, RuleSource};
use crate::semantic::reachability::DeadStepReason;
use crate::words;

pub(super) const RULE: Rule = Rule {
    name: "unreachable-step",
    group: RuleGroup::Flow,
    level: Some(FindingSeverity::Warning),
    strict: Some(FindingSeverity::Error),
    page: include_str!("unreachable_step.md"),
    run: RuleSource::Program(run),
};

fn run(cx: &mut RuleContext<'_>) {
    let program = cx.model.program;
    for dead in &cx.model.reach_analysis().dead {
        let step = &program.steps[dead.step];
        let name = words::step_name(program, dead.step);
        let (what, there, help) = match dead.why {
            DeadStepReason::When => {
                ("its condition is never true", "this is never true", "fix the condition, or remove the step")
            }
            DeadStepReason::Arm => {
                ("an earlier condition is always true", "this is always true", "move this step first, or remove it")
            }
            DeadStepReason::Before => ("the step before it always fails", "this fails every time", "fix that step"),
            DeadStepReason::Edges => (
                "no edge to it can be taken",
                "this is never true",
                "fix the condition of one edge, or remove the node",
            ),
            DeadStepReason::Transitions => {
                ("no transition to it can be taken", "never taken", "move that transition up, or fix its condition")
            }
            DeadStepReason::Empty => ("its list is empty", "empty list", "use a list that has items"),
            // Reported by `dead-fallback`.
            DeadStepReason::Fallback => continue,
        };
        let (message, at) = (format!("{name} never runs: {what}"), step.origin);
        let finding = match dead.at {
            // If its own condition is the cause, report the condition; otherwise anything may be wrong, so report the step.
            Some(cause) if cause != at && dead.why == DeadStepReason::When => {
                cx.new_finding(cause, message).with_label(at, "this never runs")
            }
            Some(cause) if cause != at => cx.new_finding(at, message).with_label(cause, there),
            _ => cx.new_finding(at, message),
        };
        let led: Vec<Location> =
            if dead.why == DeadStepReason::Transitions { leading(cx, dead.step) } else { Vec::new() };
        cx.report_by(finding.with_help(help), &led);
    }
}

/// The states with a transition to this one.
fn leading(cx: &RuleContext<'_>, state: StepId) -> Vec<Location> {
    let mut places = Vec::new();
    for (machine, _) in cx.model.state_machines() {
        let Some(to) = machine.states.find_id(|s| s.step == state) else { continue };
        for from in &machine.states {
            if from.transitions.iter().any(|t| t.target == to) {
                places.push(cx.model.program.steps[from.step].origin);
            }
        }
        break;
    }
    places
}
