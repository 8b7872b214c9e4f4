//! What has come of answers that have not ended, kept beside the journal: evidence, if the process is killed, of what was paid
//! for. It is written once a second at most, whatever comes in how many pieces, and when a run is interrupted.

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
    /// Text has come since the last write.
    fresh: AtomicBool,
    came: Notify,
    /// On the run's clock.
    not_before_ms: AtomicU64,
}

impl Drafts {
    /// Text has come.
    pub fn came(&self) {
        if !self.fresh.swap(true, Ordering::Relaxed) {
            self.came.notify_one();
        }
    }
}

impl World {
    /// Returns when drafts are to be written. Nothing is lost if nobody waits for that.
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

/// What had come of calls of which nobody knows how they ended.
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
    /// Writes what has come of the answers in progress, if anything has come since the last time.
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
