//! Whether a person is asked before a step, on some path to it.

use trefoil_ir::{FlowId, Graph, StateMachine, StepId, StepKind, walk};
use trefoil_syntax::hash::{HashMap, HashSet};

use super::Model;
use super::meeting::Order;

/// Looks for the human steps before others.
pub struct Before<'m, 'p> {
    model: &'m Model<'p>,
    /// Where each flow is called.
    callers: HashMap<FlowId, Vec<(FlowId, StepId)>>,
}

impl<'m, 'p> Before<'m, 'p> {
    /// In a program; `None`: it asks nobody.
    pub fn of(model: &'m Model<'p>) -> Option<Self> {
        let kind = |id: StepId| model.program.step(id).map(|step| &step.kind);
        let asks = model.reachable().iter().any(|(_, id)| matches!(kind(*id), Some(StepKind::Human(_))));
        let mut callers: HashMap<FlowId, Vec<(FlowId, StepId)>> = HashMap::default();
        for &(flow, id) in model.reachable().iter().filter(|_| asks) {
            for callee in model.program.step(id).into_iter().flat_map(walk::callees) {
                callers.entry(callee).or_default().push((flow, id));
            }
        }
        asks.then_some(Self { model, callers })
    }

    /// Whether a person may have been asked before this step, wherever its flow is called from.
    pub fn is_reviewed(&self, flow: FlowId, step: StepId) -> bool {
        let mut seen = HashSet::default();
        let mut open = vec![(flow, step)];
        while let Some((flow, step)) = open.pop() {
            let up = |at: &StepId| self.model.parent(*at);
            let mut around = std::iter::successors(Some(step), up).zip(std::iter::successors(up(&step), up));
            if around.any(|(child, parent)| self.inside(parent, child)) || !seen.insert(flow) {
                continue;
            }
            let Some(callers) = self.callers.get(&flow) else { return false };
            open.extend(callers);
        }
        true
    }

    /// Whether a step asks a person in a part that runs before this child of it.
    fn inside(&self, step: StepId, child: StepId) -> bool {
        match self.model.program.step(step).map(|step| &step.kind) {
            Some(StepKind::Sequence(steps)) => {
                steps.iter().take_while(|one| **one != child).any(|one| self.has_human(*one))
            }
            Some(StepKind::Graph(graph)) => self.in_graph(graph, child),
            Some(StepKind::StateMachine(machine)) => self.in_states(machine, child),
            _ => false,
        }
    }

    /// Of nodes, those that the child waits for.
    fn in_graph(&self, graph: &Graph, child: StepId) -> bool {
        let Some(end) = graph.nodes.iter().position(|node| node.step == child) else { return false };
        let order = Order::of(graph);
        let mut nodes = graph.nodes.iter().enumerate();
        nodes.any(|(at, node)| order.precedes(at, end) && self.has_human(node.step))
    }

    /// Of states, those that can be entered before the first visit of the child, and lead to it.
    fn in_states(&self, machine: &StateMachine, child: StepId) -> bool {
        let Some(end) = machine.states.iter().position(|state| state.step == child) else { return false };
        let targets = |at: usize| {
            let state = machine.states.get(at).filter(|_| at != end);
            state.into_iter().flat_map(|state| &state.transitions).map(|transition| transition.target.index())
        };
        let first = reached(machine.initial.index(), targets);
        let leads = |at: usize| reached(at, targets).contains(&end);
        machine
            .states
            .iter()
            .enumerate()
            .any(|(at, state)| at != end && first.contains(&at) && self.has_human(state.step) && leads(at))
    }

    /// Whether a step, or a flow that it calls, asks a person.
    fn has_human(&self, step: StepId) -> bool {
        let mut flows = HashSet::default();
        let mut next = vec![step];
        while let Some(step) = next.pop().and_then(|id| self.model.program.step(id)) {
            if matches!(step.kind, StepKind::Human(_)) {
                return true;
            }
            next.extend(walk::children(step));
            let called = walk::callees(step).into_iter().filter(|flow| flows.insert(*flow));
            next.extend(called.filter_map(|flow| self.model.program.flow(flow)).map(|flow| flow.body));
        }
        false
    }
}

/// Everything that can be reached from a place, with the place.
fn reached<I: Iterator<Item = usize>>(from: usize, next: impl Fn(usize) -> I) -> HashSet<usize> {
    let mut seen: HashSet<usize> = [from].into_iter().collect();
    let mut open = vec![from];
    while let Some(at) = open.pop() {
        open.extend(next(at).filter(|to| seen.insert(*to)));
    }
    seen
}
