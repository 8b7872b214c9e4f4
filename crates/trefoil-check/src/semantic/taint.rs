//! Where values come from: which slots can hold secrets, the environment, or text that somebody outside has written.
//!
//! Worked out over all flows at once, until nothing changes any more: a call carries labels from its input into the flow
//! called and back with its output. A label says *can*, by the way the values go; what a value is does not count.

use trefoil_ir::{
    Callee, Expr, FlowId, Items, OnFailure, Program, SlotId, Source, Step, StepId, StepKind, Text, ValidatorKind, walk,
};
use trefoil_syntax::Location;

/// Where a value can come from, each with a place where it does.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Labels {
    /// The secret store.
    pub secret: Option<Location>,
    /// The environment.
    pub environment: Option<Location>,
    /// Whoever starts the run.
    pub input: Option<Location>,
    /// A model's answer.
    pub model: Option<Location>,
    /// A tool's or a command's result.
    pub tool: Option<Location>,
}

impl Labels {
    /// Both; of two places the one that was known first.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            secret: self.secret.or(other.secret),
            environment: self.environment.or(other.environment),
            input: self.input.or(other.input),
            model: self.model.or(other.model),
            tool: self.tool.or(other.tool),
        }
    }
    /// Who outside has written it, if anybody: in words, and where it comes in.
    pub fn untrusted(&self) -> Option<(&'static str, Location)> {
        let sorts = [("a model's answer", self.model), ("a tool's result", self.tool), ("the run's input", self.input)];
        sorts.into_iter().find_map(|(what, at)| Some((what, at?)))
    }
}

/// The labels of every slot.
#[derive(Debug, Default)]
pub struct Taint {
    slots: Vec<Vec<Labels>>,
    outputs: Vec<Labels>,
    exports: Vec<Labels>,
    results: Vec<Labels>,
    changed: bool,
}

/// The labels of what a source is read from. `result` are those of the step's own result.
struct Reader<'t, 'p> {
    taint: &'t Taint,
    program: &'p Program,
    flow: FlowId,
    at: Location,
    result: Labels,
}

impl Taint {
    /// Of a program.
    pub fn of(program: &Program) -> Self {
        let mut taint = Self {
            slots: program.flows.iter().map(|f| vec![Labels::default(); f.slots.len()]).collect(),
            outputs: vec![Labels::default(); program.flows.len()],
            exports: vec![Labels::default(); program.flows.len()],
            results: vec![Labels::default(); program.steps.len()],
            changed: true,
        };
        if let Some(entry) = program.flow(program.entry) {
            taint.intake(program, program.entry, Labels { input: Some(entry.origin), ..Labels::default() });
        }
        let steps = walk::reachable(program, program.entry);
        let mut flows: Vec<FlowId> = steps.iter().map(|(f, _)| *f).collect();
        flows.sort_unstable();
        flows.dedup();
        // Every pass carries a label at least one slot further, or is the last one.
        while std::mem::take(&mut taint.changed) {
            // What is inside of a step comes after it.
            for (flow, id) in steps.iter().rev() {
                if let Some(step) = program.step(*id) {
                    taint.step(program, *flow, *id, step);
                }
            }
            for flow in &flows {
                taint.flow(program, *flow);
            }
        }
        taint
    }
    /// Of a source, read by a step.
    pub fn source(&self, program: &Program, flow: FlowId, step: StepId, source: &Source) -> Labels {
        let at = program.step(step).map(|s| s.origin).or(program.flow(flow).map(|f| f.origin));
        let Some(at) = at else { return Labels::default() };
        let result = self.results.get(step.index()).copied().unwrap_or_default();
        Reader { taint: self, program, flow, at, result }.source(source)
    }
    fn slot(&self, flow: FlowId, slot: SlotId) -> Labels {
        self.slots.get(flow.index()).and_then(|f| f.get(slot.index())).copied().unwrap_or_default()
    }
    fn give(&mut self, flow: FlowId, slot: SlotId, labels: Labels) {
        if let Some(place) = self.slots.get_mut(flow.index()).and_then(|f| f.get_mut(slot.index())) {
            self.changed |= set(place, labels);
        }
    }
    fn intake(&mut self, program: &Program, flow: FlowId, labels: Labels) {
        let Some(intake) = program.flow(flow).map(|f| &f.intake) else { return };
        self.give(flow, intake.slot, labels);
        if let Some((raw, _)) = intake.raw {
            self.give(flow, raw, labels);
        }
    }
    fn flow(&mut self, program: &Program, id: FlowId) {
        let Some(flow) = program.flow(id) else { return };
        let read = |taint: &Self, expr: &Expr| {
            Reader { taint, program, flow: id, at: flow.origin, result: Labels::default() }.expr(expr)
        };
        for (slot, expr) in &flow.init {
            let labels = read(self, expr);
            self.give(id, *slot, labels);
        }
        let output = match &flow.output {
            Some(expr) => read(self, expr),
            None => self.results.get(flow.body.index()).copied().unwrap_or_default(),
        };
        let exports = flow.exports.iter().fold(Labels::default(), |all, e| {
            let inner = e.inner.map(|s| self.slot(id, s)).unwrap_or_default();
            all.and(self.slot(id, e.slot)).and(inner)
        });
        self.changed |= self.outputs.get_mut(id.index()).is_some_and(|place| set(place, output));
        self.changed |= self.exports.get_mut(id.index()).is_some_and(|place| set(place, exports));
    }
    fn step(&mut self, program: &Program, flow: FlowId, id: StepId, step: &Step) {
        let at = step.origin;
        let reader = |taint: &Self, expr: &Expr, result: Labels| Reader { taint, program, flow, at, result }.expr(expr);
        let model = Labels { model: Some(at), ..Labels::default() };
        let tool = Labels { tool: Some(at), ..Labels::default() };
        let inner = |taint: &Self| {
            let all = walk::children(step).into_iter();
            all.fold(Labels::default(), |all, s| all.and(taint.results.get(s.index()).copied().unwrap_or_default()))
        };
        let raw = match &step.kind {
            StepKind::Model(_) => model,
            StepKind::Tool(_) | StepKind::Command(_) => tool,
            StepKind::Human(_) | StepKind::Wait { .. } | StepKind::Parallel(_) | StepKind::Refused(_) => {
                Labels::default()
            }
            StepKind::Compute(value) => reader(self, value, Labels::default()),
            StepKind::Sequence(steps) => {
                steps.last().and_then(|s| self.results.get(s.index())).copied().unwrap_or_default()
            }
            StepKind::Branch { .. } | StepKind::Loop(_) | StepKind::StateMachine(_) | StepKind::Graph(_) => inner(self),
            StepKind::Attempts(attempts) => {
                for validator in &attempts.validators {
                    if let ValidatorKind::Judges { judges, .. } = &validator.kind {
                        for judge in judges {
                            let labels = reader(self, &judge.input, inner(self));
                            self.intake(program, judge.flow, labels);
                        }
                    }
                }
                self.give(flow, attempts.previous_error, model);
                inner(self)
            }
            StepKind::ForEach(each) => {
                let items = match &each.items {
                    Items::List(list) => reader(self, list, Labels::default()),
                    Items::Count(..) => Labels::default(),
                };
                if let Some(item) = each.item {
                    self.give(each.body, item, items);
                }
                for (slot, source) in &each.captures {
                    let labels = self.source(program, flow, id, source);
                    self.give(each.body, *slot, labels);
                }
                self.outputs.get(each.body.index()).copied().unwrap_or_default()
            }
            StepKind::Call(call) => {
                let input = call.input.as_ref().map(|e| reader(self, e, Labels::default())).unwrap_or_default();
                let callees: Vec<FlowId> = match &call.callee {
                    Callee::Flow(callee) => vec![*callee],
                    Callee::Named { flows, .. } => flows.iter().map(|(_, f)| *f).collect(),
                };
                let mut output = Labels::default();
                for callee in callees {
                    self.intake(program, callee, input);
                    output = output.and(self.outputs.get(callee.index()).copied().unwrap_or_default());
                    let exported = self.exports.get(callee.index()).copied().unwrap_or_default();
                    if let Some(slot) = call.exports {
                        self.give(flow, slot, exported);
                    }
                }
                output
            }
        };
        match &step.kind {
            StepKind::Graph(graph) => {
                for (slot, source) in graph.nodes.iter().flat_map(|n| &n.incoming).filter_map(|e| e.carry.as_ref()) {
                    let labels = self.source(program, flow, id, source);
                    self.give(flow, *slot, labels);
                }
            }
            StepKind::StateMachine(machine) => {
                for text in machine.states.iter().flat_map(|s| &s.transitions).filter_map(|t| t.feedback.as_ref()) {
                    let labels = Reader { taint: self, program, flow, at, result: raw }.text(text);
                    if let Some(slot) = machine.feedback {
                        self.give(flow, slot, labels);
                    }
                }
                if let Some(slot) = machine.previous_error {
                    self.give(flow, slot, raw);
                }
            }
            _ => {}
        }
        let mut result = step.shape.as_ref().map_or(raw, |shape| reader(self, shape, raw));
        if let OnFailure::Use(value) = &step.policy.on_failure {
            result = result.and(reader(self, value, raw));
        }
        self.changed |= self.results.get_mut(id.index()).is_some_and(|place| set(place, result));
        if let Some(slot) = step.out {
            self.give(flow, slot, result);
        }
    }
}

fn set(place: &mut Labels, more: Labels) -> bool {
    let both = place.and(more);
    let changed = both != *place;
    *place = both;
    changed
}

impl Reader<'_, '_> {
    fn source(&self, source: &Source) -> Labels {
        match source {
            Source::Slot(slot) | Source::Member(slot, _) => self.taint.slot(self.flow, *slot),
            Source::Layered { top, under, .. } => {
                self.taint.slot(self.flow, *top).and(self.taint.slot(self.flow, *under))
            }
            Source::Either(first, second) => self.source(first).and(self.source(second)),
            Source::Compose { parts, .. } => {
                parts.iter().fold(Labels::default(), |all, p| all.and(self.taint.slot(self.flow, p.slot)))
            }
            Source::Environment => Labels { environment: Some(self.at), ..Labels::default() },
            Source::Secrets => Labels { secret: Some(self.at), ..Labels::default() },
            Source::Result => self.result,
            Source::Const(_) | Source::RunId | Source::Spent(_) | Source::Failure | Source::Missing(_) => {
                Labels::default()
            }
        }
    }
    fn text(&self, text: &Text) -> Labels {
        let references = text.template.references().iter().enumerate();
        references.fold(Labels::default(), |all, (index, reference)| {
            let Some(source) = text.sources.get(reference.binding.source as usize) else { return all };
            let mut labels = self.source(source);
            // The place where it is named says more than that of the step.
            if let Some(span) = text.spans.get(index) {
                let at = Location::new(text.origin.file, *span);
                labels.secret = labels.secret.map(|old| if old == self.at { at } else { old });
                labels.environment = labels.environment.map(|old| if old == self.at { at } else { old });
            }
            all.and(labels)
        })
    }
    fn expr(&self, expr: &Expr) -> Labels {
        let mut all = Labels::default();
        walk::expressions(expr, &mut |e| {
            let labels = match e {
                Expr::Template(text) | Expr::Typed(text) => self.text(text),
                Expr::Read(source) => self.source(source),
                Expr::Join { parts, .. } => parts.iter().fold(Labels::default(), |l, s| l.and(self.source(s))),
                _ => Labels::default(),
            };
            all = all.and(labels);
        });
        all
    }
}
