//! Asking a run to stop.

use std::sync::Arc;

use tokio::sync::watch;

/// A switch that stops runs, once and for all of its clones.
#[derive(Debug, Clone)]
pub struct Cancel {
    switch: Arc<watch::Sender<bool>>,
}

impl Default for Cancel {
    fn default() -> Self {
        Self { switch: Arc::new(watch::Sender::new(false)) }
    }
}

impl Cancel {
    /// A switch that is off.
    pub fn new() -> Self {
        Self::default()
    }

    /// Stops every run that was given this switch.
    pub fn cancel(&self) {
        self.switch.send_replace(true);
    }

    /// Whether it was used.
    pub fn is_cancelled(&self) -> bool {
        *self.switch.borrow()
    }

    /// Returns when it is used.
    pub async fn cancelled(&self) {
        let mut watch = self.switch.subscribe();
        // The sender is alive: it is in `self`.
        let _ = watch.wait_for(|used| *used).await;
    }
}
