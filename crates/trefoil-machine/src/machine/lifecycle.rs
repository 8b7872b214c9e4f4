//! The common part of all steps: `when`, tries, the time limit, retries, the failure policy.

use trefoil_ir::{
    BoundCondition, FanOutItems, FlowCallee, MatchedOutcome, NodeId, OnItemFailure, OnStepFailure, Retry, RetryBackoff,
    RetryOn, StateId, Step, StepId, StepKind, ValueExpression, WorkflowState,
};
use trefoil_syntax::Location;
use trefoil_template::Value;

use super::eval::EvalStop;
use super::frame::{FrameId, FrameOutcome, FrameTarget, MachineTask, StepStart};
use super::jitter;
use super::policy::is_final_rejection;
use super::steps::{self, conversation};
use super::trail;
use super::turn::{ActivityPurpose, MachineTurn};
use crate::error::{FailureCause, RunError};
use crate::event::{EventKind, ItemTally};
use crate::guard::cap::CapAction;
use crate::key::Key;
use crate::key::escape_label;
use crate::provenance::OriginKind;
use crate::text::{format_seconds, join_distinct};

/// The retries of a model call if its manifest does not define any: two, with delays from one second.
static UNASKED: Retry = Retry {
    max_attempts: 3,
    backoff: RetryBackoff::Exponential,
    base_delay_ms: 1000,
    max_delay_ms: 60_000,
    jitter: true,
    on: Vec::new(),
};
/// The retry for an answer that matches the schema: immediate.
static ONCE_MORE: Retry = Retry {
    max_attempts: 2,
    backoff: RetryBackoff::Constant,
    base_delay_ms: 0,
    max_delay_ms: 0,
    jitter: false,
    on: Vec::new(),
};
/// The maximum wait that a provider may request if nothing else limits it: the maximum duration of a call.
const LONGEST_WAIT_MS: u64 = 600_000;

/// The place in the manifest of what ended a model call: a limit, or a model that its provider does not know or that
/// the key may not use.
fn limit(step: &Step, error: &RunError) -> Option<Location> {
    let StepKind::Model(call) = &step.kind else { return None };
    if matches!(error.cause, Some(FailureCause::Status(401 | 403 | 404))) {
        return Some(call.model.origin);
    }
    let name = match &*error.code {
        "ANSWER_TRUNCATED" => "max_tokens",
        // A limit of the operator has its own help text.
        "TIMEOUT" if error.help.is_none() && call.parameters.timeout_ms.is_some() => "timeout_ms",
        _ => return None,
    };
    let (_, at) = call.places.iter().find(|(known_name, _)| *known_name == name)?;
    Some(*at)
}

impl MachineTurn<'_> {
    /// Starts a step when it is its turn.
    pub fn begin_step(&mut self, f: FrameId) -> Result<(), EvalStop> {
        let Some((_, step)) = self.step_of(f) else { return steps::flow::begin_flow(self, f) };
        if let Some(when) = &step.when
            && !self.eval_context(f, None, None).eval_condition(when)?
        {
            // The values come first, because they say most and the rest may be cut off.
            let reason = match self.describe_condition_values(f, [when]).as_str() {
                "" => format!("`when` is false: `{}`", when.text),
                saw => format!("{saw} (`when: {}`)", when.text),
            };
            self.note_skipped(f, step, reason);
            if let Some(slot) = step.out {
                self.write_slot(f, slot, Some(Value::Null));
            }
            self.end_frame(f, FrameOutcome::Done(Value::Null));
            return Ok(());
        }
        self.push_task(MachineTask::Try(f));
        Ok(())
    }

    /// Starts a try of a step.
    pub fn try_once(&mut self, f: FrameId) -> Result<(), EvalStop> {
        let Some((id, step)) = self.step_of(f) else { return Ok(()) };
        self.announce(f, id, step);
        match steps::start_step(self, f, id, step)? {
            StepStart::Done(value) => self.succeed_try(f, value),
            StepStart::Running => {
                if let Some(ms) = step.policy.timeout_ms {
                    self.start_timeout(f, ms);
                }
            }
        }
        Ok(())
    }

    /// Starts a time limit for what a frame has just started.
    pub fn start_timeout(&mut self, f: FrameId, ms: u64) {
        let request = self.limit_timer(ms);
        let key = self.own_activity(f, ActivityPurpose::Timeout, request, |path, above| {
            path.push_own_name("timeout", above);
        });
        let ends = self.core.clock.work_now().plus_ms(ms);
        if let Some(frame) = self.core.frames.get_mut(f) {
            frame.timer = key;
            frame.extras.get_or_insert_default().ends = Some(ends);
        }
    }

    /// A time limit has passed.
    pub fn timed_out(&mut self, f: FrameId) {
        let Some(frame) = self.core.frames.get_mut(f) else { return };
        frame.timer = None;
        let (ms, code, limits) = match frame.what {
            FrameTarget::Step(step) => {
                let step = &self.program.steps[step];
                let tool = matches!(step.kind, StepKind::Tool(_));
                (step.policy.timeout_ms, if tool { "TOOL_TIMEOUT" } else { "TIMEOUT" }, Some(step))
            }
            FrameTarget::Flow(_) => (steps::flow::time_limit(frame), "TIMEOUT", self.parent_step(f)),
        };
        let mut error = RunError::new(code, format!("timed out after {}", format_seconds(ms.unwrap_or(0))));
        // The limit is the cause, so the failure points at it.
        if let Some(step) = limits {
            error.location = step.policy.timeout_at;
        }
        self.push_task(MachineTask::Settle(f, FrameOutcome::Failed(Box::new(error.with_cause(FailureCause::Timeout)))));
    }

    /// An effect has completed.
    pub fn complete_effect(&mut self, f: FrameId, outcome: &FrameOutcome) -> Result<(), EvalStop> {
        let Some((_, step)) = self.step_of(f) else { return Ok(()) };
        if let StepKind::Model(call) = &step.kind {
            steps::model::report_caps(self, f, call, CapAction::Warn);
        }
        let outcome = match (&step.kind, outcome) {
            (StepKind::Model(call), FrameOutcome::Done(answer)) => {
                FrameOutcome::Done(steps::model::read_model_answer(self, f, step, call, answer)?)
            }
            (StepKind::Conversation(it), FrameOutcome::Done(listed)) => {
                return conversation::receive_descriptions(self, f, it, listed);
            }
            (StepKind::Human(call), outcome) => match steps::person::process_answer(self, f, step, call, outcome)? {
                Some(outcome) => outcome,
                None => return Ok(()),
            },
            (_, outcome) => outcome.clone(),
        };
        self.push_task(MachineTask::Settle(f, outcome));
        Ok(())
    }

    /// A try has ended.
    pub fn settle_try(&mut self, f: FrameId, outcome: &FrameOutcome) -> Result<(), EvalStop> {
        let Some((_, step)) = self.step_of(f) else {
            self.end_frame(f, outcome.clone());
            return Ok(());
        };
        match outcome {
            FrameOutcome::Done(raw) => {
                let value = self.shape_result(f, step, raw)?;
                self.cancel_frame_work(f);
                self.succeed(f, step, value);
            }
            FrameOutcome::Failed(error) => {
                let mut error = error.clone();
                self.locate_error(f, step, &mut error);
                self.cancel_frame_work(f);
                if !self.retry(f, step, &mut error) {
                    return self.fail(f, step, error);
                }
            }
        }
        Ok(())
    }

    /// The result of a step after `shape`.
    pub fn shape_result(&self, f: FrameId, step: &Step, raw: &Value) -> Result<Value, EvalStop> {
        let value = match &step.shape {
            Some(shape) => self.eval_context(f, Some(raw), None).eval_expr(shape)?,
            None => raw.clone(),
        };
        if !value.is_within_limits() {
            return Err(RunError::too_large("the result").into());
        }
        Ok(value)
    }

    fn succeed(&mut self, f: FrameId, step: &Step, value: Value) {
        self.keep_cause(f, step, None);
        if let Some(slot) = step.out {
            self.write_slot(f, slot, Some(value.clone()));
            self.set_slot_trail(f, slot, |turn| match &step.kind {
                // An unlabelled value does not occur in traces, so its components are recorded as its origin.
                StepKind::Compute(expr) if step.label.is_none() && step.shape.is_none() => {
                    turn.eval_context(f, None, None).expr_trail(expr)
                }
                _ => trail::from_origin_kind(OriginKind::Step(turn.core.frames.get(f)?.base.clone())),
            });
        }
        if step.label.is_some()
            && let Some(frame) = self.core.frames.get(f)
        {
            let key = frame.base.clone();
            let items = match &frame.extras {
                Some(extras) => extras.items,
                None => None,
            };
            self.emit_event(&key, step.origin, EventKind::StepFinished { output: value.clone(), items });
        }
        self.end_frame(f, FrameOutcome::Done(value));
    }

    /// Stores why a slot is not filled, so that it can be reported as missing; `None`: it is filled.
    fn keep_cause(&mut self, f: FrameId, step: &Step, error: Option<&RunError>) {
        let (Some(slot), Some(frame)) = (step.out, self.core.frames.get(f)) else { return };
        let Some(call) = self.core.activations.flow_call_mut(frame.activation) else { return };
        call.failures.retain(|(known, _)| *known != slot);
        if let Some(error) = error {
            call.failures.push((slot, error.message.as_str().into()));
        }
    }

    /// Handles a failure after the last retry.
    fn fail(&mut self, f: FrameId, step: &Step, error: Box<RunError>) -> Result<(), EvalStop> {
        self.keep_cause(f, step, Some(&error));
        match &step.policy.on_failure {
            _ if is_final_rejection(step, &error) => {
                self.note_failed(f, step, &error, "fail");
                self.end_frame(f, FrameOutcome::Failed(error));
            }
            OnStepFailure::Fail => {
                let handled_as = self.handled_as(f, &error);
                self.note_failed(f, step, &error, handled_as);
                self.end_frame(f, FrameOutcome::Failed(error));
            }
            OnStepFailure::Skip => {
                self.note_failed(f, step, &error, "skip");
                self.end_frame(f, FrameOutcome::Done(Value::Null));
            }
            OnStepFailure::Use(default) => {
                match self.eval_default(f, step, default, &error) {
                    Ok(value) => {
                        self.note_failed(f, step, &error, "default");
                        self.succeed(f, step, value);
                    }
                    Err(EvalStop::Ask(question)) => return Err(EvalStop::Ask(question)),
                    // If the default cannot be evaluated, the step fails with that failure.
                    Err(EvalStop::Fail(mut second)) => {
                        self.locate_error(f, step, &mut second);
                        self.note_failed(f, step, &second, "fail");
                        self.end_frame(f, FrameOutcome::Failed(second));
                    }
                }
            }
        }
        Ok(())
    }

    /// The result of a step that has failed, by its default.
    fn eval_default(
        &self,
        f: FrameId,
        step: &Step,
        default: &ValueExpression,
        error: &RunError,
    ) -> Result<Value, EvalStop> {
        let raw = self.eval_context(f, None, Some(&error.message)).eval_expr(default)?;
        self.shape_result(f, step, &raw)
    }

    /// Starts a retry of a step if there is one; returns whether it did.
    fn retry(&mut self, f: FrameId, step: &Step, error: &mut RunError) -> bool {
        let unasked = self.is_tried_again_unasked(f, step, error);
        let misfit = match self.extras_of_mut(f) {
            Some(extras) => std::mem::take(&mut extras.asks_again),
            None => false,
        };
        let retry = match &step.policy.retry {
            _ if misfit => &ONCE_MORE,
            Some(retry) if retry.on.iter().any(|class| matches(class, error)) => retry,
            None if unasked => &UNASKED,
            _ => return false,
        };
        let Some(frame) = self.core.frames.get(f) else { return false };
        // The request for a better answer is not counted as one of the tries of a policy.
        let asked_again = matches!(&frame.extras, Some(extras) if extras.misfit.is_some());
        if !misfit && frame.attempt - u32::from(asked_again) >= retry.max_attempts {
            return false;
        }
        let seed = self.core.flags.seed;
        let mut delay_ms = delay(retry, frame.attempt, || jitter::jitter_fraction(seed, &frame.key));
        if let Some(requested_ms) = error.retry_after_ms {
            delay_ms = delay_ms.max(u64::from(requested_ms.get()));
        }
        let next = frame.attempt + 1;
        if self.is_longer_than_possible(f, step, delay_ms, error) {
            return false;
        }
        let key = frame.base.clone();
        if (unasked || misfit)
            && let Some(frame) = self.core.frames.get_mut(f)
        {
            frame.extras.get_or_insert_default().same_call = unasked;
        }
        // Also for a step without a label: its key is that of the enclosing step, pass or item.
        let event = EventKind::RetryScheduled { attempt: next, delay_ms, error: error.clone() };
        self.emit_event(&key, step.origin, event);
        let timer = if delay_ms > 0 {
            let timer = self.wait_timer(delay_ms);
            self.own_activity(f, ActivityPurpose::Delay, timer, |path, above| {
                path.push_own_name("delay", above);
            })
        } else {
            self.push_task(MachineTask::Try(f));
            None
        };
        let Some(frame) = self.core.frames.get_mut(f) else { return false };
        frame.timer = timer;
        frame.attempt = next;
        frame.key = self.core.keys.build_key(&frame.base, |path| {
            path.push_try(next);
        });
        true
    }

    /// Whether a provider requests a longer wait than is possible, which the error then says.
    fn is_longer_than_possible(&self, f: FrameId, step: &Step, delay_ms: u64, error: &mut RunError) -> bool {
        let left = self.time_left(f, step);
        if error.retry_after_ms.is_none() || delay_ms <= left.unwrap_or(LONGEST_WAIT_MS) {
            return false;
        }
        let limit = match left {
            Some(left) => format!("the step has {} left", format_seconds(left)),
            None => format!("the longest possible wait is {}", format_seconds(LONGEST_WAIT_MS)),
        };
        error.message = format!("{}; the requested wait is {}, but {limit}", error.message, format_seconds(delay_ms));
        true
    }

    /// A fan-out has ended: its tally is reported with the innermost enclosing step that has a label.
    pub fn count_items(&mut self, f: FrameId, ended: ItemTally) {
        self.core.failed_items.add_items(ended.with_failed().unwrap_or_default());
        let mut at = Some(f);
        while let Some(f) = at {
            let named = matches!(self.step_of(f), Some((_, step)) if step.label.is_some());
            let Some(frame) = self.core.frames.get_mut(f) else { return };
            if named {
                frame.extras.get_or_insert_default().items.get_or_insert_default().add_items(ended);
                return;
            }
            at = frame.parent;
        }
    }

    /// Whether a call of a model or a harmless tool without a response is retried although its manifest does not say
    /// so. Retries of an enclosing step in the manifest count as well.
    fn is_tried_again_unasked(&self, f: FrameId, step: &Step, error: &RunError) -> bool {
        let passing = match &error.cause {
            Some(FailureCause::Status(status)) => matches!(*status, 408 | 429) || (500..600).contains(status),
            Some(cause) => cause.is_network(),
            None => false,
        };
        let harmless = match step.kind {
            StepKind::Model(_) => true,
            StepKind::Tool(_) => matches!(self.extras_of(f), Some(extras) if extras.repeatable),
            _ => false,
        };
        passing && harmless && !self.has_retries_around(f)
    }

    /// Whether the manifest defines retries of a step or of one around it.
    fn has_retries_around(&self, f: FrameId) -> bool {
        let mut next = Some(f);
        while let Some(f) = next {
            if matches!(self.step_of(f), Some((_, step)) if step.policy.retry.is_some()) {
                return true;
            }
            next = self.parent_of(f);
        }
        false
    }

    /// The milliseconds until a time limit certainly ends this step; waiting longer is useless.
    fn time_left(&self, f: FrameId, step: &Step) -> Option<u64> {
        let now = self.core.clock.work_now();
        // The time limit of a try includes the wait before it.
        let mut left = step.policy.timeout_ms;
        let mut sooner = |ms: u64| left = Some(left.unwrap_or(u64::MAX).min(ms));
        let mut next = self.parent_of(f);
        while let Some(around) = next
            && let Some(frame) = self.core.frames.get(around)
        {
            if frame.timer.is_some()
                && let Some(extras) = &frame.extras
                && let Some(ends) = extras.ends
            {
                sooner(ends.ms_since(now));
            }
            next = frame.parent;
        }
        for call in self.calls_around(f) {
            if let Some(budget) = &self.program.flows[call.flow].budget
                && let Some(limit) = budget.max_duration_ms
            {
                sooner(call.began.plus_ms(limit).ms_since(now));
            }
        }
        left
    }

    /// How the enclosing structure of a step handles its failure.
    fn handled_as(&self, f: FrameId, error: &RunError) -> &'static str {
        let Some(frame) = self.core.frames.get(f) else { return "fail" };
        let Some(parent) = self.parent_step(f) else { return "fail" };
        let child_index = frame.child_index;
        let takes_failure =
            |state: &WorkflowState| state.transitions.iter().any(|t| t.takes != MatchedOutcome::Success);
        match &parent.kind {
            StepKind::Graph(graph) if graph.nodes[NodeId(child_index)].fallback.is_some() => "fallback",
            StepKind::Parallel(p) if p.on_failure == OnItemFailure::Continue => "skip",
            StepKind::Attempts(attempts) if attempts.retry_failures => "retry",
            StepKind::Conversation(_) if child_index > 0 && !conversation::ends_all(error) => "told",
            StepKind::StateMachine(machine) if takes_failure(&machine.states[StateId(child_index)]) => "transition",
            _ => "fail",
        }
    }

    /// Sets the place of a failure, unless an inner step has set it.
    fn locate_error(&self, f: FrameId, step: &Step, error: &mut RunError) {
        if error.key.is_none()
            && let Some(frame) = self.core.frames.get(f)
        {
            // An unlabelled structure at the top has the empty key, which is not useful.
            let named = !frame.key.0.is_empty();
            // Tries that the manifest did not request belong to the same call, so the step is what failed.
            let key = if self.is_same_call(f) { &frame.base } else { &frame.key };
            error.key = Some(if named { key.clone() } else { Key(escape_label(&self.program.name).into()) });
        }
        error.location = error.location.or(limit(step, error)).or(Some(step.origin));
    }

    fn announce(&mut self, f: FrameId, id: StepId, step: &Step) {
        let Some(frame) = self.core.frames.get_mut(f) else { return };
        if std::mem::replace(&mut frame.announced, true) {
            return;
        }
        if let Some(label) = step.span_name() {
            let key = frame.base.clone();
            // A step that offers several tools is shown by the name of the one that the model calls.
            let label = match steps::conversation::given_arguments(self, f) {
                Some(given) if given.tool.is_some() => given.called,
                _ => label.clone(),
            };
            let event = EventKind::StepStarted { label, kind: self.kind(id) };
            self.emit_event(&key, step.origin, event);
        }
    }

    /// A labelled step was skipped.
    pub fn note_skipped(&mut self, f: FrameId, step: &Step, reason: String) {
        if let (Some(label), Some(frame)) = (step.span_name(), self.core.frames.get(f)) {
            let key = frame.base.clone();
            self.emit_event(&key, step.origin, EventKind::StepSkipped { label: label.to_string(), reason });
        }
    }

    /// `x is 3, y is missing`: the current values that conditions read.
    pub fn describe_condition_values<'c>(
        &self,
        f: FrameId,
        conditions: impl IntoIterator<Item = &'c BoundCondition>,
    ) -> String {
        let context = self.eval_context(f, None, None);
        join_distinct(conditions.into_iter().flat_map(|when| context.describe_values(when)))
    }

    /// A step under `parent` will never start.
    pub fn note_passed_over(&mut self, parent: FrameId, step: StepId, reason: &str) {
        let Some(frame) = self.core.frames.get(parent) else { return };
        let found = &self.program.steps[step];
        let Some(label) = found.span_name() else { return };
        let segment = self.prepared.key_segment(step);
        let key = self.core.keys.build_key(&frame.key, |path| {
            path.push_name(segment);
        });
        let event = EventKind::StepSkipped { label: label.to_string(), reason: reason.to_owned() };
        self.emit_event(&key, found.origin, event);
    }

    fn note_failed(&mut self, f: FrameId, step: &Step, error: &RunError, handled_as: &'static str) {
        if let (Some(_), Some(frame)) = (&step.label, self.core.frames.get(f)) {
            let key = frame.base.clone();
            self.emit_event(&key, step.origin, EventKind::StepFailed { error: error.clone(), handled_as });
        }
    }

    /// The name of a step's kind in events.
    fn kind(&self, id: StepId) -> &'static str {
        match &self.program.steps[id].kind {
            StepKind::Compute(_) => "value",
            StepKind::ForEach(each) => match each.items {
                FanOutItems::List(_) => "for_each",
                FanOutItems::Count(..) => "swarm",
            },
            StepKind::Call(call) => match &call.callee {
                FlowCallee::Flow(flow) => self.program.flows[*flow].sort,
                FlowCallee::Named { .. } => "agent",
            },
            kind => kind.step_info().name,
        }
    }
}

fn matches(class: &RetryOn, error: &RunError) -> bool {
    match class {
        RetryOn::Status(status) => error.cause == Some(FailureCause::Status(*status)),
        RetryOn::Network => matches!(&error.cause, Some(cause) if cause.is_network()),
        RetryOn::Guardrail => error.cause == Some(FailureCause::Guardrail),
        RetryOn::Timeout => error.cause == Some(FailureCause::Timeout),
        RetryOn::Code(code) => error.code == **code,
    }
}

/// The delay after the `failed`-th try.
fn delay(retry: &Retry, failed: u32, fraction: impl FnOnce() -> f64) -> u64 {
    let n = u64::from(failed.max(1));
    let grown = match retry.backoff {
        RetryBackoff::Constant => retry.base_delay_ms,
        RetryBackoff::Linear => retry.base_delay_ms.saturating_mul(n),
        RetryBackoff::Exponential => {
            let factor = if n <= 63 { 1 << (n - 1) } else { u64::MAX };
            retry.base_delay_ms.saturating_mul(factor)
        }
    };
    let delay = grown.min(retry.max_delay_ms);
    if retry.jitter { (delay as f64 * (0.8 + 0.4 * fraction())).round() as u64 } else { delay }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn retry(backoff: RetryBackoff) -> Retry {
        Retry { max_attempts: 9, backoff, base_delay_ms: 100, max_delay_ms: 350, jitter: false, on: Vec::new() }
    }

    #[test]
    fn delays_grow_as_their_policy_says_and_stop_at_the_longest() {
        let delays = |b| (1..=4).map(|n| delay(&retry(b), n, || 0.0)).collect::<Vec<_>>();
        assert_eq!(delays(RetryBackoff::Constant), [100, 100, 100, 100]);
        assert_eq!(delays(RetryBackoff::Linear), [100, 200, 300, 350]);
        assert_eq!(delays(RetryBackoff::Exponential), [100, 200, 350, 350]);
        assert_eq!(delay(&retry(RetryBackoff::Exponential), 4_000, || 0.0), 350);
    }

    #[test]
    fn jitter_stays_between_four_and_six_fifths() {
        let policy = Retry { jitter: true, ..retry(RetryBackoff::Constant) };
        assert_eq!(delay(&policy, 1, || 0.0), 80);
        assert_eq!(delay(&policy, 1, || 1.0), 120);
    }
}
