//! What the policies of steps say about a failure.

use trefoil_ir::{RetryOn, Step};

use crate::error::{FailureCause, RunError};

/// Whether a failure is a guardrail's rejection that no failure policy may handle.
pub fn goes_up(step: &Step, error: &RunError) -> bool {
    if error.code != "GUARDRAIL_VIOLATION" {
        return false;
    }
    let is_retried = matches!(&step.policy.retry, Some(retry) if retry.on.contains(&RetryOn::Guardrail));
    !(is_retried && error.cause == Some(FailureCause::Guardrail))
}
