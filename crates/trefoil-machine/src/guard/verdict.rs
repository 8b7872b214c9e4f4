//! What a check of a text came to: of a guardrail or of a validator, in one form for events, journals and traces.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::error::{Cause, RunError};

/// What one check came to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// The check, as its manifest names it: `injection`, `pii`, `regex`, `semantic`.
    pub by: Arc<str>,
    /// What was looked at.
    pub of: Side,
    /// What follows.
    pub ruling: Ruling,
    /// 0 to 1, of checks that weigh.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
    /// 0 to 1, of checks by judges.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<f64>,
    /// What was found. Never the personal data itself.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why: String,
    /// The placeholders, as written, that put into the message what was found.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub from: Vec<Arc<str>>,
}

/// What is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// The user message.
    Input,
    /// What data puts into the system prompt. The author's own words there are not looked at.
    Prompt,
    /// The model's answer.
    Answer,
    /// The result of an iteration.
    Result,
    /// What the run has spent.
    Spending,
}

impl Side {
    /// In a message.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Input => "input",
            Self::Prompt => "system prompt",
            Self::Answer => "answer",
            Self::Result => "result",
            Self::Spending => "spending",
        }
    }
}

/// What follows from a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ruling {
    /// Nothing was found.
    Passed,
    /// Something was found, and it is only said.
    Flagged,
    /// What was found was replaced or cut.
    Changed,
    /// The text goes no further.
    Refused,
}

impl Ruling {
    /// In a line for people.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Flagged => "flagged",
            Self::Changed => "changed",
            Self::Refused => "refused",
        }
    }
}

/// In one line, for whoever follows the events.
impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.by, self.ruling.name())?;
        if let Some(score) = self.score.filter(|_| self.ruling == Ruling::Passed) {
            write!(f, ", score {score}")?;
        }
        if self.why.is_empty() { Ok(()) } else { write!(f, ": {}", self.finding()) }
    }
}

impl Verdict {
    /// Nothing was found.
    pub fn passed(by: impl Into<Arc<str>>, of: Side) -> Self {
        Self {
            by: by.into(),
            of,
            ruling: Ruling::Passed,
            score: None,
            confidence: None,
            why: String::new(),
            from: Vec::new(),
        }
    }

    /// Something was.
    pub fn found(by: impl Into<Arc<str>>, of: Side, ruling: Ruling, why: String) -> Self {
        Self { ruling, why, ..Self::passed(by, of) }
    }

    /// What to say of it in one line: what was found, and what put it there.
    pub fn finding(&self) -> String {
        let why = &self.why;
        match self.from.as_slice() {
            [] => why.clone(),
            from => format!("{why}, from `{}`", from.join("`, `")),
        }
    }

    /// The failure of the call that was checked, where it goes no further. A refused message has no cause: no retry policy
    /// matches it, the next try would send the same message.
    pub fn refusal(&self) -> Option<RunError> {
        let error = || RunError::new("GUARDRAIL_VIOLATION", self.finding());
        match (self.ruling, self.of) {
            (Ruling::Refused, Side::Input | Side::Prompt) => Some(error()),
            (Ruling::Refused, _) => Some(error().cause(Cause::Guardrail)),
            _ => None,
        }
    }
}
