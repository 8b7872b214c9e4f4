//! The output of a turn: findings, reused results, differences.

use std::collections::BTreeSet;
use std::time::Duration;

use trefoil::Outcome;
use trefoil::internals::Report;
use trefoil::runs::{Fate, Line, Made, WordDiff};
use trefoil_machine::event::Waiting;
use trefoil_syntax::Diagnostic;
use trefoil_template::Value;

use super::Loop;
use super::seen::Told;
use super::turn::worth;
use crate::harmless::{safe, safe_lines};
use crate::output;
use crate::run::waiting::{commands, line};
use crate::run::{money, time, why, words};

/// Maximum number of lines shown of a result.
const RESULT: usize = 20;

/// Prints the new findings, and the total number.
pub fn findings(before: Option<&Report>, now: &Report, failed: bool, first: bool) {
    let all: Vec<&Diagnostic> = now.diagnostics.iter().filter(|d| worth(d)).collect();
    let known: BTreeSet<String> =
        before.into_iter().flat_map(|report| &report.diagnostics).map(|d| format!("{}{}", d.rule, d.message)).collect();
    let is_new = |d: &&&Diagnostic| failed || !known.contains(&format!("{}{}", d.rule, d.message));
    let new: Vec<Diagnostic> = all.iter().filter(is_new).map(|d| (*d).clone()).collect();
    if !first {
        output::aside(&format!("── saved {}", "─".repeat(output::width().min(60).saturating_sub(9))));
    }
    if !new.is_empty() {
        output::say(&output::diagnostics(&new, &now.files));
    }
    match (failed, all.len(), new.len()) {
        (true, ..) => output::refuse("nothing runs until this is corrected", None),
        (_, 0, _) => {}
        (_, of, new) => {
            let old = of.saturating_sub(new);
            let old = if old > 0 { format!(", {old} as before") } else { String::new() };
            output::say(&format!("check: {of} warning{}{old}", if of == 1 { "" } else { "s" }));
        }
    }
}

/// Prints which results were kept, and which calls were made and why.
pub fn reuse((lines, made): (&[Line], Made), explain: bool, outcome: &Outcome, took: Duration) {
    if lines.is_empty() {
        return;
    }
    let plain = |line: &&Line| !matches!(line.fate, Fate::Kept { was: None, .. });
    let told: Vec<Line> = lines.iter().filter(plain).filter(|_| explain).cloned().collect();
    why::explained(&told, output::colored()).iter().for_each(|line| output::say(line));
    let kept = lines.iter().filter(|line| matches!(line.fate, Fate::Kept { .. })).count();
    let results = if kept == 1 { "1 result".to_owned() } else { format!("{kept} results") };
    let saved = why::saved(lines).map(|saved| format!(" (saved {saved})")).unwrap_or_default();
    let (made, spent) = (words::made(made), money(&outcome.usage));
    let took = time(u64::try_from(took.as_millis()).unwrap_or(u64::MAX));
    output::say(&format!("{results} kept{saved}, {made} ({spent}) · up to date after {took}"));
}

/// Prints the outputs of steps that have changed.
pub fn differences(before: &Told, now: &Told) {
    for (key, step) in &now.steps {
        let (Some(old), Some(new)) = (before.steps.get(key).and_then(|step| step.output.as_ref()), &step.output) else {
            continue;
        };
        if old == new {
            continue;
        }
        difference(&safe(&step.label), old, new);
    }
}

fn difference(name: &str, old: &Value, new: &Value) {
    let diff = WordDiff::of(&old.to_text(), &new.to_text());
    let color = output::colored();
    output::say(&format!("{:>6}  {name}: {}", "now", why::in_line(&diff, color)));
}

/// Prints the result: all of it if there was none before, otherwise the differences.
pub fn result(now: &Value, before: Option<&Value>) {
    match before {
        Some(before) if before == now => output::aside("the result is as before"),
        Some(before) => difference("result", before, now),
        None => {
            let text = now.to_text();
            let all: Vec<&str> = text.lines().collect();
            output::say("result:");
            all.iter().take(RESULT).for_each(|line| output::say(&format!("  │ {}", safe_lines(line))));
            if all.len() > RESULT {
                output::say(&format!("  │ … {} more lines", all.len() - RESULT));
            }
        }
    }
}

/// Prints what a run waits for. `store`: the option that names the store.
pub fn waiting(run: &str, all: &[Waiting], store: &str) {
    for one in all {
        output::say(&format!("waiting: {}", safe(&line(one, all))));
        // No key allows something to a run that this one has called.
        if one.sort == "run" {
            let first = commands(run, one, all, store).into_iter().next().unwrap_or_default();
            output::say(&format!("  run `{}`, then press Enter here", safe(&first)));
        }
    }
}

impl Loop<'_> {
    /// Prints which keys can be pressed now.
    pub(super) fn hint(&self) {
        let last = self.last.as_ref();
        let mut keys = vec!["save a file, or press"];
        if last.is_some_and(|last| last.waiting.iter().any(|one| one.sort != "run")) {
            keys.push("a answer ·");
        }
        if last.is_some_and(|last| last.repeats.is_some()) {
            keys.push("y run that step a second time ·");
        }
        keys.extend([
            "Enter try again ·",
            "r all again ·",
            "f from a step ·",
            "i other input ·",
            "t trace page ·",
            "q quit",
        ]);
        output::aside(&keys.join(" "));
    }
}
