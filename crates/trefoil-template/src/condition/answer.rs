//! The answer to a question, once the driver has filled its holes.

use super::Condition;
use crate::error::HoleQuestion;
use crate::value::{Hole, Value};

impl HoleQuestion {
    /// The answer after every hole is filled, as in [`Value::fill_holes`]. An error of `fill` is returned.
    pub fn answer_with<T: Into<Option<String>>, E>(
        &self,
        fill: &mut dyn FnMut(&Hole) -> Result<T, E>,
    ) -> Result<bool, E> {
        let filled = self.expression.fill_holes(fill)?;
        if self.presence {
            return Ok(true);
        }
        // Nothing is masked any more, so nothing is undecided. If a work limit is exceeded, the answer is `false`.
        Ok(Condition::from_parts(filled, Vec::new(), self.policy).evaluate_in(&Value::Null).unwrap_or(false))
    }
}
