//! Drafts: partial answers of model calls in progress, stored outside the journal. If the process is killed, they are evidence of
//! what was paid for. They are written at most once a second, and when a run is interrupted.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use tokio::sync::Notify;

/// Milliseconds between two writes.
const PAUSE: u64 = 1_000;

/// When to write next.
#[derive(Debug, Default)]
pub struct DraftSchedule {
    /// Whether text has arrived since the last write.
    fresh: AtomicBool,
    came: Notify,
    /// The time of the next write, on the run's clock.
    not_before_ms: AtomicU64,
}

impl DraftSchedule {
    /// Called when text has arrived.
    pub fn note_text(&self) {
        if !self.fresh.swap(true, Ordering::Relaxed) {
            self.came.notify_one();
        }
    }

    /// Whether text has arrived since the last time.
    pub fn is_due(&self) -> bool {
        self.fresh.swap(false, Ordering::Relaxed)
    }

    /// Drafts were written at this time.
    pub fn note_written(&self, now_ms: u64) {
        self.not_before_ms.store(now_ms.saturating_add(PAUSE), Ordering::Relaxed);
    }

    /// Returns how long to wait until the next write, in milliseconds, once text has arrived. Dropping the future loses nothing.
    pub async fn wait_due(&self, now_ms: impl Fn() -> u64) -> u64 {
        while !self.fresh.load(Ordering::Relaxed) {
            self.came.notified().await;
        }
        self.not_before_ms.load(Ordering::Relaxed).saturating_sub(now_ms())
    }
}
