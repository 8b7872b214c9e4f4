//! Host limits: the number of concurrent model calls, and their rate.
//!
//! All runs that share [`Places`] share the limits. Calls wait in a queue. A call that is no longer needed leaves it
//! when its future is dropped.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;
use trefoil_machine::request::{ModelRequest, Usage};
use trefoil_prices::estimate;

/// The period over which a provider's rates are measured.
const MINUTE: Duration = Duration::from_secs(60);

/// The number of concurrent model calls, and their rate. `None`: no limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostLimits {
    /// Concurrent calls of all runs together.
    pub in_flight: Option<u32>,
    /// Concurrent calls of one run.
    pub in_flight_per_run: Option<u32>,
    /// Limits of providers, by name.
    pub providers: BTreeMap<String, ProviderLimits>,
}

impl Default for HostLimits {
    fn default() -> Self {
        Self { in_flight: Some(64), in_flight_per_run: None, providers: BTreeMap::new() }
    }
}

/// The limits of one provider, for all runs together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ProviderLimits {
    /// Concurrent calls.
    pub in_flight: Option<u32>,
    /// Calls started within any minute.
    pub requests_per_minute: Option<u32>,
    /// Tokens of the calls started within any minute. Until its usage is known, a call counts with an estimate.
    pub tokens_per_minute: Option<u64>,
}

/// The queue of model calls.
#[derive(Debug)]
pub struct Places {
    all: Option<Arc<Semaphore>>,
    per_run: Option<u32>,
    providers: BTreeMap<String, Provider>,
}

#[derive(Debug)]
struct Provider {
    in_flight: Option<Arc<Semaphore>>,
    pace: Option<Arc<Pace>>,
}

impl Default for Places {
    fn default() -> Self {
        Self::new(&HostLimits::default())
    }
}

fn semaphore(limit: Option<u32>) -> Option<Arc<Semaphore>> {
    // A limit of 0 would block all calls.
    limit.map(|limit| Arc::new(Semaphore::new((limit.max(1) as usize).min(Semaphore::MAX_PERMITS))))
}

impl Places {
    /// A queue with these limits.
    pub fn new(limits: &HostLimits) -> Self {
        let provider = |(name, limits): (&String, &ProviderLimits)| {
            let provider = Provider { in_flight: semaphore(limits.in_flight), pace: Pace::new(limits).map(Arc::new) };
            (name.clone(), provider)
        };
        Self {
            all: semaphore(limits.in_flight),
            per_run: limits.in_flight_per_run,
            providers: limits.providers.iter().map(provider).collect(),
        }
    }

    /// The places of one run.
    pub(crate) fn of_run(self: &Arc<Self>) -> PlacesOfRun {
        PlacesOfRun { run: semaphore(self.per_run), shared: self.clone() }
    }
}

/// The queue for the calls of one run.
#[derive(Debug)]
pub(crate) struct PlacesOfRun {
    run: Option<Arc<Semaphore>>,
    shared: Arc<Places>,
}

impl PlacesOfRun {
    /// Waits for a place. The shared limit is acquired last, so that a call that waits for its provider does not occupy
    /// a place that other calls could use.
    pub async fn enter(&self, request: &ModelRequest) -> CallPermit {
        let provider = request.provider.as_deref().and_then(|name| self.shared.providers.get(name));
        let mut permits = Vec::new();
        permits.extend(permit(self.run.as_ref()).await);
        permits.extend(permit(provider.and_then(|p| p.in_flight.as_ref())).await);
        let paced = match provider.and_then(|p| p.pace.as_ref()) {
            Some(pace) => Some((pace.clone(), pace.enter(expected(request)).await)),
            None => None,
        };
        permits.extend(permit(self.shared.all.as_ref()).await);
        CallPermit { _permits: permits, paced }
    }
}

async fn permit(of: Option<&Arc<Semaphore>>) -> Option<OwnedSemaphorePermit> {
    // Semaphores are never closed.
    of?.clone().acquire_owned().await.ok()
}

/// The tokens that a call is estimated to use.
fn expected(request: &ModelRequest) -> u64 {
    let messages = (request.messages.len() as u64).saturating_mul(estimate::MESSAGE);
    let prompt = estimate::cautious_tokens(request.bytes()).saturating_add(messages);
    prompt.saturating_add(estimate::answer(request.parameters.max_tokens))
}

/// The permission to make a call, until it is dropped.
#[derive(Debug, Default)]
pub(crate) struct CallPermit {
    _permits: Vec<OwnedSemaphorePermit>,
    paced: Option<(Arc<Pace>, u64)>,
}

impl CallPermit {
    /// Reports the usage of the call, if it is known.
    pub fn used(&self, usage: Option<Usage>) {
        if let (Some((pace, id)), Some(usage)) = (&self.paced, usage.filter(Usage::is_known)) {
            pace.used(*id, usage.total());
        }
    }
}

/// The rate of a provider's calls: those started within the last minute. A sliding window, because smoothed rates allow
/// twice as many in the first minute, which the provider rejects.
#[derive(Debug)]
struct Pace {
    requests: Option<u32>,
    tokens: Option<u64>,
    /// The holder of this lock is next: first come, first served.
    turn: tokio::sync::Mutex<()>,
    recent: Mutex<Recent>,
    /// Notified when the usage of a call is known, because it may be less than expected.
    room: Notify,
}

#[derive(Debug, Default)]
struct Recent {
    next: u64,
    begun: VecDeque<PacedCall>,
}

#[derive(Debug)]
struct PacedCall {
    id: u64,
    at: Instant,
    tokens: u64,
}

impl Pace {
    fn new(limits: &ProviderLimits) -> Option<Self> {
        let ProviderLimits { requests_per_minute: requests, tokens_per_minute: tokens, .. } = *limits;
        (requests.is_some() || tokens.is_some()).then(|| Self {
            requests,
            tokens,
            turn: tokio::sync::Mutex::default(),
            recent: Mutex::default(),
            room: Notify::new(),
        })
    }

    fn recent(&self) -> MutexGuard<'_, Recent> {
        self.recent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn enter(&self, tokens: u64) -> u64 {
        let _turn = self.turn.lock().await;
        loop {
            let room = self.room.notified();
            let until = match self.begin(now(), tokens) {
                Ok(id) => return id,
                Err(until) => until,
            };
            tokio::select! {
                () = tokio::time::sleep_until(until) => {}
                () = room => {}
            }
        }
    }

    /// Starts a call, or returns when to try again.
    fn begin(&self, now: Instant, tokens: u64) -> Result<u64, Instant> {
        let mut recent = self.recent();
        while recent.begun.front().is_some_and(|first| first.at + MINUTE <= now) {
            recent.begun.pop_front();
        }
        // A call that is larger than the limit starts when no other call counts.
        if let Some(first) = recent.begun.front() {
            let used = recent.begun.iter().map(|begun| begun.tokens).fold(tokens, u64::saturating_add);
            let many = self.requests.is_some_and(|limit| recent.begun.len() >= limit as usize);
            if many || self.tokens.is_some_and(|limit| used > limit) {
                return Err(first.at + MINUTE);
            }
        }
        let id = recent.next;
        recent.next += 1;
        recent.begun.push_back(PacedCall { id, at: now, tokens });
        Ok(id)
    }

    fn used(&self, id: u64, tokens: u64) {
        if let Some(begun) = self.recent().begun.iter_mut().find(|begun| begun.id == id) {
            begun.tokens = tokens;
        }
        self.room.notify_waiters();
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

    fn pace(requests: Option<u32>, tokens: Option<u64>) -> Pace {
        let limits = ProviderLimits { requests_per_minute: requests, tokens_per_minute: tokens, in_flight: None };
        Pace::new(&limits).unwrap()
    }

    #[test]
    fn no_minute_has_more_calls_than_may_be_begun_in_one() {
        let pace = pace(Some(3), None);
        let start = now();
        let (mut at, mut begun) = (start, Vec::new());
        for n in 0..10u64 {
            at += Duration::from_secs(n % 4);
            while let Err(until) = pace.begin(at, 1) {
                assert!(until > at, "it is worth waiting");
                at = until;
            }
            begun.push(at - start);
        }
        for window in begun.windows(4) {
            assert!(window[3] - window[0] >= MINUTE, "{begun:?}");
        }
        assert!(begun[9] < MINUTE * 4, "and none waits longer than it has to: {begun:?}");
    }

    #[test]
    fn tokens_count_as_expected_until_they_are_known() {
        let pace = pace(None, Some(100));
        let start = now();
        let first = pace.begin(start, 90).unwrap();
        pace.used(first, 40);
        assert!(pace.begin(start, 60).is_ok(), "40 and 60 are within the limit");
        assert_eq!(pace.begin(start, 1), Err(start + MINUTE), "one more has to wait for the minute to end");
        assert!(pace.begin(start + MINUTE, 1_000).is_ok(), "one that is larger than the limit goes alone");
    }

    #[tokio::test]
    async fn whoever_waits_goes_on_when_less_was_used_than_expected() {
        let pace = pace(None, Some(100));
        let first = pace.enter(90).await;
        let second = async {
            tokio::time::timeout(Duration::from_secs(30), pace.enter(60))
                .await
                .expect("it does not wait for the minute")
        };
        tokio::join!(second, async {
            tokio::time::sleep(Duration::from_millis(5)).await;
            pace.used(first, 10);
        });
    }
}
