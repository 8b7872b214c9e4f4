//! Adds events to a trace: what each says about a step or a call.

use trefoil_machine::PrivateValue;
use trefoil_machine::event::Waiting;
use trefoil_machine::guard::{Ruling, Side, Verdict};
use trefoil_runtime::{Event, EventKind, RunError, RunStatus};

use trefoil_template::Value;

use super::{OpenWait, StepTrace, Trace, TraceCall, TraceEnd, TraceItem, outer};

impl Trace {
    /// Adds an event. reason: one arm a kind of event.
    pub(super) fn take(&mut self, event: &Event) {
        self.run = event.run.to_string();
        let at = event.at_ms;
        self.last_ms = at;
        match &event.kind {
            EventKind::RunStarted { flow, at, input, effective_input, .. } => {
                self.started_at = Some(*at);
                self.flow.clone_from(flow);
                self.input.clone_from(input);
                self.effective_input.clone_from(effective_input);
            }
            EventKind::RunResumed { .. } => (self.end, self.wait) = (None, None),
            EventKind::StepStarted { label, kind } => {
                self.begin(StepTrace { kind, ..step(event, label) });
            }
            EventKind::StepSkipped { label, reason } => {
                let reason = Some(reason.clone());
                self.begin(StepTrace { status: "skipped", ended_ms: Some(at), reason, ..step(event, label) });
            }
            EventKind::StepFinished { output, items } => {
                if let Some(step) = self.step_of(event) {
                    step.items = *items;
                    (step.status, step.ended_ms, step.output) = ("done", Some(at), Some(output.clone()));
                }
            }
            EventKind::StepFailed { error, handled_as } => {
                if let Some(step) = self.step_of(event) {
                    // A step around it, or a sibling, ended first.
                    let status = if *handled_as == "cancel" { "cancelled" } else { "failed" };
                    (step.status, step.ended_ms, step.error) = (status, Some(at), Some((error.clone(), *handled_as)));
                }
            }
            EventKind::ModelStarted { .. } | EventKind::EffectStarted { .. } | EventKind::SignalWanted { .. } => {
                self.asked(event);
            }
            EventKind::ModelFinished { .. }
            | EventKind::EffectFinished { .. }
            | EventKind::EffectFailed { .. }
            | EventKind::ModelStopped { .. } => {
                if let Some(call) = self.call(event) {
                    ended(call, &event.kind);
                }
            }
            EventKind::ItemStarted { index, total, item } => {
                if let Some(key) = &event.key {
                    let item = TraceItem { number: index.saturating_add(1), total: *total, value: item.clone() };
                    self.items.insert(key.0.clone(), item);
                }
            }
            EventKind::RunSuspended { waiting, why, .. } => self.suspended(at, waiting, why.as_ref()),
            EventKind::TextDelta { .. } | EventKind::ModelWaiting { .. } | EventKind::ItemFinished { .. } => {}
            EventKind::RetryScheduled { attempt, delay_ms, error } => {
                self.note(event, format!("try {attempt} in {delay_ms} ms, because {error}"));
                if let Some(step) = self.tried(event) {
                    step.tries = step.tries.max(*attempt);
                }
            }
            EventKind::ValidationFailed { iteration, reason } => {
                self.note(event, format!("iteration {iteration} did not validate: {reason}"));
            }
            EventKind::Verdict(verdict) => self.ruled(event, verdict),
            EventKind::Warning { message } => self.warned(event, message),
            EventKind::RunFinished { output, error, items, usage, calls, duration_ms } => {
                let how = match RunStatus::of_end(error.as_ref()) {
                    RunStatus::Completed => "done",
                    RunStatus::Cancelled => "cancelled",
                    RunStatus::Interrupted => "interrupted",
                    _ => "stopped",
                };
                self.wait = None;
                self.stop(event.at_ms, how);
                self.end = Some(TraceEnd {
                    output: output.as_ref().map(PrivateValue::shown),
                    error: error.clone(),
                    items: *items,
                    usage: *usage,
                    calls: *calls,
                    duration_ms: *duration_ms,
                });
            }
        }
    }
    /// The run waits: for answers, decisions or called runs, or until somebody allows what comes next.
    fn suspended(&mut self, at: u64, waiting: &[Waiting], why: Option<&RunError>) {
        if why.is_some() {
            self.stop(at, "stopped");
        }
        let wait = OpenWait { waiting: waiting.to_vec(), stopped: why.cloned() };
        self.waits_for(&wait);
        self.wait = Some(wait);
    }
    /// Marks the steps that wait.
    pub(super) fn waits_for(&mut self, wait: &OpenWait) {
        for key in wait.keys() {
            if let Some(step) = self.inner(key).and_then(|index| self.steps.get_mut(index)) {
                (step.status, step.ended_ms) = ("waiting", None);
            }
        }
    }
    fn warned(&mut self, event: &Event, message: &str) {
        if event.key.is_some() {
            self.note(event, format!("warning: {message}"));
        }
        self.warnings.push(message.to_owned());
    }
    /// Records a verdict about a text. What it found is a note; for an iteration, there already is one.
    fn ruled(&mut self, event: &Event, verdict: &Verdict) {
        let said = matches!(verdict.of, Side::Result | Side::Call) && verdict.ruling == Ruling::Refused;
        if verdict.ruling != Ruling::Passed && !said {
            self.note(event, verdict.to_string());
        }
        if verdict.ruling == Ruling::Flagged {
            self.warnings.push(verdict.finding());
        }
        if let Some(step) = self.inner(key_of(event)).and_then(|index| self.steps.get_mut(index)) {
            step.verdicts.push((event.at_ms, verdict.clone()));
        } else if verdict.ruling == Ruling::Changed {
            // It is about the input of the run.
            self.warnings.push(verdict.to_string());
        }
    }
    /// Records the start of a call.
    fn asked(&mut self, event: &Event) {
        match &event.kind {
            EventKind::ModelStarted { agent, model, messages, parameters, .. } => {
                let call = TraceCall {
                    agent: Some(agent.to_string()),
                    model: Some(model.clone()),
                    messages: messages.clone(),
                    parameters: Some(parameters.clone()).filter(|p| p.as_object().is_some_and(|p| !p.is_empty())),
                    ..call(event, "model")
                };
                self.around(event, agent, "agent").calls.push(call);
            }
            // Decisions and timers of the machine outside all steps are ignored.
            EventKind::EffectStarted { effect: "decide" | "timer", .. } if self.inner(key_of(event)).is_none() => {}
            EventKind::EffectStarted { effect, detail } => {
                let call = TraceCall { detail: Some(detail.clone()), ..call(event, effect) };
                self.around(event, effect, effect).calls.push(call);
            }
            EventKind::SignalWanted { label, prompt, .. } => {
                let call = TraceCall { detail: Some(Value::from(prompt.as_str())), ..call(event, "human") };
                self.around(event, label, "human").calls.push(call);
            }
            _ => {}
        }
    }
    fn note(&mut self, event: &Event, text: String) {
        // About a structure without a name, such as the attempts of an entry agent: added to its last step.
        let key = key_of(event);
        let inside = |s: &StepTrace| s.key.as_ref().is_some_and(|k| k.0.starts_with(key));
        let index = self.inner(key).or_else(|| self.steps.iter().rposition(inside));
        match index.and_then(|index| self.steps.get_mut(index)) {
            Some(step) => step.notes.push((event.at_ms, text)),
            None => self.around(event, "run", "run").notes.push((event.at_ms, text)),
        }
    }
    /// The run has ended, and every step with it. A step that was only inferred has no event for its end: its status is
    /// that of its last call.
    fn stop(&mut self, at: u64, how: &'static str) {
        for step in self.steps.iter_mut().filter(|s| s.ended_ms.is_none()) {
            end_open(step, at, how);
        }
    }
    /// No process has the run, and it was not interrupted: what called nothing yet has not started.
    pub(super) fn begins_later(&mut self) {
        let has_begun = |step: &StepTrace| !step.calls.is_empty() || step.status != "running";
        if self.steps.iter().any(has_begun) {
            return self.cut_off("interrupted");
        }
        self.steps.clear();
        self.index.clear();
    }
    /// The process of the run has ended, and the steps that it worked on are open.
    pub(super) fn cut_off(&mut self, how: &'static str) {
        let at = self.last_ms;
        for step in self.steps.iter_mut().filter(|s| s.ended_ms.is_none() && s.status == "running") {
            end_open(step, at, how);
        }
    }
    fn begin(&mut self, mut step: StepTrace) -> usize {
        step.item = step.key.as_ref().and_then(|key| self.item(&key.0));
        if let Some(key) = &step.key {
            self.index.insert(key.0.clone(), self.steps.len());
        }
        self.steps.push(step);
        self.steps.len() - 1
    }
    /// The step of an event about a step.
    fn step_of(&mut self, event: &Event) -> Option<&mut StepTrace> {
        let index = self.index.get(&event.key.as_ref()?.0)?;
        self.steps.get_mut(*index)
    }
    /// The step that is retried: the step of the event, or the one that makes the call. The retries of a fan-out's item
    /// do not belong to the fan-out.
    fn tried(&mut self, event: &Event) -> Option<&mut StepTrace> {
        let key = event.key.as_ref()?;
        let step = self.inner(key_of(event)).and_then(|index| self.steps.get_mut(index))?;
        let rest = key.0.strip_prefix(&*step.key.as_ref()?.0)?;
        (!rest.contains('[')).then_some(step)
    }
    /// The call in progress at the event's key.
    fn call(&mut self, event: &Event) -> Option<&mut TraceCall> {
        let index = self.inner(key_of(event))?;
        let calls = &mut self.steps.get_mut(index)?.calls;
        calls.iter_mut().rev().find(|c| c.key == event.key && c.duration_ms.is_none())
    }
    /// The item that directly contains a step, without another step in between.
    fn item(&self, key: &str) -> Option<TraceItem> {
        let mut key = key;
        loop {
            if let Some(item) = self.items.get(key) {
                return Some(item.clone());
            }
            key = outer(key).filter(|key| !self.index.contains_key(*key))?;
        }
    }
    /// The innermost step around an activity.
    pub(super) fn inner(&self, mut key: &str) -> Option<usize> {
        loop {
            if let Some(index) = self.index.get(key) {
                return Some(*index);
            }
            key = outer(key)?;
        }
    }
    /// The innermost step around an activity; one is created for an activity without a step.
    fn around(&mut self, event: &Event, name: &str, kind: &'static str) -> &mut StepTrace {
        let index = self.inner(key_of(event)).unwrap_or_else(|| self.begin(StepTrace { kind, ..step(event, name) }));
        #[allow(clippy::indexing_slicing, reason = "the index was just found or made")]
        &mut self.steps[index]
    }
}

/// Ends a step that is open: `how`, if its last call does not say it.
fn end_open(step: &mut StepTrace, at: u64, how: &'static str) {
    let last = step.calls.last();
    let end = last.and_then(|c| Some(c.started_ms + c.duration_ms?));
    step.ended_ms = Some(end.unwrap_or(at));
    step.status = match last {
        Some(call) if call.error.is_some() => "failed",
        Some(call) if call.duration_ms.is_some() => "done",
        _ => how,
    };
}

/// Records how a call ended.
fn ended(call: &mut TraceCall, kind: &EventKind) {
    match kind {
        EventKind::ModelFinished { answer, usage, duration_ms, told, reused_from } => {
            call.told.clone_from(told);
            (call.answer, call.usage) = (Some(answer.clone()), Some(*usage));
            call.duration_ms = Some(*duration_ms);
            call.reused_from.clone_from(reused_from);
        }
        EventKind::EffectFinished { value, duration_ms, reused_from, .. } => {
            call.reused_from.clone_from(reused_from);
            (call.answer, call.duration_ms) = (Some(value.clone()), Some(*duration_ms));
        }
        EventKind::EffectFailed { error, duration_ms, usage, partial, told, .. } => {
            call.usage = *usage;
            call.partial.clone_from(partial);
            call.told.clone_from(told);
            (call.error, call.duration_ms) = (Some(error.clone()), Some(*duration_ms));
        }
        EventKind::ModelStopped { usage, partial, told } => {
            call.usage = Some(*usage);
            call.told.clone_from(told);
            call.partial.clone_from(partial);
        }
        _ => {}
    }
}

fn key_of(event: &Event) -> &str {
    event.key.as_ref().map_or("", |key| &key.0)
}

fn step(event: &Event, label: &str) -> StepTrace {
    StepTrace {
        key: event.key.clone(),
        label: label.to_owned(),
        kind: "step",
        tries: 1,
        location: event.location,
        status: "running",
        started_ms: event.at_ms,
        ..StepTrace::default()
    }
}

fn call(event: &Event, effect: &'static str) -> TraceCall {
    TraceCall { key: event.key.clone(), effect, started_ms: event.at_ms, ..TraceCall::default() }
}
