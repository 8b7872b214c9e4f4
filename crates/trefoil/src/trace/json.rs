//! Traces as JSON. These names are an interface: they change only with a note in the changelog.

use serde_json::{Map, Value, json};
use trefoil_runtime::{Event, EventKind, RunError};
use trefoil_syntax::{Files, Location};

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
        "error": end.and_then(|e| e.error.as_ref()).map(|e| error(e, files)),
        "usage": end.map(|e| e.usage),
        "calls": end.map(|e| e.calls),
        "duration_ms": end.map(|e| e.duration_ms),
        "steps": trace.steps.iter().map(|s| step(s, files)).collect::<Vec<_>>(),
        "warnings": trace.warnings,
    })
}

/// `{code, message, key, location: {file, line, column}, cause, help, retry_after_ms}`; what is not known is left out.
fn error(error: &RunError, files: &Files) -> Value {
    let mut all = json!(error);
    if let (Some(fields), Some(at)) = (all.as_object_mut(), error.location) {
        // A number that stands for a file means nothing outside.
        match place(at, files) {
            Some((file, line, column)) => {
                fields.insert("location".to_owned(), json!({"file": file, "line": line, "column": column}))
            }
            None => fields.shift_remove("location"),
        };
    }
    all
}

/// An event with the file, line and column of its step.
pub(super) fn event(event: &Event, files: &Files) -> Value {
    let mut all = json!(event);
    let Some(fields) = all.as_object_mut() else { return all };
    if let Some((file, line, column)) = event.location.and_then(|at| place(at, files)) {
        fields.insert("file".to_owned(), file.into());
        fields.insert("line".to_owned(), line.into());
        fields.insert("column".to_owned(), column.into());
    }
    if let EventKind::StepFailed { error: why, .. }
    | EventKind::EffectFailed { error: why, .. }
    | EventKind::RetryScheduled { error: why, .. }
    | EventKind::RunFinished { error: Some(why), .. } = &event.kind
    {
        fields.insert("error".to_owned(), error(why, files));
    }
    all
}

fn place(at: Location, files: &Files) -> Option<(&str, u32, u32)> {
    let file = files.get(at.file)?;
    let position = file.position(at.span.start);
    Some((file.name(), position.line, position.column))
}

fn step(step: &StepTrace, files: &Files) -> Value {
    let place = step.location.and_then(|at| place(at, files));
    let mut all = Map::new();
    let mut put = |key: &str, value: Value| all.insert(key.to_owned(), value);
    put("key", json!(step.key));
    put("label", json!(step.label));
    put("kind", json!(step.kind));
    put("file", json!(place.map(|p| p.0)));
    put("line", json!(place.map(|p| p.1)));
    put("column", json!(place.map(|p| p.2)));
    put("status", json!(step.status));
    put("started_ms", json!(step.started_ms));
    put("duration_ms", json!(step.ended_ms.map(|end| end.saturating_sub(step.started_ms))));
    if let Some(output) = &step.output {
        put("output", json!(output));
    }
    if let Some((why, handled_as)) = &step.error {
        put("error", error(why, files));
        put("handled_as", json!(handled_as));
    }
    if let Some(reason) = &step.reason {
        put("reason", json!(reason));
    }
    put("calls", step.calls.iter().map(|c| call(c, files)).collect());
    let notes = step.notes.iter().map(|(at, text)| json!({"at_ms": at, "text": text}));
    put("notes", notes.collect());
    Value::Object(all)
}

fn call(call: &Call, files: &Files) -> Value {
    let mut all = Map::new();
    let mut put = |key: &str, value: Value| {
        if !value.is_null() {
            all.insert(key.to_owned(), value);
        }
    };
    put("key", json!(call.key));
    put("effect", json!(call.effect));
    put("agent", json!(call.agent));
    put("model", json!(call.model));
    if call.model.is_some() {
        put("messages", json!(call.messages));
    }
    put("detail", json!(call.detail));
    put("answer", json!(call.answer));
    put("error", json!(call.error.as_ref().map(|e| error(e, files))));
    put("usage", json!(call.usage));
    put("started_ms", json!(call.started_ms));
    put("duration_ms", json!(call.duration_ms));
    Value::Object(all)
}
