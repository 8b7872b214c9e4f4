//! Guardrails that limit the tokens or the cost of a run. Only the machine knows the usage, so it checks them, not the driver.

use trefoil_ir::Guard;
use trefoil_ir::prices::DollarAmount;

use super::{CheckSubject, Verdict, VerdictRuling, guard_name};
use crate::request::Usage;

/// Which limits to check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CapAction {
    /// Those that only warn.
    Warn,
    /// Those that reject the next call.
    Reject,
}

/// The verdicts of the usage limits among the guards that have this action.
pub fn check_usage_caps(guards: &[Guard], usage: Usage, action: CapAction) -> Vec<Verdict> {
    let ruling = match action {
        CapAction::Warn => VerdictRuling::Flagged,
        CapAction::Reject => VerdictRuling::Refused,
    };
    let mut verdicts = Vec::new();
    for guard in guards {
        let (warns, excess) = match guard {
            Guard::TokenCap { max_tokens, warn } => (*warn, token_excess(usage.total_tokens(), *max_tokens)),
            Guard::CostCap { max_micro, warn } => (*warn, cost_excess(usage.cost_micro, *max_micro)),
            _ => continue,
        };
        if warns != (action == CapAction::Warn) {
            continue;
        }
        verdicts.push(match excess {
            None => Verdict::without_finding(guard_name(guard), CheckSubject::Spending),
            Some(why) => Verdict::with_finding(guard_name(guard), CheckSubject::Spending, ruling, why),
        });
    }
    verdicts
}

/// Says that more tokens were used than the limit, if so.
fn token_excess(used: u64, limit: u64) -> Option<String> {
    if used <= limit {
        return None;
    }
    Some(format!("token cap exceeded: {used} tokens used, limit is {limit}"))
}

/// Says that more was spent than the limit, if so. Both are in millionths of a dollar.
fn cost_excess(spent: u64, limit: u64) -> Option<String> {
    if spent <= limit {
        return None;
    }
    let (spent, limit) = (DollarAmount(spent), DollarAmount(limit));
    Some(format!("cost cap exceeded: {spent} spent, limit is {limit}"))
}
