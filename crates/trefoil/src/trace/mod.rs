//! The trace of a run: every step with its key, place, prompts, answers, usage and timing.
//!
//! Collects the run's events and says at the end what became of each step. Texts in it are masked, as in the events.

mod about;
mod clock;
mod collect;
mod graph;
mod json;
pub mod page;
mod place;
mod write;

pub use about::About;
pub use trefoil_machine::key::{parent as outer, without_try};
pub use write::Pending;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use trefoil_machine::Told;
use trefoil_machine::event::{ReusedFrom, ShownMessage, Tally};
use trefoil_machine::guard::Verdict;
use trefoil_runtime::{Event, EventSink, Key, RunError, Usage};
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
    /// When it began, by the wall clock.
    pub started_at: Option<SystemTime>,
    /// The run's input.
    pub input: Option<Value>,
    /// The same with defaults.
    pub effective_input: Option<Value>,
    /// The steps in the order in which they began.
    pub steps: Vec<StepTrace>,
    /// Things that did not stop it.
    pub warnings: Vec<String>,
    /// How it ended; none: it has not.
    pub end: Option<End>,
    /// Steps by key.
    index: HashMap<Arc<str>, usize>,
    /// Items of fan-outs by key.
    items: HashMap<Arc<str>, Item>,
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

/// An item of a fan-out.
#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    /// Which, from 1.
    pub number: u32,
    /// How many there are.
    pub total: u32,
    /// What it is; none: the fan-out is over a number.
    pub value: Option<Value>,
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
    /// How often it was tried.
    pub tries: u32,
    /// How its fan-out went.
    pub items: Option<Tally>,
    /// The item that it is done for, if that is what it is in.
    pub item: Option<Item>,
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
    pub calls: Vec<TraceCall>,
    /// Retries, iterations that did not validate, warnings.
    pub notes: Vec<(u64, String)>,
    /// What guardrails and validators came to, with milliseconds since the run began.
    pub verdicts: Vec<(u64, Verdict)>,
}

/// A model call, tool call, command or question to a person.
#[derive(Debug, Clone)]
pub struct TraceCall {
    /// Its key.
    pub key: Option<Key>,
    /// `model`, `tool`, `command`, `human`, ...
    pub effect: &'static str,
    /// Who speaks.
    pub agent: Option<String>,
    /// Who answers.
    pub model: Option<String>,
    /// What was sent.
    pub messages: Vec<ShownMessage>,
    /// What was sent beside it.
    pub parameters: Option<Value>,
    /// What had come of an answer that never was whole.
    pub partial: Option<String>,
    /// What the provider said beside the answer.
    pub told: Told,
    /// Arguments, script or question.
    pub detail: Option<Value>,
    /// What came back.
    pub answer: Option<Value>,
    /// Why nothing did.
    pub error: Option<RunError>,
    /// Tokens.
    pub usage: Option<Usage>,
    /// Nothing was called: which earlier run has the result.
    pub reused_from: Option<Box<ReusedFrom>>,
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
    /// As JSON.
    pub fn json(&self, about: &About) -> serde_json::Value {
        json::json(self, about)
    }
}

/// The JSON Schema of a trace.
pub const SCHEMA: &str = include_str!("schema.json");

/// An event as JSON: its places are file names, lines and columns. `files` are those of the program.
pub fn event_json(event: &Event, files: &Files) -> serde_json::Value {
    json::event(event, files)
}
