//! The origins of values: which slots can contain secrets, environment values, or untrusted text.
//!
//! Computed over all flows at once, until nothing changes: a call carries labels from its input into the called flow,
//! and back with its result. A label means that a value *can* have an origin; the values themselves are not considered.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use trefoil_syntax::hash::HashMap;

use trefoil_ir::{
    BoundTemplate, FanOutItems, FlowId, IndexVec, OnStepFailure, Program, SlotId, Source, Step, StepId, StepKind,
    ToolKind, ValueExpression, credential, credential::UrlPart, walk,
};
use trefoil_syntax::Location;
use trefoil_template::{HoleKind, Value};

use super::calls::CallGraph;
use super::text_pieces::{InsertedValue, TextPiece, expression_pieces};

/// The possible origins of a value, each with a place.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TaintLabels {
    /// The secret store.
    pub secret: Option<Location>,
    /// The environment.
    pub environment: Option<Location>,
    /// An environment variable whose name is that of a credential; the place where it is read.
    pub credential: Option<Location>,
    /// The caller of the run.
    pub input: Option<Location>,
    /// A model's answer.
    pub model: Option<Location>,
    /// The result of a tool or a command.
    pub tool: Option<Location>,
    /// The environment variables.
    pub variables: VariableSet,
}

/// A set of the program's environment variables.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct VariableSet(u128);

impl VariableSet {
    /// Variables beyond this number are not told apart, and count as harmless.
    const MOST: usize = u128::BITS as usize;

    fn from_index(index: usize) -> Self {
        Self(if index < Self::MOST { 1 << index } else { 0 })
    }
    /// Whether it contains the variable with this index.
    fn has(self, index: usize) -> bool {
        index < Self::MOST && self.0 & (1 << index) != 0
    }
    /// All elements of both.
    #[must_use]
    pub fn union_with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl TaintLabels {
    /// The union; of two places, the one that was found first is kept.
    #[must_use]
    pub fn union_with(self, other: Self) -> Self {
        Self {
            secret: self.secret.or(other.secret),
            environment: self.environment.or(other.environment),
            credential: self.credential.or(other.credential),
            input: self.input.or(other.input),
            model: self.model.or(other.model),
            tool: self.tool.or(other.tool),
            variables: self.variables.union_with(other.variables),
        }
    }
    /// The untrusted origin, if any: in words, and the place.
    pub fn untrusted_origin(&self) -> Option<(&'static str, Location)> {
        let sorts = [("a model's answer", self.model), ("a tool's result", self.tool), ("the run's input", self.input)];
        sorts.into_iter().find_map(|(what, at)| Some((what, at?)))
    }
}

/// The labels of a value: of its known members, and of everything else in it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct ValueTaint {
    open: TaintLabels,
    named: BTreeMap<Arc<str>, TaintLabels>,
    /// Members to which the manifest itself gives a value, although the caller of the run may override it. They count
    /// as the author's, not as the run's input.
    own: BTreeSet<Arc<str>>,
}

/// The labels of every slot.
#[derive(Debug, Default)]
pub struct TaintAnalysis {
    slots: IndexVec<FlowId, IndexVec<SlotId, ValueTaint>>,
    outputs: IndexVec<FlowId, ValueTaint>,
    exports: IndexVec<FlowId, ValueTaint>,
    results: IndexVec<StepId, ValueTaint>,
    /// The environment variables that the program reads.
    variables: Vec<Arc<str>>,
    changed: bool,
}

/// Reads the labels of what a step reads. `result` are the labels of the step's own result.
struct TaintReader<'t> {
    taint: &'t TaintAnalysis,
    flow: FlowId,
    at: Location,
    result: &'t ValueTaint,
}

impl ValueTaint {
    fn from_labels(open: TaintLabels) -> Self {
        Self { open, ..Self::default() }
    }
    fn all_labels(&self) -> TaintLabels {
        self.named.values().fold(self.open, |all, l| all.union_with(*l))
    }
    /// The labels of a value as a whole. Credential labels of its members are dropped, because it is no longer known
    /// which member holds the credential, and reads of other members must not be reported.
    fn flat_labels(&self) -> TaintLabels {
        TaintLabels { credential: self.open.credential, ..self.all_labels() }
    }
    /// The labels of a member, or of the whole.
    fn member(&self, name: Option<&Arc<str>>) -> Self {
        match name {
            None => self.clone(),
            Some(name) => {
                let input = self.open.input.filter(|_| !self.own.contains(name));
                let open = TaintLabels { input, ..self.open };
                Self::from_labels(self.named.get(name).copied().unwrap_or_default().union_with(open))
            }
        }
    }
    fn union_with(mut self, other: &Self) -> Self {
        let stays = |name: &Arc<str>, held: &Self| held.own.contains(name) || held.open.input.is_none();
        self.own = self.own.union(&other.own).filter(|n| stays(n, &self) && stays(n, other)).cloned().collect();
        self.open = self.open.union_with(other.open);
        for (name, labels) in &other.named {
            let have = self.named.entry(name.clone()).or_default();
            *have = have.union_with(*labels);
        }
        self
    }
}

impl TaintAnalysis {
    /// The labels of a program that may be started at these flows.
    pub fn from_program(program: &Program, calls: &CallGraph, roots: &[FlowId]) -> Self {
        let mut taint = Self {
            slots: program.flows.map(|f| f.slots.map(|_| ValueTaint::default())),
            outputs: program.flows.map(|_| ValueTaint::default()),
            exports: program.flows.map(|_| ValueTaint::default()),
            results: program.steps.map(|_| ValueTaint::default()),
            variables: walk::program_holes(program)
                .into_iter()
                .filter_map(|(kind, name)| (kind == HoleKind::Env).then_some(name))
                .collect(),
            changed: true,
        };
        for &root in roots {
            let entry = &program.flows[root];
            let from = |at| TaintLabels { input: Some(at), ..TaintLabels::default() };
            let mut input = ValueTaint::from_labels(from(entry.origin));
            // Declared input originates at its declaration.
            input.named = entry.intake.fields.iter().map(|f| (f.name.clone(), from(f.origin))).collect();
            taint.intake(program, root, &input);
        }
        let order = calls.callees_first(roots.iter().copied(), &mut calls.unmarked_flows());
        let mut steps: HashMap<FlowId, Vec<StepId>> = HashMap::default();
        for (flow, step) in walk::reachable_from(program, roots) {
            steps.entry(flow).or_default().push(step);
        }
        let of = |flow: &FlowId| steps.get(flow).map(Vec::as_slice).unwrap_or_default();
        // Inputs propagate down the calls, results back up: one pass in each direction, over the flows in call order.
        // Every pass carries a label at least one slot further, or is the last one.
        while std::mem::take(&mut taint.changed) {
            for flow in order.iter().rev() {
                of(flow).iter().for_each(|id| taint.step(program, *flow, *id));
            }
            for flow in &order {
                // Results propagate from inner steps to the enclosing step, which precedes them in the list.
                of(flow).iter().rev().for_each(|id| taint.step(program, *flow, *id));
                taint.flow(program, *flow);
            }
        }
        taint
    }
    /// The labels of a value that a step inserts into a text.
    pub fn labels_of_value(
        &self,
        program: &Program,
        flow: FlowId,
        step: StepId,
        value: &InsertedValue<'_>,
    ) -> TaintLabels {
        let Some(source) = value.source else { return TaintLabels::default() };
        let at = program.steps[step].origin;
        let rest = value.remaining_path();
        let mut labels =
            TaintReader { taint: self, flow, at, result: &self.results[step] }.source(source, &rest).all_labels();
        match source {
            Source::Environment => labels.credential = value.source_location().filter(|_| is_credential(&rest)),
            Source::Secrets => labels.secret = value.source_location().or(labels.secret),
            _ => {}
        }
        labels
    }
    /// The environment variables that may be in the result of a flow, and the secret store if it may be.
    pub fn labels_of_output(&self, flow: FlowId) -> TaintLabels {
        self.outputs[flow].all_labels()
    }
    /// The variables of a set, by name.
    pub fn variable_names(&self, set: VariableSet) -> impl Iterator<Item = &Arc<str>> {
        self.variables.iter().enumerate().filter_map(move |(index, name)| set.has(index).then_some(name))
    }
    /// The environment variables that are sent somewhere as credentials, directly or through inputs and results.
    pub fn sent_as_credentials(&self, program: &Program, steps: &[(FlowId, StepId)]) -> VariableSet {
        let mut found = VariableSet::default();
        for (flow, id) in steps {
            let step = &program.steps[*id];
            let StepKind::Tool(call) = &step.kind else { continue };
            let nothing = ValueTaint::default();
            let reader = TaintReader { taint: self, flow: *flow, at: step.origin, result: &nothing };
            match &call.kind {
                ToolKind::Http => {
                    let sent = reader.sent(&call.arguments, &mut Vec::new());
                    found = found.union_with(sent);
                    for value in url_of(&call.arguments).into_iter().flat_map(credentials_in) {
                        found = found.union_with(self.labels_of_value(program, *flow, *id, &value).variables);
                    }
                }
                // The headers of a server have no other values.
                ToolKind::Mcp { .. } => {
                    for hole in credential::in_arguments(&call.kind, &Value::Null) {
                        let index = self.variables.iter().position(|name| *name == hole.name);
                        let index = index.filter(|_| hole.kind == HoleKind::Env);
                        found = found.union_with(index.map(VariableSet::from_index).unwrap_or_default());
                    }
                }
                ToolKind::Local | ToolKind::Python => {}
            }
        }
        found
    }
    fn slot(&self, flow: FlowId, slot: SlotId, member: Option<&Arc<str>>) -> ValueTaint {
        self.slots[flow][slot].member(member)
    }
    fn add_to_slot(&mut self, flow: FlowId, slot: SlotId, held: &ValueTaint) {
        self.changed |= merge_into(&mut self.slots[flow][slot], held);
    }
    fn intake(&mut self, program: &Program, flow: FlowId, held: &ValueTaint) {
        let intake = &program.flows[flow].intake;
        self.add_to_slot(flow, intake.slot, held);
        if let Some((raw, _)) = intake.raw {
            self.add_to_slot(flow, raw, held);
        }
    }
    fn flow(&mut self, program: &Program, id: FlowId) {
        let flow = &program.flows[id];
        let nothing = ValueTaint::default();
        for (slot, expr) in &flow.init {
            let held = TaintReader { taint: self, flow: id, at: flow.origin, result: &nothing }.expr(expr);
            self.add_to_slot(id, *slot, &held);
        }
        let output = match &flow.output {
            Some(expr) => TaintReader { taint: self, flow: id, at: flow.origin, result: &nothing }.expr(expr),
            None => self.results[flow.body].clone(),
        };
        let mut exports = ValueTaint::default();
        for export in &flow.exports {
            let mut labels = self.slot(id, export.slot, export.member.first()).flat_labels();
            if let Some(inner) = export.inner {
                labels = labels.union_with(self.slot(id, inner, None).flat_labels());
            }
            let have = exports.named.entry(export.key.clone()).or_default();
            *have = have.union_with(labels);
        }
        self.changed |= merge_into(&mut self.outputs[id], &output);
        self.changed |= merge_into(&mut self.exports[id], &exports);
    }
    fn step(&mut self, program: &Program, flow: FlowId, id: StepId) {
        let step = &program.steps[id];
        let raw = self.raw(program, flow, step);
        let result = {
            let reader = TaintReader { taint: self, flow, at: step.origin, result: &raw };
            let shaped = step.shape.as_ref().map_or_else(|| raw.clone(), |shape| reader.expr(shape));
            match &step.policy.on_failure {
                OnStepFailure::Use(value) => shaped.union_with(&reader.expr(value)),
                OnStepFailure::Fail | OnStepFailure::Skip => shaped,
            }
        };
        self.changed |= merge_into(&mut self.results[id], &result);
        if let Some(slot) = step.out {
            self.add_to_slot(flow, slot, &result);
        }
    }
    /// The labels of a step's result before `shape`; also propagates labels to what it calls.
    fn raw(&mut self, program: &Program, flow: FlowId, step: &Step) -> ValueTaint {
        let at = step.origin;
        let model = ValueTaint::from_labels(TaintLabels { model: Some(at), ..TaintLabels::default() });
        let inner =
            walk::children_of(step).into_iter().fold(ValueTaint::default(), |all, s| all.union_with(&self.results[s]));
        let nothing = ValueTaint::default();
        match &step.kind {
            StepKind::Model(_) => model,
            StepKind::Tool(_) | StepKind::Command(_) => {
                ValueTaint::from_labels(TaintLabels { tool: Some(at), ..TaintLabels::default() })
            }
            StepKind::Human(_) | StepKind::Wait { .. } | StepKind::Parallel(_) | StepKind::Refused(_) => nothing,
            StepKind::Compute(value) => TaintReader { taint: self, flow, at, result: &nothing }.expr(value),
            StepKind::Sequence(steps) => steps.last().map(|s| self.results[*s].clone()).unwrap_or_default(),
            StepKind::Branch { .. } | StepKind::Loop(_) => inner,
            StepKind::Graph(graph) => {
                for (slot, source) in graph.nodes.iter().flat_map(|n| &n.incoming).filter_map(|e| e.carry.as_ref()) {
                    let held = TaintReader { taint: self, flow, at, result: &nothing }.source(source, &[]);
                    self.add_to_slot(flow, *slot, &held);
                }
                nothing
            }
            StepKind::StateMachine(machine) => {
                let feedback = machine.states.iter().flat_map(|s| &s.transitions).filter_map(|t| t.feedback.as_ref());
                if let Some(slot) = machine.feedback {
                    for text in feedback {
                        let labels = TaintReader { taint: self, flow, at, result: &inner }.text(text);
                        self.add_to_slot(flow, slot, &ValueTaint::from_labels(labels));
                    }
                }
                if let Some(slot) = machine.previous_error {
                    self.add_to_slot(flow, slot, &ValueTaint::from_labels(inner.all_labels()));
                }
                inner
            }
            StepKind::Attempts(attempts) => {
                for judge in attempts.all_judges() {
                    let held = TaintReader { taint: self, flow, at, result: &inner }.expr(&judge.input);
                    self.intake(program, judge.flow, &held);
                }
                self.add_to_slot(flow, attempts.previous_error, &model);
                inner
            }
            StepKind::Conversation(it) => {
                // The arguments of a tool come from the model; the results of tools are in its prompt.
                let calls = it.offers.iter().map(|offer| offer.step).chain(it.gate);
                let calls = calls.map(|step| &program.steps[step]);
                calls.flat_map(walk::callees_of).for_each(|callee| self.intake(program, callee, &model));
                inner
            }
            StepKind::ForEach(each) => {
                if let (FanOutItems::List(list), Some(item)) = (&each.items, each.item) {
                    let held = TaintReader { taint: self, flow, at, result: &nothing }.expr(list);
                    self.add_to_slot(each.body, item, &ValueTaint::from_labels(held.all_labels()));
                }
                for (slot, source) in &each.captures {
                    let held = TaintReader { taint: self, flow, at, result: &nothing }.source(source, &[]);
                    self.add_to_slot(each.body, *slot, &held);
                }
                ValueTaint::from_labels(self.outputs[each.body].flat_labels())
            }
            StepKind::Call(call) => {
                let reader = TaintReader { taint: self, flow, at, result: &nothing };
                let input = call.input.as_ref().map(|e| reader.expr(e)).unwrap_or_default();
                let mut output = ValueTaint::default();
                for callee in walk::callees_of(step) {
                    self.intake(program, callee, &input);
                    output = output.union_with(&self.outputs[callee]);
                    if let Some(slot) = call.exports {
                        self.changed |= merge_into(&mut self.slots[flow][slot], &self.exports[callee]);
                    }
                }
                output
            }
        }
    }
}

/// The literal members of an object.
fn written(expr: &ValueExpression) -> Vec<Arc<str>> {
    match expr {
        ValueExpression::Const(Value::Object(members)) => members.keys().cloned().collect(),
        ValueExpression::Object(members) => members
            .iter()
            .filter(|(_, e)| matches!(e, ValueExpression::Const(_)))
            .map(|(name, _)| name.clone())
            .collect(),
        _ => Vec::new(),
    }
}

fn is_credential(path: &[Arc<str>]) -> bool {
    path.first().is_some_and(|name| credential::is_credential(name))
}

fn merge_into(place: &mut ValueTaint, more: &ValueTaint) -> bool {
    if *more == ValueTaint::default() {
        return false;
    }
    let both = place.clone().union_with(more);
    let changed = both != *place;
    *place = both;
    changed
}

/// The address in the arguments of an HTTP tool.
fn url_of(arguments: &ValueExpression) -> Option<&ValueExpression> {
    let ValueExpression::Object(members) = arguments else { return None };
    members.iter().find(|(name, _)| &**name == "url").map(|(_, url)| url)
}

/// The values in an address that are credentials.
fn credentials_in(url: &ValueExpression) -> Vec<InsertedValue<'_>> {
    let pieces = expression_pieces(url);
    let parts = pieces.iter().map(|piece| match piece {
        TextPiece::Written(text) => UrlPart::Text(text),
        TextPiece::Value(value) => UrlPart::Value(*value),
    });
    credential::in_address(parts)
}

impl TaintReader<'_> {
    /// The environment variables in the arguments of an HTTP tool that are sent as credentials.
    fn sent<'p>(&self, arguments: &'p ValueExpression, path: &mut Vec<&'p str>) -> VariableSet {
        match arguments {
            ValueExpression::Object(members) => members.iter().fold(VariableSet::default(), |found, (name, member)| {
                path.push(name);
                let found = found.union_with(self.sent(member, path));
                path.pop();
                found
            }),
            ValueExpression::List(all) => {
                all.iter().fold(VariableSet::default(), |found, item| found.union_with(self.sent(item, path)))
            }
            text if credential::is_position(path) => self.expr(text).all_labels().variables,
            _ => VariableSet::default(),
        }
    }
    fn source(&self, source: &Source, rest: &[Arc<str>]) -> ValueTaint {
        let taint = self.taint;
        match source {
            Source::Slot(slot) => taint.slot(self.flow, *slot, rest.first()),
            Source::Member(slot, path) => taint.slot(self.flow, *slot, path.first().or(rest.first())),
            Source::Layered { top, path, under } => {
                let top = taint.slot(self.flow, *top, path.first().or(rest.first()));
                top.union_with(&taint.slot(self.flow, *under, rest.first()))
            }
            Source::Either(first, second) => self.source(first, rest).union_with(&self.source(second, rest)),
            Source::Compose { parts, .. } => {
                let other = |at: &[Arc<str>]| at.iter().zip(rest).any(|(a, b)| a != b);
                let parts = parts.iter().filter(|p| !other(&p.at));
                ValueTaint::from_labels(parts.fold(TaintLabels::default(), |all, p| {
                    all.union_with(taint.slot(self.flow, p.slot, p.member.first()).flat_labels())
                }))
            }
            Source::Environment => {
                let index = rest.first().and_then(|name| taint.variables.iter().position(|known| known == name));
                let variables = index.map(VariableSet::from_index).unwrap_or_default();
                ValueTaint::from_labels(TaintLabels { environment: Some(self.at), variables, ..TaintLabels::default() })
            }
            Source::Secrets => ValueTaint::from_labels(TaintLabels { secret: Some(self.at), ..TaintLabels::default() }),
            Source::Result => self.result.member(rest.first()),
            Source::Const(_) | Source::RunId | Source::Spent(_) | Source::Failure | Source::Missing(..) => {
                ValueTaint::default()
            }
        }
    }
    fn texts(&self, text: &BoundTemplate) -> Vec<ValueTaint> {
        let references = text.template.references().iter().enumerate();
        let read = references.filter_map(|(index, reference)| {
            let source = text.sources.get(reference.binding.source as usize)?;
            let rest: Vec<Arc<str>> =
                reference.path.iter().skip(reference.binding.skip as usize).map(|s| s.name.clone()).collect();
            let mut held = self.source(source, &rest);
            let at = || text.spans.get(index).map(|span| Location::new(text.origin.file, *span));
            match source {
                Source::Environment if is_credential(&rest) => held.open.credential = at(),
                Source::Secrets => held.open.secret = at(),
                _ => {}
            }
            Some(held)
        });
        read.collect()
    }
    fn text(&self, text: &BoundTemplate) -> TaintLabels {
        self.texts(text).iter().fold(TaintLabels::default(), |all, h| all.union_with(h.all_labels()))
    }
    fn expr(&self, expr: &ValueExpression) -> ValueTaint {
        match expr {
            ValueExpression::Const(_) => ValueTaint::default(),
            ValueExpression::Read(source) => self.source(source, &[]),
            ValueExpression::Typed(text) if text.template.is_single() => self.texts(text).pop().unwrap_or_default(),
            ValueExpression::Template(text) | ValueExpression::Typed(text) => ValueTaint::from_labels(self.text(text)),
            ValueExpression::Object(members) => {
                let named = members.iter().map(|(name, value)| (name.clone(), self.expr(value).flat_labels()));
                ValueTaint { named: named.collect(), ..ValueTaint::default() }
            }
            ValueExpression::Merge(all) => {
                let mut held = all.iter().fold(ValueTaint::default(), |held, e| held.union_with(&self.expr(e)));
                held.own.extend(all.iter().flat_map(written));
                held
            }
            ValueExpression::If { then, otherwise, .. } => self.expr(then).union_with(&self.expr(otherwise)),
            ValueExpression::Structured(inner) | ValueExpression::Verdict(inner) => self.expr(inner),
            ValueExpression::List(all) | ValueExpression::Concat(all) => ValueTaint::from_labels(
                all.iter().fold(TaintLabels::default(), |labels, e| labels.union_with(self.expr(e).flat_labels())),
            ),
            ValueExpression::Join { parts, otherwise, .. } => {
                let parts = parts.iter().map(|s| self.source(s, &[]).all_labels());
                ValueTaint::from_labels(parts.fold(self.expr(otherwise).all_labels(), TaintLabels::union_with))
            }
            ValueExpression::Lines(inner)
            | ValueExpression::AsText(inner)
            | ValueExpression::AsMessage(inner)
            | ValueExpression::Coerce(inner, _) => ValueTaint::from_labels(self.expr(inner).all_labels()),
            ValueExpression::Consensus { verdicts, .. } => {
                let verdicts = verdicts.iter().map(|b| self.expr(&b.value).all_labels());
                ValueTaint::from_labels(verdicts.fold(TaintLabels::default(), TaintLabels::union_with))
            }
        }
    }
}
