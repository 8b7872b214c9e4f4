//! One step of a recorded run: every prompt with the origin of each part, the answers and the errors.

use anstyle::{AnsiColor, Style};
use serde_json::Value;
use trefoil_machine::Key;
use trefoil_machine::key::without_try;
use trefoil_machine::step_path::{RunPath, StepPath as _, describe_alternatives, find_steps, list_names};

use super::TraceStyle;
use super::names::{KeyMarks, normalize_name};
use super::tree::{parent_step, step_parents};
use super::words::{
    call_usage, duration_text, error_advice, escape_text, failure_text, fit_line, handling_text, is_stopped,
    list_member, location_text, number_member, receipt_text, step_usage_text, text_member, usage_text, value_text,
};
use crate::shown;
use crate::terminal_text::TerminalText;

/// Maximum column at which a note in the margin starts.
const MARGIN: usize = 72;

/// How many other steps with a name are listed.
const OTHERS: usize = 6;

/// Why no step is shown.
pub struct MissingStep {
    /// The message.
    pub message: String,
    /// The help.
    pub help: Option<String>,
}

/// Shows the steps with a name: a key, a label, or what the tree prints. If a name is the whole key of one step, the others with this
/// name are listed.
pub fn show_step(trace: &Value, name: &str, look: TraceStyle<'_>) -> Result<TerminalText, MissingStep> {
    let steps = list_member(trace, "steps");
    let names = KeyMarks::from_steps(steps);
    let parents = step_parents(steps);
    let found = find(steps, name, &names, &parents);
    if found.is_empty() {
        let help = match steps.is_empty() {
            true => "the trace has no steps".to_owned(),
            false => fit_line(&describe_alternatives(name, paths(steps).map(|(path, _)| path)), 1_000),
        };
        return Err(MissingStep {
            message: format!("this trace has no step `{}`", fit_line(name, 100)),
            help: Some(help),
        });
    }
    let mut out = TerminalText::default();
    for (n, at) in found.iter().enumerate() {
        if n > 0 {
            out.push("\n");
        }
        if let Some(step) = steps.get(*at) {
            one(step, &names.step_name(step, parent_step(steps, &parents, *at), 100), &mut out, look);
        }
    }
    let mut others: Vec<&str> = Vec::new();
    for (at, step) in steps.iter().enumerate() {
        let Some(key) = text_member(step, "key") else { continue };
        let has_name = RunPath::from_text(key).is_named(name) || text_member(step, "label") == Some(name);
        if has_name && !found.contains(&at) {
            others.push(without_try(key));
        }
    }
    if !others.is_empty() {
        let others = fit_line(&list_names(&others, OTHERS), 1_000);
        out.push(shown!("\n{}\n", look.dim_text(format!("other steps named `{}`: {others}", fit_line(name, 100)))));
    }
    Ok(out)
}

/// The steps with a name.
fn find(steps: &[Value], name: &str, names: &KeyMarks, parents: &[Option<usize>]) -> Vec<usize> {
    let exact = steps_where(steps, |_, step| text_member(step, "key") == Some(name));
    if !exact.is_empty() {
        return exact;
    }
    let named = find_steps(name, paths(steps));
    if !named.is_empty() {
        return named;
    }
    // The label of an agent may be another name than the one in the key.
    let labelled = steps_where(steps, |_, step| text_member(step, "label") == Some(name));
    if !labelled.is_empty() {
        return labelled;
    }
    // What the tree prints for a step.
    let wanted = normalize_name(name);
    let printed = steps_where(steps, |at, step| {
        let name = names.step_name(step, parent_step(steps, parents, at), usize::MAX / 8);
        normalize_name(&name) == wanted
    });
    if !printed.is_empty() {
        return printed;
    }
    // A pass or an item has no step of its own.
    steps_where(steps, |_, step| match text_member(step, "key") {
        Some(key) => RunPath::from_text(key).find_named(name).is_some(),
        None => false,
    })
}

/// The numbers of the steps for which a test is true.
fn steps_where(steps: &[Value], is_wanted: impl Fn(usize, &Value) -> bool) -> Vec<usize> {
    let mut found = Vec::new();
    for (at, step) in steps.iter().enumerate() {
        if is_wanted(at, step) {
            found.push(at);
        }
    }
    found
}

fn paths(steps: &[Value]) -> impl Iterator<Item = (RunPath<'_>, usize)> {
    steps.iter().enumerate().filter_map(|(at, step)| Some((RunPath::from_text(text_member(step, "key")?), at)))
}

/// The steps that may be calls, if a name is `CALL/STEP`: their keys, and the name of the step in the called flow.
pub fn find_calls(trace: &Value, name: &str) -> Vec<(Key, String)> {
    let mut calls = Vec::new();
    for step in list_member(trace, "steps") {
        if let Some(key) = text_member(step, "key")
            && let Some(inner) = RunPath::from_text(key).names_inside(name).next()
        {
            calls.push((Key::from(key), inner.to_owned()));
        }
    }
    calls
}

fn one(step: &Value, name: &str, out: &mut TerminalText, look: TraceStyle<'_>) {
    let key = fit_line(text_member(step, "key").unwrap_or_default(), 300);
    let status = text_member(step, "status").unwrap_or("?");
    // What was kept took no time and cost nothing here.
    let is_kept = step.get("kept") == Some(&Value::Bool(true));
    let mut facts = vec![fit_line(status, 20)];
    if is_kept {
        facts.push("kept".to_owned());
    } else {
        facts.push(duration_text(step));
        facts.extend(step_usage_text(step));
    }
    if let Some(tries) = number_member(step, "tries")
        && tries > 1
    {
        facts.push(format!("{tries} tries"));
    }
    facts.extend(location_text(step));
    out.push(shown!("{}  {}\n", look.bold_text(name), look.dim_text(facts.join(", "))));
    if key != name && !key.is_empty() {
        out.push(shown!("{}\n", look.dim_text(format!("key {key}"))));
    }
    let calls = list_member(step, "calls");
    let shown_errors = show_calls(calls, list_member(step, "notes"), out, look);
    passed(list_member(step, "verdicts"), out, look);
    if let Some(error) = step.get("error")
        && !is_stopped(step)
    {
        let message = failure_text(error);
        match (shown_errors.last() == Some(&message), handling_text(step)) {
            (true, None) => {}
            (true, Some(how)) => out.push(shown!("\n{}\n", how)),
            (false, None) => out.push(shown!("\n{}\n", look.with_color(AnsiColor::Red, &message))),
            (false, Some(how)) => {
                out.push(shown!("\n{} ({})\n", look.with_color(AnsiColor::Red, &message), how));
            }
        }
        if let Some(help) = error_advice(error) {
            out.push(shown!("help: {}\n", fit_line(&help, 400)));
        }
    }
    if let Some(reason) = text_member(step, "reason") {
        out.push(shown!("\nskipped: {}\n", TerminalText::from(reason)));
    }
    if let Some(output) = step.get("output")
        && !calls.iter().any(|call| call.get("answer") == Some(output))
    {
        section("result", "", out, look);
        block(&value_text(output), out);
    }
}

/// The calls of a step, and the notes between them. Returns the errors that were shown.
fn show_calls(calls: &[Value], notes: &[Value], out: &mut TerminalText, look: TraceStyle<'_>) -> Vec<String> {
    let mut shown_errors: Vec<String> = Vec::new();
    let mut notes = notes.iter().peekable();
    for (at, call) in calls.iter().enumerate() {
        let began = number_member(call, "started_ms").unwrap_or(0);
        let is_before = |note: &&Value| at > 0 && matches!(number_member(note, "at_ms"), Some(ms) if ms <= began);
        while let Some(note) = notes.next_if(is_before) {
            one_note(note, &shown_errors, out, look);
        }
        let number = if calls.len() > 1 { format!(" {} of {}", at + 1, calls.len()) } else { String::new() };
        one_call(call, &number, out, look);
        if let Some(error) = call.get("error") {
            shown_errors.push(failure_text(error));
        }
    }
    for note in notes {
        one_note(note, &shown_errors, out, look);
    }
    shown_errors
}

/// The guardrails and validators that passed; the others are shown as notes.
fn passed(verdicts: &[Value], out: &mut TerminalText, look: TraceStyle<'_>) {
    let mut all: Vec<String> = Vec::new();
    for verdict in verdicts {
        if text_member(verdict, "ruling") != Some("passed") {
            continue;
        }
        let name = |key| fit_line(text_member(verdict, key).unwrap_or("?"), 60);
        let score = match verdict.get("score").and_then(Value::as_f64) {
            Some(score) => format!(", score {score}"),
            None => String::new(),
        };
        let one = format!("{} ({}{score})", name("by"), name("of"));
        if !all.contains(&one) {
            all.push(one);
        }
    }
    if !all.is_empty() {
        out.push(shown!("\n{}\n", look.dim_text(format!("passed: {}", all.join(", ")))));
    }
}

/// A note between the calls, unless a call has just shown the same.
fn one_note(note: &Value, shown_errors: &[String], out: &mut TerminalText, look: TraceStyle<'_>) {
    let at = match number_member(note, "at_ms") {
        Some(ms) => format!("{}  ", crate::words::format_time(ms)),
        None => String::new(),
    };
    let mut text = escape_text(text_member(note, "text").unwrap_or_default());
    if let Some(error) = shown_errors.last()
        && let Some(short) = text.strip_suffix(&format!(", because {error}"))
    {
        text = short.to_owned();
    }
    let text = text.strip_prefix("warning: ").unwrap_or(&text);
    out.push(shown!("\n{}\n", look.dim_text(format!("note: {at}{text}"))));
}

fn section(title: &str, more: &str, out: &mut TerminalText, look: TraceStyle<'_>) {
    let more = if more.is_empty() { TerminalText::default() } else { shown!("  {}", look.dim_text(more)) };
    out.push(shown!("\n{}{}\n", look.with_style(Style::new().bold().underline(), title), more));
}

fn block(text: &str, out: &mut TerminalText) {
    for line in text.trim_end_matches('\n').split('\n') {
        out.push(shown!("  {}\n", TerminalText::from(line)));
    }
}

fn one_call(call: &Value, which: &str, out: &mut TerminalText, look: TraceStyle<'_>) {
    let effect = fit_line(text_member(call, "effect").unwrap_or("call"), 20);
    let mut facts: Vec<String> = Vec::new();
    if let Some(model) = text_member(call, "model") {
        facts.push(fit_line(model, 100));
    }
    if let Some(model) = text_member(call, "answered_by") {
        facts.push(format!("answered by {}", fit_line(model, 80)));
    }
    if let Some(substitute) = text_member(call, "instead") {
        facts.push(format!("instead: {}", fit_line(substitute, 100)));
    }
    facts.push(duration_text(call));
    if effect == "model"
        && let Some(usage) = call_usage(call)
    {
        facts.push(usage_text(&[usage]));
    }
    if let Some(finish) = text_member(call, "finish") {
        facts.push(format!("finish: {}", fit_line(finish, 30)));
    }
    if let Some(id) = text_member(call, "request_id") {
        facts.push(format!("request {}", fit_line(id, 80)));
    }
    if let Some(receipt) = receipt_text(call) {
        let verb = if effect == "human" { "answered" } else { "decided" };
        facts.push(format!("{verb} {receipt}"));
    }
    let what = if effect == "human" { format!("question{which}") } else { format!("{effect} call{which}") };
    section(&what, &facts.join(", "), out, look);
    if let Some(parameters) = call.get("parameters").and_then(Value::as_object) {
        let all: Vec<String> =
            parameters.iter().map(|(k, v)| format!("{} {}", fit_line(k, 40), fit_line(&v.to_string(), 80))).collect();
        out.push(shown!("{}\n", look.dim_text(all.join(", "))));
    }
    for before in list_member(call, "before") {
        let (model, why) =
            (text_member(before, "model").unwrap_or("?"), text_member(before, "why").unwrap_or_default());
        let usage = match call_usage(before) {
            Some(usage) => format!(" ({})", usage_text(&[usage])),
            None => String::new(),
        };
        let text = format!("before: {} did not answer: {}{usage}", fit_line(model, 100), fit_line(why, 300));
        out.push(shown!("{}\n", look.dim_text(&text)));
    }
    for message in list_member(call, "messages") {
        section(&fit_line(text_member(message, "role").unwrap_or("?"), 20), "", out, look);
        prompt(message, out, look);
    }
    if let Some(detail) = call.get("detail") {
        block(&value_text(detail), out);
    }
    if let Some(answer) = call.get("answer") {
        section("answer", "", out, look);
        block(&value_text(answer), out);
    }
    if let Some(partial) = text_member(call, "partial") {
        let refused = matches!(call.get("error"), Some(e) if text_member(e, "code") == Some("GUARDRAIL_VIOLATION"));
        section(if refused { "answer, rejected" } else { "answer, incomplete" }, "", out, look);
        block(partial, out);
    }
    if let Some(error) = call.get("error") {
        out.push(shown!("\n{}\n", look.with_color(AnsiColor::Red, failure_text(error))));
    }
}

/// A message, with a note in the margin of each line for parts with another origin.
fn prompt(message: &Value, out: &mut TerminalText, look: TraceStyle<'_>) {
    words(message, out, look);
    for call in list_member(message, "calls") {
        let arguments = call.get("arguments").map(ToString::to_string).unwrap_or_default();
        out.push(shown!("  calls {} {}\n", text_member(call, "name").unwrap_or_default(), arguments));
    }
}

/// The content of a message.
fn words(message: &Value, out: &mut TerminalText, look: TraceStyle<'_>) {
    let content: Vec<char> = text_member(message, "content").unwrap_or_default().chars().collect();
    if content.is_empty() && !list_member(message, "calls").is_empty() {
        return;
    }
    let spans = list_member(message, "spans");
    if spans.is_empty() {
        return block(&content.iter().collect::<String>(), out);
    }
    let mut lines: Vec<AnnotatedLine> = vec![AnnotatedLine::default()];
    for span in spans {
        let bound = |key| (number_member(span, key).unwrap_or(0) as usize).min(content.len());
        let (start, end) = (bound("start"), bound("end").max(bound("start")));
        let part: String = content.get(start..end).unwrap_or_default().iter().collect();
        let origin = OriginStyle::for_span(span);
        for (at, piece) in part.split('\n').enumerate() {
            if at > 0 {
                lines.push(AnnotatedLine::default());
            }
            if let Some(line) = lines.last_mut() {
                line.push(&TerminalText::from(piece), &origin, look);
            }
        }
    }
    lines.pop_if(|line| line.width == 0);
    let mut widest = 0;
    for line in &lines {
        if !line.notes.is_empty() && line.width <= MARGIN {
            widest = widest.max(line.width);
        }
    }
    let mut before: &[String] = &[];
    for line in &lines {
        let new: Vec<String> = line.notes.iter().filter(|note| !before.contains(note)).cloned().collect();
        let notes = if new.is_empty() {
            TerminalText::default()
        } else {
            let pad = " ".repeat(widest.saturating_sub(line.width));
            shown!("{}  {}", pad, look.dim_text(format!("<- {}", new.join("; "))))
        };
        out.push(shown!("{}\n", shown!("  {}{}", line.text, notes).trim_end()));
        before = &line.notes;
    }
}

#[derive(Default)]
struct AnnotatedLine {
    text: TerminalText,
    width: usize,
    notes: Vec<String>,
}

impl AnnotatedLine {
    fn push(&mut self, piece: &TerminalText, origin: &OriginStyle, look: TraceStyle<'_>) {
        if piece.is_empty() {
            return;
        }
        self.width += piece.column_count();
        match origin.color {
            Some(color) => self.text.push(look.with_color(color, piece)),
            None => self.text.push(piece),
        }
        if let Some(note) = &origin.note
            && !self.notes.contains(note)
        {
            self.notes.push(note.clone());
        }
    }
}

/// The style of a part of a prompt: its colour and its note.
struct OriginStyle {
    color: Option<AnsiColor>,
    note: Option<String>,
}

impl OriginStyle {
    fn for_span(span: &Value) -> Self {
        let at = match location_text(span) {
            Some(at) => format!(" ({at})"),
            None => String::new(),
        };
        let member = match text_member(span, "member") {
            Some(member) => format!(".{}", fit_line(member, 60)),
            None => String::new(),
        };
        let step = text_member(span, "step").map(|step| fit_line(step, 100));
        let name = fit_line(text_member(span, "name").unwrap_or_default(), 60);
        let (color, note) = match text_member(span, "from").unwrap_or_default() {
            "literal" | "const" => return Self { color: None, note: None },
            "step" => (AnsiColor::Cyan, format!("{}{member}", step.unwrap_or_default())),
            "input" => (AnsiColor::Green, format!("input{member}")),
            "env" => (AnsiColor::Magenta, format!("env.{name}")),
            "secret" => (AnsiColor::Magenta, format!("secrets.{name}")),
            "item" => {
                let member = counted(text_member(span, "member").unwrap_or_default());
                let note = match step {
                    Some(step) => format!("item of {step}{member}"),
                    None => format!("item{member}"),
                };
                (AnsiColor::Blue, note)
            }
            "index" => match text_member(span, "path") {
                Some(path) => (AnsiColor::Blue, fit_line(path, 60)),
                None => (AnsiColor::Blue, "a number".to_owned()),
            },
            "failure" => match step {
                Some(step) => (AnsiColor::Red, format!("failure of {step}")),
                None => (AnsiColor::Red, "a failure".to_owned()),
            },
            "run" => (AnsiColor::Yellow, "the run".to_owned()),
            "several" => {
                let mut steps = Vec::new();
                for step in list_member(span, "steps").iter().filter_map(Value::as_str).take(8) {
                    steps.push(fit_line(step, 60));
                }
                (AnsiColor::Cyan, steps.join(" + "))
            }
            _ => (AnsiColor::Yellow, "changed before it was used, or unknown".to_owned()),
        };
        Self { color: Some(color), note: Some(format!("{note}{at}")) }
    }
}

/// Formats the path of an item: ` 2.name` for `1.name`. Items are shown from 1.
fn counted(member: &str) -> String {
    let (first, rest) = match member.split_once('.') {
        Some((first, rest)) => (first, Some(rest)),
        None => (member, None),
    };
    let Ok(index) = first.parse::<u64>() else {
        return if member.is_empty() { String::new() } else { format!(".{}", fit_line(member, 60)) };
    };
    let number = index.saturating_add(1);
    match rest {
        Some(rest) => format!(" {number}.{}", fit_line(rest, 60)),
        None => format!(" {number}"),
    }
}

#[cfg(test)]
mod tests {
    use super::counted;

    #[test]
    fn items_count_from_one() {
        assert_eq!((counted("1").as_str(), counted("0.word").as_str()), (" 2", " 1.word"));
        assert_eq!((counted("word").as_str(), counted("").as_str()), (".word", ""));
    }
}
