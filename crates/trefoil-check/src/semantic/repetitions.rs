//! Which steps a run may start more than once, and what repeats them: retries, loops, iterations, cycles of states.
//!
//! The items of a fan-out are not repetitions: each is another call. Neither are the turns of a conversation, because the model
//! decides about each call.

use std::sync::Arc;

use trefoil_ir::{FlowId, Program, Step, StepId, StepKind, walk};
use trefoil_syntax::hash::HashMap;

use super::visits::MachinePaths;

/// What starts a step again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RepetitionCause {
    /// Retries of the step itself after a failure: the number of tries.
    Retry(u32),
    /// Retries of a step around it: its name, and the number of tries.
    RetryAround(Arc<str>, u32),
    /// Passes of a loop.
    Loop(u32),
    /// Iterations until an answer is valid.
    Attempts(u32),
    /// Transitions that lead back to its state.
    State(Arc<str>),
}

/// The steps that may be started more than once by a run that starts at one of these flows. The innermost cause counts.
pub fn find_repetitions(program: &Program, roots: &[FlowId]) -> HashMap<StepId, RepetitionCause> {
    let mut found = HashMap::default();
    // For each flow: whether it was looked at as something that runs once, and as something that is repeated.
    let mut seen = program.flows.map(|_| [false; 2]);
    let mut next: Vec<(FlowId, Option<RepetitionCause>)> = roots.iter().map(|root| (*root, None)).collect();
    while let Some((id, around)) = next.pop() {
        let [once, repeated] = &mut seen[id];
        if std::mem::replace(if around.is_some() { repeated } else { once }, true) {
            continue;
        }
        let mut steps = vec![(program.flows[id].body, around)];
        while let Some((at, around)) = steps.pop() {
            let step = &program.steps[at];
            let own = own(step);
            if let Some(again) = own.clone().or(around.clone()) {
                found.entry(at).or_insert(again);
            }
            let inside = within(step).or(around_children(step, own)).or(around);
            for flow in walk::callees_of(step) {
                next.push((flow, inside.clone()));
            }
            steps.extend(children(step, &inside));
        }
    }
    found
}

/// What repeats a step by itself.
fn own(step: &Step) -> Option<RepetitionCause> {
    let tries = step.policy.retry.as_ref()?.max_attempts;
    if tries > 1 { Some(RepetitionCause::Retry(tries)) } else { None }
}

/// The same for what is inside of it.
fn around_children(step: &Step, own: Option<RepetitionCause>) -> Option<RepetitionCause> {
    match own? {
        RepetitionCause::Retry(tries) => {
            Some(RepetitionCause::RetryAround(step.label.clone().unwrap_or_default(), tries))
        }
        other => Some(other),
    }
}

/// What a step repeats.
fn within(step: &Step) -> Option<RepetitionCause> {
    match &step.kind {
        StepKind::Loop(it) if it.max > 1 => Some(RepetitionCause::Loop(it.max)),
        StepKind::Attempts(it) if it.max > 1 => Some(RepetitionCause::Attempts(it.max)),
        _ => None,
    }
}

fn children(step: &Step, inside: &Option<RepetitionCause>) -> Vec<(StepId, Option<RepetitionCause>)> {
    let StepKind::StateMachine(machine) = &step.kind else {
        return walk::children_of(step).into_iter().map(|child| (child, inside.clone())).collect();
    };
    let ways = MachinePaths::from_machine(machine);
    let mut states = Vec::with_capacity(machine.states.len());
    for (id, state) in machine.states.entries() {
        let again =
            if ways.max_visits(id) > 1 { Some(RepetitionCause::State(state.name.clone())) } else { inside.clone() };
        states.push((state.step, again));
    }
    states
}
