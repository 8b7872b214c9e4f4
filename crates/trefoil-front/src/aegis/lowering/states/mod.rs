//! The step of a state. One file for each kind; the workflow adds label, result slot and time limit.

mod agent;
mod callee;
mod human;
mod parallel;
mod subworkflow;
pub mod system;

use trefoil_ir::types::{OtherMembers, ValueType};
use trefoil_ir::{Step, StepKind, UnsupportedFeature};
use trefoil_syntax::Location;

use super::AegisLowering;
use super::lowering_context::LoweringContext;
use crate::aegis::manifest::RefusedFeature;
use crate::aegis::manifest::state::{AegisState, StateKind};
use crate::aegis::names::FlowSlots;
use crate::program_builder::plain_step;

/// Lowers the body of a state.
pub fn lower_state(
    lowering: &mut AegisLowering<'_>,
    scene: &LoweringContext<'_>,
    slots: &mut FlowSlots,
    index: usize,
    state: &AegisState,
) -> Step {
    let origin = scene.state_at(index);
    let step = match &state.kind {
        Some(StateKind::Agent(agent)) => {
            agent::lower_agent_state(lowering, scene, slots, index, agent, state.needs_score())
        }
        Some(StateKind::System(system)) => system::lower_system_state(lowering, scene, index, system),
        Some(StateKind::Human(human)) => human::lower_human_state(scene, index, human, state.timeout_ms),
        Some(StateKind::Parallel(parallel)) => parallel::lower_parallel_state(lowering, scene, slots, index, parallel),
        Some(StateKind::Subworkflow(sub)) => subworkflow::lower_subworkflow_state(lowering, scene, slots, index, sub),
        Some(StateKind::Container(container)) => {
            let mut step = refusal(lowering, scene, &state.refused, None, origin);
            if let StepKind::Refused(refused) = &mut step.kind {
                for (name, ms, at) in &container.limits {
                    refused.limits.push((name.clone(), *ms, scene.location_of(*at)));
                }
                refused.returns = scene.names.result_type(index).map(|result| complete(&result));
            }
            return step;
        }
        None => return refusal(lowering, scene, &[], None, origin),
    };
    if state.refused.is_empty() { step } else { refusal(lowering, scene, &state.refused, Some(step), origin) }
}

/// The type of an object that has all its properties.
fn complete(of: &ValueType) -> ValueType {
    let Some(declared) = of.as_object() else { return of.clone() };
    let members = declared.members.iter().map(|(name, inner)| (name.clone(), complete(inner), false));
    ValueType::object_of(members, OtherMembers::None)
}

/// A step for a state that lacks something required (reported), so its effect is unknown.
fn unknown(origin: Location) -> Step {
    plain_step(
        StepKind::Refused(UnsupportedFeature {
            feature: "an unknown state".into(),
            message: "".into(),
            ..UnsupportedFeature::default()
        }),
        origin,
    )
}

/// A step that prevents the run from starting. The refused feature's own steps stay visible in the program.
fn refusal(
    lowering: &mut AegisLowering<'_>,
    scene: &LoweringContext<'_>,
    refused: &[RefusedFeature],
    step: Option<Step>,
    origin: Location,
) -> Step {
    let refused_step =
        |refused: &RefusedFeature| plain_step(StepKind::Refused(refused.to_refused()), scene.location_of(refused.span));
    let Some(step) = step else {
        return match refused.first() {
            Some(feature) => refused_step(feature),
            None => unknown(origin),
        };
    };
    let mut steps = Vec::with_capacity(refused.len() + 1);
    for feature in refused {
        steps.push(lowering.builder.add_step(refused_step(feature)));
    }
    steps.push(lowering.builder.add_step(step));
    plain_step(StepKind::Sequence(steps), origin)
}
