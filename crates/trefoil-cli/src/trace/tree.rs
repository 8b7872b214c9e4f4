//! The tree of a recorded run: one line for each step, with its result, duration and usage.

use std::collections::HashMap;

use anstyle::{AnsiColor, Style};
use serde_json::Value;
use trefoil_machine::event::ItemTally;
use trefoil_view::trace::without_try;
use unicode_width::UnicodeWidthStr as _;

use super::TraceStyle;
use super::names::KeyMarks;
use super::words::{
    brief_text, command_failure, duration_text, error_advice, failure_text, fit_line, handling_text, is_stopped,
    list_member, location_text, number_member, step_usage_text, text_member, usage_text,
};
use crate::shown;
use crate::terminal_text::TerminalText;
use crate::words::count_of;
use trefoil_host::command::{PrintedCommand, RunOptions};
use trefoil_host::waiting_messages::DONE;

/// Maximum length of a label.
const LABEL: usize = 44;
/// Maximum number of indented levels.
const DEEPEST: usize = 40;

/// Formats a whole trace.
pub fn format_tree(trace: &Value, look: TraceStyle<'_>) -> TerminalText {
    let steps = list_member(trace, "steps");
    let rows = rows(steps);
    let mut out = head(trace, look);
    let width = rows.iter().map(|row| row.branch.width() + row.label.width()).max().unwrap_or(0);
    for row in &rows {
        if let Some(step) = steps.get(row.step) {
            out.push(one(step, row, width, look));
        }
    }
    if let Some(error) = trace.get("error").filter(|e| !e.is_null()) {
        out.push(shown!("\n{}\n", look.with_color(AnsiColor::Red, failure_text(error))));
        let at = error.get("location").and_then(location_text);
        let key = text_member(error, "key").map(|key| format!("step `{}`", fit_line(without_try(key), 200)));
        let place: Vec<String> = key.into_iter().chain(at).collect();
        if !place.is_empty() {
            out.push(shown!("  at {}\n", place.join(", ")));
        }
        if let Some(called) = error.get("called") {
            out.push(shown!("  cause: {}\n", cause(called)));
        }
        if let Some(help) = error_advice(error) {
            out.push(shown!("  help: {}\n", fit_line(&help, 400)));
        }
        if let Some(code) = text_member(error, "code").and_then(trefoil_project::codes::find_code) {
            let explain = RunOptions::default().render_command(PrintedCommand::Explain(code.name));
            out.push(shown!("  more: `{}`\n", explain));
        }
    }
    if steps.is_empty() && text_member(trace, "status") == Some("pending") {
        out.push(shown!("no process has started it yet\n"));
    }
    for one in list_member(trace, "waiting") {
        out.push(shown!("\nwaiting: {}\n", fit_line(text_member(one, "question").unwrap_or_default(), 500)));
        if let Some(call) = text_member(one, "called_with") {
            out.push(shown!("  it was called with {}\n", fit_line(call, 300)));
        }
        let is_settled = one.get("answered").is_some() || one.get("late").is_some();
        let is_unknown = matches!(text_member(one, "sort"), Some("tool" | "command")) && one.get("prompt").is_none();
        if is_unknown && !is_settled {
            out.push(shown!("  {}\n", DONE));
        }
    }
    if let Some(stopped) = trace.get("stopped").and_then(|stopped| text_member(stopped, "text")) {
        out.push(shown!("\nwaiting: {}\n", fit_line(stopped, 500)));
    }
    for next in list_member(trace, "next") {
        let part = |key| fit_line(text_member(next, key).unwrap_or_default(), 1_000);
        out.push(shown!("{}: {}\n", part("purpose"), part("command")));
    }
    // A step that can be shown: one that failed, or the last one.
    let with_calls = || steps.iter().filter(|step| !list_member(step, "calls").is_empty());
    let failed = with_calls().find(|step| text_member(step, "status") == Some("failed"));
    let one = failed.or_else(|| with_calls().next_back());
    let is_alone = |label: &&str| steps.iter().filter(|step| text_member(step, "label") == Some(label)).count() == 1;
    let name = |step| text_member(step, "label").filter(is_alone).or_else(|| text_member(step, "key").map(without_try));
    if let Some(step) = one.and_then(name) {
        let how = look.options.render_command(PrintedCommand::TraceStep { run: look.name, step: &fit_line(step, 200) });
        let how = format!("a step's prompts and answers: `{how}`");
        out.push(shown!("\n{}\n", look.dim_text(&how)));
    }
    out
}

/// `a` of `ship`, ship.yaml:5:6, run e1e34b0a3f94b931
fn cause(called: &Value) -> String {
    let part = |name| text_member(called, name).map(|part| fit_line(part, 200));
    let step = part("key").map(|key| format!("`{}` of ", without_try(&key))).unwrap_or_default();
    let flow = part("flow").map(|flow| format!("{step}`{flow}`"));
    let at = called.get("location").and_then(location_text);
    let parts = flow.into_iter().chain(at).chain(part("run").map(|run| format!("run {run}")));
    parts.collect::<Vec<_>>().join(", ")
}

fn head(trace: &Value, look: TraceStyle<'_>) -> TerminalText {
    let mut out = TerminalText::default();
    let flow = fit_line(text_member(trace, "flow").unwrap_or("?"), 120);
    let status = text_member(trace, "status").unwrap_or("?");
    let failed = items(trace).filter(|items| items.failed > 0);
    let color = match status {
        "completed" if failed.is_some() => AnsiColor::Yellow,
        "completed" => AnsiColor::Green,
        "failed" => AnsiColor::Red,
        _ => AnsiColor::Yellow,
    };
    let calls = number_member(trace, "calls").map_or_else(|| "? calls".to_owned(), |n| count_of(n, "call"));
    let used = usage_text(&[trace.get("usage").unwrap_or(&Value::Null)]);
    let status = match failed {
        None => fit_line(status, 20),
        Some(failed) => format!("! {}, {failed}", fit_line(status, 20)),
    };
    out.push(shown!(
        "{}  {}  {}, {}, {}\n",
        look.bold_text(&flow),
        look.with_color(color, &status),
        duration_text(trace),
        calls,
        used
    ));
    let about = [
        text_member(trace, "started_at").map(|at| format!("started {}", fit_line(at, 40))),
        text_member(trace, "answers_from")
            .map(|from| format!("answers: {}", fit_line(from.trim_start_matches("answers from "), 200))),
        text_member(trace, "run").map(|run| format!("run {}", fit_line(run, 60))),
    ];
    let about: Vec<String> = about.into_iter().flatten().collect();
    if !about.is_empty() {
        out.push(shown!("{}\n", look.dim_text(about.join(", "))));
    }
    if let Some(base) = text_member(trace, "base") {
        out.push(shown!("{}\n", look.dim_text(reused(trace, base))));
    }
    if trace.get("placeholder") == Some(&Value::Bool(true)) {
        out.push(shown!(
            "{}\n",
            look.with_color(AnsiColor::Yellow, "the answers are placeholders from the embedded model")
        ));
    }
    out
}

/// `28 calls kept, with the results of run b912dc80c83abeb9 (saved 840 tokens, $0.0003)`
fn reused(trace: &Value, base: &str) -> String {
    let calls = list_member(trace, "steps").iter().flat_map(|step| list_member(step, "calls"));
    let kept: Vec<&Value> = calls.filter_map(|call| call.get("reused_from")).collect();
    let usages: Vec<&Value> = kept.iter().filter_map(|from| from.get("usage")).collect();
    let saved = if usages.is_empty() { String::new() } else { format!(" (saved {})", usage_text(&usages)) };
    let count = count_of(kept.len() as u64, "call");
    format!("{count} kept, with the results of run {}{saved}", fit_line(base, 60))
}

/// The items of a fan-out, or of all fan-outs of the run in which some failed.
fn items(of: &Value) -> Option<ItemTally> {
    of.get("items").and_then(|items| serde_json::from_value(items.clone()).ok())
}

/// A row of the tree.
struct TraceRow {
    step: usize,
    branch: String,
    label: String,
}

/// The parent of each step. Version 1 does not contain it, so it is derived from the keys.
pub fn step_parents(steps: &[Value]) -> Vec<Option<usize>> {
    // The steps so far: after a failure, a step that starts over has a second row.
    let mut known: HashMap<&str, usize> = HashMap::new();
    let mut all = Vec::with_capacity(steps.len());
    for (number, step) in steps.iter().enumerate() {
        all.push(parent(step, &known));
        known.extend(text_member(step, "key").map(|key| (key, number)));
    }
    all
}

fn parent(step: &Value, known: &HashMap<&str, usize>) -> Option<usize> {
    if let Some(parent) = step.get("parent") {
        return known.get(parent.as_str()?).copied();
    }
    let mut at = text_member(step, "key")?;
    loop {
        at = trefoil_view::trace::outer(at)?;
        if let Some(found) = known.get(at) {
            return Some(*found);
        }
    }
}

fn rows(steps: &[Value]) -> Vec<TraceRow> {
    let parents = step_parents(steps);
    let names = KeyMarks::from_steps(steps);
    let mut children: Vec<Vec<usize>> = vec![Vec::new(); steps.len()];
    let mut roots = Vec::new();
    for (i, parent) in parents.iter().enumerate() {
        match parent.and_then(|p| children.get_mut(p)) {
            Some(inside) => inside.push(i),
            None => roots.push(i),
        }
    }
    let mut rows = Vec::with_capacity(steps.len());
    // Uses a stack instead of recursion, because a trace may be nested arbitrarily deep.
    let last = roots.len().saturating_sub(1);
    let mut stack: Vec<(usize, String, bool, usize)> =
        roots.iter().enumerate().rev().map(|(n, i)| (*i, String::new(), n == last, 0)).collect();
    while let Some((i, indent, is_last, depth)) = stack.pop() {
        let Some(step) = steps.get(i) else { continue };
        let branch = format!("{indent}{}", if is_last { "└─ " } else { "├─ " });
        rows.push(TraceRow {
            step: i,
            branch,
            label: names.step_name(step, parents.get(i).copied().flatten().and_then(|p| steps.get(p)), LABEL),
        });
        let indent =
            if depth < DEEPEST { format!("{indent}{}", if is_last { "   " } else { "│  " }) } else { indent };
        let inside = children.get(i).map_or(&[][..], Vec::as_slice);
        for (n, child) in inside.iter().enumerate().rev() {
            stack.push((*child, indent.clone(), n + 1 == inside.len(), depth + 1));
        }
    }
    rows
}

fn one(step: &Value, row: &TraceRow, width: usize, look: TraceStyle<'_>) -> TerminalText {
    let status = text_member(step, "status").unwrap_or("?");
    let exited = command_failure(step);
    let partly = step.get("error").is_some() || exited.is_some() || items(step).is_some_and(|items| items.failed > 0);
    let (stopped, kept) = (is_stopped(step), step.get("kept") == Some(&Value::Bool(true)));
    let (symbol, color) = match status {
        _ if stopped => ("⊘", AnsiColor::Yellow),
        "done" if partly => ("!", AnsiColor::Yellow),
        "done" => ("✓", AnsiColor::Green),
        "failed" => ("✗", AnsiColor::Red),
        "skipped" => ("–", AnsiColor::BrightBlack),
        "waiting" => ("?", AnsiColor::Yellow),
        _ => ("…", AnsiColor::Cyan),
    };
    let mut figures = Vec::new();
    if status != "skipped" {
        // When a process ended is not known, and what was kept took no time here.
        figures.extend((status != "interrupted" && !kept).then(|| duration_text(step)));
        figures.extend(kept.then(|| "kept".to_owned()));
        figures.extend(step_usage_text(step).filter(|_| !kept));
    }
    if let Some(tries) = number_member(step, "tries").filter(|n| *n > 1) {
        figures.push(format!("{tries} tries"));
    }
    if let Some(ItemTally { total, failed }) = items(step) {
        let failed = (failed > 0).then(|| format!("{failed} of {total} failed"));
        figures.push(failed.unwrap_or_else(|| count_of(total.into(), "item")));
    }
    let tail = match (step.get("error"), text_member(step, "reason")) {
        _ if stopped => String::new(),
        (Some(error), _) => match handling_text(step) {
            Some(how) => format!("{} ({how})", failure_text(error)),
            None => failure_text(error),
        },
        (None, Some(reason)) => reason.to_owned(),
        (None, None) => exited.unwrap_or_else(|| step.get("output").map(brief_text).unwrap_or_default()),
    };
    let status = match status {
        "interrupted" => "interrupted ",
        "cancelled" => "cancelled ",
        _ if stopped => "stopped ",
        "running" => "running ",
        "waiting" => "waiting ",
        _ => "",
    };
    let pad = width.saturating_sub(row.branch.width() + row.label.width());
    let figures = figures.join(", ");
    let used = row.branch.width() + row.label.width() + pad + 6 + figures.width() + status.len();
    let room = look.width.saturating_sub(used).clamp(16, 120);
    let tail = fit_line(&tail, room);
    let color_of_tail = if step.get("error").is_some() { look.with_color(color, &tail) } else { look.dim_text(&tail) };
    let (branch, symbol, pad) = (look.dim_text(&row.branch), look.with_color(color, symbol), " ".repeat(pad));
    let parts = shown!("{}{} {}{}  {}{}  {}", branch, symbol, row.label, pad, status, figures, color_of_tail);
    shown!("{}\n", parts.trim_end())
}

impl TraceStyle<'_> {
    /// Text in a style.
    pub(super) fn with_style(self, style: Style, text: impl Into<TerminalText>) -> TerminalText {
        let text = text.into();
        if self.color && !text.is_empty() { TerminalText::with_style(style, text) } else { text }
    }
    /// Text in a colour.
    pub(super) fn with_color(self, color: AnsiColor, text: impl Into<TerminalText>) -> TerminalText {
        self.with_style(color.on_default(), text)
    }
    /// Text that is less important.
    pub fn dim_text(self, text: impl Into<TerminalText>) -> TerminalText {
        self.with_style(Style::new().dimmed(), text)
    }
    /// Text that is more important.
    pub(super) fn bold_text(self, text: impl Into<TerminalText>) -> TerminalText {
        self.with_style(Style::new().bold(), text)
    }
}
