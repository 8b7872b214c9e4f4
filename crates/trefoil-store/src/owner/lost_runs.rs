//! Runs that a process owns in the store without knowing it.
//!
//! An operation that fails may still have been done: the connection broke after the commit, or the file was moved. The store keeps
//! such a run for its owner as long as that lives, so nobody would ever continue it. After such a failure, the owner releases all that it does
//! not hold.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::{Notify, OwnedRwLockReadGuard, OwnedRwLockWriteGuard, RwLock};

use crate::error::{StoreError, StoreResult};

/// Whether there may be such runs. Clones are the same.
#[derive(Clone, Default)]
pub struct LostRuns {
    is_suspected: Arc<AtomicBool>,
    suspected: Arc<Notify>,
    /// Held while runs are claimed whose ids are not known before.
    claims: Arc<RwLock<()>>,
}

impl LostRuns {
    /// Awaits an operation that acquires or releases a run. If it fails so that nobody knows whether it was done, the run may be lost.
    pub async fn watch_claim<T>(&self, operation: impl Future<Output = StoreResult<T>>) -> StoreResult<T> {
        let done = operation.await;
        if done.as_ref().is_err_and(StoreError::is_of_the_store) {
            self.suspect_loss();
        }
        done
    }

    /// Says that there may be lost runs.
    pub fn suspect_loss(&self) {
        self.is_suspected.store(true, Ordering::SeqCst);
        self.suspected.notify_one();
    }

    /// Waits until there may be lost runs.
    pub async fn wait_loss(&self) {
        while !self.is_suspected.load(Ordering::SeqCst) {
            self.suspected.notified().await;
        }
    }

    /// Runs are claimed until the guard is dropped: what is claimed and not yet known as held is not lost.
    pub async fn begin_claims(&self) -> OwnedRwLockReadGuard<()> {
        self.claims.clone().read_owned().await
    }

    /// `None`: nothing can be lost. Otherwise no claims begin until the guard is dropped.
    pub async fn begin_release(&self) -> Option<OwnedRwLockWriteGuard<()>> {
        if !self.is_suspected.swap(false, Ordering::SeqCst) {
            return None;
        }
        Some(self.claims.clone().write_owned().await)
    }
}
