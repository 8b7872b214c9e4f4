//! The type of every slot, of every step's result, and of every read. Computed once, on request.
//!
//! A slot's type is the union of the types of all its writers, in any order; [`super::defined`] determines whether it
//! has a value at all. Something that refers to itself (a Blackboard merged into itself) has any type.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::sync::Arc;
use trefoil_syntax::hash::{HashMap, HashSet};

use trefoil_ir::types::{Kind, Member, OtherMembers, Type};
use trefoil_ir::{
    AnswerFormat, Callee, ComposedPart, Expr, FlowId, Guard, InputField, Intake, Items, JsonType, OnFailure, Program,
    SlotId, Source, Step, StepId, StepKind, Text, ToolKind, ValidatorKind,
};
use trefoil_template::{Value, read_json};

use super::writers::{Writer, Writers};

/// The maximum depth to which types are followed: chains of fan-outs and calls, not of steps.
const DEEPEST: u32 = 64;
/// The number of writers of one slot whose types are combined.
const MOST_WRITERS: usize = 200;

/// The types of a program.
pub struct Types<'p> {
    pub(super) program: &'p Program,
    /// The result types of tools, by name, if declared.
    returned: HashMap<String, Type>,
    roots: HashSet<FlowId>,
    writers: Writers<'p>,
    slots: RefCell<HashMap<(FlowId, SlotId), Option<Type>>>,
    results: RefCell<HashMap<StepId, Option<Type>>>,
    outputs: RefCell<HashMap<FlowId, Option<Type>>>,
    depth: Cell<u32>,
}

/// The result of following a path.
#[derive(Debug, Clone, PartialEq)]
pub struct Walk {
    /// Its type, as far as known.
    pub schema: Type,
    /// Whether a member in the path may be missing.
    pub optional: bool,
    /// If the path cannot continue: the number of segments that were followed, and why it stops.
    pub stop: Option<(usize, Member)>,
    /// If it continues to a member that an open object does not declare: the index, and the declared members.
    pub undeclared: Option<(usize, Vec<Arc<str>>)>,
}

impl Walk {
    fn of(schema: Type) -> Self {
        Self { schema, optional: false, stop: None, undeclared: None }
    }
    /// Follows a path from a type.
    pub fn through(of: Type, path: &[&str]) -> Self {
        Self::of(of).on(path, 0)
    }
    fn unknown() -> Self {
        Self::of(Type::Any)
    }
    /// Continues with these members; `from` is the number of segments followed so far.
    fn on(mut self, path: &[&str], from: usize) -> Self {
        for (i, name) in path.iter().enumerate() {
            if self.stop.is_some() {
                return self;
            }
            match self.schema.member(name) {
                Member::Is { of, optional } => {
                    self.schema = of;
                    self.optional |= optional;
                }
                Member::Maybe => {
                    let declared = self.schema.declares();
                    self.undeclared = match self.schema.likely(name) {
                        Some(likely) => slip(&likely, path.get(i + 1..).unwrap_or_default(), from + i + 1),
                        None => Some((from + i, declared)).filter(|(_, d)| !d.is_empty()),
                    };
                    self.schema = Type::Any;
                    return self;
                }
                never => {
                    self.schema = Type::Any;
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
fn printed(walk: &Walk) -> Option<Type> {
    let words = walk.schema.choices()?.into_owned().into_iter();
    let words = words.map(|word| if word.is_null() { Value::from("") } else { word });
    let missing = walk.optional.then(|| Value::from(""));
    let all: Option<Vec<Type>> =
        words.chain(missing).map(|word| word.as_str().is_some().then(|| Type::of_value(&word))).collect();
    all.filter(|all| !all.is_empty()).map(Type::union)
}

/// The object or list in a text, or the text.
fn structured(text: &str) -> Value {
    let read = read_json::<Value>(text).ok();
    read.filter(|value| matches!(value, Value::Object(_) | Value::List(_))).unwrap_or_else(|| Value::from(text))
}

/// The first segment that a type does not declare; the value may be of another type.
fn slip(of: &Type, path: &[&str], from: usize) -> Option<(usize, Vec<Arc<str>>)> {
    let (name, rest) = path.split_first()?;
    let found = match of.member(name) {
        Member::Is { of, .. } => Some(of),
        Member::Maybe => of.likely(name),
        Member::Never { what: "an object", members } => return Some((from, members)),
        Member::Never { .. } | Member::Beyond { .. } => return None,
    };
    match found {
        Some(inner) => slip(&inner, rest, from + 1),
        None => Some((from, of.declares())).filter(|(_, d)| !d.is_empty()),
    }
}

impl Types<'_> {
    /// The type of what a run of a program returns.
    pub fn returned_by(program: &Program) -> Type {
        Types::new(program, &[program.entry], HashMap::default()).output(program.entry)
    }
}

impl<'p> Types<'p> {
    /// The types of a program that may be started at these flows.
    pub fn new(program: &'p Program, roots: &[FlowId], returned: HashMap<String, Type>) -> Self {
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
            Writer::Result(step) => match &self.program.steps[*step].kind {
                StepKind::Compute(value) => Some(value),
                _ => None,
            },
            _ => None,
        }
    }
    /// The type of a slot's value.
    pub fn slot(&self, flow: FlowId, slot: SlotId) -> Type {
        if let Some(known) = self.slots.borrow().get(&(flow, slot)) {
            return known.clone().unwrap_or_default();
        }
        self.slots.borrow_mut().insert((flow, slot), None);
        let found = self.deeper(|| {
            let writers = self.writers.of_slot(flow, slot);
            // Each may add a member to what the others have written.
            if writers.len() > MOST_WRITERS {
                return Type::Any;
            }
            let (of_slot, of_expr) = (|other| self.slot(flow, other), |expr: &Expr| self.expr(flow, expr, None));
            super::shared::shared_object(self.program, slot, writers, of_slot, of_expr)
                .unwrap_or_else(|| Type::union(writers.iter().map(|w| self.written(flow, w))))
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
    pub fn output(&self, flow: FlowId) -> Type {
        if let Some(known) = self.outputs.borrow().get(&flow) {
            return known.clone().unwrap_or_default();
        }
        let found = &self.program.flows[flow];
        self.outputs.borrow_mut().insert(flow, None);
        let output = self.deeper(|| match &found.output {
            Some(expr) => self.expr(flow, expr, None),
            None => self.result(flow, found.body),
        });
        self.outputs.borrow_mut().insert(flow, Some(output.clone()));
        output
    }

    /// The type of a step's result as stored; null if it is skipped.
    pub fn result(&self, flow: FlowId, id: StepId) -> Type {
        if let Some(known) = self.results.borrow().get(&id) {
            return known.clone().unwrap_or_default();
        }
        let step = &self.program.steps[id];
        self.results.borrow_mut().insert(id, None);
        let found = self.deeper(|| {
            let ran = self.shaped(flow, step);
            if step.when.is_some() { Type::union([ran, Type::NULL]) } else { ran }
        });
        self.results.borrow_mut().insert(id, Some(found.clone()));
        found
    }

    fn shaped(&self, flow: FlowId, step: &'p Step) -> Type {
        let mut raw = self.raw(flow, step);
        if let OnFailure::Use(value) = &step.policy.on_failure {
            raw = Type::union([raw, self.expr(flow, value, None)]);
        }
        match &step.shape {
            Some(shape) => self.expr(flow, shape, Some(&raw)),
            None => raw,
        }
    }

    /// The type of a step's result before `shape`.
    pub fn raw(&self, flow: FlowId, step: &'p Step) -> Type {
        let null = || Type::NULL;
        match &step.kind {
            StepKind::Model(call) => match &call.format {
                AnswerFormat::Text => {
                    let guarded = call.guards.iter().find_map(|g| match g {
                        Guard::Schema(id) => Some(&self.program.schemas[*id].json),
                        _ => None,
                    });
                    guarded.map_or(Type::Answer, Type::json_text)
                }
                AnswerFormat::Json(id) => Type::declared(&self.program.schemas[*id].json),
                AnswerFormat::JsonOrText => Type::Any,
            },
            StepKind::Tool(call) => {
                let known = self.returned.get(&*call.name).filter(|_| call.kind == ToolKind::Local);
                known.cloned().unwrap_or_default()
            }
            StepKind::Refused(refused) => refused.returns.clone().unwrap_or_default(),
            StepKind::Command(_) => command(),
            StepKind::Human(_) => Type::Answer,
            StepKind::Wait { .. } | StepKind::Parallel(_) | StepKind::Graph(_) => null(),
            StepKind::Compute(value) => self.expr(flow, value, None),
            StepKind::Sequence(steps) => steps.last().map_or_else(null, |s| self.result(flow, *s)),
            StepKind::Branch { arms, otherwise } => {
                let all = arms.iter().map(|a| a.step).chain(*otherwise).map(|s| self.result(flow, s));
                Type::union(all.chain(otherwise.is_none().then(null)))
            }
            StepKind::Loop(it) => self.result(flow, it.body),
            StepKind::Conversation(it) => self.result(flow, it.turn),
            StepKind::Attempts(it) => {
                let body = self.result(flow, it.body);
                let mut schemas = it.validators.iter().filter_map(|v| match &v.kind {
                    ValidatorKind::JsonSchema(id) => Some(&self.program.schemas[*id].json),
                    _ => None,
                });
                // If there are several, each describes only a part of the answer.
                let valid = schemas.next();
                if schemas.next().is_some() {
                    return Type::Any;
                }
                match valid {
                    Some(inner) if body.is_answer() => Type::json_text(inner),
                    _ => body,
                }
            }
            StepKind::ForEach(each) => {
                let mut item = self.output(each.body);
                if each.on_failure == trefoil_ir::OnItemFailure::Continue {
                    item = Type::union([item, Type::of_value(&each.failed)]);
                }
                match &each.items {
                    Items::Count(Expr::Const(Value::Number(count)), most) => {
                        let count = count.as_i64().unwrap_or(i64::MAX).min(i64::from(*most));
                        Type::list_of_at_most(item, u64::try_from(count).ok())
                    }
                    Items::Count(..) => Type::list_of(item),
                    Items::List(over) => {
                        let over = self.expr(flow, over, None);
                        let list = over.as_list().filter(|_| over.is(Kind::List) && !over.is_nullable());
                        Type::list_of_at_most(item, list.and_then(|list| list.most))
                    }
                }
            }
            StepKind::StateMachine(machine) => {
                let ends = machine.states.iter().filter(|s| s.may_end());
                let slots = ends.filter_map(|s| self.program.steps[s.step].out);
                Type::union(slots.map(|s| self.slot(flow, s)))
            }
            StepKind::Call(call) => match &call.callee {
                Callee::Flow(callee) => self.output(*callee),
                Callee::Named { flows, .. } => Type::union(flows.iter().map(|(_, f)| self.output(*f))),
            },
        }
    }

    /// The type of an expression; `result` is that of the step whose shape it is.
    pub fn expr(&self, flow: FlowId, expr: &'p Expr, result: Option<&Type>) -> Type {
        let of = |e: &'p Expr| self.expr(flow, e, result);
        let text = || Type::TEXT;
        match expr {
            Expr::Const(value) => Type::of_value(value),
            Expr::Typed(source) => self.typed(flow, source, result),
            Expr::Template(source) => {
                let lone = self.lone(flow, source, result).filter(|(_, default)| !default);
                lone.and_then(|(walk, _)| printed(&walk)).unwrap_or_else(text)
            }
            Expr::Concat(_) | Expr::Join { .. } | Expr::Lines(_) => text(),
            Expr::AsText(inner) | Expr::AsMessage(inner) => {
                let inner = of(inner);
                if inner.kinds().is_some_and(|kinds| kinds.is(Kind::Text)) { inner } else { text() }
            }
            Expr::Read(source) => self.source(flow, source, &[], result).schema,
            Expr::Object(members) => {
                Type::object(members.iter().map(|(k, e)| (k.clone(), of(e), false)), OtherMembers::None)
            }
            Expr::List(items) => Type::tuple(items.iter().map(of)),
            Expr::Merge(layers) => Type::merged(layers.iter().map(of)),
            Expr::If { then, otherwise, .. } => Type::union([of(then), of(otherwise)]),
            Expr::Coerce(_, to) => {
                let made = match to {
                    JsonType::Integer => Type::INTEGER,
                    JsonType::Number => Type::NUMBER,
                    JsonType::Boolean => Type::BOOLEAN,
                    JsonType::Object => Type::OBJECT,
                    JsonType::List => Type::LIST,
                };
                Type::union([made, Type::NULL])
            }
            // Text may contain an object or a list; anything else is unchanged.
            Expr::Structured(inner) => match literal(inner) {
                Some(text) => Type::of_value(&structured(&text)),
                None => of(inner).structured(),
            },
            Expr::Verdict(inner) => of(inner).structured(),
            Expr::Consensus { .. } => {
                // Weighted means of verdicts, with weights that add up to 1.
                let members = [
                    ("score".into(), Type::SHARE, false),
                    ("confidence".into(), Type::SHARE, false),
                    ("metadata".into(), Type::Any, true),
                ];
                Type::object(members, OtherMembers::Any)
            }
        }
    }

    fn typed(&self, flow: FlowId, text: &'p Text, result: Option<&Type>) -> Type {
        match self.lone(flow, text, result) {
            Some((walk, true)) => Type::union([walk.schema, Type::TEXT]),
            Some((walk, false)) => walk.schema,
            None if text.template.is_single() => Type::Any,
            None => Type::TEXT,
        }
    }

    /// The value of a text that consists of a single path, and whether the path has a default.
    fn lone(&self, flow: FlowId, text: &'p Text, result: Option<&Type>) -> Option<(Walk, bool)> {
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
    pub fn source(&self, flow: FlowId, source: &Source, path: &[&str], result: Option<&Type>) -> Walk {
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
                        schema: Type::union([first.schema, second.schema]),
                        optional: first.optional && second.optional,
                        stop: None,
                        undeclared: None,
                    },
                }
            }
            Source::Compose { seed, parts } => self.composed(flow, seed, parts, path),
            Source::Const(value) => Walk::of(Type::of_value(value)).on(path, 0),
            Source::Environment | Source::Secrets | Source::RunId | Source::Failure => Walk::of(Type::TEXT),
            Source::Spent(_) => {
                let spent = [("total_tokens", Type::SIZE), ("estimated_usd", Type::NUMBER)];
                let members = spent.map(|(name, of)| (Arc::from(name), of, false));
                Walk::of(Type::object(members, OtherMembers::None)).on(path, 0)
            }
            Source::Result => Walk::of(result.cloned().unwrap_or_default()).on(path, 0),
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
            let members = keys.into_iter().map(|key| (key, Type::Any, true));
            found.push(Walk::of(Type::object(members, OtherMembers::None)));
        } else if let Some(seeded) = seeded {
            found.push(Walk::of(Type::of_value(seeded)));
        }
        match found.len() {
            1 => found.pop().unwrap_or_else(Walk::unknown),
            0 => Walk::unknown(),
            _ => {
                let able = found.into_iter().filter(|w| w.stop.is_none()).map(|w| w.schema);
                Walk::of(Type::union(able))
            }
        }
    }

    /// A value with the inner results of its flow in a layer under it.
    fn layered(&self, top: Walk, flows: &[FlowId], path: &[&str], at: usize) -> Walk {
        let Some((name, rest)) = path.split_first() else { return top };
        match top.schema.member(name) {
            Member::Is { .. } => top.on(path, at),
            Member::Maybe => Walk::unknown(),
            _ => {
                let [callee] = flows else { return Walk::unknown() };
                let exports = &self.program.flows[*callee].exports;
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

    fn written(&self, flow: FlowId, writer: &Writer<'p>) -> Type {
        match writer {
            Writer::Input(intake) => self.given(flow, intake).unwrap_or_else(|| self.input(intake)),
            Writer::Raw(intake) => self.raw_input(intake),
            Writer::Value(expr) => self.expr(flow, expr, None),
            Writer::Source(from, source) => self.source(*from, source, &[], None).schema,
            Writer::Result(step) => self.result(flow, *step),
            Writer::Item(from, items) => {
                let items = self.expr(*from, items, None);
                items.item()
            }
            Writer::Number => Type::INTEGER,
            Writer::Counted(most) => Type::whole_between(1, u64::from(*most)),
            Writer::Text => Type::TEXT,
            Writer::Unknown => Type::Any,
        }
    }

    /// The input that the only caller passes to a flow without declared input that is written at the call.
    fn given(&self, flow: FlowId, intake: &Intake) -> Option<Type> {
        let declares = !intake.fields.is_empty() || intake.schema.is_some() || intake.wrap.is_some();
        if declares || self.roots.contains(&flow) {
            return None;
        }
        let (from, input) = self.writers.only_call(flow)?;
        let file = |f: FlowId| self.program.flows[f].origin.file;
        (file(from) == file(flow)).then(|| self.expr(from, input, None))
    }

    /// The type of a flow's input, after defaults.
    pub fn input(&self, intake: &Intake) -> Type {
        let schema = intake.schema.map(|id| &self.program.schemas[id].json);
        if !intake.fields.is_empty() {
            let optional = |f: &InputField| f.optional && f.default.is_none();
            let fields = intake.fields.iter().map(|f| (f.name.clone(), Type::declared(&f.schema), optional(f)));
            let refused = |schema: &Value| schema.get("additionalProperties") == Some(&Value::Bool(false));
            let closed = intake.closed && intake.tolerated.is_empty() || schema.is_some_and(refused);
            return Type::object(fields, if closed { OtherMembers::None } else { OtherMembers::Any });
        }
        match (schema, &intake.wrap) {
            (Some(schema), None) => Type::declared(schema),
            (_, Some(_)) => Type::OBJECT,
            (None, None) => Type::Any,
        }
    }

    fn raw_input(&self, intake: &Intake) -> Type {
        let declared = intake.schema.map(|id| Type::declared(&self.program.schemas[id].json));
        // If the input is an object, processing it may select a member.
        let plain = |of: &Type| of.kinds().is_some_and(|kinds| !kinds.has(Kind::Object));
        declared.filter(plain).unwrap_or_default()
    }

    fn deeper(&self, look: impl FnOnce() -> Type) -> Type {
        if self.depth.get() >= DEEPEST {
            return Type::Any;
        }
        self.depth.set(self.depth.get() + 1);
        let found = look();
        self.depth.set(self.depth.get() - 1);
        found
    }
}

/// The type of a command's result.
fn command() -> Type {
    let members = [
        ("status".into(), Type::union(["success", "failed"].map(|s| Type::of_value(&Value::from(s)))), false),
        ("exit_code".into(), Type::INTEGER, false),
        ("stdout".into(), Type::Answer, false),
        ("stderr".into(), Type::Answer, false),
    ];
    Type::object(members, OtherMembers::None)
}
