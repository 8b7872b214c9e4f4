//! Asks a person, and asks again if no transition matches the answer.
//!
//! A state that asks a person must end with an answer that a transition matches. This is determined by evaluating the
//! conditions of its transitions. Each question is a separate activity, `KEY!2` being the second. Only a person is
//! asked again: if nobody answers, the rejected answer is the state's result, and the run fails because of it.

use std::sync::Arc;

use trefoil_ir::{
    HumanCall, MatchedOutcome, OnTimeout, StateId, StateMachine, StateTransition, Step, StepKind, WorkflowState,
};
use trefoil_template::{ConditionExpression, Value};

use crate::error::{FailureCause, RunError};
use crate::machine::eval::{EvalStop, text_of};
use crate::machine::frame::{FrameId, FrameOutcome, StepStart};
use crate::machine::steps::state_machine;
use crate::machine::turn::MachineTurn;
use crate::request::{HumanRequest, Request};
use crate::text::format_seconds;

/// The maximum number of questions in one visit. Only a program gives so many invalid answers.
const MAX_QUESTIONS: u32 = 50;
/// The maximum number of accepted answers listed with a question.
const MAX_WORDS: usize = 12;

/// Requests a person's answer.
pub fn start_question(turn: &mut MachineTurn<'_>, f: FrameId, call: &HumanCall) -> Result<StepStart, EvalStop> {
    let Some((_, step)) = turn.step_of(f) else { return Ok(StepStart::Running) };
    ask(turn, f, step, call, None)?;
    Ok(StepStart::Running)
}

fn ask(
    turn: &mut MachineTurn<'_>,
    f: FrameId,
    step: &Step,
    call: &HumanCall,
    refused: Option<Arc<str>>,
) -> Result<(), EvalStop> {
    let prompt = text_of(&turn.eval_context(f, None, None).eval_uncounted(&call.prompt)?);
    let AnswerWords { accepts, choices } = answer_words(turn, f, step)?;
    let request = HumanRequest {
        step: step_label(turn, f),
        prompt,
        accepts,
        choices,
        refused,
        timeout_ms: call.timeout_ms,
        on_timeout: call.on_timeout.clone(),
        answer_by: call.timeout_ms.map(|ms| turn.core.clock.wall_at(turn.core.clock.run_now().plus_ms(ms))),
    };
    turn.request_effect(f, Request::Human(request));
    if let Some(ms) = call.timeout_ms {
        turn.effect_within(f, turn.wait_timer(ms));
    }
    Ok(())
}

fn step_label(turn: &mut MachineTurn<'_>, f: FrameId) -> Arc<str> {
    match turn.step_labels(f).last() {
        Some(label) => label.clone(),
        None => turn.program.name.clone(),
    }
}

/// Timeout: the default is used, or the step fails.
pub fn timeout_outcome(turn: &mut MachineTurn<'_>, f: FrameId, call: &HumanCall) -> FrameOutcome {
    let label = step_label(turn, f);
    let refused = matches!(turn.extras_of(f), Some(extras) if extras.refused.is_some());
    match &call.on_timeout {
        OnTimeout::Answer(default) if !refused => FrameOutcome::Done(Value::Str(default.clone())),
        _ => {
            let limit = format_seconds(call.timeout_ms.unwrap_or_default());
            let message = format!("`{label}` was not answered within {limit}");
            let error = RunError::new("HUMAN_TIMEOUT", message).with_cause(FailureCause::Timeout);
            let help = format!("answer it with `--answer {label}=VALUE`, raise its time limit, or set a default");
            FrameOutcome::Failed(Box::new(error.with_help(help)))
        }
    }
}

/// An answer has arrived. `None`: no transition matches it, and the question is asked again.
pub fn process_answer(
    turn: &mut MachineTurn<'_>,
    f: FrameId,
    step: &Step,
    call: &HumanCall,
    outcome: &FrameOutcome,
) -> Result<Option<FrameOutcome>, EvalStop> {
    let Some(frame) = turn.core.frames.get(f) else { return Ok(None) };
    let refused = match &frame.extras {
        Some(extras) => extras.refused.clone(),
        None => None,
    };
    let answer = match (outcome, refused) {
        // No person is available to give a better answer.
        (FrameOutcome::Failed(_), Some(refused)) => return Ok(Some(FrameOutcome::Done(refused))),
        (FrameOutcome::Failed(error), None) => {
            let mut error = error.clone();
            if error.cause == Some(FailureCause::Timeout) {
                error.location = error.location.or(step.policy.timeout_at);
            }
            return Ok(Some(FrameOutcome::Failed(error)));
        }
        (FrameOutcome::Done(answer), _) => answer.clone(),
    };
    let next = frame.attempt + 1;
    if next > MAX_QUESTIONS || leads_on(turn, f, step, &answer)? {
        return Ok(Some(outcome.clone()));
    }
    let text: Arc<str> = (&*answer.to_text()).into();
    if let Some(frame) = turn.core.frames.get_mut(f) {
        frame.attempt = next;
        frame.key = turn.core.keys.build_key(&frame.base, |path| {
            path.push_try(next);
        });
        frame.extras.get_or_insert_default().refused = Some(answer);
    }
    ask(turn, f, step, call, Some(text))?;
    Ok(None)
}

/// The state machine that contains a step as a state, if a transition of that state may match an answer.
fn around<'p>(turn: &MachineTurn<'p>, f: FrameId) -> Option<(FrameId, &'p StateMachine, &'p WorkflowState)> {
    let frame = turn.core.frames.get(f)?;
    let parent = frame.parent?;
    let (_, above) = turn.step_of(parent)?;
    let StepKind::StateMachine(machine) = &above.kind else { return None };
    let state = &machine.states[StateId(frame.child_index)];
    let takes = !state.may_end() && state.transitions.iter().any(|t| t.takes != MatchedOutcome::Failure);
    if takes { Some((parent, machine, state)) } else { None }
}

/// Whether a transition matches an answer; also true if none needs to.
fn leads_on(turn: &mut MachineTurn<'_>, f: FrameId, step: &Step, answer: &Value) -> Result<bool, EvalStop> {
    let Some(question) = around(turn, f) else { return Ok(true) };
    Ok(transition(turn, (f, step), question, answer)?.is_some())
}

/// The transition of a state that an answer to its question takes.
fn transition<'p>(
    turn: &mut MachineTurn<'p>,
    (f, step): (FrameId, &Step),
    (parent, machine, state): (FrameId, &StateMachine, &'p WorkflowState),
    answer: &Value,
) -> Result<Option<&'p StateTransition>, EvalStop> {
    let value = turn.shape_result(f, step, answer)?;
    // The conditions read the state's slot, so the answer is stored there while they are evaluated.
    let slots = [(step.out, Some(value.clone())), (machine.previous_error, None)];
    let mut before = Vec::new();
    for (slot, value) in slots {
        let Some(slot) = slot else { continue };
        before.push((slot, turn.read_slot(parent, slot)));
        turn.write_slot(parent, slot, value);
    }
    let found = state_machine::find_transition(&turn.eval_context(parent, Some(&value), None), state, false);
    for (slot, value) in before {
        turn.write_slot(parent, slot, value);
    }
    found
}

/// The words in conditions of transitions that are answers to a question.
#[derive(Default)]
struct AnswerWords {
    /// If no other answer is accepted.
    accepts: Vec<Arc<str>>,
    /// If every other answer is accepted as well: those that lead somewhere else.
    choices: Vec<Arc<str>>,
}

fn answer_words(turn: &mut MachineTurn<'_>, f: FrameId, step: &Step) -> Result<AnswerWords, EvalStop> {
    let Some((parent, machine, state)) = around(turn, f) else { return Ok(AnswerWords::default()) };
    let mut words = Vec::new();
    for transition in &state.transitions {
        if let Some(when) = &transition.when {
            collect_words(when.condition.expression_tree(), &mut words);
        }
    }
    words.truncate(MAX_WORDS);
    if words.is_empty() {
        return Ok(AnswerWords::default());
    }
    let (own, state) = ((f, step), (parent, machine, state));
    let otherwise = transition(turn, own, state, &Value::from("\u{fffd}"))?;
    let mut known: Vec<Arc<str>> = Vec::new();
    for word in words {
        let taken = transition(turn, own, state, &Value::Str(word.clone()))?;
        let is_own = match (taken, otherwise) {
            (Some(taken), Some(otherwise)) => !std::ptr::eq(taken, otherwise),
            (Some(_), None) => true,
            (None, _) => false,
        };
        if is_own && !known.contains(&word) {
            known.push(word);
        }
    }
    Ok(match otherwise {
        None => AnswerWords { accepts: known, ..AnswerWords::default() },
        Some(_) => AnswerWords { choices: known, ..AnswerWords::default() },
    })
}

/// The words with which a condition compares. Of a list of spellings, only the first is returned.
fn collect_words(expression: &ConditionExpression, words: &mut Vec<Arc<str>>) {
    match expression {
        ConditionExpression::Literal(Value::Str(word), _) if !word.trim().is_empty() => words.push(word.clone()),
        ConditionExpression::List(items) => items.iter().take(1).for_each(|e| collect_words(e, words)),
        ConditionExpression::And(all)
        | ConditionExpression::Or(all)
        | ConditionExpression::Compare(all, _)
        | ConditionExpression::Call(_, all) => {
            all.iter().for_each(|e| collect_words(e, words));
        }
        ConditionExpression::Not(inner) => collect_words(inner, words),
        _ => {}
    }
}
