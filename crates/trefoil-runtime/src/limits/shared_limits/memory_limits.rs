//! Shared limits in memory, for tests.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;

use super::{
    PermitAnswer, PermitLease, PermitRequest, PermitWait, ReturnSignal, ReturnedPermit, SharedLimits, SubjectState,
};
use crate::locks::lock;
use crate::ports::{Clock, Random as _, SystemRandom};

/// How long a wait is without a signal, in milliseconds.
const PAUSE_MS: u64 = 1_000;

/// Shared limits of one process. Nobody else is there to end without giving its permits back, so they do not expire.
pub struct MemoryLimits {
    clock: Arc<dyn Clock>,
    subjects: Mutex<BTreeMap<String, SubjectState>>,
    returns: ReturnSignal,
}

impl MemoryLimits {
    /// Limits by this clock.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, subjects: Mutex::default(), returns: ReturnSignal::default() }
    }
}

impl std::fmt::Debug for MemoryLimits {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MemoryLimits").field("subjects", &self.subjects).finish_non_exhaustive()
    }
}

#[async_trait]
impl SharedLimits for MemoryLimits {
    fn new_request_id(&self) -> u64 {
        SystemRandom.next_number() >> 1
    }

    async fn take_permit(&self, request: &PermitRequest) -> PermitAnswer {
        let seen = self.returns.seen_returns();
        let now = self.clock.wall_ms();
        let lease = PermitLease { holder: "here".to_owned(), now, until: u64::MAX };
        let mut subjects = lock(&self.subjects);
        let subject = subjects.entry(request.subject.clone()).or_default();
        subject.forget_past(now, None);
        subject.take_permit(request, &lease).with_seen(seen)
    }

    async fn wait_for_permit(&self, wait: &PermitWait) {
        let pause = wait.wait_ms.unwrap_or(PAUSE_MS).min(PAUSE_MS);
        tokio::select! {
            () = self.returns.wait_past(wait.seen) => {}
            () = self.clock.sleep_ms(pause) => {}
        }
    }

    fn return_permit(&self, returned: ReturnedPermit) {
        if let Some(subject) = lock(&self.subjects).get_mut(&returned.subject) {
            subject.return_permits(&[returned]);
        }
        self.returns.note_return();
    }
}
