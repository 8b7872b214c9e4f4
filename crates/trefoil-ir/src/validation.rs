//! Structural invariants of a program. A violation is a bug in a front end, never a user's mistake.
//!
//! [`Program::new`](crate::Program::new) proves the ids, so whatever has a program may index it. The rest (no loop without a pass, no
//! circle of nodes) a draft with mistakes may violate. Nothing relies on it but for progress: front ends prove it in their tests.

use trefoil_template::Reference;

use crate::conversation::Conversation;
use crate::effect::{AnswerFormat, Guard, ModelCall};
use crate::expr::{Source, ValueExpression};
use crate::flow::{FlowDefinition, ProgramParts};
use crate::ids::{NodeId, SchemaId, SlotId, StepId};
use crate::index_vec::{IndexVec, TypedIndex};
use crate::judge::{Validator, ValidatorKind};
use crate::step::{ForEach, StateMachine, Step, StepGraph, StepKind};
use crate::step_parts::{self, EvaluatedPart};

/// Everything that is wrong with a program, worded for developers of front ends. Empty if it is valid.
pub fn validate_program(program: &ProgramParts) -> Vec<String> {
    let found = ProgramCheck::for_program(program);
    [found.ids, found.sense].concat()
}

/// Ids that the program does not have, and steps that are in several places.
pub fn unproved_ids(program: &ProgramParts) -> Vec<String> {
    ProgramCheck::for_program(program).ids
}

struct ProgramCheck<'p> {
    program: &'p ProgramParts,
    /// Faults of ids and of the tree of steps.
    ids: Vec<String>,
    /// Everything else.
    sense: Vec<String>,
    place: String,
}

impl<'p> ProgramCheck<'p> {
    fn for_program(program: &'p ProgramParts) -> Self {
        let mut check = Self { program, ids: Vec::new(), sense: Vec::new(), place: String::new() };
        if program.flows.find_element(program.entry).is_none() {
            check.fault("the entry flow does not exist");
        }
        check.tree();
        for flow in program.flows.iter() {
            check.flow(flow);
        }
        check
    }

    fn fault(&mut self, what: impl std::fmt::Display) {
        self.ids.push(self.with_location(what));
    }

    fn nonsense(&mut self, what: impl std::fmt::Display) {
        self.sense.push(self.with_location(what));
    }

    fn with_location(&self, what: impl std::fmt::Display) -> String {
        let place = &self.place;
        if place.is_empty() { what.to_string() } else { format!("{place}: {what}") }
    }

    /// Every step has exactly one place: it is the body of one flow, or a child of one step, and not its own
    /// descendant.
    fn tree(&mut self) {
        let mut places = vec![0u32; self.program.steps.len()];
        let mut ids: Vec<StepId> = self.program.flows.iter().map(|flow| flow.body).collect();
        for step in self.program.steps.iter() {
            ids.extend(step_parts::children_of(step));
        }
        for id in ids {
            match places.get_mut(id.index()) {
                Some(count) => *count += 1,
                None => self.ids.push(format!("step {} does not exist", id.0)),
            }
        }
        for (at, count) in places.into_iter().enumerate() {
            if count > 1 {
                self.ids.push(format!("step {at} is used in more than one place"));
            }
        }
    }

    fn flow(&mut self, flow: &'p FlowDefinition) {
        self.place = format!("flow `{}`", flow.name);
        let slots = flow.slots.len();
        self.slot(slots, flow.intake.slot);
        if let Some((slot, _)) = &flow.intake.raw {
            self.slot(slots, *slot);
        }
        for (slot, _) in &flow.init {
            self.slot(slots, *slot);
        }
        for export in &flow.exports {
            self.slot(slots, export.slot);
            if let Some(inner) = export.inner {
                self.slot(slots, inner);
            }
        }
        self.schema(flow.intake.schema);
        for evaluated in step_parts::evaluated_by_flow(flow) {
            self.evaluated(slots, evaluated);
        }
        let mut stack = vec![flow.body];
        // `tree` reports a step that is its own descendant; here it must not cause an endless loop.
        let mut left = self.program.steps.len();
        while let (Some(step), Some(rest)) = (stack.pop(), left.checked_sub(1)) {
            left = rest;
            let Some(found) = self.program.steps.find_element(step) else { continue };
            self.place = match &found.label {
                Some(label) => format!("flow `{}`, step `{label}`", flow.name),
                None => format!("flow `{}`, step {}", flow.name, step.0),
            };
            self.step(slots, found);
            stack.extend(step_parts::children_of(found));
        }
        self.place.clear();
    }

    fn step(&mut self, slots: usize, step: &'p Step) {
        if let Some(out) = step.out {
            self.slot(slots, out);
        }
        for slot in step.kind.filled_slots() {
            self.slot(slots, slot);
        }
        for evaluated in step_parts::evaluated_by_step(step) {
            self.evaluated(slots, evaluated);
        }
        for flow in step_parts::callees_of(step) {
            if self.program.flows.find_element(flow).is_none() {
                self.fault(format!("flow {} does not exist", flow.0));
            }
        }
        match &step.kind {
            StepKind::Model(call) => self.model(call),
            StepKind::ForEach(each) => self.for_each(each),
            StepKind::Graph(graph) => self.graph(graph),
            StepKind::StateMachine(machine) => self.states(machine),
            StepKind::Attempts(attempts) => {
                self.at_least_one("iterations", attempts.max);
                for validator in &attempts.validators {
                    self.validator(validator);
                }
            }
            StepKind::Loop(repeat) => self.at_least_one("passes", repeat.max),
            StepKind::Conversation(it) => self.conversation(it),
            StepKind::Tool(_)
            | StepKind::Command(_)
            | StepKind::Human(_)
            | StepKind::Wait { .. }
            | StepKind::Compute(_)
            | StepKind::Sequence(_)
            | StepKind::Parallel(_)
            | StepKind::Branch { .. }
            | StepKind::Call(_)
            | StepKind::Refused(_) => {}
        }
        if let Some(retry) = &step.policy.retry {
            self.at_least_one("tries", retry.max_attempts);
        }
    }

    fn at_least_one(&mut self, what: &str, count: u32) {
        if count == 0 {
            self.nonsense(format!("no {what} at all"));
        }
    }

    fn model(&mut self, call: &ModelCall) {
        if let AnswerFormat::Json(schema) = &call.format {
            self.schema(Some(*schema));
        }
        for guard in &call.guards {
            if let Guard::Schema(schema) = guard {
                self.schema(Some(*schema));
            }
        }
    }

    fn conversation(&mut self, conversation: &Conversation) {
        self.at_least_one("turns", conversation.max_turns);
        self.at_least_one("tool calls", conversation.calls.most.unwrap_or(1));
        if !matches!(self.kind_of(conversation.turn), Some(StepKind::Model(_))) {
            self.nonsense("the turns of a conversation are no model calls");
        }
        if let Some(gate) = conversation.gate
            && !matches!(self.kind_of(gate), Some(StepKind::Attempts(attempts)) if attempts.max == 1)
        {
            self.nonsense("the gate of a conversation is no check that is made once");
        }
        for offer in &conversation.offers {
            self.schema(offer.parameters);
            match self.kind_of(offer.step) {
                Some(StepKind::Tool(_)) => {}
                Some(StepKind::Call(_)) if !offer.all && offer.parameters.is_some() => {}
                // A program with one never runs.
                Some(StepKind::Refused(_)) => {}
                _ => self.nonsense(format!("the tool `{}` is neither a tool nor a call that is described", offer.name)),
            }
        }
    }

    fn kind_of(&self, step: StepId) -> Option<&'p StepKind> {
        Some(&self.program.steps.find_element(step)?.kind)
    }

    fn validator(&mut self, validator: &Validator) {
        if let ValidatorKind::JsonSchema(schema) = &validator.kind {
            self.schema(Some(*schema));
        }
    }

    fn for_each(&mut self, each: &ForEach) {
        let Some(body) = self.program.flows.find_element(each.body) else { return };
        let slots = body.slots.len();
        if let Some(item) = each.item {
            self.slot(slots, item);
        }
        self.slot(slots, each.index);
        self.slot(slots, each.total);
        for (captured, _) in &each.captures {
            self.slot(slots, *captured);
        }
    }

    fn graph(&mut self, graph: &StepGraph) {
        let mut waits_for = vec![0usize; graph.nodes.len()];
        let mut followers: IndexVec<NodeId, Vec<usize>> = graph.nodes.iter().map(|_| Vec::new()).collect();
        for (at, node) in graph.nodes.iter().enumerate() {
            let mut earlier: Vec<NodeId> = node.incoming.iter().map(|edge| edge.from).collect();
            earlier.extend_from_slice(&node.after);
            earlier.extend_from_slice(&node.fallback_of);
            for from in earlier {
                match followers.find_element_mut(from) {
                    Some(followers) => followers.push(at),
                    None => self.fault(format!("node {at} names a node that does not exist")),
                }
                if let Some(count) = waits_for.get_mut(at) {
                    *count += 1;
                }
            }
            let Some(fallback) = node.fallback else { continue };
            match graph.nodes.find_element(fallback) {
                Some(fallback) if fallback.fallback_of.iter().any(|n| n.index() == at) => {}
                Some(_) => self.nonsense(format!("node {at} has a fallback that does not know of it")),
                None => self.fault(format!("node {at} names a node that does not exist")),
            }
        }
        // Removes nodes without predecessors, until no node is left or only cycles are.
        let (mut free, mut removed) = (Vec::new(), 0);
        for (at, count) in waits_for.iter().enumerate() {
            if *count == 0 {
                free.push(at);
            }
        }
        while let Some(at) = free.pop() {
            removed += 1;
            for follower in followers.find_element(NodeId::from_index(at)).into_iter().flatten() {
                let Some(count) = waits_for.get_mut(*follower) else { continue };
                *count -= 1;
                if *count == 0 {
                    free.push(*follower);
                }
            }
        }
        if removed < graph.nodes.len() {
            self.nonsense("its nodes wait for each other");
        }
    }

    fn states(&mut self, machine: &StateMachine) {
        let count = machine.states.len();
        let mut targets = vec![machine.initial];
        for state in machine.states.iter() {
            targets.extend(state.transitions.iter().map(|transition| transition.target));
        }
        if targets.iter().any(|state| state.index() >= count) {
            self.fault("a transition leads to a state that does not exist");
        }
    }

    fn evaluated(&mut self, slots: usize, evaluated: EvaluatedPart<'p>) {
        let mut bad = Vec::new();
        evaluated.visit_sources(&mut |source| {
            let found: Vec<SlotId> = match source {
                Source::Slot(slot) | Source::Member(slot, _) => vec![*slot],
                Source::Layered { top, under, .. } => vec![*top, *under],
                Source::Compose { parts, .. } => parts.iter().map(|p| p.slot).collect(),
                Source::Spent(slots) => slots.clone(),
                Source::Either(..)
                | Source::Const(_)
                | Source::Environment
                | Source::Secrets
                | Source::RunId
                | Source::Result
                | Source::Failure
                | Source::Missing(..) => Vec::new(),
            };
            bad.extend(found.into_iter().filter(|slot| slot.index() >= slots));
        });
        for slot in bad {
            self.slot(slots, slot);
        }
        let mut unbound = false;
        let mut bound = |references: &[Reference], sources: usize| {
            unbound |= references.iter().any(|r| r.binding.source as usize >= sources);
        };
        match evaluated {
            EvaluatedPart::Cond(cond) => bound(cond.condition.references(), cond.sources.len()),
            EvaluatedPart::Text(text) => bound(text.template.references(), text.sources.len()),
            EvaluatedPart::Expr(expr) => step_parts::visit_expressions(expr, &mut |e| {
                if let ValueExpression::Template(text) | ValueExpression::Typed(text) = e {
                    bound(text.template.references(), text.sources.len());
                }
            }),
            EvaluatedPart::Source(_) => {}
        }
        if unbound {
            self.nonsense("a reference is not bound to a source");
        }
    }

    fn slot(&mut self, slots: usize, slot: SlotId) {
        if slot.index() >= slots {
            self.fault(format!("slot {} does not exist", slot.0));
        }
    }

    fn schema(&mut self, schema: Option<SchemaId>) {
        if let Some(schema) = schema
            && self.program.schemas.find_element(schema).is_none()
        {
            self.fault(format!("schema {} does not exist", schema.0));
        }
    }
}
