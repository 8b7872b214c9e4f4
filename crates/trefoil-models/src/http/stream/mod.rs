//! Reads a streamed answer until it is complete, and what follows it only to see that it is none of it.

mod state;
mod table;
#[cfg(test)]
mod tests;

use std::time::Duration;

use serde_json::Value as Json;
use tokio::time::Instant;
use trefoil_runtime::{Meter, ModelError, ModelErrorKind};
use trefoil_template::{json_nodes, limits};

use self::state::StreamFault;
pub(super) use self::state::{EventContribution, StreamInput, StreamState};
use self::table::EventShape;
pub(super) use self::table::{DoneMark, StreamTable};
use super::assembly::CallFault;
use super::client::ModelHttpResponse;
use super::parts::shorten_name;
use super::{HttpModel, PartialCall, refusal, sse};

/// How long to wait for the usage, or the end of the stream, after a finish reason that ends an answer by itself. Some
/// servers send neither, and leave the connection open.
const AFTER_REASON: Duration = Duration::from_secs(3);
/// How long to wait for the end of the body after the last event of an answer.
const AFTER_LAST: Duration = Duration::from_millis(100);

impl HttpModel {
    /// Reads the events into `partial`.
    pub(super) async fn read_stream(
        &self,
        mut response: ModelHttpResponse,
        mut events: sse::SseDecoder,
        meter: &Meter,
        partial: &mut PartialCall,
        delta: &mut (dyn for<'d> FnMut(&'d str) + Send),
    ) -> Result<(), ModelError> {
        let mut until: Option<(Duration, Instant)> = None;
        while !partial.stream.is_lost() {
            let wait = match () {
                () if partial.stream.has_ended() => Some(AFTER_LAST),
                () => partial.stream.is_finished().then_some(AFTER_REASON),
            };
            let begin = |wait: Duration| Some((wait, Instant::now().checked_add(wait)?));
            until = wait.and_then(|wait| until.filter(|(of, _)| *of == wait).or_else(|| begin(wait)));
            let next = match until {
                None => Some(response.next_chunk().await),
                // Checked here, too, because a server that never pauses is never waited for.
                Some((_, until)) if Instant::now() >= until => None,
                Some((_, until)) => tokio::time::timeout_at(until, response.next_chunk()).await.ok(),
            };
            let is_last = !matches!(next, Some(Ok(Some(_))));
            match next {
                None => partial.stream.apply_input(StreamInput::Waited),
                Some(Ok(Some(bytes))) => {
                    let came = events.push(&bytes);
                    partial.stream.note_part(events.is_open());
                    self.read_events(came, partial, delta)?;
                    // A server that never pauses must not keep the time limits of the call from being checked.
                    tokio::task::yield_now().await;
                }
                Some(Ok(None)) => {
                    let end = if response.has_own_end() { StreamInput::BodyEnd } else { StreamInput::Closed };
                    self.finish_events(&mut events, end, partial, delta)?;
                }
                Some(Err(error)) => {
                    partial.stream.apply_input(StreamInput::Broken);
                    // If the answer is complete, that is not an error.
                    if !partial.stream.is_complete() {
                        return Err(error);
                    }
                }
            }
            if partial.answer.usage.is_some() {
                meter.report_usage(partial.answer.used_so_far());
            }
            if is_last {
                break;
            }
        }
        self.verdict(partial)
    }

    /// Whether the answer is complete, when nothing more is to be read.
    fn verdict(&self, partial: &PartialCall) -> Result<(), ModelError> {
        let what = match partial.stream.find_fault() {
            None => return Ok(()),
            Some(StreamFault::Foreign) => return Err(self.foreign()),
            Some(StreamFault::Hollow) => "ended its answer without an answer",
            Some(StreamFault::Late) => "sent more of its answer after the end of it",
            Some(StreamFault::Doubled) => "began a second answer within the first one",
            Some(StreamFault::Cut) => "closed the connection before the answer was complete",
        };
        Err(self.endpoint.provider_error(ModelErrorKind::Network, what))
    }

    /// Reads what the end of the body completes.
    fn finish_events(
        &self,
        events: &mut sse::SseDecoder,
        end: StreamInput,
        partial: &mut PartialCall,
        delta: &mut (dyn for<'d> FnMut(&'d str) + Send),
    ) -> Result<(), ModelError> {
        self.read_events(events.finish_stream().map(Ok), partial, delta)?;
        partial.stream.note_part(events.is_open());
        partial.stream.apply_input(end);
        Ok(())
    }

    /// Nothing that arrived has the form of the protocol.
    fn foreign(&self) -> ModelError {
        let error = self.endpoint.provider_error(ModelErrorKind::Protocol, "sent a stream in another format");
        let help = "check the base URL, and `api` in the settings of the provider".to_owned();
        ModelError { help: Some(help), ..error }
    }

    /// Reads these events. An event that cannot be read may be anything, so the answer is not complete. After its end, only
    /// errors and more of the answer count.
    fn read_events(
        &self,
        events: impl IntoIterator<Item = Result<sse::SseEvent, String>>,
        partial: &mut PartialCall,
        delta: &mut (dyn for<'d> FnMut(&'d str) + Send),
    ) -> Result<(), ModelError> {
        for event in events {
            if partial.stream.is_lost() {
                break;
            }
            let has_ended = partial.stream.has_ended();
            let event = match event {
                Ok(event) => event,
                Err(_) if has_ended => continue,
                Err(what) => return Err(self.endpoint.provider_error(ModelErrorKind::Protocol, &what)),
            };
            if event.is_done() {
                partial.stream.apply_input(StreamInput::Done(self.endpoint.protocol.stream_table().done));
                continue;
            }
            match self.parse(&event) {
                // Some servers keep the connection open with events that have no data.
                _ if event.data.trim().is_empty() && event.name != sse::ERROR => {}
                Ok(json) => self.read_event(&event, &json, partial, delta)?,
                Err(_) if event.name == sse::ERROR => {
                    return Err(refusal::error_of_json(&self.endpoint, &event.data.as_str().into()));
                }
                Err(_) if has_ended => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn parse(&self, event: &sse::SseEvent) -> Result<Json, ModelError> {
        if event.data.len() > limits::ANSWER_NODES && json_nodes(event.data.as_bytes()) > limits::ANSWER_NODES {
            let what = format!("sent an event with more than {} values", limits::ANSWER_NODES);
            return Err(self.endpoint.provider_error(ModelErrorKind::Protocol, &what));
        }
        event.parse_json().map_err(|error| {
            let what = format!("sent an event that is not JSON: {error}");
            self.endpoint.provider_error(ModelErrorKind::Protocol, &what)
        })
    }

    fn read_event(
        &self,
        event: &sse::SseEvent,
        json: &Json,
        partial: &mut PartialCall,
        delta: &mut (dyn for<'d> FnMut(&'d str) + Send),
    ) -> Result<(), ModelError> {
        // An error is one whatever came before it.
        refusal::check_for_error(&self.endpoint, &event.name, json)?;
        let kind = json.get("type").and_then(Json::as_str).unwrap_or(&event.name);
        let table = self.endpoint.protocol.stream_table();
        let shape = table.event_shape(kind, json);
        if shape == EventShape::Strange && partial.stream.has_ended() {
            return Ok(());
        }
        if shape == EventShape::Strange {
            // What a server sends instead of its protocol is the reason why it does not go on.
            let is_error = partial.stream.is_recognized() || refusal::has_message(json);
            return Err(if is_error { refusal::error_of_json(&self.endpoint, json) } else { self.foreign() });
        }
        self.endpoint.read_event(kind, json, partial, delta)?;
        if partial.answer.calls.is_overfull() {
            return Err(CallFault::TooMany.to_error(&self.endpoint));
        }
        let news = partial.take_news();
        if !news.is_progress() && table.leaves_out(kind, json) {
            partial.answer.doubts.leave_out(&format!("text in an event of the type `{}`", shorten_name(kind)));
        }
        let (known, first, last) = (shape == EventShape::Own, table.is_first(kind), table.is_last(kind, json));
        let news = EventContribution { known, first, last, ..news };
        partial.stream.apply_input(StreamInput::Event(news));
        Ok(())
    }
}
