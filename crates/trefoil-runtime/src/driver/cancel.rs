//! The switch that stops runs.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use tokio::sync::Notify;
use trefoil_machine::error::RunError;

/// A switch that stops runs. It is shared by its clones and cannot be reset.
#[derive(Debug, Clone, Default)]
pub struct Cancel {
    switch: Arc<Switch>,
}

/// The state behind a [`Cancel`]. Each run has one, so it is small.
#[derive(Debug, Default)]
struct Switch {
    wanted: AtomicU8,
    used: Notify,
}

/// How a run should stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stop {
    No,
    Interrupt,
    Cancel,
}

impl Cancel {
    /// A switch that is off.
    pub fn new() -> Self {
        Self::default()
    }

    /// Stops every run that has this switch. They end with `CANCELLED`.
    pub fn cancel(&self) {
        self.switch.wanted.store(CANCEL, Ordering::SeqCst);
        self.switch.used.notify_waiters();
    }

    /// Stops the work on every run that has this switch. A run with a stored journal does not end: it stops with `INTERRUPTED` and
    /// can be resumed. Any other run is cancelled.
    pub fn interrupt(&self) {
        let _ = self.switch.wanted.compare_exchange(0, INTERRUPT, Ordering::SeqCst, Ordering::SeqCst);
        self.switch.used.notify_waiters();
    }

    /// Whether the switch was used.
    pub fn is_cancelled(&self) -> bool {
        self.wanted() != Stop::No
    }

    /// Returns when the switch is used.
    pub async fn cancelled(&self) {
        let mut used = std::pin::pin!(self.switch.used.notified());
        // From here on, a use of the switch is not missed.
        used.as_mut().enable();
        if !self.is_cancelled() {
            used.await;
        }
    }

    pub(super) fn wanted(&self) -> Stop {
        match self.switch.wanted.load(Ordering::SeqCst) {
            0 => Stop::No,
            INTERRUPT => Stop::Interrupt,
            _ => Stop::Cancel,
        }
    }
}

const INTERRUPT: u8 = 1;
const CANCEL: u8 = 2;

/// The code of a run that was interrupted.
pub(super) const INTERRUPTED: &str = "INTERRUPTED";

/// The error that an interrupted run returns instead of a result.
pub(super) fn interrupted() -> RunError {
    RunError::new(INTERRUPTED, "the run was interrupted; it can be resumed")
}
