//! Asking a run to stop.

use std::sync::Arc;

use tokio::sync::watch;
use trefoil_machine::error::RunError;

/// A switch that stops runs, once and for all of its clones.
#[derive(Debug, Clone)]
pub struct Cancel {
    switch: Arc<watch::Sender<Stop>>,
}

/// What is wanted of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stop {
    No,
    Interrupt,
    Cancel,
}

impl Default for Cancel {
    fn default() -> Self {
        Self { switch: Arc::new(watch::Sender::new(Stop::No)) }
    }
}

impl Cancel {
    /// A switch that is off.
    pub fn new() -> Self {
        Self::default()
    }

    /// Stops every run that was given this switch. They end with `CANCELLED`.
    pub fn cancel(&self) {
        self.switch.send_replace(Stop::Cancel);
    }

    /// Ends the work on every run that was given this switch. A run whose journal is kept has not ended: it stops with
    /// `INTERRUPTED` and can be resumed. Any other is cancelled.
    pub fn interrupt(&self) {
        self.switch.send_if_modified(|stop| {
            let first = *stop == Stop::No;
            if first {
                *stop = Stop::Interrupt;
            }
            first
        });
    }

    /// Whether it was used.
    pub fn is_cancelled(&self) -> bool {
        self.wanted() != Stop::No
    }

    /// Returns when it is used.
    pub async fn cancelled(&self) {
        let mut watch = self.switch.subscribe();
        // The sender is alive: it is in `self`.
        let _ = watch.wait_for(|stop| *stop != Stop::No).await;
    }

    pub(super) fn wanted(&self) -> Stop {
        *self.switch.borrow()
    }
}

/// The code of a run that was interrupted.
pub(super) const INTERRUPTED: &str = "INTERRUPTED";

/// What whoever asked for the result gets instead.
pub(super) fn interrupted() -> RunError {
    RunError::new(INTERRUPTED, "the run was interrupted; it can be resumed")
}
