//! The events of a run: as a stream that can be taken up again with `Last-Event-ID`, or as a list.

use axum::Extension;
use axum::Json as JsonResponse;
use axum::extract::{Path, Query, State};
use axum::response::{IntoResponse as _, Response};
use http::{HeaderMap, StatusCode};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use trefoil_host::service::{FeedEvent, FeedReader};
use trefoil_machine::event::EventKind;
use trefoil_store::Record;
use utoipa::{IntoParams, ToSchema};

use crate::access::{Caller, KeyScope};
use crate::open_stream::OpenStream;
use crate::problem::{ApiResult, Problem};
use crate::serving_phase::ServingPhase;
use crate::sse::{FrameSender, last_event_id, open_stream, wants_stream};
use crate::state::AppState;

/// Which events.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct RunEventsQuery {
    /// Only events with a higher number.
    pub after: Option<u64>,
    /// The most events of a list (default 1,000).
    pub limit: Option<usize>,
}

/// Events of a run.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct RunEventList {
    /// The events, as in `trefoil runs events`.
    #[schema(value_type = Vec<Object>)]
    pub events: Vec<Json>,
    /// What `after` of the next page is; absent if these are all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<u64>,
}

/// The events of a run, whichever process drives it. With `Accept: text/event-stream`, a stream that goes on until the run has
/// ended; each frame has the event's number as its id, and the event's kind as its name.
#[utoipa::path(get, path = "/api/v1/runs/{run}/events", tag = "runs", params(("run" = String, Path), RunEventsQuery,
    ("Last-Event-ID" = Option<u64>, Header, description = "Only events with a higher number")),
    responses((status = 200, content((RunEventList = "application/json"), (String = "text/event-stream"))), (status = 204, description = "The run has ended, and there are no more events"), (status = 410, body = Problem, description = "The store has removed the content of the run")))]
pub async fn run_events(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
    Path(run): Path<String>,
    Query(query): Query<RunEventsQuery>,
    headers: HeaderMap,
) -> ApiResult<Response> {
    caller.require_scope(KeyScope::Read)?;
    let record = state.find_run(&caller, &run).await?;
    let after = last_event_id(&headers).or(query.after);
    if wants_stream(&headers) {
        return stream_run(&state, &caller, &record.run, after).await;
    }
    let list = list_events(&state, record, after, query.limit.unwrap_or(1_000).clamp(1, 100_000)).await?;
    Ok(JsonResponse(list).into_response())
}

/// The events that a run has had so far.
async fn list_events(state: &AppState, record: Record, after: Option<u64>, limit: usize) -> ApiResult<RunEventList> {
    let (shared, run) = (state.clone(), record.run.clone());
    state.replay_run(&record, move || read_events(shared, run, after, limit)).await
}

async fn read_events(state: AppState, run: String, after: Option<u64>, limit: usize) -> ApiResult<RunEventList> {
    use std::sync::{Arc, Mutex};
    use trefoil_runtime::locks::lock;

    struct EventList(Mutex<Vec<trefoil_runtime::Event>>);
    impl trefoil_runtime::EventSink for EventList {
        fn receive_event(&self, event: &trefoil_runtime::Event) {
            lock(&self.0).push(event.clone());
        }
    }
    let stored = trefoil_host::durable::StoredRun::read_run(&**state.store(), &run).await?;
    let sink = Arc::new(EventList(Mutex::default()));
    state.runs.send_events(&run, sink.clone()).await?;
    let all = std::mem::take(&mut *lock(&sink.0));
    let mut list = RunEventList { events: Vec::new(), next: None };
    let mut last = None;
    for event in all {
        if matches!(after, Some(after) if event.seq <= after) {
            continue;
        }
        if list.events.len() >= limit {
            list.next = last;
            break;
        }
        last = Some(event.seq);
        list.events.push(stored.flow.event_json(&event));
    }
    Ok(list)
}

/// A stream of the events of a run.
///
/// # Errors
///
/// The run cannot be read.
pub async fn stream_run(state: &AppState, caller: &Caller, run: &str, after: Option<u64>) -> ApiResult<Response> {
    let mut reader = state.local.run_feeds().watch_run(run, after).await?;
    if after.is_some() && has_seen_all(state, run, after).await? {
        // A browser would ask again and again.
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    let (frames, response) = open_stream(OpenStream::new(state, caller));
    let phase = state.phase.clone();
    tokio::spawn(async move {
        tokio::select! {
            () = send_events(&mut reader, &frames) => {}
            () = frames.wait_closed() => {}
            () = phase.wait_phase(ServingPhase::Closing) => {}
        }
    });
    Ok(response)
}

/// Whether a run has ended with this event.
async fn has_seen_all(state: &AppState, run: &str, after: Option<u64>) -> ApiResult<bool> {
    let record = state.store().record(run).await?;
    if !record.status.is_end() {
        return Ok(false);
    }
    Ok(list_events(state, record, after, 1).await?.events.is_empty())
}

async fn send_events(reader: &mut FeedReader, frames: &FrameSender) {
    let flow = reader.flow().clone();
    loop {
        match reader.next_event().await {
            Ok(Some(event)) => {
                if !frames.send_frame(event_id(&event), event_name(&event), event.json_text(&flow)).await {
                    return;
                }
            }
            Ok(None) => return,
            Err(error) => {
                let problem = serde_json::to_string(&Problem::of_stream(&error)).unwrap_or_default();
                frames.send_frame(None, "stream_error", &problem).await;
                return;
            }
        }
    }
}

/// The number by which a stream is taken up again after this event. Streamed text has none: it is not in the journal.
pub fn event_id(event: &FeedEvent) -> Option<u64> {
    match event.event().kind {
        EventKind::TextDelta { .. } => None,
        _ => Some(event.event().seq),
    }
}

/// The name of the event's kind.
pub fn event_name(event: &FeedEvent) -> &'static str {
    event.event().kind.name()
}
