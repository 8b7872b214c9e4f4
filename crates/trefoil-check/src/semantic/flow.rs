//! What runs: the steps and states that a run can reach, the loops that can end.

use trefoil_syntax::hash::HashMap;

use trefoil_ir::solve::{Truth, truth};
use trefoil_ir::{
    Edge, Expr, FlowId, Graph, GraphNode, IndexVec, Items, Loop, NodeId, OnFailure, Program, Source, State, StateId,
    StateMachine, StepId, StepKind, walk,
};
use trefoil_syntax::Location;

use super::meeting;
use super::states::{self, Exits};

/// What a run can reach.
#[derive(Debug, Default)]
pub struct Reach {
    alive: IndexVec<StepId, bool>,
    flows: IndexVec<FlowId, bool>,
    /// The outermost steps that never start, each with the place that causes this.
    pub dead: Vec<Dead>,
    /// State machines, with what is known about their states.
    pub machines: HashMap<StepId, IndexVec<StateId, Exits>>,
}

/// A step that never starts.
#[derive(Debug, Clone)]
pub struct Dead {
    /// The step.
    pub step: StepId,
    /// The reason.
    pub why: Why,
    /// The place that causes it.
    pub at: Option<Location>,
}

/// Why a step never starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
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
pub enum Endless {
    /// Its condition can never hold.
    Never,
    /// Nothing in the loop changes what the condition reads.
    Unchanged,
}

impl Reach {
    /// The reachability from these flows.
    pub fn of(program: &Program, roots: &[FlowId]) -> Self {
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
            && truth(when) == Truth::Never
        {
            // Constant conditions are reported separately.
            if when.condition.is_constant() {
                return;
            }
            return self.bury(id, Why::When, Some(when.origin));
        }
        self.alive[id] = true;
        match &step.kind {
            StepKind::Sequence(steps) => {
                let mut ends = None;
                for &inner in steps {
                    match ends {
                        None => self.visit(program, inner, flows),
                        Some(at) => {
                            self.bury(inner, Why::Before, Some(at));
                            break;
                        }
                    }
                    ends = never_ends_well(program, inner).then_some(program.steps[inner].origin);
                }
            }
            StepKind::Branch { arms, otherwise } => {
                let mut decided = None;
                for arm in arms {
                    match (decided, truth(&arm.when)) {
                        (Some(at), _) => self.bury(arm.step, Why::Arm, Some(at)),
                        (None, Truth::Never) => self.bury(arm.step, Why::When, Some(arm.when.origin)),
                        (None, outcome) => {
                            self.visit(program, arm.step, flows);
                            decided = (outcome == Truth::Always).then_some(arm.when.origin);
                        }
                    }
                }
                match (otherwise, decided) {
                    (Some(step), Some(at)) => self.bury(*step, Why::Arm, Some(at)),
                    (Some(step), None) => self.visit(program, *step, flows),
                    (None, _) => {}
                }
            }
            StepKind::Graph(graph) => self.graph(program, graph, flows),
            StepKind::StateMachine(machine) => self.machine(program, id, machine, flows),
            StepKind::ForEach(each) => {
                let empty = match &each.items {
                    Items::List(Expr::Const(list)) => list.as_list().is_some_and(<[_]>::is_empty),
                    _ => false,
                };
                if empty {
                    self.bury(program.flows[each.body].body, Why::Empty, Some(step.origin));
                } else {
                    flows.push(each.body);
                }
            }
            _ => {
                for inner in walk::children(step) {
                    self.visit(program, inner, flows);
                }
                flows.extend(walk::callees(step));
            }
        }
    }
    fn bury(&mut self, step: StepId, why: Why, at: Option<Location>) {
        self.dead.push(Dead { step, why, at });
    }
    fn graph(&mut self, program: &Program, graph: &Graph, flows: &mut Vec<FlowId>) {
        let runs = running(program, graph);
        for (id, node) in graph.nodes.entries() {
            if runs[id] {
                self.visit(program, node.step, flows);
            } else if node.fallback_of.is_empty() {
                // Nodes after a reported one are not reported as well.
                let first = node.incoming.iter().any(|e| runs[e.from]);
                if first {
                    let decides = node.incoming.iter().find_map(|e| e.when.as_ref());
                    self.bury(node.step, Why::Edges, decides.map(|w| w.origin));
                }
            } else {
                self.bury(node.step, Why::Fallback, None);
            }
        }
    }
    fn machine(&mut self, program: &Program, id: StepId, machine: &StateMachine, flows: &mut Vec<FlowId>) {
        let exits = states::exits(program, machine);
        let reached = states::reached(machine, &exits);
        // States without any incoming transition are reported separately.
        let everything = |s: &State| Exits { taken: vec![states::Taken::Yes; s.transitions.len()], ..Exits::default() };
        let everything = machine.states.map(everything);
        let written = states::reached(machine, &everything);
        for (id, state) in machine.states.entries() {
            if reached[id] {
                self.visit(program, state.step, flows);
            } else if written[id] {
                let from = machine.states.entries().filter(|(from, _)| reached[*from]);
                let mut transitions = from.flat_map(|(_, state)| &state.transitions);
                if let Some(transition) = transitions.find(|t| t.target == id) {
                    self.bury(state.step, Why::Transitions, Some(transition.origin));
                }
            }
        }
        self.machines.insert(id, exits);
    }
}

/// The nodes of a graph that can run.
fn running(program: &Program, graph: &Graph) -> IndexVec<NodeId, bool> {
    let possible = |e: &&Edge| e.when.as_ref().is_none_or(|w| truth(w) != Truth::Never);
    let sources = |n: &GraphNode| n.incoming.iter().filter(possible).map(|e| e.from).collect();
    let sources: IndexVec<NodeId, Vec<NodeId>> = graph.nodes.map(sources);
    let fails = graph.nodes.map(|n| states::can_fail(program, n.step));
    meeting::running(graph, &|id, node, is| match node.fallback_of.as_slice() {
        [] => node.incoming.is_empty() || sources[id].iter().any(|from| is(*from)),
        mains => mains.iter().any(|main| is(*main) && fails[*main]),
    })
}

/// Whether a step fails whenever it runs, and its parent with it.
fn never_ends_well(program: &Program, id: StepId) -> bool {
    let step = &program.steps[id];
    matches!(step.policy.on_failure, OnFailure::Fail)
        && step.when.is_none()
        && match &step.kind {
            StepKind::Loop(it) => endless(program, it) == Some(Endless::Never),
            StepKind::Sequence(steps) => steps.iter().any(|s| never_ends_well(program, *s)),
            _ => false,
        }
}

/// Whether a loop can only end at its limit, or in its first pass.
pub fn endless(program: &Program, it: &Loop) -> Option<Endless> {
    if truth(&it.until) == Truth::Never {
        return Some(Endless::Never);
    }
    if it.until.sources.is_empty() {
        return None;
    }
    let mut written = Vec::new();
    let mut stack = vec![it.body];
    while let Some(id) = stack.pop() {
        let step = &program.steps[id];
        written.extend(step.out.into_iter().chain(step.kind.writes()));
        stack.extend(walk::children(step));
    }
    let changes = |source: &Source| match source {
        Source::Slot(slot) | Source::Member(slot, _) => written.contains(slot),
        Source::Layered { top, under, .. } => written.contains(top) || written.contains(under),
        Source::Compose { parts, .. } => parts.iter().any(|p| written.contains(&p.slot)),
        Source::Const(_) | Source::Environment | Source::Secrets | Source::RunId => false,
        Source::Either(..) | Source::Spent(_) | Source::Result | Source::Failure | Source::Missing(..) => true,
    };
    (!it.until.sources.iter().any(changes)).then_some(Endless::Unchanged)
}
