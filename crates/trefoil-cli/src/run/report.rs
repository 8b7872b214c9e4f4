//! The end of a failed run, for a person: what failed and where, and what it has cost.

use trefoil::Loaded;
use trefoil::answers::{about, answers, questions};
use trefoil::codes::help::help;
use trefoil::engine::explain;
use trefoil::machine::Cause;
use trefoil::runtime::{RunError, RunOutcome};
use trefoil::template::Value;
use trefoil::trace::without_try;

use super::words::{preview, safe, total};
use crate::output;

/// Why a run failed: code, message, step, excerpt, cause, what to do.
pub fn failure(loaded: &Loaded, error: &RunError, answered: &[(String, String)]) -> String {
    let mut d = explain("run-failed", error);
    d.help = other_answer(loaded, error, answered).or(d.help);
    let step = error.key.as_ref().filter(|key| !key.0.is_empty());
    let step = step.map(|key| format!(" in `{}`", safe(without_try(&key.0)))).unwrap_or_default();
    let cause = match &error.cause {
        Some(Cause::Status(status)) if !error.message.contains(&status.to_string()) => format!(" (status {status})"),
        Some(Cause::Network) => " (network error)".to_owned(),
        Some(Cause::Status(_) | Cause::Guardrail | Cause::Timeout) | None => String::new(),
    };
    d.message = format!("{}{step}: {}{cause}", error.code, error.message);
    if error.help.is_none()
        && let Some(help) = help(error)
    {
        d = d.help(help);
    }
    output::diagnostics(&[d], &loaded.files)
}

/// What to do where an answer of the command line led nowhere: whoever gave it asks for no change of the manifest.
fn other_answer(loaded: &Loaded, error: &RunError, answered: &[(String, String)]) -> Option<String> {
    let key = error.key.as_ref().filter(|_| error.code == "NO_TRANSITION")?;
    let asked = questions(&loaded.program);
    let question = about(&asked, &key.0)?;
    let (name, _) = answered.iter().find(|(name, _)| answers(&asked, name, question))?;
    Some(format!("pass another answer with `--answer {name}=VALUE`"))
}

/// What a run that did not end well has spent, and the answer that made it fail.
pub fn spent(outcome: &RunOutcome, answer: Option<&str>) -> Vec<String> {
    let error = outcome.result.as_ref().err();
    let own = error.and_then(RunError::answer).map(|own| preview(&Value::from(own)));
    let answer = own.as_deref().or(answer).filter(|answer| !answer.is_empty());
    let answer = answer.map(|answer| format!("answer: {answer}"));
    let spent = format!("spent: {}", total(outcome.calls, &outcome.usage, outcome.duration_ms));
    answer.into_iter().chain([spent]).collect()
}
