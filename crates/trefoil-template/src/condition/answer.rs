//! The answer to a question, once the driver has filled its holes.

use super::Condition;
use crate::error::Question;
use crate::value::{Hole, Value};

impl Question {
    /// The answer after every hole is filled, as in [`Value::fill`]. An error of `fill` is returned.
    pub fn answer<T: Into<Option<String>>, E>(&self, fill: &mut dyn FnMut(&Hole) -> Result<T, E>) -> Result<bool, E> {
        let filled = self.expression.fill(fill)?;
        if self.presence {
            return Ok(true);
        }
        // Nothing is masked any more, so nothing is undecided. If a work limit is exceeded, the answer is `false`.
        Ok(Condition::from_parts(filled, Vec::new(), self.policy).evaluate(&Value::Null).unwrap_or(false))
    }
}
