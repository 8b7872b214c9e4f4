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
    if let Some(error) = trace.get("error")
        && !error.is_null()
    {
        show_error(error, &mut out, look);
    }
    if steps.is_empty() && text_member(trace, "status") == Some("pending") {
        out.push(shown!("no process has started it yet\n"));
    }
    for question in list_member(trace, "waiting") {
        show_question(question, &mut out);
    }
    if let Some(stopped) = trace.get("stopped")
        && let Some(text) = text_member(stopped, "text")
    {
        out.push(shown!("\nwaiting: {}\n", fit_line(text, 500)));
    }
    for next in list_member(trace, "next") {
        let part = |key| fit_line(text_member(next, key).unwrap_or_default(), 1_000);
        out.push(shown!("{}: {}\n", part("purpose"), part("command")));
    }
    if let Some(step) = step_to_show(steps) {
        let how = look.options.render_command(PrintedCommand::TraceStep { run: look.name, step: &fit_line(step, 200) });
        let how = format!("a step's prompts and answers: `{how}`");
        out.push(shown!("\n{}\n", look.dim_text(&how)));
    }
    out
}

fn show_error(error: &Value, out: &mut TerminalText, look: TraceStyle<'_>) {
    out.push(shown!("\n{}\n", look.with_color(AnsiColor::Red, failure_text(error))));
    let mut place: Vec<String> = Vec::new();
    if let Some(key) = text_member(error, "key") {
        place.push(format!("step `{}`", fit_line(without_try(key), 200)));
    }
    if let Some(location) = error.get("location") {
        place.extend(location_text(location));
    }
    if !place.is_empty() {
        out.push(shown!("  at {}\n", place.join(", ")));
    }
    if let Some(called) = error.get("called") {
        out.push(shown!("  cause: {}\n", cause(called)));
    }
    if let Some(help) = error_advice(error) {
        out.push(shown!("  help: {}\n", fit_line(&help, 400)));
    }
    if let Some(code) = text_member(error, "code")
        && let Some(code) = trefoil_project::codes::find_code(code)
    {
        let explain = RunOptions::default().render_command(PrintedCommand::Explain(code.name));
        out.push(shown!("  more: `{}`\n", explain));
    }
}

/// What the run waits for.
fn show_question(question: &Value, out: &mut TerminalText) {
    out.push(shown!("\nwaiting: {}\n", fit_line(text_member(question, "question").unwrap_or_default(), 500)));
    if let Some(call) = text_member(question, "called_with") {
        out.push(shown!("  it was called with {}\n", fit_line(call, 300)));
    }
    let is_settled = question.get("answered").is_some() || question.get("late").is_some();
    let is_call = matches!(text_member(question, "sort"), Some("tool" | "command"));
    let is_unknown = is_call && question.get("prompt").is_none();
    if is_unknown && !is_settled {
        out.push(shown!("  {}\n", DONE));
    }
}

/// The name of a step that can be shown: the first one that failed, or the last one.
fn step_to_show(steps: &[Value]) -> Option<&str> {
    let mut shown = None;
    for step in steps {
        if list_member(step, "calls").is_empty() {
            continue;
        }
        shown = Some(step);
        if text_member(step, "status") == Some("failed") {
            break;
        }
    }
    let step = shown?;
    if let Some(label) = text_member(step, "label")
        && steps.iter().filter(|step| text_member(step, "label") == Some(label)).count() == 1
    {
        return Some(label);
    }
    text_member(step, "key").map(without_try)
}

/// `a` of `ship`, ship.yaml:5:6, run e1e34b0a3f94b931
fn cause(called: &Value) -> String {
    let part = |name| text_member(called, name).map(|part| fit_line(part, 200));
    let mut parts = Vec::new();
    match (part("key"), part("flow")) {
        (Some(key), Some(flow)) => parts.push(format!("`{}` of `{flow}`", without_try(&key))),
        (None, Some(flow)) => parts.push(format!("`{flow}`")),
        (_, None) => {}
    }
    if let Some(location) = called.get("location") {
        parts.extend(location_text(location));
    }
    if let Some(run) = part("run") {
        parts.push(format!("run {run}"));
    }
    parts.join(", ")
}

fn head(trace: &Value, look: TraceStyle<'_>) -> TerminalText {
    let mut out = TerminalText::default();
    let flow = fit_line(text_member(trace, "flow").unwrap_or("?"), 120);
    let status = text_member(trace, "status").unwrap_or("?");
    let failed = items(trace).and_then(ItemTally::with_failed);
    let color = match status {
        "completed" if failed.is_some() => AnsiColor::Yellow,
        "completed" => AnsiColor::Green,
        "failed" => AnsiColor::Red,
        _ => AnsiColor::Yellow,
    };
    let calls = match number_member(trace, "calls") {
        Some(calls) => count_of(calls, "call"),
        None => "? calls".to_owned(),
    };
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
    let mut about: Vec<String> = Vec::new();
    if let Some(at) = text_member(trace, "started_at") {
        about.push(format!("started {}", fit_line(at, 40)));
    }
    if let Some(from) = text_member(trace, "answers_from") {
        about.push(format!("answers: {}", fit_line(from.trim_start_matches("answers from "), 200)));
    }
    if let Some(run) = text_member(trace, "run") {
        about.push(format!("run {}", fit_line(run, 60)));
    }
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
    let mut kept = 0;
    let mut usages: Vec<&Value> = Vec::new();
    for step in list_member(trace, "steps") {
        for call in list_member(step, "calls") {
            if let Some(from) = call.get("reused_from") {
                kept += 1;
                usages.extend(from.get("usage"));
            }
        }
    }
    let saved = if usages.is_empty() { String::new() } else { format!(" (saved {})", usage_text(&usages)) };
    let count = count_of(kept, "call");
    format!("{count} kept, with the results of run {}{saved}", fit_line(base, 60))
}

/// The items of a fan-out, or of all fan-outs of the run in which some failed.
fn items(of: &Value) -> Option<ItemTally> {
    serde_json::from_value(of.get("items")?.clone()).ok()
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
        if let Some(key) = text_member(step, "key") {
            known.insert(key, number);
        }
    }
    all
}

/// The step around a step.
pub fn parent_step<'s>(steps: &'s [Value], parents: &[Option<usize>], at: usize) -> Option<&'s Value> {
    let parent = (*parents.get(at)?)?;
    steps.get(parent)
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
    let mut stack: Vec<(usize, String, bool, usize)> = Vec::new();
    for (n, root) in roots.iter().enumerate().rev() {
        stack.push((*root, String::new(), n == last, 0));
    }
    while let Some((i, indent, is_last, depth)) = stack.pop() {
        let Some(step) = steps.get(i) else { continue };
        let branch = format!("{indent}{}", if is_last { "└─ " } else { "├─ " });
        rows.push(TraceRow { step: i, branch, label: names.step_name(step, parent_step(steps, &parents, i), LABEL) });
        let indent =
            if depth < DEEPEST { format!("{indent}{}", if is_last { "   " } else { "│  " }) } else { indent };
        let Some(inside) = children.get(i) else { continue };
        for (n, child) in inside.iter().enumerate().rev() {
            stack.push((*child, indent.clone(), n + 1 == inside.len(), depth + 1));
        }
    }
    rows
}

fn one(step: &Value, row: &TraceRow, width: usize, look: TraceStyle<'_>) -> TerminalText {
    let status = text_member(step, "status").unwrap_or("?");
    let exited = command_failure(step);
    let tally = items(step);
    let has_failed_items = matches!(tally, Some(tally) if tally.failed > 0);
    let partly = step.get("error").is_some() || exited.is_some() || has_failed_items;
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
        if kept {
            figures.push("kept".to_owned());
        } else {
            if status != "interrupted" {
                figures.push(duration_text(step));
            }
            figures.extend(step_usage_text(step));
        }
    }
    if let Some(tries) = number_member(step, "tries")
        && tries > 1
    {
        figures.push(format!("{tries} tries"));
    }
    match tally {
        Some(ItemTally { total, failed: 0 }) => figures.push(count_of(total.into(), "item")),
        Some(ItemTally { total, failed }) => figures.push(format!("{failed} of {total} failed")),
        None => {}
    }
    let tail = match (step.get("error"), text_member(step, "reason")) {
        _ if stopped => String::new(),
        (Some(error), _) => match handling_text(step) {
            Some(how) => format!("{} ({how})", failure_text(error)),
            None => failure_text(error),
        },
        (None, Some(reason)) => reason.to_owned(),
        (None, None) => match (exited, step.get("output")) {
            (Some(exited), _) => exited,
            (None, Some(output)) => brief_text(output),
            (None, None) => String::new(),
        },
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
