//! A lowered node without the parts that all types of node share.

use trefoil_ir::{Expr, StepKind, StepPolicy};

/// The part specific to a type of node; the caller adds label, slot and place.
pub struct Lowered {
    /// What it does.
    pub kind: StepKind,
    /// Converts the result to the node's context.
    pub shape: Option<Expr>,
    /// Retry, timeout, failure.
    pub policy: StepPolicy,
}

impl Lowered {
    /// Without policies.
    pub fn new(kind: StepKind) -> Self {
        Self { kind, shape: None, policy: StepPolicy::default() }
    }
}
