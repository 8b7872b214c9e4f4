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
use trefoil_template::{BlockSubject, Reference};

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
                            *longest = Some(longest.unwrap_or(*max_chars).min(*max_chars));
                        }
                        _ => {}
                    }
                }
            }
            StepKind::Branch { arms, otherwise } => {
                let (mut questions, mut ways) = (Vec::new(), Vec::new());
                for (index, arm) in arms.iter().enumerate() {
                    questions.push(self.question(flow, ResultStep::Nobody, &arm.when));
                    ways.push(only(index, index + 1));
                }
                if otherwise.is_some() || arms.len() == 1 {
                    ways.push(none(arms.len()));
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
                for node in graph.nodes.iter() {
                    for edge in &node.incoming {
                        if let Some(when) = &edge.when {
                            from.entry(edge.from).or_default().push(when);
                        }
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
                    let names = flows.iter().map(|(name, _)| serde_json::Value::from(&**name)).collect();
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
        let (mut questions, mut ways) = (Vec::new(), Vec::new());
        for (taken, edge) in edges.iter().enumerate() {
            questions.push(self.question(flow, ResultStep::Shaped(node), edge));
            ways.push(only(taken, edges.len()));
        }
        // If conditions cannot exclude each other, one of them must hold, whatever the others do.
        for taken in 0..edges.len() {
            ways.push(vec![(taken, true)]);
        }
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
            let usual = usual_way(machine, here, &ways, &ends);
            states.push(MachineState { ways, usual, max_visits: state.max_visits });
            all.push((here, state.step, questions));
        }
        let known = StateGraph {
            name: name(id, "machine"),
            states,
            initial: machine.initial,
            max_entries: machine.max_entries,
        };
        let known = Arc::new(known);
        for (state, step, questions) in all {
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
        for transition in &state.transitions {
            if transition.takes == MatchedOutcome::Failure {
                continue;
            }
            let mut wanted = none(questions.len());
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
        let feeds = self.tracer.source_feeds(flow, ResultStep::Shaped(attempts.body), &Source::Result, &[]);
        let body: Vec<StepId> = feeds.into_iter().map(|feed| feed.step).collect();
        let depth = self.tracer.key_depth(id).add_depth(KeyDepth { iterations: 1, ..KeyDepth::default() });
        for (n, validator) in attempts.validators.iter().enumerate() {
            match &validator.kind {
                ValidatorKind::JsonSchema(schema) => {
                    for step in &body {
                        self.schema(*step, *schema);
                    }
                }
                ValidatorKind::Regex { pattern, stderr: false } => {
                    if let Ok(regex) = LinearPattern::new(pattern) {
                        for step in &body {
                            self.found.hints(*step).patterns.push(regex.clone());
                        }
                    }
                }
                ValidatorKind::Judges { judges, consensus } => {
                    let verdicts = |member: &str| {
                        let mut feeds: Vec<AnswerFeed> = Vec::new();
                        for (i, judge) in judges.iter().enumerate() {
                            feeds.extend(self.tracer.verdict_feeds(flow, id, (n, i), judge.flow, member));
                        }
                        feeds
                    };
                    let feeds = vec![verdicts("score"), verdicts("confidence")];
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
            exprs.extend(&whole.output);
            for (_, init) in &whole.init {
                exprs.push(init);
            }
        }
        for expr in exprs {
            walk::visit_templates(expr, &mut |t| texts.push(t));
            let mut combined = false;
            walk::visit_expressions(expr, &mut |e| combined |= matches!(e, ValueExpression::Consensus { .. }));
            if !combined {
                continue;
            }
            for member in ["score", "confidence"] {
                for feed in self.tracer.consensus_feeds(flow, ResultStep::Raw(id), expr, member) {
                    self.read(feed);
                }
            }
        }
        for text in texts {
            for (index, reference) in text.template.references().iter().enumerate() {
                let Some(source) = text.sources.get(reference.binding.source as usize) else { continue };
                let rest = path_in_source(reference);
                let mut paths = vec![rest.clone()];
                for local in text.template.local_paths() {
                    if local.origin == BlockSubject::Reference(index as u32) {
                        let mut path = rest.clone();
                        if local.each {
                            path.push(AnswerPathSegment::Any);
                        }
                        path.extend(local.path.iter().map(|segment| AnswerPathSegment::new(&segment.name)));
                        paths.push(path);
                    }
                }
                for path in paths {
                    if path.is_empty() {
                        continue;
                    }
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
        let mut feeds = Vec::new();
        for reference in cond.condition.references() {
            feeds.push(match cond.sources.get(reference.binding.source as usize) {
                Some(source) => self.tracer.source_feeds(flow, result, source, &path_in_source(reference)),
                None => Vec::new(),
            });
        }
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
            for question in &mut decision.questions {
                for feed in question.feeds.iter_mut().flatten() {
                    if matches!(feed.through, Some(step) if !tracer.is_inside(step, scope)) {
                        feed.through = None;
                    }
                }
            }
        }
        let index = self.found.decisions.len();
        let mut steps: Vec<StepId> = decision.answer_feeds().map(|feed| feed.step).collect();
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

/// Of the first `count` conditions, only this one holds.
fn only(taken: usize, count: usize) -> Vec<ConditionOutcome> {
    (0..count).map(|index| (index, index == taken)).collect()
}

/// None of the first `count` conditions holds.
fn none(count: usize) -> Vec<ConditionOutcome> {
    (0..count).map(|index| (index, false)).collect()
}

/// What a reference reads of its source.
fn path_in_source(reference: &Reference) -> AnswerPath {
    let read = reference.path.iter().skip(usize::from(reference.binding.skip));
    read.map(|segment| AnswerPathSegment::new(&segment.name)).collect()
}

/// The first transition of a state after which the state is not entered again, or else the one that is nearest to an end.
fn usual_way(
    machine: &StateMachine,
    state: StateId,
    ways: &[(Vec<ConditionOutcome>, StateId)],
    ends: &IndexVec<StateId, Option<usize>>,
) -> usize {
    for (index, (_, target)) in ways.iter().enumerate() {
        if !leads_to(machine, *target, state) {
            return index;
        }
    }
    let nearest = ways.iter().enumerate().min_by_key(|(_, (_, target))| ends[*target].unwrap_or(usize::MAX));
    match nearest {
        Some((index, _)) => index,
        None => 0,
    }
}

fn name(step: StepId, what: &str) -> String {
    format!("{what} {}", step.0)
}

/// The number of transitions from each state to an end.
fn distances(machine: &StateMachine) -> IndexVec<StateId, Option<usize>> {
    let mut all = machine.states.map(|state| if state.may_end() { Some(0) } else { None });
    for round in 0..machine.states.len() {
        for (id, state) in machine.states.entries() {
            let next = state.transitions.iter().filter_map(|transition| all[transition.target]).min();
            if all[id].is_none()
                && let Some(next) = next
                && next <= round
            {
                all[id] = Some(next + 1);
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
            for transition in &machine.states[id].transitions {
                queue.push_back(transition.target);
            }
        }
    }
    false
}
