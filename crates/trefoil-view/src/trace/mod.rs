//! The trace of a run: every step with its key, place, prompts, answers, usage and timing.
//!
//! Collects the events of the run, and determines the final state of each step. Texts are masked, as in the events.

mod about;
mod collect;
mod graph;
mod json;
pub mod page;
mod place;
mod wait;

pub use about::TraceSubject;
pub use trefoil_machine::key::{parent as outer, without_try};
pub use trefoil_machine::moment::{moment, rfc3339_ms};
pub use wait::OpenWait;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use trefoil_machine::Told;
use trefoil_machine::event::{ReusedFrom, ShownMessage, Tally};
use trefoil_machine::guard::Verdict;
use trefoil_runtime::{Event, EventSink, Key, RunError, RunOutcome, RunStatus, Usage};
use trefoil_syntax::{Files, Location};
use trefoil_template::Value;

/// Collects a run's trace.
#[derive(Default)]
pub struct TraceSink {
    trace: Mutex<Trace>,
}

/// The trace of a run.
#[derive(Debug, Clone, Default)]
pub struct Trace {
    /// The run's id.
    pub run: String,
    /// The entry flow.
    pub flow: String,
    /// When it started, in milliseconds since 1970-01-01 UTC.
    pub started_at: Option<u64>,
    /// The run's input.
    pub input: Option<Value>,
    /// The input with defaults.
    pub effective_input: Option<Value>,
    /// The run whose results it reuses.
    base: Option<String>,
    /// The steps, in the order in which they started.
    pub steps: Vec<StepTrace>,
    /// Warnings.
    pub warnings: Vec<String>,
    /// How it ended; `None`: it has not.
    pub end: Option<TraceEnd>,
    /// What it waits for. `None`: it does not wait.
    wait: Option<OpenWait>,
    /// The status of a stored run that has not ended.
    standing: Option<RunStatus>,
    /// What can be done next.
    next: Vec<SuggestedCommand>,
    /// When its last event happened, in milliseconds since its start.
    last_ms: u64,
    /// The usage, calls and milliseconds of a run that has not ended.
    so_far: Option<(Usage, u64, u64)>,
    /// Steps by key.
    index: HashMap<Arc<str>, usize>,
    /// Items of fan-outs by key.
    items: HashMap<Arc<str>, TraceItem>,
}

/// A command that a user can copy, and its purpose.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct SuggestedCommand {
    /// The command.
    pub command: String,
    /// `answer`, `to continue`, ...
    pub purpose: String,
}

/// How a run ended.
#[derive(Debug, Clone)]
pub struct TraceEnd {
    /// Its output.
    pub output: Option<Value>,
    /// The failure.
    pub error: Option<RunError>,
    /// The items of the fan-outs in which some failed, and the run went on.
    pub items: Option<Tally>,
    /// The usage.
    pub usage: Usage,
    /// Model calls.
    pub calls: u64,
    /// The duration in milliseconds.
    pub duration_ms: u64,
}

/// An item of a fan-out.
#[derive(Debug, Clone, PartialEq)]
pub struct TraceItem {
    /// Its number, from 1.
    pub number: u32,
    /// The number of items.
    pub total: u32,
    /// Its value; `None`: the fan-out is over a number.
    pub value: Option<Value>,
}

/// A step in a trace.
#[derive(Debug, Clone, Default)]
pub struct StepTrace {
    /// Its key.
    pub key: Option<Key>,
    /// Its name in the manifest.
    pub label: String,
    /// `agent`, `tool`, ...
    pub kind: &'static str,
    /// The number of tries.
    pub tries: u32,
    /// How the items of its fan-out ended.
    pub items: Option<Tally>,
    /// The item that directly contains it, if any.
    pub item: Option<TraceItem>,
    /// Its place.
    pub location: Option<Location>,
    /// `running`, `waiting`, `done`, `failed`, `skipped`; `cancelled` if a step around it or next to it ended first; `stopped` if the run
    /// ended before the step; `interrupted` if its process did.
    pub status: &'static str,
    /// When it started, in milliseconds since the start of the run.
    pub started_ms: u64,
    /// When it ended, in milliseconds since the start of the run.
    pub ended_ms: Option<u64>,
    /// Its result.
    pub output: Option<Value>,
    /// Why it failed, and how the run handled it.
    pub error: Option<(RunError, &'static str)>,
    /// Why it was skipped.
    pub reason: Option<String>,
    /// Its calls, one for each try.
    pub calls: Vec<TraceCall>,
    /// Retries, iterations that did not pass, warnings.
    pub notes: Vec<(u64, String)>,
    /// The verdicts of guardrails and validators, with milliseconds since the start of the run.
    pub verdicts: Vec<(u64, Verdict)>,
}

/// A model call, tool call, command or question to a person.
#[derive(Debug, Clone, Default)]
pub struct TraceCall {
    /// Its key.
    pub key: Option<Key>,
    /// `model`, `tool`, `command`, `human`, ...
    pub effect: &'static str,
    /// The agent that speaks.
    pub agent: Option<String>,
    /// The model that answers.
    pub model: Option<String>,
    /// What was sent.
    pub messages: Vec<ShownMessage>,
    /// Other data that was sent.
    pub parameters: Option<Value>,
    /// The received part of an incomplete answer.
    pub partial: Option<String>,
    /// Other data that the provider returned.
    pub told: Told,
    /// Arguments, script or question.
    pub detail: Option<Value>,
    /// The answer.
    pub answer: Option<Value>,
    /// The failure.
    pub error: Option<RunError>,
    /// The usage.
    pub usage: Option<Usage>,
    /// If nothing was called: the earlier run with the result.
    pub reused_from: Option<Box<ReusedFrom>>,
    /// When it started, in milliseconds since the start of the run.
    pub started_ms: u64,
    /// The duration in milliseconds.
    pub duration_ms: Option<u64>,
}

impl TraceSink {
    /// The process has ended, and with it the events. The figures are those of the run so far.
    pub fn ended(&self, outcome: &RunOutcome) {
        let figures = (outcome.usage, outcome.calls, outcome.duration_ms);
        self.trace.lock().unwrap_or_else(PoisonError::into_inner).so_far = Some(figures);
    }

    /// The events were those of a stored run that has not ended, and that stands like this.
    pub fn stands(&self, status: RunStatus, wait: OpenWait, usage: Usage, calls: u64) {
        let mut trace = self.trace.lock().unwrap_or_else(PoisonError::into_inner);
        if matches!(status, RunStatus::Interrupted | RunStatus::Pending) {
            let asked = wait.waiting.iter().filter(|one| one.prompt.is_some()).cloned().collect();
            trace.waits_for(&OpenWait { waiting: asked, stopped: None });
            match status == RunStatus::Pending {
                true => trace.begins_later(),
                false => trace.cut_off("interrupted"),
            }
        } else {
            trace.waits_for(&wait);
        }
        trace.standing = Some(status);
        trace.wait = Some(wait).filter(|wait| !wait.is_empty());
        trace.so_far = Some((usage, calls, trace.last_ms));
    }

    /// Warnings that are no events of the run.
    pub fn warns(&self, warnings: Vec<String>) {
        self.trace.lock().unwrap_or_else(PoisonError::into_inner).warnings.extend(warnings);
    }

    /// The run reuses results of an earlier one.
    pub fn reuses(&self, base: Option<&str>) {
        self.trace.lock().unwrap_or_else(PoisonError::into_inner).base = base.map(str::to_owned);
    }

    /// What can be done with the run next.
    pub fn suggests(&self, next: Vec<SuggestedCommand>) {
        self.trace.lock().unwrap_or_else(PoisonError::into_inner).next = next;
    }

    /// The trace so far.
    pub fn trace(&self) -> Trace {
        self.trace.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl EventSink for TraceSink {
    fn wants_provenance(&self) -> bool {
        true
    }
    fn event(&self, event: &Event) {
        self.trace.lock().unwrap_or_else(PoisonError::into_inner).take(event);
    }
}

impl Trace {
    /// How the run stands.
    pub fn status(&self) -> RunStatus {
        match &self.end {
            Some(end) => RunStatus::of_end(end.error.as_ref()),
            None if self.wait.is_some() => self.standing.unwrap_or(RunStatus::Waiting),
            None => self.standing.unwrap_or(RunStatus::Running),
        }
    }

    /// The items of the fan-outs in which some failed, and the run went on.
    fn failed_items(&self) -> Option<Tally> {
        let mut all = Tally::default();
        self.steps.iter().filter_map(|step| step.items?.with_failed()).for_each(|items| all.add(items));
        self.end.as_ref().map_or(all.with_failed(), |end| end.items)
    }

    /// The trace as JSON.
    pub fn json(&self, about: &TraceSubject) -> serde_json::Value {
        json::json(self, about)
    }
}

/// The JSON Schema of a trace.
pub const SCHEMA: &str = include_str!("schema.json");

/// An event as JSON, in which places are file names, lines and columns. `files` are those of the program.
pub fn event_json(event: &Event, files: &Files) -> serde_json::Value {
    json::event(event, files)
}
