//! A step, state or node that never runs.

use trefoil_ir::{State, StateMachine, StepId};
use trefoil_syntax::{Location, Severity};

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
        let step = &program.steps[dead.step];
        let name = words::step(program, dead.step);
        let (what, there, help) = match dead.why {
            Why::When => ("its condition is never true", "this is never true", "fix the condition, or remove the step"),
            Why::Arm => ("an earlier condition is always true", "this is always true", "move this step first, or remove it"),
            Why::Before => ("the step before it always fails", "this fails every time", "fix that step"),
            Why::Edges => (
                "no edge to it can be taken",
                "this is never true",
                "fix the condition of one edge, or remove the node",
            ),
            Why::Transitions => (
                "no transition to it can be taken",
                "never taken",
                "move that transition up, or fix its condition",
            ),
            Why::Empty => ("its list is empty", "empty list", "use a list that has items"),
            // Reported by `dead-fallback`.
            Why::Fallback => continue,
        };
        let cause = dead.at.filter(|at| *at != step.origin);
        // If its own condition is the cause, report the condition; otherwise anything may be wrong, so report the step.
        let own = dead.why == Why::When;
        let at = cause.filter(|_| own).unwrap_or(step.origin);
        let mut finding = cx.finding(at, format!("{name} never runs: {what}")).help(help);
        if let Some(at) = cause {
            finding = if own { finding.label(step.origin, "this never runs") } else { finding.label(at, there) };
        }
        let led: Vec<Location> = if dead.why == Why::Transitions { leading(cx, dead.step) } else { Vec::new() };
        cx.report_by(finding, &led);
    }
}

/// The states with a transition to this one.
fn leading(cx: &Context<'_>, state: StepId) -> Vec<Location> {
    let to = |machine: &StateMachine| machine.states.position(|s| s.step == state);
    let Some((machine, to)) = cx.model.machines().into_iter().find_map(|(m, _)| Some((m, to(m)?))) else {
        return Vec::new();
    };
    let leads = |s: &&State| s.transitions.iter().any(|t| t.target == to);
    machine.states.iter().filter(leads).map(|s| cx.model.program.steps[s.step].origin).collect()
}
