//! `GET /runs/{id}/stream`: the feed of a run with the agents inside it. A client that leaves ends nothing.

use axum::Extension;
use axum::extract::{Path, Query, State};
use axum::response::Response;
use http::HeaderMap;
use serde_json::json;
use trefoil_host::service::FeedReader;

use super::errors::AgntzResult;
use super::run_fold::{FeedFrame, RunFold};
use super::run_list::ListParameters;
use super::runs::{FoundRun, find_any_run, found_json};
use crate::access::{Caller, KeyScope};
use crate::open_stream::OpenStream;
use crate::problem::Problem;
use crate::serving_phase::ServingPhase;
use crate::sse::{FrameSender, last_event_id, open_stream};
use crate::state::AppState;

/// The feed of a run, from a number on.
struct SentFeed {
    state: AppState,
    caller: Caller,
    /// The id that was asked for.
    id: String,
    fold: RunFold,
    since: u64,
    has_sent: bool,
}

/// Streams the feed of a run. The id of an agent inside it gives the same feed, up to the end of that agent.
pub async fn stream_feed(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
    Query(query): Query<ListParameters>,
    headers: HeaderMap,
) -> AgntzResult<Response> {
    caller.require_scope(KeyScope::Read)?;
    let since = match query.get("since").map(|since| since.parse::<u64>()) {
        Some(Ok(since)) => since,
        None => 0,
        Some(Err(_)) => return Err(Problem::bad_request("`since` is the number of an event").into()),
    };
    let since = last_event_id(&headers).unwrap_or(since);
    let found = find_any_run(&state, &caller, &id).await?;
    let (frames, response);
    if found.record.content.keeps_prompts() {
        let reader = state.local.run_feeds().watch_run(&found.record.run, None).await?;
        let fold = RunFold::new(&found.record.run, reader.flow());
        (frames, response) = open_stream(OpenStream::new(&state, &caller));
        let phase = state.phase.clone();
        let feed = SentFeed { state, caller, id, fold, since, has_sent: false };
        tokio::spawn(async move {
            tokio::select! {
                () = feed.send_feed(reader, &frames) => {}
                () = frames.wait_closed() => {}
                () = phase.wait_phase(ServingPhase::Closing) => {}
            }
        });
    } else {
        let snapshot = found_json(&state, &found).await?;
        (frames, response) = open_stream(OpenStream::new(&state, &caller));
        tokio::spawn(async move {
            frames.send_frame(None, "snapshot", &snapshot.to_string()).await;
        });
    }
    Ok(response)
}

impl SentFeed {
    async fn send_feed(mut self, mut reader: FeedReader, frames: &FrameSender) {
        loop {
            match reader.next_event().await {
                Ok(Some(event)) => {
                    for frame in self.fold.apply_event(event.event()) {
                        if !self.send_frame(&frame, frames).await {
                            return;
                        }
                        if self.is_last(&frame) {
                            return self.send_snapshot(frames).await;
                        }
                    }
                }
                Ok(None) => return self.send_snapshot(frames).await,
                Err(_) => {
                    let data = json!({ "error": "the events of the run cannot be read at the moment" });
                    frames.send_frame(None, "stream-error", &data.to_string()).await;
                    return;
                }
            }
        }
    }

    /// Sends a frame that the client does not have yet.
    async fn send_frame(&mut self, frame: &FeedFrame, frames: &FrameSender) -> bool {
        if frame.seq <= self.since {
            return true;
        }
        self.has_sent = true;
        let data = self.fold.frame_json(frame);
        frames.send_frame(Some(frame.seq), frame.kind, &data.to_string()).await
    }

    /// Whether the client stops after it.
    fn is_last(&self, frame: &FeedFrame) -> bool {
        let is_end = matches!(frame.kind, "run-complete" | "run-error" | "run-cancelled");
        is_end && self.fold.parts.get(frame.part).is_some_and(|part| part.id == self.id)
    }

    /// A client that has all events gets the run instead.
    async fn send_snapshot(self, frames: &FrameSender) {
        if self.has_sent {
            return;
        }
        let snapshot = match find_any_run(&self.state, &self.caller, &self.id).await {
            Ok(found) => self.snapshot_of(&found).await,
            Err(_) => None,
        };
        match snapshot {
            Some(snapshot) => frames.send_frame(None, "snapshot", &snapshot).await,
            None => {
                let data = json!({ "error": "the run cannot be read at the moment" });
                frames.send_frame(None, "stream-error", &data.to_string()).await
            }
        };
    }

    async fn snapshot_of(&self, found: &FoundRun) -> Option<String> {
        Some(found_json(&self.state, found).await.ok()?.to_string())
    }
}
