//! Retry, timeout and failure policies of a step.

use std::sync::Arc;

use trefoil_syntax::Location;

use crate::expr::ValueExpression;

/// A step's policies.
#[derive(Debug, Clone, Default)]
pub struct StepPolicy {
    /// Retries on failure. `None` if nothing is said about them, so that model calls and harmless tools have those of the engine; one
    /// attempt is none at all.
    pub retry: Option<Retry>,
    /// Each attempt is cancelled after this many milliseconds and fails with `TIMEOUT`.
    pub timeout_ms: Option<u64>,
    /// Where that limit is declared, or the one of the step's items or of its answer.
    pub timeout_at: Option<Location>,
    /// What happens when all attempts have failed.
    pub on_failure: OnStepFailure,
}

/// Retries. The n-th delay follows the backoff, is at most `max_delay_ms`, and with `jitter` is multiplied by a factor
/// from 0.8 to 1.2 (derived from the run's seed and the step's key, so a replay has the same delays).
#[derive(Debug, Clone, PartialEq)]
pub struct Retry {
    /// The total number of attempts, at least 1.
    pub max_attempts: u32,
    /// How delays grow.
    pub backoff: RetryBackoff,
    /// The first delay.
    pub base_delay_ms: u64,
    /// The longest delay.
    pub max_delay_ms: u64,
    /// Whether to apply the random factor.
    pub jitter: bool,
    /// The failures that are retried.
    pub on: Vec<RetryOn>,
}

/// How delays grow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetryBackoff {
    /// The base delay.
    Constant,
    /// The base delay times n.
    Linear,
    /// The base delay times 2 to the power of n-1.
    Exponential,
}

/// A class of failures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RetryOn {
    /// An HTTP status.
    Status(u16),
    /// No response at all.
    Network,
    /// A guardrail rejected the answer.
    Guardrail,
    /// A timeout.
    Timeout,
    /// An error code.
    Code(Arc<str>),
}

/// What happens when all attempts have failed. A guardrail's rejection always propagates, even past a graph's fallback,
/// unless [`Retry::on`] lists guardrails: then it is an ordinary failure after the last attempt. A rejected user
/// message always propagates, because the next attempt would send the same one.
#[derive(Debug, Clone, Default)]
pub enum OnStepFailure {
    /// The failure propagates.
    #[default]
    Fail,
    /// The step succeeds; its slot stays unset.
    Skip,
    /// The step succeeds with this result (shaped and stored as usual).
    Use(Box<ValueExpression>),
}
