//! Circuit breakers: while most calls of a host or a model fail, one call at a time tries it, and the others wait.
//!
//! Shared by all runs of a process. A host fails if it cannot be reached. A model fails if its host cannot be reached,
//! breaks off, or reports a server error; rejected requests and rate limits do not count.
//!
//! A breaker never fails a call: calls wait before they are made ([`Breakers::admit_call`]), and no call waits longer than
//! [`PATIENCE`]. So an open breaker costs no try, and a run ends when its own tries have failed. The failures of a burst, all
//! at about the same time, say nothing about the time after it, so they open nothing.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;
use trefoil_runtime::locks::lock;
use trefoil_runtime::ports::{CallAdmission, CallPause};
use trefoil_runtime::{ModelError, ModelErrorKind};

/// The outcomes of this time count.
const WINDOW: Duration = Duration::from_secs(60);
/// A breaker opens when at least this many calls have failed in that time, which are at least half of all,
const FAILURES: usize = 5;
/// and the first of them failed this long ago.
const SPAN: Duration = Duration::from_secs(10);
/// Outcomes are counted for each time of this length.
const STEP: Duration = Duration::from_secs(1);
/// How long nothing is called before the first call that tries it. The time doubles with each one that fails.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);
/// A call that has waited this long is made anyway.
const PATIENCE: Duration = Duration::from_secs(20);

/// The breakers of all hosts and models, by name. A call has one of each.
#[derive(Debug, Clone, Default)]
pub(super) struct Breakers(Arc<BreakerTable>);

#[derive(Debug, Default)]
struct BreakerTable {
    all: Mutex<HashMap<String, CircuitBreaker>>,
    /// Notified when a breaker has changed.
    changed: Notify,
}

/// One breaker: the comments call what it guards the host.
#[derive(Debug, Default)]
struct CircuitBreaker {
    state: BreakerState,
    /// The number of changes of the state. The outcome of a call says something about the state in which it began.
    epoch: u64,
    /// The outcomes that count.
    recent: VecDeque<CallOutcomeCounts>,
    /// How its last call failed.
    why: Arc<str>,
    /// The last pause.
    pause: Duration,
}

/// The calls that ended within one [`STEP`].
#[derive(Debug)]
struct CallOutcomeCounts {
    from: Instant,
    ended: usize,
    failed: usize,
}

#[derive(Debug, Default, Clone, Copy, PartialEq)]
enum BreakerState {
    /// The host is called.
    #[default]
    Closed,
    /// The host is not called until this time.
    Open(Instant),
    /// One call may try the host, or does so.
    Trying { has_begun: bool },
}

impl CircuitBreaker {
    fn change(&mut self, state: BreakerState) {
        self.state = state;
        self.epoch += 1;
    }

    /// Whether a call may begin, or when to look again. `is_admitted`: it is the call that may try the host.
    fn is_passable(&self, now: Instant, is_admitted: bool) -> Result<(), Option<Instant>> {
        match self.state {
            BreakerState::Closed => Ok(()),
            BreakerState::Open(until) if until <= now => Ok(()),
            BreakerState::Open(until) => Err(Some(until)),
            BreakerState::Trying { has_begun: false } if is_admitted => Ok(()),
            BreakerState::Trying { .. } => Err(None),
        }
    }

    /// Records the outcome of a call that began in this epoch.
    fn record(&mut self, epoch: u64, failure: Option<&ModelError>, now: Instant) -> bool {
        if epoch != self.epoch {
            return false;
        }
        if let Some(error) = failure {
            self.why = error.message.as_str().into();
        }
        match (self.state, failure) {
            (BreakerState::Closed, failure) => {
                self.count(failure.is_some(), now);
                if failure.is_none() || !self.is_failing(now) {
                    return false;
                }
                self.pause = FIRST_PAUSE;
            }
            (_, None) => {
                self.recent.clear();
                self.change(BreakerState::Closed);
                return true;
            }
            // A call that waited too long was made although the breaker is open.
            (BreakerState::Open(_), Some(_)) => return false,
            (BreakerState::Trying { .. }, Some(_)) => self.pause = LONGEST_PAUSE.min(self.pause * 2),
        }
        self.change(BreakerState::Open(now + self.pause));
        true
    }

    fn count(&mut self, has_failed: bool, now: Instant) {
        while let Some(step) = self.recent.front()
            && step.from + WINDOW < now
        {
            self.recent.pop_front();
        }
        let is_within_step = matches!(self.recent.back(), Some(step) if now < step.from + STEP);
        if !is_within_step {
            self.recent.push_back(CallOutcomeCounts { from: now, ended: 0, failed: 0 });
        }
        if let Some(step) = self.recent.back_mut() {
            step.ended += 1;
            step.failed += usize::from(has_failed);
        }
    }

    fn is_failing(&self, now: Instant) -> bool {
        let (mut ended, mut failed, mut first_failure) = (0, 0, None);
        for step in &self.recent {
            ended += step.ended;
            failed += step.failed;
            if step.failed > 0 {
                first_failure.get_or_insert(step.from);
            }
        }
        failed >= FAILURES && failed * 2 >= ended && matches!(first_failure, Some(first) if first + SPAN <= now)
    }
}

/// The names of a call's breakers: of its host and of its model.
pub(super) type BreakerNames = [String; 2];

impl Breakers {
    fn lock_breakers(&self) -> MutexGuard<'_, HashMap<String, CircuitBreaker>> {
        lock(&self.0.all)
    }

    /// Why a call should not be made now.
    pub fn find_pause(&self, names: &BreakerNames) -> Option<CallPause> {
        self.passable(names, true).err()
    }

    fn passable(&self, names: &BreakerNames, is_admitted: bool) -> Result<(), CallPause> {
        let (all, now) = (self.lock_breakers(), now());
        for name in names {
            if let Some(breaker) = all.get(name)
                && let Err(until) = breaker.is_passable(now, is_admitted)
            {
                let wait = until.map(|until| until.saturating_duration_since(now));
                return Err(CallPause { wait, why: breaker.why.to_string() });
            }
        }
        Ok(())
    }

    /// Waits until a call may be made. `tell` is called if it has to wait.
    pub async fn admit_call(&self, names: &BreakerNames, tell: &(dyn Fn(CallPause) + Send + Sync)) -> CallAdmission {
        let latest = now() + PATIENCE;
        let mut has_told = false;
        loop {
            let mut changed = std::pin::pin!(self.0.changed.notified());
            changed.as_mut().enable();
            let pause = match self.passable(names, false) {
                Ok(()) => match self.reserve(names) {
                    Some(admission) => return admission,
                    None => continue,
                },
                Err(pause) => pause,
            };
            if now() >= latest {
                return CallAdmission::for_overdue_call();
            }
            let until = match pause.wait {
                Some(wait) => latest.min(now() + wait),
                None => latest,
            };
            if !std::mem::replace(&mut has_told, true) {
                tell(pause);
            }
            tokio::select! {
                () = tokio::time::sleep_until(until) => {}
                () = changed => {}
            }
        }
    }

    /// Makes this call the one that tries what is to be tried. `None`: another call was faster.
    fn reserve(&self, names: &BreakerNames) -> Option<CallAdmission> {
        let (mut all, now) = (self.lock_breakers(), now());
        for name in names {
            if let Some(breaker) = all.get(name)
                && breaker.is_passable(now, false).is_err()
            {
                return None;
            }
        }
        let mut tries = Vec::new();
        for name in names {
            if let Some(breaker) = all.get_mut(name)
                && let BreakerState::Open(_) = breaker.state
            {
                breaker.change(BreakerState::Trying { has_begun: false });
                tries.push((name.clone(), breaker.epoch));
            }
        }
        Some(match tries.is_empty() {
            true => CallAdmission::default(),
            false => CallAdmission::with_held(Box::new(BreakerReservation { breakers: self.clone(), tries })),
        })
    }

    /// Begins a call.
    pub fn begin_call(&self, names: BreakerNames) -> BreakerCall {
        let (mut all, now) = (self.lock_breakers(), now());
        let epochs = names.each_ref().map(|name| {
            let breaker = all.entry(name.clone()).or_default();
            match &mut breaker.state {
                BreakerState::Trying { has_begun } => *has_begun = true,
                BreakerState::Open(until) if *until <= now => breaker.change(BreakerState::Trying { has_begun: true }),
                BreakerState::Open(_) | BreakerState::Closed => {}
            }
            breaker.epoch
        });
        drop(all);
        BreakerCall { breakers: self.clone(), names, epochs, ended: false }
    }

    /// Another call may try these hosts, if nothing is known about them yet.
    fn release<'n>(&self, tries: impl Iterator<Item = (&'n String, u64)>, has_begun: bool) {
        let (mut all, now) = (self.lock_breakers(), now());
        for (name, epoch) in tries {
            if let Some(breaker) = all.get_mut(name)
                && breaker.epoch == epoch
                && breaker.state == (BreakerState::Trying { has_begun })
            {
                breaker.change(BreakerState::Open(now));
            }
        }
        drop(all);
        self.0.changed.notify_waiters();
    }
}

/// The right to try hosts. If it is dropped before the call has begun, another call gets it.
struct BreakerReservation {
    breakers: Breakers,
    tries: Vec<(String, u64)>,
}

impl Drop for BreakerReservation {
    fn drop(&mut self) {
        self.breakers.release(self.tries.iter().map(|(name, epoch)| (name, *epoch)), false);
    }
}

/// A call that has begun.
#[derive(Debug)]
pub(super) struct BreakerCall {
    breakers: Breakers,
    names: BreakerNames,
    epochs: [u64; 2],
    ended: bool,
}

impl BreakerCall {
    /// Records the outcome of the call for its host and its model: `None` unless it failed in a way that counts.
    pub fn record_outcome(mut self, failures: [Option<&ModelError>; 2]) {
        self.ended = true;
        let (mut all, now) = (self.breakers.lock_breakers(), now());
        let mut has_changed = false;
        for ((name, epoch), failure) in self.names.iter().zip(self.epochs).zip(failures) {
            if let Some(breaker) = all.get_mut(name) {
                has_changed |= breaker.record(epoch, failure, now);
            }
        }
        drop(all);
        if has_changed {
            self.breakers.0.changed.notify_waiters();
        }
    }
}

/// A dropped call has no outcome, so another call tries the host.
impl Drop for BreakerCall {
    fn drop(&mut self) {
        if !self.ended {
            self.breakers.release(self.names.iter().zip(self.epochs), true);
        }
    }
}

/// Whether no connection was possible, or it broke.
pub(super) fn is_unreachable(error: &ModelError) -> bool {
    // With a part of an answer, it was reached.
    error.kind == ModelErrorKind::Network && error.came.is_none()
}

/// Whether a failure is not the fault of the request.
pub(super) fn counts_as_failure(error: &ModelError) -> bool {
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

    fn names() -> BreakerNames {
        ["host".to_owned(), "host model".to_owned()]
    }

    /// A call of the model that fails or not.
    fn call(breakers: &Breakers, fails: bool) {
        let error = fails.then(broken);
        breakers.begin_call(names()).record_outcome([None, error.as_ref()]);
    }

    async fn admitted(breakers: &Breakers) -> (CallAdmission, Duration) {
        let start = now();
        (breakers.admit_call(&names(), &|_| ()).await, now() - start)
    }

    /// Calls fail for as long as it takes to open the breaker.
    async fn open(breakers: &Breakers) {
        call(breakers, true);
        for _ in 1..FAILURES {
            tokio::time::advance(SPAN / 4).await;
            call(breakers, true);
        }
        assert!(breakers.find_pause(&names()).is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn a_burst_of_failures_opens_nothing_and_failures_over_time_do() {
        for burst in [8, 64, 512] {
            let breakers = Breakers::default();
            for wave in [0, 1] {
                (0..burst).for_each(|_| call(&breakers, true));
                assert!(breakers.find_pause(&names()).is_none(), "{burst} failures, wave {wave}");
                tokio::time::advance(Duration::from_secs(1)).await;
            }
            (0..burst).for_each(|_| call(&breakers, false));
            assert!(breakers.find_pause(&names()).is_none());
        }
        let breakers = Breakers::default();
        open(&breakers).await;
        assert_eq!(breakers.find_pause(&names()).unwrap().why, "no");
        // Old failures, and those among many successes, are no reason.
        let breakers = Breakers::default();
        for second in 0..60 {
            call(&breakers, second % 3 == 0);
            tokio::time::advance(Duration::from_secs(1)).await;
        }
        assert!(breakers.find_pause(&names()).is_none(), "a third of the calls fails");
        let breakers = Breakers::default();
        for _ in 0..20 {
            call(&breakers, true);
            tokio::time::advance(WINDOW / 3).await;
        }
        assert!(breakers.find_pause(&names()).is_none(), "hardly any calls");
    }

    #[tokio::test(start_paused = true)]
    async fn one_call_tries_it_and_the_others_wait_for_its_outcome() {
        let breakers = Breakers::default();
        open(&breakers).await;
        let (first, _) = admitted(&breakers).await;
        let others: Vec<_> = (0..10)
            .map(|_| {
                let breakers = breakers.clone();
                tokio::spawn(async move { admitted(&breakers).await.1 })
            })
            .collect();
        tokio::task::yield_now().await;
        assert!(others.iter().all(|other| !other.is_finished()));
        // The first call fails: the next one tries after twice the time. It succeeds, and the rest follow at once.
        call(&breakers, true);
        drop(first);
        let (second, waited) = admitted(&breakers).await;
        assert_eq!(waited, FIRST_PAUSE * 2);
        call(&breakers, false);
        drop(second);
        for other in others {
            assert!(other.await.unwrap() <= FIRST_PAUSE * 2);
        }
        assert!(breakers.find_pause(&names()).is_none());
        // It is counted from the start.
        (0..FAILURES * 2).for_each(|_| call(&breakers, true));
        assert!(breakers.find_pause(&names()).is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn pauses_grow_to_a_limit_and_no_call_waits_forever() {
        let breakers = Breakers::default();
        open(&breakers).await;
        let mut waits = Vec::new();
        for _ in 0..8 {
            let (_held, waited) = admitted(&breakers).await;
            call(&breakers, true);
            waits.push(waited.as_secs());
        }
        assert_eq!(waits[1..], [2, 4, 8, 10, 10, 10, 10]);
        // Somebody holds the right to try it and never begins.
        let (held, _) = admitted(&breakers).await;
        let (overdue, waited) = admitted(&breakers).await;
        assert_eq!(waited, PATIENCE);
        assert!(overdue.is_final());
        drop(held);
    }

    #[tokio::test(start_paused = true)]
    async fn a_try_that_is_dropped_lets_the_next_one_try() {
        let breakers = Breakers::default();
        open(&breakers).await;
        // Before it begins, and while it is in progress.
        drop(admitted(&breakers).await);
        let (admission, waited) = admitted(&breakers).await;
        assert_eq!(waited, Duration::ZERO);
        drop((breakers.begin_call(names()), admission));
        let (_admission, waited) = admitted(&breakers).await;
        assert_eq!(waited, Duration::ZERO);
        call(&breakers, false);
        assert!(breakers.find_pause(&names()).is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn calls_from_before_say_nothing_about_it_now() {
        let breakers = Breakers::default();
        let (slow, hopeful) = (breakers.begin_call(names()), breakers.begin_call(names()));
        open(&breakers).await;
        hopeful.record_outcome([None, None]);
        assert!(breakers.find_pause(&names()).is_some());
        let (_admission, _) = admitted(&breakers).await;
        let trying = breakers.begin_call(names());
        slow.record_outcome([None, Some(&broken())]);
        trying.record_outcome([None, None]);
        assert!(breakers.find_pause(&names()).is_none());
    }

    #[test]
    fn what_a_host_thinks_of_a_request_does_not_count() {
        for status in [400, 401, 404, 429] {
            assert!(!counts_as_failure(&ModelError::new(ModelErrorKind::Status(status), "no")));
        }
        let unreachable = ModelError::new(ModelErrorKind::Network, "no");
        assert!(
            counts_as_failure(&broken()) && !is_unreachable(&broken()),
            "a host that reports an error can be reached"
        );
        assert!(counts_as_failure(&unreachable) && is_unreachable(&unreachable));
    }
}
