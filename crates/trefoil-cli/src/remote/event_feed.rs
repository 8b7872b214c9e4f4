//! The events of a run of a server, as they come. A connection that was lost is taken up again after the last event that was seen.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use reqwest::Response;
use serde_json::Value as Json;
use trefoil_template::read_json;

use super::client::{ServerClient, failure_of};
use super::failure::{RemoteFailure, ServerProblem};
use super::frame_decoder::{FrameDecoder, SseFrame};

/// A server says every 15 seconds that it is still there. One that has said nothing for so long is not.
const SILENCE: Duration = Duration::from_secs(60);

/// The events of a run.
pub struct RemoteFeed<'c> {
    client: &'c ServerClient,
    run: String,
    open: Option<Response>,
    decoder: FrameDecoder,
    ready: VecDeque<SseFrame>,
    /// The id of the last event that was returned.
    last: Option<String>,
    heard: Instant,
}

/// What comes of a feed.
pub enum FeedStep {
    /// An event.
    Event(Json),
    /// Nothing for a moment.
    Idle,
    /// The server has closed the stream: the run has ended, or the server stops.
    Closed,
    /// The connection was lost. The next call connects again.
    Lost(RemoteFailure),
}

impl<'c> RemoteFeed<'c> {
    /// The events of a run, from the first one. Nothing is sent yet.
    pub fn for_run(client: &'c ServerClient, run: &str) -> Self {
        Self {
            client,
            run: run.to_owned(),
            open: None,
            decoder: FrameDecoder::default(),
            ready: VecDeque::new(),
            last: None,
            heard: Instant::now(),
        }
    }

    /// What comes next; [`FeedStep::Idle`] if nothing comes for this time.
    ///
    /// # Errors
    ///
    /// The server refuses the stream, or it cannot be read.
    pub async fn next_step(&mut self, idle: Duration) -> Result<FeedStep, RemoteFailure> {
        loop {
            if let Some(frame) = self.ready.pop_front() {
                return self.read_frame(frame);
            }
            let Some(open) = &mut self.open else {
                match self.client.open_events(&self.run, self.last.as_deref()).await {
                    Ok(Some(response)) => {
                        (self.open, self.heard) = (Some(response), Instant::now());
                        self.decoder = FrameDecoder::default();
                    }
                    Ok(None) => return Ok(FeedStep::Closed),
                    Err(failure) if failure.is_passing() => return Ok(FeedStep::Lost(failure)),
                    Err(failure) => return Err(failure),
                }
                continue;
            };
            let received = tokio::time::timeout(idle, open.chunk()).await;
            match received {
                Err(_) if self.heard.elapsed() < SILENCE => return Ok(FeedStep::Idle),
                Err(_) => {
                    self.open = None;
                    let why = format!("nothing came for {} s", SILENCE.as_secs());
                    return Ok(FeedStep::Lost(RemoteFailure::Lost(why)));
                }
                Ok(Ok(Some(bytes))) => {
                    self.heard = Instant::now();
                    self.ready.extend(self.decoder.push_bytes(&bytes).map_err(RemoteFailure::Unreadable)?);
                }
                Ok(Ok(None)) => {
                    self.open = None;
                    return Ok(FeedStep::Closed);
                }
                Ok(Err(error)) => {
                    self.open = None;
                    return Ok(FeedStep::Lost(failure_of(&error)));
                }
            }
        }
    }

    fn read_frame(&mut self, frame: SseFrame) -> Result<FeedStep, RemoteFailure> {
        let unreadable = |error| RemoteFailure::Unreadable(format!("sent an event that cannot be read: {error}"));
        if frame.name == "stream_error" {
            let problem: ServerProblem = read_json(&frame.data).map_err(unreadable)?;
            let failure = RemoteFailure::Refused(Box::new(problem));
            if failure.is_passing() {
                self.open = None;
                return Ok(FeedStep::Lost(failure));
            }
            return Err(failure);
        }
        let event: Json = read_json(&frame.data).map_err(unreadable)?;
        if frame.id.is_some() {
            self.last = frame.id;
        }
        Ok(FeedStep::Event(event))
    }
}
