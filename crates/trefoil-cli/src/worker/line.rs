//! One line for each run that a worker starts and ends.

use trefoil::Error;
use trefoil::internals::Stored;
use trefoil::internals::command::{PrintedCommand, RunOptions};
use trefoil_runtime::RunOutcome;

use crate::harmless::safe;
use crate::run::waiting;
use crate::words::total;

/// The worker starts a run.
pub fn begun(run: &str, stored: &Stored) -> String {
    safe(&format!("run {run} started: {}", stored.started.program.flow)).into_owned()
}

/// A run has ended here. `open`: it has not ended in the store, because this process lacks something that another one may
/// have. `kept`: the store keeps its content.
pub fn ended(outcome: &RunOutcome, open: bool, kept: bool, options: &RunOptions) -> String {
    let spent = total(outcome.calls, &outcome.usage, outcome.duration_ms);
    let run = &outcome.run;
    let line = match &outcome.result {
        Ok(_) => {
            let items = outcome.items.map(|items| format!(", {items}")).unwrap_or_default();
            let again = options.text(PrintedCommand::Fork { run, from: None });
            let again = outcome.items.filter(|_| kept).map(|_| format!("; to run the failed items again: {again}"));
            format!("run {run} completed{items}: {spent}{}", again.unwrap_or_default())
        }
        Err(_) if !outcome.waiting.is_empty() => {
            let asked: Vec<String> = outcome.waiting.iter().map(|one| waiting::line(one, &outcome.waiting)).collect();
            let show = options.text(PrintedCommand::Show(run));
            format!("run {run} waits for an answer: {}; to answer: {show}; {spent}", asked.join("; "))
        }
        Err(error) if outcome.suspended && !open => {
            format!("run {run} waits for a decision: {}; {spent}", error.message)
        }
        Err(error) if error.code == "INTERRUPTED" => format!("run {run} given back: {spent}"),
        Err(error) if error.code == "CANCELLED" => format!("run {run} cancelled: {spent}"),
        Err(error) if open => format!("run {run} left to other workers: {}: {}; {spent}", error.code, error.message),
        Err(error) => format!("run {run} failed: {}: {}; {spent}", error.code, error.message),
    };
    safe(&line).into_owned()
}

/// Another process works on a run that this one has lost.
pub fn taken_over(outcome: &RunOutcome) -> String {
    let spent = total(outcome.calls, &outcome.usage, outcome.duration_ms);
    safe(&format!("run {} was taken over by another process: {spent}", outcome.run)).into_owned()
}

/// Why a run cannot continue here, on one line.
pub fn why(error: &Error) -> String {
    let words = match error {
        Error::NotStarted(findings) => findings.diagnostics().iter().map(|found| found.message.clone()).collect(),
        other => vec![other.to_string()],
    };
    safe(&words.join("; ")).into_owned()
}
