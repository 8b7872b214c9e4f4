//! Traces as JSON, version 2. The names are part of the interface: they change only with a note in the changelog, and
//! `schema.json` describes them.

use serde_json::{Map, Value, json};
use trefoil_machine::event::DisplayedMessage;
use trefoil_machine::guard::Verdict;
use trefoil_machine::moment::rfc3339_ms;
use trefoil_runtime::{Event, EventKind, Key, RunError};
use trefoil_syntax::SourceFiles;

use super::location::{resolve_location, spans_json};
use super::{CalledFailure, RunStatus, Trace, TraceSubject, graph, outer};
use crate::run_view::{CallView, RunView, StepState, StepView};

/// The contents of a trace file.
pub(super) fn trace_json(trace: &Trace, about: &TraceSubject) -> Value {
    let files = &about.files;
    let view = &trace.view;
    let end = view.end.as_ref();
    let why = end.and_then(|end| end.error.as_ref());
    let figures = end.map(|end| (end.usage, end.calls, end.duration_ms)).or(trace.so_far);
    let (numbers, own): (Vec<usize>, Vec<&StepView>) = view.numbered_steps().filter(|(_, step)| !step.is_item).unzip();
    let position = |number: usize| numbers.binary_search(&number).ok();
    let parents: Vec<Option<usize>> = own.iter().map(|step| parent(step, view).and_then(position)).collect();
    let shown = graph::find_step_shapes(&about.graph, &own, &parents);
    let around = shown.nodes.iter().zip(&shown.frames).zip(&parents).zip(find_kept_steps(&own, &parents));
    let steps = own.iter().zip(around).map(|(one, (((node, frame), parent), kept))| {
        // In a run that only waits, so does each step around what it waits for.
        let is_waiting = one.state.is_running() && trace.status() == RunStatus::Waiting;
        let state = if is_waiting { StepState::Waiting } else { one.state };
        let mut all = step(one, state, files, view);
        let parent = parent.and_then(|parent| own.get(parent)).and_then(|parent| parent.key.as_ref());
        all.insert("parent".to_owned(), json!(parent));
        all.insert("node".to_owned(), json!(node.map(|n| format!("n{n}"))));
        all.insert("frame".to_owned(), json!(frame.map(|f| format!("f{f}"))));
        if kept {
            all.insert("kept".to_owned(), true.into());
        }
        Value::Object(all)
    });
    let steps: Vec<Value> = steps.collect();
    let mut all = json!({
        "version": 2,
        "run": view.run,
        "flow": view.flow,
        "dialect": about.dialect,
        "status": trace.status().name(),
        "started_at": view.started_at.map(rfc3339_ms),
        "duration_ms": figures.map(|(_, _, duration_ms)| duration_ms),
        "engine": {"name": "trefoil", "version": env!("CARGO_PKG_VERSION")},
        "program": about.program,
        "sources": about.sources_json(),
        "answers_from": about.answers_from,
        "placeholder": about.placeholder,
        "input": view.input,
        "effective_input": view.effective_input,
        "output": end.and_then(|e| e.output.as_ref()),
        "error": why.map(|why| error_of_run(why, trace.called.as_ref(), files)),
        "usage": figures.map(|(usage, ..)| usage),
        "calls": figures.map(|(_, calls, _)| calls),
        "steps": steps,
        "warnings": view.warnings,
        "graph": graph::graph_json(&about.graph, &own, &shown),
    });
    if let Some(members) = all.as_object_mut() {
        members.extend(trace.base.as_ref().map(|base| ("base".to_owned(), json!(base))));
        members.extend(view.failed_items().map(|items| ("items".to_owned(), json!(items))));
        if view.is_suspended {
            view.open.add_to(members);
        }
        members.extend((!trace.next.is_empty()).then(|| ("next".to_owned(), json!(trace.next))));
    }
    all
}

/// Which steps are kept: something was to be called in them, and all of it has results of earlier runs.
fn find_kept_steps(steps: &[&StepView], parents: &[Option<usize>]) -> Vec<bool> {
    let calls = |step: &&StepView| -> (u64, u64) {
        // Conditions and timers of the engine cost nothing, so they say nothing.
        let calls = step.calls.iter().filter(|call| !["decide", "timer"].contains(&call.effect));
        calls.fold((0, 0), |(all, kept), call| (all + 1, kept + u64::from(call.reused_from.is_some())))
    };
    let mut counts: Vec<(u64, u64)> = steps.iter().map(calls).collect();
    // A step starts after the one around it.
    for (step, parent) in parents.iter().enumerate().rev() {
        let (all, kept) = counts.get(step).copied().unwrap_or_default();
        if let Some(around) = parent.filter(|parent| *parent < step).and_then(|parent| counts.get_mut(parent)) {
            *around = (around.0 + all, around.1 + kept);
        }
    }
    counts.into_iter().map(|(all, kept)| all > 0 && all == kept).collect()
}

/// The number of the step around a step.
fn parent(step: &StepView, view: &RunView) -> Option<usize> {
    view.step_around(outer(&step.key.as_ref()?.0)?)
}

/// The key of the step of the trace to which a key belongs: the innermost enclosing one.
fn enclosing_step_key(key: &Key, view: &RunView) -> String {
    let found = view.step_around(&key.0).and_then(|number| view.step_by_number(number)?.key.as_ref());
    found.unwrap_or(key).to_string()
}

/// The failure of the run, with that of the called run from which it comes.
fn error_of_run(why: &RunError, called: Option<&CalledFailure>, files: &SourceFiles) -> Value {
    let mut all = error(why, files);
    if let (Some(members), Some(called)) = (all.as_object_mut(), called) {
        members.insert("called".to_owned(), cause_of(called));
    }
    all
}

/// The failure of a called run, as a member of the error that it caused.
fn cause_of(called: &CalledFailure) -> Value {
    let mut all = error(&called.error, &called.files);
    if let Some(members) = all.as_object_mut() {
        members.shift_insert(0, "run".to_owned(), called.run.as_str().into());
        members.shift_insert(1, "flow".to_owned(), (&*called.program.name).into());
    }
    all
}

/// `{code, message, key, location: {file, line, column}, cause, help, retry_after_ms, interpolation, others}`; unknown members
/// are omitted.
fn error(error: &RunError, files: &SourceFiles) -> Value {
    let mut all = json!(error);
    if let (Some(fields), Some(at)) = (all.as_object_mut(), error.location) {
        // A file id has no meaning outside.
        match resolve_location(at, files) {
            Some((file, line, column)) => {
                fields.insert("location".to_owned(), json!({"file": file, "line": line, "column": column}))
            }
            None => fields.shift_remove("location"),
        };
    }
    all
}

/// An event with the file, line and column of its step.
pub(super) fn event_to_json(event: &Event, files: &SourceFiles) -> Value {
    let mut all = json!(event);
    let Some(fields) = all.as_object_mut() else { return all };
    if let Some((file, line, column)) = event.location.and_then(|at| resolve_location(at, files)) {
        fields.insert("file".to_owned(), file.into());
        fields.insert("line".to_owned(), line.into());
        fields.insert("column".to_owned(), column.into());
    }
    match &event.kind {
        EventKind::ModelStarted { messages: sent, .. } => {
            fields.insert("messages".to_owned(), messages(sent, files, &|key| key.to_string()));
        }
        EventKind::StepFailed { error: why, .. }
        | EventKind::EffectFailed { error: why, .. }
        | EventKind::RetryScheduled { error: why, .. }
        | EventKind::ItemFinished { error: Some(why) }
        | EventKind::RunFinished { error: Some(why), .. } => {
            fields.insert("error".to_owned(), error(why, files));
        }
        EventKind::RunSuspended { why: Some(why), .. } => {
            fields.insert("why".to_owned(), error(why, files));
        }
        _ => {}
    }
    all
}

fn messages(sent: &[DisplayedMessage], files: &SourceFiles, known: &dyn Fn(&Key) -> String) -> Value {
    let one = |message: &DisplayedMessage| {
        let mut all = json!(message);
        if let Some(members) = all.as_object_mut().filter(|_| !message.spans.is_empty()) {
            // After the role and the content.
            members.shift_insert(2, "spans".to_owned(), spans_json(&message.spans, files, known));
        }
        all
    };
    sent.iter().map(one).collect()
}

fn step(step: &StepView, state: StepState, files: &SourceFiles, view: &RunView) -> Map<String, Value> {
    let place = step.location.and_then(|at| resolve_location(at, files));
    let mut all = Map::new();
    let mut put = |key: &str, value: Value| all.insert(key.to_owned(), value);
    put("key", json!(step.key));
    put("label", json!(step.label));
    put("kind", json!(step.kind));
    put("file", json!(place.map(|p| p.0)));
    put("line", json!(place.map(|p| p.1)));
    put("column", json!(place.map(|p| p.2)));
    put("status", json!(state.name()));
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
    if let Some(items) = &step.items {
        put("items", json!(items));
    }
    if let Some(item) = &step.item {
        put("item", json!({"number": item.number, "total": item.total, "value": item.value}));
    }
    if step.tries > 1 {
        put("tries", step.tries.into());
    }
    put("calls", step.calls.iter().map(|c| call(c, files, view)).collect());
    let notes = step.notes.iter().map(|(at, text)| json!({"at_ms": at, "text": text}));
    put("notes", notes.collect());
    if !step.verdicts.is_empty() {
        let verdict = |(at, verdict): &(u64, Verdict)| {
            let Value::Object(mut all) = json!(verdict) else { return Value::Null };
            all.insert("at_ms".to_owned(), json!(at));
            Value::Object(all)
        };
        put("verdicts", step.verdicts.iter().map(verdict).collect());
    }
    all
}

fn call(call: &CallView, files: &SourceFiles, view: &RunView) -> Value {
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
    put("answered_by", json!(call.told.answered_by));
    put("instead", json!(call.told.instead));
    put("before", if call.told.before.is_empty() { Value::Null } else { json!(call.told.before) });
    put("parameters", json!(call.parameters));
    if call.model.is_some() {
        put("messages", messages(&call.messages, files, &|key| enclosing_step_key(key, view)));
    }
    put("detail", json!(call.detail));
    put("answer", json!(call.answer));
    put("partial", json!(call.partial));
    put("finish", json!(call.told.finish));
    put("request_id", json!(call.told.request_id));
    put("error", json!(call.error.as_ref().map(|e| error(e, files))));
    put("usage", json!(call.usage));
    put("reused_from", json!(call.reused_from));
    put("started_ms", json!(call.started_ms));
    put("duration_ms", json!(call.duration_ms));
    Value::Object(all)
}
