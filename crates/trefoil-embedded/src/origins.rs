//! Traces a value to its origin: from a source in an expression through slots, shapes, calls and their inputs to the
//! model steps whose answers it consists of.
//!
//! Only values that are passed on whole are traced, not text that is composed from several.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use trefoil_ir::{
    AnswerFormat, BoundTemplate, ConsensusStrategy, FanOutItems, FlowId, Program, SlotId, Source, Step, StepContents,
    StepId, StepKind, ValueExpression, walk,
};

use super::requirements::{AnswerPath, AnswerPathSegment};
use trefoil_machine::PreparedProgram;
use trefoil_machine::key::{KeyPart, parse_key_parts};
use trefoil_machine::step_path::path_inside;

/// Maximum length of a chain of calls and slots.
const LONGEST: usize = 48;
/// Maximum number of slots in one search. Flows that are called from everywhere are not searched completely.
const MOST: usize = 5000;

/// The number of marks of each kind in a place's key.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct KeyDepth {
    /// `@PASS`
    pub passes: i32,
    /// `[ITEM]`
    pub items: i32,
    /// `#ITERATION`
    pub iterations: i32,
}

impl KeyDepth {
    /// The sum of both.
    pub fn add_depth(self, other: Self) -> Self {
        Self {
            passes: self.passes + other.passes,
            items: self.items + other.items,
            iterations: self.iterations + other.iterations,
        }
    }
    /// The difference of both.
    pub fn subtract_depth(self, other: Self) -> Self {
        Self {
            passes: self.passes - other.passes,
            items: self.items - other.items,
            iterations: self.iterations - other.iterations,
        }
    }
}

/// A model step whose answer contributes a value.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct AnswerFeed {
    /// The step.
    pub step: StepId,
    /// The path from its answer to the value.
    pub path: AnswerPath,
    /// The calls of the step that are meant: the end of their keys without numbers (see [`key_without_numbers`]).
    pub place: Arc<str>,
    /// The depth of its key, relative to the flow in which the search started.
    pub depth: KeyDepth,
    /// The step of that flow through which the value came.
    pub through: Option<StepId>,
    /// Set if the value says whether a score reaches this threshold.
    pub passes_at: Option<f64>,
    /// Set if the value is counted from votes; a score of at least this is a vote in favour.
    pub votes_at: Option<f64>,
}

/// The origin of a slot's value.
#[derive(Debug, Clone, Copy)]
enum SlotOrigin<'p> {
    Step(StepId),
    Init(&'p ValueExpression),
    /// The input, or a property of it.
    Intake(Option<&'p Arc<str>>),
    /// An item of a fan-out in another flow.
    Item(StepId),
    /// A value that a fan-out passes to its flow.
    Capture(StepId, &'p Source),
    /// The value that an edge from this step passes on.
    Carry(StepId, &'p Source),
}

/// A call, as seen from the called flow.
#[derive(Debug, Clone, Copy)]
struct FlowCallSite<'p> {
    flow: FlowId,
    step: StepId,
    input: Option<&'p ValueExpression>,
    /// The step whose result the input may read.
    judged: Option<StepId>,
}

/// A program with an index of the origins of all slots.
pub(super) struct OriginTracer<'p> {
    program: &'p Program,
    /// In program order: parents before their children.
    pub steps: Vec<(FlowId, StepId)>,
    fillers: BTreeMap<(FlowId, SlotId), Vec<SlotOrigin<'p>>>,
    exports: BTreeMap<(FlowId, SlotId), Vec<StepId>>,
    sites: BTreeMap<FlowId, Vec<FlowCallSite<'p>>>,
    parents: BTreeMap<StepId, StepId>,
    depths: BTreeMap<StepId, KeyDepth>,
    flows: BTreeMap<StepId, FlowId>,
    places: BTreeMap<StepId, String>,
    prepared: Arc<PreparedProgram>,
}

/// The step whose result [`Source::Result`] denotes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum ResultStep {
    Nobody,
    /// The result of this step before its shape is applied.
    Raw(StepId),
    /// The result of this step after its shape is applied.
    Shaped(StepId),
}

/// The results of a search, and the places visited, because programs may have cycles.
#[derive(Debug, Default)]
struct FeedSearch {
    feeds: Vec<AnswerFeed>,
    seen: BTreeSet<(FlowId, SlotId, AnswerPath, bool, String)>,
    visits: usize,
}

impl FeedSearch {
    fn add(&mut self, feed: AnswerFeed) {
        if !self.feeds.contains(&feed) {
            self.feeds.push(feed);
        }
    }
}

/// The position of a search.
#[derive(Debug, Clone)]
struct SearchPosition {
    flow: FlowId,
    result: ResultStep,
    /// The depth of this flow's calls, relative to the start of the search.
    depth: KeyDepth,
    /// Whether this is the flow in which the search started.
    home: bool,
    /// The calls that led into this flow, and the place of each; the search leaves the flow through the same calls.
    calls: Vec<(StepId, String)>,
    /// The known part of the key of this flow's call, without numbers.
    place: String,
    through: Option<StepId>,
    /// Whether a text is parsed as JSON, so that its properties can be reached.
    parsed: bool,
    passes_at: Option<f64>,
    votes_at: Option<f64>,
    left: usize,
}

impl<'p> OriginTracer<'p> {
    /// Indexes every step that a run can reach.
    pub fn new(program: &'p Program) -> Self {
        let mut this = Self {
            program,
            steps: walk::reachable_steps(program, program.entry),
            fillers: BTreeMap::new(),
            exports: BTreeMap::new(),
            sites: BTreeMap::new(),
            parents: BTreeMap::new(),
            depths: BTreeMap::new(),
            flows: BTreeMap::new(),
            places: BTreeMap::new(),
            prepared: PreparedProgram::new(Arc::new(program.clone())),
        };
        let mut flows: Vec<FlowId> = Vec::new();
        for (flow, id) in this.steps.clone() {
            if !flows.contains(&flow) {
                flows.push(flow);
            }
            this.index(flow, id, &program.steps[id]);
        }
        for flow in flows {
            let it = &program.flows[flow];
            let mut fill = |slot, filler| this.fillers.entry((flow, slot)).or_default().push(filler);
            it.init.iter().for_each(|(slot, expr)| fill(*slot, SlotOrigin::Init(expr)));
            fill(it.intake.slot, SlotOrigin::Intake(None));
            if let Some(wrap) = &it.intake.wrap {
                // A wrapped text is one segment deeper; `slot` removes that segment.
                fill(it.intake.slot, SlotOrigin::Intake(Some(wrap)));
            }
            if let Some((slot, _)) = &it.intake.raw {
                fill(*slot, SlotOrigin::Intake(None));
            }
        }
        this
    }

    fn index(&mut self, flow: FlowId, id: StepId, step: &'p Step) {
        let place = match self.places.get(&id) {
            Some(place) => place.clone(),
            // The body of its flow: parents come before their children.
            None => self.prepared.key_segment(id).to_owned(),
        };
        let own = self.depths.get(&id).copied().unwrap_or_default();
        let inner = match step.kind.step_info().mark {
            Some('#') => KeyDepth { iterations: own.iterations + 1, ..own },
            Some(_) => KeyDepth { passes: own.passes + 1, ..own },
            None => own,
        };
        self.depths.entry(id).or_insert(own);
        self.flows.insert(id, flow);
        for (child, name) in step.named_children() {
            let before = path_inside(step, &place, name);
            self.places.insert(child, join_keys(&before, self.prepared.key_segment(child)));
            self.parents.insert(child, id);
            self.depths.insert(child, inner);
        }
        self.places.insert(id, place);
        if let Some(slot) = step.out {
            self.fillers.entry((flow, slot)).or_default().push(SlotOrigin::Step(id));
        }
        let mut site = |callee: FlowId, input, judged| {
            self.sites.entry(callee).or_default().push(FlowCallSite { flow, step: id, input, judged });
        };
        match &step.kind {
            StepKind::Call(call) => {
                call.callee.possible_flows().into_iter().for_each(|callee| site(callee, call.input.as_ref(), None));
                if let Some(slot) = call.exports {
                    self.exports.entry((flow, slot)).or_default().push(id);
                }
            }
            StepKind::Attempts(it) => it.all_judges().for_each(|j| site(j.flow, Some(&j.input), Some(it.body))),
            StepKind::ForEach(each) => {
                let body = each.body;
                let mut fill = |slot, filler| self.fillers.entry((body, slot)).or_default().push(filler);
                if let (Some(slot), FanOutItems::List(_)) = (each.item, &each.items) {
                    fill(slot, SlotOrigin::Item(id));
                }
                each.captures.iter().for_each(|(slot, source)| fill(*slot, SlotOrigin::Capture(id, source)));
            }
            StepKind::Graph(graph) => {
                for edge in graph.nodes.iter().flat_map(|n| &n.incoming) {
                    if let Some((slot, source)) = &edge.carry {
                        let from = graph.nodes[edge.from].step;
                        self.fillers.entry((flow, *slot)).or_default().push(SlotOrigin::Carry(from, source));
                    }
                }
            }
            _ => {}
        }
    }

    /// The depth of a step's key within its flow.
    pub fn key_depth(&self, step: StepId) -> KeyDepth {
        self.depths.get(&step).copied().unwrap_or_default()
    }

    /// Whether a step equals another one or is inside it, in the same flow.
    pub fn is_inside(&self, step: StepId, outer: StepId) -> bool {
        let mut at = Some(step);
        while let Some(step) = at {
            if step == outer {
                return true;
            }
            at = self.parents.get(&step).copied();
        }
        false
    }

    /// The steps that contribute a reference's value. `rest` is the path from the source's value.
    pub fn source_feeds(
        &self,
        flow: FlowId,
        result: ResultStep,
        source: &Source,
        rest: &[AnswerPathSegment],
    ) -> Vec<AnswerFeed> {
        let mut out = FeedSearch::default();
        self.chase_source(SearchPosition::new(flow, result), source, rest, &mut out);
        out.feeds
    }

    /// The steps that contribute an expression's value or a part of it.
    pub fn expr_feeds(
        &self,
        flow: FlowId,
        result: ResultStep,
        expr: &ValueExpression,
        path: &[AnswerPathSegment],
    ) -> Vec<AnswerFeed> {
        let mut out = FeedSearch::default();
        self.chase_expr(SearchPosition::new(flow, result), expr, path, &mut out);
        out.feeds
    }

    /// The steps that contribute the verdict of a judge of this step.
    pub fn verdict_feeds(
        &self,
        flow: FlowId,
        attempts: StepId,
        (validator, number): (usize, usize),
        judge: FlowId,
        member: &str,
    ) -> Vec<AnswerFeed> {
        let mut out = FeedSearch::default();
        let mut at = SearchPosition::new(flow, ResultStep::Nobody);
        at.parsed = true;
        at.through = Some(attempts);
        let iteration = KeyDepth { iterations: 1, ..KeyDepth::default() };
        let name = join_keys("#", self.prepared.judge_segment(attempts, validator, number));
        let at = self.down(at, attempts, &name, judge).deeper(iteration);
        self.chase_flow(at, &[AnswerPathSegment::Name(member.into())], &mut out);
        out.feeds
    }

    /// The steps that contribute the verdicts combined anywhere in an expression.
    pub fn consensus_feeds(
        &self,
        flow: FlowId,
        result: ResultStep,
        expr: &ValueExpression,
        member: &str,
    ) -> Vec<AnswerFeed> {
        let mut out = FeedSearch::default();
        let at = SearchPosition { parsed: true, ..SearchPosition::new(flow, result) };
        walk::visit_expressions(expr, &mut |e| {
            if let ValueExpression::Consensus { verdicts, .. } = e {
                verdicts.iter().for_each(|b| {
                    self.chase_expr(at.clone(), &b.value, &[AnswerPathSegment::Name(member.into())], &mut out)
                });
            }
        });
        out.feeds
    }

    fn chase_source(&self, at: SearchPosition, source: &Source, path: &[AnswerPathSegment], out: &mut FeedSearch) {
        let Some(at) = at.next() else { return };
        match source {
            Source::Slot(slot) => self.chase_slot(at, *slot, path, out),
            Source::Member(slot, member) => self.chase_slot(at, *slot, &join_paths(member, path), out),
            Source::Layered { top, path: to_output, under } => {
                self.chase_slot(at.clone(), *top, &join_paths(to_output, path), out);
                self.chase_export(at, *under, path, out);
            }
            Source::Either(a, b) => {
                self.chase_source(at.clone(), a, path, out);
                self.chase_source(at, b, path, out);
            }
            Source::Compose { parts, .. } => {
                for part in parts {
                    let place: AnswerPath = part.at.iter().map(AnswerPathSegment::new).collect();
                    if let Some(rest) = path.strip_prefix(place.as_slice()) {
                        self.chase_slot(at.clone(), part.slot, &join_paths(&part.member, rest), out);
                    }
                }
            }
            Source::Result => match at.result {
                ResultStep::Nobody => {}
                ResultStep::Raw(step) => self.raw(at, step, path, out),
                ResultStep::Shaped(step) => self.result(at, step, path, out),
            },
            Source::Const(_)
            | Source::Environment
            | Source::Secrets
            | Source::RunId
            | Source::Spent(_)
            | Source::Failure
            | Source::Missing(..) => {}
        }
    }

    fn chase_slot(&self, at: SearchPosition, slot: SlotId, path: &[AnswerPathSegment], out: &mut FeedSearch) {
        let Some(at) = at.next() else { return };
        out.visits += 1;
        if out.visits > MOST || !out.seen.insert((at.flow, slot, path.to_vec(), at.parsed, at.place.clone())) {
            return;
        }
        for filler in self.fillers.get(&(at.flow, slot)).into_iter().flatten() {
            match filler {
                SlotOrigin::Step(step) => self.result(at.clone(), *step, path, out),
                SlotOrigin::Init(expr) => self.chase_expr(at.clone().with(ResultStep::Nobody), expr, path, out),
                SlotOrigin::Intake(None) => self.chase_input(at.clone(), path, out),
                SlotOrigin::Intake(Some(wrap)) => {
                    if let Some((AnswerPathSegment::Name(name), rest)) = path.split_first()
                        && name == *wrap
                    {
                        self.chase_input(at.clone(), rest, out);
                    }
                }
                SlotOrigin::Item(each) => {
                    if let StepKind::ForEach(it) = &self.program.steps[*each].kind
                        && let FanOutItems::List(list) = &it.items
                    {
                        let mut inside = vec![AnswerPathSegment::Any];
                        inside.extend(path.iter().cloned());
                        let item = KeyDepth { items: 1, ..KeyDepth::default() };
                        // The list is parsed as JSON.
                        if let Some(up) = self.up(at.clone(), *each) {
                            self.chase_expr(SearchPosition { parsed: true, ..up.shallower(item) }, list, &inside, out);
                        }
                    }
                }
                SlotOrigin::Carry(from, source) => {
                    self.chase_source(at.clone().with(ResultStep::Shaped(*from)), source, path, out);
                }
                SlotOrigin::Capture(each, source) => {
                    let item = KeyDepth { items: 1, ..KeyDepth::default() };
                    if let Some(up) = self.up(at.clone(), *each) {
                        self.chase_source(up.shallower(item), source, path, out);
                    }
                }
            }
        }
    }

    /// Traces a part of the input to every call of this flow.
    fn chase_input(&self, at: SearchPosition, path: &[AnswerPathSegment], out: &mut FeedSearch) {
        for site in self.sites.get(&at.flow).into_iter().flatten() {
            if let (Some(input), Some(up)) = (site.input, self.up(at.clone(), site.step)) {
                let result = site.judged.map_or(ResultStep::Nobody, ResultStep::Shaped);
                self.chase_expr(SearchPosition { flow: site.flow, result, ..up }, input, path, out);
            }
        }
    }

    fn chase_export(&self, at: SearchPosition, slot: SlotId, path: &[AnswerPathSegment], out: &mut FeedSearch) {
        let (Some(at), Some((AnswerPathSegment::Name(key), rest))) = (at.next(), path.split_first()) else { return };
        for &step in self.exports.get(&(at.flow, slot)).into_iter().flatten() {
            let StepKind::Call(call) = &self.program.steps[step].kind else { continue };
            for callee in call.callee.possible_flows() {
                let at = self.down(at.clone(), step, "", callee);
                for export in self.program.flows[callee].exports.iter().filter(|e| e.key == *key) {
                    self.chase_slot(at.clone(), export.slot, &join_paths(&export.member, rest), out);
                    if let Some(inner) = export.inner {
                        self.chase_export(at.clone(), inner, rest, out);
                    }
                }
            }
        }
    }

    fn chase_expr(&self, at: SearchPosition, expr: &ValueExpression, path: &[AnswerPathSegment], out: &mut FeedSearch) {
        let Some(at) = at.next() else { return };
        match expr {
            ValueExpression::Template(text) => {
                if path.is_empty() || at.parsed {
                    self.chase_text(at, text, path, out);
                }
            }
            ValueExpression::Typed(text) => self.chase_text(at, text, path, out),
            ValueExpression::Read(source) => self.chase_source(at, source, path, out),
            ValueExpression::Object(members) => {
                if let Some((AnswerPathSegment::Name(name), rest)) = path.split_first() {
                    for (_, expr) in members.iter().filter(|(n, _)| n == name) {
                        self.chase_expr(at.clone(), expr, rest, out);
                    }
                }
            }
            ValueExpression::List(items) => {
                if let Some((AnswerPathSegment::Any, rest)) = path.split_first() {
                    items.iter().for_each(|e| self.chase_expr(at.clone(), e, rest, out));
                }
            }
            ValueExpression::Concat(parts) => {
                if let [only] = parts.as_slice() {
                    self.chase_expr(at, only, path, out);
                }
            }
            ValueExpression::Join { parts, .. } => {
                if let [only] = parts.as_slice() {
                    self.chase_source(at, only, path, out);
                }
            }
            ValueExpression::Merge(parts) => parts.iter().for_each(|e| self.chase_expr(at.clone(), e, path, out)),
            ValueExpression::AsText(inner) | ValueExpression::AsMessage(inner) | ValueExpression::Coerce(inner, _) => {
                self.chase_expr(at, inner, path, out)
            }
            ValueExpression::Structured(inner) | ValueExpression::Verdict(inner) => {
                self.chase_expr(SearchPosition { parsed: true, ..at }, inner, path, out)
            }
            ValueExpression::If { then, otherwise, .. } => {
                self.chase_expr(at.clone(), then, path, out);
                self.chase_expr(at, otherwise, path, out);
            }
            ValueExpression::Consensus { verdicts, consensus } => {
                let Some(AnswerPathSegment::Name(name)) = path.first() else { return };
                let (member, passes_at) = match &**name {
                    "score" | "confidence" => (name.clone(), at.passes_at),
                    "binary_valid" => ("score".into(), Some(consensus.threshold)),
                    _ => return,
                };
                let votes = matches!(consensus.strategy, ConsensusStrategy::Majority | ConsensusStrategy::Unanimous)
                    && &*member == "score";
                let votes_at = votes.then_some(consensus.threshold).or(at.votes_at);
                let at = SearchPosition { parsed: true, passes_at, votes_at, ..at };
                verdicts.iter().for_each(|b| {
                    self.chase_expr(at.clone(), &b.value, &[AnswerPathSegment::Name(member.clone())], out)
                });
            }
            ValueExpression::Const(_) | ValueExpression::Lines(_) => {}
        }
    }

    fn chase_text(&self, at: SearchPosition, text: &BoundTemplate, path: &[AnswerPathSegment], out: &mut FeedSearch) {
        if !text.template.is_single() {
            return;
        }
        if let Some(reference) = text.template.references().first()
            && let Some(source) = text.sources.get(reference.binding.source as usize)
        {
            let skip = usize::from(reference.binding.skip);
            let mut whole: AnswerPath =
                reference.path.iter().skip(skip).map(|s| AnswerPathSegment::new(&s.name)).collect();
            whole.extend(path.iter().cloned());
            self.chase_source(at, source, &whole, out);
        }
    }

    fn result(&self, at: SearchPosition, step: StepId, path: &[AnswerPathSegment], out: &mut FeedSearch) {
        let Some(at) = at.next() else { return };
        match &self.program.steps[step].shape {
            Some(shape) => self.chase_expr(at.with(ResultStep::Raw(step)), shape, path, out),
            None => self.raw(at, step, path, out),
        }
    }

    fn raw(&self, at: SearchPosition, id: StepId, path: &[AnswerPathSegment], out: &mut FeedSearch) {
        let Some(mut at) = at.next() else { return };
        let step = &self.program.steps[id];
        if at.home && at.through.is_none() {
            at.through = Some(id);
        }
        if let StepKind::Model(call) = &step.kind
            && (path.is_empty() || at.parsed || call.format != AnswerFormat::Text)
        {
            let depth = at.depth.add_depth(self.key_depth(id));
            let (path, through) = (path.to_vec(), at.through);
            let place = join_keys(&at.place, self.places.get(&id).map_or("", String::as_str)).into();
            let (passes_at, votes_at) = (at.passes_at, at.votes_at);
            out.add(AnswerFeed { step: id, path, place, depth, through, passes_at, votes_at });
            return;
        }
        match step.kind.step_info().inside {
            StepContents::Value(expr) => self.chase_expr(at.with(ResultStep::Nobody), expr, path, out),
            StepContents::ForEach(each) => {
                if let Some((AnswerPathSegment::Any, rest)) = path.split_first() {
                    let item = KeyDepth { items: 1, ..KeyDepth::default() };
                    self.chase_flow(self.down(at, id, "[", each.body).deeper(item), rest, out);
                }
            }
            StepContents::Call(callee) => {
                for callee in callee.possible_flows() {
                    self.chase_flow(self.down(at.clone(), id, "", callee), path, out);
                }
            }
            inside => inside.result_steps().into_iter().for_each(|child| self.result(at.clone(), child, path, out)),
        }
    }

    /// Traces a flow's output.
    fn chase_flow(&self, at: SearchPosition, path: &[AnswerPathSegment], out: &mut FeedSearch) {
        let Some(at) = at.next() else { return };
        let flow = &self.program.flows[at.flow];
        match &flow.output {
            Some(expr) => self.chase_expr(at.with(ResultStep::Shaped(flow.body)), expr, path, out),
            None => self.result(at, flow.body, path, out),
        }
    }

    /// Enters a flow that a step calls. `mark` is what the call adds to the step's key.
    fn down(&self, mut at: SearchPosition, step: StepId, mark: &str, callee: FlowId) -> SearchPosition {
        let inside = join_keys(&at.place, &format!("{}{mark}", self.places.get(&step).map_or("", String::as_str)));
        at.calls.push((step, std::mem::replace(&mut at.place, inside)));
        SearchPosition {
            flow: callee,
            home: false,
            result: ResultStep::Nobody,
            depth: at.depth.add_depth(self.key_depth(step)),
            ..at
        }
    }

    /// Returns to the flow of the step that calls this one. `None` if the search entered through another call.
    fn up(&self, mut at: SearchPosition, step: StepId) -> Option<SearchPosition> {
        at.place = match at.calls.pop() {
            Some((from, place)) if from == step => place,
            Some(_) => return None,
            // Outside of the flow in which the search started, the surrounding calls are unknown.
            None => String::new(),
        };
        let flow = self.flows.get(&step).copied().unwrap_or(at.flow);
        Some(SearchPosition {
            flow,
            home: false,
            result: ResultStep::Nobody,
            depth: at.depth.subtract_depth(self.key_depth(step)),
            ..at
        })
    }
}

impl SearchPosition {
    fn new(flow: FlowId, result: ResultStep) -> Self {
        Self {
            flow,
            result,
            depth: KeyDepth::default(),
            home: true,
            calls: Vec::new(),
            place: String::new(),
            through: None,
            parsed: false,
            passes_at: None,
            votes_at: None,
            left: LONGEST,
        }
    }
    fn next(self) -> Option<Self> {
        let left = self.left.checked_sub(1)?;
        Some(Self { left, ..self })
    }
    fn with(self, result: ResultStep) -> Self {
        Self { result, ..self }
    }
    fn deeper(self, by: KeyDepth) -> Self {
        Self { depth: self.depth.add_depth(by), ..self }
    }
    fn shallower(self, by: KeyDepth) -> Self {
        Self { depth: self.depth.subtract_depth(by), ..self }
    }
}

fn join_paths(member: &[Arc<str>], rest: &[AnswerPathSegment]) -> AnswerPath {
    member.iter().map(AnswerPathSegment::new).chain(rest.iter().cloned()).collect()
}

/// Joins two parts of a key.
fn join_keys(before: &str, after: &str) -> String {
    let together = before.is_empty() || after.is_empty() || after.starts_with(['@', '[', '#', '~']);
    format!("{before}{}{after}", if together { "" } else { "/" })
}

/// A key without its numbers, which is the same for every pass, item, iteration and try of a call.
pub(super) fn key_without_numbers(key: &str) -> String {
    let mut out = String::with_capacity(key.len());
    for (n, part) in parse_key_parts(key).enumerate() {
        match part {
            KeyPart::Label(_) if n > 0 => out.push('/'),
            KeyPart::Pass(_) => out.push('@'),
            KeyPart::Item(_) => out.push('['),
            KeyPart::Iteration(_) => out.push('#'),
            KeyPart::Own(_) => out.push('~'),
            KeyPart::Label(_) | KeyPart::Try(_) => {}
        }
        if let KeyPart::Label(name) | KeyPart::Own(name) = part {
            out.push_str(name);
        }
    }
    out
}

/// Whether a call's place has this ending.
pub(super) fn ends_at(place: &str, end: &str) -> bool {
    let rest = place.strip_suffix(end);
    rest.is_some_and(|r| r.is_empty() || r.ends_with('/') || end.starts_with(['@', '[', '#', '~']) || end.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_keys_without_numbers() {
        assert_eq!(key_without_numbers("REVIEW@12/fan[0]#3/judge!2~2"), "REVIEW@/fan[#/judge~2");
        assert_eq!(join_keys("REVIEW@", "critic"), "REVIEW@/critic");
        assert_eq!(join_keys("loop", "@"), "loop@");
    }

    #[test]
    fn only_whole_segments_are_ends() {
        assert!(ends_at("a@/critic", "critic") && ends_at("critic", "critic") && ends_at("a@/critic", "a@/critic"));
        assert!(ends_at("a#/critic", "#/critic") && ends_at("a", ""));
        assert!(!ends_at("a/her-critic", "critic") && !ends_at("a@/critic", "b@/critic"));
    }
}
