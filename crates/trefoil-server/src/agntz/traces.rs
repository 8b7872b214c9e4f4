//! Traces: the spans of a run. The id of a trace is that of its run.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use axum::Extension;
use axum::Json as JsonResponse;
use axum::extract::{Path, Query, State};
use axum::response::Response;
use http::StatusCode;
use serde_json::{Value as Json, json};
use trefoil_host::service::FeedReader;
use trefoil_runtime::locks::lock;
use trefoil_runtime::{Event, EventKind, EventSink};
use trefoil_store::Record;
use trefoil_view::run_view::{RunView, ViewDetail};

use super::attached_run::is_last_event;
use super::errors::{AgntzFailure, AgntzResult};
use super::run_list::{ListParameters, ListRequest, list_body, list_roots};
use super::runs::{FoundRun, find_any_run};
use super::trace_spans::{RunSpans, TraceSpan, statuses_of_trace_word};
use crate::access::{Caller, KeyScope};
use crate::api::delete_with_called;
use crate::open_stream::OpenStream;
use crate::problem::{ApiResult, Problem};
use crate::serving_phase::ServingPhase;
use crate::sse::{FrameSender, open_stream};
use crate::state::AppState;

/// Collects the picture of a run.
struct SpanViewSink(Mutex<RunView>);

impl EventSink for SpanViewSink {
    fn receive_event(&self, event: &Event) {
        lock(&self.0).apply_event(event);
    }
}

/// The picture of a run; an empty one if its events are not kept.
async fn read_view(state: &AppState, record: &Record) -> ApiResult<RunView> {
    let empty = RunView::new(ViewDetail::Full);
    if !record.content.keeps_prompts() {
        return Ok(empty);
    }
    let (runs, run) = (state.runs.clone(), record.run.clone());
    let read = move || async move {
        let sink = Arc::new(SpanViewSink(Mutex::new(empty)));
        runs.send_events(&run, sink.clone()).await?;
        let view = std::mem::take(&mut *lock(&sink.0));
        Ok(view)
    };
    state.replay_run(record, read).await
}

async fn find_trace(state: &AppState, caller: &Caller, id: &str) -> AgntzResult<Record> {
    match find_any_run(state, caller, id).await {
        Ok(FoundRun { record, .. }) => Ok(record),
        Err(failure) if failure.status_code() == StatusCode::NOT_FOUND => {
            Err(AgntzFailure::new(StatusCode::NOT_FOUND, "NOT_FOUND", "Trace not found"))
        }
        Err(failure) => Err(failure),
    }
}

fn span_list(spans: Vec<TraceSpan>) -> Vec<Json> {
    spans.into_iter().map(|span| span.json).collect()
}

/// Lists traces, newest first.
pub async fn list_traces(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
    Query(query): Query<ListParameters>,
) -> AgntzResult<JsonResponse<Json>> {
    caller.require_scope(KeyScope::Read)?;
    let request = ListRequest::from_query(&query, &caller, statuses_of_trace_word)?;
    let (records, next) = list_roots(&state, &caller, &request).await?;
    let mut rows = Vec::new();
    for record in &records {
        let view = read_view(&state, record).await?;
        rows.push(RunSpans::new(record, &view).trace_summary());
    }
    Ok(list_body(rows, next.map(|next| next.to_string())))
}

/// Shows a trace.
pub async fn show_trace(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
) -> AgntzResult<JsonResponse<Json>> {
    caller.require_scope(KeyScope::Read)?;
    let record = find_trace(&state, &caller, &id).await?;
    let view = read_view(&state, &record).await?;
    Ok(JsonResponse(detail(&record, &view)))
}

fn detail(record: &Record, view: &RunView) -> Json {
    let spans = RunSpans::new(record, view);
    json!({ "summary": spans.trace_summary(), "spans": span_list(spans.all_spans()) })
}

/// Deletes a trace, which is a run with everything that is kept of it.
pub async fn delete_trace(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
) -> AgntzResult<StatusCode> {
    caller.require_scope(KeyScope::Run)?;
    let record = find_trace(&state, &caller, &id).await?;
    if !record.status.is_end() {
        let problem = Problem::new_conflict("RUN_ACTIVE", format!("the run {} has not ended", record.run));
        return Err(problem.with_help("cancel it first").into());
    }
    delete_with_called(&state, &record.run).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Streams the spans of a run as they start and end. A run that has ended is one snapshot.
pub async fn stream_trace(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
) -> AgntzResult<Response> {
    caller.require_scope(KeyScope::Read)?;
    let record = find_trace(&state, &caller, &id).await?;
    let (frames, response);
    if record.status.is_end() || !record.content.keeps_prompts() {
        let view = read_view(&state, &record).await?;
        let snapshot = detail(&record, &view);
        (frames, response) = open_stream(OpenStream::new(&state, &caller));
        tokio::spawn(async move {
            frames.send_frame(None, "snapshot", &snapshot.to_string()).await;
        });
        return Ok(response);
    }
    let reader = state.local.run_feeds().watch_run(&record.run, None).await?;
    (frames, response) = open_stream(OpenStream::new(&state, &caller));
    let phase = state.phase.clone();
    let trace = LiveTrace { state, record, view: RunView::new(ViewDetail::Full), sent: HashMap::new() };
    tokio::spawn(async move {
        tokio::select! {
            () = trace.send_trace(reader, &frames) => {}
            () = frames.wait_closed() => {}
            () = phase.wait_phase(ServingPhase::Closing) => {}
        }
    });
    Ok(response)
}

/// The trace of a run in progress.
struct LiveTrace {
    state: AppState,
    record: Record,
    view: RunView,
    /// The spans that the client has, and whether it knows that they have ended.
    sent: HashMap<String, bool>,
}

impl LiveTrace {
    async fn send_trace(mut self, mut reader: FeedReader, frames: &FrameSender) {
        loop {
            let event = match reader.next_event().await {
                Ok(Some(event)) => event,
                Ok(None) => return self.send_end(frames).await,
                Err(_) => return send_fault(frames).await,
            };
            let event = event.event();
            if matches!(event.kind, EventKind::TextDelta { .. }) {
                continue;
            }
            let step = self.view.apply_event(event);
            if self.view.end.is_some() && is_last_event(event) {
                return self.send_end(frames).await;
            }
            let own = RunSpans::new(&self.record, &self.view);
            let mut spans = vec![own.root_span()];
            if let Some(number) = step {
                spans.extend(own.step_spans(number));
            }
            if !send_changes(&mut self.sent, spans, frames).await {
                return;
            }
        }
    }

    /// Everything that has ended with the run, and the summary.
    async fn send_end(mut self, frames: &FrameSender) {
        let Ok(record) = self.state.runs.record(&self.record.run).await else { return send_fault(frames).await };
        let own = RunSpans::new(&record, &self.view);
        let mut spans = own.all_spans();
        // The run ends after what is inside it.
        spans.rotate_left(1);
        if send_changes(&mut self.sent, spans, frames).await {
            let data = json!({ "summary": own.trace_summary() });
            frames.send_frame(None, "trace-done", &data.to_string()).await;
        }
    }
}

/// Sends the spans that have started or ended since they were sent.
async fn send_changes(sent: &mut HashMap<String, bool>, spans: Vec<TraceSpan>, frames: &FrameSender) -> bool {
    for span in spans {
        let known = sent.get(&span.id).copied();
        if known.is_none() {
            sent.insert(span.id.clone(), false);
            let data = json!({ "span": span.json });
            if !frames.send_frame(None, "span-start", &data.to_string()).await {
                return false;
            }
        }
        if let (None | Some(false), Some(patch)) = (known, span.patch) {
            let data = json!({ "spanId": span.id, "patch": patch });
            sent.insert(span.id, true);
            if !frames.send_frame(None, "span-end", &data.to_string()).await {
                return false;
            }
        }
    }
    true
}

async fn send_fault(frames: &FrameSender) {
    let data = json!({ "error": "the events of the run cannot be read at the moment" });
    frames.send_frame(None, "stream-error", &data.to_string()).await;
}
