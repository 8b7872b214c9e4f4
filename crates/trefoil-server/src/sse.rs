//! Streams of events (server-sent events). A comment every few seconds finds out whether the client is still there.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::response::sse::{Event as SseEvent, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_core::Stream;
use http::{HeaderMap, HeaderValue, header};
use tokio::sync::mpsc;

use crate::open_stream::OpenStream;

/// Time between comments on a stream without events.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// Frames that a client has not read yet; the writer waits for a slow one.
const QUEUE: usize = 64;

/// The end of a stream into which frames are put.
pub struct FrameSender(mpsc::Sender<SseEvent>);

/// The frames of a stream.
struct FrameStream {
    frames: mpsc::Receiver<SseEvent>,
    /// Counted as long as the stream is open, which is at most as long as the client's key is valid.
    open: OpenStream,
}

impl Stream for FrameStream {
    type Item = Result<SseEvent, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.open.poll_revoked(context).is_ready() {
            return Poll::Ready(None);
        }
        match self.frames.poll_recv(context) {
            Poll::Ready(Some(frame)) => Poll::Ready(Some(Ok(frame))),
            Poll::Ready(None) => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl FrameSender {
    /// Sends a frame. `false`: the client has left.
    pub async fn send_frame(&self, id: Option<u64>, event: &str, data: &str) -> bool {
        let mut frame = SseEvent::default().data(escape_data(data));
        if !event.is_empty() {
            frame = frame.event(event);
        }
        if let Some(id) = id {
            frame = frame.id(id.to_string());
        }
        self.0.send(frame).await.is_ok()
    }

    /// Waits until the client has left.
    pub async fn wait_closed(&self) {
        self.0.closed().await;
    }
}

/// A stream for a client: what is put into the sender arrives there. The stream ends when the sender is dropped.
pub fn open_stream(open: OpenStream) -> (FrameSender, Response) {
    let (sender, frames) = mpsc::channel(QUEUE);
    let stream = Sse::new(FrameStream { frames, open }).keep_alive(KeepAlive::new().interval(KEEP_ALIVE));
    let mut response = stream.into_response();
    // Proxies must not collect frames.
    response.headers_mut().insert("x-accel-buffering", HeaderValue::from_static("no"));
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    (FrameSender(sender), response)
}

/// The number of the last event that a client has seen.
pub fn last_event_id(headers: &HeaderMap) -> Option<u64> {
    headers.get("last-event-id")?.to_str().ok()?.trim().parse().ok()
}

/// Whether a client wants a stream.
pub fn wants_stream(headers: &HeaderMap) -> bool {
    let accept = headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok());
    matches!(accept, Some(accept) if accept.contains("text/event-stream"))
}

/// JSON without characters at which some clients split lines (`str.splitlines()` of Python).
fn escape_data(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            '\u{85}' | '\u{2028}' | '\u{2029}' => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            '\n' | '\r' => {}
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_that_split_lines_are_escaped() {
        assert_eq!(escape_data("{\"a\":\"x\u{2028}y\u{85}z\u{2029}é\"}"), "{\"a\":\"x\\u2028y\\u0085z\\u2029é\"}");
    }
}
