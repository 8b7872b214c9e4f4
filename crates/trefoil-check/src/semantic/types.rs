//! The type of every slot, of every step's result, and of every read. Computed once, on request.
//!
//! A slot's type is the union of the types of all its writers, in any order; [`super::defined`] determines whether it
//! has a value at all. Something that refers to itself (a Blackboard merged into itself) has any type.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::sync::Arc;
use trefoil_syntax::hash::{HashMap, HashSet};

use trefoil_ir::{
    AnswerFormat, Callee, ComposedPart, Expr, FlowId, Guard, Intake, Items, JsonType, OnFailure, Program, Schema,
    SlotId, Source, Step, StepId, StepKind, Text, ToolKind, ValidatorKind,
};
use trefoil_template::{Value, read_json};

use super::writers::{Writer, Writers};
use trefoil_ir::types::{self, Member};

/// The maximum depth to which types are followed: chains of fan-outs and calls, not of steps.
const DEEPEST: u32 = 64;
/// The number of writers of one slot whose types are combined.
const MOST_WRITERS: usize = 200;

/// The types of a program.
pub struct Types<'p> {
    pub(super) program: &'p Program,
    /// The result types of tools, by name, if declared.
    returned: HashMap<String, Value>,
    roots: HashSet<FlowId>,
    writers: Writers<'p>,
    slots: RefCell<HashMap<(FlowId, SlotId), Option<Value>>>,
    results: RefCell<HashMap<StepId, Option<Value>>>,
    outputs: RefCell<HashMap<FlowId, Option<Value>>>,
    depth: Cell<u32>,
}

/// The result of following a path.
#[derive(Debug, Clone, PartialEq)]
pub struct Walk {
    /// Its type, as far as known.
    pub schema: Value,
    /// Whether a member in the path may be missing.
    pub optional: bool,
    /// If the path cannot continue: the number of segments that were followed, and why it stops.
    pub stop: Option<(usize, Member)>,
    /// If it continues to a member that an open object does not declare: the index, and the declared members.
    pub undeclared: Option<(usize, Vec<Arc<str>>)>,
}

impl Walk {
    fn of(schema: Value) -> Self {
        Self { schema, optional: false, stop: None, undeclared: None }
    }
    /// Follows a path from a type.
    pub fn through(of: Value, path: &[&str]) -> Self {
        Self::of(of).on(path, 0)
    }
    fn unknown() -> Self {
        Self::of(types::any())
    }
    /// Continues with these members; `from` is the number of segments followed so far.
    fn on(mut self, path: &[&str], from: usize) -> Self {
        for (i, name) in path.iter().enumerate() {
            if self.stop.is_some() {
                return self;
            }
            match types::member(&self.schema, name) {
                Member::Is { schema, optional } => {
                    self.schema = schema;
                    self.optional |= optional;
                }
                Member::Maybe => {
                    let declared = types::declares(&self.schema);
                    self.undeclared = match types::likely(&self.schema, name) {
                        Some(likely) => slip(&likely, path.get(i + 1..).unwrap_or_default(), from + i + 1),
                        None => Some((from + i, declared)).filter(|(_, d)| !d.is_empty()),
                    };
                    self.schema = types::any();
                    return self;
                }
                never => {
                    self.schema = types::any();
                    self.stop = Some((from + i, never));
                }
            }
        }
        self
    }
}

/// The text of an expression without placeholders.
fn literal(expr: &Expr) -> Option<Cow<'_, str>> {
    match expr {
        Expr::Const(value) => value.as_str().map(Cow::from),
        Expr::Template(text) | Expr::Typed(text) => text.template.literal().map(Cow::from),
        Expr::AsText(inner) => literal(inner),
        Expr::Concat(parts) => parts.iter().map(literal).collect::<Option<String>>().map(Cow::from),
        _ => None,
    }
}

/// The type of text that prints a single value: the words that the value may be, and nothing if it is missing.
fn printed(walk: &Walk) -> Option<Value> {
    let words = types::choices(&walk.schema)?;
    let words = words.into_iter().map(|word| if word.is_null() { Value::from("") } else { word });
    let missing = walk.optional.then(|| Value::from(""));
    let all: Option<Vec<Value>> =
        words.chain(missing).map(|word| word.as_str().is_some().then(|| types::of_value(&word))).collect();
    all.filter(|all| !all.is_empty()).map(types::union)
}

/// The object or list in a text, or the text.
fn structured(text: &str) -> Value {
    let read = read_json::<Value>(text).ok();
    read.filter(|value| matches!(value, Value::Object(_) | Value::List(_))).unwrap_or_else(|| Value::from(text))
}

/// The first segment that a type does not declare; the value may be of another type.
fn slip(of: &Value, path: &[&str], from: usize) -> Option<(usize, Vec<Arc<str>>)> {
    let (name, rest) = path.split_first()?;
    let found = match types::member(of, name) {
        Member::Is { schema, .. } => Some(schema),
        Member::Maybe => types::likely(of, name),
        Member::Never { what: "an object", members } => return Some((from, members)),
        Member::Never { .. } | Member::Beyond { .. } => return None,
    };
    match found {
        Some(inner) => slip(&inner, rest, from + 1),
        None => Some((from, types::declares(of))).filter(|(_, d)| !d.is_empty()),
    }
}

impl Types<'_> {
    /// The type of what a run of a program returns.
    pub fn returned_by(program: &Program) -> Value {
        Types::new(program, &[program.entry], HashMap::default()).output(program.entry)
    }
}

impl<'p> Types<'p> {
    /// The types of a program that may be started at these flows.
    pub fn new(program: &'p Program, roots: &[FlowId], returned: HashMap<String, Value>) -> Self {
        Self {
            program,
            returned,
            roots: roots.iter().copied().collect(),
            writers: Writers::of(program),
            slots: RefCell::default(),
            results: RefCell::default(),
            outputs: RefCell::default(),
            depth: Cell::new(0),
        }
    }

    /// The expression that computes a slot, if a single step or the start of its flow computes it and nothing else
    /// writes it.
    pub fn computed(&self, flow: FlowId, slot: SlotId) -> Option<&'p Expr> {
        let [writer] = self.writers.of_slot(flow, slot) else { return None };
        match writer {
            Writer::Value(value) => Some(value),
            Writer::Result(step) => match &self.program.step(*step)?.kind {
                StepKind::Compute(value) => Some(value),
                _ => None,
            },
            _ => None,
        }
    }
    /// The type of a slot's value.
    pub fn slot(&self, flow: FlowId, slot: SlotId) -> Value {
        if let Some(known) = self.slots.borrow().get(&(flow, slot)) {
            return known.clone().unwrap_or_else(types::any);
        }
        self.slots.borrow_mut().insert((flow, slot), None);
        let found = self.deeper(|| {
            let writers = self.writers.of_slot(flow, slot);
            // Each may add a member to what the others have written.
            if writers.len() > MOST_WRITERS {
                return types::any();
            }
            let (of_slot, of_expr) = (|other| self.slot(flow, other), |expr: &Expr| self.expr(flow, expr, None));
            super::shared::shared_object(self.program, slot, writers, of_slot, of_expr)
                .unwrap_or_else(|| types::union(writers.iter().map(|w| self.written(flow, w))))
        });
        self.slots.borrow_mut().insert((flow, slot), Some(found.clone()));
        found
    }

    /// The value at a path unless a run starts with another one (see `shared::seed`).
    pub fn seed(&self, flow: FlowId, source: &Source, path: &[&str]) -> Option<&'p Value> {
        let (slot, path) = match source {
            Source::Slot(slot) => (*slot, path.to_vec()),
            Source::Member(slot, member) => (*slot, member.iter().map(|m| &**m).chain(path.iter().copied()).collect()),
            _ => return None,
        };
        let writers = self.writers.of_slot(flow, slot);
        super::shared::seed(self.program, slot, writers, &path, |other| self.slot(flow, other))
    }

    /// The flows whose inner results a slot holds.
    pub fn exporters(&self, flow: FlowId, slot: SlotId) -> &[FlowId] {
        self.writers.exporters(flow, slot)
    }

    /// The type of a flow's result.
    pub fn output(&self, flow: FlowId) -> Value {
        if let Some(known) = self.outputs.borrow().get(&flow) {
            return known.clone().unwrap_or_else(types::any);
        }
        let Some(found) = self.program.flow(flow) else { return types::any() };
        self.outputs.borrow_mut().insert(flow, None);
        let output = self.deeper(|| match &found.output {
            Some(expr) => self.expr(flow, expr, None),
            None => self.result(flow, found.body),
        });
        self.outputs.borrow_mut().insert(flow, Some(output.clone()));
        output
    }

    /// The type of a step's result as stored; null if it is skipped.
    pub fn result(&self, flow: FlowId, id: StepId) -> Value {
        if let Some(known) = self.results.borrow().get(&id) {
            return known.clone().unwrap_or_else(types::any);
        }
        let Some(step) = self.program.step(id) else { return types::any() };
        self.results.borrow_mut().insert(id, None);
        let found = self.deeper(|| {
            let ran = self.shaped(flow, step);
            if step.when.is_some() { types::union([ran, types::of_kind("null")]) } else { ran }
        });
        self.results.borrow_mut().insert(id, Some(found.clone()));
        found
    }

    fn shaped(&self, flow: FlowId, step: &'p Step) -> Value {
        let mut raw = self.raw(flow, step);
        if let OnFailure::Use(value) = &step.policy.on_failure {
            raw = types::union([raw, self.expr(flow, value, None)]);
        }
        match &step.shape {
            Some(shape) => self.expr(flow, shape, Some(&raw)),
            None => raw,
        }
    }

    /// The type of a step's result before `shape`.
    pub fn raw(&self, flow: FlowId, step: &'p Step) -> Value {
        let null = || types::of_kind("null");
        match &step.kind {
            StepKind::Model(call) => match &call.format {
                AnswerFormat::Text => {
                    let guarded = call.guards.iter().find_map(|g| match g {
                        Guard::Schema(id) => self.program.schema(*id),
                        _ => None,
                    });
                    match guarded {
                        Some(inner) => types::text_of(inner.json.clone()),
                        None => types::answer(),
                    }
                }
                AnswerFormat::Json(id) => self.program.schema(*id).map_or_else(types::any, |s| s.json.clone()),
                AnswerFormat::JsonOrText => types::any(),
            },
            StepKind::Tool(call) => {
                let known = self.returned.get(&*call.name).filter(|_| call.kind == ToolKind::Local);
                known.cloned().unwrap_or_else(types::any)
            }
            StepKind::Refused(refused) => refused.returns.clone().unwrap_or_else(types::any),
            StepKind::Command(_) => command(),
            StepKind::Human(_) => types::answer(),
            StepKind::Wait { .. } | StepKind::Parallel(_) | StepKind::Graph(_) => null(),
            StepKind::Compute(value) => self.expr(flow, value, None),
            StepKind::Sequence(steps) => steps.last().map_or_else(null, |s| self.result(flow, *s)),
            StepKind::Branch { arms, otherwise } => {
                let all = arms.iter().map(|a| a.step).chain(*otherwise).map(|s| self.result(flow, s));
                types::union(all.chain(otherwise.is_none().then(null)))
            }
            StepKind::Loop(it) => self.result(flow, it.body),
            StepKind::Conversation(it) => self.result(flow, it.turn),
            StepKind::Attempts(it) => {
                let body = self.result(flow, it.body);
                let mut schemas = it.validators.iter().filter_map(|v| match &v.kind {
                    ValidatorKind::JsonSchema(id) => self.program.schema(*id),
                    _ => None,
                });
                // If there are several, each describes only a part of the answer.
                let valid = schemas.next();
                if schemas.next().is_some() {
                    return types::any();
                }
                match valid {
                    Some(inner) if types::is_answer(&body) => types::text_of(inner.json.clone()),
                    _ => body,
                }
            }
            StepKind::ForEach(each) => {
                let mut item = self.output(each.body);
                if each.on_failure == trefoil_ir::OnItemFailure::Continue {
                    item = types::union([item, types::of_value(&each.failed)]);
                }
                match &each.items {
                    Items::Count(Expr::Const(Value::Number(count)), most) => {
                        types::list_of_at_most(item, count.as_i64().unwrap_or(i64::MAX).min(i64::from(*most)))
                    }
                    Items::Count(..) => types::list(item),
                    Items::List(over) => types::as_long_as(item, &self.expr(flow, over, None)),
                }
            }
            StepKind::StateMachine(machine) => {
                let ends = machine.states.iter().filter(|s| s.may_end());
                let slots = ends.filter_map(|s| self.program.step(s.step)?.out);
                types::union(slots.map(|s| self.slot(flow, s)))
            }
            StepKind::Call(call) => match &call.callee {
                Callee::Flow(callee) => self.output(*callee),
                Callee::Named { flows, .. } => types::union(flows.iter().map(|(_, f)| self.output(*f))),
            },
        }
    }

    /// The type of an expression; `result` is that of the step whose shape it is.
    pub fn expr(&self, flow: FlowId, expr: &'p Expr, result: Option<&Value>) -> Value {
        let of = |e: &'p Expr| self.expr(flow, e, result);
        let text = || types::of_kind("string");
        match expr {
            Expr::Const(value) => types::of_value(value),
            Expr::Typed(source) => self.typed(flow, source, result),
            Expr::Template(source) => {
                let lone = self.lone(flow, source, result).filter(|(_, default)| !default);
                lone.and_then(|(walk, _)| printed(&walk)).unwrap_or_else(text)
            }
            Expr::Concat(_) | Expr::Join { .. } | Expr::Lines(_) => text(),
            Expr::AsText(inner) | Expr::AsMessage(inner) => {
                let inner = of(inner);
                if types::kinds(&inner).is_some_and(|k| k == ["string"]) { inner } else { text() }
            }
            Expr::Read(source) => self.source(flow, source, &[], result).schema,
            Expr::Object(members) => types::object(members.iter().map(|(k, e)| (k.clone(), of(e), false)), true),
            Expr::List(items) => types::tuple(items.iter().map(of).collect()),
            Expr::Merge(layers) => types::merged(layers.iter().map(of)),
            Expr::If { then, otherwise, .. } => types::union([of(then), of(otherwise)]),
            Expr::Coerce(_, to) => {
                let kind = match to {
                    JsonType::Integer => "integer",
                    JsonType::Number => "number",
                    JsonType::Boolean => "boolean",
                    JsonType::Object => "object",
                    JsonType::List => "array",
                };
                types::union([types::of_kind(kind), types::of_kind("null")])
            }
            // Text may contain an object or a list; anything else is unchanged.
            Expr::Structured(inner) => match literal(inner) {
                Some(text) => types::of_value(&structured(&text)),
                None => types::structured(&of(inner)),
            },
            Expr::Verdict(inner) => types::structured(&of(inner)),
            Expr::Consensus { .. } => {
                // Weighted means of verdicts, with weights that add up to 1.
                let members = [
                    ("score".into(), types::share(), false),
                    ("confidence".into(), types::share(), false),
                    ("metadata".into(), types::any(), true),
                ];
                types::object(members, false)
            }
        }
    }

    fn typed(&self, flow: FlowId, text: &'p Text, result: Option<&Value>) -> Value {
        match self.lone(flow, text, result) {
            Some((walk, true)) => types::union([walk.schema, types::of_kind("string")]),
            Some((walk, false)) => walk.schema,
            None if text.template.is_single() => types::any(),
            None => types::of_kind("string"),
        }
    }

    /// The value of a text that consists of a single path, and whether the path has a default.
    fn lone(&self, flow: FlowId, text: &'p Text, result: Option<&Value>) -> Option<(Walk, bool)> {
        let reference = text.template.references().first()?;
        if !text.template.is_single() || !text.template.expressions().is_empty() {
            return None;
        }
        let source = text.sources.get(reference.binding.source as usize)?;
        let path: Vec<&str> =
            reference.path.iter().skip(usize::from(reference.binding.skip)).map(|s| &*s.name).collect();
        let walk = self.source(flow, source, &path, result);
        let walk = if walk.stop.is_some() { Walk::unknown() } else { walk };
        Some((walk, reference.default.is_some()))
    }

    /// The value of a source at a path.
    pub fn source(&self, flow: FlowId, source: &Source, path: &[&str], result: Option<&Value>) -> Walk {
        match source {
            Source::Slot(slot) => Walk::of(self.slot(flow, *slot)).on(path, 0),
            Source::Member(slot, member) => {
                let inner: Vec<&str> = member.iter().map(|m| &**m).collect();
                let reached = Walk::of(self.slot(flow, *slot)).on(&inner, 0);
                match reached.stop {
                    // Lowering knows that it exists, but its type is not known here.
                    Some(_) => Walk::unknown(),
                    None => reached.on(path, 0),
                }
            }
            Source::Layered { top, path: to, under } => {
                let inner: Vec<&str> = to.iter().map(|m| &**m).collect();
                let top = Walk::of(self.slot(flow, *top)).on(&inner, 0);
                self.layered(top, self.exporters(flow, *under), path, 0)
            }
            Source::Either(first, second) => {
                let [first, second] = [first, second].map(|s| self.source(flow, s, path, result));
                match (&first.stop, &second.stop) {
                    (Some(_), _) => second,
                    (_, Some(_)) => first,
                    _ => Walk {
                        schema: types::union([first.schema, second.schema]),
                        optional: first.optional && second.optional,
                        stop: None,
                        undeclared: None,
                    },
                }
            }
            Source::Compose { seed, parts } => self.composed(flow, seed, parts, path),
            Source::Const(value) => Walk::of(types::of_value(value)).on(path, 0),
            Source::Environment | Source::Secrets | Source::RunId | Source::Failure => {
                Walk::of(types::of_kind("string"))
            }
            Source::Spent(_) => Walk::of(types::object(
                [
                    (Arc::from("total_tokens"), types::at_least_zero(), false),
                    (Arc::from("estimated_usd"), types::of_kind("number"), false),
                ],
                true,
            ))
            .on(path, 0),
            Source::Result => Walk::of(result.cloned().unwrap_or_else(types::any)).on(path, 0),
            Source::Missing(..) => Walk::unknown(),
        }
    }

    /// The value of merged parts at a path.
    fn composed(&self, flow: FlowId, seed: &Value, parts: &[ComposedPart], path: &[&str]) -> Walk {
        // The parts that overlap with the path; the seed is under them.
        let mut found = Vec::new();
        let mut beneath: Vec<Arc<str>> = Vec::new();
        for part in parts {
            let shared = part.at.iter().zip(path).take_while(|(a, b)| &***a == **b).count();
            if shared == part.at.len() {
                let member: Vec<&str> = part.member.iter().map(|m| &**m).collect();
                let inner = Walk::of(self.slot(flow, part.slot)).on(&member, 0);
                let stopped = inner.stop.is_some();
                let whole = inner.on(path.get(shared..).unwrap_or_default(), shared);
                found.push(if stopped { Walk::unknown() } else { whole });
            } else if shared == path.len() {
                // A part written below the path: the value is an object with this key.
                beneath.extend(part.at.get(shared).cloned());
            }
        }
        let seeded = path.iter().try_fold(seed, |value, name| value.get(name));
        if !beneath.is_empty() {
            let keys = seeded.and_then(Value::as_object).into_iter().flat_map(|o| o.keys().cloned());
            let keys: BTreeSet<Arc<str>> = beneath.into_iter().chain(keys).collect();
            let members = keys.into_iter().map(|key| (key, types::any(), true));
            found.push(Walk::of(types::object(members, true)));
        } else if let Some(seeded) = seeded {
            found.push(Walk::of(types::of_value(seeded)));
        }
        match found.len() {
            1 => found.pop().unwrap_or_else(Walk::unknown),
            0 => Walk::unknown(),
            _ => {
                let able = found.into_iter().filter(|w| w.stop.is_none()).map(|w| w.schema);
                Walk::of(types::union(able))
            }
        }
    }

    /// A value with the inner results of its flow in a layer under it.
    fn layered(&self, top: Walk, flows: &[FlowId], path: &[&str], at: usize) -> Walk {
        let Some((name, rest)) = path.split_first() else { return top };
        match types::member(&top.schema, name) {
            Member::Is { .. } => top.on(path, at),
            Member::Maybe => Walk::unknown(),
            _ => {
                let [callee] = flows else { return Walk::unknown() };
                let exports = self.program.flow(*callee).map(|f| f.exports.as_slice()).unwrap_or_default();
                let Some(export) = exports.iter().find(|e| &*e.key == *name) else { return top.on(path, at) };
                let member: Vec<&str> = export.member.iter().map(|m| &**m).collect();
                let value = Walk::of(self.slot(*callee, export.slot)).on(&member, 0);
                if value.stop.is_some() {
                    return Walk::unknown();
                }
                let inner = export.inner.map(|s| self.exporters(*callee, s)).unwrap_or_default();
                self.layered(value, inner, rest, at + 1)
            }
        }
    }

    fn written(&self, flow: FlowId, writer: &Writer<'p>) -> Value {
        match writer {
            Writer::Input(intake) => self.given(flow, intake).unwrap_or_else(|| self.input(intake)),
            Writer::Raw(intake) => self.raw_input(intake),
            Writer::Value(expr) => self.expr(flow, expr, None),
            Writer::Source(from, source) => self.source(*from, source, &[], None).schema,
            Writer::Result(step) => self.result(flow, *step),
            Writer::Item(from, items) => {
                let items = self.expr(*from, items, None);
                types::item_of(&items)
            }
            Writer::Number => types::of_kind("integer"),
            Writer::Counted(most) => types::whole_between(1, u64::from(*most)),
            Writer::Text => types::of_kind("string"),
            Writer::Unknown => types::any(),
        }
    }

    /// The input that the only caller passes to a flow without declared input that is written at the call.
    fn given(&self, flow: FlowId, intake: &Intake) -> Option<Value> {
        let declares = !intake.fields.is_empty() || intake.schema.is_some() || intake.wrap.is_some();
        if declares || self.roots.contains(&flow) {
            return None;
        }
        let (from, input) = self.writers.only_call(flow)?;
        let file = |f: FlowId| self.program.flow(f).map(|f| f.origin.file);
        (file(from) == file(flow)).then(|| self.expr(from, input, None))
    }

    /// The type of a flow's input, after defaults.
    pub fn input(&self, intake: &Intake) -> Value {
        let schema = intake.schema.and_then(|s| self.program.schema(s));
        if !intake.fields.is_empty() {
            let fields =
                intake.fields.iter().map(|f| (f.name.clone(), f.schema.clone(), f.optional && f.default.is_none()));
            let refused = |schema: &Schema| schema.json.get("additionalProperties") == Some(&Value::Bool(false));
            return types::object(fields, intake.closed && intake.tolerated.is_empty() || schema.is_some_and(refused));
        }
        match (schema, &intake.wrap) {
            (Some(schema), None) => schema.json.clone(),
            (_, Some(_)) => types::of_kind("object"),
            (None, None) => types::any(),
        }
    }

    fn raw_input(&self, intake: &Intake) -> Value {
        let declared = intake.schema.and_then(|s| self.program.schema(s)).map(|s| s.json.clone());
        match declared {
            // If the input is an object, processing it may select a member.
            Some(json) if types::kinds(&json).is_some_and(|k| !k.contains(&"object")) => json,
            _ => types::any(),
        }
    }

    fn deeper(&self, look: impl FnOnce() -> Value) -> Value {
        if self.depth.get() >= DEEPEST {
            return types::any();
        }
        self.depth.set(self.depth.get() + 1);
        let found = look();
        self.depth.set(self.depth.get() - 1);
        found
    }
}

/// The type of a command's result.
fn command() -> Value {
    let members = [
        ("status".into(), types::union(["success", "failed"].map(|s| types::of_value(&Value::from(s)))), false),
        ("exit_code".into(), types::of_kind("integer"), false),
        ("stdout".into(), types::answer(), false),
        ("stderr".into(), types::answer(), false),
    ];
    types::object(members, true)
}
