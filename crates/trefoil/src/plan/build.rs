//! From the program to the plan.

use std::sync::Arc;

use trefoil_check::semantic::cost::{Costs, tries};
use trefoil_check::semantic::visits::Ways;
use trefoil_ir::{
    Attempts, Budget, Callee, Flow, FlowId, Graph, OnExceeded, Program, StateMachine, StepId, StepKind, Takes,
    ValidatorKind, walk,
};
use trefoil_syntax::{Files, Location};

use super::{Bound, Calls, Input, Obstacle, Place, Plan, Step};
use crate::describe;

/// Steps of a plan; beyond, flows are not written out any more.
const LIMIT: usize = 2000;

/// Plans a run of the entry flow.
pub(super) fn build(program: &Program, files: &Files) -> Plan {
    let name = |flow, list: &_| describe::expr(files, program.flow(flow), list);
    let mut costs = Costs::naming(program, name, describe::model);
    let calls = costs.beside_budget(program.entry);
    let mut planner = Planner { program, files, costs, models: Vec::new(), open: vec![program.entry], left: LIMIT };
    let Some(flow) = program.flow(program.entry) else {
        return Plan {
            name: program.name.to_string(),
            sort: "program",
            place: None,
            inputs: Vec::new(),
            takes_text: false,
            steps: Vec::new(),
            output: Vec::new(),
            models: Vec::new(),
            calls,
            limits: Vec::new(),
            obstacles: Vec::new(),
            cut: false,
        };
    };
    let around = Around { flow: program.entry, name: None, notes: Vec::new(), times: Bound::known(1), writes: None };
    let steps = planner.step(flow.body, around);
    let mut output = Vec::new();
    if let Some(expr) = &flow.output {
        describe::reads_of(Some(flow), expr, &mut output);
    }
    Plan {
        name: flow.name.to_string(),
        sort: flow.sort,
        place: planner.place(flow.origin),
        inputs: inputs(flow),
        takes_text: flow.intake.fields.is_empty() || flow.intake.wrap.is_some(),
        steps,
        output,
        models: planner.models(&calls),
        calls,
        limits: flow.budget.as_ref().map(limits).unwrap_or_default(),
        obstacles: planner.obstacles(),
        cut: planner.left == 0,
    }
}

fn inputs(flow: &Flow) -> Vec<Input> {
    let fields = flow.intake.fields.iter();
    fields
        .map(|f| Input {
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
    if let Some(ms) = budget.max_duration_ms {
        all.push(format!("{}; {then}", describe::duration(ms)));
    }
    all
}

/// Where a step stands.
#[derive(Clone)]
struct Around {
    flow: FlowId,
    /// What the steps around it that are nothing but a name for it call it.
    name: Option<Arc<str>>,
    notes: Vec<String>,
    /// How often it begins at most.
    times: Bound,
    /// Where its result ends up.
    writes: Option<String>,
}

struct Planner<'p> {
    program: &'p Program,
    files: &'p Files,
    costs: Costs<'p>,
    /// Those that steps ask, in the order of the steps.
    models: Vec<String>,
    /// The flows that are being written out, outermost first.
    open: Vec<FlowId>,
    left: usize,
}

impl<'p> Planner<'p> {
    fn place(&self, at: Location) -> Option<Place> {
        let file = self.files.get(at.file)?;
        Some(Place { file: file.name().to_owned(), line: file.position(at.span.start).line })
    }
    /// What a step does. A structure without a name in the manifest and without anything to say is only its steps.
    fn step(&mut self, id: StepId, around: Around) -> Vec<Step> {
        let Some(step) = self.program.step(id) else { return Vec::new() };
        let flow = self.program.flow(around.flow);
        let mut around = around;
        if around.name.is_none()
            && let Some(label) = &step.label
        {
            around.name = Some(label.clone());
        }
        if let Some(slot) = step.out {
            around.writes = Some(describe::slot_paths(flow, slot)).filter(|n| !n.is_empty());
        }
        if let Some(when) = &step.when {
            around.notes.push(format!("when {}", describe::short(&when.text)));
        }
        around.notes.extend(describe::policies(step));
        if step.asks_again() {
            around.notes.push("asked once more if the answer does not match its schema".to_owned());
        }
        around.times = around.times.times(&Bound::known(tries(step)));
        let sequence = matches!(step.kind, StepKind::Sequence(_));
        let mut here = Step {
            name: around.name.as_deref().unwrap_or(describe::sort(&step.kind)).to_owned(),
            sort: describe::sort(&step.kind),
            place: self.place(step.origin),
            notes: around.notes.clone(),
            model: None,
            reads: describe::reads(flow, step),
            writes: around.writes.clone(),
            at_most: around.times.clone(),
            steps: Vec::new(),
        };
        let inside = |times: Bound| Around { flow: around.flow, name: None, notes: Vec::new(), times, writes: None };
        match &step.kind {
            StepKind::Model(call) => {
                if around.name.is_none() {
                    here.name = call.speaker.to_string();
                }
                let model = describe::model(&call.model);
                if !self.models.contains(&model) {
                    self.models.push(model.clone());
                }
                here.model = Some(model);
            }
            StepKind::Tool(call) => here.notes.push(format!("{} {}", describe::tool(&call.kind), call.name)),
            StepKind::Command(call) => {
                let command = describe::command(self.files, flow, call);
                here.notes.push(format!("runs {command}"));
            }
            StepKind::Human(call) => {
                let asks = describe::expr(self.files, flow, &call.prompt);
                here.notes.push(format!("asks {asks}"));
                match &call.on_timeout {
                    trefoil_ir::OnTimeout::Answer(answer) => {
                        here.notes.push(format!("else {}", describe::short(answer)))
                    }
                    trefoil_ir::OnTimeout::Fail => {}
                }
            }
            StepKind::Wait { ms } => here.notes.push(describe::duration(*ms)),
            StepKind::Compute(_) => {
                if around.name.is_none() {
                    return Vec::new();
                }
            }
            StepKind::Refused(refused) => here.notes.push(format!("not run: {}", refused.feature)),
            StepKind::Sequence(steps) => here.steps = self.all(steps, &inside(around.times.clone())),
            StepKind::Parallel(parallel) => {
                here.notes.extend(parallel.concurrency.map(|n| format!("{n} at a time")));
                here.steps = self.all(&parallel.branches, &inside(around.times.clone()));
            }
            StepKind::Branch { arms, otherwise } => {
                for arm in arms {
                    let mut inner = inside(around.times.clone());
                    inner.notes.push(format!("if {}", describe::short(&arm.when.text)));
                    here.steps.extend(self.step(arm.step, inner));
                }
                if let Some(step) = otherwise {
                    let mut inner = inside(around.times.clone());
                    inner.notes.push("else".to_owned());
                    here.steps.extend(self.step(*step, inner));
                }
            }
            StepKind::Loop(it) => {
                here.notes.push(format!("until {}", describe::short(&it.until.text)));
                here.notes.push(format!("at most {} iterations", it.max));
                here.steps = self.step(it.body, inside(around.times.times(&Bound::known(u64::from(it.max)))));
            }
            StepKind::ForEach(each) => {
                here.notes.push(describe::items(self.files, flow, &each.items));
                here.notes.extend(each.concurrency.map(|n| format!("{n} at a time")));
                here.notes.extend(each.timeout_ms.map(|ms| format!("time limit {} each", describe::duration(ms))));
                let times = around.times.times(&self.costs.count(around.flow, &each.items));
                here.steps = self.flow(each.body, Around { flow: each.body, ..inside(times) });
            }
            StepKind::Graph(graph) => here.steps = self.graph(graph, &inside(around.times.clone())),
            StepKind::StateMachine(machine) => here.steps = self.states(machine, &inside(around.times.clone())),
            StepKind::Attempts(attempts) => return self.attempts(attempts, around),
            StepKind::Call(call) => return self.call(&call.callee, around, here),
        }
        let bare = around.name.is_none() && around.notes.is_empty();
        let lone = here.steps.len() == 1 && around.name.is_none();
        if sequence && (bare || lone) || matches!(step.kind, StepKind::Graph(_) | StepKind::StateMachine(_)) && bare {
            return here.steps;
        }
        if matches!(step.kind, StepKind::Graph(_) | StepKind::StateMachine(_) | StepKind::Sequence(_)) {
            here.reads.clear();
        }
        vec![here]
    }
    fn all(&mut self, steps: &[StepId], around: &Around) -> Vec<Step> {
        steps.iter().flat_map(|s| self.step(*s, around.clone())).collect()
    }
    /// The calls of each model, counted like all calls.
    fn models(&self, calls: &Calls) -> Vec<(String, Bound)> {
        let more = calls.models.iter().map(|(name, _)| &**name).filter(|n| !self.models.iter().any(|m| m == n));
        let all = self.models.iter().map(String::as_str).chain(more);
        all.map(|name| (name.to_owned(), calls.of_model(name))).collect()
    }
    fn graph(&mut self, graph: &Graph, around: &Around) -> Vec<Step> {
        let name = |id: trefoil_ir::NodeId| {
            let node = graph.nodes.get(id.index());
            node.and_then(|n| self.program.step(n.step)?.label.clone()).unwrap_or_else(|| id.0.to_string().into())
        };
        let mut notes = Vec::new();
        for node in &graph.nodes {
            let mut own = Vec::new();
            for edge in &node.incoming {
                let when = edge.when.as_ref().map(|w| format!(" when {}", describe::short(&w.text)));
                own.push(format!("after {}{}", name(edge.from), when.unwrap_or_default()));
            }
            for before in &node.after {
                if !node.incoming.iter().any(|e| e.from == *before) && !node.fallback_of.contains(before) {
                    own.push(format!("after {}", name(*before)));
                }
            }
            own.extend(node.fallback_of.iter().map(|n| format!("only when {} fails", name(*n))));
            notes.push(own);
        }
        let mut all = Vec::new();
        for index in order(graph) {
            let (Some(node), Some(own)) = (graph.nodes.get(index), notes.get(index)) else { continue };
            all.extend(self.step(node.step, Around { notes: own.clone(), ..around.clone() }));
        }
        all
    }
    fn states(&mut self, machine: &StateMachine, around: &Around) -> Vec<Step> {
        let mut all = Vec::new();
        let ways = Ways::of(machine);
        for (index, state) in machine.states.iter().enumerate() {
            let visits = ways.visits(index);
            let mut notes = Vec::new();
            if index == machine.initial.index() {
                notes.push("starts here".to_owned());
            }
            if visits > 1 {
                notes.push(format!("at most {visits} visits"));
            }
            for transition in &state.transitions {
                let target = machine.states.get(transition.target.index()).map_or("?", |s| &*s.name);
                let told = transition.text.contains("failure");
                let on = if transition.takes == Takes::Failure && !told { "on failure " } else { "" };
                notes.push(format!("{on}{} → {target}", describe::short(&transition.text)));
            }
            if state.transitions.is_empty() {
                notes.push("ends here".to_owned());
            } else if state.ends_unmatched {
                notes.push("ends here on success".to_owned());
            }
            let inner = Around {
                name: Some(state.name.clone()),
                notes: notes.clone(),
                times: around.times.times(&Bound::known(visits)),
                ..around.clone()
            };
            let steps = self.step(state.step, inner);
            all.extend(steps);
        }
        all
    }
    fn attempts(&mut self, attempts: &Attempts, around: Around) -> Vec<Step> {
        let times = around.times.times(&Bound::known(u64::from(attempts.max)));
        let mut inner = Around { times: times.clone(), ..around };
        if attempts.max > 1 {
            inner.notes.push(format!("up to {} attempts", attempts.max));
        }
        let mut judges = Vec::new();
        for validator in &attempts.validators {
            match &validator.kind {
                ValidatorKind::Judges { judges: all, .. } => {
                    let names: Vec<_> = all.iter().map(|j| &*j.name).collect();
                    inner.notes.push(format!("judged by {}", names.join(", ")));
                    judges.extend(all.iter().map(|j| (j.name.clone(), j.flow)));
                }
                _ => inner.notes.push(format!("checked by {}", validator.name)),
            }
        }
        let flow = inner.flow;
        let mut steps = self.step(attempts.body, inner);
        for (name, judge) in judges {
            let around =
                Around { flow, name: Some(name), notes: vec!["judge".to_owned()], times: times.clone(), writes: None };
            steps.extend(self.flow(judge, around));
        }
        steps
    }
    fn call(&mut self, callee: &Callee, mut around: Around, here: Step) -> Vec<Step> {
        match callee {
            Callee::Flow(id) => {
                if let (Some(name), Some(flow)) = (&around.name, self.program.flow(*id))
                    && flow.name != *name
                {
                    around.notes.push(format!("{} {}", flow.sort, flow.name));
                }
                let name = around.name.clone().or_else(|| self.program.flow(*id).map(|f| f.name.clone()));
                let steps = self.flow(*id, Around { name, ..around });
                // What the caller passes in is what the step reads, as the manifest's reader sees it.
                match <[Step; 1]>::try_from(steps) {
                    Ok([only]) => vec![Step {
                        reads: if here.reads.is_empty() { only.reads } else { here.reads },
                        writes: here.writes.or(only.writes),
                        place: here.place,
                        ..only
                    }],
                    Err(steps) => {
                        let sort = self.program.flow(*id).map_or("call", |f| f.sort);
                        vec![Step { sort, steps, ..here }]
                    }
                }
            }
            Callee::Named { name, flows } => {
                let mut here = here;
                here.notes.push(format!("agent {}", describe::written(self.files, name)));
                for (name, id) in flows {
                    let inner = Around {
                        flow: *id,
                        name: Some(name.clone()),
                        notes: vec!["if named".to_owned()],
                        times: around.times.clone(),
                        writes: None,
                    };
                    here.steps.extend(self.flow(*id, inner));
                }
                vec![here]
            }
        }
    }
    fn flow(&mut self, id: FlowId, around: Around) -> Vec<Step> {
        let Some(flow) = self.program.flow(id) else { return Vec::new() };
        if self.open.contains(&id) {
            return vec![self.again(flow, Around { flow: id, ..around })];
        }
        if self.left == 0 {
            return Vec::new();
        }
        self.left -= 1;
        self.open.push(id);
        let steps = self.step(flow.body, Around { flow: id, ..around });
        self.open.pop();
        steps
    }
    /// A call that leads back to a flow around it, which is not written out again.
    fn again(&mut self, flow: &Flow, around: Around) -> Step {
        let mut notes = around.notes;
        notes.push("calls itself".to_owned());
        Step {
            name: around.name.unwrap_or_else(|| flow.name.clone()).to_string(),
            sort: flow.sort,
            place: self.place(flow.origin),
            notes,
            model: None,
            reads: Vec::new(),
            writes: around.writes,
            at_most: Bound::endless(),
            steps: Vec::new(),
        }
    }
    fn obstacles(&self) -> Vec<Obstacle> {
        let mut all = Vec::new();
        for (_, id) in walk::reachable(self.program, self.program.entry) {
            if let Some(step) = self.program.step(id)
                && let StepKind::Refused(refused) = &step.kind
            {
                let what = format!("{} is not supported yet", describe::feature(&refused.feature));
                all.push(Obstacle { what, place: self.place(step.origin) });
            }
        }
        for (name, at) in &self.program.missing_agents {
            let what = format!("agent `{name}` is not defined; only the embedded model can stand in for it");
            all.push(Obstacle { what, place: self.place(*at) });
        }
        all
    }
}

/// Declaration order, moved only where a node must come after a later one.
fn order(graph: &Graph) -> Vec<usize> {
    let mut done = vec![false; graph.nodes.len()];
    let mut all = Vec::new();
    while all.len() < graph.nodes.len() {
        let ready = graph.nodes.iter().enumerate().find(|(i, n)| {
            let before =
                n.incoming.iter().map(|e| e.from).chain(n.after.iter().copied()).chain(n.fallback_of.iter().copied());
            !done.get(*i).copied().unwrap_or(true)
                && before.map(|b| b.index()).all(|b| done.get(b).copied().unwrap_or(true))
        });
        // A circle is a load error; were there one, its first node comes first.
        let next = ready.map(|(i, _)| i).or_else(|| done.iter().position(|d| !d));
        let Some(next) = next else { break };
        if let Some(place) = done.get_mut(next) {
            *place = true;
        }
        all.push(next);
    }
    all
}
