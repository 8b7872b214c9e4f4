//! What runs: the steps and states that a run can reach, the loops that can end.

use trefoil_syntax::hash::HashMap;

use trefoil_ir::solver::{ConditionTruth, condition_truth};
use trefoil_ir::{
    BranchArm, FanOutItems, FlowId, GraphEdge, GraphNode, IndexVec, NodeId, OnStepFailure, Program, Source, StateId,
    StateMachine, StateTransition, StepGraph, StepId, StepKind, StepLoop, ValueExpression, WorkflowState, walk,
};
use trefoil_syntax::Location;

use super::concurrency;
use super::states::{self, StateExits};

/// What a run can reach.
#[derive(Debug, Default)]
pub struct ReachAnalysis {
    alive: IndexVec<StepId, bool>,
    flows: IndexVec<FlowId, bool>,
    /// The outermost steps that never start, each with the place that causes this.
    pub dead: Vec<DeadStep>,
    /// State machines, with what is known about their states.
    pub machines: HashMap<StepId, IndexVec<StateId, StateExits>>,
}

/// A step that never starts.
#[derive(Debug, Clone)]
pub struct DeadStep {
    /// The step.
    pub step: StepId,
    /// The reason.
    pub why: DeadStepReason,
    /// The place that causes it.
    pub at: Option<Location>,
}

/// Why a step never starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeadStepReason {
    /// Its own condition never holds.
    When,
    /// An earlier arm is always taken.
    Arm,
    /// The step before it never succeeds.
    Before,
    /// None of its edges can be taken.
    Edges,
    /// It is the fallback of nodes that never run or never fail.
    Fallback,
    /// Every transition to it is shadowed or impossible.
    Transitions,
    /// Its list is empty.
    Empty,
}

/// Why a loop does not end properly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndlessLoopKind {
    /// Its condition can never hold.
    Never,
    /// Nothing in the loop changes what the condition reads.
    Unchanged,
}

impl ReachAnalysis {
    /// The reachability from these flows.
    pub fn from_roots(program: &Program, roots: &[FlowId]) -> Self {
        let mut reach =
            Self { alive: program.steps.map(|_| false), flows: program.flows.map(|_| false), ..Self::default() };
        let mut flows = roots.to_vec();
        while let Some(flow) = flows.pop() {
            if !std::mem::replace(&mut reach.flows[flow], true) {
                reach.visit(program, program.flows[flow].body, &mut flows);
            }
        }
        reach.dead.sort_by_key(|d| d.step);
        reach
    }
    /// Whether a run can start a step.
    pub fn is_alive(&self, step: StepId) -> bool {
        self.alive[step]
    }
    /// Whether a run can call a flow.
    pub fn is_called(&self, flow: FlowId) -> bool {
        self.flows[flow]
    }
    fn visit(&mut self, program: &Program, id: StepId, flows: &mut Vec<FlowId>) {
        let step = &program.steps[id];
        if let Some(when) = &step.when
            && condition_truth(when) == ConditionTruth::Never
        {
            // Constant conditions are reported separately.
            if when.condition.is_constant() {
                return;
            }
            return self.bury(id, DeadStepReason::When, Some(when.origin));
        }
        self.alive[id] = true;
        match &step.kind {
            StepKind::Sequence(steps) => {
                let mut ends = None;
                for &inner in steps {
                    match ends {
                        None => self.visit(program, inner, flows),
                        Some(at) => {
                            self.bury(inner, DeadStepReason::Before, Some(at));
                            break;
                        }
                    }
                    if never_ends_well(program, inner) {
                        ends = Some(program.steps[inner].origin);
                    }
                }
            }
            StepKind::Branch { arms, otherwise } => self.branch(program, arms, *otherwise, flows),
            StepKind::Graph(graph) => self.graph(program, graph, flows),
            StepKind::StateMachine(machine) => self.machine(program, id, machine, flows),
            StepKind::ForEach(each) => {
                let empty = match &each.items {
                    FanOutItems::List(ValueExpression::Const(list)) => matches!(list.as_list(), Some([])),
                    _ => false,
                };
                if empty {
                    self.bury(program.flows[each.body].body, DeadStepReason::Empty, Some(step.origin));
                } else {
                    flows.push(each.body);
                }
            }
            _ => {
                for inner in walk::children_of(step) {
                    self.visit(program, inner, flows);
                }
                flows.extend(walk::callees_of(step));
            }
        }
    }
    fn bury(&mut self, step: StepId, why: DeadStepReason, at: Option<Location>) {
        self.dead.push(DeadStep { step, why, at });
    }
    fn branch(&mut self, program: &Program, arms: &[BranchArm], otherwise: Option<StepId>, flows: &mut Vec<FlowId>) {
        let mut decided = None;
        for arm in arms {
            match (decided, condition_truth(&arm.when)) {
                (Some(at), _) => self.bury(arm.step, DeadStepReason::Arm, Some(at)),
                (None, ConditionTruth::Never) => self.bury(arm.step, DeadStepReason::When, Some(arm.when.origin)),
                (None, outcome) => {
                    self.visit(program, arm.step, flows);
                    if outcome == ConditionTruth::Always {
                        decided = Some(arm.when.origin);
                    }
                }
            }
        }
        match (otherwise, decided) {
            (Some(step), Some(at)) => self.bury(step, DeadStepReason::Arm, Some(at)),
            (Some(step), None) => self.visit(program, step, flows),
            (None, _) => {}
        }
    }
    fn graph(&mut self, program: &Program, graph: &StepGraph, flows: &mut Vec<FlowId>) {
        let runs = running(program, graph);
        for (id, node) in graph.nodes.entries() {
            if runs[id] {
                self.visit(program, node.step, flows);
            } else if node.fallback_of.is_empty() {
                // Nodes after a reported one are not reported as well.
                let first = node.incoming.iter().any(|e| runs[e.from]);
                if first {
                    self.bury(node.step, DeadStepReason::Edges, first_condition(node));
                }
            } else {
                self.bury(node.step, DeadStepReason::Fallback, None);
            }
        }
    }
    fn machine(&mut self, program: &Program, id: StepId, machine: &StateMachine, flows: &mut Vec<FlowId>) {
        let exits = states::find_exits(program, machine);
        let reached = states::reached_states(machine, &exits);
        // States without any incoming transition are reported separately.
        let everything = |s: &WorkflowState| StateExits {
            taken: vec![states::TransitionReachability::Yes; s.transitions.len()],
            ..StateExits::default()
        };
        let everything = machine.states.map(everything);
        let written = states::reached_states(machine, &everything);
        for (id, state) in machine.states.entries() {
            if reached[id] {
                self.visit(program, state.step, flows);
            } else if written[id]
                && let Some(transition) = transition_to(machine, id, &reached)
            {
                self.bury(state.step, DeadStepReason::Transitions, Some(transition.origin));
            }
        }
        self.machines.insert(id, exits);
    }
}

/// The place of the first condition on an edge to a node.
fn first_condition(node: &GraphNode) -> Option<Location> {
    for edge in &node.incoming {
        if let Some(when) = &edge.when {
            return Some(when.origin);
        }
    }
    None
}

/// The first transition to a state from one of those that are reached.
fn transition_to<'p>(
    machine: &'p StateMachine,
    target: StateId,
    reached: &IndexVec<StateId, bool>,
) -> Option<&'p StateTransition> {
    for (from, state) in machine.states.entries() {
        if reached[from]
            && let Some(transition) = state.transitions.iter().find(|transition| transition.target == target)
        {
            return Some(transition);
        }
    }
    None
}

/// The nodes of a graph that can run.
fn running(program: &Program, graph: &StepGraph) -> IndexVec<NodeId, bool> {
    let mut sources: IndexVec<NodeId, Vec<NodeId>> = graph.nodes.map(|_| Vec::new());
    for (id, node) in graph.nodes.entries() {
        for edge in &node.incoming {
            if may_be_taken(edge) {
                sources[id].push(edge.from);
            }
        }
    }
    let fails = graph.nodes.map(|node| states::can_fail(program, node.step));
    concurrency::find_running_nodes(graph, &|id, node, runs| match node.fallback_of.as_slice() {
        [] => node.incoming.is_empty() || sources[id].iter().any(|from| runs(*from)),
        mains => mains.iter().any(|main| runs(*main) && fails[*main]),
    })
}

/// Whether the condition of an edge can hold.
fn may_be_taken(edge: &GraphEdge) -> bool {
    match &edge.when {
        Some(when) => condition_truth(when) != ConditionTruth::Never,
        None => true,
    }
}

/// Whether a step fails whenever it runs, and its parent with it.
fn never_ends_well(program: &Program, id: StepId) -> bool {
    let step = &program.steps[id];
    matches!(step.policy.on_failure, OnStepFailure::Fail)
        && step.when.is_none()
        && match &step.kind {
            StepKind::Loop(it) => classify_endless_loop(program, it) == Some(EndlessLoopKind::Never),
            StepKind::Sequence(steps) => steps.iter().any(|s| never_ends_well(program, *s)),
            _ => false,
        }
}

/// Whether a loop can only end at its limit, or in its first pass.
pub fn classify_endless_loop(program: &Program, it: &StepLoop) -> Option<EndlessLoopKind> {
    if condition_truth(&it.until) == ConditionTruth::Never {
        return Some(EndlessLoopKind::Never);
    }
    if it.until.sources.is_empty() {
        return None;
    }
    let mut written = Vec::new();
    let mut stack = vec![it.body];
    while let Some(id) = stack.pop() {
        let step = &program.steps[id];
        written.extend(step.out);
        written.extend(step.kind.filled_slots());
        stack.extend(walk::children_of(step));
    }
    let changes = |source: &Source| match source {
        Source::Slot(slot) | Source::Member(slot, _) => written.contains(slot),
        Source::Layered { top, under, .. } => written.contains(top) || written.contains(under),
        Source::Compose { parts, .. } => parts.iter().any(|p| written.contains(&p.slot)),
        Source::Const(_) | Source::Environment | Source::Secrets | Source::RunId => false,
        Source::Either(..) | Source::Spent(_) | Source::Result | Source::Failure | Source::Missing(..) => true,
    };
    if it.until.sources.iter().any(changes) { None } else { Some(EndlessLoopKind::Unchanged) }
}
