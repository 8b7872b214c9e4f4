//! Visits one expression in one place: its reads, and what is known about each.

use trefoil_ir::solver::TestTree;
use trefoil_ir::types::{TypeMember, ValueType};
use trefoil_ir::{
    BindingFault, BoundCondition, BoundTemplate, ComposedPart, FlowId, SlotId, Source, StepId, TextRole,
    ValueExpression,
};
use trefoil_syntax::Location;
use trefoil_template::{DialectWords, Reference};

use super::AssignmentWalk;
use super::missing_members::is_lost;
use super::null_tests::asks_for;
use crate::semantic::paths::{joined_path, member_names, path_in_source, shared_length, value_at_path};
use crate::semantic::reads::{AbsenceReason, ReadPresence, ValueRead};
use crate::semantic::slots::SlotState;
use trefoil_ir::walk::children_of;

/// The place of an expression, and whether missing values are handled there.
#[derive(Debug, Clone, Copy)]
pub(super) struct ReadContext {
    pub step: Option<StepId>,
    pub at: Location,
    pub position: TextRole,
    pub guarded: bool,
    pub strict: bool,
    pub words: Option<&'static DialectWords>,
}

impl ReadContext {
    /// A place in a step.
    pub fn new(step: Option<StepId>, at: Location, position: TextRole) -> Self {
        Self { step, at, position, guarded: false, strict: false, words: None }
    }
    /// Marks missing values as handled.
    pub fn with_guard(self) -> Self {
        Self { guarded: true, ..self }
    }
}

impl<'p> AssignmentWalk<'_, 'p> {
    pub(super) fn visit_expr(&mut self, expr: &'p ValueExpression, state: &SlotState, place: ReadContext) {
        match expr {
            ValueExpression::Const(_) => {}
            ValueExpression::Template(text) => self.visit_text(text, state, place, false),
            ValueExpression::Typed(text) => self.visit_text(text, state, place, true),
            ValueExpression::Read(source) => self.read((source, None, &[]), state, place, true),
            ValueExpression::Object(members) => {
                for (_, value) in members {
                    self.visit_expr(value, state, place);
                }
            }
            ValueExpression::List(items) | ValueExpression::Concat(items) => {
                for item in items {
                    self.visit_expr(item, state, place);
                }
            }
            // Values that are not objects are skipped.
            ValueExpression::Merge(layers) => {
                for layer in layers {
                    self.visit_expr(layer, state, place.with_guard());
                }
            }
            ValueExpression::Join { parts, otherwise, .. } => {
                for part in parts {
                    self.read((part, None, &[]), state, place.with_guard(), false);
                }
                self.visit_expr(otherwise, state, place);
            }
            ValueExpression::Lines(inner)
            | ValueExpression::AsText(inner)
            | ValueExpression::AsMessage(inner)
            | ValueExpression::Structured(inner)
            | ValueExpression::Verdict(inner)
            | ValueExpression::Coerce(inner, _) => {
                self.visit_expr(inner, state, place);
            }
            ValueExpression::If { source, then, otherwise } => {
                self.read((source, None, &[]), state, place.with_guard(), false);
                let inside = if matches!(&**then, ValueExpression::Read(_)) { place.with_guard() } else { place };
                self.visit_expr(then, state, inside);
                self.visit_expr(otherwise, state, place);
            }
            ValueExpression::Consensus { verdicts, .. } => {
                for verdict in verdicts {
                    self.visit_expr(&verdict.value, state, place);
                }
            }
        }
    }

    /// The arguments of a tool that makes requests.
    pub(super) fn visit_request(&mut self, arguments: &'p ValueExpression, state: &SlotState, place: ReadContext) {
        let ValueExpression::Object(members) = arguments else { return self.visit_expr(arguments, state, place) };
        for (key, value) in members {
            let position = match &**key {
                "url" => TextRole::Url,
                "headers" => TextRole::Header,
                _ => TextRole::Data,
            };
            self.visit_expr(value, state, ReadContext { position, ..place });
        }
    }

    pub(super) fn visit_text(&mut self, text: &'p BoundTemplate, state: &SlotState, place: ReadContext, typed: bool) {
        let lone = typed && text.template.is_single() && text.template.inner_expressions().is_empty();
        for (i, reference) in text.template.references().iter().enumerate() {
            let Some(source) = text.sources.get(reference.binding.source as usize) else { continue };
            let span = text.spans.get(i).copied().unwrap_or(text.origin.span);
            let words = Some(text.template.dialect_words());
            let strict = text.template.is_strict();
            let place = ReadContext { at: Location::new(text.origin.file, span), strict, words, ..place };
            match self.tested_bit(text, source, reference) {
                Some(bit) if !state.must.has_slot(bit) => {
                    let mut here = state.clone();
                    here.set_always(bit);
                    self.visit_reference(source, reference, &here, place, lone);
                }
                _ => self.visit_reference(source, reference, state, place, lone),
            }
        }
    }

    pub(super) fn visit_condition(&mut self, cond: &'p BoundCondition, state: &SlotState, step: Option<StepId>) {
        for (i, reference) in cond.condition.references().iter().enumerate() {
            let Some(source) = cond.sources.get(reference.binding.source as usize) else { continue };
            let span = cond.spans.get(i).copied().unwrap_or(cond.origin.span);
            let at = Location::new(cond.origin.file, span);
            // A condition may test for missing values.
            let place = ReadContext {
                words: Some(cond.condition.dialect_words()),
                ..ReadContext::new(step, at, TextRole::Condition).with_guard()
            };
            self.visit_reference(source, reference, state, place, false);
        }
    }

    fn visit_reference(
        &mut self,
        source: &'p Source,
        reference: &'p Reference,
        state: &SlotState,
        place: ReadContext,
        lone: bool,
    ) {
        let path = path_in_source(reference);
        // The block tests another member of the slot's own value. Members that are written separately imply nothing
        // about each other.
        let whole = |slot: &SlotId| !self.keys.keys().any(|(of, _)| of == slot);
        let beside = reference.has_tested_sibling()
            && match source {
                Source::Slot(slot) => reference.binding.skip == 1 && whole(slot),
                Source::Member(slot, _) => whole(slot),
                _ => false,
            };
        let guarded = place.guarded || reference.guarded || beside || reference.default.is_some();
        self.read((source, Some(reference), &path), state, ReadContext { guarded, ..place }, lone);
    }

    fn read(
        &mut self,
        (source, reference, path): (&'p Source, Option<&'p Reference>, &[&str]),
        state: &SlotState,
        place: ReadContext,
        lone: bool,
    ) {
        if self.silent > 0 {
            return;
        }
        let walk = self.types.source_type(self.id, source, path, None);
        let skip = match reference {
            Some(reference) => usize::from(reference.binding.skip),
            None => 0,
        };
        let stop = match (beyond(source), walk.stop) {
            (Some(stop), _) => Some(stop),
            (None, Some((at, why))) => Some((at + skip, why)),
            (None, None) => None,
        };
        let read = ValueRead {
            flow: self.id,
            step: place.step,
            at: place.at,
            reference,
            source,
            defined: self.value_presence(source, path, state),
            schema: walk.schema,
            optional: walk.optional,
            stop,
            undeclared: walk.undeclared.map(|(at, all)| (at + skip, all)),
            guarded: place.guarded || self.is_asked(source),
            lone,
            position: place.position,
            strict: place.strict,
            words: place.words,
        };
        self.known.reads.push(read);
    }

    /// Whether this runs only if a source has a value.
    fn is_asked(&self, source: &Source) -> bool {
        let by_edges = !self.edges.is_empty() && self.edges.iter().all(|cond| asks_for(cond, source));
        by_edges || self.holds.iter().any(|cond| asks_for(cond, source))
    }

    /// Whether a source has a value here. If one of several slots is set on each path to this node, it always has.
    pub(super) fn value_presence(&self, source: &Source, path: &[&str], state: &SlotState) -> ReadPresence {
        let presence = self.defined_at(source, path, state);
        if matches!(presence, ReadPresence::Sometimes(_)) && self.is_set_on_each_way(source, path, state) {
            return ReadPresence::Always;
        }
        presence
    }

    fn is_set_on_each_way(&self, source: &Source, path: &[&str], state: &SlotState) -> bool {
        for way in &self.ways {
            let mut here = state.clone();
            here.must.union_with(way);
            if self.defined_at(source, path, &here) != ReadPresence::Always {
                return false;
            }
        }
        !self.ways.is_empty()
    }

    fn defined_at(&self, source: &Source, path: &[&str], state: &SlotState) -> ReadPresence {
        match source {
            Source::Slot(slot) => {
                if let Some(first) = path.first()
                    && let Some(key) = self.keys.get(&(*slot, (*first).into()))
                {
                    return self.key(*key, state);
                }
                match self.bit(slot.index(), state) {
                    ReadPresence::Always => self.inside_of(*slot, path, state),
                    other => other,
                }
            }
            Source::Member(slot, member) => match self.bit(slot.index(), state) {
                ReadPresence::Always => self.inside_of(*slot, &joined_path(member, path), state),
                other => other,
            },
            Source::Layered { top, path: to, under } => {
                let here = self.bit(top.index(), state);
                if here != ReadPresence::Always {
                    return here;
                }
                let of = self.types.source_type(self.id, &Source::Slot(*top), &member_names(to), None).schema;
                self.inner_result_presence(&of, self.types.exporting_flows(self.id, *under), path)
            }
            Source::Either(first, second) => {
                match (self.defined_at(first, path, state), self.defined_at(second, path, state)) {
                    (ReadPresence::Always, _) | (_, ReadPresence::Always) => ReadPresence::Always,
                    (ReadPresence::Never, other) => other,
                    (first, _) => first,
                }
            }
            Source::Compose { seed, parts } => match value_at_path(seed, path) {
                Some(_) => ReadPresence::Always,
                None => self.presence_in_parts(parts, path, state),
            },
            Source::Missing(..) => ReadPresence::Never,
            Source::Const(_)
            | Source::Environment
            | Source::Secrets
            | Source::RunId
            | Source::Spent(_)
            | Source::Result
            | Source::Failure => ReadPresence::Always,
        }
    }

    /// A path into parts that are merged into one object.
    fn presence_in_parts(&self, parts: &[ComposedPart], path: &[&str], state: &SlotState) -> ReadPresence {
        let mut known = ReadPresence::Never;
        for part in parts {
            let shared = shared_length(&part.at, path);
            if shared < part.at.len() && shared < path.len() {
                continue;
            }
            let presence = match self.bit(part.slot.index(), state) {
                ReadPresence::Always if shared == part.at.len() => {
                    let rest = path.get(shared..).unwrap_or_default();
                    self.member_presence(part.slot, &joined_path(&part.member, rest))
                }
                presence => presence,
            };
            match (presence, &known) {
                (ReadPresence::Always, _) => return ReadPresence::Always,
                (some, ReadPresence::Never) => known = some,
                _ => {}
            }
        }
        known
    }

    /// A path into a slot with a value, which may be the result of a state that has failed.
    fn inside_of(&self, slot: SlotId, path: &[&str], state: &SlotState) -> ReadPresence {
        match self.succeeded.get(&slot) {
            Some(bit) if !state.must.has_slot(*bit) && is_lost(path) => ReadPresence::Sometimes(AbsenceReason::Failed),
            _ => self.member_presence(slot, path),
        }
    }

    fn bit(&self, i: usize, state: &SlotState) -> ReadPresence {
        if state.must.has_slot(i) {
            return ReadPresence::Always;
        }
        if !state.may.has_slot(i) {
            return ReadPresence::Never;
        }
        let why = self.why.get(i).cloned().flatten().unwrap_or(AbsenceReason::NotWritten);
        match &why {
            // The reader has the same condition, so both are skipped.
            AbsenceReason::Skipped { when, .. } if self.holds.iter().any(|c| c.text == *when) => ReadPresence::Always,
            AbsenceReason::Skipped { when, at } => match self.excluding(i, *at) {
                Some(own) => {
                    ReadPresence::Sometimes(AbsenceReason::Excluded { when: when.clone(), own: own.text.clone() })
                }
                None => ReadPresence::Sometimes(why),
            },
            _ => ReadPresence::Sometimes(why),
        }
    }

    /// The condition that holds here and excludes the one at `when`, on which the only step that fills a slot depends.
    /// Both must read only the flow's input, which does not change.
    fn excluding(&self, slot: usize, when: Location) -> Option<&'p BoundCondition> {
        let input = self.flow.intake.slot;
        let mut holding = self.holds.clone();
        holding.retain(|cond| reads_only(cond, input));
        if holding.is_empty() {
            return None;
        }
        let mut writers = Vec::new();
        let mut stack = vec![self.flow.body];
        while let Some(id) = stack.pop() {
            let step = &self.program.steps[id];
            if let Some(out) = step.out
                && out.index() == slot
            {
                writers.push(step);
            }
            stack.extend(children_of(step));
        }
        let [writer] = writers.as_slice() else { return None };
        let cond = writer.when.as_ref()?;
        if cond.origin != when || !reads_only(cond, input) {
            return None;
        }
        let claim = TestTree::from_condition(cond);
        holding.into_iter().find(|own| claim.is_exclusive_with(&TestTree::from_condition(own)))
    }

    /// A key of an object that is written key by key. If it may come from outside, it is never known to be missing.
    fn key(&self, i: usize, state: &SlotState) -> ReadPresence {
        match self.bit(i, state) {
            ReadPresence::Never if !self.own.has_slot(i) => ReadPresence::Sometimes(AbsenceReason::NotWritten),
            known => known,
        }
    }

    /// A path into the inner results of the flow that made a value.
    fn inner_result_presence(&self, top: &ValueType, flows: &[FlowId], path: &[&str]) -> ReadPresence {
        let ([callee], Some((name, rest))) = (flows, path.split_first()) else { return ReadPresence::Always };
        if !top.never_has(name) {
            return ReadPresence::Always;
        }
        let Some(end) = self.known.ends.get(callee) else { return ReadPresence::Always };
        let exports = &self.program.flows[*callee].exports;
        let Some(export) = exports.iter().find(|e| &*e.key == *name) else { return ReadPresence::Always };
        let slot = export.slot.index();
        if !end.state.must.has_slot(slot) {
            return match end.state.may.has_slot(slot) {
                true => {
                    ReadPresence::Sometimes(end.why.get(slot).cloned().flatten().unwrap_or(AbsenceReason::NotWritten))
                }
                false => ReadPresence::Never,
            };
        }
        let value = self.types.slot_type(*callee, export.slot);
        let inner = match export.inner {
            Some(slot) => self.types.exporting_flows(*callee, slot),
            None => &[],
        };
        self.inner_result_presence(&value, inner, rest)
    }
}

/// Whether a condition reads nothing but this slot.
fn reads_only(cond: &BoundCondition, slot: SlotId) -> bool {
    cond.sources.iter().all(|source| matches!(source, Source::Slot(read) | Source::Member(read, _) if *read == slot))
}

/// Where a path that continues after a value ends, judging by its names.
fn beyond(source: &Source) -> Option<(usize, TypeMember)> {
    let Source::Missing(_, BindingFault::Beyond(beyond)) = source else { return None };
    let never = TypeMember::Never { what: beyond.what, members: beyond.members.clone() };
    Some((usize::from(beyond.segment), never))
}
