//! Whether a person is asked before a step, on some path to it.

use trefoil_ir::{FlowId, IndexVec, StateId, StateMachine, StepGraph, StepId, StepKind, walk};
use trefoil_syntax::hash::{HashMap, HashSet};

use super::SemanticModel;
use super::concurrency::NodeOrder;

/// Looks for the human steps before others.
pub struct HumanReviews<'m, 'p> {
    model: &'m SemanticModel<'p>,
    /// Where each flow is called.
    callers: HashMap<FlowId, Vec<(FlowId, StepId)>>,
}

impl<'m, 'p> HumanReviews<'m, 'p> {
    /// In a program; `None`: it asks nobody.
    pub fn from_model(model: &'m SemanticModel<'p>) -> Option<Self> {
        if !model.reachable_steps().any(|(_, _, step)| matches!(step.kind, StepKind::Human(_))) {
            return None;
        }
        let mut callers: HashMap<FlowId, Vec<(FlowId, StepId)>> = HashMap::default();
        for (flow, id, step) in model.reachable_steps() {
            for callee in walk::callees_of(step) {
                callers.entry(callee).or_default().push((flow, id));
            }
        }
        Some(Self { model, callers })
    }

    /// Whether a person may have been asked before this step, wherever its flow is called from.
    pub fn is_reviewed(&self, flow: FlowId, step: StepId) -> bool {
        let mut seen = HashSet::default();
        let mut open = vec![(flow, step)];
        while let Some((flow, step)) = open.pop() {
            if self.is_reviewed_in_flow(step) || !seen.insert(flow) {
                continue;
            }
            let Some(callers) = self.callers.get(&flow) else { return false };
            open.extend(callers);
        }
        true
    }

    /// The same within the flow of the step.
    fn is_reviewed_in_flow(&self, step: StepId) -> bool {
        let mut child = step;
        while let Some(parent) = self.model.parent_step(child) {
            if self.inside(parent, child) {
                return true;
            }
            child = parent;
        }
        false
    }

    /// Whether a step asks a person in a part that runs before this child of it.
    fn inside(&self, step: StepId, child: StepId) -> bool {
        match &self.model.program.steps[step].kind {
            StepKind::Sequence(steps) => {
                for step in steps {
                    if *step == child {
                        return false;
                    }
                    if self.has_human(*step) {
                        return true;
                    }
                }
                false
            }
            StepKind::Graph(graph) => self.in_graph(graph, child),
            StepKind::StateMachine(machine) => self.in_states(machine, child),
            _ => false,
        }
    }

    /// Of nodes, those that the child waits for.
    fn in_graph(&self, graph: &StepGraph, child: StepId) -> bool {
        let Some(end) = graph.nodes.find_id(|node| node.step == child) else { return false };
        let order = NodeOrder::from_graph(graph);
        let mut nodes = graph.nodes.entries();
        nodes.any(|(id, node)| order.is_before(id, end) && self.has_human(node.step))
    }

    /// Of states, those that can be entered before the first visit of the child, and lead to it.
    fn in_states(&self, machine: &StateMachine, child: StepId) -> bool {
        let Some(end) = machine.states.find_id(|state| state.step == child) else { return false };
        let first = states_reachable_from(machine, machine.initial, end);
        let leads = |id: StateId| states_reachable_from(machine, id, end)[end];
        let mut states = machine.states.entries();
        states.any(|(id, state)| id != end && first[id] && self.has_human(state.step) && leads(id))
    }

    /// Whether a step, or a flow that it calls, asks a person.
    fn has_human(&self, step: StepId) -> bool {
        let mut flows = HashSet::default();
        let mut next = vec![step];
        while let Some(id) = next.pop() {
            let step = &self.model.program.steps[id];
            if matches!(step.kind, StepKind::Human(_)) {
                return true;
            }
            next.extend(walk::children_of(step));
            for flow in walk::callees_of(step) {
                if flows.insert(flow) {
                    next.push(self.model.program.flows[flow].body);
                }
            }
        }
        false
    }
}

/// For each state: whether a run can get to it from this one without leaving `end`.
fn states_reachable_from(machine: &StateMachine, from: StateId, end: StateId) -> IndexVec<StateId, bool> {
    let mut seen = machine.states.map(|_| false);
    let mut open = vec![from];
    while let Some(id) = open.pop() {
        if !std::mem::replace(&mut seen[id], true) && id != end {
            open.extend(machine.states[id].transitions.iter().map(|transition| transition.target));
        }
    }
    seen
}
