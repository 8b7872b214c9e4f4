//! `POST /run/stream`: a run while it is made. A client that leaves cancels it.

use axum::Extension;
use axum::extract::State;
use axum::response::Response;
use http::HeaderMap;
use serde_json::{Value as Json, json};
use tokio::sync::mpsc;
use trefoil_host::service::{FeedReader, StartedRun};
use trefoil_runtime::{Event, EventKind};

use super::attached_run::{
    CancelOnLeave, check_outcome, is_last_event, stopping_failure, unreadable_failure, wait_for_stop,
};
use super::client_tools::{ClientToolRequest, with_client_tools};
use super::errors::{AgntzFailure, AgntzResult};
use super::flow_shape::flow_kind;
use super::run_fold::RunFold;
use super::run_request::{RunBody, RunUse};
use super::run_shapes::run_result;
use super::runs::start_accepted;
use crate::access::Caller;
use crate::api::has_idempotency_key;
use crate::open_stream::OpenStream;
use crate::request_body::JsonBody;
use crate::sse::{FrameSender, open_stream};
use crate::state::AppState;

/// A run that is streamed to the client that waits for it.
struct StreamedRun {
    state: AppState,
    reader: FeedReader,
    fold: RunFold,
    guard: CancelOnLeave,
    requests: mpsc::Receiver<ClientToolRequest>,
    version: Option<String>,
    /// The number of the last request to the client.
    seq: u64,
}

/// Runs an agent, and streams what happens.
pub async fn stream_agent(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
    headers: HeaderMap,
    JsonBody(body): JsonBody<RunBody>,
) -> AgntzResult<Response> {
    let mut accepted = body.accept_request(&state, &caller, RunUse::Streamed)?;
    let (version, agent) = (accepted.version.clone(), accepted.flow.name.clone());
    let kind = flow_kind(&accepted.flow.flow);
    let requests = with_client_tools(&state, &mut accepted);
    // Nobody else can call the tools of its client.
    let may_return = has_idempotency_key(&headers) && !accepted.needs_client;
    let StartedRun { run, .. } = start_accepted(&state, &caller, accepted, &headers).await?;
    let guard = CancelOnLeave::new(&state, &run, may_return);
    let reader = state.local.run_feeds().watch_run(&run, None).await?;
    let fold = RunFold::new(&run, reader.flow());
    let (frames, response) = open_stream(OpenStream::new(&state, &caller));
    let start = json!({ "agentId": agent, "kind": kind, "runId": run, "retention": { "mode": "result" } });
    let streamed = StreamedRun { state, reader, fold, guard, requests, version, seq: 0 };
    tokio::spawn(async move {
        if frames.send_frame(None, "run-start", &start.to_string()).await {
            streamed.send_run(&frames).await;
        }
    });
    Ok(response)
}

/// What a client gets next.
enum NextItem {
    Event,
    Last,
    Request(ClientToolRequest),
    Failed(AgntzFailure),
    Left,
}

impl StreamedRun {
    async fn send_run(mut self, frames: &FrameSender) {
        let state = self.state.clone();
        let mut stop = std::pin::pin!(wait_for_stop(&state));
        loop {
            let next = tokio::select! {
                next = self.reader.next_event() => match next {
                    Ok(Some(event)) => self.take_event(event.event(), frames).await,
                    Ok(None) => NextItem::Last,
                    Err(_) => NextItem::Failed(unreadable_failure(&self.fold)),
                },
                Some(request) = self.requests.recv() => NextItem::Request(request),
                () = &mut stop => NextItem::Failed(stopping_failure(&self.fold)),
                () = frames.wait_closed() => NextItem::Left,
            };
            match next {
                NextItem::Event => {}
                NextItem::Request(request) => {
                    if !self.send_request(&request, frames).await {
                        return;
                    }
                }
                // Dropped with its guard: the run is cancelled.
                NextItem::Left => return,
                NextItem::Last => return self.send_end(frames).await,
                NextItem::Failed(failure) => return self.send_failure(&failure, frames).await,
            }
        }
    }

    /// Adds an event of the run. Text is sent while it arrives.
    async fn take_event(&mut self, event: &Event, frames: &FrameSender) -> NextItem {
        if let EventKind::TextDelta { text, .. } = &event.kind {
            let part = self.fold.parts.get(self.fold.part_around(event.key.as_ref()));
            let id = part.map(|part| part.id.as_str());
            let data = json!({ "type": "text-delta", "runId": id, "text": text });
            let is_sent = frames.send_frame(None, "text-delta", &data.to_string()).await;
            return if is_sent { NextItem::Event } else { NextItem::Left };
        }
        self.fold.apply_event(event);
        if is_last_event(event) { NextItem::Last } else { NextItem::Event }
    }

    async fn send_request(&mut self, request: &ClientToolRequest, frames: &FrameSender) -> bool {
        self.seq += 1;
        let data = request.to_json(self.seq);
        frames.send_frame(Some(self.seq), "client-tool-request", &data.to_string()).await
    }

    async fn send_end(mut self, frames: &FrameSender) {
        // Its client may close the stream as soon as it has the last frame.
        self.guard.keep_running();
        match check_outcome(&self.reader, &self.fold) {
            Ok(()) => {
                let result: Json = run_result(&self.fold, self.version.as_deref());
                frames.send_frame(None, "run-complete", &result.to_string()).await;
            }
            Err(failure) => self.send_failure(&failure, frames).await,
        }
    }

    async fn send_failure(mut self, failure: &AgntzFailure, frames: &FrameSender) {
        self.guard.keep_running();
        let data = failure.to_frame(&self.state.engines.folder);
        frames.send_frame(None, "run-error", &data.to_string()).await;
    }
}
