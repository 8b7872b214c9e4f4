//! A cap on the money that a run has spent.

use trefoil_prices::Dollars;

use super::violation;
use crate::error::RunError;

/// What to say when the cap is passed; both in micro-dollars.
pub fn passed(spent: u64, max: u64) -> Option<String> {
    (spent > max).then(|| format!("cost cap exceeded: {} spent, limit is {}", Dollars(spent), Dollars(max)))
}

/// Refuses an answer when the cap is passed.
pub fn check(spent: u64, max: u64) -> Result<(), RunError> {
    passed(spent, max).map_or(Ok(()), |message| Err(violation(message)))
}
