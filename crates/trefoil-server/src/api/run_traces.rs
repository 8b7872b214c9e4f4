//! The trace of a run, and its state after an event.

use std::sync::Arc;

use axum::Extension;
use axum::extract::{Path, Query, State};
use axum::response::{IntoResponse as _, Response};
use http::{HeaderMap, header};
use serde::Deserialize;
use trefoil_host::durable::StoredRun;
use trefoil_runtime::locks::lock;
use trefoil_runtime::{Event, EventSink};
use trefoil_store::Record;
use trefoil_view::trace::Trace;
use utoipa::IntoParams;

use super::published_schemas::RunTrace;
use super::trace_parts::{subject_of, tell_standing, write_json};
use super::trace_stream::stream_trace;
use crate::access::{Caller, KeyScope};
use crate::problem::{ApiResult, Problem};
use crate::sse::{last_event_id, wants_stream};
use crate::state::AppState;

/// Which state of a run.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct RunStateQuery {
    /// The number of the last event that counts; absent: all of them.
    pub event: Option<u64>,
}

/// Collects the trace of a run up to an event.
struct TraceUntil {
    trace: std::sync::Mutex<Trace>,
    last: Option<u64>,
}

impl EventSink for TraceUntil {
    fn wants_provenance(&self) -> bool {
        true
    }
    fn receive_event(&self, event: &Event) {
        if matches!(self.last, Some(last) if event.seq > last) {
            return;
        }
        lock(&self.trace).view.apply_event(event);
    }
}

async fn read_trace(state: &AppState, record: Record, last: Option<u64>) -> ApiResult<Response> {
    let (shared, replayed) = (state.clone(), record.clone());
    state.replay_run(&record, move || async move { replay_trace(&shared, &replayed, last).await }).await
}

async fn replay_trace(state: &AppState, record: &Record, last: Option<u64>) -> ApiResult<Response> {
    let stored = StoredRun::read_run(&**state.store(), &record.run).await?;
    let sink = Arc::new(TraceUntil { trace: std::sync::Mutex::default(), last });
    state.runs.send_events(&record.run, sink.clone()).await?;
    let mut trace = std::mem::take(&mut *lock(&sink.trace));
    if last.is_none() {
        tell_standing(state, &mut trace, record).await;
    }
    let text = write_json(move || trace.to_json(&subject_of(&stored))).await?;
    Ok(([(header::CONTENT_TYPE, "application/json")], text).into_response())
}

/// The state of a run after an event: its steps with their states, inputs and results.
#[utoipa::path(get, path = "/api/v1/runs/{run}/state", tag = "runs", params(("run" = String, Path), RunStateQuery), responses((status = 200, body = RunTrace), (status = 410, body = Problem, description = "The store has removed the content of the run")))]
pub async fn run_state(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
    Path(run): Path<String>,
    Query(query): Query<RunStateQuery>,
) -> ApiResult<Response> {
    caller.require_scope(KeyScope::Read)?;
    let record = state.find_run(&caller, &run).await?;
    read_trace(&state, record, query.event).await
}

/// The trace of a run: every step with its prompts, answers, usage and times. With `Accept: text/event-stream`, a stream that goes on
/// until the run has ended: the trace in a frame `trace`, then what changes in frames `changes`, each a trace without its input and
/// graph and with only the steps that are not as they were, at most four a second; and answers as they arrive in frames `text`.
#[utoipa::path(get, path = "/api/v1/runs/{run}/trace", tag = "runs", params(("run" = String, Path),
    ("Last-Event-ID" = Option<u64>, Header, description = "Of a stream: only what has changed since the frame with this id")),
    responses((status = 200, content((RunTrace = "application/json"), (String = "text/event-stream"))), (status = 410, body = Problem, description = "The store has removed the content of the run")))]
pub async fn run_trace(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
    Path(run): Path<String>,
    headers: HeaderMap,
) -> ApiResult<Response> {
    caller.require_scope(KeyScope::Read)?;
    let record = state.find_run(&caller, &run).await?;
    if wants_stream(&headers) {
        return stream_trace(&state, &caller, &record.run, last_event_id(&headers)).await;
    }
    read_trace(&state, record, None).await
}
