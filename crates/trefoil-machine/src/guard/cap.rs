//! Limits on the usage of a run.

use trefoil_ir::Guard;
use trefoil_ir::prices::Dollars;

use super::{Ruling, Side, Verdict, name};
use crate::request::Usage;

/// The verdicts of the limits among the guards: of those that only warn, or of those that reject.
pub fn verdicts(guards: &[Guard], used: Usage, warning: bool) -> impl Iterator<Item = Verdict> {
    guards.iter().filter_map(move |guard| {
        let passed = match guard {
            Guard::TokenCap { max_tokens: max, warn } if *warn == warning => {
                let used = used.total();
                (used > *max).then(|| format!("token cap exceeded: {used} tokens used, limit is {max}"))
            }
            Guard::CostCap { max_micro: max, warn } if *warn == warning => {
                let spent = used.cost_micro;
                let (shown, limit) = (Dollars(spent), Dollars(*max));
                (spent > *max).then(|| format!("cost cap exceeded: {shown} spent, limit is {limit}"))
            }
            _ => return None,
        };
        let ruling = if warning { Ruling::Flagged } else { Ruling::Refused };
        Some(match passed {
            None => Verdict::passed(name(guard), Side::Spending),
            Some(why) => Verdict::found(name(guard), Side::Spending, ruling, why),
        })
    })
}
