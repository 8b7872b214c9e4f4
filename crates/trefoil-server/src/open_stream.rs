//! Streams that are open.

use std::sync::atomic::Ordering;

use crate::state::AppState;

/// Counts an open stream until it is dropped.
pub struct OpenStream(AppState);

impl OpenStream {
    /// Counts one.
    pub fn new(state: &AppState) -> Self {
        state.metrics.open_streams.fetch_add(1, Ordering::Relaxed);
        Self(state.clone())
    }
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        self.0.metrics.open_streams.fetch_sub(1, Ordering::Relaxed);
    }
}
