//! Streams that are open.

use std::pin::Pin;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};

use tokio::task::JoinHandle;

use crate::access::Caller;
use crate::state::AppState;

/// Counts an open stream until it is dropped, and knows when its caller's key is revoked.
pub struct OpenStream {
    state: AppState,
    /// Ends when the key is revoked.
    revocation: Option<JoinHandle<()>>,
}

impl OpenStream {
    /// Counts one.
    pub fn new(state: &AppState, caller: &Caller) -> Self {
        state.metrics.open_streams.fetch_add(1, Ordering::Relaxed);
        let revocation = caller.key.clone().map(|key| {
            let state = state.clone();
            tokio::spawn(async move { state.keys.wait_revoked(&key).await })
        });
        Self { state: state.clone(), revocation }
    }

    /// Ready when the key of the caller has been revoked.
    pub fn poll_revoked(&mut self, context: &mut Context<'_>) -> Poll<()> {
        match &mut self.revocation {
            Some(revocation) => Pin::new(revocation).poll(context).map(drop),
            None => Poll::Pending,
        }
    }
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        self.state.metrics.open_streams.fetch_sub(1, Ordering::Relaxed);
        if let Some(revocation) = &self.revocation {
            revocation.abort();
        }
    }
}
