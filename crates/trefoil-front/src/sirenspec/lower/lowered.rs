//! A node as a step, but for what every type of node has in common.

use trefoil_ir::{Expr, StepKind, StepPolicy};

/// What a type of node lowers to; label, slot and place are added here.
pub struct Lowered {
    /// What it does.
    pub kind: StepKind,
    /// What the result becomes: the node's context.
    pub shape: Option<Expr>,
    /// Retry, timeout, failure.
    pub policy: StepPolicy,
}

impl Lowered {
    /// With no policies.
    pub fn new(kind: StepKind) -> Self {
        Self { kind, shape: None, policy: StepPolicy::default() }
    }
}
