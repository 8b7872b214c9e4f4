//! Whether a permit is granted.

use super::{MINUTE_MS, PermitAnswer, PermitRequest, PermitWait};

/// A wait for calls in flight is worth telling after this long, because most of them end soon. In milliseconds.
const WORTH_TELLING_MS: u64 = 1_000;

/// The name of the limit for what is held at the same time.
const IN_FLIGHT: &str = "in_flight";

/// What all processes use of a subject, without the request that is decided.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct SubjectUse {
    /// Permits that are held.
    pub held: u64,
    /// Requests before this one in the queue.
    pub ahead: u64,
    /// The tokens that they expect.
    pub ahead_tokens: u64,
    /// Calls begun within the last minute.
    pub calls: u64,
    /// Their tokens.
    pub tokens: u64,
    /// The last time at which one was begun of those that leave the window first, in milliseconds.
    pub first: Option<u64>,
}

impl PermitRequest {
    /// Why it is not granted at this time, if it was asked for first at `asked`. `None`: it is granted.
    ///
    /// Those before it in the queue count as if they had got what they want. So nobody overtakes, also not a call with
    /// few tokens one with many.
    pub(super) fn find_wait(&self, all: &SubjectUse, asked: u64, now: u64) -> Option<PermitWait> {
        let limit = self.reached_limit(all)?;
        let wait_ms = match all.first {
            Some(first) if limit != IN_FLIGHT => Some(first.saturating_add(MINUTE_MS).saturating_sub(now).max(1)),
            _ => None,
        };
        let waited_ms = now.saturating_sub(asked);
        Some(PermitWait { limit, wait_ms, ahead: all.ahead, asked, waited_ms, seen: 0 })
    }

    fn reached_limit(&self, all: &SubjectUse) -> Option<&'static str> {
        let limits = &self.limits;
        // A limit of 0 would block all calls.
        let is_full = |used: u64, limit: Option<u32>| match limit {
            Some(limit) => used.saturating_add(all.ahead) >= u64::from(limit.max(1)),
            None => false,
        };
        if is_full(all.held, limits.in_flight) {
            return Some(IN_FLIGHT);
        }
        if is_full(all.calls, limits.requests_per_minute) {
            return Some("requests_per_minute");
        }
        // A call that is larger than the limit starts when no other call counts.
        let used = all.tokens.saturating_add(all.ahead_tokens).saturating_add(self.tokens);
        match limits.tokens_per_minute {
            Some(limit) if used > limit && (all.calls > 0 || all.ahead > 0) => Some("tokens_per_minute"),
            _ => None,
        }
    }

    /// Whether what is begun has to be counted.
    pub(super) fn counts_rate(&self) -> bool {
        self.limits.requests_per_minute.is_some() || self.limits.tokens_per_minute.is_some()
    }

    /// Whether a granted permit is held, so that it must be renewed and given back.
    pub fn is_held(&self) -> bool {
        self.limits.in_flight.is_some()
    }
}

impl PermitAnswer {
    /// With the returns that were [seen](PermitWait::seen) before the request.
    #[must_use]
    pub fn with_seen(self, seen: u64) -> Self {
        match self {
            Self::Wait(wait) => Self::Wait(PermitWait { seen, ..wait }),
            other => other,
        }
    }
}

impl PermitWait {
    /// Whether people should know about it.
    pub(crate) fn is_worth_telling(&self) -> bool {
        self.limit != IN_FLIGHT || self.waited_ms >= WORTH_TELLING_MS
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::ProviderLimits;

    fn request(limits: ProviderLimits, tokens: u64) -> PermitRequest {
        PermitRequest { id: 1, subject: "s".to_owned(), limits, tokens, asked: None, waits: true }
    }

    #[test]
    fn those_before_it_count_as_if_they_had_what_they_want() {
        let two = request(ProviderLimits { in_flight: Some(2), ..ProviderLimits::default() }, 0);
        let at = |held, ahead| two.find_wait(&SubjectUse { held, ahead, ..SubjectUse::default() }, 4_000, 5_000);
        assert_eq!(at(1, 0), None);
        assert_eq!(at(0, 1), None, "there is room for both");
        let wait = PermitWait { limit: IN_FLIGHT, wait_ms: None, ahead: 1, asked: 4_000, waited_ms: 1_000, seen: 0 };
        assert_eq!(at(1, 1), Some(wait));
        let tokens = request(ProviderLimits { tokens_per_minute: Some(100), ..ProviderLimits::default() }, 10);
        let at = |ahead_tokens| {
            let all = SubjectUse { ahead: 1, ahead_tokens, calls: 1, tokens: 50, ..SubjectUse::default() };
            tokens.find_wait(&all, 5_000, 5_000).map(|wait| wait.limit)
        };
        assert_eq!((at(40), at(41)), (None, Some("tokens_per_minute")));
    }

    #[test]
    fn a_rate_says_when_there_is_room_and_a_limit_of_nothing_lets_one_through() {
        let one = request(ProviderLimits { requests_per_minute: Some(0), ..ProviderLimits::default() }, 0);
        assert_eq!(one.find_wait(&SubjectUse::default(), 5_000, 5_000), None);
        let all = SubjectUse { calls: 1, first: Some(4_000), ..SubjectUse::default() };
        let wait = one.find_wait(&all, 5_000, 5_000).unwrap();
        assert_eq!((wait.limit, wait.wait_ms), ("requests_per_minute", Some(59_000)));
        assert_eq!(one.find_wait(&all, 5_000, 90_000).unwrap().wait_ms, Some(1), "it is never a busy loop");
    }
}
