//! The tree of a recorded run: one line for each step, with its result, duration and usage.

use std::collections::HashMap;

use anstyle::{AnsiColor, Style};
use serde_json::Value;
use trefoil_machine::event::Tally;
use trefoil_view::trace::without_try;
use unicode_width::UnicodeWidthStr as _;

use super::TraceLook;
use super::names::KeyMarks;
use super::words::{
    advice, brief, exited, failure, handled, is_stopped, line, list, number, place, spent, text, tokens, took,
};
use crate::harmless::TerminalText;
use crate::shown;
use crate::words::count_of;
use trefoil_host::command::{PrintedCommand, RunOptions};
use trefoil_host::waiting::DONE;

/// Maximum length of a label.
const LABEL: usize = 44;
/// Maximum number of indented levels.
const DEEPEST: usize = 40;

/// Formats a whole trace.
pub fn tree(trace: &Value, look: TraceLook<'_>) -> TerminalText {
    let steps = list(trace, "steps");
    let rows = rows(steps);
    let mut out = head(trace, look);
    let width = rows.iter().map(|row| row.branch.width() + row.label.width()).max().unwrap_or(0);
    for row in &rows {
        if let Some(step) = steps.get(row.step) {
            out.push(one(step, row, width, look));
        }
    }
    if let Some(error) = trace.get("error").filter(|e| !e.is_null()) {
        out.push(shown!("\n{}\n", look.paint(AnsiColor::Red, failure(error))));
        let at = error.get("location").and_then(place);
        let key = text(error, "key").map(|key| format!("step `{}`", line(without_try(key), 200)));
        let place: Vec<String> = key.into_iter().chain(at).collect();
        if !place.is_empty() {
            out.push(shown!("  at {}\n", place.join(", ")));
        }
        if let Some(called) = error.get("called") {
            out.push(shown!("  cause: {}\n", cause(called)));
        }
        if let Some(help) = advice(error) {
            out.push(shown!("  help: {}\n", line(&help, 400)));
        }
        if let Some(code) = text(error, "code").and_then(trefoil_project::codes::code) {
            let explain = RunOptions::default().text(PrintedCommand::Explain(code.name));
            out.push(shown!("  more: `{}`\n", explain));
        }
    }
    if steps.is_empty() && text(trace, "status") == Some("pending") {
        out.push(shown!("no process has started it yet\n"));
    }
    for one in list(trace, "waiting") {
        out.push(shown!("\nwaiting: {}\n", line(text(one, "question").unwrap_or_default(), 500)));
        if let Some(call) = text(one, "called_with") {
            out.push(shown!("  it was called with {}\n", line(call, 300)));
        }
        let is_settled = one.get("answered").is_some() || one.get("late").is_some();
        let is_unknown = matches!(text(one, "sort"), Some("tool" | "command")) && one.get("prompt").is_none();
        if is_unknown && !is_settled {
            out.push(shown!("  {}\n", DONE));
        }
    }
    if let Some(stopped) = trace.get("stopped").and_then(|stopped| text(stopped, "text")) {
        out.push(shown!("\nwaiting: {}\n", line(stopped, 500)));
    }
    for next in list(trace, "next") {
        let part = |key| line(text(next, key).unwrap_or_default(), 1_000);
        out.push(shown!("{}: {}\n", part("purpose"), part("command")));
    }
    // A step that can be shown: one that failed, or the last one.
    let with_calls = || steps.iter().filter(|step| !list(step, "calls").is_empty());
    let failed = with_calls().find(|step| text(step, "status") == Some("failed"));
    let one = failed.or_else(|| with_calls().next_back());
    let is_alone = |label: &&str| steps.iter().filter(|step| text(step, "label") == Some(label)).count() == 1;
    let name = |step| text(step, "label").filter(is_alone).or_else(|| text(step, "key").map(without_try));
    if let Some(step) = one.and_then(name) {
        let how = look.options.text(PrintedCommand::TraceStep { run: look.name, step: &line(step, 200) });
        let how = format!("a step's prompts and answers: `{how}`");
        out.push(shown!("\n{}\n", look.dim(&how)));
    }
    out
}

/// `a` of `ship`, ship.yaml:5:6, run e1e34b0a3f94b931
fn cause(called: &Value) -> String {
    let part = |name| text(called, name).map(|part| line(part, 200));
    let step = part("key").map(|key| format!("`{}` of ", without_try(&key))).unwrap_or_default();
    let flow = part("flow").map(|flow| format!("{step}`{flow}`"));
    let at = called.get("location").and_then(place);
    let parts = flow.into_iter().chain(at).chain(part("run").map(|run| format!("run {run}")));
    parts.collect::<Vec<_>>().join(", ")
}

fn head(trace: &Value, look: TraceLook<'_>) -> TerminalText {
    let mut out = TerminalText::default();
    let flow = line(text(trace, "flow").unwrap_or("?"), 120);
    let status = text(trace, "status").unwrap_or("?");
    let failed = items(trace).filter(|items| items.failed > 0);
    let color = match status {
        "completed" if failed.is_some() => AnsiColor::Yellow,
        "completed" => AnsiColor::Green,
        "failed" => AnsiColor::Red,
        _ => AnsiColor::Yellow,
    };
    let calls = number(trace, "calls").map_or_else(|| "? calls".to_owned(), |n| count_of(n, "call"));
    let used = tokens(&[trace.get("usage").unwrap_or(&Value::Null)]);
    let status = match failed {
        None => line(status, 20),
        Some(failed) => format!("! {}, {failed}", line(status, 20)),
    };
    out.push(shown!("{}  {}  {}, {}, {}\n", look.bold(&flow), look.paint(color, &status), took(trace), calls, used));
    let about = [
        text(trace, "started_at").map(|at| format!("started {}", line(at, 40))),
        text(trace, "answers_from")
            .map(|from| format!("answers: {}", line(from.trim_start_matches("answers from "), 200))),
        text(trace, "run").map(|run| format!("run {}", line(run, 60))),
    ];
    let about: Vec<String> = about.into_iter().flatten().collect();
    if !about.is_empty() {
        out.push(shown!("{}\n", look.dim(about.join(", "))));
    }
    if let Some(base) = text(trace, "base") {
        out.push(shown!("{}\n", look.dim(reused(trace, base))));
    }
    if trace.get("placeholder") == Some(&Value::Bool(true)) {
        out.push(shown!("{}\n", look.paint(AnsiColor::Yellow, "the answers are placeholders from the embedded model")));
    }
    out
}

/// `28 calls kept, with the results of run b912dc80c83abeb9 (saved 840 tokens, $0.0003)`
fn reused(trace: &Value, base: &str) -> String {
    let calls = list(trace, "steps").iter().flat_map(|step| list(step, "calls"));
    let kept: Vec<&Value> = calls.filter_map(|call| call.get("reused_from")).collect();
    let usages: Vec<&Value> = kept.iter().filter_map(|from| from.get("usage")).collect();
    let saved = if usages.is_empty() { String::new() } else { format!(" (saved {})", tokens(&usages)) };
    let count = count_of(kept.len() as u64, "call");
    format!("{count} kept, with the results of run {}{saved}", line(base, 60))
}

/// The items of a fan-out, or of all fan-outs of the run in which some failed.
fn items(of: &Value) -> Option<Tally> {
    of.get("items").and_then(|items| serde_json::from_value(items.clone()).ok())
}

/// A row of the tree.
struct Row {
    step: usize,
    branch: String,
    label: String,
}

/// The parent of each step. Version 1 does not contain it, so it is derived from the keys.
pub fn parents(steps: &[Value]) -> Vec<Option<usize>> {
    // The steps so far: after a failure, a step that starts over has a second row.
    let mut known: HashMap<&str, usize> = HashMap::new();
    let mut all = Vec::with_capacity(steps.len());
    for (number, step) in steps.iter().enumerate() {
        all.push(parent(step, &known));
        known.extend(text(step, "key").map(|key| (key, number)));
    }
    all
}

fn parent(step: &Value, known: &HashMap<&str, usize>) -> Option<usize> {
    if let Some(parent) = step.get("parent") {
        return known.get(parent.as_str()?).copied();
    }
    let mut at = text(step, "key")?;
    loop {
        at = trefoil_view::trace::outer(at)?;
        if let Some(found) = known.get(at) {
            return Some(*found);
        }
    }
}

fn rows(steps: &[Value]) -> Vec<Row> {
    let parents = parents(steps);
    let names = KeyMarks::of(steps);
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
        rows.push(Row {
            step: i,
            branch,
            label: names.of_step(step, parents.get(i).copied().flatten().and_then(|p| steps.get(p)), LABEL),
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

fn one(step: &Value, row: &Row, width: usize, look: TraceLook<'_>) -> TerminalText {
    let status = text(step, "status").unwrap_or("?");
    let exited = exited(step);
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
        figures.extend((status != "interrupted" && !kept).then(|| took(step)));
        figures.extend(kept.then(|| "kept".to_owned()));
        figures.extend(spent(step).filter(|_| !kept));
    }
    if let Some(tries) = number(step, "tries").filter(|n| *n > 1) {
        figures.push(format!("{tries} tries"));
    }
    if let Some(Tally { total, failed }) = items(step) {
        let failed = (failed > 0).then(|| format!("{failed} of {total} failed"));
        figures.push(failed.unwrap_or_else(|| count_of(total.into(), "item")));
    }
    let tail = match (step.get("error"), text(step, "reason")) {
        _ if stopped => String::new(),
        (Some(error), _) => match handled(step) {
            Some(how) => format!("{} ({how})", failure(error)),
            None => failure(error),
        },
        (None, Some(reason)) => reason.to_owned(),
        (None, None) => exited.unwrap_or_else(|| step.get("output").map(brief).unwrap_or_default()),
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
    let tail = line(&tail, room);
    let color_of_tail = if step.get("error").is_some() { look.paint(color, &tail) } else { look.dim(&tail) };
    let (branch, symbol, pad) = (look.dim(&row.branch), look.paint(color, symbol), " ".repeat(pad));
    let parts = shown!("{}{} {}{}  {}{}  {}", branch, symbol, row.label, pad, status, figures, color_of_tail);
    shown!("{}\n", parts.trim_end())
}

impl TraceLook<'_> {
    /// Text in a style.
    pub(super) fn styled(self, style: Style, text: impl Into<TerminalText>) -> TerminalText {
        let text = text.into();
        if self.color && !text.is_empty() { TerminalText::styled(style, text) } else { text }
    }
    /// Text in a colour.
    pub(super) fn paint(self, color: AnsiColor, text: impl Into<TerminalText>) -> TerminalText {
        self.styled(color.on_default(), text)
    }
    /// Text that is less important.
    pub fn dim(self, text: impl Into<TerminalText>) -> TerminalText {
        self.styled(Style::new().dimmed(), text)
    }
    /// Text that is more important.
    pub(super) fn bold(self, text: impl Into<TerminalText>) -> TerminalText {
        self.styled(Style::new().bold(), text)
    }
}
