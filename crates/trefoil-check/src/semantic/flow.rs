//! What runs: the steps and states that a run can reach, the loops that can end.

use trefoil_syntax::hash::HashMap;

use trefoil_ir::solve::{Truth, truth};
use trefoil_ir::{
    Edge, Expr, FlowId, Graph, Items, Loop, NodeId, OnFailure, Program, Source, StateMachine, Step, StepId, StepKind,
    walk,
};
use trefoil_syntax::Location;

use super::meeting;
use super::states::{self, Exits};

/// What a run can reach.
#[derive(Debug, Default)]
pub struct Reach {
    alive: Vec<bool>,
    flows: Vec<bool>,
    /// The outermost steps that never start, each with the place that causes this.
    pub dead: Vec<Dead>,
    /// State machines, with what is known about their states.
    pub machines: HashMap<StepId, Vec<Exits>>,
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
        let mut reach = Self {
            alive: vec![false; program.steps.len()],
            flows: vec![false; program.flows.len()],
            ..Self::default()
        };
        let mut flows = roots.to_vec();
        while let Some(flow) = flows.pop() {
            match reach.flows.get_mut(flow.index()) {
                Some(seen) if !*seen => *seen = true,
                _ => continue,
            }
            if let Some(flow) = program.flow(flow) {
                reach.visit(program, flow.body, &mut flows);
            }
        }
        reach.dead.sort_by_key(|d| d.step);
        reach
    }
    /// Whether a run can start a step.
    pub fn is_alive(&self, step: StepId) -> bool {
        self.alive.get(step.index()) == Some(&true)
    }
    /// Whether a run can call a flow.
    pub fn is_called(&self, flow: FlowId) -> bool {
        self.flows.get(flow.index()) == Some(&true)
    }
    fn visit(&mut self, program: &Program, id: StepId, flows: &mut Vec<FlowId>) {
        let Some(step) = program.step(id) else { return };
        if let Some(when) = &step.when
            && truth(when) == Truth::Never
        {
            // Constant conditions are reported separately.
            if when.condition.is_constant() {
                return;
            }
            return self.bury(id, Why::When, Some(when.origin));
        }
        match self.alive.get_mut(id.index()) {
            Some(alive) if !*alive => *alive = true,
            _ => return,
        }
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
                    ends = program.step(inner).filter(|s| never_ends_well(program, s)).map(|s| s.origin);
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
                match program.flow(each.body) {
                    Some(body) if empty => self.bury(body.body, Why::Empty, Some(step.origin)),
                    _ => flows.push(each.body),
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
        for (at, node) in graph.nodes.iter().enumerate() {
            if runs.get(at) == Some(&true) {
                self.visit(program, node.step, flows);
            } else if node.fallback_of.is_empty() {
                // Nodes after a reported one are not reported as well.
                let first = node.incoming.iter().any(|e| runs.get(e.from.index()) == Some(&true));
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
        let everything: Vec<Exits> = machine
            .states
            .iter()
            .map(|s| Exits { taken: vec![states::Taken::Yes; s.transitions.len()], ..Exits::default() })
            .collect();
        let written = states::reached(machine, &everything);
        for (at, state) in machine.states.iter().enumerate() {
            if reached.get(at) == Some(&true) {
                self.visit(program, state.step, flows);
            } else if written.get(at) == Some(&true) {
                let into = |from: &usize| {
                    machine.states.get(*from).is_some_and(|s| s.transitions.iter().any(|t| t.target.index() == at))
                };
                let from = (0..machine.states.len()).find(|f| reached.get(*f) == Some(&true) && into(f));
                let transition = from
                    .and_then(|f| machine.states.get(f))
                    .and_then(|s| s.transitions.iter().find(|t| t.target.index() == at));
                if let Some(transition) = transition {
                    self.bury(state.step, Why::Transitions, Some(transition.origin));
                }
            }
        }
        self.machines.insert(id, exits);
    }
}

/// The nodes of a graph that can run.
fn running(program: &Program, graph: &Graph) -> Vec<bool> {
    let possible = |e: &Edge| e.when.as_ref().is_none_or(|w| truth(w) != Truth::Never);
    let possible: Vec<Vec<NodeId>> =
        graph.nodes.iter().map(|n| n.incoming.iter().filter(|e| possible(e)).map(|e| e.from).collect()).collect();
    let fails: Vec<bool> = graph.nodes.iter().map(|n| states::can_fail(program, n.step)).collect();
    meeting::running(graph, &|at, node, is| match node.fallback_of.as_slice() {
        [] => node.incoming.is_empty() || possible.get(at).into_iter().flatten().any(|from| is(*from)),
        mains => mains.iter().any(|main| is(*main) && fails.get(main.index()) == Some(&true)),
    })
}

/// Whether a step fails whenever it runs, and its parent with it.
fn never_ends_well(program: &Program, step: &Step) -> bool {
    matches!(step.policy.on_failure, OnFailure::Fail)
        && step.when.is_none()
        && match &step.kind {
            StepKind::Loop(it) => endless(program, it) == Some(Endless::Never),
            StepKind::Sequence(steps) => {
                steps.iter().filter_map(|s| program.step(*s)).any(|s| never_ends_well(program, s))
            }
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
    while let Some(step) = stack.pop().and_then(|id| program.step(id)) {
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
