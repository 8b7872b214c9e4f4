//! Asking a person, and asking again when no transition takes the answer.
//!
//! A state that asks a person ends with an answer that leads somewhere. Which answers do is found by trying the
//! conditions of its transitions. Each question is an activity of its own, `KEY!2` being the second. Only a person is
//! asked again: where nobody answers, the refused answer is the state's result, and the run fails for it.

use std::sync::Arc;

use trefoil_ir::{HumanCall, OnTimeout, StateMachine, Step, StepKind, Takes};
use trefoil_template::{Expression, Value};

use crate::error::{Cause, RunError};
use crate::machine::eval::{EvalStop, text_of};
use crate::machine::frame::{FrameId, Outcome};
use crate::machine::lifecycle::Started;
use crate::machine::steps::state_machine;
use crate::machine::turn::Turn;
use crate::request::{HumanRequest, Request};
use crate::text::seconds;

/// Questions of one visit. Whoever answers wrongly this often is a program.
const MAX_QUESTIONS: u32 = 50;
/// Answers that are listed with a question.
const MAX_WORDS: usize = 12;

/// Asks for a person's answer.
pub fn start(turn: &mut Turn<'_>, f: FrameId, call: &HumanCall) -> Result<Started, EvalStop> {
    let Some((_, step)) = turn.step_of(f) else { return Ok(Started::Running) };
    ask(turn, f, step, call, None)?;
    Ok(Started::Running)
}

fn ask(
    turn: &mut Turn<'_>,
    f: FrameId,
    step: &Step,
    call: &HumanCall,
    refused: Option<Arc<str>>,
) -> Result<(), EvalStop> {
    let prompt = text_of(&turn.context(f, None, None).passing(&call.prompt)?);
    let request = HumanRequest {
        step: turn.labels(f).last().cloned().unwrap_or_else(|| turn.program.name.clone()),
        prompt,
        accepts: accepted(turn, f, step)?,
        refused,
        timeout_ms: call.timeout_ms,
        on_timeout: call.on_timeout.clone(),
    };
    turn.effect(f, Request::Human(request));
    if let Some(ms) = call.timeout_ms {
        turn.effect_within(f, ms);
    }
    Ok(())
}

/// Nobody answered in time: the default answers, or the step fails.
pub fn unanswered(turn: &mut Turn<'_>, f: FrameId, call: &HumanCall) -> Outcome {
    let label = turn.labels(f).last().cloned().unwrap_or_else(|| turn.program.name.clone());
    let aside = turn.core.frames.get(f).and_then(|frame| frame.aside.as_deref());
    let refused = aside.is_some_and(|aside| aside.refused.is_some());
    match &call.on_timeout {
        OnTimeout::Answer(default) if !refused => Outcome::Done(Value::Str(default.clone())),
        _ => {
            let limit = seconds(call.timeout_ms.unwrap_or_default());
            let message = format!("`{label}` was not answered within {limit}");
            let error = RunError::new("HUMAN_TIMEOUT", message).cause(Cause::Timeout);
            let help = format!("answer it with `--answer {label}=VALUE`, raise its time limit, or set a default");
            Outcome::Failed(Box::new(error.help(help)))
        }
    }
}

/// An answer came. None: it leads nowhere, and the question is asked again.
pub fn answered(
    turn: &mut Turn<'_>,
    f: FrameId,
    step: &Step,
    call: &HumanCall,
    outcome: &Outcome,
) -> Result<Option<Outcome>, EvalStop> {
    let Some(frame) = turn.core.frames.get(f) else { return Ok(None) };
    let refused = frame.aside.as_ref().and_then(|aside| aside.refused.clone());
    let answer = match (outcome, refused) {
        // Nobody is there to answer better.
        (Outcome::Failed(_), Some(refused)) => return Ok(Some(Outcome::Done(refused))),
        (Outcome::Failed(error), None) => {
            let mut error = error.clone();
            let at = step.policy.timeout_at.filter(|_| error.cause == Some(Cause::Timeout));
            error.location = error.location.or(at);
            return Ok(Some(Outcome::Failed(error)));
        }
        (Outcome::Done(answer), _) => answer.clone(),
    };
    let next = frame.attempt + 1;
    if next > MAX_QUESTIONS || leads_on(turn, f, step, &answer)? {
        return Ok(Some(outcome.clone()));
    }
    let base = frame_base(turn, f);
    let key = base.map(|base| {
        turn.core.keys.make(&base, |path| {
            path.attempt(next);
        })
    });
    let text: Arc<str> = (&*answer.to_text()).into();
    if let (Some(frame), Some(key)) = (turn.core.frames.get_mut(f), key) {
        frame.attempt = next;
        frame.key = key;
        frame.aside.get_or_insert_default().refused = Some(answer);
    }
    ask(turn, f, step, call, Some(text))?;
    Ok(None)
}

fn frame_base(turn: &Turn<'_>, f: FrameId) -> Option<crate::key::Key> {
    turn.core.frames.get(f).map(|frame| frame.base.clone())
}

/// The machine of states that a step is a state of, where some of that state's transitions may take an answer.
fn around<'p>(turn: &Turn<'p>, f: FrameId) -> Option<(FrameId, &'p StateMachine, usize)> {
    let frame = turn.core.frames.get(f)?;
    let parent = frame.parent?;
    let (_, above) = turn.step_of(parent)?;
    let StepKind::StateMachine(machine) = &above.kind else { return None };
    let place = frame.place as usize;
    let state = machine.states.get(place)?;
    let takes = !state.may_end() && state.transitions.iter().any(|t| t.takes != Takes::Failure);
    takes.then_some((parent, machine, place))
}

/// Whether a transition takes an answer; true also where none has to.
fn leads_on(turn: &mut Turn<'_>, f: FrameId, step: &Step, answer: &Value) -> Result<bool, EvalStop> {
    let Some((parent, machine, place)) = around(turn, f) else { return Ok(true) };
    let Some(state) = machine.states.get(place) else { return Ok(true) };
    let value = turn.shaped(f, step, answer)?;
    // The conditions read the state's slot, so the answer is put there while they are tried.
    let slots = [(step.out, Some(value.clone())), (machine.previous_error, None)];
    let mut before = Vec::new();
    for (slot, value) in slots {
        let Some(slot) = slot else { continue };
        before.push((slot, turn.read(parent, slot)));
        turn.write(parent, slot, value);
    }
    let found = state_machine::taken(&turn.context(parent, Some(&value), None), state, false).map(|t| t.is_some());
    for (slot, value) in before {
        turn.write(parent, slot, value);
    }
    found
}

/// The answers that lead on, where they are words that the conditions name; empty where any other answer does as well.
fn accepted(turn: &mut Turn<'_>, f: FrameId, step: &Step) -> Result<Vec<Arc<str>>, EvalStop> {
    let Some((_, machine, place)) = around(turn, f) else { return Ok(Vec::new()) };
    let Some(state) = machine.states.get(place) else { return Ok(Vec::new()) };
    let mut words = Vec::new();
    for when in state.transitions.iter().filter_map(|t| t.when.as_ref()) {
        named(when.condition.expression(), &mut words);
    }
    words.truncate(MAX_WORDS);
    if words.is_empty() || leads_on(turn, f, step, &Value::from("\u{fffd}"))? {
        return Ok(Vec::new());
    }
    let mut accepted: Vec<Arc<str>> = Vec::new();
    for word in words {
        if !accepted.contains(&word) && leads_on(turn, f, step, &Value::Str(word.clone()))? {
            accepted.push(word);
        }
    }
    Ok(accepted)
}

/// The words that a condition compares with. Of a list of spellings, the first stands for all.
fn named(expression: &Expression, words: &mut Vec<Arc<str>>) {
    match expression {
        Expression::Literal(Value::Str(word), _) if !word.trim().is_empty() => words.push(word.clone()),
        Expression::List(items) => items.iter().take(1).for_each(|e| named(e, words)),
        Expression::And(all) | Expression::Or(all) | Expression::Compare(all, _) | Expression::Call(_, all) => {
            all.iter().for_each(|e| named(e, words));
        }
        Expression::Not(inner) => named(inner, words),
        _ => {}
    }
}
