//! The part of a flow that depends on the kind of agent.

use std::sync::Arc;

use trefoil_ir::{FlowExport, StepId, StepKind, UnsupportedFeature, ValueExpression};
use trefoil_syntax::Location;

use super::AgntzLowering;
use crate::agntz::binding::BoundAgent;
use crate::agntz::manifest::AgntzRefusal;
use crate::program_builder::plain_step;

/// The part of a flow that depends on the kind of agent.
pub struct AgntzFlowBody {
    /// The body; `None`: an error was reported.
    pub step: Option<StepId>,
    /// The result, if it is not the step's.
    pub output: Option<ValueExpression>,
    /// Inner results.
    pub exports: Vec<FlowExport>,
}

impl AgntzFlowBody {
    /// A body whose result is that of the step.
    pub fn from_step(step: Option<StepId>) -> Self {
        Self { step, output: None, exports: Vec::new() }
    }
}

/// A step for an unsupported feature.
pub fn refused_step(lowering: &mut AgntzLowering<'_, '_>, bound: &BoundAgent<'_>, refusal: &AgntzRefusal) -> StepId {
    let step = UnsupportedFeature {
        feature: refusal.feature.into(),
        message: refusal.help.into(),
        ..UnsupportedFeature::default()
    };
    let mut step = plain_step(StepKind::Refused(step), Location::new(bound.at.file, refusal.span));
    step.label = entry_label(bound);
    lowering.builder.add_step(step)
}

/// The label of an agent's own step: its id, if no other step is named after it.
pub fn entry_label(bound: &BoundAgent<'_>) -> Option<Arc<str>> {
    if bound.entry { Some(bound.id.clone()) } else { None }
}
