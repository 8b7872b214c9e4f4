//! A cap on the tokens that a run has spent.

use super::violation;
use crate::error::RunError;

/// What to say when the cap is passed.
pub fn passed(used: u64, max: u64) -> Option<String> {
    (used > max).then(|| format!("token cap exceeded: {used} tokens used, limit is {max}"))
}

/// Refuses an answer when the cap is passed.
pub fn check(used: u64, max: u64) -> Result<(), RunError> {
    passed(used, max).map_or(Ok(()), |message| Err(violation(message)))
}
