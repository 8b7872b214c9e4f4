//! The result of a check of a text, by a guardrail or a validator, in one form for events, journals and traces.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::error::{FailureCause, RunError};

/// The result of one check.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// The check, by its name in the manifest: `injection`, `pii`, `regex`, `semantic`.
    pub by: Arc<str>,
    /// What was checked.
    pub of: CheckSubject,
    /// The consequence.
    pub ruling: VerdictRuling,
    /// The score, 0 to 1, of checks that compute one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
    /// The confidence, 0 to 1, of checks by judges.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<f64>,
    /// What was found, without the personal data itself.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why: String,
    /// The placeholders, as written, that inserted what was found.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub from: Vec<Arc<str>>,
}

/// What is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckSubject {
    /// The user message.
    Input,
    /// Data inserted in the system prompt. The author's own text there is not checked.
    Prompt,
    /// The model's answer.
    Answer,
    /// The result of an iteration.
    Result,
    /// A tool call that a model requests.
    Call,
    /// The usage of the run.
    Spending,
}

impl CheckSubject {
    /// The name in messages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Input => "input",
            Self::Prompt => "system prompt",
            Self::Answer => "answer",
            Self::Result => "result",
            Self::Call => "tool call",
            Self::Spending => "spending",
        }
    }
}

/// The consequence of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VerdictRuling {
    /// Nothing was found.
    Passed,
    /// Something was found and only reported.
    Flagged,
    /// The matches were replaced, or the text was truncated.
    Changed,
    /// The text is rejected.
    Refused,
}

impl VerdictRuling {
    /// The name in a line for people.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Flagged => "flagged",
            Self::Changed => "changed",
            Self::Refused => "refused",
        }
    }
}

/// One line, for people who follow the events.
impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.by, self.ruling.name())?;
        if let Some(score) = self.score.filter(|_| self.ruling == VerdictRuling::Passed) {
            write!(f, ", score {score}")?;
        }
        if self.why.is_empty() { Ok(()) } else { write!(f, ": {}", self.describe_finding()) }
    }
}

impl Verdict {
    /// Nothing was found.
    pub fn without_finding(by: impl Into<Arc<str>>, of: CheckSubject) -> Self {
        Self {
            by: by.into(),
            of,
            ruling: VerdictRuling::Passed,
            score: None,
            confidence: None,
            why: String::new(),
            from: Vec::new(),
        }
    }

    /// Something was found.
    pub fn with_finding(by: impl Into<Arc<str>>, of: CheckSubject, ruling: VerdictRuling, why: String) -> Self {
        Self { ruling, why, ..Self::without_finding(by, of) }
    }

    /// A one-line description: what was found, and what inserted it.
    pub fn describe_finding(&self) -> String {
        let why = &self.why;
        match self.from.as_slice() {
            [] => why.clone(),
            from => format!("{why}, from `{}`", from.join("`, `")),
        }
    }

    /// The failure of the checked call, if the text is rejected. A rejected message has no cause, so no retry policy
    /// matches it: the next attempt would send the same message.
    pub fn rejection_error(&self) -> Option<RunError> {
        let error = || RunError::new("GUARDRAIL_VIOLATION", self.describe_finding());
        match (self.ruling, self.of) {
            (VerdictRuling::Refused, CheckSubject::Input | CheckSubject::Prompt) => Some(error()),
            (VerdictRuling::Refused, _) => Some(error().with_cause(FailureCause::Guardrail)),
            _ => None,
        }
    }
}
