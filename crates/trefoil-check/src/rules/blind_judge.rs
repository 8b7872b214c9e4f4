//! A model whose answer decides whether a loop continues, but which does not see the results of the loop.

use trefoil_ir::walk::{callees, children};
use trefoil_ir::{Flow, Program, SlotId, State, StateMachine, StepId, StepKind, Transition, walk};
use trefoil_syntax::Severity;

use crate::rule::{Context, Group, Rule, Run};
use crate::semantic::visits::knots;

pub(super) const RULE: Rule = Rule {
    name: "blind-judge",
    group: Group::Flow,
    level: Some(Severity::Warning),
    strict: Some(Severity::Error),
    page: include_str!("blind_judge.md"),
    run: Run::Declared(run),
};

/// The maximum number of steps examined for one state.
const MOST: usize = 64;

fn run(cx: &mut Context<'_>) {
    let model = cx.model;
    for &(flow, id) in model.reachable() {
        let Some(StepKind::StateMachine(machine)) = model.program.step(id).map(|s| &s.kind) else { continue };
        let Some(declared) = model.program.flow(flow) else { continue };
        for (state, other) in blind(model.program, declared, machine) {
            let Some(step) = model.program.step(state.step) else { continue };
            let message = format!("`{}` decides whether to repeat, but does not see what `{}` made", state.name, other.name);
            let d = cx.finding(step.origin, message);
            cx.report(d.help(format!("read the result of `{}` in its input", other.name)));
        }
    }
}

/// States that decide about a loop but read nothing from it, each with another state of that loop.
fn blind<'p>(program: &Program, declared: &Flow, machine: &'p StateMachine) -> Vec<(&'p State, &'p State)> {
    let next: Vec<Vec<usize>> = machine.states.iter().map(|s| s.transitions.iter().map(|t| t.target.index()).collect()).collect();
    let mut found = Vec::new();
    for knot in knots(&next).into_iter().filter(|knot| knot.len() > 1) {
        let states = || knot.iter().filter_map(|at| machine.states.get(*at));
        for state in states().filter(|state| decides(program, state, &knot)) {
            let other = states().filter(|other| other.step != state.step);
            let other = other.min_by_key(|other| program.step(other.step).map(|s| s.origin.span.start));
            if let Some(other) = other.filter(|_| !reads_anything(program, declared, state)) {
                found.push((state, other));
            }
        }
    }
    found
}

/// Whether the answer of a model without other input than its prompt decides if the loop continues after a state.
fn decides(program: &Program, state: &State, knot: &[usize]) -> bool {
    let own = program.step(state.step).and_then(|step| step.out);
    let on_itself = |t: &Transition| {
        let sources = t.when.iter().flat_map(|when| &when.sources);
        sources.flat_map(|source| source.slots()).any(|slot| Some(slot) == own)
    };
    let back = state.transitions.iter().any(|t| knot.contains(&t.target.index()));
    back && state.transitions.iter().any(on_itself) && asks_a_model_alone(program, state.step)
}

/// Whether the result of a step comes only from models without tools.
fn asks_a_model_alone(program: &Program, step: StepId) -> bool {
    let mut stack = vec![step];
    let mut asks = false;
    for _ in 0..MOST {
        let Some(step) = stack.pop() else { return asks };
        let Some(step) = program.step(step) else { return false };
        match &step.kind {
            StepKind::Model(_) => asks = true,
            StepKind::Tool(_)
            | StepKind::Command(_)
            | StepKind::Human(_)
            | StepKind::Conversation(_)
            | StepKind::Refused(_) => return false,
            _ => {}
        }
        stack.extend(children(step));
        stack.extend(callees(step).into_iter().filter_map(|flow| Some(program.flow(flow)?.body)));
    }
    false
}

/// Whether a state reads anything other than the flow's input.
fn reads_anything(program: &Program, declared: &Flow, state: &State) -> bool {
    let raw = declared.intake.raw.as_ref().map(|raw| raw.0);
    let given = |slot: &SlotId| *slot == declared.intake.slot || Some(*slot) == raw;
    let mut reads = false;
    let mut stack = vec![state.step];
    for _ in 0..MOST {
        let Some(step) = stack.pop().and_then(|id| program.step(id)) else { return reads };
        for evaluated in walk::evaluated(step) {
            evaluated.sources(&mut |source| reads |= !source.slots().iter().all(given));
        }
        stack.extend(children(step));
    }
    true
}
