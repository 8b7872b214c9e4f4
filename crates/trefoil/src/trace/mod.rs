//! The trace of a run: every step with its key, place, prompts, answers, usage and timing.
//!
//! Collects the run's events and says at the end what became of each step. Texts in it are masked, as in the events.

mod json;
pub mod page;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use trefoil_runtime::event::ShownMessage;
use trefoil_runtime::{Event, EventKind, EventSink, Key, RunError, Usage};
use trefoil_syntax::{Files, Location};
use trefoil_template::Value;

/// Collects a run's trace.
#[derive(Default)]
pub struct Tracer {
    trace: Mutex<Trace>,
}

/// What happened in a run.
#[derive(Debug, Clone, Default)]
pub struct Trace {
    /// The run's id.
    pub run: String,
    /// The entry flow.
    pub flow: String,
    /// The run's input.
    pub input: Option<Value>,
    /// The steps in the order in which they began.
    pub steps: Vec<StepTrace>,
    /// Things that did not stop it.
    pub warnings: Vec<String>,
    /// How it ended; none: it has not.
    pub end: Option<End>,
    /// Steps by key.
    index: HashMap<Arc<str>, usize>,
}

/// How a run ended.
#[derive(Debug, Clone)]
pub struct End {
    /// Its output.
    pub output: Option<Value>,
    /// Or why it failed.
    pub error: Option<RunError>,
    /// Tokens altogether.
    pub usage: Usage,
    /// Model calls.
    pub calls: u64,
    /// Milliseconds.
    pub duration_ms: u64,
}

/// What became of a step.
#[derive(Debug, Clone)]
pub struct StepTrace {
    /// Its key.
    pub key: Option<Key>,
    /// What the manifest calls it.
    pub label: String,
    /// `agent`, `tool`, ...
    pub kind: &'static str,
    /// Its place.
    pub location: Option<Location>,
    /// `running`, `done`, `failed`, `skipped`; `stopped` where the run ended before the step did.
    pub status: &'static str,
    /// Milliseconds since the run began.
    pub started_ms: u64,
    /// The same, when it ended.
    pub ended_ms: Option<u64>,
    /// Its result.
    pub output: Option<Value>,
    /// Why it failed, and what the run made of it.
    pub error: Option<(RunError, &'static str)>,
    /// Why it was passed over.
    pub reason: Option<String>,
    /// Its calls, one for each try.
    pub calls: Vec<Call>,
    /// Retries, iterations that did not validate, questions, warnings.
    pub notes: Vec<(u64, String)>,
}

/// A model call, tool call or command.
#[derive(Debug, Clone)]
pub struct Call {
    /// Its key.
    pub key: Option<Key>,
    /// `model`, `tool`, `command`, ...
    pub effect: &'static str,
    /// Who speaks.
    pub agent: Option<String>,
    /// Who answers.
    pub model: Option<String>,
    /// What was sent.
    pub messages: Vec<ShownMessage>,
    /// Arguments or script.
    pub detail: Option<Value>,
    /// What came back.
    pub answer: Option<Value>,
    /// Why nothing did.
    pub error: Option<RunError>,
    /// Tokens.
    pub usage: Option<Usage>,
    /// Milliseconds since the run began.
    pub started_ms: u64,
    /// Milliseconds.
    pub duration_ms: Option<u64>,
}

impl Tracer {
    /// The trace so far.
    pub fn trace(&self) -> Trace {
        self.trace.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl EventSink for Tracer {
    fn wants_provenance(&self) -> bool {
        true
    }
    fn event(&self, event: &Event) {
        self.trace.lock().unwrap_or_else(PoisonError::into_inner).take(event);
    }
}

impl Trace {
    /// As JSON. `files` are those of the program.
    pub fn json(&self, files: &Files) -> serde_json::Value {
        json::json(self, files)
    }
    fn take(&mut self, event: &Event) {
        self.run = event.run.to_string();
        let at = event.at_ms;
        match &event.kind {
            EventKind::RunStarted { flow, input, .. } => {
                self.flow.clone_from(flow);
                self.input.clone_from(input);
            }
            EventKind::StepStarted { label, kind } => {
                self.begin(StepTrace { kind, ..step(event, label) });
            }
            EventKind::StepSkipped { label, reason } => {
                let reason = Some(reason.clone());
                self.begin(StepTrace { status: "skipped", ended_ms: Some(at), reason, ..step(event, label) });
            }
            EventKind::StepFinished { output, .. } => {
                if let Some(step) = self.of(event) {
                    (step.status, step.ended_ms, step.output) = ("done", Some(at), Some(output.clone()));
                }
            }
            EventKind::StepFailed { error, handled_as } => {
                if let Some(step) = self.of(event) {
                    (step.status, step.ended_ms, step.error) = ("failed", Some(at), Some((error.clone(), *handled_as)));
                }
            }
            EventKind::ModelStarted { agent, model, messages, .. } => {
                let call = Call {
                    agent: Some(agent.clone()),
                    model: Some(model.clone()),
                    messages: messages.clone(),
                    ..call(event, "model")
                };
                self.around(event, agent).calls.push(call);
            }
            // What the machine decides on its own, outside all steps, is none.
            EventKind::EffectStarted { effect: "decide" | "timer", .. } if self.inner(event).is_none() => {}
            EventKind::EffectStarted { effect, detail } => {
                let call = Call { detail: Some(detail.clone()), ..call(event, effect) };
                self.around(event, effect).calls.push(call);
            }
            EventKind::ModelFinished { answer, usage, duration_ms, .. } => {
                if let Some(call) = self.call(event) {
                    (call.answer, call.usage) = (Some(answer.clone()), Some(*usage));
                    call.duration_ms = Some(*duration_ms);
                }
            }
            EventKind::EffectFinished { value, duration_ms } => {
                if let Some(call) = self.call(event) {
                    (call.answer, call.duration_ms) = (Some(value.clone()), Some(*duration_ms));
                }
            }
            EventKind::EffectFailed { error, duration_ms, usage, .. } => {
                if let Some(call) = self.call(event) {
                    (call.error, call.duration_ms) = (Some(error.clone()), Some(*duration_ms));
                    call.usage = *usage;
                }
            }
            EventKind::ModelStopped { usage } => {
                if let Some(call) = self.call(event) {
                    call.usage = Some(*usage);
                }
            }
            EventKind::TextDelta { .. } | EventKind::ItemStarted { .. } | EventKind::ItemFinished { .. } => {}
            EventKind::RetryScheduled { attempt, delay_ms, error } => {
                self.note(event, format!("try {attempt} in {delay_ms} ms, because {error}"));
            }
            EventKind::ValidationFailed { iteration, reason } => {
                self.note(event, format!("iteration {iteration} did not validate: {reason}"));
            }
            EventKind::SignalWanted { prompt, .. } => self.note(event, format!("asked a person: {prompt}")),
            EventKind::Warning { message } => {
                if event.key.is_some() {
                    self.note(event, format!("warning: {message}"));
                }
                self.warnings.push(message.clone());
            }
            EventKind::RunFinished { output, error, usage, calls, duration_ms } => {
                self.stop(event.at_ms, error.is_none());
                self.end = Some(End {
                    output: output.clone(),
                    error: error.clone(),
                    usage: *usage,
                    calls: *calls,
                    duration_ms: *duration_ms,
                });
            }
        }
    }
    fn note(&mut self, event: &Event, text: String) {
        // About a structure without a name, such as the attempts of an agent that is the entry: with what it did last.
        let key = event.key.as_ref().map_or("", |k| &k.0);
        let inside = |s: &StepTrace| s.key.as_ref().is_some_and(|k| k.0.starts_with(key));
        let index = self.inner(event).or_else(|| self.steps.iter().rposition(inside));
        match index.and_then(|index| self.steps.get_mut(index)) {
            Some(step) => step.notes.push((event.at_ms, text)),
            None => self.around(event, "run").notes.push((event.at_ms, text)),
        }
    }
    /// The run has ended, and every step with it. A step that was made up has no event of its own that says how: it went
    /// like its last call.
    fn stop(&mut self, at: u64, well: bool) {
        for step in self.steps.iter_mut().filter(|s| s.ended_ms.is_none()) {
            let last = step.calls.last();
            let end = last.and_then(|c| Some(c.started_ms + c.duration_ms?));
            step.ended_ms = Some(end.unwrap_or(at));
            step.status = match last {
                Some(call) if call.error.is_some() => "failed",
                Some(call) if call.duration_ms.is_some() => "done",
                _ if well => "done",
                _ => "stopped",
            };
        }
    }
    fn begin(&mut self, step: StepTrace) -> usize {
        if let Some(key) = &step.key {
            self.index.insert(key.0.clone(), self.steps.len());
        }
        self.steps.push(step);
        self.steps.len() - 1
    }
    /// The step that an event about a step is about.
    fn of(&mut self, event: &Event) -> Option<&mut StepTrace> {
        let index = self.index.get(&event.key.as_ref()?.0)?;
        self.steps.get_mut(*index)
    }
    /// The call that is under way at the event's key.
    fn call(&mut self, event: &Event) -> Option<&mut Call> {
        let index = self.inner(event)?;
        let calls = &mut self.steps.get_mut(index)?.calls;
        calls.iter_mut().rev().find(|c| c.key == event.key && c.duration_ms.is_none())
    }
    /// The innermost step around an activity.
    fn inner(&self, event: &Event) -> Option<usize> {
        let mut key: &str = event.key.as_ref().map_or("", |k| &k.0);
        loop {
            if let Some(index) = self.index.get(key) {
                return Some(*index);
            }
            key = outer(key)?;
        }
    }
    /// The innermost step around an activity; one is made up for an activity that stands alone.
    fn around(&mut self, event: &Event, name: &str) -> &mut StepTrace {
        let index = self.inner(event).unwrap_or_else(|| self.begin(step(event, name)));
        #[allow(clippy::indexing_slicing, reason = "the index was just found or made")]
        &mut self.steps[index]
    }
}

/// An event as JSON: its places are file names, lines and columns. `files` are those of the program.
pub fn event_json(event: &Event, files: &Files) -> serde_json::Value {
    json::event(event, files)
}

/// The key around a key: without its last part.
pub fn outer(key: &str) -> Option<&str> {
    let end = key.rfind(['/', '@', '[', '#', '!', '~'])?;
    key.get(..end)
}

fn step(event: &Event, label: &str) -> StepTrace {
    StepTrace {
        key: event.key.clone(),
        label: label.to_owned(),
        kind: "step",
        location: event.location,
        status: "running",
        started_ms: event.at_ms,
        ended_ms: None,
        output: None,
        error: None,
        reason: None,
        calls: Vec::new(),
        notes: Vec::new(),
    }
}

fn call(event: &Event, effect: &'static str) -> Call {
    Call {
        key: event.key.clone(),
        effect,
        agent: None,
        model: None,
        messages: Vec::new(),
        detail: None,
        answer: None,
        error: None,
        usage: None,
        started_ms: event.at_ms,
        duration_ms: None,
    }
}
