//! The switch that stops runs.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use tokio::sync::Notify;
use trefoil_coordinator::StopRequest;

/// A switch that stops runs. It is shared by its clones and cannot be reset.
#[derive(Debug, Clone, Default)]
pub struct CancelSwitch {
    switch: Arc<CancelState>,
}

/// The state behind a [`CancelSwitch`]. Each run has one, so it is small.
#[derive(Debug, Default)]
struct CancelState {
    wanted: AtomicU8,
    used: Notify,
}

impl CancelSwitch {
    /// A switch that is off.
    pub fn new() -> Self {
        Self::default()
    }

    /// Stops every run that has this switch. They end with `CANCELLED`.
    pub fn cancel_runs(&self) {
        self.switch.wanted.store(CANCEL, Ordering::SeqCst);
        self.switch.used.notify_waiters();
    }

    /// Stops the work on every run that has this switch. A run with a stored journal does not end: it stops with `INTERRUPTED` and
    /// can be resumed. Any other run is cancelled.
    pub fn interrupt_runs(&self) {
        self.update_state(|wanted| (wanted != CANCEL).then_some(INTERRUPT));
    }

    /// Lets every run that has this switch end the work in progress, but start nothing new, until it is [released](Self::release_runs) or
    /// stopped.
    pub fn hold_runs(&self) {
        self.update_state(|wanted| (wanted == 0).then_some(HOLD));
    }

    /// Lets every run that has this switch end the work in progress, and then stops it as
    /// [`interrupt_runs`](Self::interrupt_runs) does: what was
    /// asked is not asked again by whoever resumes it. Waits for people and times are not work.
    pub fn drain_runs(&self) {
        self.update_state(|wanted| matches!(wanted, 0 | HOLD).then_some(DRAIN));
    }

    /// Lets the runs continue that were [held](Self::hold_runs).
    pub fn release_runs(&self) {
        self.update_state(|wanted| (wanted == HOLD).then_some(0));
    }

    fn update_state(&self, to: impl Fn(u8) -> Option<u8>) {
        let _ = self.switch.wanted.fetch_update(Ordering::SeqCst, Ordering::SeqCst, to);
        self.switch.used.notify_waiters();
    }

    /// Whether the switch was used to stop the runs.
    pub fn is_cancelled(&self) -> bool {
        matches!(self.requested_stop(), StopRequest::Interrupt | StopRequest::Cancel)
    }

    /// Whether the runs are stopped, or will be when their work in progress has ended.
    pub fn is_stopping(&self) -> bool {
        self.is_draining() || self.is_cancelled()
    }

    /// Whether the runs are [held](Self::hold_runs), or [drained](Self::drain_runs).
    pub(super) fn is_held(&self) -> bool {
        matches!(self.requested_stop(), StopRequest::Hold | StopRequest::Drain)
    }

    /// Whether the runs are [drained](Self::drain_runs).
    pub(super) fn is_draining(&self) -> bool {
        self.requested_stop() == StopRequest::Drain
    }

    /// Returns when the runs are drained.
    pub(super) async fn wait_drained(&self) {
        self.wait_until(Self::is_draining).await;
    }

    /// Uses another switch in the way in which this one is used, from its draining to its end. Never returns before that.
    pub async fn passed_on(&self, to: &Self) {
        self.wait_until(Self::is_stopping).await;
        if self.is_draining() {
            to.drain_runs();
            self.wait_cancelled().await;
        }
        match self.requested_stop() {
            StopRequest::Interrupt => to.interrupt_runs(),
            _ => to.cancel_runs(),
        }
    }

    /// Returns when the switch is used to stop the runs.
    pub async fn wait_cancelled(&self) {
        self.wait_until(Self::is_cancelled).await;
    }

    /// Returns when the runs are not held, or not any more.
    pub(super) async fn wait_released(&self) {
        self.wait_until(|cancel| !cancel.is_held()).await;
    }

    async fn wait_until(&self, is_so: impl Fn(&Self) -> bool) {
        loop {
            let mut used = std::pin::pin!(self.switch.used.notified());
            // From here on, a use of the switch is not missed.
            used.as_mut().enable();
            if is_so(self) {
                return;
            }
            used.await;
        }
    }

    pub(super) fn requested_stop(&self) -> StopRequest {
        match self.switch.wanted.load(Ordering::SeqCst) {
            0 => StopRequest::No,
            HOLD => StopRequest::Hold,
            DRAIN => StopRequest::Drain,
            INTERRUPT => StopRequest::Interrupt,
            _ => StopRequest::Cancel,
        }
    }
}

const INTERRUPT: u8 = 1;
const CANCEL: u8 = 2;
const HOLD: u8 = 3;
const DRAIN: u8 = 4;
