//! One step of a recorded run: every prompt with the origin of each part, the answers and the errors.

use anstyle::{AnsiColor, Style};
use serde_json::Value;
use trefoil_machine::Key;
use trefoil_machine::key::without_try;
use trefoil_machine::step_path::{RunPath, StepPath as _, find_steps, instead, listed};

use super::TraceLook;
use super::names::{KeyMarks, plain};
use super::tree::parents;
use super::words::{
    advice, failure, handled, is_stopped, line, list, number, place, safe, shown, spent, text, tokens, took, used,
};
use crate::harmless::TerminalText;
use crate::shown;

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
pub fn step(trace: &Value, name: &str, look: TraceLook<'_>) -> Result<TerminalText, MissingStep> {
    let steps = list(trace, "steps");
    let names = KeyMarks::of(steps);
    let parents = parents(steps);
    let parent = |at: usize| parents.get(at).copied().flatten().and_then(|p| steps.get(p));
    let found = find(steps, name, &|at, step| names.of_step(step, parent(at), usize::MAX / 8));
    if found.is_empty() {
        let help = match steps.is_empty() {
            true => "the trace has no steps".to_owned(),
            false => line(&instead(name, paths(steps).map(|(path, _)| path)), 1_000),
        };
        return Err(MissingStep { message: format!("this trace has no step `{}`", line(name, 100)), help: Some(help) });
    }
    let mut out = TerminalText::default();
    for (n, at) in found.iter().enumerate() {
        if n > 0 {
            out.push("\n");
        }
        if let Some(step) = steps.get(*at) {
            one(step, &names.of_step(step, parent(*at), 100), &mut out, look);
        }
    }
    let is_other = |at: &usize| found.iter().all(|shown| shown != at);
    let others = paths(steps).filter(|(path, _)| path.is_named(name)).map(|(_, at)| at);
    let mut others: Vec<usize> = others.chain(labelled(steps, name)).filter(is_other).collect();
    others.sort_unstable();
    others.dedup();
    let others = others.into_iter().filter_map(|at| text(steps.get(at)?, "key").map(without_try));
    let others: Vec<&str> = others.collect();
    if !others.is_empty() {
        let others = line(&listed(&others, OTHERS), 1_000);
        out.push(shown!("\n{}\n", look.dim(format!("other steps named `{}`: {others}", line(name, 100)))));
    }
    Ok(out)
}

/// The steps with a name. `printed`: what the tree prints for a step.
fn find(steps: &[Value], name: &str, printed: &dyn Fn(usize, &Value) -> String) -> Vec<usize> {
    let wanted = plain(name);
    let exact = || (0..steps.len()).filter(|at| steps.get(*at).and_then(|step| text(step, "key")) == Some(name));
    let shown = || steps.iter().enumerate().filter(|(at, step)| plain(&printed(*at, step)) == wanted).map(|(at, _)| at);
    // A pass or an item has no step of its own.
    let inside = || paths(steps).filter(|(path, _)| path.around(name).is_some()).map(|(_, at)| at);
    let ways: [&dyn Fn() -> Vec<usize>; 5] = [
        &|| exact().collect(),
        &|| find_steps(name, paths(steps)),
        &|| labelled(steps, name).collect(),
        &|| shown().collect(),
        &|| inside().collect(),
    ];
    ways.into_iter().map(|way| way()).find(|found| !found.is_empty()).unwrap_or_default()
}

fn paths(steps: &[Value]) -> impl Iterator<Item = (RunPath<'_>, usize)> {
    steps.iter().enumerate().filter_map(|(at, step)| Some((RunPath::of_text(text(step, "key")?), at)))
}

/// The steps with a label: that of an agent may be another name than the one in the key.
fn labelled<'s>(steps: &'s [Value], name: &'s str) -> impl Iterator<Item = usize> + 's {
    steps.iter().enumerate().filter(move |(_, step)| text(step, "label") == Some(name)).map(|(at, _)| at)
}

/// The steps that may be calls, if a name is `CALL/STEP`: their keys, and the name of the step in the called flow.
pub fn calls(trace: &Value, name: &str) -> Vec<(Key, String)> {
    let of = |(path, at): (RunPath<'_>, usize)| {
        let key = text(list(trace, "steps").get(at)?, "key")?;
        Some((Key::from(key), path.names_inside(name).next()?.to_owned()))
    };
    paths(list(trace, "steps")).filter_map(of).collect()
}

fn one(step: &Value, name: &str, out: &mut TerminalText, look: TraceLook<'_>) {
    let key = line(text(step, "key").unwrap_or_default(), 300);
    let status = text(step, "status").unwrap_or("?");
    // What was kept took no time and cost nothing here.
    let is_kept = step.get("kept") == Some(&Value::Bool(true));
    let mut facts = vec![line(status, 20), if is_kept { "kept".to_owned() } else { took(step) }];
    facts.extend(spent(step).filter(|_| !is_kept));
    facts.extend(number(step, "tries").filter(|n| *n > 1).map(|n| format!("{n} tries")));
    facts.extend(place(step));
    out.push(shown!("{}  {}\n", look.bold(name), look.dim(facts.join(", "))));
    if key != name && !key.is_empty() {
        out.push(shown!("{}\n", look.dim(format!("key {key}"))));
    }
    let calls = list(step, "calls");
    // Errors that were already shown.
    let mut told: Vec<String> = Vec::new();
    let mut notes = list(step, "notes").iter().peekable();
    for (at, call) in calls.iter().enumerate() {
        let began = number(call, "started_ms").unwrap_or(0);
        while let Some(note) = notes.next_if(|note| at > 0 && number(note, "at_ms").is_some_and(|ms| ms <= began)) {
            one_note(note, &told, out, look);
        }
        let number = if calls.len() > 1 { format!(" {} of {}", at + 1, calls.len()) } else { String::new() };
        one_call(call, &number, out, look);
        told.extend(call.get("error").map(failure));
    }
    notes.for_each(|note| one_note(note, &told, out, look));
    passed(list(step, "verdicts"), out, look);
    if let Some(error) = step.get("error").filter(|_| !is_stopped(step)) {
        let error = failure(error);
        match (told.last() == Some(&error), handled(step)) {
            (true, None) => {}
            (true, Some(how)) => {
                out.push(shown!("\n{}\n", how));
            }
            (false, how) => {
                let how = how.map(|how| format!(" ({how})")).unwrap_or_default();
                out.push(shown!("\n{}{}\n", look.paint(AnsiColor::Red, &error), how));
            }
        }
    }
    if let Some(help) = step.get("error").filter(|_| !is_stopped(step)).and_then(advice) {
        out.push(shown!("help: {}\n", line(&help, 400)));
    }
    if let Some(reason) = text(step, "reason") {
        out.push(shown!("\nskipped: {}\n", TerminalText::from(reason)));
    }
    if let Some(output) = step.get("output").filter(|output| calls.iter().all(|c| c.get("answer") != Some(*output))) {
        section("result", "", out, look);
        block(&shown(output), out);
    }
}

/// The guardrails and validators that passed; the others are shown as notes.
fn passed(verdicts: &[Value], out: &mut TerminalText, look: TraceLook<'_>) {
    let mut all: Vec<String> = Vec::new();
    for verdict in verdicts.iter().filter(|verdict| text(verdict, "ruling") == Some("passed")) {
        let name = |key| line(text(verdict, key).unwrap_or("?"), 60);
        let score = verdict.get("score").and_then(Value::as_f64).map(|score| format!(", score {score}"));
        let one = format!("{} ({}{})", name("by"), name("of"), score.unwrap_or_default());
        if !all.contains(&one) {
            all.push(one);
        }
    }
    if !all.is_empty() {
        out.push(shown!("\n{}\n", look.dim(format!("passed: {}", all.join(", ")))));
    }
}

/// A note between the calls, unless a call has just shown the same.
fn one_note(note: &Value, told: &[String], out: &mut TerminalText, look: TraceLook<'_>) {
    let at = number(note, "at_ms").map_or_else(String::new, |ms| format!("{}  ", crate::words::time(ms)));
    let mut said = safe(text(note, "text").unwrap_or_default());
    if let Some(short) = told.last().and_then(|error| said.strip_suffix(&format!(", because {error}"))) {
        said = short.to_owned();
    }
    let said = said.strip_prefix("warning: ").unwrap_or(&said);
    out.push(shown!("\n{}\n", look.dim(format!("note: {at}{said}"))));
}

fn section(title: &str, more: &str, out: &mut TerminalText, look: TraceLook<'_>) {
    let more = if more.is_empty() { TerminalText::default() } else { shown!("  {}", look.dim(more)) };
    out.push(shown!("\n{}{}\n", look.styled(Style::new().bold().underline(), title), more));
}

fn block(text: &str, out: &mut TerminalText) {
    for line in text.trim_end_matches('\n').split('\n') {
        out.push(shown!("  {}\n", TerminalText::from(line)));
    }
}

fn one_call(call: &Value, which: &str, out: &mut TerminalText, look: TraceLook<'_>) {
    let effect = line(text(call, "effect").unwrap_or("call"), 20);
    let model = text(call, "model").map(|m| line(m, 100));
    let mut facts: Vec<String> = model.into_iter().collect();
    facts.extend(text(call, "answered_by").map(|by| format!("answered by {}", line(by, 80))));
    facts.extend(text(call, "instead").map(|by| format!("instead: {}", line(by, 100))));
    facts.push(took(call));
    if effect == "model" {
        facts.extend(used(call).map(|usage| tokens(&[usage])));
    }
    facts.extend(text(call, "finish").map(|f| format!("finish: {}", line(f, 30))));
    facts.extend(text(call, "request_id").map(|id| format!("request {}", line(id, 80))));
    let what = if effect == "human" { format!("question{which}") } else { format!("{effect} call{which}") };
    section(&what, &facts.join(", "), out, look);
    if let Some(parameters) = call.get("parameters").and_then(Value::as_object) {
        let all: Vec<String> =
            parameters.iter().map(|(k, v)| format!("{} {}", line(k, 40), line(&v.to_string(), 80))).collect();
        out.push(shown!("{}\n", look.dim(all.join(", "))));
    }
    for before in list(call, "before") {
        let (model, why) = (text(before, "model").unwrap_or("?"), text(before, "why").unwrap_or_default());
        let usage = used(before).map(|usage| format!(" ({})", tokens(&[usage]))).unwrap_or_default();
        let said = format!("before: {} did not answer: {}{usage}", line(model, 100), line(why, 300));
        out.push(shown!("{}\n", look.dim(&said)));
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
        let refused = call.get("error").and_then(|e| text(e, "code")) == Some("GUARDRAIL_VIOLATION");
        section(if refused { "answer, rejected" } else { "answer, incomplete" }, "", out, look);
        block(partial, out);
    }
    if let Some(error) = call.get("error") {
        out.push(shown!("\n{}\n", look.paint(AnsiColor::Red, failure(error))));
    }
}

/// A message, with a note in the margin of each line for parts with another origin.
fn prompt(message: &Value, out: &mut TerminalText, look: TraceLook<'_>) {
    words(message, out, look);
    for call in list(message, "calls") {
        let arguments = call.get("arguments").map(ToString::to_string).unwrap_or_default();
        out.push(shown!("  calls {} {}\n", text(call, "name").unwrap_or_default(), arguments));
    }
}

/// The content of a message.
fn words(message: &Value, out: &mut TerminalText, look: TraceLook<'_>) {
    let content: Vec<char> = text(message, "content").unwrap_or_default().chars().collect();
    if content.is_empty() && !list(message, "calls").is_empty() {
        return;
    }
    let spans = list(message, "spans");
    if spans.is_empty() {
        return block(&content.iter().collect::<String>(), out);
    }
    let mut lines: Vec<Line> = vec![Line::default()];
    for span in spans {
        let bound = |key| number(span, key).map_or(0, |n| (n as usize).min(content.len()));
        let (start, end) = (bound("start"), bound("end").max(bound("start")));
        let part: String = content.get(start..end).unwrap_or_default().iter().collect();
        let origin = OriginLook::of(span);
        for (at, piece) in part.split('\n').enumerate() {
            if at > 0 {
                lines.push(Line::default());
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
            shown!("{}  {}", pad, look.dim(format!("<- {}", new.join("; "))))
        };
        out.push(shown!("{}\n", shown!("  {}{}", line.text, notes).trim_end()));
        before = &line.notes;
    }
}

#[derive(Default)]
struct Line {
    text: TerminalText,
    width: usize,
    notes: Vec<String>,
}

impl Line {
    fn push(&mut self, piece: &TerminalText, origin: &OriginLook, look: TraceLook<'_>) {
        if piece.is_empty() {
            return;
        }
        self.width += piece.width();
        match origin.color {
            Some(color) => self.text.push(look.paint(color, piece)),
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
struct OriginLook {
    color: Option<AnsiColor>,
    note: Option<String>,
}

impl OriginLook {
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
                let member = counted(text(span, "member").unwrap_or_default());
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
            _ => (AnsiColor::Yellow, "changed before it was used, or unknown".to_owned()),
        };
        Self { color: Some(color), note: Some(format!("{note}{at}")) }
    }
}

/// Formats the path of an item: ` 2.name` for `1.name`. Items are shown from 1.
fn counted(member: &str) -> String {
    let (first, rest) = member.split_once('.').map_or((member, None), |(first, rest)| (first, Some(rest)));
    let Ok(index) = first.parse::<u64>() else {
        return if member.is_empty() { String::new() } else { format!(".{}", line(member, 60)) };
    };
    let rest = rest.map(|rest| format!(".{}", line(rest, 60))).unwrap_or_default();
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
