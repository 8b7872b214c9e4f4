//! Reads a streamed answer until it is complete, and no longer.

mod state;
mod table;
#[cfg(test)]
mod tests;

use std::time::Duration;

use serde_json::Value as Json;
use tokio::time::Instant;
use trefoil_runtime::{Meter, ModelError, ModelErrorKind};
use trefoil_template::{json_nodes, limits};

pub(super) use self::state::{EventNews, StreamInput, StreamState};
use self::table::EventShape;
pub(super) use self::table::StreamTable;
use super::assembly::CallFault;
use super::client::Response;
use super::{HttpModel, Partial, refusal, sse};

/// How long to wait for the usage, or the end of the stream, after a finish reason that ends an answer by itself. Some
/// servers send neither, and leave the connection open.
const AFTER_REASON: Duration = Duration::from_secs(3);

impl HttpModel {
    /// Reads the events into `partial`.
    pub(super) async fn read_stream(
        &self,
        mut response: Response,
        mut events: sse::Decoder,
        meter: &Meter,
        partial: &mut Partial,
        delta: &mut (dyn for<'d> FnMut(&'d str) + Send),
    ) -> Result<(), ModelError> {
        let mut until = None;
        while !partial.stream.is_over() {
            until = until.or_else(|| Instant::now().checked_add(AFTER_REASON)).filter(|_| partial.stream.is_finished());
            let next = match until {
                None => Some(response.chunk().await),
                // Checked here, too, because a server that never pauses is never waited for.
                Some(until) if Instant::now() >= until => None,
                Some(until) => tokio::time::timeout_at(until, response.chunk()).await.ok(),
            };
            match next {
                None => partial.stream.advance(StreamInput::Waited),
                Some(Ok(Some(bytes))) => {
                    let came = events.push(&bytes);
                    partial.stream.note_part(events.is_open());
                    self.read_events(came, partial, delta)?;
                    // A server that never pauses must not keep the time limits of the call from being checked.
                    tokio::task::yield_now().await;
                }
                Some(Ok(None)) => {
                    self.finish_events(&mut events, partial, delta)?;
                }
                Some(Err(error)) => {
                    partial.stream.advance(StreamInput::Broken);
                    // If the answer is complete, that is not an error.
                    if !partial.stream.is_complete() {
                        return Err(error);
                    }
                }
            }
            if partial.answer.usage.is_some() {
                meter.tell(partial.answer.used_so_far());
            }
        }
        self.verdict(partial)?;
        response.finish();
        Ok(())
    }

    /// Whether the answer is complete, when nothing more is to be read.
    fn verdict(&self, partial: &Partial) -> Result<(), ModelError> {
        if partial.stream.is_foreign() {
            return Err(self.foreign());
        }
        if partial.stream.is_hollow() {
            let what = "ended its answer without an answer";
            return Err(self.endpoint.error(ModelErrorKind::Network, what));
        }
        if !partial.stream.is_complete() {
            let what = "closed the connection before the answer was complete";
            return Err(self.endpoint.error(ModelErrorKind::Network, what));
        }
        Ok(())
    }

    /// Reads what the regular end of the body completes.
    fn finish_events(
        &self,
        events: &mut sse::Decoder,
        partial: &mut Partial,
        delta: &mut (dyn for<'d> FnMut(&'d str) + Send),
    ) -> Result<(), ModelError> {
        self.read_events(events.finish().map(Ok), partial, delta)?;
        partial.stream.note_part(events.is_open());
        partial.stream.advance(StreamInput::BodyEnd);
        Ok(())
    }

    /// Nothing that arrived has the form of the protocol.
    fn foreign(&self) -> ModelError {
        let error = self.endpoint.error(ModelErrorKind::Protocol, "sent a stream in another format");
        let help = "check the base URL, and `api` in the settings of the provider".to_owned();
        ModelError { help: Some(help), ..error }
    }

    /// Reads these events. An event that cannot be read may be anything, so the answer is not complete. Data after the end is not part of the answer.
    fn read_events(
        &self,
        events: impl IntoIterator<Item = Result<sse::Event, String>>,
        partial: &mut Partial,
        delta: &mut (dyn for<'d> FnMut(&'d str) + Send),
    ) -> Result<(), ModelError> {
        for event in events {
            if partial.stream.is_over() {
                break;
            }
            let event = event.map_err(|what| self.endpoint.error(ModelErrorKind::Protocol, &what))?;
            if event.is_done() {
                partial.stream.advance(StreamInput::Done(self.endpoint.stream_table().done));
                continue;
            }
            match self.parse(&event) {
                // Some servers keep the connection open with events that have no data.
                _ if event.data.trim().is_empty() && event.name != sse::ERROR => {}
                Ok(json) => self.read_event(&event, &json, partial, delta)?,
                Err(_) if event.name == sse::ERROR => {
                    return Err(refusal::of_error(&self.endpoint, &event.data.as_str().into()));
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn parse(&self, event: &sse::Event) -> Result<Json, ModelError> {
        if event.data.len() > limits::ANSWER_NODES && json_nodes(event.data.as_bytes()) > limits::ANSWER_NODES {
            let what = format!("sent an event with more than {} values", limits::ANSWER_NODES);
            return Err(self.endpoint.error(ModelErrorKind::Protocol, &what));
        }
        event.json().map_err(|error| {
            let what = format!("sent an event that is not JSON: {error}");
            self.endpoint.error(ModelErrorKind::Protocol, &what)
        })
    }

    fn read_event(
        &self,
        event: &sse::Event,
        json: &Json,
        partial: &mut Partial,
        delta: &mut (dyn for<'d> FnMut(&'d str) + Send),
    ) -> Result<(), ModelError> {
        // An error is one whatever came before it.
        refusal::check(&self.endpoint, &event.name, json)?;
        let kind = json.get("type").and_then(Json::as_str).unwrap_or(&event.name);
        let table = self.endpoint.stream_table();
        let shape = table.shape(kind, json);
        if shape == EventShape::Strange {
            // What a server sends instead of its protocol is the reason why it does not go on.
            let is_error = partial.stream.is_recognized() || refusal::has_message(json);
            return Err(if is_error { refusal::of_error(&self.endpoint, json) } else { self.foreign() });
        }
        self.endpoint.read_event(kind, json, partial, delta)?;
        if partial.answer.calls.is_overfull() {
            return Err(CallFault::TooMany.error(&self.endpoint));
        }
        let (known, last) = (shape == EventShape::Own, table.is_last(kind, json));
        let news = EventNews { known, last, ..partial.take_news() };
        partial.stream.advance(StreamInput::Event(news));
        Ok(())
    }
}
