//! One step of a recorded run: every prompt that was sent with where each part of it came from, the answer, what went wrong.

use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};
use serde_json::Value;
use trefoil::syntax::suggest;
use unicode_width::UnicodeWidthStr as _;

use super::Look;
use super::words::{failure, line, list, number, place, safe, shown, spent, text, tokens, took};

/// A note in the margin begins at most so far to the right.
const MARGIN: usize = 72;

/// Why no step is shown.
pub struct Missing {
    /// What there is no step of.
    pub message: String,
    /// What to do.
    pub help: Option<String>,
}

/// The steps of a name: of a key that one, of a label every one that has it.
pub fn step(trace: &Value, name: &str, look: Look) -> Result<String, Missing> {
    let steps = list(trace, "steps");
    let by_key: Vec<&Value> = steps.iter().filter(|s| text(s, "key") == Some(name)).collect();
    let found: Vec<&Value> = match by_key.is_empty() {
        false => by_key,
        true => steps.iter().filter(|s| text(s, "label") == Some(name)).collect(),
    };
    if found.is_empty() {
        return Err(missing(steps, name));
    }
    let mut out = String::new();
    for (at, step) in found.iter().enumerate() {
        if at > 0 {
            out.push('\n');
        }
        one(step, &mut out, look);
    }
    Ok(out)
}

fn missing(steps: &[Value], name: &str) -> Missing {
    let mut names: Vec<&str> = steps.iter().flat_map(|s| [text(s, "label"), text(s, "key")]).flatten().collect();
    names.sort_unstable();
    names.dedup();
    let help = match suggest::nearest(name, names.iter().copied()) {
        Some(near) => Some(format!("did you mean `{}`?", line(near, 100))),
        None if names.is_empty() => Some("the trace has no steps".to_owned()),
        None => {
            let some: Vec<String> = names.iter().take(12).map(|n| format!("`{}`", line(n, 60))).collect();
            let more = if names.len() > 12 { ", ..." } else { "" };
            Some(format!("available: {}{more}", some.join(", ")))
        }
    };
    Missing { message: format!("there is no step `{}` in this trace", line(name, 100)), help }
}

fn one(step: &Value, out: &mut String, look: Look) {
    let label = line(text(step, "label").unwrap_or("?"), 100);
    let key = line(text(step, "key").unwrap_or_default(), 300);
    let mut facts = vec![line(text(step, "status").unwrap_or("?"), 20), took(step)];
    facts.extend(spent(step));
    facts.extend(number(step, "tries").filter(|n| *n > 1).map(|n| format!("{n} tries")));
    facts.extend(place(step));
    let _ = writeln!(out, "{}  {}", look.bold(&label), look.dim(&facts.join(", ")));
    if key != label && !key.is_empty() {
        let _ = writeln!(out, "{}", look.dim(&format!("key {key}")));
    }
    let calls = list(step, "calls");
    for (at, call) in calls.iter().enumerate() {
        let number = if calls.len() > 1 { format!(" {} of {}", at + 1, calls.len()) } else { String::new() };
        one_call(call, &number, out, look);
    }
    for note in list(step, "notes") {
        let at = number(note, "at_ms").map_or_else(String::new, |ms| format!("{}  ", crate::run::time(ms)));
        let _ = writeln!(out, "\n{}", look.dim(&format!("note: {at}{}", safe(text(note, "text").unwrap_or_default()))));
    }
    if let Some(error) = step.get("error") {
        let how = text(step, "handled_as").map(|how| format!(" (handled as: {})", line(how, 30))).unwrap_or_default();
        let _ = writeln!(out, "\n{}{how}", look.paint(AnsiColor::Red, &failure(error)));
    }
    if let Some(reason) = text(step, "reason") {
        let _ = writeln!(out, "\nskipped: {}", safe(reason));
    }
    if let Some(output) = step.get("output").filter(|output| calls.iter().all(|c| c.get("answer") != Some(*output))) {
        section("result", "", out, look);
        block(&shown(output), out);
    }
}

fn section(title: &str, more: &str, out: &mut String, look: Look) {
    let more = if more.is_empty() { String::new() } else { format!("  {}", look.dim(more)) };
    let _ = writeln!(out, "\n{}{more}", look.styled(Style::new().bold().underline(), title));
}

fn block(text: &str, out: &mut String) {
    for line in safe(text).trim_end_matches('\n').split('\n') {
        let _ = writeln!(out, "  {line}");
    }
}

fn one_call(call: &Value, which: &str, out: &mut String, look: Look) {
    let effect = line(text(call, "effect").unwrap_or("call"), 20);
    let model = text(call, "model").map(|m| line(m, 100));
    let mut facts: Vec<String> = model.into_iter().collect();
    facts.extend(text(call, "answered_by").map(|by| format!("answered by {}", line(by, 80))));
    facts.push(took(call));
    if effect == "model" {
        facts.push(tokens(&[call.get("usage").unwrap_or(&Value::Null)]));
    }
    facts.extend(text(call, "finish").map(|f| format!("finish: {}", line(f, 30))));
    facts.extend(text(call, "request_id").map(|id| format!("request {}", line(id, 80))));
    section(&format!("{effect} call{which}"), &facts.join(", "), out, look);
    if let Some(parameters) = call.get("parameters").and_then(Value::as_object) {
        let all: Vec<String> =
            parameters.iter().map(|(k, v)| format!("{} {}", line(k, 40), line(&v.to_string(), 80))).collect();
        let _ = writeln!(out, "{}", look.dim(&all.join(", ")));
    }
    for message in list(call, "messages") {
        section(&line(text(message, "role").unwrap_or("?"), 20), "", out, look);
        prompt(message, out, look);
    }
    if let Some(detail) = call.get("detail") {
        block(&shown(detail), out);
    }
    if let Some(answer) = call.get("answer") {
        section("answer", "", out, look);
        block(&shown(answer), out);
    }
    if let Some(partial) = text(call, "partial") {
        section("answer, as far as it came", "", out, look);
        block(partial, out);
    }
    if let Some(error) = call.get("error") {
        let _ = writeln!(out, "\n{}", look.paint(AnsiColor::Red, &failure(error)));
    }
}

/// A message with a note in the margin of each line for what came from elsewhere.
fn prompt(message: &Value, out: &mut String, look: Look) {
    let content: Vec<char> = text(message, "content").unwrap_or_default().chars().collect();
    let spans = list(message, "spans");
    if spans.is_empty() {
        return block(&content.iter().collect::<String>(), out);
    }
    let mut lines: Vec<Line> = vec![Line::default()];
    for span in spans {
        let bound = |key| number(span, key).map_or(0, |n| (n as usize).min(content.len()));
        let (start, end) = (bound("start"), bound("end").max(bound("start")));
        let part: String = content.get(start..end).unwrap_or_default().iter().collect();
        let origin = Origin::of(span);
        for (at, piece) in part.split('\n').enumerate() {
            if at > 0 {
                lines.push(Line::default());
            }
            if let Some(line) = lines.last_mut() {
                line.push(&safe(piece), &origin, look);
            }
        }
    }
    if lines.last().is_some_and(|l| l.width == 0) {
        lines.pop();
    }
    let widest =
        lines.iter().filter(|l| !l.notes.is_empty()).map(|l| l.width).filter(|w| *w <= MARGIN).max().unwrap_or(0);
    let mut before: &[String] = &[];
    for line in &lines {
        let new: Vec<String> = line.notes.iter().filter(|note| !before.contains(note)).cloned().collect();
        let notes = if new.is_empty() {
            String::new()
        } else {
            format!(
                "{}  {}",
                " ".repeat(widest.saturating_sub(line.width)),
                look.dim(&format!("<- {}", new.join("; ")))
            )
        };
        let text = format!("  {}{notes}", line.text);
        let _ = writeln!(out, "{}", text.trim_end());
        before = &line.notes;
    }
}

#[derive(Default)]
struct Line {
    text: String,
    width: usize,
    notes: Vec<String>,
}

impl Line {
    fn push(&mut self, piece: &str, origin: &Origin, look: Look) {
        if piece.is_empty() {
            return;
        }
        self.width += piece.width();
        match origin.color {
            Some(color) => self.text.push_str(&look.paint(color, piece)),
            None => self.text.push_str(piece),
        }
        if let Some(note) = &origin.note
            && !self.notes.contains(note)
        {
            self.notes.push(note.clone());
        }
    }
}

/// How a part of a prompt is shown: its colour and its note.
struct Origin {
    color: Option<AnsiColor>,
    note: Option<String>,
}

impl Origin {
    fn of(span: &Value) -> Self {
        let at = place(span).map(|at| format!(" ({at})")).unwrap_or_default();
        let member = text(span, "member").map(|m| format!(".{}", line(m, 60))).unwrap_or_default();
        let step = text(span, "step").map(|s| line(s, 100));
        let name = text(span, "name").map_or_else(String::new, |n| line(n, 60));
        let (color, note) = match text(span, "from").unwrap_or_default() {
            "literal" | "const" => return Self { color: None, note: None },
            "step" => (AnsiColor::Cyan, format!("{}{member}", step.unwrap_or_default())),
            "input" => (AnsiColor::Green, format!("input{member}")),
            "env" => (AnsiColor::Magenta, format!("env.{name}")),
            "secret" => (AnsiColor::Magenta, format!("secrets.{name}")),
            "item" => {
                (AnsiColor::Blue, step.map_or_else(|| format!("item{member}"), |s| format!("item of {s}{member}")))
            }
            "index" => (AnsiColor::Blue, text(span, "path").map_or_else(|| "a number".to_owned(), |p| line(p, 60))),
            "failure" => (AnsiColor::Red, step.map_or_else(|| "a failure".to_owned(), |s| format!("failure of {s}"))),
            "run" => (AnsiColor::Yellow, "the run".to_owned()),
            "several" => {
                let steps: Vec<String> =
                    list(span, "steps").iter().filter_map(Value::as_str).take(8).map(|s| line(s, 60)).collect();
                (AnsiColor::Cyan, steps.join(" + "))
            }
            _ => (AnsiColor::Yellow, "changed on the way, or not known".to_owned()),
        };
        Self { color: Some(color), note: Some(format!("{note}{at}")) }
    }
}
