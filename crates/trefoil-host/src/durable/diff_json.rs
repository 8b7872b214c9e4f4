//! The comparison of two runs as JSON.

use serde_json::{Map, Value as Json, json};
use trefoil_view::change_reasons::{ChangeReason, SourceReason, TextReason, ValueReason};
use trefoil_view::diff::{DiffPart, ValueChange, WordDiff};

use super::diff::{RunDiff, RunSide, StepDiff};

/// The JSON Schema of a comparison.
pub const DIFF_SCHEMA: &str = include_str!("diff_schema.json");

/// Two runs as JSON: what `trefoil runs diff --output json` prints.
pub fn diff_json(diff: &RunDiff) -> Json {
    let side = |side: &RunSide| {
        let RunSide { run, flow, status, error, calls, usage, duration_ms } = side;
        json!({
            "run": run, "flow": flow, "status": status.name(), "error": error, "calls": calls, "usage": usage,
            "duration_ms": duration_ms,
        })
    };
    let steps: Vec<Json> = diff.steps.iter().map(step_json).collect();
    let mut files = Vec::new();
    for file in &diff.start.files {
        files.push(json!({ "path": file.path, "change": file.change.name(), "words": words_json(&file.words) }));
    }
    json!({
        "a": side(&diff.a),
        "b": side(&diff.b),
        "input": values_json(&diff.start.input),
        "models": values_json(&diff.start.models),
        "files": files,
        "steps": steps,
        "output": diff.output.as_ref().map(words_json),
    })
}

/// Values that differ. Two texts are compared word by word.
fn values_json(changes: &[ValueChange]) -> Vec<Json> {
    let mut all = Vec::new();
    for ValueChange { path, before, now } in changes {
        let words = match (before, now) {
            (Some(Json::String(before)), Some(Json::String(now))) => {
                Some(words_json(&WordDiff::between_texts(before, now)))
            }
            _ => None,
        };
        let mut change = Map::new();
        change.insert("path".to_owned(), path.as_str().into());
        for (name, value) in [("before", before), ("now", now)] {
            if let Some(value) = value {
                change.insert(name.to_owned(), value.clone());
            }
        }
        change.insert("words".to_owned(), words.unwrap_or_default());
        all.push(change.into());
    }
    all
}

fn step_json(step: &StepDiff) -> Json {
    let answer = match &step.answer {
        Some(answer) if !answer.is_same() => Some(words_json(answer)),
        _ => None,
    };
    json!({
        "same": step.is_same(),
        "a": step.a,
        "b": step.b,
        "request": step.request.iter().map(reason_json).collect::<Vec<_>>(),
        "answer": answer,
    })
}

/// A reason as JSON.
pub fn reason_json(reason: &ChangeReason) -> Json {
    let what = reason.to_string();
    match reason {
        ChangeReason::Text(TextReason { of, source, diff }) => {
            json!({ "what": what, "text": of.to_string(), "source": source.to_string(), "words": words_json(diff) })
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
fn words_json(diff: &WordDiff) -> Json {
    let part = |part: DiffPart| match part {
        DiffPart::Same(text) => json!({ "same": text }),
        DiffPart::Removed(text) => json!({ "removed": text }),
        DiffPart::Added(text) => json!({ "added": text }),
        DiffPart::Cut => Json::Null,
    };
    diff.merged_parts(None).into_iter().map(part).collect()
}
