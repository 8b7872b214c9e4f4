//! The model calls that the name of a step chooses: the step itself, or those below it if it is not a model call: an AEGIS state
//! that runs an agent, a pipeline in a pipeline.

use std::collections::BTreeSet;
use std::sync::Arc;

use trefoil_ir::{FlowId, Program, StepId, StepKind, walk};
use trefoil_machine::step_path::{StepPlace, find_steps, step_places};

/// The model calls of all steps with one name.
#[derive(Debug, Default)]
pub(crate) struct NamedModelCalls {
    /// The model calls.
    pub calls: BTreeSet<StepId>,
    /// A step with another name that also makes one of these calls, and the agent that they share.
    pub shared: Option<(Arc<str>, Arc<str>)>,
}

/// Finds the model calls of the steps with this name: a label, or a label with some of those around it. A model is for all passes and
/// items, so a name of one of them finds none.
pub(crate) fn find_model_calls(program: &Program, name: &str) -> NamedModelCalls {
    let mut steps: BTreeSet<StepId> = BTreeSet::new();
    let mut flows: BTreeSet<FlowId> = BTreeSet::new();
    let named = |id: &StepId| program.steps[*id].label.as_deref() == Some(name);
    let mut queue: Vec<StepId> = program.steps.element_ids().filter(named).collect();
    let mut elsewhere = None;
    if queue.is_empty() {
        let places = step_places(program, |step| step.label.is_some());
        let whole = places.iter().filter(|place| place.is_named_as_a_whole(name));
        let found = find_steps(name, whole.map(|place| (place, &place.key)));
        for place in &places {
            if found.contains(&&place.key) {
                queue.push(place.id);
            }
        }
        let is_elsewhere = |place: &&StepPlace| !found.contains(&&place.key) && queue.contains(&place.id);
        elsewhere = places.iter().find(is_elsewhere).cloned();
    }
    while let Some(id) = queue.pop() {
        if !steps.insert(id) {
            continue;
        }
        let step = &program.steps[id];
        queue.extend(walk::children_of(step));
        for flow in walk::callees_of(step) {
            if flows.insert(flow) {
                queue.push(program.flows[flow].body);
            }
        }
    }
    let mut found = NamedModelCalls::default();
    let mut first_agent = None;
    for id in &steps {
        if let StepKind::Model(call) = &program.steps[*id].kind {
            found.calls.insert(*id);
            first_agent.get_or_insert(&call.speaker);
        }
    }
    let Some(agent) = first_agent else { return found };
    found.shared = elsewhere.map(|other| (other.key.as_str().into(), agent.clone()));
    for (_, id) in walk::reachable_steps(program, program.entry) {
        if steps.contains(&id) {
            continue;
        }
        let step = &program.steps[id];
        let both = walk::callees_of(step).into_iter().find(|flow| flows.contains(flow));
        if let (Some(flow), Some(label)) = (both, &step.label) {
            found.shared = Some((label.clone(), program.flows[flow].name.clone()));
        }
    }
    found
}
