//! What is set where: walks every flow, finds each read, and determines whether it has a value there.
//!
//! For every slot, two questions are answered over all paths to a place: is it set on every path (*must*), is it set on
//! any (*may*)? The body of a loop is walked twice, states and nodes until nothing changes; reads are recorded in the
//! last walk.

mod asked;
mod graph;
mod implied;
mod lacks;
mod look;
mod states;

use std::sync::Arc;
use trefoil_syntax::hash::HashMap;

use trefoil_ir::solve::{Truth, truth};
use trefoil_ir::types::Type;
use trefoil_ir::walk::{Evaluated, children};
use trefoil_ir::{
    Cond, Expr, Flow, FlowId, ForEach, IndexVec, Items, OnFailure, OnItemFailure, Parallel, Position, Program, SlotId,
    Source, Step, StepId, StepKind, ToolKind,
};

use lacks::Lack;
use look::ReadPlace;

use super::calls::CallGraph;
use super::reads::{Defined, Read, Why};
use super::slots::{Slots, State};
use super::types::Types;

/// The reads of a program, and what is set at the end of each flow.
pub struct Known<'p> {
    /// All reads, flow by flow.
    pub reads: Vec<Read<'p>>,
    /// The range of the reads of each flow.
    pub of_flow: HashMap<FlowId, std::ops::Range<usize>>,
    ends: HashMap<FlowId, FlowEnd>,
}

/// What is set when a flow has ended.
struct FlowEnd {
    state: State,
    why: Vec<Option<Why>>,
}

/// Walks every flow: callees before callers, because paths of callers may lead into them; bodies of fan-outs after
/// their enclosing flows, which provide their values.
pub fn known<'p>(program: &'p Program, calls: &CallGraph, roots: &[FlowId], types: &Types<'p>) -> Known<'p> {
    // A step has about three reads; growing would copy all of them.
    let reads = Vec::with_capacity(3 * program.steps.len());
    let mut known = Known { reads, of_flow: HashMap::default(), ends: HashMap::default() };
    let mut seen = calls.none();
    for step in &program.steps {
        if let StepKind::ForEach(each) = &step.kind {
            seen[each.body] = true;
        }
    }
    let order = calls.callees_first(roots.iter().copied().chain(program.flows.ids()), &mut seen);
    let mut todo: Vec<(FlowId, Option<Captured>)> = order.into_iter().rev().map(|flow| (flow, None)).collect();
    while let Some((id, captured)) = todo.pop() {
        if known.ends.contains_key(&id) {
            continue;
        }
        let flow = &program.flows[id];
        let from = known.reads.len();
        let mut walk = Walk::new(program, types, id, flow, &mut known);
        walk.flow(captured.as_ref());
        let Walk { end, inner, .. } = walk;
        known.ends.insert(id, end);
        known.of_flow.insert(id, from..known.reads.len());
        let inner: Vec<_> = inner.into_iter().map(|(body, captured)| (body, Some(captured))).collect();
        todo.splice(0..0, inner);
    }
    known
}

/// The captured slots of a fan-out's body at its start; `None`: not captured.
type Captured = IndexVec<SlotId, Option<Defined>>;

/// The walk over one flow.
struct Walk<'w, 'p> {
    program: &'p Program,
    types: &'w Types<'p>,
    id: FlowId,
    flow: &'p Flow,
    known: &'w mut Known<'p>,
    /// Keys of objects that are written key by key; their bits follow those of the slots.
    keys: HashMap<(SlotId, Arc<str>), usize>,
    /// By the slot of a state's result: the bit for its success. Without it, the result has no value but its error.
    succeeded: HashMap<SlotId, usize>,
    /// Those of the keys that only these writes can set, because no input can contain them.
    own: Slots,
    width: usize,
    /// For each slot: why it may be unset, where that was last possible.
    why: Vec<Option<Why>>,
    /// Above 0 while reads are not recorded, because a piece will be walked again.
    silent: u32,
    /// Conditions that hold here, and slots that were read in one.
    holds: Vec<&'p Cond>,
    /// By the slot of a state's result: what is set wherever that result is, because the state has run.
    implies: HashMap<SlotId, Slots>,
    /// In a node: what is certainly set on each path to it.
    ways: Vec<Slots>,
    /// In a node: the conditions of all incoming edges, if each has one.
    edges: Vec<&'p Cond>,
    /// By slot: members that may be missing although it has a value.
    lacks: HashMap<SlotId, Vec<Lack>>,
    end: FlowEnd,
    /// The bodies of fan-outs in the flow, and their captured slots.
    inner: Vec<(FlowId, Captured)>,
}

impl<'w, 'p> Walk<'w, 'p> {
    fn new(program: &'p Program, types: &'w Types<'p>, id: FlowId, flow: &'p Flow, known: &'w mut Known<'p>) -> Self {
        let mut keys = HashMap::default();
        let mut stack = vec![flow.body];
        while let Some(step) = stack.pop() {
            let step = &program.steps[step];
            for (slot, key) in written_keys(step) {
                let next = flow.slots.len() + keys.len();
                keys.entry((slot, key.clone())).or_insert(next);
            }
            stack.extend(children(step));
        }
        let mut width = flow.slots.len() + keys.len();
        let succeeded = states::fallible(program, flow).into_iter().map(|slot| {
            width += 1;
            (slot, width - 1)
        });
        let succeeded: HashMap<SlotId, usize> = succeeded.collect();
        let end = FlowEnd { state: State::nothing(width), why: Vec::new() };
        let (why, holds, inner) = (vec![None; width], Vec::new(), Vec::new());
        let own = Slots::new(width, false);
        let (implies, ways, edges, lacks) = (HashMap::default(), Vec::new(), Vec::new(), HashMap::default());
        Self {
            program,
            types,
            id,
            flow,
            known,
            keys,
            succeeded,
            own,
            width,
            why,
            silent: 0,
            holds,
            implies,
            ways,
            edges,
            lacks,
            end,
            inner,
        }
    }

    fn flow(&mut self, captures: Option<&Captured>) {
        let mut state = State::nothing(self.width);
        state.set(self.flow.intake.slot.index());
        if let Some((raw, _)) = &self.flow.intake.raw {
            state.set(raw.index());
        }
        for (slot, captured) in captures.into_iter().flat_map(IndexVec::entries) {
            match captured {
                Some(Defined::Always) => state.set(slot.index()),
                Some(Defined::Sometimes(why)) => {
                    state.perhaps(slot.index());
                    self.because(slot.index(), why.clone());
                }
                Some(Defined::Never) | None => {}
            }
        }
        let origin = self.flow.origin;
        for (slot, value) in &self.flow.init {
            self.expr(value, &state, ReadPlace::new(None, origin, Position::Data));
            state.set(slot.index());
            self.set_keys(*slot, value, &mut state);
            self.own_keys(*slot, value);
        }
        let state = self.step(self.flow.body, state);
        if let Some(output) = &self.flow.output {
            self.expr(output, &state, ReadPlace::new(None, origin, Position::Data));
        }
        self.end = FlowEnd { state, why: std::mem::take(&mut self.why) };
    }

    fn because(&mut self, slot: usize, why: Why) {
        if let Some(place) = self.why.get_mut(slot) {
            *place = Some(why);
        }
    }

    /// Records why slots may be unset here, unless a better reason is known.
    fn doubt(&mut self, state: &State, why: &Why) {
        for i in state.may.beyond(&state.must) {
            if !matches!(self.why.get(i), Some(Some(Why::Failed | Why::PartFailed(_) | Why::Skipped { .. }))) {
                self.because(i, why.clone());
            }
        }
    }

    /// What holds after a step, including its `when` and its policies.
    fn step(&mut self, id: StepId, before: State) -> State {
        let step = &self.program.steps[id];
        let mut after = match &step.when {
            // A condition that always holds skips nothing.
            Some(when) if truth(when) == Truth::Always => {
                self.cond(when, &before, Some(id));
                self.ran(id, step, before.clone())
            }
            Some(when) => {
                self.cond(when, &before, Some(id));
                self.holds.push(when);
                let ran = self.ran(id, step, before.clone());
                self.holds.pop();
                let mut after = before.clone();
                after.may.unite(&ran.may);
                for i in ran.must.beyond(&before.must) {
                    self.because(i, Why::Skipped { when: when.text.clone(), at: when.origin });
                }
                after
            }
            None => self.ran(id, step, before.clone()),
        };
        if matches!(step.policy.on_failure, OnFailure::Skip) {
            after.must = before.must;
            if let Some(out) = step.out {
                self.because(out.index(), Why::Failed);
            }
        }
        after
    }

    fn ran(&mut self, id: StepId, step: &'p Step, before: State) -> State {
        let mut after = self.kind(id, step, before.clone());
        if let Some(shape) = &step.shape {
            self.expr(shape, &after, ReadPlace::new(Some(id), step.origin, Position::Data));
        }
        if let OnFailure::Use(value) = &step.policy.on_failure {
            self.expr(value, &before, ReadPlace::new(Some(id), step.origin, Position::Data));
        }
        if let Some(out) = step.out {
            self.note_lacks(step, &after);
            after.set(out.index());
            if let StepKind::Compute(value) = &step.kind {
                self.set_keys(out, value, &mut after);
            }
        }
        after
    }

    /// What a step reads, and what is set after it has run. Effects and computed values set only their result.
    fn kind(&mut self, id: StepId, step: &'p Step, before: State) -> State {
        match &step.kind {
            StepKind::Sequence(steps) => steps.iter().fold(before, |state, s| self.step(*s, state)),
            StepKind::Parallel(parallel) => self.parallel(parallel, &before),
            StepKind::Branch { arms, otherwise } => {
                let mut all = Vec::new();
                for arm in arms {
                    self.cond(&arm.when, &before, Some(id));
                    self.holds.push(&arm.when);
                    all.push(self.step(arm.step, before.clone()));
                    self.holds.pop();
                }
                all.push(otherwise.map_or_else(|| before.clone(), |s| self.step(s, before.clone())));
                self.either(all, &before, &Why::NotTaken)
            }
            StepKind::Loop(it) => {
                let body = self.again(before, Why::FirstPass, |walk, state| walk.step(it.body, state));
                self.own_reads(id, step, &body);
                body
            }
            StepKind::Attempts(it) => {
                let mut first = before;
                [it.iteration, it.previous_error].into_iter().for_each(|slot| first.set(slot.index()));
                let body = self.again(first, Why::FirstPass, |walk, state| walk.step(it.body, state));
                self.own_reads(id, step, &body);
                body
            }
            StepKind::Graph(graph) => self.graph(id, graph, &before),
            StepKind::StateMachine(machine) => self.states(machine, before),
            StepKind::Call(call) => {
                self.own_reads(id, step, &before);
                let mut after = before;
                if let Some(exports) = call.exports {
                    after.set(exports.index());
                }
                after
            }
            StepKind::ForEach(each) => {
                self.fan_out(each, &before, ReadPlace::new(Some(id), step.origin, Position::Data));
                before
            }
            // Effects, computed values, and steps that may run or not: whether a tool is called is up to the model.
            _ => {
                self.own_reads(id, step, &before);
                children(step).into_iter().for_each(|child| drop(self.step(child, before.clone())));
                before
            }
        }
    }

    /// What a step itself reads, apart from the values that it passes on.
    fn own_reads(&mut self, id: StepId, step: &'p Step, state: &State) {
        for (position, evaluated) in step.kind.reads() {
            let place = ReadPlace::new(Some(id), step.origin, position);
            match (evaluated, &step.kind) {
                (Evaluated::Expr(expr), StepKind::Tool(call)) if call.kind == ToolKind::Http => {
                    self.request(expr, state, place);
                }
                (Evaluated::Expr(expr), _) => self.expr(expr, state, place),
                (Evaluated::Text(text), _) => self.text(text, state, place, false),
                (Evaluated::Cond(cond), _) => self.cond(cond, state, Some(id)),
                (Evaluated::Source(_), _) => {}
            }
        }
    }

    /// Branches, each of which starts with the state before all of them.
    fn parallel(&mut self, parallel: &'p Parallel, before: &State) -> State {
        let mut after = before.clone();
        for branch in &parallel.branches {
            let mut one = self.step(*branch, before.clone());
            let name = self.program.steps[*branch].label.clone();
            let why = name.map_or(Why::Failed, Why::PartFailed);
            if parallel.on_failure == OnItemFailure::Continue {
                for i in one.must.beyond(&before.must) {
                    self.because(i, why.clone());
                }
                one.must = before.must.clone();
            }
            after.both(&one);
        }
        after
    }

    /// The body of a loop: walked once to find what it sets, and again with that as possibly set by an earlier pass.
    fn again(&mut self, first: State, why: Why, mut body: impl FnMut(&mut Self, State) -> State) -> State {
        self.silent += 1;
        let once = body(self, first.clone());
        self.silent -= 1;
        let mut entry = first;
        entry.may.unite(&once.may);
        for i in (0..self.width).filter(|i| entry.may.has(*i) && once.must.has(*i) && !entry.must.has(*i)) {
            self.because(i, why.clone());
        }
        body(self, entry)
    }

    /// The state after one of several branches.
    fn either(&mut self, all: Vec<State>, before: &State, why: &Why) -> State {
        let Some(mut joined) = all.first().cloned() else { return before.clone() };
        all.iter().skip(1).for_each(|one| joined.join(one));
        for i in (0..self.width).filter(|i| joined.may.has(*i) && !joined.must.has(*i) && !before.may.has(*i)) {
            if all.iter().any(|one| one.must.has(i)) {
                self.because(i, why.clone());
            }
        }
        joined
    }

    fn fan_out(&mut self, each: &'p ForEach, before: &State, place: ReadPlace) {
        let (Items::List(items) | Items::Count(items, _)) = &each.items;
        self.expr(items, before, place);
        let mut inner: Captured = self.program.flows[each.body].slots.map(|_| None);
        let captures = each.captures.iter().map(|(slot, source)| (*slot, self.defined(source, &[], before)));
        let variables = each.item.into_iter().chain([each.index, each.total]).map(|slot| (slot, Defined::Always));
        for (slot, defined) in variables.chain(captures) {
            inner[slot] = Some(defined);
        }
        self.inner.push((each.body, inner));
    }

    /// Records which keys of a slot its initial value cannot have.
    fn own_keys(&mut self, slot: SlotId, first: &Expr) {
        let Expr::Merge(layers) = first else { return };
        for ((_, key), bit) in self.keys.iter().filter(|((of, _), _)| *of == slot) {
            if layers.iter().all(|layer| self.lacks(layer, key)) {
                self.own.add(*bit);
            }
        }
    }

    /// Whether an object certainly has no such key.
    fn lacks(&self, value: &Expr, key: &str) -> bool {
        match value {
            Expr::Const(constant) => constant.get(key).is_none(),
            Expr::Object(members) => !members.iter().any(|(name, _)| &**name == key),
            Expr::Read(Source::Slot(slot)) if *slot == self.flow.intake.slot => {
                let intake = &self.flow.intake;
                let schema = intake.schema.map(|id| Type::declared(&self.program.schemas[id].json));
                let closed = intake.closed || schema.is_some_and(|schema| schema.never_has(key));
                let brought = intake.wrap.as_deref() == Some(key) || intake.tolerated.contains(&key);
                closed && !brought && !intake.fields.iter().any(|field| &*field.name == key)
            }
            _ => false,
        }
    }

    fn set_keys(&self, slot: SlotId, value: &Expr, state: &mut State) {
        let Expr::Merge(layers) = value else { return };
        for layer in layers {
            let names: Vec<&Arc<str>> = match layer {
                Expr::Object(members) => members.iter().map(|(k, _)| k).collect(),
                Expr::Const(trefoil_template::Value::Object(members)) => members.keys().collect(),
                // Declared input that every run must pass.
                Expr::Read(Source::Slot(input)) if *input == self.flow.intake.slot => {
                    self.flow.intake.fields.iter().filter(|f| !f.optional).map(|f| &f.name).collect()
                }
                _ => continue,
            };
            for name in names {
                if let Some(bit) = self.keys.get(&(slot, name.clone())) {
                    state.set(*bit);
                }
            }
        }
    }
}

/// The keys that a step merges into the object in its own slot.
fn written_keys(step: &Step) -> Vec<(SlotId, &Arc<str>)> {
    let (Some(out), StepKind::Compute(Expr::Merge(layers))) = (step.out, &step.kind) else { return Vec::new() };
    if !layers.iter().any(|l| matches!(l, Expr::Read(Source::Slot(own)) if *own == out)) {
        return Vec::new();
    }
    let objects = layers.iter().filter_map(|l| match l {
        Expr::Object(members) => Some(members),
        _ => None,
    });
    objects.flatten().map(|(k, _)| (out, k)).collect()
}
