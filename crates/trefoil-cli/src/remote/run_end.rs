//! The end of a run of a server: its result, or why it failed, or what it waits for, printed as for a run of this process.

use serde_json::Value as Json;
use trefoil::store::Status;
use trefoil_host::command::RunOptions;
use trefoil_machine::RunLimits;
use trefoil_project::failure::failed_run;
use trefoil_runtime::{Event, EventKind, RunError, RunOutcome, Usage};
use trefoil_server::RunDetail;
use trefoil_syntax::SourceFiles;
use trefoil_template::Value;

use super::run_events::display_place;
use super::waits::{RemoteWait, next_commands, run_status, run_usage, wait_lines};
use crate::args::ShowArgs;
use crate::run::{RunDisplay, print_result, report, suggestions};
use crate::terminal_text::TerminalText;
use crate::{exit, output};

/// What the events of a run said about its end.
#[derive(Debug, Default)]
pub struct EndEvent {
    error: Option<RunError>,
    /// Its place in the manifest.
    place: Option<String>,
    /// The limits that would have been enough.
    raise: Option<RunLimits>,
    duration_ms: u64,
    figures: Option<(u64, Usage)>,
}

impl EndEvent {
    /// Takes note of an event. `json`: as it was sent.
    pub fn note_event(&mut self, event: &Event, json: &Json) {
        self.duration_ms = event.at_ms;
        match &event.kind {
            EventKind::RunResumed { .. } => {
                (self.error, self.place, self.figures) = (None, None, None);
                self.raise = None;
            }
            EventKind::RunSuspended { why, .. } => self.raise = why.as_ref().and_then(|why| why.raise),
            EventKind::RunFinished { error, usage, calls, duration_ms, .. } => {
                self.error.clone_from(error);
                self.raise = error.as_ref().and_then(|error| error.raise);
                self.place = json.get("error").and_then(display_place);
                self.figures = Some((*calls, *usage));
                self.duration_ms = *duration_ms;
            }
            _ => {}
        }
    }

    /// The place of the failure in the manifest.
    pub fn place(&self) -> Option<&str> {
        self.place.as_deref()
    }

    /// The limits that would have been enough, if the run has reached one and says so.
    pub fn enough_limits(&self) -> Option<RunLimits> {
        self.raise
    }

    /// The outcome of a run that is not followed any more. `seen`: its calls and its usage so far.
    pub fn cut_outcome(&self, run: &str, why: RunError, seen: (u64, Usage)) -> RunOutcome {
        let (calls, usage) = self.figures.unwrap_or(seen);
        RunOutcome {
            run: run.into(),
            result: Err(why),
            hidden: Default::default(),
            warnings: Vec::new(),
            waiting: Vec::new(),
            suspended: true,
            continues: true,
            items: None,
            usage,
            calls,
            duration_ms: self.duration_ms,
        }
    }
}

/// How a run of a server has ended, or waits.
pub struct RemoteEnd {
    detail: RunDetail,
    wait: RemoteWait,
    place: Option<String>,
    raise: Option<RunLimits>,
    /// The same as for a run of this process.
    pub outcome: RunOutcome,
}

impl RemoteEnd {
    /// How a run stands that has ended, or waits. `end`: what its events said.
    pub fn new(detail: RunDetail, end: EndEvent) -> Self {
        let wait = RemoteWait::of_members(&detail.wait);
        let status = run_status(&detail.summary);
        let stored = detail.summary.error.as_ref().map(|error| RunError::new(&error.code, error.message.as_str()));
        let result = match status {
            Status::Completed => Ok(detail.result.clone().map(Value::from_json).unwrap_or(Value::Null)),
            Status::Cancelled => Err(RunError::new("CANCELLED", "the run was cancelled")),
            Status::Failed => {
                Err(end.error.clone().or(stored).unwrap_or_else(|| RunError::new("FAILED", "the run has failed")))
            }
            _ => Err(wait.to_open_wait().stopped.unwrap_or_else(|| RunError::new("SUSPENDED", "the run waits"))),
        };
        let is_waiting = !status.is_end();
        let (calls, usage) = end.figures.unwrap_or((detail.summary.calls, run_usage(&detail.summary)));
        let outcome = RunOutcome {
            run: detail.summary.run.as_str().into(),
            result,
            hidden: Default::default(),
            warnings: Vec::new(),
            waiting: wait.waiting.clone(),
            suspended: is_waiting,
            continues: is_waiting || status == Status::Failed,
            items: None,
            usage,
            calls,
            duration_ms: end.duration_ms,
        };
        Self { detail, wait, place: end.place, raise: end.raise, outcome }
    }

    /// Prints the result, the failure, or what the run waits for, and what can be done next. Returns the exit code. `shown`: the display
    /// of the run, if it was followed.
    pub fn print_end(&self, show: &ShowArgs, shown: Option<&RunDisplay>, options: &RunOptions) -> u8 {
        let error = match &self.outcome.result {
            Ok(_) if show.events.is_some() => return exit::OK,
            Ok(value) => {
                let is_live = matches!(shown, Some(shown) if shown.is_live());
                if is_live && !show.quiet && output::is_result_shown() {
                    output::print_line("");
                }
                return print_result(show, value);
            }
            Err(error) => error,
        };
        if self.outcome.suspended {
            // Also with `--quiet`, because nothing else says how to continue.
            for line in wait_lines(&self.detail, &self.wait, self.raise, options) {
                output::print_line(TerminalText::from_line(&line));
            }
            return exit::WAITING;
        }
        if error.code == "CANCELLED" {
            output::print_note("cancelled");
            return exit::CANCELLED;
        }
        let report = output::format_message_findings(&[failed_run(error)], &SourceFiles::default());
        output::print_line(report.trim_end());
        if let Some(place) = &self.place {
            output::print_line(format!("at: {place}"));
        }
        if !show.quiet {
            let answer = match (&error.key, shown) {
                (Some(key), Some(shown)) => shown.last_answer(&key.0),
                _ => None,
            };
            report::usage_lines(&self.outcome, answer.as_deref()).iter().for_each(output::print_line);
        }
        suggestions::after_stop(&next_commands(&self.detail, &self.wait, self.raise, options));
        exit::FAILED
    }
}
