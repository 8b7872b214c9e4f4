//! Reads a streamed answer until it is complete, and no longer.

use std::time::Duration;

use trefoil_runtime::{Meter, ModelError, ModelErrorKind};

use super::client::Response;
use super::{HttpModel, Partial, sse};

/// How long to wait for the usage, or the end of the stream, after a complete answer. Some servers send neither, and
/// leave the connection open.
const AFTER_ANSWER: Duration = Duration::from_secs(3);
/// The same if the final usage is known. Usage that came before the end of the answer is not final.
const AFTER_USAGE: Duration = Duration::from_millis(250);

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
        let mut came = false;
        while !partial.done
            && let Some(bytes) = response.chunk().await?
        {
            came |= self.read_chunk(&bytes, &mut events, partial, delta)?;
            self.count(meter, partial);
            if partial.ended {
                break;
            }
        }
        if partial.ended && !partial.done {
            let rest = self.read_rest(&mut response, &mut events, partial, delta);
            let ended = tokio::time::timeout(AFTER_ANSWER, rest).await;
            if !ended.unwrap_or(Ok(false))? {
                partial.breaks_off();
            }
            self.count(meter, partial);
        }
        if came && !partial.known {
            let error = self.endpoint.error(ModelErrorKind::Protocol, "sent a stream in another format");
            let help = "check the base URL, and `api` in the settings of the provider".to_owned();
            return Err(ModelError { help: Some(help), ..error });
        }
        if !partial.done && !partial.ended {
            let what = "closed the connection before the answer was complete";
            return Err(self.endpoint.error(ModelErrorKind::Network, what));
        }
        response.finish();
        Ok(())
    }

    /// Reads what arrives after a complete answer: its usage and the mark of the end. A connection that breaks or falls
    /// silent here ends a complete answer. Returns whether the stream has ended as it should.
    async fn read_rest(
        &self,
        response: &mut Response,
        events: &mut sse::Decoder,
        partial: &mut Partial,
        delta: &mut (dyn for<'d> FnMut(&'d str) + Send),
    ) -> Result<bool, ModelError> {
        while !partial.done {
            let next = response.chunk();
            let next = match partial.counted_at_end {
                true => tokio::time::timeout(AFTER_USAGE, next).await.unwrap_or(Ok(None)),
                false => next.await,
            };
            match next {
                Ok(Some(bytes)) => self.read_chunk(&bytes, events, partial, delta)?,
                Ok(None) => return Ok(true),
                Err(_) => return Ok(false),
            };
        }
        Ok(true)
    }

    /// Reads the events that these bytes complete. Returns whether there were any.
    fn read_chunk(
        &self,
        bytes: &[u8],
        events: &mut sse::Decoder,
        partial: &mut Partial,
        delta: &mut (dyn for<'d> FnMut(&'d str) + Send),
    ) -> Result<bool, ModelError> {
        let mut came = false;
        for event in events.push(bytes) {
            let read = event.map_err(|what| self.endpoint.error(ModelErrorKind::Protocol, &what)).and_then(|event| {
                came = true;
                partial.known = partial.known || self.endpoint.knows(&event);
                partial.counted = false;
                self.endpoint.read_event(&event, partial, delta)
            });
            partial.counted_at_end |= partial.counted && partial.ended;
            match read {
                // A failure after a complete answer is the end of it.
                Err(_) if partial.ended => partial.done = true,
                read => read?,
            }
            // Data after the end is not part of the answer.
            if partial.done {
                break;
            }
        }
        Ok(came)
    }

    fn count(&self, meter: &Meter, partial: &Partial) {
        if partial.answer.usage.is_some() {
            meter.tell(partial.answer.used_so_far());
        }
    }
}
