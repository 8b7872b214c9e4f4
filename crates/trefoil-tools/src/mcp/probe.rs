//! Limits the wait for the answer to the first request of the current protocol: servers of the earlier one may ignore it.
//!
//! The SDK falls back to the earlier handshake on the same connection if the request is answered with an error, so such an
//! error is put in the place of the missing answer. A program that starts slowly is not started again for that: it reads both
//! requests when it is ready.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rmcp::RoleClient;
use rmcp::model::{ClientRequest, ErrorCode, ErrorData, JsonRpcMessage, RequestId, ServerJsonRpcMessage};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::time::Instant;

/// How long the answer may take.
const PROBE: Duration = Duration::from_secs(3);

/// What the first request has shown.
#[derive(Debug, Clone, Default)]
pub struct HandshakeProbe {
    /// The server did not answer it in time.
    ignored: Arc<AtomicBool>,
    /// The server answered it after all, so it has the current protocol.
    answered: Arc<AtomicBool>,
}

impl HandshakeProbe {
    /// Whether the server ignores the request.
    pub fn is_ignored(&self) -> bool {
        self.ignored.load(Ordering::Relaxed) && !self.is_late()
    }
    /// Whether the server has the current protocol, but answered too late.
    pub fn is_late(&self) -> bool {
        self.answered.load(Ordering::Relaxed)
    }
}

/// A transport with this limit.
pub struct ProbingTransport<T> {
    inner: T,
    probe: HandshakeProbe,
    /// The request that is waiting for its answer, until when.
    waits: Option<(RequestId, Instant)>,
    /// The request whose answer is no longer waited for.
    given_up: Option<RequestId>,
}

impl<T> ProbingTransport<T> {
    /// Wraps a transport.
    pub fn new(inner: T, probe: HandshakeProbe) -> Self {
        Self { inner, probe, waits: None, given_up: None }
    }

    /// The answer in the place of the missing one.
    fn give_up(&mut self, id: RequestId) -> ServerJsonRpcMessage {
        self.probe.ignored.store(true, Ordering::Relaxed);
        self.waits = None;
        self.given_up = Some(id.clone());
        let error = ErrorData::new(ErrorCode::METHOD_NOT_FOUND, "not answered", None);
        ServerJsonRpcMessage::error(error, Some(id))
    }
}

impl<T: Transport<RoleClient>> Transport<RoleClient> for ProbingTransport<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        if let JsonRpcMessage::Request(request) = &item
            && matches!(request.request, ClientRequest::DiscoverRequest(_))
        {
            self.waits = Some((request.id.clone(), Instant::now() + PROBE));
        }
        self.inner.send(item)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            let message = match self.waits.clone() {
                None => self.inner.receive().await?,
                Some((id, until)) => match tokio::time::timeout_at(until, self.inner.receive()).await {
                    Ok(message) => message?,
                    Err(_) => return Some(self.give_up(id)),
                },
            };
            let id = match &message {
                JsonRpcMessage::Response(response) => Some(&response.id),
                JsonRpcMessage::Error(error) => error.id.as_ref(),
                _ => None,
            };
            // Any answer ends the wait: one without an id is also for this request, as nothing else was sent.
            if matches!(message, JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_)) {
                self.waits = None;
            }
            if id.is_none() || self.given_up.as_ref() != id {
                return Some(message);
            }
            self.given_up = None;
            if matches!(message, JsonRpcMessage::Response(_)) {
                self.probe.answered.store(true, Ordering::Relaxed);
                return None;
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.inner.close().await
    }
}
