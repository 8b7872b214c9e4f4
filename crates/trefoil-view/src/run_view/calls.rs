//! Adds events of calls to the picture of a run, and what is noted about them.

use std::sync::Arc;

use trefoil_machine::AnswerReceipt;
use trefoil_machine::event::AwaitedActivity;
use trefoil_machine::guard::{CheckSubject, Verdict, VerdictRuling};
use trefoil_runtime::{Event, EventKind, Usage};
use trefoil_template::Value;

use super::event_fold::{key_of, new_step};
use super::{CallView, OpenCallView, RunView, StepState, StepView};

impl RunView {
    /// Adds an event of a call, of a retry or of an iteration.
    pub(super) fn about_call(&mut self, event: &Event) -> Option<usize> {
        let again = !self.is_full();
        match &event.kind {
            EventKind::ModelStarted { .. } | EventKind::EffectStarted { .. } | EventKind::SignalWanted { .. } => {
                self.call_started(event)
            }
            EventKind::ModelFinished { .. }
            | EventKind::EffectFinished { .. }
            | EventKind::EffectFailed { .. }
            | EventKind::ModelStopped { .. } => self.call_ended(event),
            EventKind::ModelWaiting { agent, .. } => {
                let number = self.step_of_call(event, agent, "agent", again)?;
                // The wait before its next try is over.
                if let Some(step) = self.step_mut(number)
                    && step.state == StepState::Retrying
                {
                    step.resume_step(again);
                }
                Some(number)
            }
            EventKind::RetryScheduled { attempt, delay_ms, error } => {
                self.add_note(event, || format!("try {attempt} in {delay_ms} ms, because {error}"));
                let (key, at) = (event.key.as_ref()?, self.at_ms);
                let number = self.step_around(&key.0)?;
                let step = self.step_mut(number)?;
                let rest = key.0.strip_prefix(&*step.key.as_ref()?.0)?;
                // The retries of a fan-out's item do not belong to the fan-out.
                if !rest.contains('[') {
                    step.tries = step.tries.max(*attempt);
                    step.open_step(StepState::Retrying, again);
                    step.retry_ms = Some(at.saturating_add(*delay_ms));
                }
                Some(number)
            }
            EventKind::ValidationFailed { iteration, reason } => {
                self.add_note(event, || format!("iteration {iteration} did not validate: {reason}"));
                self.step_around(key_of(event))
            }
            _ => self.step_around(key_of(event)),
        }
    }

    /// Records a verdict about a text. What it found is a note; for an iteration, there already is one.
    pub(super) fn record_verdict(&mut self, event: &Event, verdict: &Verdict) {
        let has_note =
            matches!(verdict.of, CheckSubject::Result | CheckSubject::Call) && verdict.ruling == VerdictRuling::Refused;
        if verdict.ruling != VerdictRuling::Passed && !has_note {
            self.add_note(event, || verdict.to_string());
        }
        if verdict.ruling == VerdictRuling::Flagged {
            self.warnings.push(verdict.describe_finding());
        }
        let at = event.at_ms;
        if let Some(number) = self.step_around(key_of(event))
            && let Some(step) = self.step_mut(number)
        {
            step.verdicts.push((at, verdict.clone()));
        } else if verdict.ruling == VerdictRuling::Changed {
            // It is about the input of the run.
            self.warnings.push(verdict.to_string());
        }
    }

    fn call_started(&mut self, event: &Event) -> Option<usize> {
        let is_full = self.is_full();
        let (name, kind, call): (&str, _, _) = match &event.kind {
            EventKind::ModelStarted { agent, again, .. } => {
                (agent, "agent", Some(OpenCallView::Model { counted: !again }))
            }
            EventKind::EffectStarted { effect: effect @ "tool", detail, .. } => {
                let tool = detail.get("name").map(|name| name.to_text().to_string());
                (effect, *effect, Some(OpenCallView::Tool(tool.unwrap_or_default())))
            }
            EventKind::EffectStarted { effect: effect @ "command", .. } => {
                (effect, *effect, Some(OpenCallView::Command))
            }
            EventKind::EffectStarted { effect, .. } => (effect, *effect, None),
            EventKind::SignalWanted { label, .. } => (label, "human", None),
            _ => return None,
        };
        let (is_call, is_model) = (call.is_some(), matches!(call, Some(OpenCallView::Model { .. })));
        self.calls += u64::from(call == Some(OpenCallView::Model { counted: true }));
        if let Some(key) = &event.key
            && let Some(call) = call
        {
            self.open_calls.insert(key.clone(), call);
        }
        if let Some(asked) = AwaitedActivity::for_person(event) {
            self.open.waiting.retain(|one| one.key != asked.key);
            self.open.waiting.push(asked);
        }
        // Decisions and timers of the machine outside all steps are ignored.
        let infers = is_model || (is_full && !matches!(kind, "decide" | "timer"));
        let number = self.step_of_call(event, name, kind, infers)?;
        let step = self.step_mut(number)?;
        if is_call {
            step.resume_step(!is_full);
        } else if kind == "human" {
            step.open_step(StepState::Asking, !is_full);
            step.has_asked = true;
        }
        if let EventKind::ModelStarted { model, .. } = &event.kind {
            step.model = Some(model.clone());
        }
        step.note_giver(&event.kind);
        if is_full {
            step.calls.push(Arc::new(started(event)));
        }
        Some(number)
    }

    fn call_ended(&mut self, event: &Event) -> Option<usize> {
        let (at, is_full, usage) = (self.at_ms, self.is_full(), usage(event));
        self.usage.add_usage(usage);
        let key = event.key.as_ref();
        self.open.waiting.retain(|one| Some(&one.key) != key);
        let call = key.and_then(|key| self.open_calls.shift_remove(key));
        let number = self.step_around(key_of(event))?;
        let step = self.step_mut(number)?;
        step.usage.add_usage(usage);
        step.note_giver(&event.kind);
        let (mut is_end, is_inferred) = (false, !is_full && step.is_inferred);
        match &event.kind {
            EventKind::ModelFinished { answer_metadata, reused_from, .. } => {
                step.came(call.is_some(), reused_from.is_some());
                step.model = answer_metadata.instead.clone().or(step.model.take());
                if is_inferred {
                    step.end_step(StepState::Done, at);
                    is_end = true;
                }
                let is_uncounted = reused_from.is_some() && call == Some(OpenCallView::Model { counted: true });
                self.calls = self.calls.saturating_sub(u64::from(is_uncounted));
            }
            EventKind::EffectFinished { reused_from, .. } => step.came(call.is_some(), reused_from.is_some()),
            EventKind::EffectFailed { .. } => {
                step.called |= call.is_some();
                // A step's own failure is reported by its own event.
                if (is_inferred || (!is_full && step.is_item)) && step.children.is_empty() {
                    step.end_step(StepState::Failed, at);
                }
            }
            _ => {}
        }
        let mut calls = self.step_mut(number)?.calls.iter_mut().rev();
        if let Some(call) = calls.find(|call| call.key == event.key && call.duration_ms.is_none()) {
            ended(Arc::make_mut(call), &event.kind);
        }
        if is_end { self.settle_step(number) } else { Some(number) }
    }

    pub(super) fn add_note(&mut self, event: &Event, text: impl FnOnce() -> String) {
        if !self.is_full() {
            return;
        }
        let key = key_of(event);
        // About a structure without a name, such as the attempts of an entry agent: added to its last step.
        let mut number = self.step_around(key).or_else(|| self.last_step_inside(key));
        if number.is_none() {
            number = self.step_of_call(event, "run", "run", true);
        }
        if let Some(number) = number
            && let Some(step) = self.step_mut(number)
        {
            step.notes.push((event.at_ms, text()));
        }
    }

    /// The last step whose key starts like this.
    fn last_step_inside(&self, key: &str) -> Option<usize> {
        for (number, step) in self.steps.iter().rev() {
            if !step.is_item && matches!(&step.key, Some(known) if known.0.starts_with(key)) {
                return Some(*number);
            }
        }
        None
    }

    /// The innermost step around an activity. `infers`: one is made if it has none.
    fn step_of_call(&mut self, event: &Event, name: &str, kind: &'static str, infers: bool) -> Option<usize> {
        if let Some(number) = self.step_around(key_of(event)) {
            return Some(number);
        }
        if !infers {
            return None;
        }
        Some(self.begin_step(StepView { kind, is_inferred: true, ..new_step(event, &Arc::from(name)) }))
    }
}

impl StepView {
    /// Records who gave an answer, or decided about an unknown outcome.
    fn note_giver(&mut self, kind: &EventKind) {
        if let EventKind::EffectStarted { given_by: Some(given_by), .. }
        | EventKind::EffectFinished { given_by: Some(given_by), .. }
        | EventKind::EffectFailed { given_by: Some(given_by), .. } = kind
        {
            self.given_by = Some(given_by.clone());
        }
    }

    /// Records a result, reused from an earlier run or from a call. Conditions that are evaluated again are neither.
    fn came(&mut self, is_call: bool, reused: bool) {
        if is_call || reused {
            self.called |= !reused;
            self.kept = !self.called;
        }
    }
}

impl CallView {
    /// Who gave its answer, or decided how it ended. Without one, who decided that it was repeated stays.
    fn note_giver(&mut self, given_by: Option<&AnswerReceipt>) {
        if let Some(given_by) = given_by {
            self.given_by = Some(Box::new(given_by.clone()));
        }
    }
}

/// The usage of a call that has ended. A failed one may have used tokens, too.
fn usage(event: &Event) -> Usage {
    match &event.kind {
        EventKind::ModelFinished { usage, .. } | EventKind::ModelStopped { usage, .. } => *usage,
        EventKind::EffectFailed { usage, .. } => usage.unwrap_or_default(),
        _ => Usage::default(),
    }
}

/// The call that an event starts.
fn started(event: &Event) -> CallView {
    let call = |effect| CallView { key: event.key.clone(), effect, started_ms: event.at_ms, ..CallView::default() };
    match &event.kind {
        EventKind::ModelStarted { agent, model, messages, parameters, .. } => CallView {
            agent: Some(agent.to_string()),
            model: Some(model.clone()),
            messages: messages.clone(),
            parameters: match parameters.as_object() {
                Some(set) if !set.is_empty() => Some(parameters.clone()),
                _ => None,
            },
            ..call("model")
        },
        EventKind::EffectStarted { effect, detail, given_by } => {
            CallView { detail: Some(detail.clone()), given_by: given_by.clone(), ..call(effect) }
        }
        EventKind::SignalWanted { prompt, .. } => {
            CallView { detail: Some(Value::from(prompt.as_str())), ..call("human") }
        }
        _ => CallView::default(),
    }
}

/// Records how a call ended.
fn ended(call: &mut CallView, kind: &EventKind) {
    match kind {
        EventKind::ModelFinished { answer, usage, duration_ms, answer_metadata, reused_from } => {
            call.answer_metadata.clone_from(answer_metadata);
            (call.answer, call.usage) = (Some(answer.clone()), Some(*usage));
            call.duration_ms = Some(*duration_ms);
            call.reused_from.clone_from(reused_from);
        }
        EventKind::EffectFinished { value, duration_ms, reused_from, given_by, .. } => {
            call.note_giver(given_by.as_deref());
            call.reused_from.clone_from(reused_from);
            (call.answer, call.duration_ms) = (Some(value.clone()), Some(*duration_ms));
        }
        EventKind::EffectFailed { error, duration_ms, usage, partial, answer_metadata, given_by, .. } => {
            call.note_giver(given_by.as_deref());
            call.usage = *usage;
            call.partial.clone_from(partial);
            call.answer_metadata.clone_from(answer_metadata);
            (call.error, call.duration_ms) = (Some(error.clone()), Some(*duration_ms));
        }
        EventKind::ModelStopped { usage, partial, answer_metadata } => {
            call.usage = Some(*usage);
            call.answer_metadata.clone_from(answer_metadata);
            call.partial.clone_from(partial);
        }
        _ => {}
    }
}
