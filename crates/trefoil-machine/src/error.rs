//! A failed run, as data.

use std::fmt;
use std::num::NonZeroU32;

use trefoil_syntax::Location;
use trefoil_template::limits;

use crate::key::Key;
use crate::run_limits::RunLimits;
use crate::text::shorten_text;

/// The maximum number of characters of an answer that a failure keeps.
const ANSWER: usize = 400;

/// Why a step or a run failed. Serializable, because failures of activities are journal entries. It is one pointer: results, entries
/// and events that can be failures are moved often, and most of them are none.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
pub struct RunError(Box<RunErrorData>);

/// The data of a [`RunError`].
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct RunErrorData {
    /// Stable code: `MODEL_ERROR`, `TOOL_ERROR`, `TOOL_TIMEOUT`, `TIMEOUT`, `STRUCTURED_OUTPUT_INVALID`,
    /// `MAX_ITERATIONS_EXCEEDED`, `MAX_STATE_VISITS_EXCEEDED`, `MAX_TRANSITIONS_EXCEEDED`, `NO_TRANSITION`, `INPUT_INVALID`,
    /// `INTERPOLATION_ERROR`, `GUARDRAIL_VIOLATION`, `BUDGET_EXCEEDED`, `HUMAN_TIMEOUT`, `CONSENSUS_FAILED`,
    /// `AGENT_NOT_FOUND`, `COMMAND_FAILED`, `VALIDATION_FAILED`, `NONDETERMINISM`, `LIMIT_EXCEEDED`, `REFUSED`,
    /// `JOURNAL_ERROR`, `CANCELLED`.
    pub code: String,
    /// The message: one line, lower case, no full stop.
    pub message: String,
    /// The step that failed.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub key: Option<Key>,
    /// Its place in the manifest. Never stored, because file ids are only valid in one load.
    #[serde(skip)]
    pub location: Option<Location>,
    /// The cause, for retry policies.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cause: Option<FailureCause>,
    /// Advice.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub help: Option<String>,
    /// What was sent, in one line: the destination, for a tool with what is in its address, and the size.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub sent: Option<String>,
    /// The start of the answer that caused the failure, in displayable form.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub answer: Option<String>,
    /// How long to wait before the next attempt, as requested by the provider.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub retry_after_ms: Option<NonZeroU32>,
    /// For an `INTERPOLATION_ERROR`: the unresolved placeholder.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub interpolation: Option<InterpolationFailure>,
    /// The other steps to which it applies.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub others: Vec<Key>,
    /// At a limit of the command line: the limits with which the run can continue.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub raise: Option<RunLimits>,
    /// For a `WOULD_REPEAT`: the run has ended, and would end in the same way, so there is no step to allow. Never stored, because
    /// nothing has happened then.
    #[serde(skip)]
    pub ends_again: bool,
}

impl std::ops::Deref for RunError {
    type Target = RunErrorData;
    fn deref(&self) -> &RunErrorData {
        &self.0
    }
}

impl std::ops::DerefMut for RunError {
    fn deref_mut(&mut self) -> &mut RunErrorData {
        &mut self.0
    }
}

/// An unresolved placeholder: the three attributes of SirenSpec's `InterpolationError`.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct InterpolationFailure {
    /// The path, without braces and filter.
    pub expression: String,
    /// The first segment of the path.
    pub namespace: String,
    /// The reason, for people.
    pub reason: String,
}

impl fmt::Display for InterpolationFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { expression, namespace, reason } = self;
        write!(f, "InterpolationError in '{{{{ {expression} }}}}' [{namespace}]: {reason}")
    }
}

/// The cause of a failure, for retry policies.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureCause {
    /// The provider answered with this HTTP status.
    Status(u16),
    /// There was no response, and nothing was sent.
    Network,
    /// The request was sent, but there was no complete response, so the outcome is unknown.
    Broken,
    /// The response cannot be used. The request was executed, or may have been.
    Unusable,
    /// The tool refuses the arguments: nothing was done, and the same call fails again.
    Arguments,
    /// A guardrail rejected it.
    Guardrail,
    /// A timeout.
    Timeout,
}

impl FailureCause {
    /// Whether a retry may succeed because the network failed.
    pub fn is_network(&self) -> bool {
        matches!(self, Self::Network | Self::Broken)
    }

    /// Whether the request may have been executed despite the failure. A gateway that got no answer in time, or one that it cannot
    /// use, does not know either (RFC 9110, 15.6.3 and 15.6.5; 520 and 524 are Cloudflare's). After any other status the server
    /// itself says that it failed, or has not read the request.
    pub fn may_be_done(&self) -> bool {
        matches!(self, Self::Broken | Self::Unusable | Self::Timeout | Self::Status(502 | 504 | 520 | 524))
    }
}

impl RunError {
    /// With the limit of the command line that would be enough, if there is one.
    #[must_use]
    pub fn with_raise(mut self, raise: impl Into<Option<RunLimits>>) -> Self {
        self.raise = raise.into();
        self
    }

    /// A failure with a code and a message.
    pub fn new(code: &str, message: impl Into<String>) -> Self {
        Self(Box::new(RunErrorData { code: code.to_owned(), message: message.into(), ..RunErrorData::default() }))
    }
    /// Its data, to take parts out of it.
    pub fn into_data(self) -> RunErrorData {
        *self.0
    }
    /// Sets the step that failed, and its place in the manifest.
    #[must_use]
    pub fn at_step(mut self, key: Option<Key>, location: Option<Location>) -> Self {
        (self.key, self.location) = (key, location);
        self
    }
    /// What a run stopped before, why, and what allows it.
    pub fn stopped_before(&self) -> String {
        let step = self.key.as_ref().map(|key| format!("stopped before `{}`: ", key.display_name()));
        let step = step.unwrap_or_else(|| "stopped: ".to_owned());
        let help = self.help.as_ref().map(|help| format!("; {help}")).unwrap_or_default();
        format!("{step}{}{help}", self.message)
    }
    /// The steps that the run may repeat only if that is allowed.
    pub fn repeated_steps(&self) -> impl Iterator<Item = &Key> {
        let repeats = self.code == "WOULD_REPEAT" && !self.ends_again;
        self.key.iter().chain(&self.others).filter(move |_| repeats)
    }
    /// An unresolved placeholder.
    pub fn for_placeholder(expression: &str, namespace: &str, reason: impl Into<String>) -> Self {
        let failed = InterpolationFailure {
            expression: expression.to_owned(),
            namespace: namespace.to_owned(),
            reason: reason.into(),
        };
        let mut error = Self::new("INTERPOLATION_ERROR", failed.to_string());
        error.interpolation = Some(failed);
        error
    }
    /// A value that exceeds the limits; `what` names it.
    pub fn too_large(what: &str) -> Self {
        let message = format!(
            "{what} is nested more than {} levels deep or has more than {} values",
            limits::VALUE_DEPTH,
            limits::VALUE_NODES
        );
        Self::new("LIMIT_EXCEEDED", message)
    }
    /// Sets the cause.
    #[must_use]
    pub fn with_cause(mut self, cause: FailureCause) -> Self {
        self.cause = Some(cause);
        self
    }
    /// Sets the advice.
    #[must_use]
    pub fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
    /// Sets what was sent, in one line.
    #[must_use]
    pub fn sent_as(mut self, sent: Option<String>) -> Self {
        self.sent = sent;
        self
    }
    /// Sets the answer that caused the failure; only its start is kept.
    #[must_use]
    pub fn with_answer(mut self, answer: &str) -> Self {
        self.answer = (!answer.is_empty()).then(|| shorten_text(answer, ANSWER));
        self
    }
    /// The failure as stored in journals: without its place in the files of this load.
    #[must_use]
    pub fn without_location(mut self) -> Self {
        self.location = None;
        self
    }
    /// The start of the answer that caused the failure.
    pub fn answer_excerpt(&self) -> Option<&str> {
        self.answer.as_deref()
    }
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.message)
    }
}
impl std::error::Error for RunError {}
