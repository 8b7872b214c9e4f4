//! Traces as JSON. These names are an interface: they change only with a note in the changelog.

use serde_json::{Map, Value, json};
use trefoil_syntax::Files;

use super::{Call, StepTrace, Trace};

/// `{version, run, flow, input, status, output, error, usage, calls, duration_ms, steps, warnings}`.
pub(super) fn json(trace: &Trace, files: &Files) -> Value {
    let end = trace.end.as_ref();
    let status = match end {
        None => "running",
        Some(end) if end.error.as_ref().is_some_and(|e| e.code == "CANCELLED") => "cancelled",
        Some(end) if end.error.is_some() => "failed",
        Some(_) => "done",
    };
    json!({
        "version": 1,
        "run": trace.run,
        "flow": trace.flow,
        "input": trace.input,
        "status": status,
        "output": end.and_then(|e| e.output.as_ref()),
        "error": end.and_then(|e| e.error.as_ref()),
        "usage": end.map(|e| e.usage),
        "calls": end.map(|e| e.calls),
        "duration_ms": end.map(|e| e.duration_ms),
        "steps": trace.steps.iter().map(|s| step(s, files)).collect::<Vec<_>>(),
        "warnings": trace.warnings,
    })
}

fn step(step: &StepTrace, files: &Files) -> Value {
    let file = step.location.and_then(|at| files.get(at.file));
    let position = file.zip(step.location).map(|(f, at)| f.position(at.span.start));
    let mut all = Map::new();
    let mut put = |key: &str, value: Value| all.insert(key.to_owned(), value);
    put("key", json!(step.key));
    put("label", json!(step.label));
    put("sort", json!(step.sort));
    put("file", json!(file.map(|f| f.name())));
    put("line", json!(position.map(|p| p.line)));
    put("column", json!(position.map(|p| p.column)));
    put("status", json!(step.status));
    put("started_ms", json!(step.started_ms));
    put("duration_ms", json!(step.ended_ms.map(|end| end.saturating_sub(step.started_ms))));
    if let Some(output) = &step.output {
        put("output", json!(output));
    }
    if let Some((error, action)) = &step.error {
        put("error", json!(error));
        put("action", json!(action));
    }
    if let Some(reason) = &step.reason {
        put("reason", json!(reason));
    }
    put("calls", step.calls.iter().map(call).collect());
    let notes = step.notes.iter().map(|(at, text)| json!({"at_ms": at, "text": text}));
    put("notes", notes.collect());
    Value::Object(all)
}

fn call(call: &Call) -> Value {
    let mut all = Map::new();
    let mut put = |key: &str, value: Value| {
        if !value.is_null() {
            all.insert(key.to_owned(), value);
        }
    };
    put("key", json!(call.key));
    put("effect", json!(call.effect));
    put("speaker", json!(call.speaker));
    put("model", json!(call.model));
    if call.model.is_some() {
        put("messages", json!(call.messages));
    }
    put("detail", json!(call.detail));
    put("answer", json!(call.answer));
    put("error", json!(call.error));
    put("usage", json!(call.usage));
    put("started_ms", json!(call.started_ms));
    put("duration_ms", json!(call.duration_ms));
    Value::Object(all)
}
