//! The rate of a provider's calls.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

use super::ProviderLimits;
use crate::locks::lock;

/// The period over which a provider's rates are measured.
const MINUTE: Duration = Duration::from_secs(60);

/// The rate of a provider's calls: those started within the last minute. A sliding window, because smoothed rates allow
/// twice as many in the first minute, which the provider rejects.
#[derive(Debug)]
pub(super) struct ProviderRate {
    requests: Option<u32>,
    tokens: Option<u64>,
    /// The holder of this lock is next: first come, first served.
    turn: tokio::sync::Mutex<()>,
    recent: Mutex<RecentCalls>,
    /// Notified when the usage of a call is known, because it may be less than expected.
    room: Notify,
    /// The number of calls that wait.
    waiting: AtomicU32,
}

#[derive(Debug, Default)]
struct RecentCalls {
    next: u64,
    begun: VecDeque<PacedCall>,
}

#[derive(Debug)]
struct PacedCall {
    id: u64,
    at: Instant,
    tokens: u64,
}

impl ProviderRate {
    pub fn new(limits: &ProviderLimits) -> Option<Self> {
        let ProviderLimits { requests_per_minute: requests, tokens_per_minute: tokens, .. } = *limits;
        if requests.is_none() && tokens.is_none() {
            return None;
        }
        Some(Self {
            requests,
            tokens,
            turn: tokio::sync::Mutex::default(),
            recent: Mutex::default(),
            room: Notify::new(),
            waiting: AtomicU32::new(0),
        })
    }

    fn lock_recent(&self) -> MutexGuard<'_, RecentCalls> {
        lock(&self.recent)
    }

    /// Waits until a call with these tokens may start. `tell` is called once if it has to wait, with the name of the limit
    /// and about how long it waits.
    pub async fn wait_for_start(&self, tokens: u64, tell: impl Fn(&'static str, Option<Duration>)) -> u64 {
        let ahead = WaitingCallCount::count_in(&self.waiting);
        if let Some((limit, wait)) = self.delay(now(), tokens, ahead.0) {
            tell(limit, wait);
        }
        let _turn = self.turn.lock().await;
        loop {
            let room = self.room.notified();
            let until = match self.try_start(now(), tokens) {
                Ok(id) => return id,
                Err(until) => until,
            };
            tokio::select! {
                () = tokio::time::sleep_until(until) => {}
                () = room => {}
            }
        }
    }

    /// The limit that a call behind `ahead` others has to wait for, and about how long. How long is known if the next call
    /// waits, and if only the number of calls counts.
    fn delay(&self, now: Instant, tokens: u64, ahead: u32) -> Option<(&'static str, Option<Duration>)> {
        let recent = self.lock_recent();
        let (mut begun, mut used): (Vec<&PacedCall>, u64) = (Vec::new(), tokens);
        for call in &recent.begun {
            if call.at + MINUTE > now {
                begun.push(call);
                used = used.saturating_add(call.tokens);
            }
        }
        let ahead = ahead as usize;
        if let Some(limit) = self.requests {
            let limit = (limit as usize).max(1);
            // The calls that start before this one, in groups of as many as may start within a minute.
            if let Some(late) = (begun.len() + ahead).checked_sub(limit) {
                let (rounds, late) = (late / limit, late % limit);
                let round = MINUTE.saturating_mul(u32::try_from(rounds).unwrap_or(u32::MAX).saturating_add(1));
                let at = match begun.get(late) {
                    Some(call) => call.at,
                    None => now,
                };
                let wait = (at + round).saturating_duration_since(now);
                return Some(("requests_per_minute", if self.tokens.is_none() { Some(wait) } else { None }));
            }
        }
        let (first, limit) = (begun.first()?, self.tokens?);
        if ahead > 0 {
            return Some(("tokens_per_minute", None));
        }
        if used <= limit {
            return None;
        }
        Some(("tokens_per_minute", Some((first.at + MINUTE).saturating_duration_since(now))))
    }

    /// Starts a call, or returns when to try again.
    fn try_start(&self, now: Instant, tokens: u64) -> Result<u64, Instant> {
        let mut recent = self.lock_recent();
        while let Some(first) = recent.begun.front()
            && first.at + MINUTE <= now
        {
            recent.begun.pop_front();
        }
        // A call that is larger than the limit starts when no other call counts.
        if let Some(first) = recent.begun.front() {
            let mut used = tokens;
            for call in &recent.begun {
                used = used.saturating_add(call.tokens);
            }
            let are_too_many = matches!(self.requests, Some(limit) if recent.begun.len() >= limit as usize);
            let are_too_large = matches!(self.tokens, Some(limit) if used > limit);
            if are_too_many || are_too_large {
                return Err(first.at + MINUTE);
            }
        }
        let id = recent.next;
        recent.next += 1;
        recent.begun.push_back(PacedCall { id, at: now, tokens });
        Ok(id)
    }

    /// A call that was not made does not count.
    pub fn cancel_call(&self, id: u64) {
        self.lock_recent().begun.retain(|begun| begun.id != id);
        self.room.notify_waiters();
    }

    pub fn report_tokens(&self, id: u64, tokens: u64) {
        if let Some(begun) = self.lock_recent().begun.iter_mut().find(|begun| begun.id == id) {
            begun.tokens = tokens;
        }
        self.room.notify_waiters();
    }
}

/// A call that waits, counted until it is dropped. Holds the number of calls before it.
struct WaitingCallCount<'p>(u32, &'p AtomicU32);

impl<'p> WaitingCallCount<'p> {
    fn count_in(waiting: &'p AtomicU32) -> Self {
        Self(waiting.fetch_add(1, Ordering::Relaxed), waiting)
    }
}

impl Drop for WaitingCallCount<'_> {
    fn drop(&mut self) {
        self.1.fetch_sub(1, Ordering::Relaxed);
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

    fn pace(requests: Option<u32>, tokens: Option<u64>) -> ProviderRate {
        let limits = ProviderLimits { requests_per_minute: requests, tokens_per_minute: tokens, in_flight: None };
        ProviderRate::new(&limits).unwrap()
    }

    #[test]
    fn no_minute_has_more_calls_than_may_be_begun_in_one() {
        let pace = pace(Some(3), None);
        let start = now();
        let (mut at, mut begun) = (start, Vec::new());
        for n in 0..10u64 {
            at += Duration::from_secs(n % 4);
            while let Err(until) = pace.try_start(at, 1) {
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
        let first = pace.try_start(start, 90).unwrap();
        pace.report_tokens(first, 40);
        assert!(pace.try_start(start, 60).is_ok(), "40 and 60 are within the limit");
        assert_eq!(pace.try_start(start, 1), Err(start + MINUTE), "one more has to wait for the minute to end");
        assert!(pace.try_start(start + MINUTE, 1_000).is_ok(), "one that is larger than the limit goes alone");
    }

    #[tokio::test]
    async fn whoever_waits_goes_on_when_less_was_used_than_expected() {
        let pace = pace(None, Some(100));
        let first = pace.wait_for_start(90, |_, _| ()).await;
        let second = async {
            tokio::time::timeout(Duration::from_secs(30), pace.wait_for_start(60, |_, _| ()))
                .await
                .expect("it does not wait for the minute")
        };
        tokio::join!(second, async {
            tokio::time::sleep(Duration::from_millis(5)).await;
            pace.report_tokens(first, 10);
        });
    }
}
