//! Worst-case numbers of calls, through loops, retries, fan-outs and iterations.

use trefoil_syntax::hash::HashMap;

use trefoil_ir::{
    Callee, Expr, FlowId, Items, Program, State, StateMachine, Step, StepId, StepKind, ValidatorKind, walk,
};
use trefoil_template::Value;

use super::bound::{Bound, Calls};

/// What a list that only the run knows is called where somebody reads the bound.
type NameList<'p> = dyn Fn(FlowId, &Expr) -> String + 'p;

/// Counts calls; each flow once.
pub struct Costs<'p> {
    program: &'p Program,
    name: Box<NameList<'p>>,
    flows: HashMap<FlowId, Calls>,
}

impl<'p> Costs<'p> {
    /// Nothing counted yet.
    pub fn new(program: &'p Program) -> Self {
        Self::naming(program, written)
    }
    /// The same, with lists called by these names.
    pub fn naming(program: &'p Program, name: impl Fn(FlowId, &Expr) -> String + 'p) -> Self {
        Self { program, name: Box::new(name), flows: HashMap::default() }
    }
    /// One call of a flow.
    pub fn flow(&mut self, id: FlowId) -> Calls {
        if let Some(known) = self.flows.get(&id) {
            return known.clone();
        }
        let calls = if self.calls_itself(id) {
            self.endless(id)
        } else {
            self.program.flow(id).map(|f| self.step(id, f.body)).unwrap_or_default()
        };
        self.flows.insert(id, calls.clone());
        calls
    }
    /// Whether calls lead back to a flow. By name they can: only the run knows whom a templated name means.
    fn calls_itself(&self, id: FlowId) -> bool {
        let steps = walk::reachable(self.program, id).into_iter();
        steps.filter_map(|(_, s)| self.program.step(s)).any(|s| walk::callees(s).contains(&id))
    }
    /// Of whatever a flow that calls itself does, there may be any number.
    fn endless(&self, id: FlowId) -> Calls {
        let mut calls = Calls::default();
        for (_, step) in walk::reachable(self.program, id) {
            match self.program.step(step).map(|s| &s.kind) {
                Some(StepKind::Model(_)) => calls.model = Bound::endless(),
                Some(StepKind::Tool(_)) => calls.tool = Bound::endless(),
                Some(StepKind::Command(_)) => calls.command = Bound::endless(),
                Some(StepKind::Human(_)) => calls.human = Bound::endless(),
                _ => {}
            }
        }
        calls
    }
    /// One execution of a step, its retries included.
    pub fn step(&mut self, flow: FlowId, id: StepId) -> Calls {
        let Some(step) = self.program.step(id) else { return Calls::default() };
        let once = self.once(flow, step);
        once.times(&Bound::known(tries(step)))
    }
    fn once(&mut self, flow: FlowId, step: &Step) -> Calls {
        let one = Bound::known(1);
        match &step.kind {
            StepKind::Model(_) => Calls { model: one, ..Calls::default() },
            StepKind::Tool(_) => Calls { tool: one, ..Calls::default() },
            StepKind::Command(_) => Calls { command: one, ..Calls::default() },
            StepKind::Human(_) => Calls { human: one, ..Calls::default() },
            StepKind::Wait { .. } | StepKind::Compute(_) | StepKind::Refused(_) => Calls::default(),
            StepKind::Sequence(steps) => self.sum(flow, steps),
            StepKind::Parallel(parallel) => self.sum(flow, &parallel.branches),
            StepKind::Graph(graph) => {
                let steps: Vec<_> = graph.nodes.iter().map(|n| n.step).collect();
                self.sum(flow, &steps)
            }
            StepKind::Branch { arms, otherwise } => {
                let arms = arms.iter().map(|a| a.step).chain(*otherwise);
                arms.fold(Calls::default(), |all, s| all.or(&self.step(flow, s)))
            }
            StepKind::Loop(it) => self.step(flow, it.body).times(&Bound::known(u64::from(it.max))),
            StepKind::ForEach(each) => {
                let count = self.count(flow, &each.items);
                self.flow(each.body).times(&count)
            }
            StepKind::StateMachine(machine) => self.machine(flow, machine),
            StepKind::Attempts(attempts) => {
                let mut once = self.step(flow, attempts.body);
                for validator in &attempts.validators {
                    if let ValidatorKind::Judges { judges, .. } = &validator.kind {
                        once = judges.iter().fold(once, |all, j| all.plus(&self.flow(j.flow)));
                    }
                }
                once.times(&Bound::known(u64::from(attempts.max)))
            }
            StepKind::Call(call) => match &call.callee {
                Callee::Flow(id) => self.flow(*id),
                Callee::Named { flows, .. } => {
                    flows.iter().fold(Calls::default(), |all, (_, id)| all.or(&self.flow(*id)))
                }
            },
        }
    }
    fn sum(&mut self, flow: FlowId, steps: &[StepId]) -> Calls {
        steps.iter().fold(Calls::default(), |all, s| all.plus(&self.step(flow, *s)))
    }
    /// How many items a fan-out has at most.
    pub fn count(&self, flow: FlowId, items: &Items) -> Bound {
        match items {
            Items::Count(Expr::Const(value), max) => {
                let n = value.as_f64().or_else(|| value.as_str()?.trim().parse().ok()).unwrap_or(f64::from(*max));
                Bound::known((n.max(0.0) as u64).min(u64::from(*max)))
            }
            Items::Count(_, max) => Bound::known(u64::from(*max)),
            Items::List(Expr::Const(value)) => Bound::known(length(value)),
            Items::List(list) => Bound::items((self.name)(flow, list)),
        }
    }
    /// How often a state is entered at most: once where no way leads back to it.
    pub fn visits(machine: &StateMachine, state: usize) -> u64 {
        let limit = machine.states.get(state).map_or(1, |s| u64::from(s.max_visits));
        let back = reachable(machine, state).get(state) == Some(&true);
        if back { limit.min(u64::from(machine.max_entries)) } else { 1 }
    }
    /// The dearest way through the machine: states on one loop count together, states of different ways do not.
    fn machine(&mut self, flow: FlowId, machine: &StateMachine) -> Calls {
        let count = machine.states.len();
        let reach: Vec<Vec<bool>> = (0..count).map(|s| reachable(machine, s)).collect();
        let leads = |a: usize, b: usize| reach.get(a).and_then(|r| r.get(b)) == Some(&true);
        let one: Vec<Calls> = machine.states.iter().map(|s: &State| self.step(flow, s.step)).collect();
        // The states that each state shares a loop with, itself included.
        let knot =
            |s: usize| -> Vec<usize> { (0..count).filter(|o| *o == s || leads(s, *o) && leads(*o, s)).collect() };
        let costs: Vec<Calls> = (0..count)
            .map(|s| {
                let members = knot(s).into_iter();
                let known = members.filter_map(|m| Some(one.get(m)?.times(&Bound::known(Self::visits(machine, m)))));
                known.fold(Calls::default(), |all, c| all.plus(&c))
            })
            .collect();
        // Longest way over the knots, each known once those behind it are.
        let mut best: Vec<Option<Calls>> = vec![None; count];
        let mut stack = vec![machine.initial.index()];
        while let Some(&s) = stack.last() {
            if best.get(s).is_none_or(Option::is_some) {
                stack.pop();
                continue;
            }
            let members = knot(s);
            let behind: Vec<usize> = members
                .iter()
                .filter_map(|m| machine.states.get(*m))
                .flat_map(|s| s.transitions.iter().map(|t| t.target.index()))
                .filter(|t| *t < count && !members.contains(t))
                .collect();
            let waiting: Vec<usize> =
                behind.iter().copied().filter(|b| best.get(*b).is_some_and(Option::is_none)).collect();
            if waiting.is_empty() {
                let next = behind
                    .iter()
                    .filter_map(|b| best.get(*b).cloned().flatten())
                    .fold(Calls::default(), |all, c| all.or(&c));
                let total = costs.get(s).cloned().unwrap_or_default().plus(&next);
                for member in members {
                    if let Some(place) = best.get_mut(member) {
                        *place = Some(total.clone());
                    }
                }
                stack.pop();
            } else {
                stack.extend(waiting);
            }
        }
        best.get(machine.initial.index()).cloned().flatten().unwrap_or_default()
    }
}

/// The placeholders of an expression.
fn written(_: FlowId, list: &Expr) -> String {
    let mut names = Vec::new();
    walk::texts(list, &mut |text| {
        names.extend(text.template.references().iter().map(|r| format!("{{{{{}}}}}", r.dotted())));
    });
    if names.is_empty() { "a list".to_owned() } else { names.join(" ") }
}

/// Tries of a step, retries included.
pub fn tries(step: &Step) -> u64 {
    step.policy.retry.as_ref().map_or(1, |r| u64::from(r.max_attempts.max(1)))
}

fn length(value: &Value) -> u64 {
    if let Some(items) = value.as_list() {
        return items.len() as u64;
    }
    let parsed = value.as_str().and_then(|t| serde_json::from_str::<Vec<serde_json::Value>>(t.trim()).ok());
    parsed.map_or(0, |items| items.len() as u64)
}

/// The states that one or more transitions lead to from a state.
fn reachable(machine: &StateMachine, from: usize) -> Vec<bool> {
    let mut seen = vec![false; machine.states.len()];
    let mut stack = vec![from];
    while let Some(at) = stack.pop() {
        for transition in machine.states.get(at).into_iter().flat_map(|s| &s.transitions) {
            if let Some(place) = seen.get_mut(transition.target.index())
                && !*place
            {
                *place = true;
                stack.push(transition.target.index());
            }
        }
    }
    seen
}
