//! One step of a recorded run: every prompt with the origin of each part, the answers and the errors.

use anstyle::{AnsiColor, Style};
use serde_json::Value;
use trefoil_machine::Key;
use trefoil_machine::key::without_try;
use trefoil_machine::step_path::{RunPath, StepPath as _, describe_alternatives, find_steps, list_names};

use super::TraceStyle;
use super::names::{KeyMarks, normalize_name};
use super::tree::step_parents;
use super::words::{
    call_usage, duration_text, error_advice, escape_text, failure_text, fit_line, handling_text, is_stopped,
    list_member, location_text, number_member, step_usage_text, text_member, usage_text, value_text,
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
    let parent = |at: usize| parents.get(at).copied().flatten().and_then(|p| steps.get(p));
    let found = find(steps, name, &|at, step| names.step_name(step, parent(at), usize::MAX / 8));
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
            one(step, &names.step_name(step, parent(*at), 100), &mut out, look);
        }
    }
    let is_other = |at: &usize| found.iter().all(|shown| shown != at);
    let others = paths(steps).filter(|(path, _)| path.is_named(name)).map(|(_, at)| at);
    let mut others: Vec<usize> = others.chain(find_labelled(steps, name)).filter(is_other).collect();
    others.sort_unstable();
    others.dedup();
    let others = others.into_iter().filter_map(|at| text_member(steps.get(at)?, "key").map(without_try));
    let others: Vec<&str> = others.collect();
    if !others.is_empty() {
        let others = fit_line(&list_names(&others, OTHERS), 1_000);
        out.push(shown!("\n{}\n", look.dim_text(format!("other steps named `{}`: {others}", fit_line(name, 100)))));
    }
    Ok(out)
}

/// The steps with a name. `printed`: what the tree prints for a step.
fn find(steps: &[Value], name: &str, printed: &dyn Fn(usize, &Value) -> String) -> Vec<usize> {
    let wanted = normalize_name(name);
    let exact = || (0..steps.len()).filter(|at| steps.get(*at).and_then(|step| text_member(step, "key")) == Some(name));
    let shown = || {
        steps.iter().enumerate().filter(|(at, step)| normalize_name(&printed(*at, step)) == wanted).map(|(at, _)| at)
    };
    // A pass or an item has no step of its own.
    let inside = || paths(steps).filter(|(path, _)| path.find_named(name).is_some()).map(|(_, at)| at);
    let ways: [&dyn Fn() -> Vec<usize>; 5] = [
        &|| exact().collect(),
        &|| find_steps(name, paths(steps)),
        &|| find_labelled(steps, name).collect(),
        &|| shown().collect(),
        &|| inside().collect(),
    ];
    ways.into_iter().map(|way| way()).find(|found| !found.is_empty()).unwrap_or_default()
}

fn paths(steps: &[Value]) -> impl Iterator<Item = (RunPath<'_>, usize)> {
    steps.iter().enumerate().filter_map(|(at, step)| Some((RunPath::from_text(text_member(step, "key")?), at)))
}

/// The steps with a label: that of an agent may be another name than the one in the key.
fn find_labelled<'s>(steps: &'s [Value], name: &'s str) -> impl Iterator<Item = usize> + 's {
    steps.iter().enumerate().filter(move |(_, step)| text_member(step, "label") == Some(name)).map(|(at, _)| at)
}

/// The steps that may be calls, if a name is `CALL/STEP`: their keys, and the name of the step in the called flow.
pub fn find_calls(trace: &Value, name: &str) -> Vec<(Key, String)> {
    let of = |(path, at): (RunPath<'_>, usize)| {
        let key = text_member(list_member(trace, "steps").get(at)?, "key")?;
        Some((Key::from(key), path.names_inside(name).next()?.to_owned()))
    };
    paths(list_member(trace, "steps")).filter_map(of).collect()
}

fn one(step: &Value, name: &str, out: &mut TerminalText, look: TraceStyle<'_>) {
    let key = fit_line(text_member(step, "key").unwrap_or_default(), 300);
    let status = text_member(step, "status").unwrap_or("?");
    // What was kept took no time and cost nothing here.
    let is_kept = step.get("kept") == Some(&Value::Bool(true));
    let mut facts = vec![fit_line(status, 20), if is_kept { "kept".to_owned() } else { duration_text(step) }];
    facts.extend(step_usage_text(step).filter(|_| !is_kept));
    facts.extend(number_member(step, "tries").filter(|n| *n > 1).map(|n| format!("{n} tries")));
    facts.extend(location_text(step));
    out.push(shown!("{}  {}\n", look.bold_text(name), look.dim_text(facts.join(", "))));
    if key != name && !key.is_empty() {
        out.push(shown!("{}\n", look.dim_text(format!("key {key}"))));
    }
    let calls = list_member(step, "calls");
    // Errors that were already shown.
    let mut told: Vec<String> = Vec::new();
    let mut notes = list_member(step, "notes").iter().peekable();
    for (at, call) in calls.iter().enumerate() {
        let began = number_member(call, "started_ms").unwrap_or(0);
        while let Some(note) =
            notes.next_if(|note| at > 0 && number_member(note, "at_ms").is_some_and(|ms| ms <= began))
        {
            one_note(note, &told, out, look);
        }
        let number = if calls.len() > 1 { format!(" {} of {}", at + 1, calls.len()) } else { String::new() };
        one_call(call, &number, out, look);
        told.extend(call.get("error").map(failure_text));
    }
    notes.for_each(|note| one_note(note, &told, out, look));
    passed(list_member(step, "verdicts"), out, look);
    if let Some(error) = step.get("error").filter(|_| !is_stopped(step)) {
        let error = failure_text(error);
        match (told.last() == Some(&error), handling_text(step)) {
            (true, None) => {}
            (true, Some(how)) => {
                out.push(shown!("\n{}\n", how));
            }
            (false, how) => {
                let how = how.map(|how| format!(" ({how})")).unwrap_or_default();
                out.push(shown!("\n{}{}\n", look.with_color(AnsiColor::Red, &error), how));
            }
        }
    }
    if let Some(help) = step.get("error").filter(|_| !is_stopped(step)).and_then(error_advice) {
        out.push(shown!("help: {}\n", fit_line(&help, 400)));
    }
    if let Some(reason) = text_member(step, "reason") {
        out.push(shown!("\nskipped: {}\n", TerminalText::from(reason)));
    }
    if let Some(output) = step.get("output").filter(|output| calls.iter().all(|c| c.get("answer") != Some(*output))) {
        section("result", "", out, look);
        block(&value_text(output), out);
    }
}

/// The guardrails and validators that passed; the others are shown as notes.
fn passed(verdicts: &[Value], out: &mut TerminalText, look: TraceStyle<'_>) {
    let mut all: Vec<String> = Vec::new();
    for verdict in verdicts.iter().filter(|verdict| text_member(verdict, "ruling") == Some("passed")) {
        let name = |key| fit_line(text_member(verdict, key).unwrap_or("?"), 60);
        let score = verdict.get("score").and_then(Value::as_f64).map(|score| format!(", score {score}"));
        let one = format!("{} ({}{})", name("by"), name("of"), score.unwrap_or_default());
        if !all.contains(&one) {
            all.push(one);
        }
    }
    if !all.is_empty() {
        out.push(shown!("\n{}\n", look.dim_text(format!("passed: {}", all.join(", ")))));
    }
}

/// A note between the calls, unless a call has just shown the same.
fn one_note(note: &Value, told: &[String], out: &mut TerminalText, look: TraceStyle<'_>) {
    let at = number_member(note, "at_ms").map_or_else(String::new, |ms| format!("{}  ", crate::words::format_time(ms)));
    let mut said = escape_text(text_member(note, "text").unwrap_or_default());
    if let Some(short) = told.last().and_then(|error| said.strip_suffix(&format!(", because {error}"))) {
        said = short.to_owned();
    }
    let said = said.strip_prefix("warning: ").unwrap_or(&said);
    out.push(shown!("\n{}\n", look.dim_text(format!("note: {at}{said}"))));
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
    let model = text_member(call, "model").map(|m| fit_line(m, 100));
    let mut facts: Vec<String> = model.into_iter().collect();
    facts.extend(text_member(call, "answered_by").map(|by| format!("answered by {}", fit_line(by, 80))));
    facts.extend(text_member(call, "instead").map(|by| format!("instead: {}", fit_line(by, 100))));
    facts.push(duration_text(call));
    if effect == "model" {
        facts.extend(call_usage(call).map(|usage| usage_text(&[usage])));
    }
    facts.extend(text_member(call, "finish").map(|f| format!("finish: {}", fit_line(f, 30))));
    facts.extend(text_member(call, "request_id").map(|id| format!("request {}", fit_line(id, 80))));
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
        let usage = call_usage(before).map(|usage| format!(" ({})", usage_text(&[usage]))).unwrap_or_default();
        let said = format!("before: {} did not answer: {}{usage}", fit_line(model, 100), fit_line(why, 300));
        out.push(shown!("{}\n", look.dim_text(&said)));
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
        let refused = call.get("error").and_then(|e| text_member(e, "code")) == Some("GUARDRAIL_VIOLATION");
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
        let bound = |key| number_member(span, key).map_or(0, |n| (n as usize).min(content.len()));
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
    if lines.last().is_some_and(|l| l.width == 0) {
        lines.pop();
    }
    let widest =
        lines.iter().filter(|l| !l.notes.is_empty()).map(|l| l.width).filter(|w| *w <= MARGIN).max().unwrap_or(0);
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
        let at = location_text(span).map(|at| format!(" ({at})")).unwrap_or_default();
        let member = text_member(span, "member").map(|m| format!(".{}", fit_line(m, 60))).unwrap_or_default();
        let step = text_member(span, "step").map(|s| fit_line(s, 100));
        let name = text_member(span, "name").map_or_else(String::new, |n| fit_line(n, 60));
        let (color, note) = match text_member(span, "from").unwrap_or_default() {
            "literal" | "const" => return Self { color: None, note: None },
            "step" => (AnsiColor::Cyan, format!("{}{member}", step.unwrap_or_default())),
            "input" => (AnsiColor::Green, format!("input{member}")),
            "env" => (AnsiColor::Magenta, format!("env.{name}")),
            "secret" => (AnsiColor::Magenta, format!("secrets.{name}")),
            "item" => {
                let member = counted(text_member(span, "member").unwrap_or_default());
                (AnsiColor::Blue, step.map_or_else(|| format!("item{member}"), |s| format!("item of {s}{member}")))
            }
            "index" => {
                (AnsiColor::Blue, text_member(span, "path").map_or_else(|| "a number".to_owned(), |p| fit_line(p, 60)))
            }
            "failure" => (AnsiColor::Red, step.map_or_else(|| "a failure".to_owned(), |s| format!("failure of {s}"))),
            "run" => (AnsiColor::Yellow, "the run".to_owned()),
            "several" => {
                let steps: Vec<String> = list_member(span, "steps")
                    .iter()
                    .filter_map(Value::as_str)
                    .take(8)
                    .map(|s| fit_line(s, 60))
                    .collect();
                (AnsiColor::Cyan, steps.join(" + "))
            }
            _ => (AnsiColor::Yellow, "changed before it was used, or unknown".to_owned()),
        };
        Self { color: Some(color), note: Some(format!("{note}{at}")) }
    }
}

/// Formats the path of an item: ` 2.name` for `1.name`. Items are shown from 1.
fn counted(member: &str) -> String {
    let (first, rest) = member.split_once('.').map_or((member, None), |(first, rest)| (first, Some(rest)));
    let Ok(index) = first.parse::<u64>() else {
        return if member.is_empty() { String::new() } else { format!(".{}", fit_line(member, 60)) };
    };
    let rest = rest.map(|rest| format!(".{}", fit_line(rest, 60))).unwrap_or_default();
    format!(" {}{rest}", index.saturating_add(1))
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
