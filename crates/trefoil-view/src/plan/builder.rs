//! Builds the plan from the description: called flows are expanded in place, and calls are counted.

use std::sync::Arc;

use trefoil_check::semantic::concurrency::in_order;
use trefoil_check::semantic::cost::{CallCounter, max_tries};
use trefoil_check::semantic::visits::MachinePaths;
use trefoil_ir::prices::DollarAmount;
use trefoil_ir::{
    Budget, FlowDefinition, FlowId, IndexVec, MatchedOutcome, NodeId, OnExceeded, OnTimeout, Program, StateId,
    StateMachine, StepGraph, StepKind, walk,
};
use trefoil_syntax::SourceFiles;

use super::called_flows::{self, CalledFlow, CallsPerTool};
use super::{CallBound, CallBounds, DeclaredInput, Plan, PlanObstacle, PlanStep};
use crate::descriptions::{self, ProgramDescription, StepContent, StepNode};

/// The maximum number of steps in a plan; beyond it, flows are not expanded.
const LIMIT: usize = 2000;

/// Plans a run of the entry flow.
pub(super) fn build_plan(program: &Program, files: &SourceFiles, called: &[CalledFlow]) -> Plan {
    let described = ProgramDescription::for_program(program, files);
    let beneath = CallsPerTool::from_flows(called, |one, known| {
        called_flows::program_costs(&one.program, &one.files, known).count_flow(one.program.entry)
    });
    let mut costs = called_flows::program_costs(program, files, &beneath);
    let calls = costs.beside_budget(program.entry);
    let mut planner = PlanBuilder {
        described: &described,
        costs,
        beneath: &beneath,
        models: Vec::new(),
        open: vec![program.entry],
        left: LIMIT,
    };
    let flow = program.entry_flow();
    let steps = planner.step(described.flow_body(program.entry), PlanContext::inside(CallBound::from_number(1)));
    let mut output = Vec::new();
    if let Some(expr) = &flow.output {
        descriptions::reads_of(flow, expr, &mut output);
    }
    Plan {
        name: flow.name.to_string(),
        sort: flow.sort,
        place: described.to_plan_location(flow.origin),
        inputs: inputs(flow),
        takes_text: flow.intake.fields.is_empty() || flow.intake.wrap.is_some(),
        steps,
        output,
        models: planner.models(&calls),
        calls,
        money: None,
        limits: flow.budget.as_ref().map(limits).unwrap_or_default(),
        obstacles: obstacles(&described),
        proofs: Vec::new(),
        cut: planner.left == 0,
    }
}

fn inputs(flow: &FlowDefinition) -> Vec<DeclaredInput> {
    let fields = flow.intake.fields.iter();
    fields
        .map(|f| DeclaredInput {
            name: f.name.to_string(),
            schema: f.schema.clone(),
            required: f.default.is_none() && !f.nullable,
            default: f.default.clone(),
        })
        .collect()
}

fn limits(budget: &Budget) -> Vec<String> {
    let then = match budget.on_exceeded {
        OnExceeded::Abort => "exceeding it fails the run",
        OnExceeded::Warn => "exceeding it is a warning",
        OnExceeded::SkipRemaining => "exceeding it skips nodes that have not started",
    };
    let mut all = Vec::new();
    if let Some(n) = budget.max_calls {
        all.push(format!("{n} model calls; {then}"));
    }
    if let Some(n) = budget.max_tokens {
        all.push(format!("{n} tokens; {then}"));
    }
    if let Some(micro) = budget.max_cost_micro {
        all.push(format!("{}; {then}", DollarAmount(micro)));
    }
    if let Some(ms) = budget.max_duration_ms {
        all.push(format!("{}; {then}", descriptions::render_duration(ms)));
    }
    all
}

/// The context of a step.
#[derive(Clone)]
struct PlanContext {
    /// The name given by enclosing steps that only add a name.
    name: Option<Arc<str>>,
    notes: Vec<String>,
    /// The maximum number of times it starts.
    times: CallBound,
    /// The final place of its result.
    writes: Option<String>,
}

impl PlanContext {
    /// In a structure that starts this often.
    fn inside(times: CallBound) -> Self {
        Self { name: None, notes: Vec::new(), times, writes: None }
    }
    /// Adds notes.
    fn with(self, notes: Vec<String>) -> Self {
        Self { notes, ..self }
    }
    /// Adds what the step itself says.
    fn add_step(&mut self, flow: &FlowDefinition, node: &StepNode<'_>) {
        let step = node.step;
        if self.name.is_none() {
            self.name.clone_from(&step.label);
        }
        if let Some(slot) = step.out {
            let paths = descriptions::slot_paths(flow, slot);
            self.writes = if paths.is_empty() { None } else { Some(paths) };
        }
        self.notes.extend(node.notes.iter().cloned());
        if step.asks_again() {
            self.notes.push("called again if the answer does not match its schema".to_owned());
        }
        self.times = self.times.multiply_by(&CallBound::from_number(max_tries(step)));
    }
}

struct PlanBuilder<'d, 'p> {
    described: &'d ProgramDescription<'p>,
    costs: CallCounter<'p>,
    beneath: &'p CallsPerTool,
    /// The models used by steps, in the order of the steps.
    models: Vec<String>,
    /// The flows being expanded, outermost first.
    open: Vec<FlowId>,
    left: usize,
}

impl<'d, 'p> PlanBuilder<'d, 'p> {
    /// The entries for a step. A structure without a name and without notes is replaced by its steps.
    fn step(&mut self, node: &'d StepNode<'p>, mut around: PlanContext) -> Vec<PlanStep> {
        let step = node.step;
        let flow = &self.described.program.flows[node.flow];
        around.add_step(flow, node);
        let sort = step.kind.step_info().name;
        let mut here = PlanStep {
            name: around.name.as_deref().unwrap_or(sort).to_owned(),
            sort,
            place: node.place.clone(),
            notes: around.notes.clone(),
            model: None,
            reads: descriptions::read_paths(flow, step),
            writes: around.writes.clone(),
            at_most: around.times.clone(),
            steps: Vec::new(),
        };
        let times = around.times.multiply_by(&self.costs.max_passes(node.flow, step));
        match &node.what {
            StepContent::Turns { .. } => return self.turns(node, times, around),
            StepContent::Call(id) => return self.call(*id, around, here),
            StepContent::Value if around.name.is_none() => return Vec::new(),
            StepContent::Value => {}
            StepContent::Effect { title, says } => {
                self.effect(&step.kind, (title, says), around.name.is_none(), &mut here)
            }
            StepContent::Sequence(steps) => {
                here.steps = self.plan_nodes(steps, &PlanContext::inside(times));
                let lone = here.steps.len() == 1 && around.name.is_none();
                if lone || is_bare(&around) {
                    return here.steps;
                }
                here.reads.clear();
            }
            StepContent::Parallel { width, branches, .. } => {
                here.notes.extend(width.clone());
                here.steps = self.plan_nodes(branches, &PlanContext::inside(times));
            }
            StepContent::Choice { arms, otherwise } => {
                for (when, arm) in arms {
                    let notes = vec![format!("if {when}")];
                    here.steps.extend(self.step(arm, PlanContext::inside(times.clone()).with(notes)));
                }
                if let Some(otherwise) = otherwise {
                    let notes = vec!["else".to_owned()];
                    here.steps.extend(self.step(otherwise, PlanContext::inside(times).with(notes)));
                }
            }
            StepContent::Loop { until, most, body } => {
                here.notes.extend([until.clone(), most.clone()]);
                here.steps = self.step(body, PlanContext::inside(times));
            }
            StepContent::Each { items, width, limit, body, .. } => {
                here.notes.push(items.clone());
                here.notes.extend(width.clone());
                here.notes.extend(limit.clone());
                here.steps = self.flow(*body, PlanContext::inside(times));
            }
            StepContent::Graph { .. } | StepContent::States { .. } => {
                here.steps = match &node.what {
                    StepContent::Graph { graph, nodes } => self.graph(graph, nodes, &PlanContext::inside(times)),
                    StepContent::States { machine, states } => {
                        self.states(machine, states, &PlanContext::inside(times))
                    }
                    _ => Vec::new(),
                };
                if is_bare(&around) {
                    return here.steps;
                }
                here.reads.clear();
            }
            StepContent::Named { name, flows } => {
                here.notes.push(name.clone());
                here.steps = self.plan_named_flows(flows, "if named", &times);
            }
        }
        vec![here]
    }
    fn effect(&mut self, kind: &StepKind, (title, says): (&str, &str), nameless: bool, here: &mut PlanStep) {
        match kind {
            StepKind::Model(_) => {
                if nameless {
                    here.name = title.to_owned();
                }
                if !self.models.iter().any(|model| model == says) {
                    self.models.push(says.to_owned());
                }
                here.model = Some(says.to_owned());
            }
            StepKind::Command(_) => here.notes.push(format!("runs {says}")),
            StepKind::Human(call) => {
                here.notes.push(format!("asks {says}"));
                if let OnTimeout::Answer(answer) = &call.on_timeout {
                    here.notes.push(format!("else {}", descriptions::short_text(answer)));
                }
            }
            kind => {
                here.notes.push(says.to_owned());
                here.notes.extend(self.beneath(kind));
            }
        }
    }
    /// What a call of a tool causes, if the tool is a flow.
    fn beneath(&self, kind: &StepKind) -> Option<String> {
        let StepKind::Tool(call) = kind else { return None };
        let calls = self.beneath.calls_for(call).model;
        let many = match calls.fixed_number() {
            Some(0) => return None,
            Some(1) => "at most 1 model call".to_owned(),
            _ if calls.endless => "any number of model calls".to_owned(),
            _ => format!("at most {calls} model calls"),
        };
        Some(format!("`{}` runs a flow: {many}, each time", call.name))
    }
    fn plan_nodes(&mut self, nodes: &'d [StepNode<'p>], around: &PlanContext) -> Vec<PlanStep> {
        let mut steps = Vec::new();
        for node in nodes {
            steps.extend(self.step(node, around.clone()));
        }
        steps
    }
    /// The calls of each model, counted like all calls.
    fn models(&self, calls: &CallBounds) -> Vec<(String, CallBound)> {
        let mut models = Vec::new();
        for name in &self.models {
            models.push((name.clone(), calls.of_model(name)));
        }
        for (name, _) in &calls.models {
            if !self.models.iter().any(|known| **known == **name) {
                models.push((name.to_string(), calls.of_model(name)));
            }
        }
        models
    }
    /// Nodes in declaration order, changed only where a node must come after a later one.
    fn graph(
        &mut self,
        graph: &StepGraph,
        nodes: &'d IndexVec<NodeId, StepNode<'p>>,
        around: &PlanContext,
    ) -> Vec<PlanStep> {
        let name = |id: NodeId| nodes[id].step.label.clone().unwrap_or_else(|| id.0.to_string().into());
        let mut all = Vec::new();
        for id in in_order(graph) {
            let node = &graph.nodes[id];
            let mut own = Vec::new();
            for edge in &node.incoming {
                let when = match &edge.when {
                    Some(when) => format!(" when {}", descriptions::short_text(&when.text)),
                    None => String::new(),
                };
                own.push(format!("after {}{when}", name(edge.from)));
            }
            for before in &node.after {
                if !node.incoming.iter().any(|e| e.from == *before) && !node.fallback_of.contains(before) {
                    own.push(format!("after {}", name(*before)));
                }
            }
            own.extend(node.fallback_of.iter().map(|n| format!("only when {} fails", name(*n))));
            all.extend(self.step(&nodes[id], around.clone().with(own)));
        }
        all
    }
    fn states(
        &mut self,
        machine: &StateMachine,
        nodes: &'d IndexVec<StateId, StepNode<'p>>,
        around: &PlanContext,
    ) -> Vec<PlanStep> {
        let mut all = Vec::new();
        let ways = MachinePaths::from_machine(machine);
        for (id, state) in machine.states.entries() {
            let visits = ways.max_visits(id);
            let mut notes = Vec::new();
            if id == machine.initial {
                notes.push("starts here".to_owned());
            }
            if visits > 1 {
                notes.push(format!("at most {visits} visits"));
            }
            for transition in &state.transitions {
                let target = &machine.states[transition.target].name;
                let names_failure = transition.text.contains("failure");
                let on = if transition.takes == MatchedOutcome::Failure && !names_failure { "on failure " } else { "" };
                notes.push(format!("{on}{} → {target}", descriptions::short_text(&transition.text)));
            }
            if state.transitions.is_empty() {
                notes.push("ends here".to_owned());
            } else if state.ends_unmatched {
                notes.push("ends here on success".to_owned());
            }
            let times = around.times.multiply_by(&CallBound::from_number(visits));
            let around = PlanContext { name: Some(state.name.clone()), notes, times, writes: None };
            all.extend(self.step(&nodes[id], around));
        }
        all
    }
    /// Turns of a model, with what it may call; `times`: how often the turns start.
    fn turns(&mut self, node: &'d StepNode<'p>, times: CallBound, mut around: PlanContext) -> Vec<PlanStep> {
        let StepContent::Turns { notes, role, beside, body } = &node.what else { return Vec::new() };
        around.notes.extend(notes.iter().cloned());
        let mut called = times.clone();
        if let StepKind::Conversation(conversation) = &node.step.kind {
            for offer in &conversation.offers {
                around.notes.extend(self.beneath(&self.described.program.steps[offer.step].kind));
            }
            // The model may call each tool several times in a turn.
            let most = conversation.most_calls(conversation.max_turns);
            called = around.times.multiply_by(&CallBound::from_number(most));
        }
        let mut steps = self.step(body, PlanContext { times, ..around });
        steps.extend(self.plan_named_flows(beside, role, &called));
        steps
    }
    /// Flows by name, each with a note saying why it runs.
    fn plan_named_flows(&mut self, flows: &[(Arc<str>, FlowId)], note: &str, times: &CallBound) -> Vec<PlanStep> {
        let mut steps = Vec::new();
        for (name, id) in flows {
            let around = PlanContext::inside(times.clone()).with(vec![note.to_owned()]);
            steps.extend(self.flow(*id, PlanContext { name: Some(name.clone()), ..around }));
        }
        steps
    }
    fn call(&mut self, id: FlowId, mut around: PlanContext, here: PlanStep) -> Vec<PlanStep> {
        let flow = &self.described.program.flows[id];
        match &around.name {
            Some(name) if flow.name != *name => around.notes.push(format!("{} {}", flow.sort, flow.name)),
            Some(_) => {}
            None => around.name = Some(flow.name.clone()),
        }
        let steps = self.flow(id, around);
        // For a reader of the manifest, the caller's input is what the step reads.
        match <[PlanStep; 1]>::try_from(steps) {
            Ok([only]) => vec![PlanStep {
                reads: if here.reads.is_empty() { only.reads } else { here.reads },
                writes: here.writes.or(only.writes),
                place: here.place,
                ..only
            }],
            Err(steps) => vec![PlanStep { sort: flow.sort, steps, ..here }],
        }
    }
    fn flow(&mut self, id: FlowId, around: PlanContext) -> Vec<PlanStep> {
        if self.open.contains(&id) {
            return vec![self.again(&self.described.program.flows[id], around)];
        }
        if self.left == 0 {
            return Vec::new();
        }
        self.left -= 1;
        self.open.push(id);
        let steps = self.step(self.described.flow_body(id), around);
        self.open.pop();
        steps
    }
    /// A call of a flow that is already being expanded, which is not expanded again.
    fn again(&self, flow: &FlowDefinition, around: PlanContext) -> PlanStep {
        let mut notes = around.notes;
        notes.push("calls itself".to_owned());
        PlanStep {
            name: around.name.as_deref().unwrap_or(&flow.name).to_owned(),
            sort: flow.sort,
            place: self.described.to_plan_location(flow.origin),
            notes,
            model: None,
            reads: Vec::new(),
            writes: around.writes,
            at_most: CallBound::without_limit(),
            steps: Vec::new(),
        }
    }
}

/// Whether a structure has neither name nor notes.
fn is_bare(around: &PlanContext) -> bool {
    around.name.is_none() && around.notes.is_empty()
}

fn obstacles(described: &ProgramDescription<'_>) -> Vec<PlanObstacle> {
    let program = described.program;
    let mut all = Vec::new();
    for (id, refused) in walk::refused_steps(program) {
        all.push(PlanObstacle {
            what: format!("{} is not supported yet", descriptions::feature_name(&refused.feature)),
            help: None,
            place: described.to_plan_location(program.steps[id].origin),
        });
    }
    for (name, at) in &program.missing_agents {
        all.push(PlanObstacle {
            what: format!("agent `{name}` is not defined; only the embedded model can stand in for it"),
            help: None,
            place: described.to_plan_location(*at),
        });
    }
    all
}
