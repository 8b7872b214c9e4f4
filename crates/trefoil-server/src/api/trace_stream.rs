//! The trace of a run as a stream, for pages that show it while it goes on: the picture is kept here, and a client gets only the steps
//! that are not as they were. Nothing grows with the number of events.

use std::sync::Arc;
use std::time::Duration;

use axum::response::Response;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until};
use trefoil_host::durable::StoredRun;
use trefoil_host::stored_runs::RunFollower;
use trefoil_runtime::Event;
use trefoil_store::{Record, StoreError};
use trefoil_view::trace::{Trace, TraceSubject};

use super::arriving_text::ArrivingText;
use super::trace_parts::{subject_of, tell_standing, write_json};
use crate::access::Caller;
use crate::open_stream::OpenStream;
use crate::problem::{ApiResult, Problem};
use crate::serving_phase::ServingPhase;
use crate::sse::{FrameSender, open_stream};
use crate::state::AppState;

/// Time between two frames.
const PAUSE: Duration = Duration::from_millis(250);
/// Time until the first frame: enough for a screen full of steps of a run that is there already.
const FIRST: Duration = Duration::from_millis(30);
/// Events that are in the journal already come together: so long without one, and they are all there.
const SETTLED: Duration = Duration::from_millis(20);
/// How often it is looked whether the run stands as before: its process may have ended, which is no event.
const LOOK: Duration = Duration::from_secs(1);

/// A stream of the trace of a run. `after`: the client has what there was with this event.
///
/// # Errors
///
/// The run cannot be read.
pub async fn stream_trace(state: &AppState, caller: &Caller, run: &str, after: Option<u64>) -> ApiResult<Response> {
    let stored = StoredRun::read_run(&**state.store(), run).await?;
    let (frames, response) = open_stream(OpenStream::new(state, caller));
    let watch = TraceWatch {
        state: state.clone(),
        run: run.to_owned(),
        about: Arc::new(subject_of(&stored)),
        follower: state.runs.follow_with_provenance(stored),
        after,
        now: Trace::default(),
        last: None,
        sent: None,
        has_news: true,
    };
    let phase = state.phase.clone();
    tokio::spawn(async move {
        tokio::select! {
            () = watch.send_frames(&frames) => {}
            () = frames.wait_closed() => {}
            () = phase.wait_phase(ServingPhase::Closing) => {}
        }
    });
    Ok(response)
}

/// The picture of a run, and what its client has of it.
struct TraceWatch {
    state: AppState,
    run: String,
    about: Arc<TraceSubject>,
    follower: RunFollower,
    /// The client has what there was with this event, until it is reached here.
    after: Option<u64>,
    now: Trace,
    /// The number of the last event.
    last: Option<u64>,
    /// What the client has, and how the run stood.
    sent: Option<Trace>,
    /// Whether there is something that the client does not have.
    has_news: bool,
}

/// Whether a stream goes on.
type StreamResult = Result<(), Option<Problem>>;

impl TraceWatch {
    async fn send_frames(mut self, frames: &FrameSender) {
        let Err(Some(problem)) = self.follow_run(frames).await else { return };
        let text = serde_json::to_string(&problem).unwrap_or_default();
        frames.send_frame(None, "stream_error", &text).await;
    }

    async fn follow_run(&mut self, frames: &FrameSender) -> StreamResult {
        let mut text = ArrivingText::new(&self.state, &self.run);
        let mut look = interval(LOOK);
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut earliest = Instant::now();
        let mut due: Option<Instant> = None;
        // Events without a pause between them must not put the next frame off for ever.
        let mut latest: Option<Instant> = None;
        loop {
            let wake = due.unwrap_or(earliest);
            tokio::select! {
                event = self.follower.next_event() => match event {
                    Ok(Some(event)) => {
                        self.take_event(&event);
                        let now = Instant::now();
                        let most = if self.sent.is_none() { FIRST } else { PAUSE };
                        let latest = *latest.get_or_insert(now + most);
                        due = Some(earliest.max(latest.min(now + SETTLED)));
                    }
                    Ok(None) => return self.send_trace(frames, true).await,
                    Err(error) => return Err(Some(Problem::of_stream(&error))),
                },
                () = sleep_until(wake), if due.is_some() => {
                    if self.has_news {
                        self.send_trace(frames, false).await?;
                    }
                    send_text(frames, &mut text).await?;
                    (earliest, due, latest) = (Instant::now() + PAUSE, None, None);
                }
                () = text.await_text() => due = Some(due.unwrap_or(earliest).max(earliest)),
                _ = look.tick() => {
                    text.look_again(&self.state, &self.run);
                    if self.stands_otherwise().await? {
                        self.has_news = true;
                        due = Some(due.unwrap_or(earliest));
                    }
                }
            }
        }
    }

    fn take_event(&mut self, event: &Event) {
        if let Some(after) = self.after
            && event.seq > after
        {
            // What the client has: everything before this event.
            (self.sent, self.after) = (Some(self.now.clone()), None);
        }
        self.now.view.apply_event(event);
        self.last = Some(event.seq);
        self.has_news = true;
    }

    async fn read_record(&mut self) -> Result<Record, Option<Problem>> {
        let record = self.state.runs.record(&self.run).await;
        record.map_err(|error| match error {
            trefoil_project::Error::Store(StoreError::NoRun { .. }) => Some(Problem::unknown_run(&self.run)),
            other => Some(Problem::of_stream(&other)),
        })
    }

    /// Whether the run stands otherwise than the client knows, without an event that says so.
    async fn stands_otherwise(&mut self) -> Result<bool, Option<Problem>> {
        let Some(known) = self.sent.as_ref().map(Trace::status) else { return Ok(false) };
        let record = self.read_record().await?;
        Ok(!record.status.is_end() && known != record.status)
    }

    /// Sends what the client does not have. `is_end`: there will be no more.
    async fn send_trace(&mut self, frames: &FrameSender, is_end: bool) -> StreamResult {
        if self.last.is_none() && !is_end {
            // The input, which is sent once, comes with the first event.
            return Ok(());
        }
        if let Some(after) = self.after {
            if self.last < Some(after) && !is_end {
                // Still before what the client has.
                return Ok(());
            }
            (self.sent, self.after) = (Some(self.now.clone()), None);
        }
        let record = self.read_record().await?;
        let mut trace = self.now.clone();
        if is_end || !record.status.is_end() {
            tell_standing(&self.state, &mut trace, &record).await;
        } else {
            trace.set_status(record.status);
        }
        let (about, now, sent) = (self.about.clone(), trace.clone(), self.sent.take());
        let name = if sent.is_some() { "changes" } else { "trace" };
        let text = write_json(move || match sent {
            None => now.to_json(&about),
            Some(sent) => now.changes_to_json(&about, &sent),
        });
        let text = text.await.map_err(Some)?;
        (self.sent, self.has_news) = (Some(trace), false);
        send_frame(frames, self.last, name, &text).await
    }
}

async fn send_text(frames: &FrameSender, text: &mut ArrivingText) -> StreamResult {
    for part in text.take_parts() {
        send_frame(frames, None, "text", &part.to_string()).await?;
    }
    Ok(())
}

async fn send_frame(frames: &FrameSender, id: Option<u64>, name: &str, text: &str) -> StreamResult {
    match frames.send_frame(id, name, text).await {
        true => Ok(()),
        false => Err(None),
    }
}
