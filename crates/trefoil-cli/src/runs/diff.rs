//! `trefoil runs diff A B`

use std::sync::Arc;

use clap::Args;
use trefoil::runs::{RunDiff, RunSide, StepDiff, StepSide, WordDiff, compare_runs};
use trefoil_host::durable::diff_json;

use super::print_json;
#[cfg(feature = "server")]
use crate::args::ServerArg;
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
    pub a: String,
    /// The second run
    pub b: String,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub output: OutputFormat,
    #[command(flatten)]
    pub store: StoreArgs,
    #[cfg(feature = "server")]
    #[command(flatten)]
    pub server: ServerArg,
}

pub fn run(args: &RunsDiffArgs) -> Result<u8, u8> {
    let store = Arc::new(args.store.open_to_read()?);
    let (a, b) = await_store(async { Ok((full_id(&store, &args.a).await?, full_id(&store, &args.b).await?)) })?;
    let diff = await_run(compare_runs(store, &a, &b))?;
    if args.output.is_json() {
        return Ok(print_json(&[diff_json(&diff)]));
    }
    let lines = lines(&diff, output::has_result_colors());
    Ok(output::write_result(shown!("{}\n", TerminalText::join(lines, "\n"))))
}

/// The width of the column with the kind of difference.
const WORD: usize = 7;

fn lines(diff: &RunDiff, color: bool) -> Vec<TerminalText> {
    let mut lines = vec![side_line("a", &diff.a), side_line("b", &diff.b)];
    for step in &diff.steps {
        let reasons = step.request.iter().map(|reason| reuse_reasons::format_reason(reason, color)).collect();
        lines.extend(step_lines(step, step.is_same(), reasons, color));
    }
    if let Some(output) = &diff.output {
        lines.extend(output_line(output, color));
    }
    lines
}

/// A run as a whole.
pub fn side_line(name: &str, side: &RunSide) -> TerminalText {
    let RunSide { run, flow, status, calls, usage, duration_ms, error } = side;
    let error = match error {
        Some(code) => format!(" ({code})"),
        None => String::new(),
    };
    let total = format_total(*calls, usage, *duration_ms);
    TerminalText::from_line(&format!("{name}  {run}  {flow}  {status}{error}  {total}"))
}

/// The difference between the outputs, if there is one.
pub fn output_line(output: &WordDiff, color: bool) -> Option<TerminalText> {
    if output.is_same() {
        return None;
    }
    Some(shown!("{}  {}", format!("{:>WORD$}", "output"), reuse_reasons::diff_line(output, color)))
}

/// A step. `reasons`: the differences between its requests.
pub fn step_lines(step: &StepDiff, is_same: bool, reasons: Vec<TerminalText>, color: bool) -> Vec<TerminalText> {
    let (a, b) = match (&step.a, &step.b) {
        (Some(a), Some(b)) => (a, b),
        (Some(side), None) => return of_side("only a", side),
        (None, Some(side)) => return of_side("only b", side),
        (None, None) => return Vec::new(),
    };
    let name = if a.key == b.key { b.key.to_string() } else { format!("{} (a: {})", b.key, a.key) };
    let mut lines = vec![head(if is_same { "same" } else { "changed" }, &name, &figures(a, b))];
    for reason in reasons {
        lines.push(inner(reason));
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
