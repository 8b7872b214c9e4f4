//! A model whose answer decides whether a loop continues, but which does not see the results of the loop.

use trefoil_ir::walk::{callees_of, children_of};
use trefoil_ir::{FlowDefinition, Program, SlotId, WorkflowState, StateId, StateMachine, StepId, StepKind, StateTransition, walk};
use trefoil_syntax::FindingSeverity;

use crate::rule::{RuleContext, RuleGroup, Rule, RuleSource};
use crate::semantic::visits::strong_components;

pub(super) const RULE: Rule = Rule {
    name: "blind-judge",
    group: RuleGroup::Flow,
    level: Some(FindingSeverity::Warning),
    strict: Some(FindingSeverity::Error),
    page: include_str!("blind_judge.md"),
    run: RuleSource::Declared(run),
};

/// The maximum number of steps examined for one state.
const MOST: usize = 64;

fn run(cx: &mut RuleContext<'_>) {
    let model = cx.model;
    for (flow, _, step) in model.reachable_steps() {
        let StepKind::StateMachine(machine) = &step.kind else { continue };
        let declared = &model.program.flows[flow];
        for (state, other) in blind(model.program, declared, machine) {
            let step = &model.program.steps[state.step];
            let message = format!("`{}` decides whether to repeat, but does not see what `{}` made", state.name, other.name);
            let d = cx.new_finding(step.origin, message);
            cx.report_finding(d.with_help(format!("read the result of `{}` in its input", other.name)));
        }
    }
}

/// States that decide about a loop but read nothing from it, each with another state of that loop.
fn blind<'p>(program: &Program, declared: &FlowDefinition, machine: &'p StateMachine) -> Vec<(&'p WorkflowState, &'p WorkflowState)> {
    let next = machine.states.map(|s| s.transitions.iter().map(|t| t.target).collect());
    let mut found = Vec::new();
    for knot in strong_components(&next).into_iter().filter(|knot| knot.len() > 1) {
        let states = || knot.iter().map(|id| &machine.states[*id]);
        for state in states().filter(|state| decides(program, state, &knot)) {
            let other = states().filter(|other| other.step != state.step);
            let other = other.min_by_key(|other| program.steps[other.step].origin.span.start);
            if let Some(other) = other.filter(|_| !reads_anything(program, declared, state)) {
                found.push((state, other));
            }
        }
    }
    found
}

/// Whether the answer of a model without other input than its prompt decides if the loop continues after a state.
fn decides(program: &Program, state: &WorkflowState, knot: &[StateId]) -> bool {
    let own = program.steps[state.step].out;
    let on_itself = |t: &StateTransition| {
        let sources = t.when.iter().flat_map(|when| &when.sources);
        sources.flat_map(|source| source.slot_ids()).any(|slot| Some(slot) == own)
    };
    let back = state.transitions.iter().any(|t| knot.contains(&t.target));
    back && state.transitions.iter().any(on_itself) && asks_a_model_alone(program, state.step)
}

/// Whether the result of a step comes only from models without tools.
fn asks_a_model_alone(program: &Program, step: StepId) -> bool {
    let mut stack = vec![step];
    let mut asks = false;
    for _ in 0..MOST {
        let Some(step) = stack.pop() else { return asks };
        let step = &program.steps[step];
        match &step.kind {
            StepKind::Model(_) => asks = true,
            StepKind::Tool(_)
            | StepKind::Command(_)
            | StepKind::Human(_)
            | StepKind::Conversation(_)
            | StepKind::Refused(_) => return false,
            _ => {}
        }
        stack.extend(children_of(step));
        stack.extend(callees_of(step).into_iter().map(|flow| program.flows[flow].body));
    }
    false
}

/// Whether a state reads anything other than the flow's input.
fn reads_anything(program: &Program, declared: &FlowDefinition, state: &WorkflowState) -> bool {
    let raw = declared.intake.raw.as_ref().map(|raw| raw.0);
    let given = |slot: &SlotId| *slot == declared.intake.slot || Some(*slot) == raw;
    let mut reads = false;
    let mut stack = vec![state.step];
    while let Some(id) = stack.pop() {
        let step = &program.steps[id];
        for evaluated in walk::evaluated_by_step(step) {
            evaluated.visit_sources(&mut |source| reads |= !source.slot_ids().iter().all(given));
        }
        stack.extend(children_of(step));
    }
    reads
}
