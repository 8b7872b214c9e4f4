//! A step, state or node that never runs.

use trefoil_ir::{WorkflowState, StateMachine, StepId};
use trefoil_syntax::{Location, FindingSeverity};

use crate::rule::{RuleContext, RuleGroup, Rule, RuleSource};
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
            DeadStepReason::When => ("its condition is never true", "this is never true", "fix the condition, or remove the step"),
            DeadStepReason::Arm => ("an earlier condition is always true", "this is always true", "move this step first, or remove it"),
            DeadStepReason::Before => ("the step before it always fails", "this fails every time", "fix that step"),
            DeadStepReason::Edges => (
                "no edge to it can be taken",
                "this is never true",
                "fix the condition of one edge, or remove the node",
            ),
            DeadStepReason::Transitions => (
                "no transition to it can be taken",
                "never taken",
                "move that transition up, or fix its condition",
            ),
            DeadStepReason::Empty => ("its list is empty", "empty list", "use a list that has items"),
            // Reported by `dead-fallback`.
            DeadStepReason::Fallback => continue,
        };
        let cause = dead.at.filter(|at| *at != step.origin);
        // If its own condition is the cause, report the condition; otherwise anything may be wrong, so report the step.
        let own = dead.why == DeadStepReason::When;
        let at = cause.filter(|_| own).unwrap_or(step.origin);
        let mut finding = cx.new_finding(at, format!("{name} never runs: {what}")).with_help(help);
        if let Some(at) = cause {
            finding = if own { finding.with_label(step.origin, "this never runs") } else { finding.with_label(at, there) };
        }
        let led: Vec<Location> = if dead.why == DeadStepReason::Transitions { leading(cx, dead.step) } else { Vec::new() };
        cx.report_by(finding, &led);
    }
}

/// The states with a transition to this one.
fn leading(cx: &RuleContext<'_>, state: StepId) -> Vec<Location> {
    let to = |machine: &StateMachine| machine.states.find_id(|s| s.step == state);
    let Some((machine, to)) = cx.model.state_machines().into_iter().find_map(|(m, _)| Some((m, to(m)?))) else {
        return Vec::new();
    };
    let leads = |s: &&WorkflowState| s.transitions.iter().any(|t| t.target == to);
    machine.states.iter().filter(leads).map(|s| cx.model.program.steps[s.step].origin).collect()
}
