//! `trefoil runs diff A B`

use std::sync::Arc;

use clap::Args;
use serde_json::{Value as Json, json};
use trefoil::runs::{
    ChangeReason, DiffPart, RunDiff, RunSide, SourceReason, StepDiff, StepSide, TextReason, ValueReason, WordDiff,
    compare_runs,
};

use super::print_json;
use crate::args::{OutputFormat, StoreArgs};
use crate::run::reuse_reasons;
use crate::store::{await_run, await_store, full_id};
use crate::terminal_text::TerminalText;
use crate::words::{format_cost, format_time, format_total, one_line};
use crate::{output, shown};

/// Compare two runs: steps by key, prompts and answers word by word, tokens, cost and time
#[derive(Args)]
pub struct RunsDiffArgs {
    /// The first run: its id, its first characters, or `last`
    a: String,
    /// The second run
    b: String,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    output: OutputFormat,
    #[command(flatten)]
    store: StoreArgs,
}

pub fn run(args: &RunsDiffArgs) -> Result<u8, u8> {
    let store = Arc::new(args.store.open_to_read()?);
    let (a, b) = await_store(async { Ok((full_id(&store, &args.a).await?, full_id(&store, &args.b).await?)) })?;
    let diff = await_run(compare_runs(store, &a, &b))?;
    if args.output.is_json() {
        return Ok(print_json(&[as_json(&diff)]));
    }
    let lines = lines(&diff, output::has_result_colors());
    Ok(output::write_result(shown!("{}\n", TerminalText::join(lines, "\n"))))
}

/// The width of the column with the kind of difference.
const WORD: usize = 7;

fn lines(diff: &RunDiff, color: bool) -> Vec<TerminalText> {
    let whole = |name: &str, side: &RunSide| {
        let RunSide { run, flow, status, calls, usage, duration_ms, error } = side;
        let error = match error {
            Some(code) => format!(" ({code})"),
            None => String::new(),
        };
        TerminalText::from_line(&format!(
            "{name}  {run}  {flow}  {status}{error}  {}",
            format_total(*calls, usage, *duration_ms)
        ))
    };
    let mut lines = vec![whole("a", &diff.a), whole("b", &diff.b)];
    for step in &diff.steps {
        lines.extend(of_step(step, color));
    }
    if let Some(output) = &diff.output
        && !output.is_same()
    {
        lines.push(shown!("{}  {}", format!("{:>WORD$}", "output"), reuse_reasons::diff_line(output, color)));
    }
    lines
}

fn of_step(step: &StepDiff, color: bool) -> Vec<TerminalText> {
    let (a, b) = match (&step.a, &step.b) {
        (Some(a), Some(b)) => (a, b),
        (Some(side), None) => return of_side("only a", side),
        (None, Some(side)) => return of_side("only b", side),
        (None, None) => return Vec::new(),
    };
    let name = if a.key == b.key { b.key.to_string() } else { format!("{} (a: {})", b.key, a.key) };
    let mut lines = vec![head(if step.is_same() { "same" } else { "changed" }, &name, &figures(a, b))];
    for reason in &step.request {
        lines.push(inner(reuse_reasons::format_reason(reason, color)));
    }
    if let Some(answer) = &step.answer
        && !answer.is_same()
    {
        lines.push(inner(shown!("answer: {}", reuse_reasons::diff_line(answer, color))));
    }
    if a.error != b.error || a.answer.is_some() != b.answer.is_some() {
        lines.push(inner(shown!("{}, was {}", end(b), end(a))));
    }
    lines
}

/// A step that only one of the runs has.
fn of_side(word: &str, side: &StepSide) -> Vec<TerminalText> {
    let mut lines = vec![head(word, &side.key.to_string(), &format_usage(side))];
    if let Some(answer) = &side.answer {
        lines.push(inner(shown!("answer: {}", one_line(answer))));
    }
    if side.error.is_some() {
        lines.push(inner(end(side).into()));
    }
    lines
}

fn head(word: &str, name: &str, figures: &str) -> TerminalText {
    TerminalText::from_line(format!("{word:>WORD$}  {name}  {figures}").trim_end())
}

fn inner(text: TerminalText) -> TerminalText {
    shown!("{}{}", " ".repeat(WORD + 4), text)
}

fn end(side: &StepSide) -> String {
    match (&side.error, &side.answer) {
        (Some(code), _) => format!("failed with {code}"),
        (None, Some(_)) => "succeeded".to_owned(),
        (None, None) => "not ended".to_owned(),
    }
}

/// `13 tokens, $0.0012, 12 ms`, or `kept`.
fn format_usage(side: &StepSide) -> String {
    if side.kept.is_some() {
        return "kept".to_owned();
    }
    let mut parts = Vec::new();
    if let Some(usage) = side.usage {
        parts.push(format!("{} tokens, {}", tokens(&usage), format_cost(&usage)));
    }
    if let Some(ms) = side.duration_ms {
        parts.push(format_time(ms));
    }
    parts.join(", ")
}

fn tokens(usage: &trefoil::ports::Usage) -> String {
    if usage.is_known() { usage.total_tokens().to_string() } else { format!("{}+?", usage.total_tokens()) }
}

fn figures(a: &StepSide, b: &StepSide) -> String {
    let (a, b) = (format_usage(a), format_usage(b));
    let before = if a != b && !a.is_empty() { Some(format!("a: {a}")) } else { None };
    // A step that has not ended has none.
    match before {
        Some(before) if b.is_empty() => before,
        Some(before) => format!("{b}; {before}"),
        None => b,
    }
}

fn as_json(diff: &RunDiff) -> Json {
    let side = |side: &RunSide| {
        let RunSide { run, flow, status, error, calls, usage, duration_ms } = side;
        json!({
            "run": run, "flow": flow, "status": status.name(), "error": error, "calls": calls, "usage": usage,
            "duration_ms": duration_ms,
        })
    };
    let steps: Vec<Json> = diff.steps.iter().map(step).collect();
    json!({ "a": side(&diff.a), "b": side(&diff.b), "steps": steps, "output": diff.output.as_ref().map(words) })
}

fn step(step: &StepDiff) -> Json {
    let answer = match &step.answer {
        Some(answer) if !answer.is_same() => Some(words(answer)),
        _ => None,
    };
    json!({
        "same": step.is_same(),
        "a": step.a,
        "b": step.b,
        "request": step.request.iter().map(reason).collect::<Vec<_>>(),
        "answer": answer,
    })
}

/// A reason as JSON.
fn reason(reason: &ChangeReason) -> Json {
    let what = reason.to_string();
    match reason {
        ChangeReason::Text(TextReason { of, source, diff }) => {
            json!({ "what": what, "text": of.to_string(), "source": source.to_string(), "words": words(diff) })
        }
        ChangeReason::Value(ValueReason { of, path, before, now, from }) => {
            json!({ "what": what, (of.name()): path.as_str(), "before": before, "now": now, "from": from })
        }
        ChangeReason::Source(SourceReason { of, path, place: _, before, now }) => json!({
            "what": what, "text": of.to_string(), "placeholder": path.as_str(), "before": before, "now": now,
        }),
        _ => json!({ "what": what }),
    }
}

/// Merges both texts: the parts that are the same, removed and added.
fn words(diff: &WordDiff) -> Json {
    let part = |part: DiffPart| match part {
        DiffPart::Same(text) => json!({ "same": text }),
        DiffPart::Removed(text) => json!({ "removed": text }),
        DiffPart::Added(text) => json!({ "added": text }),
        DiffPart::Cut => Json::Null,
    };
    diff.merged_parts(None).into_iter().map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_side_without_figures_is_not_named() {
        let side = |duration_ms| StepSide {
            key: "Q@1".into(),
            sort: "human",
            answer: None,
            error: None,
            kept: None,
            usage: None,
            duration_ms,
        };
        let text = |a, b| figures(&side(a), &side(b));
        assert_eq!(text(Some(5), Some(7)), "7 ms; a: 5 ms");
        assert_eq!((text(None, Some(7)), text(Some(5), None)), ("7 ms".to_owned(), "a: 5 ms".to_owned()));
        assert_eq!((text(Some(5), Some(5)), text(None, None)), ("5 ms".to_owned(), String::new()));
    }
}
