//! Circuit breakers: after several failures in a row, a host or a model is not called for a while. Then one call tries
//! it, and the other calls wait for the result.
//!
//! Shared by all runs of a process. A host fails if it cannot be reached. A model fails if its host cannot be reached,
//! breaks off, or reports a server error; rejected requests and rate limits do not count.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;
use trefoil_runtime::{ModelError, ModelErrorKind};

/// Failures in a row before a host or a model is no longer called.
pub(super) const FAILURES: u32 = 5;
/// How long it is not called.
pub(super) const PAUSE: Duration = Duration::from_secs(30);

/// The breakers of all hosts and models, by name.
#[derive(Debug, Clone, Default)]
pub(super) struct Breakers(Arc<Mutex<HashMap<String, Arc<Breaker>>>>);

impl Breakers {
    /// The breaker of a host or a model.
    pub fn of(&self, name: &str) -> Arc<Breaker> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.entry(name.to_owned()).or_default().clone()
    }
}

/// One breaker: the comments call what it guards the host.
#[derive(Debug, Default)]
pub(super) struct Breaker {
    state: Mutex<BreakerState>,
    /// Notified when the state may have changed.
    changed: Notify,
}

#[derive(Debug)]
enum BreakerState {
    /// The host is called. The number counts its last failures in a row.
    Closed(u32),
    /// The host is not called until this time.
    Open { until: Instant, why: Arc<str> },
    /// One call is trying the host.
    Trying { why: Arc<str> },
}

impl Default for BreakerState {
    fn default() -> Self {
        Self::Closed(0)
    }
}

/// A host that is currently not called.
#[derive(Debug)]
pub(super) struct LeftAlone {
    /// How its last call failed.
    pub why: Arc<str>,
    /// When it is tried again.
    pub wait: Duration,
}

impl Breaker {
    fn state(&self) -> MutexGuard<'_, BreakerState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for permission to call the host, or returns why it is not called.
    pub async fn enter(self: Arc<Self>) -> Result<Passage, LeftAlone> {
        loop {
            let mut changed = std::pin::pin!(self.changed.notified());
            changed.as_mut().enable();
            let next = match &mut *self.state() {
                BreakerState::Closed(_) => Some(Ok(())),
                BreakerState::Open { until, why } => {
                    let wait = until.saturating_duration_since(now());
                    Some(if wait.is_zero() { Err(None) } else { Err(Some(LeftAlone { why: why.clone(), wait })) })
                }
                BreakerState::Trying { .. } => None,
            };
            match next {
                Some(Ok(())) => return Ok(Passage { breaker: self.clone(), ended: false }),
                Some(Err(Some(alone))) => return Err(alone),
                Some(Err(None)) => {
                    let mut state = self.state();
                    // Another call may have changed the state in the meantime.
                    if let BreakerState::Open { why, .. } = &*state {
                        let why = why.clone();
                        *state = BreakerState::Trying { why };
                        drop(state);
                        return Ok(Passage { breaker: self.clone(), ended: false });
                    }
                }
                None => changed.await,
            }
        }
    }
}

/// Permission to make a call.
#[derive(Debug)]
pub(super) struct Passage {
    breaker: Arc<Breaker>,
    ended: bool,
}

impl Passage {
    /// Records the outcome of the call: `None` unless it failed in a way that counts.
    pub fn end(mut self, failure: Option<&ModelError>) {
        self.ended = true;
        let mut state = self.breaker.state();
        *state = match (&*state, failure) {
            (_, None) => BreakerState::Closed(0),
            (BreakerState::Closed(before), Some(_)) if before + 1 < FAILURES => BreakerState::Closed(before + 1),
            // A call that was in progress when the breaker opened does not extend the pause.
            (BreakerState::Open { until, why }, Some(_)) => BreakerState::Open { until: *until, why: why.clone() },
            (_, Some(error)) => BreakerState::Open { until: now() + PAUSE, why: error.message.as_str().into() },
        };
        drop(state);
        self.breaker.changed.notify_waiters();
    }
}

/// A dropped call has no outcome, so the next call tries the host.
impl Drop for Passage {
    fn drop(&mut self) {
        if self.ended {
            return;
        }
        let mut state = self.breaker.state();
        if let BreakerState::Trying { why } = &*state {
            let why = why.clone();
            *state = BreakerState::Open { until: now(), why };
            drop(state);
            self.breaker.changed.notify_waiters();
        }
    }
}

/// Whether no connection was possible, or it broke.
pub(super) fn is_unreachable(error: &ModelError) -> bool {
    // With a part of an answer, it was reached.
    error.kind == ModelErrorKind::Network && error.came.is_none()
}

/// Whether a failure is not the fault of the request.
pub(super) fn counts(error: &ModelError) -> bool {
    match error.kind {
        ModelErrorKind::Network => true,
        ModelErrorKind::Status(status) => status >= 500,
        ModelErrorKind::Credit | ModelErrorKind::Timeout | ModelErrorKind::Protocol | ModelErrorKind::Setup => false,
    }
}

#[allow(
    clippy::disallowed_methods,
    reason = "shared by runs, each of which has a clock of its own; nothing of it is stored"
)]
fn now() -> Instant {
    Instant::now()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn broken() -> ModelError {
        ModelError::new(ModelErrorKind::Status(503), "no")
    }

    async fn fail(breaker: &Arc<Breaker>, times: u32) {
        for _ in 0..times {
            breaker.clone().enter().await.unwrap().end(Some(&broken()));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn after_failures_in_a_row_a_host_is_left_alone_then_one_call_tries_it() {
        let breaker = Arc::new(Breaker::default());
        fail(&breaker, FAILURES - 1).await;
        breaker.clone().enter().await.unwrap().end(None);
        fail(&breaker, FAILURES).await;
        let alone = breaker.clone().enter().await.unwrap_err();
        assert_eq!((&*alone.why, alone.wait), ("no", PAUSE));

        tokio::time::advance(PAUSE).await;
        let trying = breaker.clone().enter().await.unwrap();
        let waiting = tokio::spawn(breaker.clone().enter());
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished(), "the others wait for what comes of it");
        trying.end(Some(&broken()));
        assert_eq!(waiting.await.unwrap().unwrap_err().wait, PAUSE, "it is as before");

        tokio::time::advance(PAUSE).await;
        breaker.clone().enter().await.unwrap().end(None);
        fail(&breaker, FAILURES - 1).await;
        assert!(breaker.enter().await.is_ok(), "it is back, and counted from the start");
    }

    #[tokio::test(start_paused = true)]
    async fn a_try_that_is_dropped_lets_the_next_one_try() {
        let breaker = Arc::new(Breaker::default());
        fail(&breaker, FAILURES).await;
        tokio::time::advance(PAUSE).await;
        let trying = breaker.clone().enter().await.unwrap();
        let waiting = tokio::spawn(breaker.clone().enter());
        tokio::task::yield_now().await;
        drop(trying);
        waiting.await.unwrap().unwrap().end(None);
        assert!(breaker.enter().await.is_ok());
    }

    #[test]
    fn what_a_host_thinks_of_a_request_does_not_count() {
        for status in [400, 401, 404, 429] {
            assert!(!counts(&ModelError::new(ModelErrorKind::Status(status), "no")));
        }
        let unreachable = ModelError::new(ModelErrorKind::Network, "no");
        assert!(counts(&broken()) && !is_unreachable(&broken()), "a host that reports an error can be reached");
        assert!(counts(&unreachable) && is_unreachable(&unreachable));
    }
}
