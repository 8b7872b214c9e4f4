//! Traces as JSON, version 2. The names are part of the interface: they change only with a note in the changelog, and
//! `schema.json` describes them.

use serde_json::{Map, Value, json};
use trefoil_machine::event::DisplayedMessage;
use trefoil_machine::guard::Verdict;
use trefoil_machine::moment::rfc3339_ms;
use trefoil_machine::receipt::DisplayedReceipt;
use trefoil_runtime::{Event, EventKind, Key, RunError};
use trefoil_syntax::SourceFiles;

use super::graph::{StepShapes, index_at};
use super::location::{resolve_location, spans_json};
use super::{CalledFailure, RunStatus, Trace, TraceSubject, graph, outer};
use crate::run_view::{CallView, RunView, StepState, StepView};

/// The contents of a trace file.
pub(super) fn trace_json(trace: &Trace, about: &TraceSubject) -> Value {
    let view = &trace.view;
    let tree = StepTree::of_view(view, about);
    let mut all = run_members(trace, about);
    let chosen: Vec<bool> = vec![true; tree.own.len()];
    put_before(&mut all, "output", "input", json!(view.input));
    put_before(&mut all, "output", "effective_input", json!(view.effective_input));
    put_before(&mut all, "warnings", "steps", steps(trace, &about.files, &tree, &chosen).into());
    let graph = graph::graph_json(&about.graph, &tree.own, &tree.shown);
    let after_warnings = all.keys().position(|name| name == "warnings").map_or(all.len(), |at| at + 1);
    all.shift_insert(after_warnings, "graph".to_owned(), graph);
    Value::Object(all)
}

/// What has changed since an earlier trace of the same run.
pub(super) fn changes_json(trace: &Trace, about: &TraceSubject, before: &Trace) -> Value {
    let tree = StepTree::of_view(&trace.view, about);
    let changed = trace.view.changed_steps(&before.view);
    // What is said of an open step depends on how the run stands.
    let is_same = trace.status() == before.status();
    let mut chosen = Vec::with_capacity(tree.own.len());
    for (number, step) in tree.numbers.iter().zip(&tree.own) {
        chosen.push(changed.contains(number) || (!is_same && step.state.is_running()));
    }
    let mut all = run_members(trace, about);
    put_before(&mut all, "warnings", "steps", steps(trace, &about.files, &tree, &chosen).into());
    Value::Object(all)
}

/// Puts a member before another one.
fn put_before(all: &mut Map<String, Value>, before: &str, name: &str, value: Value) {
    let position = all.keys().position(|known| known == before).unwrap_or(all.len());
    all.shift_insert(position, name.to_owned(), value);
}

/// The steps of a trace, each with the index of the step around it, and with what shows it in the graph.
struct StepTree<'v> {
    numbers: Vec<usize>,
    own: Vec<&'v StepView>,
    parents: Vec<Option<usize>>,
    shown: StepShapes,
}

impl<'v> StepTree<'v> {
    fn of_view(view: &'v RunView, about: &TraceSubject) -> Self {
        let own_steps = view.numbered_steps().filter(|(_, step)| !step.is_item);
        let (numbers, own): (Vec<usize>, Vec<&StepView>) = own_steps.unzip();
        let mut parents: Vec<Option<usize>> = Vec::with_capacity(own.len());
        for step in &own {
            parents.push(match parent(step, view) {
                Some(number) => numbers.binary_search(&number).ok(),
                None => None,
            });
        }
        let shown = graph::find_step_shapes(&about.graph, &own, &parents);
        Self { numbers, own, parents, shown }
    }
}

/// What a trace says of the run as a whole, but for its input.
fn run_members(trace: &Trace, about: &TraceSubject) -> Map<String, Value> {
    let (view, files) = (&trace.view, &about.files);
    let (output, why) = match &view.end {
        Some(end) => (end.output.as_ref(), end.error.as_ref()),
        None => (None, None),
    };
    let (usage, calls, duration_ms) = match (&view.end, trace.so_far) {
        (Some(end), _) => (Some(end.usage), Some(end.calls), Some(end.duration_ms)),
        (None, Some((usage, calls, duration_ms))) => (Some(usage), Some(calls), Some(duration_ms)),
        (None, None) => (None, None, None),
    };
    let all = json!({
        "version": 2,
        "run": view.run,
        "flow": view.flow,
        "dialect": about.dialect,
        "status": trace.status().name(),
        "started_at": view.started_at.map(rfc3339_ms),
        "duration_ms": duration_ms,
        "engine": {"name": "trefoil", "version": env!("CARGO_PKG_VERSION")},
        "program": about.program,
        "sources": about.sources_json(),
        "answers_from": about.answers_from,
        "placeholder": about.placeholder,
        "output": output,
        "error": why.map(|why| error_of_run(why, trace.called.as_ref(), files)),
        "usage": usage,
        "calls": calls,
        "warnings": view.warnings,
    });
    let Value::Object(mut members) = all else { return Map::new() };
    if let Some(base) = &trace.base {
        members.insert("base".to_owned(), json!(base));
    }
    if let Some(items) = view.failed_items() {
        members.insert("items".to_owned(), json!(items));
    }
    if view.is_suspended {
        view.open.add_to(&mut members);
    }
    if !trace.next.is_empty() {
        members.insert("next".to_owned(), json!(trace.next));
    }
    members
}

/// The chosen steps, each with the step around it, and with the box or frame that shows it.
fn steps(trace: &Trace, files: &SourceFiles, tree: &StepTree<'_>, chosen: &[bool]) -> Vec<Value> {
    let StepTree { own, parents, shown, .. } = tree;
    let kept = find_kept_steps(own, parents);
    let mut steps = Vec::new();
    for ((index, one), is_chosen) in own.iter().enumerate().zip(chosen) {
        if !is_chosen {
            continue;
        }
        // In a run that only waits, so does each step around what it waits for.
        let is_waiting = one.state.is_running() && trace.status() == RunStatus::Waiting;
        let state = if is_waiting { StepState::Waiting } else { one.state };
        let mut all = step(one, state, files, &trace.view);
        let parent = index_at(parents, index).and_then(|parent| own.get(parent)?.key.as_ref());
        all.insert("parent".to_owned(), json!(parent));
        all.insert("node".to_owned(), json!(index_at(&shown.nodes, index).map(|n| format!("n{n}"))));
        all.insert("frame".to_owned(), json!(index_at(&shown.frames, index).map(|f| format!("f{f}"))));
        if kept.get(index) == Some(&true) {
            all.insert("kept".to_owned(), true.into());
        }
        steps.push(Value::Object(all));
    }
    steps
}

/// Which steps are kept: something was to be called in them, and all of it has results of earlier runs.
fn find_kept_steps(steps: &[&StepView], parents: &[Option<usize>]) -> Vec<bool> {
    let mut counts: Vec<(u64, u64)> = steps.iter().map(|step| count_calls(step)).collect();
    // A step starts after the one around it.
    for (step, parent) in parents.iter().enumerate().rev() {
        let (all, kept) = counts.get(step).copied().unwrap_or_default();
        if let Some(parent) = parent
            && *parent < step
            && let Some(around) = counts.get_mut(*parent)
        {
            *around = (around.0 + all, around.1 + kept);
        }
    }
    counts.into_iter().map(|(all, kept)| all > 0 && all == kept).collect()
}

/// The number of calls of a step, and how many of them have results of earlier runs.
fn count_calls(step: &StepView) -> (u64, u64) {
    let (mut all, mut kept) = (0, 0);
    for call in &step.calls {
        // Conditions and timers of the engine cost nothing, so they say nothing.
        if !matches!(call.effect, "decide" | "timer") {
            all += 1;
            kept += u64::from(call.reused_from.is_some());
        }
    }
    (all, kept)
}

/// The number of the step around a step.
fn parent(step: &StepView, view: &RunView) -> Option<usize> {
    view.step_around(outer(&step.key.as_ref()?.0)?)
}

/// The key of the step of the trace to which a key belongs: the innermost enclosing one.
fn enclosing_step_key(key: &Key, view: &RunView) -> String {
    if let Some(number) = view.step_around(&key.0)
        && let Some(step) = view.step_by_number(number)
        && let Some(found) = &step.key
    {
        return found.to_string();
    }
    key.to_string()
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
    if let Some(at) = event.location
        && let Some((file, line, column)) = resolve_location(at, files)
    {
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
    let mut out = Vec::with_capacity(sent.len());
    for message in sent {
        let mut all = json!(message);
        if !message.spans.is_empty()
            && let Some(members) = all.as_object_mut()
        {
            // After the role and the content.
            members.shift_insert(2, "spans".to_owned(), spans_json(&message.spans, files, known));
        }
        out.push(all);
    }
    Value::Array(out)
}

fn step(step: &StepView, state: StepState, files: &SourceFiles, view: &RunView) -> Map<String, Value> {
    let (mut file, mut line, mut column) = (None, None, None);
    if let Some(at) = step.location
        && let Some(place) = resolve_location(at, files)
    {
        (file, line, column) = (Some(place.0), Some(place.1), Some(place.2));
    }
    let mut all = Map::new();
    let mut put = |key: &str, value: Value| all.insert(key.to_owned(), value);
    put("key", json!(step.key));
    put("label", json!(step.label));
    put("kind", json!(step.kind));
    put("file", json!(file));
    put("line", json!(line));
    put("column", json!(column));
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
    if let Some(receipt) = &step.given_by {
        put("given_by", json!(DisplayedReceipt(receipt)));
    }
    put("calls", step.calls.iter().map(|c| call(c, files, view)).collect());
    put("notes", step.notes.iter().map(|(at, text)| json!({"at_ms": at, "text": text})).collect());
    if !step.verdicts.is_empty() {
        put("verdicts", step.verdicts.iter().map(|(at, verdict)| verdict_json(*at, verdict)).collect());
    }
    all
}

fn verdict_json(at_ms: u64, verdict: &Verdict) -> Value {
    let Value::Object(mut all) = json!(verdict) else { return Value::Null };
    all.insert("at_ms".to_owned(), json!(at_ms));
    Value::Object(all)
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
    put("answered_by", json!(call.answer_metadata.answered_by));
    put("instead", json!(call.answer_metadata.instead));
    put(
        "before",
        if call.answer_metadata.before.is_empty() { Value::Null } else { json!(call.answer_metadata.before) },
    );
    put("parameters", json!(call.parameters));
    if call.model.is_some() {
        put("messages", messages(&call.messages, files, &|key| enclosing_step_key(key, view)));
    }
    put("detail", json!(call.detail));
    put("answer", json!(call.answer));
    put("partial", json!(call.partial));
    put("finish", json!(call.answer_metadata.finish));
    put("request_id", json!(call.answer_metadata.request_id));
    put("error", json!(call.error.as_ref().map(|e| error(e, files))));
    put("usage", json!(call.usage));
    put("reused_from", json!(call.reused_from));
    put("given_by", json!(call.given_by.as_deref().map(DisplayedReceipt)));
    put("started_ms", json!(call.started_ms));
    put("duration_ms", json!(call.duration_ms));
    Value::Object(all)
}
