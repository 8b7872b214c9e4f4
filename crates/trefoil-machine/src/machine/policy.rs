//! Which failures of a step its retry and failure policies may handle.

use trefoil_ir::{RetryOn, Step};

use crate::error::{FailureCause, RunError};

/// Whether a failure is a guardrail's rejection that no failure policy may handle, so that the run fails. Otherwise a policy such as
/// `skip` would hide that a guardrail rejected a text. If the step retries after rejections, its failure policy applies, too.
pub fn is_final_rejection(step: &Step, error: &RunError) -> bool {
    if error.code != "GUARDRAIL_VIOLATION" {
        return false;
    }
    let retries_rejections = matches!(&step.policy.retry, Some(retry) if retry.on.contains(&RetryOn::Guardrail));
    // A rejected message has no cause: no retry would help, because the next try would send the same message.
    !(retries_rejections && error.cause == Some(FailureCause::Guardrail))
}
