//! Walks a program: every step reachable from a flow, with what a step contains.
//!
//! Read-only, and in the order of the manifest, so results are deterministic.

use std::collections::BTreeSet;
use std::sync::Arc;

use trefoil_template::HoleKind;

use crate::ids::{FlowId, StepId};
use crate::index_vec::IndexVec;
use crate::program::Program;
use crate::step::{StepKind, UnsupportedFeature};
pub use crate::step_parts::{
    EvaluatedPart, callees_of, children_of, evaluated_by_flow, evaluated_by_step, holes_of, visit_expressions,
    visit_sources, visit_templates,
};

/// The flows that a flow calls directly, once for each call, in the order of the manifest.
pub fn called_by(program: &Program, flow: FlowId) -> Vec<FlowId> {
    let mut found = Vec::new();
    let mut stack = vec![program.flows[flow].body];
    while let Some(id) = stack.pop() {
        let step = &program.steps[id];
        found.extend(callees_of(step));
        stack.extend(children_of(step).into_iter().rev());
    }
    found
}

/// Every step that a run of this flow can reach, including through calls, each once, with its flow. Parents come before
/// their children.
pub fn reachable_steps(program: &Program, flow: FlowId) -> Vec<(FlowId, StepId)> {
    reachable_from(program, &[flow])
}

/// The same for runs that may start at several flows; the steps of the first root come first.
pub fn reachable_from(program: &Program, roots: &[FlowId]) -> Vec<(FlowId, StepId)> {
    let mut entered: IndexVec<FlowId, bool> = program.flows.iter().map(|_| false).collect();
    let mut found = Vec::new();
    let mut stack = Vec::new();
    let mut enter = |flow: FlowId, stack: &mut Vec<_>| {
        if !std::mem::replace(&mut entered[flow], true) {
            stack.push((flow, program.flows[flow].body));
        }
    };
    for root in roots.iter().rev() {
        enter(*root, &mut stack);
    }
    // A step has one place, so it is reached once if its flow is entered once.
    while let Some((flow, id)) = stack.pop() {
        let step = &program.steps[id];
        found.push((flow, id));
        for callee in callees_of(step).into_iter().rev() {
            enter(callee, &mut stack);
        }
        stack.extend(children_of(step).into_iter().rev().map(|c| (flow, c)));
    }
    found
}

/// The unsupported steps that a run of the program can reach, in the order of [`reachable_steps`]. A run of such a program
/// does not start; the host checks first, to report the place.
pub fn refused_steps(program: &Program) -> Vec<(StepId, &UnsupportedFeature)> {
    let mut found = Vec::new();
    for (_, id) in reachable_steps(program, program.entry) {
        if let StepKind::Refused(refused) = &program.steps[id].kind {
            found.push((id, refused));
        }
    }
    found
}

/// The environment variables and secrets that a program names, each once, by kind and name.
pub fn program_holes(program: &Program) -> Vec<(HoleKind, Arc<str>)> {
    let mut holes = Vec::new();
    for step in program.steps.iter() {
        holes.extend(holes_of(step));
    }
    for flow in program.flows.iter() {
        for evaluated in evaluated_by_flow(flow) {
            holes.extend(evaluated.find_holes());
        }
    }
    let found: BTreeSet<_> = holes.into_iter().map(|(kind, name, _)| (kind, name)).collect();
    found.into_iter().collect()
}
