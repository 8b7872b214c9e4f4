//! What is known to be set because a condition held, or because of the result of a block's test.

use trefoil_ir::solver::ConditionCases;
use trefoil_ir::{BoundCondition, BoundTemplate, SlotId, Source};
use trefoil_template::{PathSegment, Reference, Value};

use super::AssignmentWalk;
use super::missing_members::is_lost;
use super::null_tests::fails_without;
use crate::semantic::paths::joined_path;
use crate::semantic::slots::SlotState;

/// Whether a condition holds in no case; `None`: not all cases are known.
fn never_holds(cases: Option<&ConditionCases>) -> Option<bool> {
    let cases = cases?;
    if cases.is_open(0) {
        return None;
    }
    let mut held = false;
    cases.visit_cases(true, &mut |case| {
        held |= case.condition_holds(0);
        !held
    });
    Some(!held)
}

/// Whether a condition never holds if some values have no value. `gone`: its cases without them; `lost` says which they
/// are.
fn never_holds_without(
    cond: &BoundCondition,
    gone: Option<&ConditionCases>,
    lost: &dyn Fn(&Source, &[&str]) -> bool,
) -> bool {
    match never_holds(gone) {
        Some(never) => never,
        None => fails_without(cond, lost),
    }
}

/// Whether a path starts with a key; without a key, every path does.
fn starts_with_key<N: AsRef<str>>(path: &[N], key: Option<&str>) -> bool {
    match (key, path) {
        (None, _) => true,
        (Some(key), [first, ..]) => first.as_ref() == key,
        (Some(_), []) => false,
    }
}

impl AssignmentWalk<'_, '_> {
    /// The bit of the value that a path reads, if there is one.
    fn bit_of(&self, source: &Source, reference: &Reference) -> Option<usize> {
        match source {
            Source::Slot(slot) => {
                if let Some(first) = reference.path.get(usize::from(reference.binding.skip))
                    && let Some(bit) = self.keys.get(&(*slot, first.name.clone()))
                {
                    return Some(*bit);
                }
                Some(slot.index())
            }
            Source::Member(slot, _) => Some(slot.index()),
            _ => None,
        }
    }

    /// The key whose bit this is.
    fn key_of(&self, bit: usize) -> Option<&str> {
        let ((_, key), _) = self.keys.iter().find(|(_, known)| **known == bit)?;
        Some(key)
    }

    /// After a condition has held, everything is set without which it never holds.
    pub(super) fn apply_condition(&self, cond: &BoundCondition, state: &mut SlotState) {
        for reference in cond.condition.references() {
            let Some(source) = cond.sources.get(reference.binding.source as usize) else { continue };
            let (Source::Slot(of) | Source::Member(of, _)) = source else { continue };
            self.granted_success(cond, *of, state);
            let Some(bit) = self.bit_of(source, reference) else { continue };
            if state.must.has_slot(bit) {
                continue;
            }
            let key = self.key_of(bit);
            let gone = ConditionCases::new([cond], &|slot, path| {
                if slot == *of && starts_with_key(path, key) { Some(Value::Null) } else { None }
            });
            let lost = |source: &Source, path: &[&str]| match source {
                Source::Slot(slot) => slot == of && starts_with_key(path, key),
                Source::Member(slot, _) => slot == of && key.is_none(),
                _ => false,
            };
            if never_holds_without(cond, gone.as_ref(), &lost) {
                state.set_always(bit);
            }
        }
    }

    /// After a condition has held that never holds if a state has failed, the state has succeeded.
    fn granted_success(&self, cond: &BoundCondition, of: SlotId, state: &mut SlotState) {
        let Some(bit) = self.succeeded.get(&of) else { return };
        if state.must.has_slot(*bit) {
            return;
        }
        let gone = ConditionCases::new([cond], &|slot, path| {
            if slot == of && is_lost(path) { Some(Value::Null) } else { None }
        });
        let lost = |source: &Source, path: &[&str]| match source {
            Source::Slot(slot) => *slot == of && is_lost(path),
            Source::Member(slot, member) => *slot == of && is_lost(&joined_path(member, path)),
            _ => false,
        };
        if never_holds_without(cond, gone.as_ref(), &lost) {
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
        if reference.asked.iter().any(|asked| self.is_set_with(text, asked, bit)) { Some(bit) } else { None }
    }

    /// Whether a bit is set wherever the value at a tested path exists.
    fn is_set_with(&self, text: &BoundTemplate, asked: &[PathSegment], bit: usize) -> bool {
        let mut references = text.template.references().iter();
        let Some(tested) = references.find(|reference| has_same_names(&reference.path, asked)) else { return false };
        let Some(source) = text.sources.get(tested.binding.source as usize) else { return false };
        let result = match source {
            Source::Slot(slot) | Source::Member(slot, _) => Some(*slot),
            // The result of a state with additional values next to it.
            Source::Compose { parts, .. } => parts.first().map(|part| part.slot),
            _ => None,
        };
        if let Some(result) = result
            && let Some(implied) = self.implies.get(&result)
            && implied.has_slot(bit)
        {
            return true;
        }
        self.bit_of(source, tested) == Some(bit)
    }
}

fn has_same_names(path: &[PathSegment], other: &[PathSegment]) -> bool {
    path.len() == other.len() && path.iter().zip(other).all(|(a, b)| a.name == b.name)
}
