//! Limits on the usage of a run.

use trefoil_ir::Guard;
use trefoil_ir::prices::DollarAmount;

use super::{CheckSubject, Verdict, VerdictRuling, guard_name};
use crate::request::Usage;

/// The verdicts of the limits among the guards: of those that only warn, or of those that reject.
pub fn check_usage_caps(guards: &[Guard], used: Usage, warning: bool) -> impl Iterator<Item = Verdict> {
    guards.iter().filter_map(move |guard| {
        let passed = match guard {
            Guard::TokenCap { max_tokens: max, warn } if *warn == warning => {
                let used = used.total_tokens();
                if used > *max { Some(format!("token cap exceeded: {used} tokens used, limit is {max}")) } else { None }
            }
            Guard::CostCap { max_micro: max, warn } if *warn == warning => {
                let spent = used.cost_micro;
                if spent > *max {
                    let (shown, limit) = (DollarAmount(spent), DollarAmount(*max));
                    Some(format!("cost cap exceeded: {shown} spent, limit is {limit}"))
                } else {
                    None
                }
            }
            _ => return None,
        };
        let ruling = if warning { VerdictRuling::Flagged } else { VerdictRuling::Refused };
        Some(match passed {
            None => Verdict::without_finding(guard_name(guard), CheckSubject::Spending),
            Some(why) => Verdict::with_finding(guard_name(guard), CheckSubject::Spending, ruling, why),
        })
    })
}
