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
        if let Some(advice) = error.help.as_deref().or(help::find_help(&called.error)) {
            d.help = Some(advice.to_owned());
        }
    }
    if let Some(model) = other_model(&loaded.program, error)
        && !is_kept
    {
        let help = match d.help.take() {
            Some(help) => format!("{help}; "),
            None => String::new(),
        };
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
    let Some(at) = called.error.location else { return d };
    let Some(file) = called.files.get(at.file) else { return d };
    let at = Location { file: files.add_file(file.clone()), span: at.span };
    d.with_label(at, format!("{} failed here", called.step_phrase()))
}

/// The help if an answer from the command line matched no transition: another answer is needed, not a change of the
/// manifest.
fn other_answer(loaded: &LoadedTarget, error: &RunError, answered: &[String]) -> Option<String> {
    if error.code != "NO_TRANSITION" {
        return None;
    }
    let key = error.key.as_ref()?;
    let asked = find_questions(&loaded.program);
    let question = question_with_key(&asked, key)?;
    let is_it = |name: &str| answers_question(&asked, name, question);
    for text in answered {
        if let Some((name, _)) = split_value(text, is_it)
            && is_it(name)
        {
            return Some(format!("pass another answer with `--answer {name}=VALUE`"));
        }
    }
    None
}

/// The usage of a failed run, the request that failed, and the answer that caused the failure.
pub fn usage_lines(outcome: &RunOutcome, answer: Option<&str>) -> Vec<String> {
    let mut lines = request_lines(outcome, answer);
    lines.push(format!("spent: {}", format_total(outcome.calls, &outcome.usage, outcome.duration_ms)));
    lines
}

/// The request that failed, and the answer that caused the failure.
pub fn request_lines(outcome: &RunOutcome, answer: Option<&str>) -> Vec<String> {
    let mut lines = Vec::new();
    let mut own = None;
    if let Err(error) = &outcome.result {
        if let Some(sent) = &error.sent {
            lines.push(format!("request: {}", escape_line(sent)));
        }
        own = error.answer_excerpt().map(|own| preview_value(&Value::from(own)));
    }
    let answer = own.as_deref().or(answer).unwrap_or_default();
    if !answer.is_empty() {
        lines.push(format!("answer: {answer}"));
    }
    lines
}
