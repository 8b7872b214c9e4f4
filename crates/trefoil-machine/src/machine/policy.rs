//! What the policies of steps say about a failure.

use trefoil_ir::{RetryOn, Step};

use crate::error::{FailureCause, RunError};

/// Whether a failure is a guardrail's rejection that no failure policy may handle.
pub fn goes_up(step: &Step, error: &RunError) -> bool {
    let retried = || step.policy.retry.as_ref().is_some_and(|r| r.on.contains(&RetryOn::Guardrail));
    error.code == "GUARDRAIL_VIOLATION" && !(error.cause == Some(FailureCause::Guardrail) && retried())
}
