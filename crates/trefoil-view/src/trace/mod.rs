//! The trace of a run: every step with its key, place, prompts, answers, usage and timing.
//!
//! It is the picture of the run, with what is no event of it: how a stored run stands, and what can be done next. Texts are masked, as
//! in the events.

mod called_failure;
mod graph;
mod json;
mod location;
pub mod page;
mod subject;

pub use called_failure::CalledFailure;
pub use subject::TraceSubject;
pub use trefoil_machine::key::{parent_key as outer, without_try};
pub use trefoil_machine::moment::{format_moment, rfc3339_ms};

pub use crate::run_view::OpenWait;

use std::sync::{Mutex, MutexGuard, PoisonError};

use trefoil_runtime::{Event, EventSink, RunOutcome, RunStatus, Usage};
use trefoil_syntax::SourceFiles;

use crate::run_view::RunView;

/// Collects a run's trace.
#[derive(Default)]
pub struct TraceSink {
    trace: Mutex<Trace>,
}

/// The trace of a run.
#[derive(Debug, Clone, Default)]
pub struct Trace {
    /// The picture of the run.
    pub view: RunView,
    /// The run whose results it reuses.
    base: Option<String>,
    /// The status of a stored run that has not ended.
    standing: Option<RunStatus>,
    /// What can be done next.
    next: Vec<SuggestedCommand>,
    /// The failure of a called run that made it fail.
    called: Option<CalledFailure>,
    /// The usage, calls and milliseconds of a run that has not ended.
    so_far: Option<(Usage, u64, u64)>,
}

/// A command that a user can copy, and its purpose.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct SuggestedCommand {
    /// The command.
    pub command: String,
    /// `answer`, `to continue`, ...
    pub purpose: String,
}

impl TraceSink {
    fn lock_trace(&self) -> MutexGuard<'_, Trace> {
        self.trace.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The process has ended, and with it the events. The figures are those of the run so far.
    pub fn record_outcome(&self, outcome: &RunOutcome) {
        self.lock_trace().so_far = Some((outcome.usage, outcome.calls, outcome.duration_ms));
    }

    /// The events were those of a stored run that has not ended, and that stands like this.
    pub fn set_standing(&self, status: RunStatus, wait: OpenWait, usage: Usage, calls: u64) {
        self.lock_trace().set_standing(status, wait, (usage, calls));
    }

    /// Warnings that are no events of the run.
    pub fn add_warnings(&self, warnings: Vec<String>) {
        self.lock_trace().view.warnings.extend(warnings);
    }

    /// The run reuses results of an earlier one.
    pub fn set_reused_run(&self, base: Option<&str>) {
        self.lock_trace().set_reused_run(base);
    }

    /// What can be done with the run next.
    pub fn set_suggestions(&self, next: Vec<SuggestedCommand>) {
        self.lock_trace().next = next;
    }

    /// The run has failed because one that it called has.
    pub fn failed_in(&self, called: Option<CalledFailure>) {
        self.lock_trace().called = called;
    }

    /// The trace so far.
    pub fn trace(&self) -> Trace {
        self.lock_trace().clone()
    }
}

impl EventSink for TraceSink {
    fn wants_provenance(&self) -> bool {
        true
    }
    fn receive_event(&self, event: &Event) {
        self.lock_trace().view.apply_event(event);
    }
}

impl Trace {
    /// How the run stands.
    pub fn status(&self) -> RunStatus {
        match self.standing {
            Some(standing) if self.view.end.is_none() => standing,
            _ => self.view.status(),
        }
    }

    /// The events were those of a stored run that has not ended, and that stands like this. `spent`: its usage and model calls so far.
    pub fn set_standing(&mut self, status: RunStatus, wait: OpenWait, (usage, calls): (Usage, u64)) {
        self.view.set_standing(status, wait);
        self.standing = Some(status);
        self.so_far = Some((usage, calls, self.view.at_ms));
    }

    /// The run has ended like this, and the events that say so come later.
    pub fn set_status(&mut self, status: RunStatus) {
        self.standing = Some(status);
    }

    /// The run has failed because one that it called has.
    pub fn set_called_failure(&mut self, called: Option<CalledFailure>) {
        self.called = called;
    }

    /// The run reuses results of an earlier one.
    pub fn set_reused_run(&mut self, base: Option<&str>) {
        self.base = base.map(str::to_owned);
    }

    /// What has changed since an earlier trace of the same run, as a trace: with the steps that are not as they were, and without what
    /// never changes (input, files, graph).
    pub fn changes_to_json(&self, about: &TraceSubject, before: &Self) -> serde_json::Value {
        json::changes_json(self, about, before)
    }

    /// The trace as JSON.
    pub fn to_json(&self, about: &TraceSubject) -> serde_json::Value {
        json::trace_json(self, about)
    }
}

/// The JSON Schema of a trace.
pub const SCHEMA: &str = include_str!("schema.json");

/// An event as JSON, in which places are file names, lines and columns. `files` are those of the program.
pub fn event_json(event: &Event, files: &SourceFiles) -> serde_json::Value {
    json::event_to_json(event, files)
}
