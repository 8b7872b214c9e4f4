//! Asking a run to stop.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use tokio::sync::Notify;
use trefoil_machine::error::RunError;

/// A switch that stops runs, once and for all of its clones.
#[derive(Debug, Clone, Default)]
pub struct Cancel {
    switch: Arc<Switch>,
}

/// Each run has one: it is small.
#[derive(Debug, Default)]
struct Switch {
    wanted: AtomicU8,
    used: Notify,
}

/// What is wanted of a run.
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

    /// Stops every run that was given this switch. They end with `CANCELLED`.
    pub fn cancel(&self) {
        self.switch.wanted.store(CANCEL, Ordering::SeqCst);
        self.switch.used.notify_waiters();
    }

    /// Ends the work on every run that was given this switch. A run whose journal is kept has not ended: it stops with
    /// `INTERRUPTED` and can be resumed. Any other is cancelled.
    pub fn interrupt(&self) {
        let _ = self.switch.wanted.compare_exchange(0, INTERRUPT, Ordering::SeqCst, Ordering::SeqCst);
        self.switch.used.notify_waiters();
    }

    /// Whether it was used.
    pub fn is_cancelled(&self) -> bool {
        self.wanted() != Stop::No
    }

    /// Returns when it is used.
    pub async fn cancelled(&self) {
        let mut used = std::pin::pin!(self.switch.used.notified());
        // Whoever uses it from here on is noticed.
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

/// What whoever asked for the result gets instead.
pub(super) fn interrupted() -> RunError {
    RunError::new(INTERRUPTED, "the run was interrupted; it can be resumed")
}
