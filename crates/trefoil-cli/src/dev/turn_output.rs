//! The output of a turn: what was saved, findings, kept results, the result.

use std::collections::BTreeSet;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use trefoil::Outcome;
use trefoil::runs::{ActivityDecision, NewResults};
use trefoil_ir::Program;
use trefoil_machine::event::AwaitedActivity;
use trefoil_machine::guard;
use trefoil_project::load::LoadReport;
use trefoil_runtime::RunError;
use trefoil_syntax::{Diagnostic, FindingSeverity};
use trefoil_template::Value;

use super::DevLoop;
use super::changes::DiffLayout;
use super::digest::{MOST, TurnDigest};
use super::edits::{self, SavedFile};
use super::stop_reasons::{LIMIT_CODE, called_repeats};
use crate::run::reuse_reasons;
use crate::terminal_text::{TerminalText, escape_line};
use crate::words::{fit_start, format_cost, format_time, wrap_text};
use crate::{output, shown, words};
use trefoil_host::command::RunOptions;
use trefoil_host::waiting_messages::{answer_commands, waiting_line};

/// Maximum number of lines shown of a result.
const RESULT: usize = 20;
/// Maximum width of the line above a save.
const RULER: usize = 100;
/// Maximum number of characters shown of an input.
const INPUT: usize = 60;

/// How differences are laid out. `most`: the maximum number of lines for the output of a step.
pub fn diff_layout(most: Option<usize>) -> DiffLayout {
    DiffLayout { color: output::has_colors(), width: output::terminal_width(), most }
}

/// Prints which files were saved, and what was edited. Returns the files whose edit is shown completely.
pub fn print_saved(changed: &[SavedFile]) -> BTreeSet<String> {
    let mut shown = BTreeSet::new();
    if changed.is_empty() {
        return shown;
    }
    let names: Vec<&str> = changed.iter().map(|one| one.name.as_str()).collect();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let clock = format!("{:02}:{:02}:{:02}Z", now / 3600 % 24, now / 60 % 60, now % 60);
    let width = output::terminal_width().min(RULER);
    let head = fit_start(&format!("── saved {} at {clock} ", escape_line(&names.join(", "))), width, "… ");
    let ruler = "─".repeat(width.saturating_sub(head.chars().count()));
    output::print_dimmed(format!("{head}{ruler}"));
    for SavedFile { name, before, now } in changed {
        if changed.len() > 1 || now.is_none() {
            output::print_line(format!("{}{}", escape_line(name), if now.is_none() { " was deleted" } else { "" }));
        }
        let (Some(before), Some(now)) = (before, now) else { continue };
        if before == now {
            output::print_line(format!("{:>6}  as in the last run", ""));
        }
        edits::render_changes(before, now, diff_layout(None)).iter().for_each(output::print_line);
        if edits::is_shown(before, now) {
            shown.insert(name.clone());
        }
    }
    shown
}

/// Whether a finding is printed here.
fn is_printed(found: &Diagnostic) -> bool {
    found.severity > FindingSeverity::Info
}

/// Prints the new findings, and the total number.
pub fn print_findings(before: Option<&LoadReport>, now: &LoadReport, failed: bool) {
    let all: Vec<&Diagnostic> = now.diagnostics.iter().filter(|d| is_printed(d)).collect();
    let mut known: BTreeSet<String> = BTreeSet::new();
    if let Some(before) = before {
        for found in before.diagnostics.iter().filter(|found| is_printed(found)) {
            known.insert(format!("{}{}", found.rule, found.message));
        }
    }
    let mut new: Vec<Diagnostic> = Vec::new();
    for found in &all {
        if failed || !known.contains(&format!("{}{}", found.rule, found.message)) {
            new.push((*found).clone());
        }
    }
    if !new.is_empty() {
        output::print_line(output::format_message_findings(&new, &now.files));
    }
    match (failed, all.len(), new.len()) {
        (true, ..) => {}
        (_, 0, _) if !known.is_empty() => output::print_line("check: no findings"),
        (_, 0, _) => {}
        (_, of, new) => {
            let old = of.saturating_sub(new);
            let old = if old > 0 { format!(", {old} as before") } else { String::new() };
            output::print_line(format!("check: {}{old}", words::count_of(of as u64, "warning")));
        }
    }
}

/// How a run ended, for a time after it.
fn how(outcome: &Outcome, files: FileFreshness) -> &'static str {
    match &outcome.result {
        Ok(_) if files == FileFreshness::Same => "up to date",
        Ok(_) => "done, with the earlier files,",
        Err(_) if files == FileFreshness::Replaced => "stopped",
        Err(_) if !outcome.waiting.is_empty() => "waits",
        Err(error) if outcome.suspended || is_stop(&error.code) => "stopped",
        Err(_) => "failed",
    }
}

/// What has become of the files since a run started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileFreshness {
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
pub fn print_reuse(
    (lines, made): (&[ActivityDecision], NewResults),
    outcome: &Outcome,
    took: Duration,
    files: FileFreshness,
) {
    if lines.is_empty() {
        return;
    }
    let results = words::count_of(reuse_reasons::count_kept(lines) as u64, "result");
    let saved = reuse_reasons::savings_note(lines);
    let (made, spent) = (words::format_new_results(made), format_cost(&outcome.usage));
    let took = format_time(u64::try_from(took.as_millis()).unwrap_or(u64::MAX));
    let (how, bold) = (how(outcome, files), anstyle::Style::new().bold());
    let line = format!("{results} kept{saved}, {made} ({spent})");
    let all = wrap_text(&format!("{line} · {how} after {took}"), output::terminal_width());
    match all.as_slice() {
        [one] => {
            let rest = one.strip_prefix(&line).unwrap_or_default();
            output::print_line(shown!("{}{}", TerminalText::with_style(bold, &line), rest));
        }
        all => all.iter().for_each(|line| output::print_line(TerminalText::with_style(bold, line))),
    }
}

/// Prints less important information in lines that fit.
fn print_aside(text: &str) {
    wrap_text(text, output::terminal_width()).iter().for_each(output::print_dimmed);
}

/// Prints a whole result: an object by property.
pub fn print_run_result(now: &Value) {
    let mut texts: Vec<String> = Vec::new();
    match now {
        Value::Object(members) => {
            for (name, value) in members.iter() {
                texts.push(format!("{name}: {}", value.to_text()));
            }
        }
        other => texts.push(other.to_text().to_string()),
    }
    let width = output::terminal_width().saturating_sub(4);
    let mut all: Vec<String> = Vec::new();
    for text in &texts {
        for line in text.lines() {
            if line.is_empty() {
                all.push(String::new());
            } else {
                all.extend(wrap_text(line, width));
            }
        }
    }
    output::print_line("result:");
    all.iter().take(RESULT).for_each(|line| output::print_line(shown!("  │ {}", line)));
    if all.len() > RESULT {
        output::print_line(format!("  │ … {} more lines", all.len() - RESULT));
    }
}

/// Prints what a run waits for.
pub fn print_waiting(run: &str, all: &[AwaitedActivity], options: &RunOptions) {
    for one in all {
        match (&one.why, called_repeats(one).first()) {
            (Some(why), Some(name)) => would_repeat(name, why),
            (Some(why), None) if why.code == LIMIT_CODE => {
                let of = match one.calls.last() {
                    Some(call) => call.without_try(),
                    None => "",
                };
                output::print_line(format!(
                    "waiting: the flow that `{}` calls: {}",
                    escape_line(of),
                    escape_line(&why.message)
                ));
                output::print_line(format!("  {AT_LIMIT}"));
            }
            _ => output::print_line(format!("waiting: {}", escape_line(&waiting_line(one, all)))),
        }
        // No key does something for a run that this one has called and that says nothing.
        if one.sort == "run" && one.why.is_none() {
            let first = answer_commands(run, one, all, options).into_iter().next().unwrap_or_default();
            output::print_line(format!("  run `{}`, then press Enter here", escape_line(&first)));
        }
    }
}

/// What to do after a limit of the command line.
pub const AT_LIMIT: &str = "press Enter to continue, because the limit applies to each turn; if one call alone exceeds it, start again with a higher limit";

/// Says that a step did not run because that would repeat it.
pub fn would_repeat(step: &str, why: &RunError) {
    output::print_bold_note(format!("`{}` did not run: {}; `y` runs it", escape_line(step), why.message));
}

/// An input on one line: `topic=tide tables`.
pub fn format_input(program: &Program, input: Option<&Value>) -> String {
    let shown = input.map(|value| guard::hide_value(&guard::concealing_guards(program), value.clone()));
    let text = match &shown {
        None => "none".to_owned(),
        Some(Value::Object(members)) => {
            let mut parts = Vec::new();
            for (name, value) in members.iter() {
                parts.push(format!("{name}={}", value.to_text()));
            }
            parts.join(" ")
        }
        Some(other) => other.to_text().to_string(),
    };
    fit_start(&words::one_line(if text.is_empty() { "none" } else { &text }), INPUT, "…")
}

impl DevLoop<'_> {
    /// Prints the steps that the last turn changed, and the result. `whole`: without limits.
    pub(super) fn show_digest(&self, digest: &TurnDigest, whole: bool) {
        let look = diff_layout(if whole { None } else { Some(MOST) });
        digest.render_steps(look).iter().for_each(output::print_line);
        match (digest.render_result(look), &digest.results) {
            (Some(lines), _) => lines.iter().for_each(output::print_line),
            (None, Some((_, now))) => print_run_result(now),
            (None, None) => {}
        }
    }

    /// `d`: prints all differences of the last turn.
    pub(super) fn show_all(&self) {
        match &self.digest {
            Some(digest) => self.show_digest(digest, true),
            None => output::print_note("nothing has run yet, so there are no differences to show"),
        }
    }

    /// Prints the input, what the session has used, and the keys.
    pub(super) fn print_hint(&self) {
        let session = match self.session.format_total() {
            Some(total) => format!(" · this session: {total}"),
            None => String::new(),
        };
        if let Some(last) = &self.last_run {
            let input = format_input(&last.flow.loaded_target().program, last.input.as_ref());
            print_aside(&format!("input: {input}{session}"));
        }
        self.print_keys();
    }

    /// Prints which keys can be pressed now.
    pub(super) fn print_keys(&self) {
        let mut keys = vec!["save a file, or press"];
        if let Some(last) = &self.last_run {
            if last.waiting.iter().any(|activity| activity.sort != "run") {
                keys.push("a answer ·");
            }
            if last.repeats.is_some() {
                keys.push("y allow it ·");
            }
        }
        keys.extend(["Enter again ·", "r all ·", "f from a step ·", "i input ·"]);
        if matches!(&self.digest, Some(digest) if !digest.is_short(diff_layout(Some(MOST)))) {
            keys.push("d show all ·");
        }
        keys.extend(["t trace ·", "q quit"]);
        print_aside(&keys.join(" "));
    }
}
