//! The type of every slot, of every step's result, and of every read. Computed once, on request.
//!
//! A slot's type is the union of the types of all its writers, in any order; [`super::defined`] determines whether it
//! has a value at all. Something that refers to itself (a Blackboard merged into itself) has any type.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::sync::Arc;
use trefoil_syntax::hash::{HashMap, HashSet};

use trefoil_ir::types::{OtherMembers, TypeMember, ValueKind, ValueType};
use trefoil_ir::{
    AnswerFormat, Attempts, BoundTemplate, ComposedPart, FanOutItems, FlowCallee, FlowId, ForEach, Guard, Intake,
    JsonType, ModelCall, OnStepFailure, Program, SlotId, Source, Step, StepId, StepKind, ToolKind, ValidatorKind,
    ValueExpression,
};
use trefoil_template::{Value, read_json};

use super::paths::{joined_path, member_names, path_in_source, shared_length, value_at_path};
use super::writers::{SlotWriter, SlotWriters};

/// The maximum depth to which types are followed: chains of fan-outs and calls, not of steps.
const DEEPEST: u32 = 64;
/// The number of writers of one slot whose types are combined.
const MOST_WRITERS: usize = 200;

/// The types of a program.
pub struct ProgramTypes<'p> {
    pub(super) program: &'p Program,
    /// The result types of tools, by name, if declared.
    returned: HashMap<String, ValueType>,
    roots: HashSet<FlowId>,
    writers: SlotWriters<'p>,
    slots: RefCell<HashMap<(FlowId, SlotId), Option<ValueType>>>,
    results: RefCell<HashMap<StepId, Option<ValueType>>>,
    outputs: RefCell<HashMap<FlowId, Option<ValueType>>>,
    depth: Cell<u32>,
}

/// The result of following a path.
#[derive(Debug, Clone, PartialEq)]
pub struct PathType {
    /// Its type, as far as known.
    pub schema: ValueType,
    /// Whether a member in the path may be missing.
    pub optional: bool,
    /// If the path cannot continue: the number of segments that were followed, and why it stops.
    pub stop: Option<(usize, TypeMember)>,
    /// If it continues to a member that an open object does not declare: the index, and the declared members.
    pub undeclared: Option<(usize, Vec<Arc<str>>)>,
}

impl PathType {
    fn from_type(schema: ValueType) -> Self {
        Self { schema, optional: false, stop: None, undeclared: None }
    }
    /// Follows a path from a type.
    pub fn follow_path(of: ValueType, path: &[&str]) -> Self {
        Self::from_type(of).on(path, 0)
    }
    fn unknown() -> Self {
        Self::from_type(ValueType::Any)
    }
    /// Continues with these members; `from` is the number of segments followed so far.
    fn on(mut self, path: &[&str], from: usize) -> Self {
        for (i, name) in path.iter().enumerate() {
            if self.stop.is_some() {
                return self;
            }
            match self.schema.find_member(name) {
                TypeMember::Is { of, optional } => {
                    self.schema = of;
                    self.optional |= optional;
                }
                TypeMember::Maybe => {
                    self.undeclared = match self.schema.likely_member(name) {
                        Some(likely) => first_undeclared(&likely, path.get(i + 1..).unwrap_or_default(), from + i + 1),
                        None => undeclared_in(&self.schema, from + i),
                    };
                    self.schema = ValueType::Any;
                    return self;
                }
                never => {
                    self.schema = ValueType::Any;
                    self.stop = Some((from + i, never));
                }
            }
        }
        self
    }
}

/// The text of an expression without placeholders.
fn literal(expr: &ValueExpression) -> Option<Cow<'_, str>> {
    match expr {
        ValueExpression::Const(value) => Some(Cow::from(value.as_str()?)),
        ValueExpression::Template(text) | ValueExpression::Typed(text) => {
            Some(Cow::from(text.template.literal_text()?))
        }
        ValueExpression::AsText(inner) => literal(inner),
        ValueExpression::Concat(parts) => {
            let joined: Option<String> = parts.iter().map(literal).collect();
            Some(Cow::from(joined?))
        }
        _ => None,
    }
}

/// The type of text that prints a single value: the words that the value may be, and nothing if it is missing.
fn printed(walk: &PathType) -> Option<ValueType> {
    let mut words = walk.schema.allowed_values()?.into_owned();
    if walk.optional {
        words.push(Value::Null);
    }
    let mut types = Vec::new();
    for word in words {
        let text = if word.is_null() { Value::from("") } else { word };
        text.as_str()?;
        types.push(ValueType::of_value(&text));
    }
    if types.is_empty() { None } else { Some(ValueType::union_of(types)) }
}

/// The object or list in a text, or the text.
fn structured(text: &str) -> Value {
    match read_json::<Value>(text) {
        Ok(value @ (Value::Object(_) | Value::List(_))) => value,
        _ => Value::from(text),
    }
}

/// The first segment that a type does not declare; the value may be of another type.
fn first_undeclared(of: &ValueType, path: &[&str], from: usize) -> Option<(usize, Vec<Arc<str>>)> {
    let (name, rest) = path.split_first()?;
    let found = match of.find_member(name) {
        TypeMember::Is { of, .. } => Some(of),
        TypeMember::Maybe => of.likely_member(name),
        TypeMember::Never { what: "an object", members } => return Some((from, members)),
        TypeMember::Never { .. } | TypeMember::Beyond { .. } => return None,
    };
    match found {
        Some(inner) => first_undeclared(&inner, rest, from + 1),
        None => undeclared_in(of, from),
    }
}

/// A segment that an open object does not declare, with the members that it declares, if any.
fn undeclared_in(of: &ValueType, segment: usize) -> Option<(usize, Vec<Arc<str>>)> {
    let declared = of.declared_members();
    if declared.is_empty() { None } else { Some((segment, declared)) }
}

impl ProgramTypes<'_> {
    /// The type of what a run of a program returns.
    pub fn returned_by(program: &Program) -> ValueType {
        ProgramTypes::new(program, &[program.entry], HashMap::default()).output_type(program.entry)
    }
}

impl<'p> ProgramTypes<'p> {
    /// The types of a program that may be started at these flows.
    pub fn new(program: &'p Program, roots: &[FlowId], returned: HashMap<String, ValueType>) -> Self {
        Self {
            program,
            returned,
            roots: roots.iter().copied().collect(),
            writers: SlotWriters::from_program(program),
            slots: RefCell::default(),
            results: RefCell::default(),
            outputs: RefCell::default(),
            depth: Cell::new(0),
        }
    }

    /// The expression that computes a slot, if a single step or the start of its flow computes it and nothing else
    /// writes it.
    pub fn computing_expr(&self, flow: FlowId, slot: SlotId) -> Option<&'p ValueExpression> {
        let [writer] = self.writers.of_slot(flow, slot) else { return None };
        match writer {
            SlotWriter::Value(value) => Some(value),
            SlotWriter::Result(step) => match &self.program.steps[*step].kind {
                StepKind::Compute(value) => Some(value),
                _ => None,
            },
            _ => None,
        }
    }
    /// The type of a slot's value.
    pub fn slot_type(&self, flow: FlowId, slot: SlotId) -> ValueType {
        if let Some(known) = self.slots.borrow().get(&(flow, slot)) {
            return known.clone().unwrap_or_default();
        }
        self.slots.borrow_mut().insert((flow, slot), None);
        let found = self.with_depth_limit(|| self.type_from_writers(flow, slot));
        self.slots.borrow_mut().insert((flow, slot), Some(found.clone()));
        found
    }

    fn type_from_writers(&self, flow: FlowId, slot: SlotId) -> ValueType {
        let writers = self.writers.of_slot(flow, slot);
        // Each may add a member to what the others have written.
        if writers.len() > MOST_WRITERS {
            return ValueType::Any;
        }
        let of_slot = |other| self.slot_type(flow, other);
        let of_expr = |expr: &ValueExpression| self.expr_type(flow, expr, None);
        match super::shared_objects::shared_object(self.program, slot, writers, of_slot, of_expr) {
            Some(shared) => shared,
            None => ValueType::union_of(writers.iter().map(|writer| self.written(flow, writer))),
        }
    }

    /// The value at a path unless a run starts with another one (see `shared::seed`).
    pub fn seed_value(&self, flow: FlowId, source: &Source, path: &[&str]) -> Option<&'p Value> {
        let (slot, path) = match source {
            Source::Slot(slot) => (*slot, path.to_vec()),
            Source::Member(slot, member) => (*slot, joined_path(member, path)),
            _ => return None,
        };
        let writers = self.writers.of_slot(flow, slot);
        super::shared_objects::seed_value(self.program, slot, writers, &path, |other| self.slot_type(flow, other))
    }

    /// The flows whose inner results a slot holds.
    pub fn exporting_flows(&self, flow: FlowId, slot: SlotId) -> &[FlowId] {
        self.writers.exporting_flows(flow, slot)
    }

    /// The type of a flow's result.
    pub fn output_type(&self, flow: FlowId) -> ValueType {
        if let Some(known) = self.outputs.borrow().get(&flow) {
            return known.clone().unwrap_or_default();
        }
        let found = &self.program.flows[flow];
        self.outputs.borrow_mut().insert(flow, None);
        let output = self.with_depth_limit(|| match &found.output {
            Some(expr) => self.expr_type(flow, expr, None),
            None => self.result_type(flow, found.body),
        });
        self.outputs.borrow_mut().insert(flow, Some(output.clone()));
        output
    }

    /// The type of a step's result as stored; null if it is skipped.
    pub fn result_type(&self, flow: FlowId, id: StepId) -> ValueType {
        if let Some(known) = self.results.borrow().get(&id) {
            return known.clone().unwrap_or_default();
        }
        let step = &self.program.steps[id];
        self.results.borrow_mut().insert(id, None);
        let found = self.with_depth_limit(|| {
            let ran = self.shaped(flow, step);
            if step.when.is_some() { ValueType::union_of([ran, ValueType::NULL]) } else { ran }
        });
        self.results.borrow_mut().insert(id, Some(found.clone()));
        found
    }

    fn shaped(&self, flow: FlowId, step: &'p Step) -> ValueType {
        let mut raw = self.raw_result_type(flow, step);
        if let OnStepFailure::Use(value) = &step.policy.on_failure {
            raw = ValueType::union_of([raw, self.expr_type(flow, value, None)]);
        }
        match &step.shape {
            Some(shape) => self.expr_type(flow, shape, Some(&raw)),
            None => raw,
        }
    }

    /// The type of a step's result before `shape`.
    pub fn raw_result_type(&self, flow: FlowId, step: &'p Step) -> ValueType {
        match &step.kind {
            StepKind::Model(call) => self.answer_type(call),
            StepKind::Tool(call) if call.kind == ToolKind::Local => {
                self.returned.get(&*call.name).cloned().unwrap_or_default()
            }
            StepKind::Tool(_) => ValueType::Any,
            StepKind::Refused(refused) => refused.returns.clone().unwrap_or_default(),
            StepKind::Command(_) => command(),
            StepKind::Human(_) => ValueType::Answer,
            StepKind::Wait { .. } | StepKind::Parallel(_) | StepKind::Graph(_) => ValueType::NULL,
            StepKind::Compute(value) => self.expr_type(flow, value, None),
            StepKind::Sequence(steps) => self.result_or_null(flow, steps.last().copied()),
            StepKind::Branch { arms, otherwise } => {
                let mut ways: Vec<Option<StepId>> = arms.iter().map(|arm| Some(arm.step)).collect();
                ways.push(*otherwise);
                ValueType::union_of(ways.into_iter().map(|step| self.result_or_null(flow, step)))
            }
            StepKind::Loop(it) => self.result_type(flow, it.body),
            StepKind::Conversation(it) => self.result_type(flow, it.turn),
            StepKind::Attempts(attempts) => self.attempts_type(flow, attempts),
            StepKind::ForEach(each) => self.fan_out_type(flow, each),
            StepKind::StateMachine(machine) => {
                let mut results = Vec::new();
                for state in &machine.states {
                    if state.may_end() {
                        results.extend(self.program.steps[state.step].out);
                    }
                }
                ValueType::union_of(results.into_iter().map(|slot| self.slot_type(flow, slot)))
            }
            StepKind::Call(call) => match &call.callee {
                FlowCallee::Flow(callee) => self.output_type(*callee),
                FlowCallee::Named { flows, .. } => ValueType::union_of(flows.iter().map(|(_, f)| self.output_type(*f))),
            },
        }
    }

    /// The type of a step's result; null if there is no step.
    fn result_or_null(&self, flow: FlowId, step: Option<StepId>) -> ValueType {
        match step {
            Some(step) => self.result_type(flow, step),
            None => ValueType::NULL,
        }
    }

    /// The type of a model's answer.
    fn answer_type(&self, call: &ModelCall) -> ValueType {
        match &call.format {
            AnswerFormat::Text => {
                for guard in &call.guards {
                    if let Guard::Schema(id) = guard {
                        return ValueType::json_text(&self.program.schemas[*id].json);
                    }
                }
                ValueType::Answer
            }
            AnswerFormat::Json(id) => ValueType::from_schema(&self.program.schemas[*id].json),
            AnswerFormat::JsonOrText => ValueType::Any,
        }
    }

    /// The type of an answer that validators accept.
    fn attempts_type(&self, flow: FlowId, attempts: &Attempts) -> ValueType {
        let body = self.result_type(flow, attempts.body);
        let mut schemas = Vec::new();
        for validator in &attempts.validators {
            if let ValidatorKind::JsonSchema(id) = &validator.kind {
                schemas.push(&self.program.schemas[*id].json);
            }
        }
        match schemas.as_slice() {
            [schema] if body.is_answer() => ValueType::json_text(schema),
            [] | [_] => body,
            // Each describes only a part of the answer.
            _ => ValueType::Any,
        }
    }

    /// The type of the list of a fan-out's results.
    fn fan_out_type(&self, flow: FlowId, each: &'p ForEach) -> ValueType {
        let mut item = self.output_type(each.body);
        if each.on_failure == trefoil_ir::OnItemFailure::Continue {
            item = ValueType::union_of([item, ValueType::of_value(&each.failed)]);
        }
        match &each.items {
            FanOutItems::Count(ValueExpression::Const(Value::Number(count)), most) => {
                let count = count.as_i64().unwrap_or(i64::MAX).min(i64::from(*most));
                ValueType::list_of_at_most(item, u64::try_from(count).ok())
            }
            FanOutItems::Count(..) => ValueType::list_of(item),
            FanOutItems::List(over) => {
                let over = self.expr_type(flow, over, None);
                let most = match over.as_list() {
                    Some(list) if over.is_kind(ValueKind::List) && !over.is_nullable() => list.most,
                    _ => None,
                };
                ValueType::list_of_at_most(item, most)
            }
        }
    }

    /// The type of an expression; `result` is that of the step whose shape it is.
    pub fn expr_type(&self, flow: FlowId, expr: &'p ValueExpression, result: Option<&ValueType>) -> ValueType {
        let of = |e: &'p ValueExpression| self.expr_type(flow, e, result);
        match expr {
            ValueExpression::Const(value) => ValueType::of_value(value),
            ValueExpression::Typed(source) => self.typed(flow, source, result),
            ValueExpression::Template(source) => match self.lone_path_type(flow, source, result) {
                Some((walk, false)) => printed(&walk).unwrap_or(ValueType::TEXT),
                _ => ValueType::TEXT,
            },
            ValueExpression::Concat(_) | ValueExpression::Join { .. } | ValueExpression::Lines(_) => ValueType::TEXT,
            ValueExpression::AsText(inner) | ValueExpression::AsMessage(inner) => {
                let inner = of(inner);
                match inner.value_kinds() {
                    Some(kinds) if kinds.is_only(ValueKind::Text) => inner,
                    _ => ValueType::TEXT,
                }
            }
            ValueExpression::Read(source) => self.source_type(flow, source, &[], result).schema,
            ValueExpression::Object(members) => {
                ValueType::object_of(members.iter().map(|(k, e)| (k.clone(), of(e), false)), OtherMembers::None)
            }
            ValueExpression::List(items) => ValueType::tuple_of(items.iter().map(of)),
            ValueExpression::Merge(layers) => ValueType::merge_objects(layers.iter().map(of)),
            ValueExpression::If { then, otherwise, .. } => ValueType::union_of([of(then), of(otherwise)]),
            ValueExpression::Coerce(_, to) => {
                let made = match to {
                    JsonType::Integer => ValueType::INTEGER,
                    JsonType::Number => ValueType::NUMBER,
                    JsonType::Boolean => ValueType::BOOLEAN,
                    JsonType::Object => ValueType::OBJECT,
                    JsonType::List => ValueType::LIST,
                };
                ValueType::union_of([made, ValueType::NULL])
            }
            // Text may contain an object or a list; anything else is unchanged.
            ValueExpression::Structured(inner) => match literal(inner) {
                Some(text) => ValueType::of_value(&structured(&text)),
                None => of(inner).structured_type(),
            },
            ValueExpression::Verdict(inner) => of(inner).structured_type(),
            ValueExpression::Consensus { .. } => {
                // Weighted means of verdicts, with weights that add up to 1.
                let members = [
                    ("score".into(), ValueType::SHARE, false),
                    ("confidence".into(), ValueType::SHARE, false),
                    ("metadata".into(), ValueType::Any, true),
                ];
                ValueType::object_of(members, OtherMembers::Any)
            }
        }
    }

    fn typed(&self, flow: FlowId, text: &'p BoundTemplate, result: Option<&ValueType>) -> ValueType {
        match self.lone_path_type(flow, text, result) {
            Some((walk, true)) => ValueType::union_of([walk.schema, ValueType::TEXT]),
            Some((walk, false)) => walk.schema,
            None if text.template.is_single() => ValueType::Any,
            None => ValueType::TEXT,
        }
    }

    /// The value of a text that consists of a single path, and whether the path has a default.
    fn lone_path_type(
        &self,
        flow: FlowId,
        text: &'p BoundTemplate,
        result: Option<&ValueType>,
    ) -> Option<(PathType, bool)> {
        let reference = text.template.references().first()?;
        if !text.template.is_single() || !text.template.inner_expressions().is_empty() {
            return None;
        }
        let source = text.sources.get(reference.binding.source as usize)?;
        let walk = self.source_type(flow, source, &path_in_source(reference), result);
        let walk = if walk.stop.is_some() { PathType::unknown() } else { walk };
        Some((walk, reference.default.is_some()))
    }

    /// The value of a source at a path.
    pub fn source_type(&self, flow: FlowId, source: &Source, path: &[&str], result: Option<&ValueType>) -> PathType {
        match source {
            Source::Slot(slot) => PathType::from_type(self.slot_type(flow, *slot)).on(path, 0),
            Source::Member(slot, member) => {
                let reached = PathType::follow_path(self.slot_type(flow, *slot), &member_names(member));
                match reached.stop {
                    // Lowering knows that it exists, but its type is not known here.
                    Some(_) => PathType::unknown(),
                    None => reached.on(path, 0),
                }
            }
            Source::Layered { top, path: to, under } => {
                let top = PathType::follow_path(self.slot_type(flow, *top), &member_names(to));
                self.layered_type(top, self.exporting_flows(flow, *under), path, 0)
            }
            Source::Either(first, second) => {
                let first = self.source_type(flow, first, path, result);
                let second = self.source_type(flow, second, path, result);
                match (&first.stop, &second.stop) {
                    (Some(_), _) => second,
                    (_, Some(_)) => first,
                    _ => PathType {
                        schema: ValueType::union_of([first.schema, second.schema]),
                        optional: first.optional && second.optional,
                        stop: None,
                        undeclared: None,
                    },
                }
            }
            Source::Compose { seed, parts } => self.composed(flow, seed, parts, path),
            Source::Const(value) => PathType::from_type(ValueType::of_value(value)).on(path, 0),
            Source::Environment | Source::Secrets | Source::RunId | Source::Failure => {
                PathType::from_type(ValueType::TEXT)
            }
            Source::Spent(_) => {
                let members = [
                    ("total_tokens".into(), ValueType::SIZE, false),
                    ("estimated_usd".into(), ValueType::NUMBER, false),
                ];
                PathType::from_type(ValueType::object_of(members, OtherMembers::None)).on(path, 0)
            }
            Source::Result => PathType::from_type(result.cloned().unwrap_or_default()).on(path, 0),
            Source::Missing(..) => PathType::unknown(),
        }
    }

    /// The value of merged parts at a path.
    fn composed(&self, flow: FlowId, seed: &Value, parts: &[ComposedPart], path: &[&str]) -> PathType {
        // The parts that overlap with the path; the seed is under them.
        let mut found = Vec::new();
        let mut beneath: BTreeSet<Arc<str>> = BTreeSet::new();
        for part in parts {
            let shared = shared_length(&part.at, path);
            if shared == part.at.len() {
                let inner = PathType::follow_path(self.slot_type(flow, part.slot), &member_names(&part.member));
                let stopped = inner.stop.is_some();
                let whole = inner.on(path.get(shared..).unwrap_or_default(), shared);
                found.push(if stopped { PathType::unknown() } else { whole });
            } else if shared == path.len() {
                // A part written below the path: the value is an object with this key.
                beneath.extend(part.at.get(shared).cloned());
            }
        }
        let seeded = value_at_path(seed, path);
        if !beneath.is_empty() {
            if let Some(Value::Object(seeded)) = seeded {
                beneath.extend(seeded.keys().cloned());
            }
            let members = beneath.into_iter().map(|key| (key, ValueType::Any, true));
            found.push(PathType::from_type(ValueType::object_of(members, OtherMembers::None)));
        } else if let Some(seeded) = seeded {
            found.push(PathType::from_type(ValueType::of_value(seeded)));
        }
        if found.len() > 1 {
            found.retain(|walk| walk.stop.is_none());
            return PathType::from_type(ValueType::union_of(found.into_iter().map(|walk| walk.schema)));
        }
        found.pop().unwrap_or_else(PathType::unknown)
    }

    /// A value with the inner results of its flow in a layer under it.
    fn layered_type(&self, top: PathType, flows: &[FlowId], path: &[&str], at: usize) -> PathType {
        let Some((name, rest)) = path.split_first() else { return top };
        match top.schema.find_member(name) {
            TypeMember::Is { .. } => top.on(path, at),
            TypeMember::Maybe => PathType::unknown(),
            _ => {
                let [callee] = flows else { return PathType::unknown() };
                let exports = &self.program.flows[*callee].exports;
                let Some(export) = exports.iter().find(|e| &*e.key == *name) else { return top.on(path, at) };
                let value = PathType::follow_path(self.slot_type(*callee, export.slot), &member_names(&export.member));
                if value.stop.is_some() {
                    return PathType::unknown();
                }
                let inner = match export.inner {
                    Some(slot) => self.exporting_flows(*callee, slot),
                    None => &[],
                };
                self.layered_type(value, inner, rest, at + 1)
            }
        }
    }

    fn written(&self, flow: FlowId, writer: &SlotWriter<'p>) -> ValueType {
        match writer {
            SlotWriter::Input(intake) => self.given(flow, intake).unwrap_or_else(|| self.input_type(intake)),
            SlotWriter::Raw(intake) => self.raw_input(intake),
            SlotWriter::Value(expr) => self.expr_type(flow, expr, None),
            SlotWriter::Source(from, source) => self.source_type(*from, source, &[], None).schema,
            SlotWriter::Result(step) => self.result_type(flow, *step),
            SlotWriter::Item(from, items) => {
                let items = self.expr_type(*from, items, None);
                items.item_type()
            }
            SlotWriter::Number => ValueType::INTEGER,
            SlotWriter::Counted(most) => ValueType::whole_between(1, u64::from(*most)),
            SlotWriter::Text => ValueType::TEXT,
            SlotWriter::Unknown => ValueType::Any,
        }
    }

    /// The input that the only caller passes to a flow without declared input that is written at the call.
    fn given(&self, flow: FlowId, intake: &Intake) -> Option<ValueType> {
        let declares = !intake.fields.is_empty() || intake.schema.is_some() || intake.wrap.is_some();
        if declares || self.roots.contains(&flow) {
            return None;
        }
        let (from, input) = self.writers.only_call(flow)?;
        if self.program.flows[from].origin.file != self.program.flows[flow].origin.file {
            return None;
        }
        Some(self.expr_type(from, input, None))
    }

    /// The type of a flow's input, after defaults.
    pub fn input_type(&self, intake: &Intake) -> ValueType {
        let schema = intake.schema.map(|id| &self.program.schemas[id].json);
        if !intake.fields.is_empty() {
            let mut fields = Vec::new();
            for field in &intake.fields {
                let optional = field.optional && field.default.is_none();
                fields.push((field.name.clone(), ValueType::from_schema(&field.schema), optional));
            }
            let closed_by_schema = match schema {
                Some(schema) => schema.get("additionalProperties") == Some(&Value::Bool(false)),
                None => false,
            };
            let closed = intake.closed && intake.tolerated.is_empty() || closed_by_schema;
            return ValueType::object_of(fields, if closed { OtherMembers::None } else { OtherMembers::Any });
        }
        match (schema, &intake.wrap) {
            (Some(schema), None) => ValueType::from_schema(schema),
            (_, Some(_)) => ValueType::OBJECT,
            (None, None) => ValueType::Any,
        }
    }

    fn raw_input(&self, intake: &Intake) -> ValueType {
        let Some(id) = intake.schema else { return ValueType::Any };
        let declared = ValueType::from_schema(&self.program.schemas[id].json);
        // If the input is an object, processing it may select a member.
        match declared.value_kinds() {
            Some(kinds) if !kinds.contains(ValueKind::Object) => declared,
            _ => ValueType::Any,
        }
    }

    fn with_depth_limit(&self, look: impl FnOnce() -> ValueType) -> ValueType {
        if self.depth.get() >= DEEPEST {
            return ValueType::Any;
        }
        self.depth.set(self.depth.get() + 1);
        let found = look();
        self.depth.set(self.depth.get() - 1);
        found
    }
}

/// The type of a command's result.
fn command() -> ValueType {
    let members = [
        (
            "status".into(),
            ValueType::union_of(["success", "failed"].map(|s| ValueType::of_value(&Value::from(s)))),
            false,
        ),
        ("exit_code".into(), ValueType::INTEGER, false),
        ("stdout".into(), ValueType::Answer, false),
        ("stderr".into(), ValueType::Answer, false),
    ];
    ValueType::object_of(members, OtherMembers::None)
}
