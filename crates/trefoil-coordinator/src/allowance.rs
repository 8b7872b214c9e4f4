//! The allowance of a run, shared with the runs that its tools start: each limit applies to all of them together, at any time.
//!
//! The machine enforces the limits of one run, but learns the usage of a tool call only when the call has ended. Until then the
//! allowance counts it: before its model calls, each run reports its total, and every run above compares that with its limits.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use trefoil_ir::prices::DollarAmount;
use trefoil_machine::key::Key;
use trefoil_machine::request::Usage;
use trefoil_machine::{LimitKind, RunLimits, UsedAmounts};

/// What one run may use.
#[derive(Debug, Default)]
pub struct Allowance {
    state: Mutex<AllowanceState>,
    /// The share of the tool call that started this run. `None`: no tool call started it.
    above: Option<Share>,
}

#[derive(Debug, Default)]
struct AllowanceState {
    limit: RunLimits,
    /// The run's total, according to its machine.
    own: UsedAmounts,
    /// The totals of the runs started by tool calls in progress.
    beneath: BTreeMap<Key, CalledRunUsage>,
    /// Whether the run waits for permission at the operator's limits, instead of ending.
    waits: bool,
}

/// Why nothing was reserved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LimitRefusal {
    /// The message about the limit that would be exceeded.
    pub why: String,
    /// Whether the run with the limit waits until it is raised, so the run that was refused waits, too.
    pub waits: bool,
    /// What is limited.
    pub kind: LimitKind,
    /// The limit, and the usage that exceeds it. `None`: it is one of the manifest, which no option raises.
    pub exceeded: Option<(u64, u64)>,
}

impl LimitRefusal {
    /// The limit that would be enough. `more`: what is needed after the calls that were refused.
    pub fn raised_limits(&self, more: UsedAmounts) -> Option<RunLimits> {
        let (limit, needed) = self.exceeded?;
        Some(RunLimits::with_raised_limit(self.kind, limit, needed.saturating_add(more.get(self.kind))))
    }
}

#[derive(Debug, Default)]
struct CalledRunUsage {
    used: UsedAmounts,
    /// What the limits of the enclosing flows leave for the call.
    room: RunLimits,
}

impl AllowanceState {
    fn total_used(&self) -> UsedAmounts {
        let mut total = self.own;
        for called in self.beneath.values() {
            total = total.sum_with(called.used);
        }
        total
    }
}

/// The part of a run's allowance that belongs to one tool call.
#[derive(Debug, Clone)]
pub struct Share {
    of: Arc<Allowance>,
    key: Key,
    /// Usage of the same call that the run has already counted, because the call was made before.
    counted: Usage,
    /// Whether a request of the call was refused because of a limit.
    refused: Arc<AtomicBool>,
}

impl Allowance {
    /// Creates the allowance of a run. `above`: the share of the tool call that started it.
    pub fn new(above: Option<Share>) -> Arc<Self> {
        Arc::new(Self { state: Mutex::default(), above })
    }

    fn state(&self) -> MutexGuard<'_, AllowanceState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a tool call of another run started this run.
    pub fn is_of_call(&self) -> bool {
        self.above.is_some()
    }

    /// Returns the share of a call that starts. `room`: what the limits of the enclosing flows leave for it.
    pub fn create_share(self: &Arc<Self>, key: &Key, room: RunLimits, counted: Usage) -> Share {
        self.state().beneath.insert(key.clone(), CalledRunUsage { used: UsedAmounts::default(), room });
        Share { of: self.clone(), key: key.clone(), counted, refused: Arc::default() }
    }

    /// Updates the operator's limits and the run's total. Calls that are no longer open are part of that total. `waits`: the run
    /// waits for permission at these limits. Those of a run that a call started are compared at the top, with what all runs have used.
    pub fn update_totals(&self, (limit, waits): (RunLimits, bool), own: UsedAmounts, open: impl Fn(&Key) -> bool) {
        let limit = if self.is_of_call() { RunLimits::NONE } else { limit };
        let mut state = self.state();
        (state.limit, state.waits, state.own) = (limit, waits, own);
        state.beneath.retain(|key, _| open(key));
    }

    /// Reports the run's total to the runs above, which may have counted less since they were resumed.
    pub fn report_total(&self) {
        let Some(above) = &self.above else { return };
        let used = self.state().total_used().excess_over(above.counted.used_amounts());
        if let Some(part) = above.of.state().beneath.get_mut(&above.key) {
            part.used = used;
        }
        above.of.report_total();
    }

    /// Reserves the run's next model calls. `own`: the run's total including these calls.
    ///
    /// # Errors
    ///
    /// The limit that would be exceeded. Nothing is reserved then.
    pub fn reserve_calls(&self, own: UsedAmounts) -> Result<(), LimitRefusal> {
        let (before, all) = {
            let mut state = self.state();
            let before = std::mem::replace(&mut state.own, own);
            let all = state.total_used();
            if let Err(why) = passes(all, state.limit) {
                state.own = before;
                return Err(LimitRefusal { waits: state.waits, ..why });
            }
            (before, all)
        };
        let taken = match &self.above {
            Some(part) => part.take(all),
            None => Ok(()),
        };
        if taken.is_err() {
            self.state().own = before;
        }
        taken
    }
}

impl Share {
    /// The usage of this call that the run above has already counted.
    pub fn counted_usage(&self) -> Usage {
        self.counted
    }

    /// Whether a limit refused a request of a run that the call started.
    pub fn was_refused(&self) -> bool {
        self.refused.load(Ordering::Relaxed)
    }

    /// The limits of the command line for a run that the call starts: those of the run at the top. Here, they are compared with what all
    /// runs together have used; in the called run, which stores them, they hold for that run if it is continued by itself. A cost limit
    /// that cannot be reached makes it reserve what calls may cost, for a manifest above it.
    pub fn called_run_limits(&self) -> RunLimits {
        let (own, is_cost_limited) = {
            let state = self.of.state();
            let part = state.beneath.get(&self.key);
            (state.limit, matches!(part, Some(part) if part.room.cost_micro.is_some()))
        };
        let limits = match &self.of.above {
            Some(above) => above.called_run_limits(),
            None => own,
        };
        let unreachable = if is_cost_limited { Some(u64::MAX) } else { None };
        RunLimits { cost_micro: limits.cost_micro.or(unreachable), ..limits }
    }

    fn take(&self, whole: UsedAmounts) -> Result<(), LimitRefusal> {
        let taken = self.take_up(whole);
        self.refused.fetch_or(taken.is_err(), Ordering::Relaxed);
        taken
    }

    fn take_up(&self, whole: UsedAmounts) -> Result<(), LimitRefusal> {
        let used = whole.excess_over(self.counted.used_amounts());
        let (all, before) = {
            let mut state = self.of.state();
            let (limit, waits) = (state.limit, state.waits);
            let Some(part) = state.beneath.get_mut(&self.key) else { return Ok(()) };
            let before = std::mem::replace(&mut part.used, used);
            let refusal = match passes(used, part.room) {
                // A limit of the manifest cannot be raised.
                Err(why) => Some(LimitRefusal { exceeded: None, ..why }),
                Ok(()) => match passes(state.total_used(), limit) {
                    Err(why) => Some(LimitRefusal { waits, ..why }),
                    Ok(()) => None,
                },
            };
            if let Some(refusal) = refusal {
                if let Some(part) = state.beneath.get_mut(&self.key) {
                    part.used = before;
                }
                return Err(refusal);
            }
            (state.total_used(), before)
        };
        let taken = match &self.of.above {
            Some(above) => above.take(all),
            None => Ok(()),
        };
        if taken.is_err()
            && let Some(part) = self.of.state().beneath.get_mut(&self.key)
        {
            part.used = before;
        }
        taken
    }
}

/// Returns an error if the usage exceeds a limit.
fn passes(used: UsedAmounts, limits: RunLimits) -> Result<(), LimitRefusal> {
    let Some((kind, limit)) = limits.first_exceeded(used) else { return Ok(()) };
    let needed = used.get(kind);
    let why = match kind {
        LimitKind::Calls => {
            let calls = if limit == 1 { "model call is" } else { "model calls are" };
            format!("call limit reached: {limit} {calls} allowed, those of flows that are tools included")
        }
        LimitKind::Tokens => format!("token ceiling exceeded: {needed} tokens used, {limit} were left"),
        LimitKind::Cost => format!(
            "cost limit reached: with the next call, {} of {} would be spent, flows that are tools included",
            DollarAmount(needed),
            DollarAmount(limit)
        ),
    };
    Err(LimitRefusal { why, waits: false, kind, exceeded: Some((limit, needed)) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str) -> Key {
        Key(name.into())
    }

    fn limit(calls: u64) -> RunLimits {
        RunLimits { calls: Some(calls), ..RunLimits::NONE }
    }

    fn used(calls: u64) -> UsedAmounts {
        UsedAmounts { calls, tokens: calls * 10, cost_micro: calls * 100 }
    }

    #[test]
    fn runs_beneath_share_what_their_run_has_left() {
        let top = Allowance::new(None);
        top.update_totals((limit(5), false), used(1), |_| true);
        let part = |name| top.create_share(&key(name), RunLimits::NONE, Usage::default());
        let [one, other] = ["a", "b"].map(|name| Allowance::new(Some(part(name))));
        assert!(one.reserve_calls(used(2)).is_ok());
        assert!(other.reserve_calls(used(2)).is_ok());
        assert!(other.reserve_calls(used(3)).is_err(), "1 and 2 and 3 are more than 5");
        assert!(one.reserve_calls(used(2)).is_ok(), "what was refused was not taken");
        assert!(top.reserve_calls(used(2)).is_err(), "the run itself may not either");
        top.update_totals((limit(5), false), used(3), |open| *open == key("b"));
        assert!(other.reserve_calls(used(2)).is_ok(), "what was booked is not counted twice");
    }

    #[test]
    fn a_raised_limit_that_is_enough_for_what_is_needed_later_is_not_raised_more() {
        let top = Allowance::new(None);
        top.update_totals((limit(4), true), used(4), |_| true);
        let run = Allowance::new(Some(top.create_share(&key("a"), RunLimits::NONE, Usage::default())));
        let refusal = run.reserve_calls(used(1)).unwrap_err();
        let raise = |later| refusal.raised_limits(used(later)).and_then(|raise| raise.calls);
        assert_eq!((raise(0), raise(1), raise(5)), (Some(8), Some(8), Some(13)));
    }

    #[test]
    fn a_run_two_levels_down_is_held_by_the_top() {
        let top = Allowance::new(None);
        top.update_totals((limit(3), true), used(0), |_| true);
        let middle = Allowance::new(Some(top.create_share(&key("m"), RunLimits::NONE, Usage::default())));
        middle.reserve_calls(used(1)).unwrap();
        let bottom = Allowance::new(Some(middle.create_share(&key("b"), RunLimits::NONE, Usage::default())));
        assert!(bottom.reserve_calls(used(2)).is_ok());
        assert!(bottom.reserve_calls(used(3)).unwrap_err().waits, "as the top does at its limit");
    }

    #[test]
    fn ceilings_of_flows_around_a_call_hold_for_it_and_what_was_counted_before_is_not_counted_again() {
        let top = Allowance::new(None);
        top.update_totals((RunLimits { cost_micro: Some(1_000), ..RunLimits::NONE }, true), used(0), |_| true);
        let room = RunLimits { tokens: Some(25), cost_micro: Some(500), ..RunLimits::NONE };
        let counted = Usage { calls_beneath: 2, input_tokens: 20, cost_micro: 200, ..Usage::default() };
        let part = top.create_share(&key("a"), room, counted);
        assert_eq!(part.called_run_limits().cost_micro, Some(1_000), "the limit of the top, not what is left of it");
        let run = Allowance::new(Some(part));
        assert!(run.reserve_calls(used(4)).is_ok(), "2 of 4 calls were counted");
        assert_eq!(
            run.reserve_calls(used(5)).unwrap_err().why,
            "token ceiling exceeded: 30 tokens used, 25 were left",
            "3 are beyond the tokens that are left"
        );
    }
}
