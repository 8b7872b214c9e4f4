//! Retry, timeout and failure policies of a step.

use std::sync::Arc;

use trefoil_syntax::Location;

use crate::expr::Expr;

/// A step's policies.
#[derive(Debug, Clone, Default)]
pub struct StepPolicy {
    /// Tried again on failure.
    pub retry: Option<Retry>,
    /// Each try is cancelled after this many milliseconds and fails with `TIMEOUT`.
    pub timeout_ms: Option<u64>,
    /// Where the manifest has that limit, or the one of the step's items or of its answer.
    pub timeout_at: Option<Location>,
    /// What a failure that remains does.
    pub on_failure: OnFailure,
}

/// Retries. The n-th delay is by backoff, at most `max_delay_ms`, times a factor of 0.8 to 1.2 where `jitter` (derived
/// from the run's seed and the step's key, so a replay waits the same).
#[derive(Debug, Clone, PartialEq)]
pub struct Retry {
    /// Tries altogether, at least 1.
    pub max_attempts: u32,
    /// Growth.
    pub backoff: Backoff,
    /// The first delay.
    pub base_delay_ms: u64,
    /// The longest.
    pub max_delay_ms: u64,
    /// Random factor.
    pub jitter: bool,
    /// Which failures.
    pub on: Vec<RetryOn>,
}

/// How delays grow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Backoff {
    /// base
    Constant,
    /// base times n
    Linear,
    /// base times 2 to the n-1
    Exponential,
}

/// A class of failures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RetryOn {
    /// An HTTP status.
    Status(u16),
    /// No answer at all.
    Network,
    /// A guardrail refused the answer.
    Guardrail,
    /// A time limit.
    Timeout,
    /// An error code.
    Code(Arc<str>),
}

/// What a remaining failure does. A guardrail's refusal goes up whatever stands here, past a graph's fallback too, unless
/// [`Retry::on`] lists guardrails: then it is a failure like any other once the tries are used up. A refused user message
/// always goes up: the next try would send the same one.
#[derive(Debug, Clone, Default)]
pub enum OnFailure {
    /// Goes up.
    #[default]
    Fail,
    /// The step counts as done; its slot stays unset.
    Skip,
    /// The step counts as done with this result (shaped and stored like any other).
    Use(Box<Expr>),
}
