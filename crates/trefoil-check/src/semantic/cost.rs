//! The worst-case number and cost of calls, through loops, retries, fan-outs and iterations.

use std::rc::Rc;

use trefoil_syntax::hash::HashMap;

use trefoil_ir::{
    Expr, Flow, FlowId, IndexVec, Inside, Items, ModelCall, ModelChoice, OnExceeded, Program, StateMachine, Step,
    StepId, StepKind, ToolCall, walk,
};
use trefoil_template::{Value, read_json};

use super::bound::{Bound, Calls};
use super::calls::CallGraph;
use super::meeting::apart::Apart;
use super::visits::Ways;

/// The displayed name of a list whose length is known only at run time.
type NameList<'p> = dyn Fn(FlowId, &Expr) -> String + 'p;
/// The displayed name of a model.
type NameModel<'p> = dyn Fn(&ModelChoice) -> String + 'p;
/// The cost of one model call, in the caller's unit.
type Price<'p> = dyn Fn(FlowId, &ModelCall) -> u64 + 'p;
/// The calls that a call of a tool causes in addition.
type Beneath<'p> = dyn Fn(&ToolCall) -> Calls + 'p;

/// Counts calls; each flow is counted once.
pub struct Costs<'p> {
    program: &'p Program,
    name: Box<NameList<'p>>,
    model: Option<Box<NameModel<'p>>>,
    price: Option<Box<Price<'p>>>,
    beneath: Option<Box<Beneath<'p>>>,
    /// Whether to count a run in which each loop has one pass, each state is entered at most once, and nothing is
    /// retried.
    once: bool,
    flows: HashMap<FlowId, Calls>,
    /// For each flow: whether it was counted.
    counted: IndexVec<FlowId, bool>,
    /// The call graph.
    calls: Rc<CallGraph>,
    /// For each flow: whether calls lead back to it.
    recursive: IndexVec<FlowId, bool>,
}

impl<'p> Costs<'p> {
    /// Without any counts yet.
    pub fn new(program: &'p Program) -> Self {
        Self::over(program, Rc::new(CallGraph::of(program)))
    }
    /// The same with a known call graph.
    pub(super) fn over(program: &'p Program, calls: Rc<CallGraph>) -> Self {
        Self {
            program,
            name: Box::new(written),
            model: None,
            price: None,
            beneath: None,
            once: false,
            flows: HashMap::default(),
            counted: calls.none(),
            recursive: calls.recursive(),
            calls,
        }
    }
    /// Sets names for lists and models, and counts the calls of each model separately.
    pub fn naming(
        program: &'p Program,
        name: impl Fn(FlowId, &Expr) -> String + 'p,
        model: impl Fn(&ModelChoice) -> String + 'p,
    ) -> Self {
        Self { name: Box::new(name), model: Some(Box::new(model)), ..Self::new(program) }
    }
    /// Sets the cost of model calls.
    #[must_use]
    pub fn priced(self, price: impl Fn(FlowId, &ModelCall) -> u64 + 'p) -> Self {
        Self { price: Some(Box::new(price)), ..self }
    }
    /// Sets the calls caused by tools, because some tools are flows.
    #[must_use]
    pub fn beneath(self, tool: impl Fn(&ToolCall) -> Calls + 'p) -> Self {
        Self { beneath: Some(Box::new(tool)), ..self }
    }
    /// Counts a run in which each loop has one pass, each state is entered at most once, and nothing is retried.
    #[must_use]
    pub fn straight(self) -> Self {
        Self { once: true, ..self }
    }
    /// One call of a flow. A budget that ends the run does so before one model call too many.
    pub fn flow(&mut self, id: FlowId) -> Calls {
        let calls = self.without_budget(id);
        match ceiling(&self.program.flows[id]) {
            Some(most) => calls.up_to(most),
            None => calls,
        }
    }
    /// The same for display next to the budget: the budget is applied only if the number is otherwise unlimited or
    /// unknown.
    pub fn beside_budget(&mut self, id: FlowId) -> Calls {
        let calls = self.without_budget(id);
        match ceiling(&self.program.flows[id]) {
            Some(most) if calls.model.number().is_none() => calls.up_to(most),
            _ => calls,
        }
    }
    /// One call of a flow, ignoring its own budget.
    pub fn without_budget(&mut self, id: FlowId) -> Calls {
        if let Some(known) = self.flows.get(&id) {
            return known.clone();
        }
        // Callees are counted first, so that a long chain of calls needs no stack.
        for flow in self.calls.callees_first(std::iter::once(id), &mut self.counted) {
            let calls =
                if self.recursive[flow] { self.endless(flow) } else { self.step(flow, self.program.flows[flow].body) };
            self.flows.insert(flow, calls);
        }
        self.flows.get(&id).cloned().unwrap_or_default()
    }
    /// Everything that a flow which calls itself does is unlimited.
    fn endless(&self, id: FlowId) -> Calls {
        let mut calls = Calls::default();
        for (_, step) in walk::reachable(self.program, id) {
            match &self.program.steps[step].kind {
                StepKind::Model(call) => calls = calls.plus(&self.asks(id, call, Bound::endless())),
                StepKind::Tool(call) => calls = calls.plus(&self.tool(call).times(&Bound::endless())),
                StepKind::Command(_) => calls.command = Bound::endless(),
                StepKind::Human(_) => calls.human = Bound::endless(),
                _ => {}
            }
        }
        calls
    }
    /// One execution of a step, including its retries.
    pub fn step(&mut self, flow: FlowId, id: StepId) -> Calls {
        let step = &self.program.steps[id];
        // The model decides which tools it calls and how often, so a conversation counts its turns itself.
        let whole = matches!(step.kind, StepKind::Conversation(_));
        let passes = if whole { Bound::known(1) } else { self.passes(flow, step) };
        let once = self.once(flow, step).times(&passes);
        if self.once { once } else { once.times(&Bound::known(tries(step))) }
    }
    /// The maximum number of times that the contents of a step start in one execution.
    pub fn passes(&self, flow: FlowId, step: &Step) -> Bound {
        match step.kind.info().inside {
            Inside::Repeated { max, .. } => Bound::known(u64::from(if self.once { max.min(1) } else { max })),
            Inside::ForEach(each) => self.count(flow, &each.items),
            _ => Bound::known(1),
        }
    }
    /// One pass of a step.
    fn once(&mut self, flow: FlowId, step: &Step) -> Calls {
        let one = Bound::known(1);
        match &step.kind {
            StepKind::Model(call) => self.asks(flow, call, one),
            StepKind::Tool(call) => self.tool(call),
            StepKind::Command(_) => Calls { command: one, ..Calls::default() },
            StepKind::Human(_) => Calls { human: one, ..Calls::default() },
            StepKind::Sequence(steps) => self.sum(flow, steps, Apart::of_steps(self.program, flow, steps)),
            StepKind::Parallel(parallel) => {
                let steps = &parallel.branches;
                self.sum(flow, steps, Apart::of_steps(self.program, flow, steps))
            }
            StepKind::Graph(graph) => {
                let steps: Vec<_> = graph.nodes.iter().map(|n| n.step).collect();
                self.sum(flow, &steps, Apart::of_graph(graph))
            }
            StepKind::Branch { .. } => {
                walk::children(step).into_iter().fold(Calls::default(), |all, s| all.or(&self.step(flow, s)))
            }
            StepKind::StateMachine(machine) => self.machine(flow, machine),
            StepKind::Conversation(it) => {
                let turns = self.passes(flow, step);
                let often = if self.once { 1 } else { it.most_calls(it.max_turns) };
                let called = it.offers.iter().fold(Calls::default(), |all, o| all.or(&self.step(flow, o.step)));
                let checked = it.gate.map(|gate| self.step(flow, gate)).unwrap_or_default();
                self.step(flow, it.turn).times(&turns).plus(&called.plus(&checked).times(&Bound::known(often)))
            }
            StepKind::Call(_) => {
                walk::callees(step).into_iter().fold(Calls::default(), |all, callee| all.or(&self.flow(callee)))
            }
            // All that is inside, once.
            _ => {
                let steps =
                    walk::children(step).into_iter().fold(Calls::default(), |all, s| all.plus(&self.step(flow, s)));
                walk::callees(step).into_iter().fold(steps, |all, callee| all.plus(&self.flow(callee)))
            }
        }
    }
    /// One call of a tool.
    pub fn tool(&self, call: &ToolCall) -> Calls {
        let own = Calls { tool: Bound::known(1), ..Calls::default() };
        self.beneath.as_ref().map_or(own.clone(), |beneath| own.plus(&beneath(call)))
    }
    fn asks(&self, flow: FlowId, call: &ModelCall, times: Bound) -> Calls {
        let models = self.model.iter().map(|name| (name(&call.model).into(), times.clone())).collect();
        let price = self.price.as_ref().map_or(0, |price| price(flow, call));
        Calls { cost: times.times(&Bound::known(price)), model: times, models, ..Calls::default() }
    }
    /// The sum of all steps, except those that never run in the same run.
    fn sum(&mut self, flow: FlowId, steps: &[StepId], apart: Option<Apart>) -> Calls {
        let Some(apart) = apart else {
            return steps.iter().fold(Calls::default(), |all, s| all.plus(&self.step(flow, *s)));
        };
        let each: Vec<Calls> = steps.iter().map(|s| self.step(flow, *s)).collect();
        Calls::combine(&each, &|costs| apart.most(costs))
    }
    /// The maximum number of items of a fan-out.
    fn count(&self, flow: FlowId, items: &Items) -> Bound {
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
    /// The most expensive path through the machine.
    fn machine(&mut self, flow: FlowId, machine: &StateMachine) -> Calls {
        let each: Vec<Calls> = machine.states.iter().map(|s| self.step(flow, s.step)).collect();
        let ways = if self.once { Ways::once(machine) } else { Ways::of(machine) };
        Calls::combine(&each, &|costs| ways.dearest(costs))
    }
}

/// The maximum number of model calls allowed by a flow's budget, if exceeding it ends the run.
fn ceiling(flow: &Flow) -> Option<u64> {
    let budget = flow.budget.as_ref().filter(|b| b.on_exceeded == OnExceeded::Abort)?;
    budget.max_calls
}

/// The placeholders of an expression.
fn written(_: FlowId, list: &Expr) -> String {
    let mut names = Vec::new();
    walk::texts(list, &mut |text| {
        names.extend(text.template.references().iter().map(|r| format!("{{{{{}}}}}", r.dotted())));
    });
    if names.is_empty() { "a list".to_owned() } else { names.join(" ") }
}

/// The maximum number of attempts of a step: the retries in the manifest, and the request for an answer that matches.
pub fn tries(step: &Step) -> u64 {
    let retries = step.policy.retry.as_ref().map_or(1, |r| u64::from(r.max_attempts.max(1)));
    retries + u64::from(step.asks_again())
}

fn length(value: &Value) -> u64 {
    if let Some(items) = value.as_list() {
        return items.len() as u64;
    }
    let parsed = value.as_str().and_then(|t| read_json::<Vec<serde_json::Value>>(t.trim()).ok());
    parsed.map_or(0, |items| items.len() as u64)
}
