//! Drafts: partial answers of model calls in progress, stored outside the journal. If the process is killed, they are evidence of
//! what was paid for. They are written at most once a second, and when a run is interrupted.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use tokio::sync::Notify;
use trefoil_machine::journal::Lost;
use trefoil_machine::key::Key;
use trefoil_machine::request::Request;

use super::activity::World;
use super::turns::Driver;
use crate::ports::Draft;

/// Milliseconds between two writes.
const PAUSE: u64 = 1_000;

/// When to write next.
#[derive(Debug, Default)]
pub struct Drafts {
    /// Whether text has arrived since the last write.
    fresh: AtomicBool,
    came: Notify,
    /// The time of the next write, on the run's clock.
    not_before_ms: AtomicU64,
}

impl Drafts {
    /// Called when text has arrived.
    pub fn came(&self) {
        if !self.fresh.swap(true, Ordering::Relaxed) {
            self.came.notify_one();
        }
    }
}

impl World {
    /// Returns when drafts are due. Dropping the future loses nothing.
    pub async fn drafts_due(&self) {
        let Some(drafts) = &self.drafts else { return std::future::pending().await };
        while !drafts.fresh.load(Ordering::Relaxed) {
            drafts.came.notified().await;
        }
        let left = drafts.not_before_ms.load(Ordering::Relaxed).saturating_sub(self.watch.now_ms());
        if left > 0 {
            self.ports.clock.sleep(left).await;
        }
    }
}

/// Adds the drafts of calls whose outcome is unknown.
pub async fn add_drafts(world: &World, lost: &mut [Lost]) {
    if lost.is_empty() {
        return;
    }
    let drafts = world.ports.journal.drafts(&world.watch.run).await;
    let mut drafts: BTreeMap<Key, String> = drafts.into_iter().map(|draft| (draft.key, draft.text)).collect();
    for one in lost {
        one.partial = drafts.remove(&one.key);
    }
}

impl Driver {
    /// Writes the drafts of model calls in progress, if text has arrived since the last write.
    pub async fn keep_drafts(&mut self) {
        let Some(drafts) = &self.world.drafts else { return };
        if !drafts.fresh.swap(false, Ordering::Relaxed) {
            return;
        }
        let texts = self.under_way.values().filter(|one| matches!(one.activity.request, Request::Model(_)));
        let texts = texts.filter_map(|one| {
            let text = self.world.partial(&one.activity, &one.meter)?;
            Some(Draft { key: one.activity.key.clone(), text })
        });
        let texts: Vec<Draft> = texts.collect();
        if !texts.is_empty() {
            self.world.ports.journal.keep_drafts(&self.world.watch.run, &texts).await;
        }
        drafts.not_before_ms.store(self.world.watch.now_ms().saturating_add(PAUSE), Ordering::Relaxed);
    }
}
