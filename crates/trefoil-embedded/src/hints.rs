//! The requirements of a program on the answers of its model steps, computed once.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use trefoil_ir::pattern::LinearPattern;
use trefoil_ir::solver::ValueConstraint;
use trefoil_ir::{
    AnswerFormat, Attempts, BoundCondition, BoundTemplate, FanOutItems, FlowCallee, FlowId, Guard, IndexVec,
    MatchedOutcome, NodeId, Program, SchemaId, Source, StateId, StateMachine, Step, StepId, StepKind, ValidatorKind,
    ValueExpression, WorkflowState, walk,
};
use trefoil_template::BlockSubject;

use super::decisions::{ConditionOutcome, DecisionCondition, DecisionKind, MachineState, ProgramDecision, StateGraph};
use super::origins::{AnswerFeed, KeyDepth, OriginTracer, ResultStep};
use super::requirements::{AnswerPath, AnswerPathSegment};
use super::schema::CheckedSchema;

/// Minimum and maximum number of items of a model's list that a fan-out uses.
const ITEMS: (usize, usize) = (2, 4);

/// The requirements on the answers of one model step.
#[derive(Debug, Clone, Default)]
pub(super) struct AnswerHints {
    /// Schemas that must all accept the answer.
    pub schemas: Vec<CheckedSchema>,
    /// Patterns that must all match.
    pub patterns: Vec<LinearPattern>,
    /// Maximum number of characters.
    pub longest: Option<usize>,
    /// Constraints that always apply, for calls whose place has this ending.
    pub wants: Vec<(Arc<str>, AnswerPath, ValueConstraint)>,
    /// Properties that are read, for calls whose place has this ending.
    pub reads: Vec<(Arc<str>, AnswerPath)>,
    /// Decisions that depend on the answer, by index.
    pub decisions: Vec<usize>,
}

/// The requirements on all steps.
#[derive(Debug, Default)]
pub(super) struct ProgramHints {
    pub steps: BTreeMap<StepId, AnswerHints>,
    pub decisions: Vec<ProgramDecision>,
}

impl ProgramHints {
    /// Computes the requirements of a program.
    pub fn from_program(program: &Program) -> Self {
        let mut reader = HintReader {
            program,
            tracer: OriginTracer::new(program),
            found: Self::default(),
            schemas: BTreeMap::new(),
        };
        for (flow, id) in reader.tracer.steps.clone() {
            reader.step(flow, id, &program.steps[id]);
        }
        reader.found
    }

    fn hints(&mut self, step: StepId) -> &mut AnswerHints {
        self.steps.entry(step).or_default()
    }
}

struct HintReader<'p> {
    program: &'p Program,
    tracer: OriginTracer<'p>,
    found: ProgramHints,
    schemas: BTreeMap<SchemaId, CheckedSchema>,
}

impl<'p> HintReader<'p> {
    fn step(&mut self, flow: FlowId, id: StepId, step: &'p Step) {
        let depth = self.tracer.key_depth(id);
        if let Some(when) = &step.when {
            let question = self.question(flow, ResultStep::Nobody, when);
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
                let questions: Vec<_> = arms.iter().map(|a| self.question(flow, ResultStep::Nobody, &a.when)).collect();
                let mut ways: Vec<Vec<ConditionOutcome>> = (0..arms.len()).map(first_of).collect();
                if otherwise.is_some() || arms.len() == 1 {
                    ways.push((0..arms.len()).map(|i| (i, false)).collect());
                }
                self.any(id, "branch", depth, questions, ways);
            }
            StepKind::Loop(it) => {
                let question = self.question(flow, ResultStep::Shaped(it.body), &it.until);
                let depth = depth.add_depth(KeyDepth { passes: 1, ..KeyDepth::default() });
                self.decide(name(id, "until"), DecisionKind::Until(it.max), vec![question], depth, Some(id));
            }
            StepKind::ForEach(each) => {
                let (expr, want) = match &each.items {
                    FanOutItems::List(list) => (list, ValueConstraint::List(ITEMS.0, ITEMS.1)),
                    FanOutItems::Count(count, most) => (count, ValueConstraint::Count((*most).min(ITEMS.1 as u32))),
                };
                for feed in self.tracer.expr_feeds(flow, ResultStep::Nobody, expr, &[]) {
                    self.found.hints(feed.step).wants.push((feed.place, feed.path, want.clone()));
                }
            }
            StepKind::Graph(graph) => {
                let mut from: BTreeMap<NodeId, Vec<&BoundCondition>> = BTreeMap::new();
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
                if let FlowCallee::Named { name, flows } = &call.callee {
                    let names = flows.iter().map(|(n, _)| serde_json::Value::from(&**n)).collect();
                    let want = ValueConstraint::OneOf(names, true);
                    let expr = ValueExpression::Typed(name.clone());
                    for feed in self.tracer.expr_feeds(flow, ResultStep::Nobody, &expr, &[]) {
                        self.found.hints(feed.step).wants.push((feed.place, feed.path, want.clone()));
                    }
                }
            }
            _ => {}
        }
        self.reads(flow, id, step);
    }

    /// The edges of a node: each one is taken, alone if possible.
    fn edges(&mut self, flow: FlowId, graph: StepId, node: StepId, edges: &[&BoundCondition]) {
        let questions: Vec<_> = edges.iter().map(|c| self.question(flow, ResultStep::Shaped(node), c)).collect();
        let all = questions.len();
        let mut ways: Vec<Vec<ConditionOutcome>> =
            (0..all).map(|taken| (0..all).map(|i| (i, i == taken)).collect()).collect();
        // If conditions cannot exclude each other, one of them must hold, whatever the others do.
        ways.extend((0..all).map(|taken| vec![(taken, true)]));
        let depth = self.tracer.key_depth(graph);
        self.any(node, "edges", depth, questions, ways);
    }

    fn machine(&mut self, flow: FlowId, id: StepId, machine: &'p StateMachine) {
        let ends = distances(machine);
        let depth = self.tracer.key_depth(id).add_depth(KeyDepth { passes: 1, ..KeyDepth::default() });
        let mut states = IndexVec::default();
        let mut all = Vec::new();
        for (here, state) in machine.states.entries() {
            if let Some(fails) = &state.fails_when {
                let question = self.question(flow, ResultStep::Shaped(state.step), fails);
                self.any(state.step, "fails", depth, vec![question], vec![vec![(0, false)]]);
            }
            let (questions, ways) = self.transitions(flow, state);
            let end = |(_, target): &(Vec<ConditionOutcome>, StateId)| ends[*target].unwrap_or(usize::MAX);
            let nearest = || (0..ways.len()).min_by_key(|w| ways.get(*w).map_or(usize::MAX, end));
            let onward = ways.iter().position(|(_, target)| !leads_to(machine, *target, here));
            let usual = onward.or_else(nearest).unwrap_or(0);
            states.push(MachineState { ways, usual, max_visits: state.max_visits });
            all.push((state.step, questions));
        }
        let known = StateGraph {
            name: name(id, "machine"),
            states,
            initial: machine.initial,
            max_entries: machine.max_entries,
        };
        let known = Arc::new(known);
        for (state, (step, questions)) in machine.states.element_ids().zip(all) {
            self.decide(
                name(step, "transitions"),
                DecisionKind::State(known.clone(), state),
                questions,
                depth,
                Some(id),
            );
        }
    }

    /// The transitions of a state after success: the conditions, the results that each transition needs, and its
    /// target.
    fn transitions(
        &self,
        flow: FlowId,
        state: &'p WorkflowState,
    ) -> (Vec<DecisionCondition>, Vec<(Vec<ConditionOutcome>, StateId)>) {
        let mut questions = Vec::new();
        let mut ways: Vec<(Vec<ConditionOutcome>, StateId)> = Vec::new();
        for transition in state.transitions.iter().filter(|t| t.takes != MatchedOutcome::Failure) {
            let mut wanted: Vec<ConditionOutcome> = (0..questions.len()).map(|i| (i, false)).collect();
            if let Some(when) = &transition.when {
                wanted.push((questions.len(), true));
                questions.push(self.question(flow, ResultStep::Shaped(state.step), when));
            }
            ways.push((wanted, transition.target));
            if transition.when.is_none() {
                break;
            }
        }
        ways.retain(|(wanted, _)| ProgramDecision::is_possible(&questions, wanted));
        (questions, ways)
    }

    fn attempts(&mut self, flow: FlowId, id: StepId, attempts: &'p Attempts) {
        let body: Vec<StepId> = self
            .tracer
            .source_feeds(flow, ResultStep::Shaped(attempts.body), &Source::Result, &[])
            .into_iter()
            .map(|f| f.step)
            .collect();
        let depth = self.tracer.key_depth(id).add_depth(KeyDepth { iterations: 1, ..KeyDepth::default() });
        for (n, validator) in attempts.validators.iter().enumerate() {
            match &validator.kind {
                ValidatorKind::JsonSchema(schema) => body.iter().for_each(|step| self.schema(*step, *schema)),
                ValidatorKind::Regex { pattern, stderr: false } => {
                    if let Ok(regex) = LinearPattern::new(pattern) {
                        body.iter().for_each(|step| self.found.hints(*step).patterns.push(regex.clone()));
                    }
                }
                ValidatorKind::Judges { judges, consensus } => {
                    let of = |member: &str| -> Vec<AnswerFeed> {
                        let all = judges.iter().enumerate();
                        all.flat_map(|(i, j)| self.tracer.verdict_feeds(flow, id, (n, i), j.flow, member)).collect()
                    };
                    let feeds = vec![of("score"), of("confidence")];
                    for feed in feeds.iter().flatten() {
                        self.read(feed.clone());
                    }
                    let kind = DecisionKind::Judge {
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
        let mut texts: Vec<&BoundTemplate> = Vec::new();
        let mut exprs: Vec<&ValueExpression> = Vec::new();
        for evaluated in walk::evaluated_by_step(step) {
            match evaluated {
                walk::EvaluatedPart::Expr(expr) => exprs.push(expr),
                walk::EvaluatedPart::Text(text) => texts.push(text),
                walk::EvaluatedPart::Cond(_) | walk::EvaluatedPart::Source(_) => {}
            }
        }
        let whole = &self.program.flows[flow];
        if whole.body == id {
            exprs.extend(whole.output.iter().chain(whole.init.iter().map(|(_, e)| e)));
        }
        for expr in exprs {
            walk::visit_templates(expr, &mut |t| texts.push(t));
            let mut combined = false;
            walk::visit_expressions(expr, &mut |e| combined |= matches!(e, ValueExpression::Consensus { .. }));
            for member in ["score", "confidence"].into_iter().filter(|_| combined) {
                for feed in self.tracer.consensus_feeds(flow, ResultStep::Raw(id), expr, member) {
                    self.read(feed);
                }
            }
        }
        for text in texts {
            for (index, reference) in text.template.references().iter().enumerate() {
                let Some(source) = text.sources.get(reference.binding.source as usize) else { continue };
                let skip = usize::from(reference.binding.skip);
                let rest: AnswerPath =
                    reference.path.iter().skip(skip).map(|s| AnswerPathSegment::new(&s.name)).collect();
                let mut paths = vec![rest.clone()];
                for local in text.template.local_paths() {
                    if local.origin == BlockSubject::Reference(index as u32) {
                        let mut path = rest.clone();
                        path.extend(local.each.then_some(AnswerPathSegment::Any));
                        path.extend(local.path.iter().map(|s| AnswerPathSegment::new(&s.name)));
                        paths.push(path);
                    }
                }
                for path in paths.into_iter().filter(|p| !p.is_empty()) {
                    for feed in self.tracer.source_feeds(flow, ResultStep::Shaped(id), source, &path) {
                        self.read(feed);
                    }
                }
            }
        }
    }

    fn read(&mut self, feed: AnswerFeed) {
        let reads = &mut self.found.hints(feed.step).reads;
        let read = (feed.place, feed.path);
        if !read.1.is_empty() && !reads.contains(&read) {
            reads.push(read);
        }
    }

    fn question(&self, flow: FlowId, result: ResultStep, cond: &BoundCondition) -> DecisionCondition {
        let feeds = cond
            .condition
            .references()
            .iter()
            .map(|reference| {
                let skip = usize::from(reference.binding.skip);
                let rest: AnswerPath =
                    reference.path.iter().skip(skip).map(|s| AnswerPathSegment::new(&s.name)).collect();
                let source = cond.sources.get(reference.binding.source as usize);
                source.map(|s| self.tracer.source_feeds(flow, result, s, &rest)).unwrap_or_default()
            })
            .collect();
        DecisionCondition { condition: cond.condition.clone(), feeds }
    }

    fn any(
        &mut self,
        id: StepId,
        what: &str,
        depth: KeyDepth,
        questions: Vec<DecisionCondition>,
        mut ways: Vec<Vec<ConditionOutcome>>,
    ) {
        ways.retain(|wanted| ProgramDecision::is_possible(&questions, wanted));
        self.decide(name(id, what), DecisionKind::Any(ways), questions, depth, None);
    }

    fn decide(
        &mut self,
        name: String,
        kind: DecisionKind,
        questions: Vec<DecisionCondition>,
        depth: KeyDepth,
        scope: Option<StepId>,
    ) {
        let mut decision = ProgramDecision { name, kind, questions, depth, scope };
        if let Some(scope) = scope {
            // Values from before the first pass do not change with the passes.
            let tracer = &self.tracer;
            for feed in decision.questions.iter_mut().flat_map(|q| &mut q.feeds).flatten() {
                feed.through = feed.through.filter(|step| tracer.is_inside(*step, scope));
            }
        }
        let index = self.found.decisions.len();
        let mut steps: Vec<StepId> = decision.answer_feeds().map(|f| f.step).collect();
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
        let checked = self.schemas.entry(id).or_insert_with(|| CheckedSchema::new(schema.json.to_json())).clone();
        self.found.hints(step).schemas.push(checked);
    }
}

/// This condition is the first one that holds.
fn first_of(index: usize) -> Vec<ConditionOutcome> {
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
