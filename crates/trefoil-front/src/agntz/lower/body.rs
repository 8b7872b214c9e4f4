//! The part of a flow that depends on the kind of agent.

use trefoil_ir::{Export, Expr, Refused, StepId, StepKind};
use trefoil_syntax::Location;

use super::Lowering;
use crate::agntz::bind::BoundAgent;
use crate::agntz::manifest::Refusal;
use crate::build::plain;

/// The part of a flow that depends on the kind of agent.
pub struct Body {
    /// The body; `None`: an error was reported.
    pub step: Option<StepId>,
    /// The result, if it is not the step's.
    pub output: Option<Expr>,
    /// Inner results.
    pub exports: Vec<Export>,
}

impl Body {
    /// A body whose result is that of the step.
    pub fn of(step: Option<StepId>) -> Self {
        Self { step, output: None, exports: Vec::new() }
    }
}

/// A step for an unsupported feature.
pub fn refused(lowering: &mut Lowering<'_, '_>, bound: &BoundAgent<'_>, refusal: &Refusal) -> StepId {
    let step = Refused { feature: refusal.feature.into(), message: refusal.help.into(), ..Refused::default() };
    let mut step = plain(StepKind::Refused(step), Location::new(bound.at.file, refusal.span));
    step.label = bound.entry.then(|| bound.id.clone());
    lowering.builder.step(step)
}
