//! A signal that permits were given back.

use tokio::sync::watch;

/// Counts returns, so that none is missed between a request and the wait for the next one.
#[derive(Debug, Default)]
pub struct ReturnSignal {
    returns: watch::Sender<u64>,
}

impl ReturnSignal {
    /// How many returns were seen.
    pub fn seen_returns(&self) -> u64 {
        *self.returns.borrow()
    }

    /// Permits were given back.
    pub fn note_return(&self) {
        self.returns.send_modify(|returns| *returns = returns.wrapping_add(1));
    }

    /// Waits until there are other returns than those that were seen.
    pub async fn wait_past(&self, seen: u64) {
        // Its sender is a part of this, so it is not closed.
        let _ = self.returns.subscribe().wait_for(|returns| *returns != seen).await;
    }
}
