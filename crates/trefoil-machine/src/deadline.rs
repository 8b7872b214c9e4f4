//! The time that a person has for an answer.

use std::fmt;

use trefoil_ir::OnTimeout;

use crate::moment::format_moment;
use crate::request::HumanRequest;

/// The end of the time that a person has for an answer.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct AnswerDeadline {
    /// In milliseconds since 1970-01-01 UTC.
    #[serde(serialize_with = "crate::moment::serialize_moment")]
    pub answer_by: u64,
    /// The answer that is used otherwise. `None`: the step fails.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub otherwise: Option<String>,
}

impl AnswerDeadline {
    /// That of a question, if it has one.
    pub fn from_request(request: &HumanRequest) -> Option<Self> {
        let otherwise = match &request.on_timeout {
            // Only a person is asked again.
            OnTimeout::Answer(default) if request.refused.is_none() => Some(default.to_string()),
            OnTimeout::Answer(_) | OnTimeout::Fail => None,
        };
        Some(Self { answer_by: request.answer_by?, otherwise })
    }

    /// Whether the time has ended at this moment of the wall clock. An answer that is given then does not count.
    pub fn is_over(&self, at: u64) -> bool {
        at >= self.answer_by
    }

    /// What is said after it: `not answered by 2026-03-01 09:05:00Z; when the run continues, the step fails`
    pub fn missed_message(&self) -> String {
        format!("not answered by {}; when the run continues, {}", format_moment(self.answer_by), self.then())
    }

    /// What happens without an answer.
    fn then(&self) -> String {
        match &self.otherwise {
            Some(default) => format!("the answer is `{default}`"),
            None => "the step fails".to_owned(),
        }
    }
}

impl HumanRequest {
    /// Whether an answer that is given at this moment of the wall clock comes after the question's time.
    pub fn is_late(&self, at: u64) -> bool {
        matches!(AnswerDeadline::from_request(self), Some(deadline) if deadline.is_over(at))
    }
}

/// `answer by 2026-03-01 09:05:00Z, or the step fails`
impl fmt::Display for AnswerDeadline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "answer by {}, or {}", format_moment(self.answer_by), self.then())
    }
}
