//! States and transitions (AEGIS workflows).

use trefoil_ir::{MatchedOutcome, StateId, StateMachine, StateTransition, WorkflowState};
use trefoil_template::Value;

use crate::error::RunError;
use crate::event::EventKind;
use crate::key;
use crate::machine::eval::{EvalContext, EvalStop};
use crate::machine::frame::{Frame, FrameId, FrameOutcome, FrameState, MachineTask, StepStart};
use crate::machine::progress::RunningStates;
use crate::machine::trail;
use crate::machine::turn::MachineTurn;
use crate::provenance::OriginKind;
use crate::text::join_distinct;

/// Enters the initial state.
pub fn start_state_machine(
    turn: &mut MachineTurn<'_>,
    f: FrameId,
    machine: &StateMachine,
) -> Result<StepStart, EvalStop> {
    if let Some(frame) = turn.core.frames.get_mut(f) {
        let visits = machine.states.iter().map(|_| 0).collect();
        frame.doing = FrameState::StateMachine(Box::new(RunningStates { entries: 0, visits }));
    }
    enter(turn, f, machine, machine.initial, None)?;
    Ok(StepStart::Running)
}

fn enter(
    turn: &mut MachineTurn<'_>,
    f: FrameId,
    machine: &StateMachine,
    id: StateId,
    from: Option<StateId>,
) -> Result<(), EvalStop> {
    let state = &machine.states[id];
    let Some(Frame { doing: FrameState::StateMachine(running), .. }) = turn.core.frames.get_mut(f) else {
        return Ok(());
    };
    running.entries += 1;
    if running.entries > machine.max_entries {
        let message = format!("more than {} states entered; the next was `{}`", machine.max_entries, state.name);
        let error = RunError::new("MAX_TRANSITIONS_EXCEEDED", message);
        return Err(fails(turn, f, machine, from.unwrap_or(id), error));
    }
    let visits = &mut running.visits[id];
    if *visits >= state.max_visits {
        let message = format!("state `{}` entered more than {} times", state.name, state.max_visits);
        return Err(fails(turn, f, machine, id, RunError::new("MAX_STATE_VISITS_EXCEEDED", message)));
    }
    *visits += 1;
    let visit = *visits;
    set(turn, f, machine.visit, Some(Value::from(visit)));
    mark(turn, f, machine.visit, |_| trail::from_origin_kind(OriginKind::Index));
    turn.spawn_step(f, id.0, state.step, None, |path| {
        path.push_name(&key::escape_label(&state.name)).push_pass(visit);
    })
}

/// A state ended.
pub fn end_state(
    turn: &mut MachineTurn<'_>,
    f: FrameId,
    machine: &StateMachine,
    child_index: u32,
    outcome: &FrameOutcome,
) -> Result<(), EvalStop> {
    let id = StateId(child_index);
    let state = &machine.states[id];
    // These writes may be repeated after a question; the result is the same.
    let (result, failure) = match outcome {
        FrameOutcome::Done(value) => {
            set(turn, f, machine.previous_error, None);
            (value.clone(), None)
        }
        FrameOutcome::Failed(error) => (record_failure(turn, f, machine, child_index, error)?, Some(error)),
    };
    let context = turn.context_of(f, child_index, Some(&result), failure.map(|e| &*e.message));
    if let Some(transition) = find_transition(&context, state, failure.is_some())? {
        let (mut feedback, mut from) = (None, None);
        if let Some(text) = &transition.feedback {
            feedback = Some(context.render_text(text)?);
            if turn.core.traces {
                from = context.text_trail(text);
            }
        }
        let warnings = if failure.is_some() { Vec::new() } else { without_score(&context, state, transition) };
        for message in warnings {
            warn(turn, f, machine, id, message);
        }
        set(turn, f, machine.feedback, feedback);
        mark(turn, f, machine.feedback, |_| from);
        return enter(turn, f, machine, transition.target, Some(id));
    }
    if failure.is_some() {
        turn.push_task(MachineTask::Settle(f, outcome.clone()));
        return Ok(());
    }
    let failed = match &state.fails_when {
        Some(when) if state.may_end() => context.eval_condition(when)?,
        _ => false,
    };
    if !state.may_end() || failed && !state.transitions.is_empty() {
        let error = no_transition(turn, f, state, &result);
        return Err(fails(turn, f, machine, id, error));
    }
    if let (true, Some(when)) = (failed, &state.fails_when) {
        let message = format!("the run ended in state `{}` with `{}`", state.name, when.text);
        let error = RunError::new("COMMAND_FAILED", message);
        return Err(fails(turn, f, machine, id, error));
    }
    let stored = match turn.program.steps[state.step].out {
        Some(slot) => turn.read_slot(f, slot),
        None => None,
    };
    turn.succeed_try(f, stored.unwrap_or(result));
    Ok(())
}

/// Sets what may be read after a state that failed; returns the value of the state.
fn record_failure(
    turn: &mut MachineTurn<'_>,
    f: FrameId,
    machine: &StateMachine,
    child_index: u32,
    error: &RunError,
) -> Result<Value, EvalStop> {
    let state = &machine.states[StateId(child_index)];
    let value = match &state.failed {
        Some(expr) => turn.eval_context(f, None, Some(&error.message)).eval_expr(expr)?,
        None => Value::Null,
    };
    let out = turn.program.steps[state.step].out;
    set(turn, f, out, Some(value.clone()));
    set(turn, f, machine.previous_error, Some(Value::from(&*error.message)));
    for slot in [out, machine.previous_error] {
        mark(turn, f, slot, |turn| {
            trail::from_origin_kind(OriginKind::Failure(turn.ended_child(f, child_index).cloned()))
        });
    }
    Ok(value)
}

/// Warnings about transitions before the taken one that could not match, because what they compare is no score.
fn without_score(context: &EvalContext<'_>, state: &WorkflowState, taken: &StateTransition) -> Vec<String> {
    let mut warnings = Vec::new();
    for transition in &state.transitions {
        if std::ptr::eq(transition, taken) {
            break;
        }
        let Some(when) = &transition.when else { continue };
        if !matches(transition, false) {
            continue;
        }
        for missing in context.missing_scores(when) {
            let message = format!("`{}` has no {}: {}", state.name, missing.what, missing.explanation);
            if !warnings.contains(&message) {
                warnings.push(message);
            }
        }
    }
    warnings
}

/// Warns at the last visit of a state.
fn warn(turn: &mut MachineTurn<'_>, f: FrameId, machine: &StateMachine, id: StateId, message: String) {
    let located = locate_failure(turn, f, machine, id, RunError::new("", "")).into_data();
    if let (Some(key), Some(location)) = (located.key, located.location) {
        turn.emit_event(&key, location, EventKind::Warning { message });
    }
}

/// The first transition of a state that matches.
pub fn find_transition<'s>(
    context: &EvalContext<'_>,
    state: &'s WorkflowState,
    failed: bool,
) -> Result<Option<&'s StateTransition>, EvalStop> {
    for transition in &state.transitions {
        if !matches(transition, failed) {
            continue;
        }
        let is_met = match &transition.when {
            Some(when) => context.eval_condition(when)?,
            None => true,
        };
        if is_met {
            return Ok(Some(transition));
        }
    }
    Ok(None)
}

/// The run fails at a state that itself succeeded; the failure is reported at that state.
fn fails(turn: &mut MachineTurn<'_>, f: FrameId, machine: &StateMachine, id: StateId, error: RunError) -> EvalStop {
    let error = locate_failure(turn, f, machine, id, error);
    let step = &turn.program.steps[machine.states[id].step];
    if let (Some(_), Some(key)) = (&step.label, error.key.clone()) {
        turn.emit_event(&key, step.origin, EventKind::StepFailed { error: error.clone(), handled_as: "fail" });
    }
    error.into()
}

/// Sets the place of a failure to a state: the key of its last visit, and its location unless a more precise one is
/// known.
fn locate_failure(
    turn: &mut MachineTurn<'_>,
    f: FrameId,
    machine: &StateMachine,
    id: StateId,
    mut error: RunError,
) -> RunError {
    let state = &machine.states[id];
    error.location = error.location.or(Some(turn.program.steps[state.step].origin));
    let Some(frame) = turn.core.frames.get(f) else { return error };
    let visits = match &frame.doing {
        FrameState::StateMachine(running) => running.visits[id],
        _ => 0,
    };
    error.key = Some(turn.core.keys.build_key(&frame.key, |path| {
        path.push_name(&key::escape_label(&state.name)).push_pass(visits.max(1));
    }));
    error
}

fn matches(transition: &StateTransition, failed: bool) -> bool {
    match transition.takes {
        MatchedOutcome::Success => !failed,
        MatchedOutcome::Failure => failed,
        MatchedOutcome::Both => true,
    }
}

fn set(turn: &mut MachineTurn<'_>, f: FrameId, slot: Option<trefoil_ir::SlotId>, value: Option<Value>) {
    if let Some(slot) = slot {
        turn.write_slot(f, slot, value);
    }
}

fn mark(
    turn: &mut MachineTurn<'_>,
    f: FrameId,
    slot: Option<trefoil_ir::SlotId>,
    from: impl FnOnce(&MachineTurn<'_>) -> trail::OriginTrail,
) {
    if let Some(slot) = slot {
        turn.set_slot_trail(f, slot, |turn| from(turn));
    }
}

fn no_transition(turn: &MachineTurn<'_>, f: FrameId, state: &WorkflowState, result: &Value) -> RunError {
    let context = turn.eval_context(f, Some(result), None);
    let (mut unscored, mut others) = (Vec::new(), Vec::new());
    for transition in &state.transitions {
        if let Some(when) = &transition.when {
            unscored.extend(context.missing_scores(when));
            others.extend(context.describe_values(when));
        }
    }
    others.retain(|seen| !unscored.iter().any(|missing| seen.starts_with(&missing.read)));
    let mut seen: Vec<String> = unscored.into_iter().map(|missing| missing.explanation).collect();
    seen.append(&mut others);
    let seen = join_distinct(seen);
    let tried: Vec<&str> = state.transitions.iter().map(|t| &*t.text).collect();
    let mut message = format!("no transition of state `{}` matched (`{}`)", state.name, tried.join("`, `"));
    if !seen.is_empty() {
        message.push_str(": ");
        message.push_str(&seen);
    }
    let mut error =
        RunError::new("NO_TRANSITION", message).with_help("add a transition without a condition as the last one");
    error.location = state.transitions.first().map(|t| t.origin);
    error
}
