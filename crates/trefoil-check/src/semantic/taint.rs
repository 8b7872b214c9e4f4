//! The origins of values: which slots can contain secrets, environment values, or untrusted text.
//!
//! Computed over all flows at once, until nothing changes: a call carries labels from its input into the called flow,
//! and back with its result. A label means that a value *can* have an origin; the values themselves are not considered.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use trefoil_ir::{
    BoundTemplate, FanOutItems, FlowId, ForEach, IndexVec, OnStepFailure, Program, SlotId, Source, StateMachine, Step,
    StepId, StepKind, ToolKind, TypedIndex, ValueExpression, credential, credential::UrlPart, walk,
};
use trefoil_syntax::Location;
use trefoil_template::{HoleKind, Value};

use super::calls::CallGraph;
use super::paths::kept_path_in_source;
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
        for (what, at) in sorts {
            if let Some(at) = at {
                return Some((what, at));
            }
        }
        None
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
        let mut all = self.open;
        for labels in self.named.values() {
            all = all.union_with(*labels);
        }
        all
    }
    /// The labels of a value as a whole. Credential labels of its members are dropped, because it is no longer known
    /// which member holds the credential, and reads of other members must not be reported.
    fn flat_labels(&self) -> TaintLabels {
        TaintLabels { credential: self.open.credential, ..self.all_labels() }
    }
    /// The labels of a member, or of the whole.
    fn member(&self, name: Option<&Arc<str>>) -> Self {
        let Some(name) = name else { return self.clone() };
        let mut open = self.open;
        if self.own.contains(name) {
            open.input = None;
        }
        let labels = self.named.get(name).copied().unwrap_or_default();
        Self::from_labels(labels.union_with(open))
    }
    /// Whether the run's input is no origin of a member.
    fn is_without_input(&self, name: &Arc<str>) -> bool {
        self.own.contains(name) || self.open.input.is_none()
    }
    fn union_with(mut self, other: &Self) -> Self {
        let mut own = BTreeSet::new();
        for name in self.own.union(&other.own) {
            if self.is_without_input(name) && other.is_without_input(name) {
                own.insert(name.clone());
            }
        }
        self.own = own;
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
        let mut variables = Vec::new();
        for (kind, name) in walk::program_holes(program) {
            if kind == HoleKind::Env {
                variables.push(name);
            }
        }
        let mut taint = Self {
            slots: program.flows.map(|flow| without_labels(&flow.slots)),
            outputs: without_labels(&program.flows),
            exports: without_labels(&program.flows),
            results: without_labels(&program.steps),
            variables,
            changed: true,
        };
        for &root in roots {
            let entry = &program.flows[root];
            let from = |at| TaintLabels { input: Some(at), ..TaintLabels::default() };
            let mut input = ValueTaint::from_labels(from(entry.origin));
            // Declared input originates at its declaration.
            for field in &entry.intake.fields {
                input.named.insert(field.name.clone(), from(field.origin));
            }
            taint.intake(program, root, &input);
        }
        taint.propagate(program, calls, roots);
        taint
    }
    /// Carries labels through all steps until nothing changes.
    fn propagate(&mut self, program: &Program, calls: &CallGraph, roots: &[FlowId]) {
        let order = calls.callees_first(roots.iter().copied(), &mut calls.unmarked_flows());
        let mut steps: IndexVec<FlowId, Vec<StepId>> = program.flows.map(|_| Vec::new());
        for (flow, step) in walk::reachable_from(program, roots) {
            steps[flow].push(step);
        }
        // Inputs propagate down the calls, results back up: one pass in each direction, over the flows in call order.
        // Every pass carries a label at least one slot further, or is the last one.
        while std::mem::take(&mut self.changed) {
            for &flow in order.iter().rev() {
                for &step in &steps[flow] {
                    self.step(program, flow, step);
                }
            }
            for &flow in &order {
                // Results propagate from inner steps to the enclosing step, which precedes them in the list.
                for &step in steps[flow].iter().rev() {
                    self.step(program, flow, step);
                }
                self.flow(program, flow);
            }
        }
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
        let reader = TaintReader { taint: self, flow, at, result: &self.results[step] };
        let mut labels = reader.source(source, &rest).all_labels();
        match source {
            Source::Environment if is_credential(&rest) => labels.credential = value.source_location(),
            Source::Environment => labels.credential = None,
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
        self.variables
            .iter()
            .enumerate()
            .filter_map(move |(index, name)| if set.has(index) { Some(name) } else { None })
    }
    /// The set with only this variable; empty if the program does not read it.
    fn variable_set(&self, name: &Arc<str>) -> VariableSet {
        match self.variables.iter().position(|known| known == name) {
            Some(index) => VariableSet::from_index(index),
            None => VariableSet::default(),
        }
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
                    let Some(url) = url_of(&call.arguments) else { continue };
                    for value in credentials_in(url) {
                        found = found.union_with(self.labels_of_value(program, *flow, *id, &value).variables);
                    }
                }
                // The headers of a server have no other values.
                ToolKind::Mcp { .. } => {
                    for hole in credential::in_arguments(&call.kind, &Value::Null) {
                        if hole.kind == HoleKind::Env {
                            found = found.union_with(self.variable_set(&hole.name));
                        }
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
            let shaped = match &step.shape {
                Some(shape) => reader.expr(shape),
                None => raw.clone(),
            };
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
        let mut inner = ValueTaint::default();
        for child in walk::children_of(step) {
            inner = inner.union_with(&self.results[child]);
        }
        let nothing = ValueTaint::default();
        match &step.kind {
            StepKind::Model(_) => model,
            StepKind::Tool(_) | StepKind::Command(_) => {
                ValueTaint::from_labels(TaintLabels { tool: Some(at), ..TaintLabels::default() })
            }
            StepKind::Human(_) | StepKind::Wait { .. } | StepKind::Parallel(_) | StepKind::Refused(_) => nothing,
            StepKind::Compute(value) => TaintReader { taint: self, flow, at, result: &nothing }.expr(value),
            StepKind::Sequence(steps) => match steps.last() {
                Some(last) => self.results[*last].clone(),
                None => nothing,
            },
            StepKind::Branch { .. } | StepKind::Loop(_) => inner,
            StepKind::Graph(graph) => {
                for node in &graph.nodes {
                    for edge in &node.incoming {
                        let Some((slot, source)) = &edge.carry else { continue };
                        let held = TaintReader { taint: self, flow, at, result: &nothing }.source(source, &[]);
                        self.add_to_slot(flow, *slot, &held);
                    }
                }
                nothing
            }
            StepKind::StateMachine(machine) => {
                self.state_machine(flow, at, machine, &inner);
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
                let mut called: Vec<StepId> = it.offers.iter().map(|offer| offer.step).collect();
                called.extend(it.gate);
                for id in called {
                    for callee in walk::callees_of(&program.steps[id]) {
                        self.intake(program, callee, &model);
                    }
                }
                inner
            }
            StepKind::ForEach(each) => {
                self.fan_out(flow, at, each);
                ValueTaint::from_labels(self.outputs[each.body].flat_labels())
            }
            StepKind::Call(call) => {
                let reader = TaintReader { taint: self, flow, at, result: &nothing };
                let input = match &call.input {
                    Some(expr) => reader.expr(expr),
                    None => nothing,
                };
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
    /// Labels what a fan-out passes to its body.
    fn fan_out(&mut self, flow: FlowId, at: Location, each: &ForEach) {
        let nothing = ValueTaint::default();
        if let (FanOutItems::List(list), Some(item)) = (&each.items, each.item) {
            let held = TaintReader { taint: self, flow, at, result: &nothing }.expr(list);
            self.add_to_slot(each.body, item, &ValueTaint::from_labels(held.all_labels()));
        }
        for (slot, source) in &each.captures {
            let held = TaintReader { taint: self, flow, at, result: &nothing }.source(source, &[]);
            self.add_to_slot(each.body, *slot, &held);
        }
    }
    /// Labels what a machine itself sets: the feedback and the last error. `inner` are the labels of its states.
    fn state_machine(&mut self, flow: FlowId, at: Location, machine: &StateMachine, inner: &ValueTaint) {
        if let Some(slot) = machine.feedback {
            for state in &machine.states {
                for transition in &state.transitions {
                    let Some(text) = &transition.feedback else { continue };
                    let labels = TaintReader { taint: self, flow, at, result: inner }.text(text);
                    self.add_to_slot(flow, slot, &ValueTaint::from_labels(labels));
                }
            }
        }
        if let Some(slot) = machine.previous_error {
            self.add_to_slot(flow, slot, &ValueTaint::from_labels(inner.all_labels()));
        }
    }
}

/// No labels for each element of a list.
fn without_labels<I: TypedIndex, T>(list: &IndexVec<I, T>) -> IndexVec<I, ValueTaint> {
    list.map(|_| ValueTaint::default())
}

/// The literal members of an object.
fn written(expr: &ValueExpression) -> Vec<Arc<str>> {
    match expr {
        ValueExpression::Const(Value::Object(members)) => members.keys().cloned().collect(),
        ValueExpression::Object(members) => {
            let mut names = Vec::new();
            for (name, value) in members {
                if matches!(value, ValueExpression::Const(_)) {
                    names.push(name.clone());
                }
            }
            names
        }
        _ => Vec::new(),
    }
}

fn is_credential(path: &[Arc<str>]) -> bool {
    matches!(path, [name, ..] if credential::is_credential(name))
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
    let (_, url) = members.iter().find(|(name, _)| &**name == "url")?;
    Some(url)
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
        let mut found = VariableSet::default();
        match arguments {
            ValueExpression::Object(members) => {
                for (name, member) in members {
                    path.push(name);
                    found = found.union_with(self.sent(member, path));
                    path.pop();
                }
            }
            ValueExpression::List(items) => {
                for item in items {
                    found = found.union_with(self.sent(item, path));
                }
            }
            text if credential::is_position(path) => found = self.expr(text).all_labels().variables,
            _ => {}
        }
        found
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
                let mut labels = TaintLabels::default();
                for part in parts {
                    let is_elsewhere = part.at.iter().zip(rest).any(|(own, read)| own != read);
                    if !is_elsewhere {
                        let held = taint.slot(self.flow, part.slot, part.member.first());
                        labels = labels.union_with(held.flat_labels());
                    }
                }
                ValueTaint::from_labels(labels)
            }
            Source::Environment => {
                let variables = match rest.first() {
                    Some(name) => taint.variable_set(name),
                    None => VariableSet::default(),
                };
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
        let mut read = Vec::new();
        for (index, reference) in text.template.references().iter().enumerate() {
            let Some(source) = text.sources.get(reference.binding.source as usize) else { continue };
            let rest = kept_path_in_source(reference);
            let mut held = self.source(source, &rest);
            let at = text.spans.get(index).map(|span| Location::new(text.origin.file, *span));
            match source {
                Source::Environment if is_credential(&rest) => held.open.credential = at,
                Source::Secrets => held.open.secret = at,
                _ => {}
            }
            read.push(held);
        }
        read
    }
    fn text(&self, text: &BoundTemplate) -> TaintLabels {
        let mut labels = TaintLabels::default();
        for held in self.texts(text) {
            labels = labels.union_with(held.all_labels());
        }
        labels
    }
    fn expr(&self, expr: &ValueExpression) -> ValueTaint {
        match expr {
            ValueExpression::Const(_) => ValueTaint::default(),
            ValueExpression::Read(source) => self.source(source, &[]),
            ValueExpression::Typed(text) if text.template.is_single() => self.texts(text).pop().unwrap_or_default(),
            ValueExpression::Template(text) | ValueExpression::Typed(text) => ValueTaint::from_labels(self.text(text)),
            ValueExpression::Object(members) => {
                let mut held = ValueTaint::default();
                for (name, value) in members {
                    held.named.insert(name.clone(), self.expr(value).flat_labels());
                }
                held
            }
            ValueExpression::Merge(layers) => {
                let mut held = ValueTaint::default();
                for layer in layers {
                    held = held.union_with(&self.expr(layer));
                }
                for layer in layers {
                    held.own.extend(written(layer));
                }
                held
            }
            ValueExpression::If { then, otherwise, .. } => self.expr(then).union_with(&self.expr(otherwise)),
            ValueExpression::Structured(inner) | ValueExpression::Verdict(inner) => self.expr(inner),
            ValueExpression::List(items) | ValueExpression::Concat(items) => {
                let mut labels = TaintLabels::default();
                for item in items {
                    labels = labels.union_with(self.expr(item).flat_labels());
                }
                ValueTaint::from_labels(labels)
            }
            ValueExpression::Join { parts, otherwise, .. } => {
                let mut labels = self.expr(otherwise).all_labels();
                for part in parts {
                    labels = labels.union_with(self.source(part, &[]).all_labels());
                }
                ValueTaint::from_labels(labels)
            }
            ValueExpression::Lines(inner)
            | ValueExpression::AsText(inner)
            | ValueExpression::AsMessage(inner)
            | ValueExpression::Coerce(inner, _) => ValueTaint::from_labels(self.expr(inner).all_labels()),
            ValueExpression::Consensus { verdicts, .. } => {
                let mut labels = TaintLabels::default();
                for verdict in verdicts {
                    labels = labels.union_with(self.expr(&verdict.value).all_labels());
                }
                ValueTaint::from_labels(labels)
            }
        }
    }
}
