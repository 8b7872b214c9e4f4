//! What is known of a subject of shared limits. Stores keep it as JSON: a contract, to which fields can be added.
//!
//! Limits per minute are those of a sliding window, as within a process. What was begun is counted by seconds, so that a
//! request costs the same whatever the limit is. All calls of a second leave the window together, a minute after the last
//! of them: there may be less than the limit in a minute, by what was begun in one second, but never more.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use super::decision::SubjectUse;
use super::{MINUTE_MS, PermitAnswer, PermitLease, PermitRequest, PermitUse, ReturnedPermit};

/// How long a place in the queue is kept without being asked about, in milliseconds.
const PLACE_MS: u64 = 4_000;
/// The period whose calls are counted together, in milliseconds.
const SLOT_MS: u64 = 1_000;

/// Permits, places in the queue, and what was begun within the last minute.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SubjectState {
    /// By the names of their processes.
    holders: BTreeMap<String, Vec<PermitRow>>,
    /// In the order of time.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    rates: Vec<RateRow>,
}

/// A permit, or a place in the queue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct PermitRow {
    id: u64,
    /// When it was asked for first, in milliseconds: the order of the queue.
    asked: u64,
    granted: bool,
    /// The tokens that are expected.
    #[serde(default, skip_serializing_if = "is_zero")]
    tokens: u64,
    /// The expiry, in milliseconds.
    until: u64,
}

/// What was begun in a second.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct RateRow {
    /// The number of the second.
    slot: u64,
    /// When the last one was begun, in milliseconds.
    last_at: u64,
    calls: u64,
    /// Expected ones, until the used ones are known.
    #[serde(default, skip_serializing_if = "is_zero")]
    tokens: u64,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl SubjectState {
    /// Forgets what does not count any more. Leases that have expired within `spared` count as valid.
    pub fn forget_past(&mut self, now: u64, spared: Option<&RangeInclusive<u64>>) {
        let is_valid = |row: &PermitRow| row.until >= now || spared.is_some_and(|spared| spared.contains(&row.until));
        self.retain_permits(is_valid);
        self.rates.retain(|row| row.last_at.saturating_add(MINUTE_MS) > now && row.calls > 0);
    }

    fn retain_permits(&mut self, keep: impl Fn(&PermitRow) -> bool) {
        self.holders.retain(|_, rows| {
            rows.retain(&keep);
            !rows.is_empty()
        });
    }

    /// Decides about a request: a permit, or a place in the queue. What does not count any more must have been
    /// [forgotten](Self::forget_past).
    pub fn take_permit(&mut self, request: &PermitRequest, lease: &PermitLease) -> PermitAnswer {
        let now = lease.now;
        let counted = if request.counts_rate() { Some(now) } else { None };
        let own = self.remove_permit(request.id);
        if matches!(own, Some(PermitRow { granted: true, .. })) {
            // The answer got lost.
            self.add_permit(request, lease, now, Some(lease.until));
            return PermitAnswer::Granted { begun: counted };
        }
        // Clocks of hosts may differ a little, but whoever comes later is behind.
        let asked = request.asked.unwrap_or_else(|| self.last_place().map_or(now, |last| now.max(last + 1)));
        let wait = request.find_wait(&self.current_use(request.id, asked), asked, now);
        let Some(wait) = wait else {
            if request.is_held() {
                self.add_permit(request, lease, asked, Some(lease.until));
            }
            if counted.is_some() {
                self.count_call(now, request.tokens);
            }
            return PermitAnswer::Granted { begun: counted };
        };
        if request.waits {
            // Whoever asks often changes nothing most times.
            let place = own.filter(|row| row.until > now.saturating_add(PLACE_MS / 2));
            match place {
                Some(row) => self.add_row(&lease.holder, row),
                None => self.add_permit(request, lease, asked, None),
            }
        }
        PermitAnswer::Wait(wait)
    }

    /// Permits and places are given back.
    pub fn return_permits(&mut self, returned: &[ReturnedPermit]) {
        for permit in returned {
            self.remove_permit(permit.id);
            let Some(begun) = permit.begun else { continue };
            let Some(row) = self.rates.iter_mut().find(|row| row.slot == begun / SLOT_MS) else { continue };
            let used = match permit.used {
                PermitUse::Unknown => continue,
                PermitUse::Tokens(used) => used,
                PermitUse::Unused => {
                    row.calls = row.calls.saturating_sub(1);
                    0
                }
            };
            row.tokens = row.tokens.saturating_sub(permit.tokens).saturating_add(used);
        }
    }

    /// Renews those of these permits that are held.
    pub fn renew_permits(&mut self, ids: &[u64], until: u64) {
        for row in self.holders.values_mut().flatten() {
            if row.granted && ids.contains(&row.id) {
                row.until = until;
            }
        }
    }

    /// Removes what processes have that are gone. Returns their names.
    pub fn remove_holders(&mut self, is_gone: impl Fn(&str) -> bool) -> Vec<String> {
        let mut gone = Vec::new();
        self.holders.retain(|holder, _| {
            let is_gone = is_gone(holder);
            if is_gone {
                gone.push(holder.clone());
            }
            !is_gone
        });
        gone
    }

    /// Whether somebody waits.
    pub fn has_places(&self) -> bool {
        self.holders.values().flatten().any(|row| !row.granted)
    }

    /// The time from which on nothing of it counts, if nothing changes.
    pub fn quiet_at(&self) -> u64 {
        let permits = self.holders.values().flatten().map(|row| row.until);
        let rates = self.rates.iter().map(|row| row.last_at.saturating_add(MINUTE_MS));
        permits.chain(rates).max().unwrap_or(0)
    }

    fn remove_permit(&mut self, id: u64) -> Option<PermitRow> {
        let mut removed = None;
        for rows in self.holders.values_mut() {
            if let Some(at) = rows.iter().position(|row| row.id == id) {
                removed = Some(rows.remove(at));
                break;
            }
        }
        if removed.is_some() {
            self.holders.retain(|_, rows| !rows.is_empty());
        }
        removed
    }

    /// Adds a permit until then. `None`: a place in the queue.
    fn add_permit(&mut self, request: &PermitRequest, lease: &PermitLease, asked: u64, held_until: Option<u64>) {
        let until = held_until.unwrap_or(lease.now.saturating_add(PLACE_MS));
        let row = PermitRow { id: request.id, asked, granted: held_until.is_some(), tokens: request.tokens, until };
        self.add_row(&lease.holder, row);
    }

    fn add_row(&mut self, holder: &str, row: PermitRow) {
        match self.holders.get_mut(holder) {
            Some(rows) => rows.push(row),
            None => drop(self.holders.insert(holder.to_owned(), vec![row])),
        }
    }

    /// When the last one in the queue was asked for.
    fn last_place(&self) -> Option<u64> {
        let places = self.holders.values().flatten().filter(|row| !row.granted);
        places.map(|row| row.asked).max()
    }

    fn count_call(&mut self, now: u64, tokens: u64) {
        let slot = now / SLOT_MS;
        match self.rates.iter_mut().find(|row| row.slot == slot) {
            Some(row) => {
                row.last_at = row.last_at.max(now);
                row.calls += 1;
                row.tokens = row.tokens.saturating_add(tokens);
            }
            None => self.rates.push(RateRow { slot, last_at: now, calls: 1, tokens }),
        }
    }

    /// What is used by others, as a request sees it that was asked for first at `asked`.
    fn current_use(&self, id: u64, asked: u64) -> SubjectUse {
        let mut all = SubjectUse::default();
        for row in self.holders.values().flatten() {
            if row.granted {
                all.held += 1;
            } else if (row.asked, row.id) < (asked, id) {
                all.ahead += 1;
                all.ahead_tokens = all.ahead_tokens.saturating_add(row.tokens);
            }
        }
        for row in &self.rates {
            all.calls = all.calls.saturating_add(row.calls);
            all.tokens = all.tokens.saturating_add(row.tokens);
            all.first = match all.first {
                Some(first) => Some(first.min(row.last_at)),
                None => Some(row.last_at),
            };
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::ProviderLimits;

    const LIMITS: ProviderLimits =
        ProviderLimits { in_flight: Some(1), requests_per_minute: Some(9), tokens_per_minute: Some(1_000) };

    fn request(id: u64) -> PermitRequest {
        PermitRequest { id, subject: "s".to_owned(), limits: LIMITS, tokens: 100, asked: None, waits: true }
    }

    fn lease(holder: &str, now: u64) -> PermitLease {
        PermitLease { holder: holder.to_owned(), now, until: now + 30_000 }
    }

    fn used(state: &SubjectState) -> (u64, u64, u64, u64) {
        let all = state.current_use(0, u64::MAX);
        (all.held, all.ahead, all.calls, all.tokens)
    }

    #[test]
    fn what_is_stored_is_as_small_as_this() {
        let mut state = SubjectState::default();
        state.take_permit(&request(1), &lease("a", 5_000));
        state.take_permit(&request(2), &lease("b", 5_001));
        let json = serde_json::to_string(&state).unwrap();
        assert_eq!(
            json,
            r#"{"holders":{"a":[{"id":1,"asked":5000,"granted":true,"tokens":100,"until":35000}],"b":[{"id":2,"asked":5001,"granted":false,"tokens":100,"until":9001}]},"rates":[{"slot":5,"last_at":5000,"calls":1,"tokens":100}]}"#
        );
        assert_eq!(serde_json::from_str::<SubjectState>(&json).unwrap(), state);
        assert_eq!(serde_json::from_str::<SubjectState>("{}").unwrap(), SubjectState::default());
        assert_eq!(state.quiet_at(), 65_000);
    }

    #[test]
    fn counts_are_corrected_by_what_is_known() {
        let back = |used| ReturnedPermit { id: 1, subject: "s".to_owned(), begun: Some(7_900), tokens: 100, used };
        for (given, calls, tokens) in [
            (PermitUse::Unused, 0, 0),
            (PermitUse::Unknown, 1, 100),
            (PermitUse::Tokens(40), 1, 40),
            (PermitUse::Tokens(150), 1, 150),
        ] {
            let mut state = SubjectState::default();
            assert_eq!(
                state.take_permit(&request(1), &lease("a", 7_900)),
                PermitAnswer::Granted { begun: Some(7_900) }
            );
            state.return_permits(&[back(given)]);
            assert_eq!(used(&state), (0, 0, calls, tokens), "{given:?}");
        }
    }

    #[test]
    fn what_is_over_is_forgotten_unless_it_could_not_be_renewed() {
        let mut state = SubjectState::default();
        state.take_permit(&request(1), &lease("a", 5_000));
        state.take_permit(&request(2), &lease("b", 5_001));
        assert!(state.has_places());
        state.forget_past(9_001, None);
        assert_eq!(used(&state), (1, 1, 1, 100));
        state.forget_past(9_002, None);
        assert_eq!((used(&state), state.has_places()), ((1, 0, 1, 100), false));
        state.forget_past(40_000, Some(&(34_000..=36_000)));
        assert_eq!(used(&state), (1, 0, 1, 100), "its lease ended while nobody could renew it");
        state.renew_permits(&[1, 7], 50_000);
        state.forget_past(50_000, None);
        assert_eq!(used(&state), (1, 0, 1, 100));
        state.forget_past(64_999, None);
        assert_eq!(used(&state), (0, 0, 1, 100));
        state.forget_past(65_000, None);
        assert_eq!(state, SubjectState::default());
    }

    #[test]
    fn whoever_comes_later_is_behind_also_with_a_slow_clock() {
        let mut state = SubjectState::default();
        state.take_permit(&request(1), &lease("a", 5_000));
        let PermitAnswer::Wait(second) = state.take_permit(&request(2), &lease("fast", 5_900)) else { panic!() };
        let PermitAnswer::Wait(third) = state.take_permit(&request(3), &lease("slow", 5_100)) else { panic!() };
        assert_eq!((second.asked, third.asked, third.ahead), (5_900, 5_901, 1));
        assert_eq!(state.remove_holders(|holder| holder == "a"), ["a"]);
        let again = PermitRequest { asked: Some(third.asked), ..request(3) };
        assert!(matches!(state.take_permit(&again, &lease("slow", 5_200)), PermitAnswer::Wait(_)));
        let again = PermitRequest { asked: Some(second.asked), ..request(2) };
        assert!(matches!(state.take_permit(&again, &lease("fast", 6_100)), PermitAnswer::Granted { .. }));
    }

    /// What a process of the simulation does.
    enum Doing {
        Nothing,
        Waits(PermitRequest),
        Calls(PermitRequest, u64),
    }

    #[test]
    fn whatever_processes_do_the_limits_hold_and_everybody_gets_a_turn() {
        let limits =
            ProviderLimits { in_flight: Some(3), requests_per_minute: Some(40), tokens_per_minute: Some(3_000) };
        let mut chance = 7_u64;
        let mut dice = |most: u64| {
            chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (chance >> 33) % most
        };
        let mut state = SubjectState::default();
        let mut processes: Vec<Doing> = (0..6).map(|_| Doing::Nothing).collect();
        let (mut now, mut id, mut longest) = (1_000_000_u64, 0, 0);
        let mut begun: Vec<(u64, u64)> = Vec::new();
        for _ in 0..30_000 {
            now += dice(60);
            let number = dice(6) as usize;
            let held = processes.iter().filter(|doing| matches!(doing, Doing::Calls(..))).count();
            state.forget_past(now, None);
            let request = match std::mem::replace(&mut processes[number], Doing::Nothing) {
                Doing::Nothing => {
                    id += 1;
                    PermitRequest { limits, tokens: dice(200), ..request(id) }
                }
                Doing::Waits(request) => request,
                Doing::Calls(request, at) => {
                    // One in ten calls was not made. The others use less than was expected.
                    let used = if dice(10) == 0 { PermitUse::Unused } else { PermitUse::Tokens(request.tokens / 2) };
                    let (id, tokens) = (request.id, request.tokens);
                    state.return_permits(&[ReturnedPermit {
                        id,
                        subject: request.subject,
                        begun: Some(at),
                        tokens,
                        used,
                    }]);
                    let call = begun.iter_mut().rev().find(|call| call.0 == at).unwrap();
                    match used {
                        PermitUse::Unused => begun.retain(|call| call.0 != at),
                        _ => call.1 = tokens / 2,
                    }
                    continue;
                }
            };
            processes[number] = match state.take_permit(&request, &lease(&format!("process {number}"), now)) {
                PermitAnswer::Granted { begun: at } => {
                    longest = longest.max(now.saturating_sub(request.asked.unwrap_or(now)));
                    assert!(held < 3);
                    // Each call has a time of its own, so that it can be found.
                    assert_eq!(at, Some(now));
                    now += 1;
                    begun.retain(|call| call.0 + MINUTE_MS > now);
                    begun.push((now - 1, request.tokens));
                    assert!(begun.len() <= 40, "{} calls in a minute", begun.len());
                    let tokens: u64 = begun.iter().map(|call| call.1).sum();
                    assert!(tokens <= 3_000, "{tokens} tokens in a minute");
                    Doing::Calls(request, now - 1)
                }
                PermitAnswer::Wait(wait) => Doing::Waits(PermitRequest { asked: Some(wait.asked), ..request }),
                PermitAnswer::Unavailable { .. } => panic!(),
            };
        }
        assert!(id > 400 && longest < 2 * MINUTE_MS, "{id} requests, the longest wait was {longest} ms");
    }
}
