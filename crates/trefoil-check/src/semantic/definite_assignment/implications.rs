//! What is known to be set because a condition held, or because of the result of a block's test.

use std::sync::Arc;

use trefoil_ir::solver::ConditionCases;
use trefoil_ir::{BoundCondition, BoundTemplate, SlotId, Source};
use trefoil_template::{PathSegment, Reference, Value};

use super::AssignmentWalk;
use super::missing_members::is_lost;
use super::null_tests::fails_without;
use crate::semantic::slots::SlotState;

/// Whether a condition holds in no case; `None`: not all cases are known.
fn never_holds(cases: Option<&ConditionCases>) -> Option<bool> {
    let cases = cases.filter(|cases| !cases.is_open(0))?;
    let mut held = false;
    cases.visit_cases(true, &mut |case| {
        held |= case.condition_holds(0);
        !held
    });
    Some(!held)
}

impl AssignmentWalk<'_, '_> {
    /// The bit of the value that a path reads, if there is one.
    fn bit_of(&self, source: &Source, reference: &Reference) -> Option<usize> {
        match source {
            Source::Slot(slot) => {
                let first = reference.path.get(usize::from(reference.binding.skip));
                let key = first.and_then(|s| self.keys.get(&(*slot, s.name.clone())));
                Some(key.copied().unwrap_or(slot.index()))
            }
            Source::Member(slot, _) => Some(slot.index()),
            _ => None,
        }
    }

    /// After a condition has held, everything is set without which it never holds.
    pub(super) fn apply_condition(&self, cond: &BoundCondition, state: &mut SlotState) {
        for reference in cond.condition.references() {
            let Some(source) = cond.sources.get(reference.binding.source as usize) else { continue };
            let (Source::Slot(of) | Source::Member(of, _)) = source else { continue };
            self.granted_success(cond, *of, state);
            let Some(bit) = self.bit_of(source, reference).filter(|bit| !state.must.has_slot(*bit)) else { continue };
            let key = self.keys.iter().find(|(_, b)| **b == bit).map(|((_, key), _)| key);
            let gone = ConditionCases::new([cond], &|slot, path| {
                let it = slot == *of && key.is_none_or(|key| path.first() == Some(key));
                it.then_some(Value::Null)
            });
            let it = |source: &Source, path: &[&str]| match source {
                Source::Slot(slot) => slot == of && key.is_none_or(|key| path.first() == Some(&&**key)),
                Source::Member(slot, _) => slot == of && key.is_none(),
                _ => false,
            };
            if never_holds(gone.as_ref()).unwrap_or_else(|| fails_without(cond, &it)) {
                state.set_always(bit);
            }
        }
    }

    /// After a condition has held that never holds if a state has failed, the state has succeeded.
    fn granted_success(&self, cond: &BoundCondition, of: SlotId, state: &mut SlotState) {
        let Some(bit) = self.succeeded.get(&of).filter(|bit| !state.must.has_slot(**bit)) else { return };
        let failed = |slot: SlotId, path: &[Arc<str>]| {
            (slot == of && is_lost(path.iter().map(|name| &**name))).then_some(Value::Null)
        };
        let lost = |source: &Source, path: &[&str]| match source {
            Source::Slot(slot) => *slot == of && is_lost(path.iter().copied()),
            Source::Member(slot, member) => {
                *slot == of && is_lost(member.iter().map(|name| &**name).chain(path.iter().copied()))
            }
            _ => false,
        };
        let gone = ConditionCases::new([cond], &failed);
        if never_holds(gone.as_ref()).unwrap_or_else(|| fails_without(cond, &lost)) {
            state.set_always(*bit);
        }
    }

    /// The bit of the value that a path reads, if an enclosing block has tested the same value under another name, or
    /// the result of a state that leaves it.
    pub(super) fn tested_bit(&self, text: &BoundTemplate, source: &Source, reference: &Reference) -> Option<usize> {
        if reference.asked.is_empty() {
            return None;
        }
        let bit = self.bit_of(source, reference)?;
        let all = text.template.references();
        let answers = |asked: &Vec<PathSegment>| {
            let same =
                |r: &&Reference| r.path.len() == asked.len() && r.path.iter().zip(asked).all(|(a, b)| a.name == b.name);
            let Some(other) = all.iter().find(same) else { return false };
            let Some(of) = text.sources.get(other.binding.source as usize) else { return false };
            let left = match of {
                Source::Slot(slot) | Source::Member(slot, _) => self.implies.get(slot),
                // The result of a state with additional values next to it.
                Source::Compose { parts, .. } => parts.first().and_then(|p| self.implies.get(&p.slot)),
                _ => None,
            };
            left.is_some_and(|set| set.has_slot(bit)) || self.bit_of(of, other) == Some(bit)
        };
        reference.asked.iter().any(answers).then_some(bit)
    }
}
