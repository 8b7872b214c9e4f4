//! A limit that fails the run, of the operator or of a flow, with what was used of it.

use trefoil_ir::Budget;
use trefoil_syntax::Location;

use crate::run_limits::{LimitKind, RunLimits};

/// A limit that fails the run.
pub struct HardLimit {
    /// What it counts.
    pub kind: LimitKind,
    /// The limit.
    pub limit: u64,
    /// How much of it was used.
    pub used: u64,
    /// What calls in progress may use of it.
    pub reserved: u64,
    /// Whether it belongs to a flow; otherwise it is the operator's.
    pub of_flow: bool,
    /// Its place in the manifest, if known.
    pub at: Option<Location>,
}

impl HardLimit {
    /// How much is left.
    pub fn amount_left(&self) -> u64 {
        self.limit.saturating_sub(self.used).saturating_sub(self.reserved)
    }
}

/// The limits of a flow. The time is not among them: it is no amount that calls use.
pub fn limits_of(budget: &Budget) -> RunLimits {
    RunLimits::from_fn(|kind| match kind {
        LimitKind::Cost => budget.max_cost_micro,
        LimitKind::Calls => budget.max_calls,
        LimitKind::Tokens => budget.max_tokens,
    })
}
