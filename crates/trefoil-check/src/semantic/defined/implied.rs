//! What is known to be set because a condition held, or because of the result of a block's test.

use std::sync::Arc;

use trefoil_ir::solve::Cases;
use trefoil_ir::{Cond, SlotId, Source, Text};
use trefoil_template::{Reference, Segment, Value};

use super::Walk;
use super::asked::fails_without;
use super::lacks::is_lost;
use crate::semantic::slots::State;

/// Whether a condition holds in no case; `None`: not all cases are known.
fn never_holds(cases: Option<&Cases>) -> Option<bool> {
    let cases = cases.filter(|cases| !cases.is_open(0))?;
    let mut held = false;
    cases.each(true, &mut |case| {
        held |= case.holds(0);
        !held
    });
    Some(!held)
}

impl Walk<'_, '_> {
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
    pub(super) fn granted(&self, cond: &Cond, state: &mut State) {
        for reference in cond.condition.references() {
            let Some(source) = cond.sources.get(reference.binding.source as usize) else { continue };
            let (Source::Slot(of) | Source::Member(of, _)) = source else { continue };
            self.granted_success(cond, *of, state);
            let Some(bit) = self.bit_of(source, reference).filter(|bit| !state.must.has(*bit)) else { continue };
            let key = self.keys.iter().find(|(_, b)| **b == bit).map(|((_, key), _)| key);
            let gone = Cases::new([cond], &|slot, path| {
                let it = slot == *of && key.is_none_or(|key| path.first() == Some(key));
                it.then_some(Value::Null)
            });
            let it = |source: &Source, path: &[&str]| match source {
                Source::Slot(slot) => slot == of && key.is_none_or(|key| path.first() == Some(&&**key)),
                Source::Member(slot, _) => slot == of && key.is_none(),
                _ => false,
            };
            if never_holds(gone.as_ref()).unwrap_or_else(|| fails_without(cond, &it)) {
                state.set(bit);
            }
        }
    }

    /// After a condition has held that never holds if a state has failed, the state has succeeded.
    fn granted_success(&self, cond: &Cond, of: SlotId, state: &mut State) {
        let Some(bit) = self.succeeded.get(&of).filter(|bit| !state.must.has(**bit)) else { return };
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
        let gone = Cases::new([cond], &failed);
        if never_holds(gone.as_ref()).unwrap_or_else(|| fails_without(cond, &lost)) {
            state.set(*bit);
        }
    }

    /// The bit of the value that a path reads, if an enclosing block has tested the same value under another name, or
    /// the result of a state that leaves it.
    pub(super) fn answered(&self, text: &Text, source: &Source, reference: &Reference) -> Option<usize> {
        if reference.asked.is_empty() {
            return None;
        }
        let bit = self.bit_of(source, reference)?;
        let all = text.template.references();
        let answers = |asked: &Vec<Segment>| {
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
            left.is_some_and(|set| set.has(bit)) || self.bit_of(of, other) == Some(bit)
        };
        reference.asked.iter().any(answers).then_some(bit)
    }
}
