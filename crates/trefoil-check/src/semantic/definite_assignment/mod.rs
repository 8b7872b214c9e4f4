//! What is set where: walks every flow, finds each read, and determines whether it has a value there.
//!
//! For every slot, two questions are answered over all paths to a place: is it set on every path (*must*), is it set on
//! any (*may*)? The body of a loop is walked twice, states and nodes until nothing changes; reads are recorded in the
//! last walk.

mod expression_reads;
mod graph;
mod implications;
mod missing_members;
mod null_tests;
mod states;

use std::sync::Arc;
use trefoil_syntax::hash::HashMap;

use trefoil_ir::solver::{ConditionTruth, condition_truth};
use trefoil_ir::types::ValueType;
use trefoil_ir::walk::{EvaluatedPart, children_of};
use trefoil_ir::{
    BoundCondition, BranchArm, FanOutItems, FlowDefinition, FlowId, ForEach, IndexVec, OnItemFailure, OnStepFailure,
    ParallelSteps, Program, SlotId, Source, Step, StepId, StepKind, TextRole, ToolKind, ValueExpression,
};

use expression_reads::ReadContext;
use missing_members::MissingResultMember;

use super::calls::CallGraph;
use super::reads::{AbsenceReason, ReadPresence, ValueRead};
use super::slots::{SlotSet, SlotState};
use super::types::ProgramTypes;

/// The reads of a program, and what is set at the end of each flow.
pub struct AssignmentFacts<'p> {
    /// All reads, flow by flow.
    pub reads: Vec<ValueRead<'p>>,
    /// The range of the reads of each flow.
    pub of_flow: HashMap<FlowId, std::ops::Range<usize>>,
    ends: HashMap<FlowId, FlowEnd>,
}

/// What is set when a flow has ended.
struct FlowEnd {
    state: SlotState,
    why: Vec<Option<AbsenceReason>>,
}

/// Walks every flow: callees before callers, because paths of callers may lead into them; bodies of fan-outs after
/// their enclosing flows, which provide their values.
pub fn analyze_assignments<'p>(
    program: &'p Program,
    calls: &CallGraph,
    roots: &[FlowId],
    types: &ProgramTypes<'p>,
) -> AssignmentFacts<'p> {
    // A step has about three reads; growing would copy all of them.
    let reads = Vec::with_capacity(3 * program.steps.len());
    let mut known = AssignmentFacts { reads, of_flow: HashMap::default(), ends: HashMap::default() };
    let mut seen = calls.unmarked_flows();
    for step in &program.steps {
        if let StepKind::ForEach(each) = &step.kind {
            seen[each.body] = true;
        }
    }
    let order = calls.callees_first(roots.iter().copied().chain(program.flows.element_ids()), &mut seen);
    let mut todo: Vec<(FlowId, Option<CapturedSlots>)> = order.into_iter().rev().map(|flow| (flow, None)).collect();
    while let Some((id, captured)) = todo.pop() {
        if known.ends.contains_key(&id) {
            continue;
        }
        let flow = &program.flows[id];
        let from = known.reads.len();
        let mut walk = AssignmentWalk::new(program, types, id, flow, &mut known);
        walk.flow(captured.as_ref());
        let AssignmentWalk { end, inner, .. } = walk;
        known.ends.insert(id, end);
        known.of_flow.insert(id, from..known.reads.len());
        todo.splice(0..0, inner.into_iter().map(|(body, captured)| (body, Some(captured))));
    }
    known
}

/// The captured slots of a fan-out's body at its start; `None`: not captured.
type CapturedSlots = IndexVec<SlotId, Option<ReadPresence>>;

/// The walk over one flow.
struct AssignmentWalk<'w, 'p> {
    program: &'p Program,
    types: &'w ProgramTypes<'p>,
    id: FlowId,
    flow: &'p FlowDefinition,
    known: &'w mut AssignmentFacts<'p>,
    /// Keys of objects that are written key by key; their bits follow those of the slots.
    keys: HashMap<(SlotId, Arc<str>), usize>,
    /// By the slot of a state's result: the bit for its success. Without it, the result has no value but its error.
    succeeded: HashMap<SlotId, usize>,
    /// Those of the keys that only these writes can set, because no input can contain them.
    own: SlotSet,
    width: usize,
    /// For each slot: why it may be unset, where that was last possible.
    why: Vec<Option<AbsenceReason>>,
    /// Above 0 while reads are not recorded, because a piece will be walked again.
    silent: u32,
    /// Conditions that hold here, and slots that were read in one.
    holds: Vec<&'p BoundCondition>,
    /// By the slot of a state's result: what is set wherever that result is, because the state has run.
    implies: HashMap<SlotId, SlotSet>,
    /// In a node: what is certainly set on each path to it.
    ways: Vec<SlotSet>,
    /// In a node: the conditions of all incoming edges, if each has one.
    edges: Vec<&'p BoundCondition>,
    /// By slot: members that may be missing although it has a value.
    lacks: HashMap<SlotId, Vec<MissingResultMember>>,
    end: FlowEnd,
    /// The bodies of fan-outs in the flow, and their captured slots.
    inner: Vec<(FlowId, CapturedSlots)>,
}

impl<'w, 'p> AssignmentWalk<'w, 'p> {
    fn new(
        program: &'p Program,
        types: &'w ProgramTypes<'p>,
        id: FlowId,
        flow: &'p FlowDefinition,
        known: &'w mut AssignmentFacts<'p>,
    ) -> Self {
        let mut keys = HashMap::default();
        let mut stack = vec![flow.body];
        while let Some(step) = stack.pop() {
            let step = &program.steps[step];
            for (slot, key) in written_keys(step) {
                let next = flow.slots.len() + keys.len();
                keys.entry((slot, key.clone())).or_insert(next);
            }
            stack.extend(children_of(step));
        }
        let mut width = flow.slots.len() + keys.len();
        let mut succeeded = HashMap::default();
        for slot in states::fallible_result_slots(program, flow) {
            succeeded.insert(slot, width);
            width += 1;
        }
        let end = FlowEnd { state: SlotState::with_nothing_set(width), why: Vec::new() };
        let (why, holds, inner) = (vec![None; width], Vec::new(), Vec::new());
        let own = SlotSet::new(width, false);
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

    fn flow(&mut self, captures: Option<&CapturedSlots>) {
        let mut state = SlotState::with_nothing_set(self.width);
        state.set_always(self.flow.intake.slot.index());
        if let Some((raw, _)) = &self.flow.intake.raw {
            state.set_always(raw.index());
        }
        if let Some(captures) = captures {
            self.set_captures(captures, &mut state);
        }
        let origin = self.flow.origin;
        for (slot, value) in &self.flow.init {
            self.visit_expr(value, &state, ReadContext::new(None, origin, TextRole::Data));
            state.set_always(slot.index());
            self.set_keys(*slot, value, &mut state);
            self.own_keys(*slot, value);
        }
        let state = self.step(self.flow.body, state);
        if let Some(output) = &self.flow.output {
            self.visit_expr(output, &state, ReadContext::new(None, origin, TextRole::Data));
        }
        self.end = FlowEnd { state, why: std::mem::take(&mut self.why) };
    }

    fn set_captures(&mut self, captures: &CapturedSlots, state: &mut SlotState) {
        for (slot, captured) in captures.entries() {
            match captured {
                Some(ReadPresence::Always) => state.set_always(slot.index()),
                Some(ReadPresence::Sometimes(why)) => {
                    state.set_sometimes(slot.index());
                    self.set_absence_reason(slot.index(), why.clone());
                }
                Some(ReadPresence::Never) | None => {}
            }
        }
    }

    fn set_absence_reason(&mut self, slot: usize, why: AbsenceReason) {
        if let Some(place) = self.why.get_mut(slot) {
            *place = Some(why);
        }
    }

    /// Records why slots may be unset here, unless a better reason is known.
    fn doubt(&mut self, state: &SlotState, why: &AbsenceReason) {
        for i in state.may.difference_from(&state.must) {
            if !matches!(
                self.why.get(i),
                Some(Some(AbsenceReason::Failed | AbsenceReason::PartFailed(_) | AbsenceReason::Skipped { .. }))
            ) {
                self.set_absence_reason(i, why.clone());
            }
        }
    }

    /// What holds after a step, including its `when` and its policies.
    fn step(&mut self, id: StepId, before: SlotState) -> SlotState {
        let step = &self.program.steps[id];
        let mut after = match &step.when {
            // A condition that always holds skips nothing.
            Some(when) if condition_truth(when) == ConditionTruth::Always => {
                self.visit_condition(when, &before, Some(id));
                self.visit_running_step(id, step, before.clone())
            }
            Some(when) => {
                self.visit_condition(when, &before, Some(id));
                self.holds.push(when);
                let ran = self.visit_running_step(id, step, before.clone());
                self.holds.pop();
                let mut after = before.clone();
                after.may.union_with(&ran.may);
                for i in ran.must.difference_from(&before.must) {
                    self.set_absence_reason(i, AbsenceReason::Skipped { when: when.text.clone(), at: when.origin });
                }
                after
            }
            None => self.visit_running_step(id, step, before.clone()),
        };
        if matches!(step.policy.on_failure, OnStepFailure::Skip) {
            after.must = before.must;
            if let Some(out) = step.out {
                self.set_absence_reason(out.index(), AbsenceReason::Failed);
            }
        }
        after
    }

    fn visit_running_step(&mut self, id: StepId, step: &'p Step, before: SlotState) -> SlotState {
        let mut after = self.kind(id, step, before.clone());
        if let Some(shape) = &step.shape {
            self.visit_expr(shape, &after, ReadContext::new(Some(id), step.origin, TextRole::Data));
        }
        if let OnStepFailure::Use(value) = &step.policy.on_failure {
            self.visit_expr(value, &before, ReadContext::new(Some(id), step.origin, TextRole::Data));
        }
        if let Some(out) = step.out {
            self.note_lacks(step, &after);
            after.set_always(out.index());
            if let StepKind::Compute(value) = &step.kind {
                self.set_keys(out, value, &mut after);
            }
        }
        after
    }

    /// What a step reads, and what is set after it has run. Effects and computed values set only their result.
    fn kind(&mut self, id: StepId, step: &'p Step, before: SlotState) -> SlotState {
        match &step.kind {
            StepKind::Sequence(steps) => {
                let mut state = before;
                for inner in steps {
                    state = self.step(*inner, state);
                }
                state
            }
            StepKind::Parallel(parallel) => self.parallel(parallel, &before),
            StepKind::Branch { arms, otherwise } => self.branch(id, arms, *otherwise, &before),
            StepKind::Loop(it) => {
                let body =
                    self.visit_loop_body(before, AbsenceReason::FirstPass, |walk, state| walk.step(it.body, state));
                self.own_reads(id, step, &body);
                body
            }
            StepKind::Attempts(it) => {
                let mut first = before;
                first.set_always(it.iteration.index());
                first.set_always(it.previous_error.index());
                let body =
                    self.visit_loop_body(first, AbsenceReason::FirstPass, |walk, state| walk.step(it.body, state));
                self.own_reads(id, step, &body);
                body
            }
            StepKind::Graph(graph) => self.walk_graph(id, graph, &before),
            StepKind::StateMachine(machine) => self.walk_states(machine, before),
            StepKind::Call(call) => {
                self.own_reads(id, step, &before);
                let mut after = before;
                if let Some(exports) = call.exports {
                    after.set_always(exports.index());
                }
                after
            }
            StepKind::ForEach(each) => {
                self.fan_out(each, &before, ReadContext::new(Some(id), step.origin, TextRole::Data));
                before
            }
            // Effects, computed values, and steps that may run or not: whether a tool is called is up to the model.
            _ => {
                self.own_reads(id, step, &before);
                for child in children_of(step) {
                    self.step(child, before.clone());
                }
                before
            }
        }
    }

    /// What a step itself reads, apart from the values that it passes on.
    fn own_reads(&mut self, id: StepId, step: &'p Step, state: &SlotState) {
        for (position, evaluated) in step.kind.list_reads() {
            let place = ReadContext::new(Some(id), step.origin, position);
            match (evaluated, &step.kind) {
                (EvaluatedPart::Expr(expr), StepKind::Tool(call)) if call.kind == ToolKind::Http => {
                    self.visit_request(expr, state, place);
                }
                (EvaluatedPart::Expr(expr), _) => self.visit_expr(expr, state, place),
                (EvaluatedPart::Text(text), _) => self.visit_text(text, state, place, false),
                (EvaluatedPart::Cond(cond), _) => self.visit_condition(cond, state, Some(id)),
                (EvaluatedPart::Source(_), _) => {}
            }
        }
    }

    fn branch(
        &mut self,
        id: StepId,
        arms: &'p [BranchArm],
        otherwise: Option<StepId>,
        before: &SlotState,
    ) -> SlotState {
        let mut all = Vec::new();
        for arm in arms {
            self.visit_condition(&arm.when, before, Some(id));
            self.holds.push(&arm.when);
            all.push(self.step(arm.step, before.clone()));
            self.holds.pop();
        }
        all.push(match otherwise {
            Some(step) => self.step(step, before.clone()),
            None => before.clone(),
        });
        self.either(all, before, &AbsenceReason::NotTaken)
    }

    /// Branches, each of which starts with the state before all of them.
    fn parallel(&mut self, parallel: &'p ParallelSteps, before: &SlotState) -> SlotState {
        let mut after = before.clone();
        for branch in &parallel.branches {
            let mut one = self.step(*branch, before.clone());
            let why = match &self.program.steps[*branch].label {
                Some(name) => AbsenceReason::PartFailed(name.clone()),
                None => AbsenceReason::Failed,
            };
            if parallel.on_failure == OnItemFailure::Continue {
                for i in one.must.difference_from(&before.must) {
                    self.set_absence_reason(i, why.clone());
                }
                one.must = before.must.clone();
            }
            after.merge_sequential(&one);
        }
        after
    }

    /// The body of a loop: walked once to find what it sets, and again with that as possibly set by an earlier pass.
    fn visit_loop_body(
        &mut self,
        first: SlotState,
        why: AbsenceReason,
        mut body: impl FnMut(&mut Self, SlotState) -> SlotState,
    ) -> SlotState {
        self.silent += 1;
        let once = body(self, first.clone());
        self.silent -= 1;
        let mut entry = first;
        entry.may.union_with(&once.may);
        for i in 0..self.width {
            if entry.may.has_slot(i) && once.must.has_slot(i) && !entry.must.has_slot(i) {
                self.set_absence_reason(i, why.clone());
            }
        }
        body(self, entry)
    }

    /// The state after one of several branches.
    fn either(&mut self, all: Vec<SlotState>, before: &SlotState, why: &AbsenceReason) -> SlotState {
        let Some(mut joined) = all.first().cloned() else { return before.clone() };
        for branch in all.iter().skip(1) {
            joined.merge_alternative(branch);
        }
        for i in 0..self.width {
            let is_new_sometimes = joined.may.has_slot(i) && !joined.must.has_slot(i) && !before.may.has_slot(i);
            if is_new_sometimes && all.iter().any(|branch| branch.must.has_slot(i)) {
                self.set_absence_reason(i, why.clone());
            }
        }
        joined
    }

    fn fan_out(&mut self, each: &'p ForEach, before: &SlotState, place: ReadContext) {
        let (FanOutItems::List(items) | FanOutItems::Count(items, _)) = &each.items;
        self.visit_expr(items, before, place);
        let mut inner: CapturedSlots = self.program.flows[each.body].slots.map(|_| None);
        if let Some(item) = each.item {
            inner[item] = Some(ReadPresence::Always);
        }
        inner[each.index] = Some(ReadPresence::Always);
        inner[each.total] = Some(ReadPresence::Always);
        for (slot, source) in &each.captures {
            inner[*slot] = Some(self.value_presence(source, &[], before));
        }
        self.inner.push((each.body, inner));
    }

    /// Records which keys of a slot its initial value cannot have.
    fn own_keys(&mut self, slot: SlotId, first: &ValueExpression) {
        let ValueExpression::Merge(layers) = first else { return };
        for ((of, key), bit) in &self.keys {
            if *of == slot && layers.iter().all(|layer| self.lacks(layer, key)) {
                self.own.add_slot(*bit);
            }
        }
    }

    /// Whether an object certainly has no such key.
    fn lacks(&self, value: &ValueExpression, key: &str) -> bool {
        match value {
            ValueExpression::Const(constant) => constant.get(key).is_none(),
            ValueExpression::Object(members) => !members.iter().any(|(name, _)| &**name == key),
            ValueExpression::Read(Source::Slot(slot)) if *slot == self.flow.intake.slot => {
                let intake = &self.flow.intake;
                let closed_by_schema = match intake.schema {
                    Some(id) => ValueType::from_schema(&self.program.schemas[id].json).never_has(key),
                    None => false,
                };
                let closed = intake.closed || closed_by_schema;
                let brought = intake.wrap.as_deref() == Some(key) || intake.tolerated.contains(&key);
                closed && !brought && !intake.fields.iter().any(|field| &*field.name == key)
            }
            _ => false,
        }
    }

    fn set_keys(&self, slot: SlotId, value: &ValueExpression, state: &mut SlotState) {
        let ValueExpression::Merge(layers) = value else { return };
        for layer in layers {
            match layer {
                ValueExpression::Object(members) => {
                    for (name, _) in members {
                        self.set_key(slot, name, state);
                    }
                }
                ValueExpression::Const(trefoil_template::Value::Object(members)) => {
                    for name in members.keys() {
                        self.set_key(slot, name, state);
                    }
                }
                // Declared input that every run must pass.
                ValueExpression::Read(Source::Slot(input)) if *input == self.flow.intake.slot => {
                    for field in &self.flow.intake.fields {
                        if !field.optional {
                            self.set_key(slot, &field.name, state);
                        }
                    }
                }
                _ => {}
            }
        }
    }

    fn set_key(&self, slot: SlotId, name: &Arc<str>, state: &mut SlotState) {
        if let Some(bit) = self.keys.get(&(slot, name.clone())) {
            state.set_always(*bit);
        }
    }
}

/// The keys that a step merges into the object in its own slot.
fn written_keys(step: &Step) -> Vec<(SlotId, &Arc<str>)> {
    let (Some(out), StepKind::Compute(ValueExpression::Merge(layers))) = (step.out, &step.kind) else {
        return Vec::new();
    };
    if !layers.iter().any(|l| matches!(l, ValueExpression::Read(Source::Slot(own)) if *own == out)) {
        return Vec::new();
    }
    let mut keys = Vec::new();
    for layer in layers {
        if let ValueExpression::Object(members) = layer {
            for (key, _) in members {
                keys.push((out, key));
            }
        }
    }
    keys
}
