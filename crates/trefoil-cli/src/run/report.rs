//! The report of a failed run: the error, its place, and the cost.

use std::borrow::Cow;

use trefoil_host::answers::{about, answers, questions};
use trefoil_host::command::option_text;
use trefoil_host::waiting::other_model;
use trefoil_machine::step_path::split_value;
use trefoil_project::codes::help;
use trefoil_project::failure::failed_run;
use trefoil_project::load::LoadedTarget;
use trefoil_runtime::{RunError, RunOutcome};
use trefoil_syntax::{Diagnostic, Files, Location};
use trefoil_template::Value;
use trefoil_view::trace::CalledFailure;

use crate::harmless::{TerminalText, safe};
use crate::output;
use crate::words::{preview, total};

/// Why a run failed: code, message, step, excerpt, cause, help. `called`: the failure of a called run that made it fail. `is_kept`:
/// commands about the stored run say how it goes on.
pub fn failure(
    loaded: &LoadedTarget,
    error: &RunError,
    called: Option<&CalledFailure>,
    answered: &[String],
    is_kept: bool,
) -> TerminalText {
    let (mut d, mut files) = (failed_run(error), Cow::Borrowed(&loaded.files));
    if let Some(called) = called {
        d = with_cause(d, called, files.to_mut());
        // What has its own advice has that of its cause, or is a limit of this run.
        d.help = error.help.as_deref().or(help::help(&called.error)).map(str::to_owned).or(d.help);
    }
    if let Some(model) = other_model(&loaded.program, error).filter(|_| !is_kept) {
        let help = d.help.take().map(|help| format!("{help}; ")).unwrap_or_default();
        d = d.help(format!(
            "{help}for another model, run it again with `{}`",
            option_text("--model", &model).trim_start()
        ));
    }
    if let Some(help) = other_answer(loaded, error, answered) {
        d = d.help(help);
    }
    output::diagnostics(&[d], &files)
}

/// A failure with the place in a called flow where it began. `files`: those of both.
fn with_cause(d: Diagnostic, called: &CalledFailure, files: &mut Files) -> Diagnostic {
    let error = &called.error;
    let place = error.location.and_then(|at| Some((at.span, called.files.get(at.file)?.clone())));
    match place {
        Some((span, file)) => {
            let at = Location { file: files.add(file), span };
            d.label(at, format!("{} failed here", called.step()))
        }
        None => d,
    }
}

/// The help if an answer from the command line matched no transition: another answer is needed, not a change of the
/// manifest.
fn other_answer(loaded: &LoadedTarget, error: &RunError, answered: &[String]) -> Option<String> {
    let key = error.key.as_ref().filter(|_| error.code == "NO_TRANSITION")?;
    let asked = questions(&loaded.program);
    let question = about(&asked, key)?;
    let is_it = |name: &str| answers(&asked, name, question);
    let mut names = answered.iter().filter_map(|text| split_value(text, is_it)).map(|(name, _)| name);
    let name = names.find(|name| is_it(name))?;
    Some(format!("pass another answer with `--answer {name}=VALUE`"))
}

/// The usage of a failed run, the request that failed, and the answer that caused the failure.
pub fn spent(outcome: &RunOutcome, answer: Option<&str>) -> Vec<String> {
    let spent = format!("spent: {}", total(outcome.calls, &outcome.usage, outcome.duration_ms));
    sent(outcome, answer).into_iter().chain([spent]).collect()
}

/// The request that failed, and the answer that caused the failure.
pub fn sent(outcome: &RunOutcome, answer: Option<&str>) -> Vec<String> {
    let error = outcome.result.as_ref().err();
    let own = error.and_then(RunError::answer).map(|own| preview(&Value::from(own)));
    let answer = own.as_deref().or(answer).filter(|answer| !answer.is_empty());
    let answer = answer.map(|answer| format!("answer: {answer}"));
    let sent = error.and_then(|error| error.sent.as_deref()).map(|sent| format!("request: {}", safe(sent)));
    sent.into_iter().chain(answer).collect()
}
