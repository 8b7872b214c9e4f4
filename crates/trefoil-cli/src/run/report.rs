//! The report of a failed run: the error, its place, and the cost.

use std::borrow::Cow;

use trefoil_host::answers::{answers_question, find_questions, question_with_key};
use trefoil_host::command::option_text;
use trefoil_host::waiting_messages::other_model;
use trefoil_machine::step_path::split_value;
use trefoil_project::codes::help;
use trefoil_project::failure::failed_run;
use trefoil_project::load::LoadedTarget;
use trefoil_runtime::{RunError, RunOutcome};
use trefoil_syntax::{Diagnostic, Location, SourceFiles};
use trefoil_template::Value;
use trefoil_view::trace::CalledFailure;

use crate::output;
use crate::terminal_text::{TerminalText, escape_line};
use crate::words::{format_total, preview_value};

/// Why a run failed: code, message, step, excerpt, cause, help. `called`: the failure of a called run that made it fail. `is_kept`:
/// commands about the stored run say how it goes on.
pub fn format_failure(
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
        d.help = error.help.as_deref().or(help::find_help(&called.error)).map(str::to_owned).or(d.help);
    }
    if let Some(model) = other_model(&loaded.program, error).filter(|_| !is_kept) {
        let help = d.help.take().map(|help| format!("{help}; ")).unwrap_or_default();
        d = d.with_help(format!(
            "{help}for another model, run it again with `{}`",
            option_text("--model", &model).trim_start()
        ));
    }
    if let Some(help) = other_answer(loaded, error, answered) {
        d = d.with_help(help);
    }
    output::format_message_findings(&[d], &files)
}

/// A failure with the place in a called flow where it began. `files`: those of both.
fn with_cause(d: Diagnostic, called: &CalledFailure, files: &mut SourceFiles) -> Diagnostic {
    let error = &called.error;
    let place = error.location.and_then(|at| Some((at.span, called.files.get(at.file)?.clone())));
    match place {
        Some((span, file)) => {
            let at = Location { file: files.add_file(file), span };
            d.with_label(at, format!("{} failed here", called.step_phrase()))
        }
        None => d,
    }
}

/// The help if an answer from the command line matched no transition: another answer is needed, not a change of the
/// manifest.
fn other_answer(loaded: &LoadedTarget, error: &RunError, answered: &[String]) -> Option<String> {
    let key = error.key.as_ref().filter(|_| error.code == "NO_TRANSITION")?;
    let asked = find_questions(&loaded.program);
    let question = question_with_key(&asked, key)?;
    let is_it = |name: &str| answers_question(&asked, name, question);
    let mut names = answered.iter().filter_map(|text| split_value(text, is_it)).map(|(name, _)| name);
    let name = names.find(|name| is_it(name))?;
    Some(format!("pass another answer with `--answer {name}=VALUE`"))
}

/// The usage of a failed run, the request that failed, and the answer that caused the failure.
pub fn usage_lines(outcome: &RunOutcome, answer: Option<&str>) -> Vec<String> {
    let spent = format!("spent: {}", format_total(outcome.calls, &outcome.usage, outcome.duration_ms));
    request_lines(outcome, answer).into_iter().chain([spent]).collect()
}

/// The request that failed, and the answer that caused the failure.
pub fn request_lines(outcome: &RunOutcome, answer: Option<&str>) -> Vec<String> {
    let error = outcome.result.as_ref().err();
    let own = error.and_then(RunError::answer_excerpt).map(|own| preview_value(&Value::from(own)));
    let answer = own.as_deref().or(answer).filter(|answer| !answer.is_empty());
    let answer = answer.map(|answer| format!("answer: {answer}"));
    let sent = error.and_then(|error| error.sent.as_deref()).map(|sent| format!("request: {}", escape_line(sent)));
    sent.into_iter().chain(answer).collect()
}
