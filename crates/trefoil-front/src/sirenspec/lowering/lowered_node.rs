//! A lowered node without the parts that all types of node share.

use trefoil_ir::{StepKind, StepPolicy, ValueExpression};

/// The part specific to a type of node; the caller adds label, slot and place.
pub struct LoweredNode {
    /// What it does.
    pub kind: StepKind,
    /// Converts the result to the node's context.
    pub shape: Option<ValueExpression>,
    /// Retry, timeout, failure.
    pub policy: StepPolicy,
}

impl LoweredNode {
    /// Without policies.
    pub fn new(kind: StepKind) -> Self {
        Self { kind, shape: None, policy: StepPolicy::default() }
    }
}
