//! The requirements of a program on the answers of its model steps, computed once.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use trefoil_ir::pattern::LinearPattern;
use trefoil_ir::solve::Constraint;
use trefoil_ir::{
    AnswerFormat, Attempts, Callee, Cond, Expr, FlowId, Guard, IndexVec, Items, NodeId, Program, SchemaId, Source,
    State, StateId, StateMachine, Step, StepId, StepKind, Takes, Text, ValidatorKind, walk,
};
use trefoil_template::Origin;

use super::decide::{AskedCondition, ChoiceKind, Decision, Machine, MachineState, Wanted};
use super::schema::Checked;
use super::trace::{Depth, Feed, ResultOf, Tracer};
use super::wants::{Path, Seg};

/// Minimum and maximum number of items of a model's list that a fan-out uses.
const ITEMS: (usize, usize) = (2, 4);

/// The requirements on the answers of one model step.
#[derive(Debug, Clone, Default)]
pub(super) struct Hints {
    /// Schemas that must all accept the answer.
    pub schemas: Vec<Checked>,
    /// Patterns that must all match.
    pub patterns: Vec<LinearPattern>,
    /// Maximum number of characters.
    pub longest: Option<usize>,
    /// Constraints that always apply, for calls whose place has this ending.
    pub wants: Vec<(Arc<str>, Path, Constraint)>,
    /// Properties that are read, for calls whose place has this ending.
    pub reads: Vec<(Arc<str>, Path)>,
    /// Decisions that depend on the answer, by index.
    pub decisions: Vec<usize>,
}

/// The requirements on all steps.
#[derive(Debug, Default)]
pub(super) struct Knowledge {
    pub steps: BTreeMap<StepId, Hints>,
    pub decisions: Vec<Decision>,
}

impl Knowledge {
    /// Computes the requirements of a program.
    pub fn of(program: &Program) -> Self {
        let mut reader =
            HintReader { program, tracer: Tracer::new(program), found: Self::default(), schemas: BTreeMap::new() };
        for (flow, id) in reader.tracer.steps.clone() {
            reader.step(flow, id, &program.steps[id]);
        }
        reader.found
    }

    fn hints(&mut self, step: StepId) -> &mut Hints {
        self.steps.entry(step).or_default()
    }
}

struct HintReader<'p> {
    program: &'p Program,
    tracer: Tracer<'p>,
    found: Knowledge,
    schemas: BTreeMap<SchemaId, Checked>,
}

impl<'p> HintReader<'p> {
    fn step(&mut self, flow: FlowId, id: StepId, step: &'p Step) {
        let depth = self.tracer.depth(id);
        if let Some(when) = &step.when {
            let question = self.question(flow, ResultOf::Nobody, when);
            // Running a step is twice as likely as skipping it.
            let ways = vec![vec![(0, true)], vec![(0, true)], vec![(0, false)]];
            self.any(id, "when", depth, vec![question], ways);
        }
        match &step.kind {
            StepKind::Model(call) => {
                if let AnswerFormat::Json(schema) = call.format {
                    self.schema(id, schema);
                }
                for guard in &call.guards {
                    match guard {
                        Guard::Schema(schema) => self.schema(id, *schema),
                        Guard::Length { max_chars, .. } => {
                            let longest = &mut self.found.hints(id).longest;
                            *longest = Some(longest.map_or(*max_chars, |l| l.min(*max_chars)));
                        }
                        _ => {}
                    }
                }
            }
            StepKind::Branch { arms, otherwise } => {
                let questions: Vec<_> = arms.iter().map(|a| self.question(flow, ResultOf::Nobody, &a.when)).collect();
                let mut ways: Vec<Vec<Wanted>> = (0..arms.len()).map(first_of).collect();
                if otherwise.is_some() || arms.len() == 1 {
                    ways.push((0..arms.len()).map(|i| (i, false)).collect());
                }
                self.any(id, "branch", depth, questions, ways);
            }
            StepKind::Loop(it) => {
                let question = self.question(flow, ResultOf::Shaped(it.body), &it.until);
                let depth = depth.plus(Depth { passes: 1, ..Depth::default() });
                self.decide(name(id, "until"), ChoiceKind::Until(it.max), vec![question], depth, Some(id));
            }
            StepKind::ForEach(each) => {
                let (expr, want) = match &each.items {
                    Items::List(list) => (list, Constraint::List(ITEMS.0, ITEMS.1)),
                    Items::Count(count, most) => (count, Constraint::Count((*most).min(ITEMS.1 as u32))),
                };
                for feed in self.tracer.expr(flow, ResultOf::Nobody, expr, &[]) {
                    self.found.hints(feed.step).wants.push((feed.place, feed.path, want.clone()));
                }
            }
            StepKind::Graph(graph) => {
                let mut from: BTreeMap<NodeId, Vec<&Cond>> = BTreeMap::new();
                for edge in graph.nodes.iter().flat_map(|n| &n.incoming) {
                    if let Some(when) = &edge.when {
                        from.entry(edge.from).or_default().push(when);
                    }
                }
                for (node, edges) in from {
                    self.edges(flow, id, graph.nodes[node].step, &edges);
                }
            }
            StepKind::StateMachine(machine) => self.machine(flow, id, machine),
            StepKind::Attempts(attempts) => self.attempts(flow, id, attempts),
            StepKind::Call(call) => {
                if let Callee::Named { name, flows } = &call.callee {
                    let names = flows.iter().map(|(n, _)| serde_json::Value::from(&**n)).collect();
                    let want = Constraint::OneOf(names, true);
                    let expr = Expr::Typed(name.clone());
                    for feed in self.tracer.expr(flow, ResultOf::Nobody, &expr, &[]) {
                        self.found.hints(feed.step).wants.push((feed.place, feed.path, want.clone()));
                    }
                }
            }
            _ => {}
        }
        self.reads(flow, id, step);
    }

    /// The edges of a node: each one is taken, alone if possible.
    fn edges(&mut self, flow: FlowId, graph: StepId, node: StepId, edges: &[&Cond]) {
        let questions: Vec<_> = edges.iter().map(|c| self.question(flow, ResultOf::Shaped(node), c)).collect();
        let all = questions.len();
        let mut ways: Vec<Vec<Wanted>> = (0..all).map(|taken| (0..all).map(|i| (i, i == taken)).collect()).collect();
        // If conditions cannot exclude each other, one of them must hold, whatever the others do.
        ways.extend((0..all).map(|taken| vec![(taken, true)]));
        let depth = self.tracer.depth(graph);
        self.any(node, "edges", depth, questions, ways);
    }

    fn machine(&mut self, flow: FlowId, id: StepId, machine: &'p StateMachine) {
        let ends = distances(machine);
        let depth = self.tracer.depth(id).plus(Depth { passes: 1, ..Depth::default() });
        let mut states = IndexVec::default();
        let mut all = Vec::new();
        for (here, state) in machine.states.entries() {
            if let Some(fails) = &state.fails_when {
                let question = self.question(flow, ResultOf::Shaped(state.step), fails);
                self.any(state.step, "fails", depth, vec![question], vec![vec![(0, false)]]);
            }
            let (questions, ways) = self.transitions(flow, state);
            let end = |(_, target): &(Vec<Wanted>, StateId)| ends[*target].unwrap_or(usize::MAX);
            let nearest = || (0..ways.len()).min_by_key(|w| ways.get(*w).map_or(usize::MAX, end));
            let onward = ways.iter().position(|(_, target)| !leads_to(machine, *target, here));
            let usual = onward.or_else(nearest).unwrap_or(0);
            states.push(MachineState { ways, usual, max_visits: state.max_visits });
            all.push((state.step, questions));
        }
        let known =
            Machine { name: name(id, "machine"), states, initial: machine.initial, max_entries: machine.max_entries };
        let known = Arc::new(known);
        for (state, (step, questions)) in machine.states.ids().zip(all) {
            self.decide(name(step, "transitions"), ChoiceKind::State(known.clone(), state), questions, depth, Some(id));
        }
    }

    /// The transitions of a state after success: the conditions, the results that each transition needs, and its
    /// target.
    fn transitions(&self, flow: FlowId, state: &'p State) -> (Vec<AskedCondition>, Vec<(Vec<Wanted>, StateId)>) {
        let mut questions = Vec::new();
        let mut ways: Vec<(Vec<Wanted>, StateId)> = Vec::new();
        for transition in state.transitions.iter().filter(|t| t.takes != Takes::Failure) {
            let mut wanted: Vec<Wanted> = (0..questions.len()).map(|i| (i, false)).collect();
            if let Some(when) = &transition.when {
                wanted.push((questions.len(), true));
                questions.push(self.question(flow, ResultOf::Shaped(state.step), when));
            }
            ways.push((wanted, transition.target));
            if transition.when.is_none() {
                break;
            }
        }
        ways.retain(|(wanted, _)| Decision::possible(&questions, wanted));
        (questions, ways)
    }

    fn attempts(&mut self, flow: FlowId, id: StepId, attempts: &'p Attempts) {
        let body: Vec<StepId> = self
            .tracer
            .source(flow, ResultOf::Shaped(attempts.body), &Source::Result, &[])
            .into_iter()
            .map(|f| f.step)
            .collect();
        let depth = self.tracer.depth(id).plus(Depth { iterations: 1, ..Depth::default() });
        for (n, validator) in attempts.validators.iter().enumerate() {
            match &validator.kind {
                ValidatorKind::JsonSchema(schema) => body.iter().for_each(|step| self.schema(*step, *schema)),
                ValidatorKind::Regex { pattern, stderr: false } => {
                    if let Ok(regex) = LinearPattern::new(pattern) {
                        body.iter().for_each(|step| self.found.hints(*step).patterns.push(regex.clone()));
                    }
                }
                ValidatorKind::Judges { judges, consensus } => {
                    let of = |member: &str| -> Vec<Feed> {
                        let all = judges.iter().enumerate();
                        all.flat_map(|(i, j)| self.tracer.verdict(flow, id, (n, i), j.flow, member)).collect()
                    };
                    let feeds = vec![of("score"), of("confidence")];
                    for feed in feeds.iter().flatten() {
                        self.read(feed.clone());
                    }
                    let kind = ChoiceKind::Judge {
                        score: validator.min_score.max(consensus.threshold),
                        confidence: validator.min_confidence,
                        max: attempts.max,
                        feeds,
                    };
                    self.decide(name(id, &format!("judge {n}")), kind, Vec::new(), depth, None);
                }
                ValidatorKind::Regex { .. } | ValidatorKind::ExitCode { .. } => {}
            }
        }
    }

    /// Properties of answers that templates insert or that verdicts are combined from.
    fn reads(&mut self, flow: FlowId, id: StepId, step: &'p Step) {
        let mut texts: Vec<&Text> = Vec::new();
        let mut exprs: Vec<&Expr> = Vec::new();
        for evaluated in walk::evaluated(step) {
            match evaluated {
                walk::Evaluated::Expr(expr) => exprs.push(expr),
                walk::Evaluated::Text(text) => texts.push(text),
                walk::Evaluated::Cond(_) | walk::Evaluated::Source(_) => {}
            }
        }
        let whole = &self.program.flows[flow];
        if whole.body == id {
            exprs.extend(whole.output.iter().chain(whole.init.iter().map(|(_, e)| e)));
        }
        for expr in exprs {
            walk::texts(expr, &mut |t| texts.push(t));
            let mut combined = false;
            walk::expressions(expr, &mut |e| combined |= matches!(e, Expr::Consensus { .. }));
            for member in ["score", "confidence"].into_iter().filter(|_| combined) {
                for feed in self.tracer.verdicts(flow, ResultOf::Raw(id), expr, member) {
                    self.read(feed);
                }
            }
        }
        for text in texts {
            for (index, reference) in text.template.references().iter().enumerate() {
                let Some(source) = text.sources.get(reference.binding.source as usize) else { continue };
                let skip = usize::from(reference.binding.skip);
                let rest: Path = reference.path.iter().skip(skip).map(|s| Seg::new(&s.name)).collect();
                let mut paths = vec![rest.clone()];
                for local in text.template.locals() {
                    if local.origin == Origin::Reference(index as u32) {
                        let mut path = rest.clone();
                        path.extend(local.each.then_some(Seg::Any));
                        path.extend(local.path.iter().map(|s| Seg::new(&s.name)));
                        paths.push(path);
                    }
                }
                for path in paths.into_iter().filter(|p| !p.is_empty()) {
                    for feed in self.tracer.source(flow, ResultOf::Shaped(id), source, &path) {
                        self.read(feed);
                    }
                }
            }
        }
    }

    fn read(&mut self, feed: Feed) {
        let reads = &mut self.found.hints(feed.step).reads;
        let read = (feed.place, feed.path);
        if !read.1.is_empty() && !reads.contains(&read) {
            reads.push(read);
        }
    }

    fn question(&self, flow: FlowId, result: ResultOf, cond: &Cond) -> AskedCondition {
        let feeds = cond
            .condition
            .references()
            .iter()
            .map(|reference| {
                let skip = usize::from(reference.binding.skip);
                let rest: Path = reference.path.iter().skip(skip).map(|s| Seg::new(&s.name)).collect();
                let source = cond.sources.get(reference.binding.source as usize);
                source.map(|s| self.tracer.source(flow, result, s, &rest)).unwrap_or_default()
            })
            .collect();
        AskedCondition { condition: cond.condition.clone(), feeds }
    }

    fn any(
        &mut self,
        id: StepId,
        what: &str,
        depth: Depth,
        questions: Vec<AskedCondition>,
        mut ways: Vec<Vec<Wanted>>,
    ) {
        ways.retain(|wanted| Decision::possible(&questions, wanted));
        self.decide(name(id, what), ChoiceKind::Any(ways), questions, depth, None);
    }

    fn decide(
        &mut self,
        name: String,
        kind: ChoiceKind,
        questions: Vec<AskedCondition>,
        depth: Depth,
        scope: Option<StepId>,
    ) {
        let mut decision = Decision { name, kind, questions, depth, scope };
        if let Some(scope) = scope {
            // Values from before the first pass do not change with the passes.
            let tracer = &self.tracer;
            for feed in decision.questions.iter_mut().flat_map(|q| &mut q.feeds).flatten() {
                feed.through = feed.through.filter(|step| tracer.inside(*step, scope));
            }
        }
        let index = self.found.decisions.len();
        let mut steps: Vec<StepId> = decision.feeds().map(|f| f.step).collect();
        steps.sort_unstable();
        steps.dedup();
        for step in &steps {
            self.found.hints(*step).decisions.push(index);
        }
        if !steps.is_empty() {
            self.found.decisions.push(decision);
        }
    }

    fn schema(&mut self, step: StepId, id: SchemaId) {
        let schema = &self.program.schemas[id];
        let checked = self.schemas.entry(id).or_insert_with(|| Checked::new(schema.json.to_json())).clone();
        self.found.hints(step).schemas.push(checked);
    }
}

/// This condition is the first one that holds.
fn first_of(index: usize) -> Vec<Wanted> {
    (0..=index).map(|i| (i, i == index)).collect()
}

fn name(step: StepId, what: &str) -> String {
    format!("{what} {}", step.0)
}

/// The number of transitions from each state to an end.
fn distances(machine: &StateMachine) -> IndexVec<StateId, Option<usize>> {
    let mut all = machine.states.map(|s| s.may_end().then_some(0));
    for round in 0..machine.states.len() {
        for (id, state) in machine.states.entries() {
            let next = state.transitions.iter().filter_map(|t| all[t.target]).min();
            if all[id].is_none() {
                all[id] = next.filter(|next| *next <= round).map(|next| next + 1);
            }
        }
    }
    all
}

/// Whether a state can be reached from another, or is the same.
fn leads_to(machine: &StateMachine, from: StateId, to: StateId) -> bool {
    let mut seen = machine.states.map(|_| false);
    let mut queue = VecDeque::from([from]);
    while let Some(id) = queue.pop_front() {
        if id == to {
            return true;
        }
        if !std::mem::replace(&mut seen[id], true) {
            queue.extend(machine.states[id].transitions.iter().map(|t| t.target));
        }
    }
    false
}
