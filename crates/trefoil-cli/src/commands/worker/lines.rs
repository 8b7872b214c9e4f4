//! What a worker says, on lines.

use std::time::Duration;

use trefoil::Error;
use trefoil_host::command::{PrintedCommand, RunOptions};
use trefoil_runtime::RunOutcome;

use crate::output;
use crate::runs::run_history::without_project;
use crate::terminal_text::escape_line;
use crate::words::format_total;
use trefoil_host::waiting_messages::{StoppedRun, waiting_line};
use trefoil_host::worker::{WorkerEvent, WorkerWatch};

/// Prints what a worker says.
pub struct WorkerLines {
    /// Print only warnings.
    pub quiet: bool,
    /// The options of printed commands.
    pub options: RunOptions,
}

impl WorkerWatch for WorkerLines {
    fn take_event(&self, event: WorkerEvent<'_>) {
        match event {
            WorkerEvent::RunRefused { run, why: reason } => {
                output::print_warning(format!("run {run} cannot continue here: {}", why(reason)));
            }
            WorkerEvent::StoreUnavailable(error) => {
                output::print_warning(format!("the store cannot be asked for runs: {error}"));
            }
            _ if self.quiet => {}
            WorkerEvent::ProjectIgnored { run, why } => {
                output::print_note(format!("run {run}: {}", without_project(why)))
            }
            WorkerEvent::Working { place, concurrency } => {
                output::print_line(format!("working on the runs in {place}, {concurrency} at a time"));
            }
            WorkerEvent::RunBegun { run, flow } => output::print_line(begun(run, flow)),
            WorkerEvent::RunEnded { outcome, open, kept } => {
                output::print_line(ended(outcome, open, kept, &self.options))
            }
            WorkerEvent::RunTaken(outcome) => output::print_line(taken_over(outcome)),
            WorkerEvent::Stopping { runs, drain } => output::print_line(stopping(runs, drain)),
            WorkerEvent::CallsCut { runs } => {
                let (given, whose) = given_back(runs);
                output::print_line(format!("{given}, and {whose} calls in progress may be paid for again"));
            }
        }
    }
}

fn stopping(runs: usize, drain: Option<Duration>) -> String {
    let (given, whose) = given_back(runs);
    match (runs, drain) {
        (0, _) => "stopping".to_owned(),
        (_, Some(limit)) => format!(
            "stopping; {given} when {whose} calls in progress have ended, or after {} s (at once with another signal)",
            limit.as_secs()
        ),
        (_, None) => format!("stopping; {given}"),
    }
}

/// The words for runs that are given back, and whose their calls are.
fn given_back(runs: usize) -> (String, &'static str) {
    match runs {
        1 => ("1 run is given back".to_owned(), "its"),
        n => (format!("{n} runs are given back"), "their"),
    }
}

/// The worker starts a run.
fn begun(run: &str, flow: &str) -> String {
    escape_line(&format!("run {run} started: {flow}")).into_owned()
}

/// A run has ended here. `open`: it has not ended in the store, because this process lacks something that another one may
/// have. `kept`: the store keeps its content.
fn ended(outcome: &RunOutcome, open: bool, kept: bool, options: &RunOptions) -> String {
    let spent = format_total(outcome.calls, &outcome.usage, outcome.duration_ms);
    let run = &outcome.run;
    let line = match &outcome.result {
        Ok(_) => {
            let items = outcome.items.map(|items| format!(", {items}")).unwrap_or_default();
            let next =
                if kept { StoppedRun::of_outcome(outcome, None, None).next_commands(options) } else { Vec::new() };
            let next: String = next.iter().map(|next| format!("; {}: {}", next.purpose, next.command)).collect();
            format!("run {run} completed{items}: {spent}{next}")
        }
        Err(_) if !outcome.waiting.is_empty() && !open => {
            let asked: Vec<String> = outcome.waiting.iter().map(|one| waiting_line(one, &outcome.waiting)).collect();
            let show = options.render_command(PrintedCommand::Show(run));
            format!("run {run} waits for an answer: {}; to answer: {show}; {spent}", asked.join("; "))
        }
        Err(error) if outcome.suspended && !open => {
            format!("run {run} waits for a decision: {}; {spent}", error.message)
        }
        Err(error) if error.code == "INTERRUPTED" => format!("run {run} given back: {spent}"),
        Err(error) if error.code == "CANCELLED" => format!("run {run} cancelled: {spent}"),
        Err(error) if open => {
            let why = outcome.permission_error().unwrap_or(error);
            format!("run {run} left to other workers: {}: {}; {spent}", why.code, why.message)
        }
        Err(error) => format!("run {run} failed: {}: {}; {spent}", error.code, error.message),
    };
    escape_line(&line).into_owned()
}

/// Another process works on a run that this one has lost.
fn taken_over(outcome: &RunOutcome) -> String {
    let spent = format_total(outcome.calls, &outcome.usage, outcome.duration_ms);
    escape_line(&format!("run {} was taken over by another process: {spent}", outcome.run)).into_owned()
}

/// Why a run cannot continue here, on one line.
fn why(error: &Error) -> String {
    let words = match error {
        Error::NotStarted(findings) => findings.found_diagnostics().iter().map(|found| found.message.clone()).collect(),
        other => vec![other.to_string()],
    };
    escape_line(&words.join("; ")).into_owned()
}
