//! The output of a turn: what was saved, findings, kept results, the result.

use std::collections::BTreeSet;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use trefoil::Outcome;
use trefoil::runs::{ActivityDecision, NewResults};
use trefoil_ir::Program;
use trefoil_machine::event::Waiting;
use trefoil_machine::guard;
use trefoil_project::load::LoadReport;
use trefoil_runtime::RunError;
use trefoil_syntax::{Diagnostic, Severity};
use trefoil_template::Value;

use super::Loop;
use super::changes::Look;
use super::digest::{Digest, MOST};
use super::edits::{self, Changed};
use super::stops::{LIMIT_CODE, called_repeats};
use crate::harmless::{TerminalText, safe};
use crate::run::why;
use crate::words::{cut, money, time, wrap};
use crate::{output, shown, words};
use trefoil_host::command::RunOptions;
use trefoil_host::waiting::{answer_commands, waiting_line};

/// Maximum number of lines shown of a result.
const RESULT: usize = 20;
/// Maximum width of the line above a save.
const RULER: usize = 100;
/// Maximum number of characters shown of an input.
const INPUT: usize = 60;

/// How differences are laid out. `most`: the maximum number of lines for the output of a step.
pub fn look(most: Option<usize>) -> Look {
    Look { color: output::colored(), width: output::width(), most }
}

/// Prints which files were saved, and what was edited. Returns the files whose edit is shown completely.
pub fn saved(changed: &[Changed]) -> BTreeSet<String> {
    let mut shown = BTreeSet::new();
    if changed.is_empty() {
        return shown;
    }
    let names: Vec<&str> = changed.iter().map(|one| one.name.as_str()).collect();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let clock = format!("{:02}:{:02}:{:02}Z", now / 3600 % 24, now / 60 % 60, now % 60);
    let width = output::width().min(RULER);
    let head = cut(&format!("── saved {} at {clock} ", safe(&names.join(", "))), width, "… ");
    let ruler = "─".repeat(width.saturating_sub(head.chars().count()));
    output::aside(format!("{head}{ruler}"));
    for Changed { name, before, now } in changed {
        if changed.len() > 1 || now.is_none() {
            output::say(format!("{}{}", safe(name), if now.is_none() { " was deleted" } else { "" }));
        }
        let (Some(before), Some(now)) = (before, now) else { continue };
        if before == now {
            output::say(format!("{:>6}  as in the last run", ""));
        }
        edits::of(before, now, look(None)).iter().for_each(output::say);
        if edits::is_shown(before, now) {
            shown.insert(name.clone());
        }
    }
    shown
}

/// Whether a finding is printed here.
fn is_printed(found: &Diagnostic) -> bool {
    found.severity > Severity::Info
}

/// Prints the new findings, and the total number.
pub fn findings(before: Option<&LoadReport>, now: &LoadReport, failed: bool) {
    let all: Vec<&Diagnostic> = now.diagnostics.iter().filter(|d| is_printed(d)).collect();
    let known: BTreeSet<String> = before
        .into_iter()
        .flat_map(|report| &report.diagnostics)
        .filter(|d| is_printed(d))
        .map(|d| format!("{}{}", d.rule, d.message))
        .collect();
    let is_new = |d: &&&Diagnostic| failed || !known.contains(&format!("{}{}", d.rule, d.message));
    let new: Vec<Diagnostic> = all.iter().filter(is_new).map(|d| (*d).clone()).collect();
    if !new.is_empty() {
        output::say(output::diagnostics(&new, &now.files));
    }
    match (failed, all.len(), new.len()) {
        (true, ..) => {}
        (_, 0, _) if !known.is_empty() => output::say("check: no findings"),
        (_, 0, _) => {}
        (_, of, new) => {
            let old = of.saturating_sub(new);
            let old = if old > 0 { format!(", {old} as before") } else { String::new() };
            output::say(format!("check: {}{old}", words::count_of(of as u64, "warning")));
        }
    }
}

/// How a run ended, for a time after it.
fn how(outcome: &Outcome, files: Since) -> &'static str {
    match &outcome.result {
        Ok(_) if files == Since::Same => "up to date",
        Ok(_) => "done, with the earlier files,",
        Err(_) if files == Since::Replaced => "stopped",
        Err(_) if !outcome.waiting.is_empty() => "waits",
        Err(error) if outcome.suspended || is_stop(&error.code) => "stopped",
        Err(_) => "failed",
    }
}

/// What has become of the files since a run started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Since {
    /// They are the same.
    Same,
    /// They were saved with an error.
    Faulty,
    /// They were saved, and a run of them follows.
    Replaced,
}

/// Whether a run with this error was stopped on request.
pub fn is_stop(code: &str) -> bool {
    ["CANCELLED", "INTERRUPTED"].contains(&code)
}

/// Prints how many results were kept, and what was made.
pub fn reuse((lines, made): (&[ActivityDecision], NewResults), outcome: &Outcome, took: Duration, files: Since) {
    if lines.is_empty() {
        return;
    }
    let kept = lines.iter().flat_map(ActivityDecision::and_called).filter(|line| line.fate.is_kept()).count();
    let results = words::count_of(kept as u64, "result");
    let saved = why::saved(lines).map(|saved| format!(" (saved {saved})")).unwrap_or_default();
    let (made, spent) = (words::made(made), money(&outcome.usage));
    let took = time(u64::try_from(took.as_millis()).unwrap_or(u64::MAX));
    let (how, bold) = (how(outcome, files), anstyle::Style::new().bold());
    let line = format!("{results} kept{saved}, {made} ({spent})");
    let all = wrap(&format!("{line} · {how} after {took}"), output::width());
    match all.as_slice() {
        [one] => {
            let rest = one.strip_prefix(&line).unwrap_or_default();
            output::say(shown!("{}{}", TerminalText::styled(bold, &line), rest));
        }
        all => all.iter().for_each(|line| output::say(TerminalText::styled(bold, line))),
    }
}

/// Prints less important information in lines that fit.
fn aside(text: &str) {
    wrap(text, output::width()).iter().for_each(output::aside);
}

/// Prints a whole result: an object by property.
pub fn result(now: &Value) {
    let texts: Vec<String> = match now {
        Value::Object(members) => members.iter().map(|(name, value)| format!("{name}: {}", value.to_text())).collect(),
        other => vec![other.to_text().to_string()],
    };
    let width = output::width().saturating_sub(4);
    let lines = |line: &str| if line.is_empty() { vec![String::new()] } else { wrap(line, width) };
    let all: Vec<String> = texts.iter().flat_map(|text| text.lines()).flat_map(lines).collect();
    output::say("result:");
    all.iter().take(RESULT).for_each(|line| output::say(shown!("  │ {}", line)));
    if all.len() > RESULT {
        output::say(format!("  │ … {} more lines", all.len() - RESULT));
    }
}

/// Prints what a run waits for.
pub fn waiting(run: &str, all: &[Waiting], options: &RunOptions) {
    for one in all {
        match (&one.why, called_repeats(one).first()) {
            (Some(why), Some(name)) => would_repeat(name, why),
            (Some(why), None) if why.code == LIMIT_CODE => {
                let of = one.calls.last().map(|call| call.without_try()).unwrap_or_default();
                output::say(format!("waiting: the flow that `{}` calls: {}", safe(of), safe(&why.message)));
                output::say(format!("  {AT_LIMIT}"));
            }
            _ => output::say(format!("waiting: {}", safe(&waiting_line(one, all)))),
        }
        // No key does something for a run that this one has called and that says nothing.
        if one.sort == "run" && one.why.is_none() {
            let first = answer_commands(run, one, all, options).into_iter().next().unwrap_or_default();
            output::say(format!("  run `{}`, then press Enter here", safe(&first)));
        }
    }
}

/// What to do after a limit of the command line.
pub const AT_LIMIT: &str = "press Enter to continue, because the limit applies to each turn; if one call alone exceeds it, start again with a higher limit";

/// Says that a step did not run because that would repeat it.
pub fn would_repeat(step: &str, why: &RunError) {
    output::loud(format!("`{}` did not run: {}; `y` runs it", safe(step), why.message));
}

/// An input on one line: `topic=tide tables`.
pub fn input(program: &Program, input: Option<&Value>) -> String {
    let shown = input.map(|value| guard::hide_value(&guard::concealing(program), value.clone()));
    let text = match &shown {
        None => "none".to_owned(),
        Some(Value::Object(members)) => {
            let one = |(key, value): (&std::sync::Arc<str>, &Value)| format!("{key}={}", value.to_text());
            members.iter().map(one).collect::<Vec<_>>().join(" ")
        }
        Some(other) => other.to_text().to_string(),
    };
    cut(&words::line(if text.is_empty() { "none" } else { &text }), INPUT, "…")
}

impl Loop<'_> {
    /// Prints the steps that the last turn changed, and the result. `whole`: without limits.
    pub(super) fn show(&self, digest: &Digest, whole: bool) {
        let look = look(Some(MOST).filter(|_| !whole));
        digest.steps(look).iter().for_each(output::say);
        match (digest.result(look), &digest.results) {
            (Some(lines), _) => lines.iter().for_each(output::say),
            (None, Some((_, now))) => result(now),
            (None, None) => {}
        }
    }

    /// `d`: prints all differences of the last turn.
    pub(super) fn show_all(&self) {
        match &self.digest {
            Some(digest) => self.show(digest, true),
            None => output::note("nothing has run yet, so there are no differences to show"),
        }
    }

    /// Prints the input, what the session has used, and the keys.
    pub(super) fn hint(&self) {
        let last = self.last.as_ref();
        let session = self.session.total().map(|total| format!(" · this session: {total}")).unwrap_or_default();
        let of = last.map(|last| format!("input: {}", input(&last.flow.loaded().program, last.input.as_ref())));
        if let Some(of) = of {
            aside(&format!("{of}{session}"));
        }
        self.keys();
    }

    /// Prints which keys can be pressed now.
    pub(super) fn keys(&self) {
        let last = self.last.as_ref();
        let mut keys = vec!["save a file, or press"];
        if last.is_some_and(|last| last.waiting.iter().any(|one| one.sort != "run")) {
            keys.push("a answer ·");
        }
        if last.is_some_and(|last| last.repeats.is_some()) {
            keys.push("y allow it ·");
        }
        keys.extend(["Enter again ·", "r all ·", "f from a step ·", "i input ·"]);
        if self.digest.as_ref().is_some_and(|digest| !digest.is_short(look(Some(MOST)))) {
            keys.push("d show all ·");
        }
        keys.extend(["t trace ·", "q quit"]);
        aside(&keys.join(" "));
    }
}
