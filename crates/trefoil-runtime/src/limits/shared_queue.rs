//! The calls of this process that wait for a shared permit of one provider.
//!
//! Only the first of them asks, so a process has one place in the queue of all processes, however many calls it has. So the
//! processes take turns, and those that are behind cost nothing.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Mutex, OwnedSemaphorePermit, Semaphore, watch};

use super::acquire_permit;
use super::shared_limits::SharedPermit;

/// The queue of one provider in this process: first come, first served.
#[derive(Debug, Default)]
pub(super) struct SharedQueue {
    /// Whoever holds this lock is first.
    turn: Mutex<()>,
    /// The limit that the first one waits for.
    limit: watch::Sender<Option<&'static str>>,
}

impl SharedQueue {
    /// Waits for a permit, and returns with it one of `all`. `tell` is called once if it has to wait for a while, with the name of
    /// the limit and about how long it waits, if that is known.
    pub async fn take_permit(
        &self,
        permit: &mut SharedPermit,
        all: Option<&Arc<Semaphore>>,
        tell: impl Fn(&'static str, Option<Duration>),
    ) -> Option<OwnedSemaphorePermit> {
        let mut is_told = false;
        let mut turn = pin!(self.turn.lock());
        let _turn = tokio::select! {
            biased;
            turn = &mut turn => turn,
            limit = self.first_waits() => {
                tell(limit, None);
                is_told = true;
                turn.await
            }
        };
        let _wait = ToldWait(&self.limit);
        loop {
            // Neither permit is held while the other one is waited for: other calls, and other processes, could use it.
            let place = acquire_permit(all).await;
            let Some(wait) = permit.try_take().await else { return place };
            drop(place);
            if wait.is_worth_telling() {
                if !is_told {
                    is_told = true;
                    let is_known = wait.ahead == 0;
                    tell(wait.limit, wait.wait_ms.filter(|_| is_known).map(Duration::from_millis));
                }
                self.limit.send_if_modified(|limit| limit.replace(wait.limit) != Some(wait.limit));
            }
            permit.wait_for_return(&wait).await;
        }
    }

    /// Returns when the first one waits, with the name of the limit.
    async fn first_waits(&self) -> &'static str {
        let mut limit = self.limit.subscribe();
        loop {
            if let Some(limit) = *limit.borrow_and_update() {
                return limit;
            }
            // Its sender is a part of this, so it is not closed.
            if limit.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }
}

/// What others are told as long as the first one waits.
struct ToldWait<'q>(&'q watch::Sender<Option<&'static str>>);

impl Drop for ToldWait<'_> {
    fn drop(&mut self) {
        self.0.send_if_modified(|limit| limit.take().is_some());
    }
}
