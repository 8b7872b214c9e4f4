//! The model calls below a step that is not a model call itself: an AEGIS state that runs an agent, a pipeline in a
//! pipeline.

use std::collections::BTreeSet;
use std::sync::Arc;

use trefoil_ir::{FlowId, Program, StepId, StepKind, walk};

/// The model calls below all steps with one name.
#[derive(Debug, Default)]
pub(crate) struct Beneath {
    /// The model calls.
    pub calls: BTreeSet<StepId>,
    /// A step with another name that also makes one of these calls, and the agent that they share.
    pub shared: Option<(Arc<str>, Arc<str>)>,
}

/// Finds the model calls below the steps with this name.
pub(crate) fn beneath(program: &Program, name: &str) -> Beneath {
    let mut steps: BTreeSet<StepId> = BTreeSet::new();
    let mut flows: BTreeSet<FlowId> = BTreeSet::new();
    let named = |id: &StepId| program.step(*id).is_some_and(|step| step.label.as_deref() == Some(name));
    let mut queue: Vec<StepId> = (0..program.steps.len() as u32).map(StepId).filter(named).collect();
    while let Some(id) = queue.pop() {
        let Some(step) = program.step(id).filter(|_| steps.insert(id)) else { continue };
        queue.extend(walk::children(step));
        for flow in walk::callees(step) {
            if flows.insert(flow) {
                queue.extend(program.flow(flow).map(|flow| flow.body));
            }
        }
    }
    let is_call = |id: &StepId| program.step(*id).is_some_and(|step| matches!(step.kind, StepKind::Model(_)));
    let mut found = Beneath { calls: steps.iter().copied().filter(is_call).collect(), shared: None };
    if found.calls.is_empty() {
        return found;
    }
    for (_, id) in walk::reachable(program, program.entry) {
        let Some(step) = program.step(id).filter(|_| !steps.contains(&id)) else { continue };
        let both = walk::callees(step).into_iter().find(|flow| flows.contains(flow));
        if let (Some(flow), Some(label)) = (both.and_then(|flow| program.flow(flow)), &step.label) {
            found.shared = Some((label.clone(), flow.name.clone()));
        }
    }
    found
}
