//! What a run still needs: the model calls that are certain if nothing fails, on the shortest way to its end. A raised limit is to be
//! enough for them, so that a run does not stop at it again. Nothing else depends on this.

use std::collections::BTreeMap;

use trefoil_ir::{
    FlowId, IndexVec, MatchedOutcome, ModelCall, NodeId, Program, StateId, StateMachine, Step, StepContents, StepGraph,
    StepId, StepKind, WorkflowState, walk,
};

use super::cost_limits;
use super::frame::{Frame, FrameId, FrameState, FrameTarget};
use super::progress::RunningNodes;
use super::turn::RunState;
use crate::journal::Flags;
use crate::request::ModelRequest;
use crate::run_limits::UsedAmounts;

const NOTHING: UsedAmounts = UsedAmounts { calls: 0, tokens: 0, cost_micro: 0 };

/// What a run needs besides its activities in progress and this frame. `like`: a request that the others are assumed to resemble;
/// without it, costs are not known.
pub fn still_needed(
    program: &Program,
    core: &RunState,
    except: Option<FrameId>,
    like: Option<&ModelRequest>,
) -> UsedAmounts {
    let mut needs = NeedsAnalysis::new(program, &core.flags, like);
    let except = except.and_then(|f| core.frames.get(f));
    let mut total = NOTHING;
    for frame in core.frames.iter() {
        let is_excepted = matches!(except, Some(except) if std::ptr::eq(frame, except));
        if !is_excepted {
            total = total.sum_with(needs.of_frame(core, frame));
        }
    }
    total
}

/// The number of model calls for this number of calls of a flow.
pub fn calls_for(program: &Program, core: &RunState, items: u32, body: FlowId) -> u64 {
    NeedsAnalysis::new(program, &core.flags, None).of_flow(body).multiply_by(items.into()).calls
}

/// The indices of a frame's children.
fn child_indices<'c>(core: &'c RunState, frame: &Frame) -> impl Iterator<Item = u32> + 'c {
    let child = |id: Option<FrameId>| core.frames.get(id?);
    std::iter::successors(child(frame.first_child), move |frame| child(frame.next)).map(|frame| frame.child_index)
}

struct NeedsAnalysis<'p> {
    program: &'p Program,
    flags: &'p Flags,
    /// A request whose size the others are assumed to have.
    like: Option<ModelRequest>,
    /// A flow that is being analysed counts as one that needs nothing.
    flows: BTreeMap<FlowId, UsedAmounts>,
    calls: BTreeMap<StepId, UsedAmounts>,
}

impl<'p> NeedsAnalysis<'p> {
    fn new(program: &'p Program, flags: &'p Flags, like: Option<&ModelRequest>) -> Self {
        Self { program, flags, like: like.cloned(), flows: BTreeMap::new(), calls: BTreeMap::new() }
    }

    /// What a frame needs beyond its children.
    fn of_frame(&mut self, core: &RunState, frame: &Frame) -> UsedAmounts {
        let is_new = frame.first_child.is_none();
        let id = match frame.what {
            FrameTarget::Flow(flow) => return if is_new { self.of_flow(flow) } else { NOTHING },
            FrameTarget::Step(id) => id,
        };
        let step = &self.program.steps[id];
        match (&frame.doing, &step.kind) {
            (FrameState::Nothing, _) if is_new && !frame.effect => self.of_step(id),
            (FrameState::Sequence(at), StepKind::Sequence(steps)) => self.of_steps(steps.iter().skip(*at as usize + 1)),
            (FrameState::Parallel(running), StepKind::Parallel(it)) => {
                self.of_steps(it.branches.iter().skip(running.next))
            }
            (FrameState::ForEach(running), StepKind::ForEach(each)) => {
                self.of_flow(each.body).multiply_by(running.total.saturating_sub(running.next).into())
            }
            (FrameState::Graph(running), StepKind::Graph(graph)) => self.of_graph(graph, Some(running)),
            (FrameState::StateMachine(_), StepKind::StateMachine(machine)) => {
                let ways = self.of_states(machine);
                match child_indices(core, frame).next() {
                    Some(child_index) => after(&machine.states[StateId(child_index)], &ways).unwrap_or(NOTHING),
                    None => NOTHING,
                }
            }
            (FrameState::Attempts(running), StepKind::Attempts(_)) if running.left == 0 => {
                self.of_flows(walk::callees_of(step))
            }
            // The results of tools in progress are for another turn.
            (FrameState::Conversation(_), StepKind::Conversation(it))
                if child_indices(core, frame).all(|child_index| child_index > 0) =>
            {
                self.of_step(it.turn)
            }
            _ => NOTHING,
        }
    }

    fn of_flow(&mut self, id: FlowId) -> UsedAmounts {
        if let Some(known) = self.flows.get(&id) {
            return *known;
        }
        self.flows.insert(id, NOTHING);
        let needed = self.of_step(self.program.flows[id].body);
        self.flows.insert(id, needed);
        needed
    }

    fn of_steps<'i>(&mut self, steps: impl Iterator<Item = &'i StepId>) -> UsedAmounts {
        let mut total = NOTHING;
        for id in steps {
            total = total.sum_with(self.of_step(*id));
        }
        total
    }

    fn of_step(&mut self, id: StepId) -> UsedAmounts {
        let step @ Step { kind, when: None, .. } = &self.program.steps[id] else { return NOTHING };
        if let StepKind::Model(call) = kind {
            return self.of_call(id, call);
        }
        match kind.step_info().inside {
            StepContents::InOrder(steps) => self.of_steps(steps.iter()),
            StepContents::SideBySide(parallel) => self.of_steps(parallel.branches.iter()),
            StepContents::OneOf { otherwise: Some(_), .. } => {
                cheapest(walk::children_of(step).into_iter().map(|id| self.of_step(id)))
            }
            StepContents::Repeated { body, .. } => self.of_step(body).sum_with(self.of_flows(walk::callees_of(step))),
            StepContents::Graph(graph) => self.of_graph(graph, None),
            StepContents::StateMachine(machine) => {
                let ways = self.of_states(machine);
                ways[machine.initial].unwrap_or(NOTHING)
            }
            StepContents::Call(callee) => cheapest(callee.possible_flows().into_iter().map(|flow| self.of_flow(flow))),
            // How many items there are is not known yet.
            StepContents::ForEach(_) | StepContents::OneOf { otherwise: None, .. } => NOTHING,
            StepContents::Nothing | StepContents::Value(_) => NOTHING,
        }
    }

    fn of_call(&mut self, id: StepId, call: &ModelCall) -> UsedAmounts {
        if let Some(known) = self.calls.get(&id) {
            return *known;
        }
        let mut needed = UsedAmounts { calls: 1, ..NOTHING };
        if let Some(like) = &mut self.like {
            (like.provider, like.model) = (call.model.provider.clone(), call.model.name.clone());
            like.parameters = call.parameters.clone();
            needed.cost_micro = cost_limits::may_cost(self.flags, like);
        }
        self.calls.insert(id, needed);
        needed
    }

    fn of_flows(&mut self, flows: Vec<FlowId>) -> UsedAmounts {
        let mut total = NOTHING;
        for flow in flows {
            total = total.sum_with(self.of_flow(flow));
        }
        total
    }

    /// The nodes that certainly run. `running`: what is known of a graph that runs; its nodes in progress are not counted.
    fn of_graph(&mut self, graph: &StepGraph, running: Option<&RunningNodes>) -> UsedAmounts {
        let state = |at: NodeId| Some(&running?.nodes[at]);
        let is_begun = |at: NodeId| matches!(state(at), Some(node) if node.waits_for == 0 || node.ended);
        let is_to_run = |at| matches!(state(at), Some(node) if !node.ended && (node.taken || node.waits_for == 0));
        let mut runs: IndexVec<NodeId, bool> = graph.nodes.element_ids().map(is_to_run).collect();
        let mut is_changed = true;
        while std::mem::take(&mut is_changed) {
            for (at, node) in graph.nodes.entries() {
                let is_led_to = node.incoming.iter().any(|edge| edge.when.is_none() && runs[edge.from]);
                let is_certain = node.fallback_of.is_empty() && (node.incoming.is_empty() || is_led_to);
                if !runs[at] && is_certain && !is_begun(at) {
                    (runs[at], is_changed) = (true, true);
                }
            }
        }
        let mut total = NOTHING;
        for (at, node) in graph.nodes.entries() {
            if runs[at] && !is_begun(at) {
                total = total.sum_with(self.of_step(node.step));
            }
        }
        total
    }

    /// What is needed from each state on, including it. `None`: it leads to no end.
    fn of_states(&mut self, machine: &StateMachine) -> IndexVec<StateId, Option<UsedAmounts>> {
        let own = machine.states.map(|state| self.of_step(state.step));
        let mut ways: IndexVec<StateId, Option<UsedAmounts>> = own.map(|_| None);
        // Each pass makes the ways right that have one more state.
        for _ in 0..own.len() {
            let mut next = IndexVec::default();
            for (id, state) in machine.states.entries() {
                next.push(after(state, &ways).map(|way| way.sum_with(own[id])));
            }
            if next == ways {
                break;
            }
            ways = next;
        }
        ways
    }
}

fn cheapest(ways: impl Iterator<Item = UsedAmounts>) -> UsedAmounts {
    ways.reduce(UsedAmounts::minimum_with).unwrap_or(NOTHING)
}

/// What is needed after a state that succeeds.
fn after(state: &WorkflowState, ways: &IndexVec<StateId, Option<UsedAmounts>>) -> Option<UsedAmounts> {
    if state.may_end() {
        return Some(NOTHING);
    }
    let mut cheapest: Option<UsedAmounts> = None;
    for transition in &state.transitions {
        if transition.takes == MatchedOutcome::Failure {
            continue;
        }
        let Some(way) = ways[transition.target] else { continue };
        cheapest = Some(match cheapest {
            Some(known) => known.minimum_with(way),
            None => way,
        });
    }
    cheapest
}
