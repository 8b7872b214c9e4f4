//! `trefoil runs diff A B --server URL`

use serde::Deserialize;
use serde_json::Value as Json;
use trefoil::runs::{RunSide, StepDiff, StepSide, WordDiff};
use trefoil::store::Status;
use trefoil_runtime::{Key, Usage};

use super::client::ServerClient;
use super::run_lookup::find_run;
use crate::run::reuse_reasons::diff_line;
use crate::runs::diff::{RunsDiffArgs, output_line, side_line, step_lines};
use crate::runs::print_json;
use crate::store::block_on;
use crate::terminal_text::TerminalText;
use crate::{output, shown};

/// Two runs, as a server compares them.
#[derive(Deserialize)]
struct RemoteDiff {
    a: RemoteSide,
    b: RemoteSide,
    #[serde(default)]
    steps: Vec<RemoteStepDiff>,
    #[serde(default)]
    output: Option<Vec<Json>>,
}

/// A run as a whole.
#[derive(Deserialize)]
struct RemoteSide {
    run: String,
    flow: String,
    status: String,
    #[serde(default)]
    error: Option<String>,
    #[serde(default)]
    calls: u64,
    #[serde(default)]
    usage: Usage,
    #[serde(default)]
    duration_ms: u64,
}

/// A step of both runs, or of one of them.
#[derive(Deserialize)]
struct RemoteStepDiff {
    #[serde(default)]
    same: bool,
    #[serde(default)]
    a: Option<RemoteStepSide>,
    #[serde(default)]
    b: Option<RemoteStepSide>,
    #[serde(default)]
    request: Vec<Json>,
    #[serde(default)]
    answer: Option<Vec<Json>>,
}

/// A step in one run.
#[derive(Deserialize)]
struct RemoteStepSide {
    key: Key,
    #[serde(default)]
    answer: Option<String>,
    #[serde(default)]
    error: Option<String>,
    #[serde(default)]
    kept: Option<trefoil_machine::journal::Cited>,
    #[serde(default)]
    usage: Option<Usage>,
    #[serde(default)]
    duration_ms: Option<u64>,
}

/// Compares two runs.
pub fn diff_runs(address: &str, args: &RunsDiffArgs) -> Result<u8, u8> {
    let client = ServerClient::for_address(address)?;
    block_on(async {
        let (a, b) = (find_run(&client, &args.a).await?, find_run(&client, &args.b).await?);
        let read = client.get_json(&["runs", &a, "diff"], &[("with", b)]).await;
        let json: Json = read.map_err(|failure| client.report_failure(&failure))?;
        if args.output.is_json() {
            return Ok(print_json(&[json]));
        }
        let diff: RemoteDiff = serde_json::from_value(json).map_err(|error| {
            output::report_not_started(&format!("the server sent a comparison that cannot be read: {error}"), None)
        })?;
        let lines = diff_lines(diff, output::has_result_colors());
        Ok(output::write_result(shown!("{}\n", TerminalText::join(lines, "\n"))))
    })?
}

fn diff_lines(diff: RemoteDiff, color: bool) -> Vec<TerminalText> {
    let mut lines = vec![side_line("a", &run_side(diff.a)), side_line("b", &run_side(diff.b))];
    for step in diff.steps {
        let reasons = step.request.iter().map(|reason| reason_line(reason, color)).collect();
        let is_same = step.same;
        let answer = step.answer.as_deref().map(word_diff);
        let step = StepDiff { a: step.a.map(step_side), b: step.b.map(step_side), request: Vec::new(), answer };
        lines.extend(step_lines(&step, is_same, reasons, color));
    }
    if let Some(words) = &diff.output {
        lines.extend(output_line(&word_diff(words), color));
    }
    lines
}

fn run_side(side: RemoteSide) -> RunSide {
    let RemoteSide { run, flow, status, error, calls, usage, duration_ms } = side;
    RunSide { run, flow, status: status.parse().unwrap_or(Status::Running), error, calls, usage, duration_ms }
}

fn step_side(side: RemoteStepSide) -> StepSide {
    let RemoteStepSide { key, answer, error, kept, usage, duration_ms } = side;
    StepSide { key, sort: "", answer, error, kept, usage, duration_ms }
}

/// A reason with its changed words.
pub fn reason_line(reason: &Json, color: bool) -> TerminalText {
    let what = reason.get("what").and_then(Json::as_str).unwrap_or_default();
    match reason.get("words").and_then(Json::as_array) {
        Some(words) => shown!("{}: {}", what, diff_line(&word_diff(words), color)),
        None => TerminalText::from_line(what),
    }
}

/// The difference between two texts, of their parts.
fn word_diff(parts: &[Json]) -> WordDiff {
    let (mut before, mut now) = (String::new(), String::new());
    for part in parts {
        let text = |name: &str| part.get(name).and_then(Json::as_str).unwrap_or_default();
        before.push_str(text("same"));
        now.push_str(text("same"));
        before.push_str(text("removed"));
        now.push_str(text("added"));
    }
    WordDiff::between_texts(&before, &now)
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use serde_json::json;

    #[test]
    fn a_comparison_is_shown_as_that_of_two_runs_of_a_store() {
        let side = |run: &str| {
            json!({"run": run, "flow": "f", "status": "completed", "error": null, "calls": 1,
            "usage": {"input_tokens": 5, "output_tokens": 2}, "duration_ms": 7})
        };
        let step = |answer: &str| {
            json!({"key": "ask", "sort": "model", "answer": answer, "error": null, "kept": null,
            "usage": {"input_tokens": 5, "output_tokens": 2}, "duration_ms": 7})
        };
        let words = json!([{"same": "one "}, {"removed": "two"}, {"added": "three"}]);
        let diff = json!({"a": side("r1"), "b": side("r2"), "output": null, "steps": [{
            "same": false, "a": step("one two"), "b": step("one three"), "answer": words,
            "request": [{"what": "the prompt changed", "words": words}, {"what": "\u{1b}[2J"}],
        }]});
        let lines = diff_lines(serde_json::from_value(diff).unwrap(), false);
        let text = TerminalText::join(lines, "\n");
        expect![[r#"
            a  r1  f  completed  1 call, 5 tokens in, 2 out, $0, 7 ms
            b  r2  f  completed  1 call, 5 tokens in, 2 out, $0, 7 ms
            changed  ask  7 tokens, $0, 7 ms
                       the prompt changed: one [-two-]{+three+}
                       \u{1b}[2J
                       answer: one [-two-]{+three+}"#]]
        .assert_eq(text.as_str());
    }
}
