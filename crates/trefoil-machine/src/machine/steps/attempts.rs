//! Iterations: a body that is validated, and repeated with the reason if it did not pass (AEGIS).

use trefoil_ir::{Attempts, Judge, Source, StepId, StepKind, Validator, ValidatorKind, ValueExpression};
use trefoil_template::Value;

use crate::error::RunError;
use crate::event::EventKind;
use crate::guard::{self, CheckSubject, VerdictRuling, validator};
use crate::machine::consensus::{self, MissingVerdict};
use crate::machine::eval::EvalStop;
use crate::machine::frame::{Frame, FrameId, FrameOutcome, FrameState, MachineTask, StepStart};
use crate::machine::progress::{CallTrails, RunningAttempt, RunningFlow};
use crate::machine::trail;
use crate::machine::turn::MachineTurn;
use crate::machine::verdict::{self};
use crate::provenance::OriginKind;

/// The index of the body among the children; judges follow it.
const BODY: u32 = 0;

/// Starts the first iteration.
pub fn start_attempts(turn: &mut MachineTurn<'_>, f: FrameId, attempts: &Attempts) -> Result<StepStart, EvalStop> {
    iterate(turn, f, attempts, 1, "")?;
    Ok(StepStart::Running)
}

fn iterate(
    turn: &mut MachineTurn<'_>,
    f: FrameId,
    attempts: &Attempts,
    iteration: u32,
    reason: &str,
) -> Result<(), EvalStop> {
    turn.write_slot(f, attempts.iteration, Some(Value::from(iteration)));
    turn.write_slot(f, attempts.previous_error, Some(Value::from(reason)));
    turn.set_slot_trail(f, attempts.iteration, |_| trail::from_origin_kind(OriginKind::Index));
    turn.set_slot_trail(f, attempts.previous_error, |turn| {
        trail::from_origin_kind(OriginKind::Failure(turn.core.frames.get(f).map(|frame| frame.base.clone())))
    });
    if let Some(frame) = turn.core.frames.get_mut(f) {
        let running = RunningAttempt { iteration, result: Value::Null, validator: 0, judges: Vec::new(), left: 0 };
        frame.doing = FrameState::Attempts(Box::new(running));
    }
    turn.spawn_step(f, BODY, attempts.body, None, |path| {
        path.push_iteration(iteration);
    })
}

/// The body or a judge ended.
pub fn end_attempt_child(
    turn: &mut MachineTurn<'_>,
    f: FrameId,
    attempts: &Attempts,
    child_index: u32,
    outcome: &FrameOutcome,
) -> Result<(), EvalStop> {
    if child_index != BODY {
        return judged(turn, f, attempts, child_index - 1, outcome);
    }
    match outcome {
        FrameOutcome::Done(value) => {
            if let Some(Frame { doing: FrameState::Attempts(running), .. }) = turn.core.frames.get_mut(f) {
                running.result = value.clone();
            }
            turn.push_task(MachineTask::Validate(f, 0));
            Ok(())
        }
        // With a single try, the failure itself is enough.
        FrameOutcome::Failed(error) if attempts.retry_failures && attempts.max > 1 => {
            next(turn, f, attempts, error.message.clone())
        }
        FrameOutcome::Failed(_) => {
            turn.push_task(MachineTask::Settle(f, outcome.clone()));
            Ok(())
        }
    }
}

/// Runs the validators, starting with this one.
pub fn validate_attempt(turn: &mut MachineTurn<'_>, f: FrameId, from: u32) -> Result<(), EvalStop> {
    let Some((id, step)) = turn.step_of(f) else { return Ok(()) };
    let StepKind::Attempts(attempts) = &step.kind else { return Ok(()) };
    let Some(Frame { doing: FrameState::Attempts(running), .. }) = turn.core.frames.get(f) else { return Ok(()) };
    let result = running.result.clone();
    for (at, validator) in attempts.validators.iter().enumerate().skip(from as usize) {
        let pattern = turn.prepared.validator_pattern(id, at);
        let verdict = match &validator.kind {
            ValidatorKind::Judges { judges, .. } => return ask(turn, f, id, at, judges, &result),
            _ => validator::check_result(validator, &result, pattern, &turn.prepared.schemas),
        };
        if let Some(verdict) = verdict
            && let Some(reason) = report_verdict(turn, f, attempts, validator, verdict)
        {
            return next(turn, f, attempts, reason);
        }
    }
    turn.succeed_try(f, result);
    Ok(())
}

/// Calls all judges of a validator.
fn ask(
    turn: &mut MachineTurn<'_>,
    f: FrameId,
    step: StepId,
    validator: usize,
    judges: &[Judge],
    result: &Value,
) -> Result<(), EvalStop> {
    let context = turn.eval_context(f, Some(result), None);
    let mut inputs = Vec::with_capacity(judges.len());
    for judge in judges {
        let input = context.eval_expr(&judge.input)?;
        let from = if turn.core.traces { context.expr_trail(&judge.input) } else { None };
        inputs.push((input, from));
    }
    let Some(frame) = turn.core.frames.get_mut(f) else { return Ok(()) };
    let (above, activation) = (frame.key.clone(), frame.activation);
    let FrameState::Attempts(running) = &mut frame.doing else { return Ok(()) };
    let iteration = running.iteration;
    running.validator = validator as u32;
    running.judges = vec![None; judges.len()];
    running.left = judges.len();
    if judges.is_empty() {
        turn.push_task(MachineTask::Validate(f, validator as u32 + 1));
        return Ok(());
    }
    // Reversed, because the top of the stack runs first.
    for (at, (judge, (input, from))) in judges.iter().zip(inputs).enumerate().rev() {
        let segment = turn.prepared.judge_segment(step, validator, at);
        let key = turn.core.keys.build_key(&above, |path| {
            path.push_iteration(iteration).push_name(segment);
        });
        let call = RunningFlow {
            input: Some(input),
            trails: CallTrails::of_input(from),
            time_limit: judge.timeout_ms,
            ..RunningFlow::default()
        };
        turn.spawn_flow(Some(f), at as u32 + 1, judge.flow, key, Some(activation), call)?;
    }
    Ok(())
}

/// A judge ended.
fn judged(
    turn: &mut MachineTurn<'_>,
    f: FrameId,
    attempts: &Attempts,
    at: u32,
    outcome: &FrameOutcome,
) -> Result<(), EvalStop> {
    let Some(Frame { doing: FrameState::Attempts(running), .. }) = turn.core.frames.get_mut(f) else { return Ok(()) };
    let Some(validator) = attempts.validators.get(running.validator as usize) else { return Ok(()) };
    let ValidatorKind::Judges { judges, consensus } = &validator.kind else { return Ok(()) };
    let Some(by) = judges.get(at as usize) else { return Ok(()) };
    let verdict = match outcome {
        FrameOutcome::Done(value) => verdict::parse_verdict(value, by.weight),
        FrameOutcome::Failed(error) => Err(error.message.clone()),
    };
    if let Some(slot) = running.judges.get_mut(at as usize) {
        *slot = Some(verdict.map_err(|why| MissingVerdict { by: by.name.clone(), why: why.into() }));
    }
    running.left = running.left.saturating_sub(1);
    if running.left > 0 {
        return Ok(());
    }
    let following = running.validator + 1;
    let (mut verdicts, mut silent) = (Vec::new(), Vec::new());
    for verdict in std::mem::take(&mut running.judges).into_iter().flatten() {
        match verdict {
            Ok(verdict) => verdicts.push(verdict),
            Err(why) => silent.push(why),
        }
    }
    let verdict =
        match (judges.as_slice(), verdicts.as_slice(), consensus::combine_verdicts(&verdicts, &silent, consensus)) {
            // With a single judge there is no agreement to consider, so its verdict counts.
            ([_], [own], _) => validator::weigh_scores(validator, own.score, own.confidence, own.reasoning.clone()),
            (_, _, Ok(combined)) => {
                let reasoning = consensus::join_reasoning(&verdicts);
                validator::weigh_scores(validator, combined.score, combined.confidence, reasoning)
            }
            (_, _, Err(error)) => guard::Verdict::with_finding(
                validator.name.clone(),
                CheckSubject::Result,
                VerdictRuling::Refused,
                error.into_data().message,
            ),
        };
    match report_verdict(turn, f, attempts, validator, verdict) {
        None => {
            turn.push_task(MachineTask::Validate(f, following));
            Ok(())
        }
        Some(reason) => next(turn, f, attempts, reason),
    }
}

/// Reports a verdict; returns the reason if it is a rejection.
fn report_verdict(
    turn: &mut MachineTurn<'_>,
    f: FrameId,
    attempts: &Attempts,
    validator: &Validator,
    verdict: guard::Verdict,
) -> Option<String> {
    let mut reason = None;
    if verdict.ruling == VerdictRuling::Refused {
        reason = Some(format!("`{}` did not pass: {}", verdict.by, verdict.why));
    }
    let body = &turn.prepared.program.steps[attempts.body];
    let is_gate = matches!(body.kind, StepKind::Compute(ValueExpression::Read(Source::Result)));
    turn.emit_verdict(f, if is_gate { validator::of_call(validator, verdict) } else { verdict });
    reason
}

/// The iteration failed: starts the next one, or fails the step.
fn next(turn: &mut MachineTurn<'_>, f: FrameId, attempts: &Attempts, reason: String) -> Result<(), EvalStop> {
    let Some(frame) = turn.core.frames.get(f) else { return Ok(()) };
    let FrameState::Attempts(running) = &frame.doing else { return Ok(()) };
    let iteration = running.iteration;
    let key = frame.base.clone();
    let last = validator::checked_value(&running.result);
    if let Some((_, step)) = turn.step_of(f) {
        turn.emit_event(&key, step.origin, EventKind::ValidationFailed { iteration, reason: reason.clone() });
    }
    if iteration >= attempts.max {
        let message = match iteration {
            1 => reason,
            tried => format!("none of {tried} iterations passed validation; the last one: {reason}"),
        };
        let error = RunError::new("MAX_ITERATIONS_EXCEEDED", message);
        return Err(if last.is_null() { error } else { error.with_answer(&last.to_text()) }.into());
    }
    iterate(turn, f, attempts, iteration + 1, &reason)
}
