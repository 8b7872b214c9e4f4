//! The worst-case number and cost of calls, through loops, retries, fan-outs and iterations.

use std::rc::Rc;

use trefoil_syntax::hash::HashMap;

use trefoil_ir::{
    Conversation, FanOutItems, FlowDefinition, FlowId, IndexVec, ModelCall, ModelChoice, OnExceeded, Program,
    StateMachine, Step, StepContents, StepId, StepKind, ToolCall, ValueExpression, walk,
};
use trefoil_template::{Value, read_json};

use super::call_bounds::{CallBound, CallBounds};
use super::calls::CallGraph;
use super::concurrency::exclusive_steps::StepExclusions;
use super::visits::MachinePaths;

/// The displayed name of a list whose length is known only at run time.
type ListNaming<'p> = dyn Fn(FlowId, &ValueExpression) -> String + 'p;
/// The displayed name of a model.
type ModelNaming<'p> = dyn Fn(&ModelChoice) -> String + 'p;
/// The cost of one model call, in the caller's unit.
type CallPricing<'p> = dyn Fn(FlowId, &ModelCall) -> u64 + 'p;
/// The calls that a call of a tool causes in addition.
type ToolCallCounter<'p> = dyn Fn(&ToolCall) -> CallBounds + 'p;

/// Counts calls; each flow is counted once.
pub struct CallCounter<'p> {
    program: &'p Program,
    name: Box<ListNaming<'p>>,
    model: Option<Box<ModelNaming<'p>>>,
    price: Option<Box<CallPricing<'p>>>,
    beneath: Option<Box<ToolCallCounter<'p>>>,
    /// Whether to count a run in which each loop has one pass, each state is entered at most once, and nothing is
    /// retried.
    once: bool,
    flows: HashMap<FlowId, CallBounds>,
    /// For each flow: whether it was counted.
    counted: IndexVec<FlowId, bool>,
    /// The call graph.
    calls: Rc<CallGraph>,
    /// For each flow: whether calls lead back to it.
    recursive: IndexVec<FlowId, bool>,
}

impl<'p> CallCounter<'p> {
    /// Without any counts yet.
    pub fn new(program: &'p Program) -> Self {
        Self::with_call_graph(program, Rc::new(CallGraph::from_program(program)))
    }
    /// The same with a known call graph.
    pub(super) fn with_call_graph(program: &'p Program, calls: Rc<CallGraph>) -> Self {
        Self {
            program,
            name: Box::new(written),
            model: None,
            price: None,
            beneath: None,
            once: false,
            flows: HashMap::default(),
            counted: calls.unmarked_flows(),
            recursive: calls.recursive_flows(),
            calls,
        }
    }
    /// Sets names for lists and models, and counts the calls of each model separately.
    pub fn with_names(
        program: &'p Program,
        name: impl Fn(FlowId, &ValueExpression) -> String + 'p,
        model: impl Fn(&ModelChoice) -> String + 'p,
    ) -> Self {
        Self { name: Box::new(name), model: Some(Box::new(model)), ..Self::new(program) }
    }
    /// Sets the cost of model calls.
    #[must_use]
    pub fn with_price(self, price: impl Fn(FlowId, &ModelCall) -> u64 + 'p) -> Self {
        Self { price: Some(Box::new(price)), ..self }
    }
    /// Sets the calls caused by tools, because some tools are flows.
    #[must_use]
    pub fn with_tool_calls(self, tool: impl Fn(&ToolCall) -> CallBounds + 'p) -> Self {
        Self { beneath: Some(Box::new(tool)), ..self }
    }
    /// Counts a run in which each loop has one pass, each state is entered at most once, and nothing is retried.
    #[must_use]
    pub fn single_pass(self) -> Self {
        Self { once: true, ..self }
    }
    /// One call of a flow. A budget that ends the run does so before one model call too many.
    pub fn count_flow(&mut self, id: FlowId) -> CallBounds {
        let calls = self.without_budget(id);
        match ceiling(&self.program.flows[id]) {
            Some(most) => calls.up_to(most),
            None => calls,
        }
    }
    /// The same for display next to the budget: the budget is applied only if the number is otherwise unlimited or
    /// unknown.
    pub fn beside_budget(&mut self, id: FlowId) -> CallBounds {
        let calls = self.without_budget(id);
        match ceiling(&self.program.flows[id]) {
            Some(most) if calls.model.fixed_number().is_none() => calls.up_to(most),
            _ => calls,
        }
    }
    /// One call of a flow, ignoring its own budget.
    pub fn without_budget(&mut self, id: FlowId) -> CallBounds {
        if let Some(known) = self.flows.get(&id) {
            return known.clone();
        }
        // Callees are counted first, so that a long chain of calls needs no stack.
        for flow in self.calls.callees_first(std::iter::once(id), &mut self.counted) {
            let calls = if self.recursive[flow] {
                self.endless(flow)
            } else {
                self.count_step(flow, self.program.flows[flow].body)
            };
            self.flows.insert(flow, calls);
        }
        self.flows.get(&id).cloned().unwrap_or_default()
    }
    /// Everything that a flow which calls itself does is unlimited.
    fn endless(&self, id: FlowId) -> CallBounds {
        let mut calls = CallBounds::default();
        for (_, step) in walk::reachable_steps(self.program, id) {
            match &self.program.steps[step].kind {
                StepKind::Model(call) => calls = calls.sum_with(&self.asks(id, call, CallBound::without_limit())),
                StepKind::Tool(call) => {
                    calls = calls.sum_with(&self.count_tool(call).multiply_by(&CallBound::without_limit()))
                }
                StepKind::Command(_) => calls.command = CallBound::without_limit(),
                StepKind::Human(_) => calls.human = CallBound::without_limit(),
                _ => {}
            }
        }
        calls
    }
    /// One execution of a step, including its retries.
    pub fn count_step(&mut self, flow: FlowId, id: StepId) -> CallBounds {
        let step = &self.program.steps[id];
        // The model decides which tools it calls and how often, so a conversation counts its turns itself.
        let whole = matches!(step.kind, StepKind::Conversation(_));
        let passes = if whole { CallBound::from_number(1) } else { self.max_passes(flow, step) };
        let once = self.once(flow, step).multiply_by(&passes);
        if self.once { once } else { once.multiply_by(&CallBound::from_number(max_tries(step))) }
    }
    /// The maximum number of times that the contents of a step start in one execution.
    pub fn max_passes(&self, flow: FlowId, step: &Step) -> CallBound {
        match step.kind.step_info().inside {
            StepContents::Repeated { max, .. } => {
                CallBound::from_number(u64::from(if self.once { max.min(1) } else { max }))
            }
            StepContents::ForEach(each) => self.count(flow, &each.items),
            _ => CallBound::from_number(1),
        }
    }
    /// One pass of a step.
    fn once(&mut self, flow: FlowId, step: &Step) -> CallBounds {
        let one = CallBound::from_number(1);
        match &step.kind {
            StepKind::Model(call) => self.asks(flow, call, one),
            StepKind::Tool(call) => self.count_tool(call),
            StepKind::Command(_) => CallBounds { command: one, ..CallBounds::default() },
            StepKind::Human(_) => CallBounds { human: one, ..CallBounds::default() },
            StepKind::Sequence(steps) => self.sum(flow, steps, StepExclusions::of_steps(self.program, flow, steps)),
            StepKind::Parallel(parallel) => {
                let steps = &parallel.branches;
                self.sum(flow, steps, StepExclusions::of_steps(self.program, flow, steps))
            }
            StepKind::Graph(graph) => {
                let steps: Vec<_> = graph.nodes.iter().map(|n| n.step).collect();
                self.sum(flow, &steps, StepExclusions::of_graph(graph))
            }
            StepKind::Branch { .. } => {
                let mut most = CallBounds::default();
                for branch in walk::children_of(step) {
                    most = most.max_with(&self.count_step(flow, branch));
                }
                most
            }
            StepKind::StateMachine(machine) => self.machine(flow, machine),
            StepKind::Conversation(conversation) => {
                let turns = self.max_passes(flow, step);
                self.conversation(flow, conversation, &turns)
            }
            StepKind::Call(_) => {
                let mut most = CallBounds::default();
                for callee in walk::callees_of(step) {
                    most = most.max_with(&self.count_flow(callee));
                }
                most
            }
            // All that is inside, once.
            _ => {
                let mut sum = CallBounds::default();
                for child in walk::children_of(step) {
                    sum = sum.sum_with(&self.count_step(flow, child));
                }
                for callee in walk::callees_of(step) {
                    sum = sum.sum_with(&self.count_flow(callee));
                }
                sum
            }
        }
    }
    /// The turns of a conversation, and the calls of tools that they may ask for.
    fn conversation(&mut self, flow: FlowId, conversation: &Conversation, turns: &CallBound) -> CallBounds {
        let often = if self.once { 1 } else { conversation.most_calls(conversation.max_turns) };
        let mut called = CallBounds::default();
        for offer in &conversation.offers {
            called = called.max_with(&self.count_step(flow, offer.step));
        }
        let checked = match conversation.gate {
            Some(gate) => self.count_step(flow, gate),
            None => CallBounds::default(),
        };
        let asked = self.count_step(flow, conversation.turn).multiply_by(turns);
        asked.sum_with(&called.sum_with(&checked).multiply_by(&CallBound::from_number(often)))
    }
    /// One call of a tool.
    pub fn count_tool(&self, call: &ToolCall) -> CallBounds {
        let own = CallBounds { tool: CallBound::from_number(1), ..CallBounds::default() };
        match &self.beneath {
            Some(beneath) => own.sum_with(&beneath(call)),
            None => own,
        }
    }
    fn asks(&self, flow: FlowId, call: &ModelCall, times: CallBound) -> CallBounds {
        let mut models = Vec::new();
        if let Some(name) = &self.model {
            models.push((name(&call.model).into(), times.clone()));
        }
        let price = match &self.price {
            Some(price) => price(flow, call),
            None => 0,
        };
        CallBounds {
            cost: times.multiply_by(&CallBound::from_number(price)),
            model: times,
            models,
            ..CallBounds::default()
        }
    }
    /// The sum of all steps, except those that never run in the same run.
    fn sum(&mut self, flow: FlowId, steps: &[StepId], apart: Option<StepExclusions>) -> CallBounds {
        let Some(apart) = apart else {
            let mut sum = CallBounds::default();
            for step in steps {
                sum = sum.sum_with(&self.count_step(flow, *step));
            }
            return sum;
        };
        let each: Vec<CallBounds> = steps.iter().map(|s| self.count_step(flow, *s)).collect();
        CallBounds::combine_bounds(&each, &|costs| apart.max_cost(costs))
    }
    /// The maximum number of items of a fan-out.
    fn count(&self, flow: FlowId, items: &FanOutItems) -> CallBound {
        match items {
            FanOutItems::Count(ValueExpression::Const(value), max) => {
                let n = written_number(value).unwrap_or(f64::from(*max));
                CallBound::from_number((n.max(0.0) as u64).min(u64::from(*max)))
            }
            FanOutItems::Count(_, max) => CallBound::from_number(u64::from(*max)),
            FanOutItems::List(ValueExpression::Const(value)) => CallBound::from_number(length(value)),
            FanOutItems::List(list) => CallBound::per_item_of((self.name)(flow, list)),
        }
    }
    /// The most expensive path through the machine.
    fn machine(&mut self, flow: FlowId, machine: &StateMachine) -> CallBounds {
        let each: Vec<CallBounds> = machine.states.iter().map(|s| self.count_step(flow, s.step)).collect();
        let ways =
            if self.once { MachinePaths::with_single_visits(machine) } else { MachinePaths::from_machine(machine) };
        CallBounds::combine_bounds(&each, &|costs| ways.max_path_cost(costs))
    }
}

/// The maximum number of model calls allowed by a flow's budget, if exceeding it ends the run.
fn ceiling(flow: &FlowDefinition) -> Option<u64> {
    let budget = flow.budget.as_ref()?;
    if budget.on_exceeded == OnExceeded::Abort { budget.max_calls } else { None }
}

/// The number that a constant is, or that its text is.
fn written_number(value: &Value) -> Option<f64> {
    match value.as_f64() {
        Some(number) => Some(number),
        None => value.as_str()?.trim().parse().ok(),
    }
}

/// The placeholders of an expression.
fn written(_: FlowId, list: &ValueExpression) -> String {
    let mut names = Vec::new();
    walk::visit_templates(list, &mut |text| {
        for reference in text.template.references() {
            names.push(format!("{{{{{}}}}}", reference.dotted_path()));
        }
    });
    if names.is_empty() { "a list".to_owned() } else { names.join(" ") }
}

/// The maximum number of attempts of a step: the retries in the manifest, and the request for an answer that matches.
pub fn max_tries(step: &Step) -> u64 {
    let retries = match &step.policy.retry {
        Some(retry) => u64::from(retry.max_attempts.max(1)),
        None => 1,
    };
    retries + u64::from(step.asks_again())
}

fn length(value: &Value) -> u64 {
    if let Some(items) = value.as_list() {
        return items.len() as u64;
    }
    let Some(text) = value.as_str() else { return 0 };
    match read_json::<Vec<serde_json::Value>>(text.trim()) {
        Ok(items) => items.len() as u64,
        Err(_) => 0,
    }
}
