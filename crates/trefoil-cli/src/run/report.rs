//! The end of a failed run, for a person: what failed and where, what it has cost, and how to go on.

use trefoil::Loaded;
use trefoil::engine::explain;
use trefoil::runtime::{Cause, RunError, RunOutcome};

use super::words::{safe, total};
use crate::output;

/// Why a run failed: code, message, step, excerpt, cause, what to do.
pub fn failure(loaded: &Loaded, error: &RunError) -> String {
    let mut d = explain("run-failed", error);
    let step = error.key.as_ref().filter(|key| !key.0.is_empty());
    let step = step.map(|key| format!(" in `{}`", safe(&key.0))).unwrap_or_default();
    let cause = match &error.cause {
        Some(Cause::Status(status)) if !error.message.contains(&status.to_string()) => format!(" (status {status})"),
        Some(Cause::Network) => " (network error)".to_owned(),
        Some(Cause::Status(_) | Cause::Guardrail | Cause::Timeout) | None => String::new(),
    };
    d.message = format!("{}{step}: {}{cause}", error.code, error.message);
    output::diagnostics(&[d], &loaded.files)
}

/// What a failed run has spent, the answer that made it fail, and how to go on.
pub fn after(outcome: &RunOutcome, answer: Option<&str>, trace: Option<&str>) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(answer) = answer.filter(|answer| !answer.is_empty()) {
        lines.push(format!("answer: {answer}"));
    }
    lines.push(format!("spent: {}", total(outcome.calls, &outcome.usage, outcome.duration_ms)));
    lines.push(match trace {
        Some(trace) => format!("next: `trefoil trace {trace}` shows each prompt and answer"),
        None => format!(
            "next: run it again with `--trace FILE`, then `trefoil trace FILE` shows each prompt and answer{}",
            again()
        ),
    });
    lines
}

/// The command that runs it again and records it, where it is short enough to be copied.
fn again() -> String {
    let words: Vec<String> = std::env::args().skip(1).map(|word| quoted(&word)).collect();
    let command = format!("trefoil {} --trace trace.json", words.join(" "));
    let plain = command.chars().all(|c| !c.is_control());
    if plain && command.chars().count() <= 160 { format!(":\n      {command}") } else { String::new() }
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let bare = |c: char| c.is_alphanumeric() || "-_./=:,@%+#".contains(c);
    if !word.is_empty() && word.chars().all(bare) && !word.starts_with('#') {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_for_a_shell() {
        assert_eq!(quoted("topic=tea"), "topic=tea");
        assert_eq!(quoted("it's $HOME"), "'it'\\''s $HOME'");
        assert_eq!(quoted(""), "''");
    }
}
