//! Activations: the slots of one call of a flow, and its usage.
//!
//! The branches of a parallel step see the slots as they were before it. Each writes to its own overlay, and the
//! parallel step merges the overlays into the slots when all branches have ended.

use std::sync::Arc;

use trefoil_ir::{FlowId, SlotId};
use trefoil_template::Value;

use super::arena::{ArenaId, GenerationalArena};
use super::trail::OriginTrail;
use crate::clock::WorkMs;
use crate::run_limits::UsedAmounts;

/// The id of an activation or overlay.
pub type ActivationId = ArenaId<Activation>;

/// The slots of a call, or an overlay over them.
#[derive(Debug)]
pub struct Activation {
    /// The slots.
    pub slots: ActivationSlots,
    /// The origins of the values in slots, if the run records provenance: by slot in a call, in the order of `written`
    /// in an overlay. Otherwise empty.
    pub trails: Vec<OriginTrail>,
    /// The data of a call, which an overlay does not have.
    pub call: Option<Box<ActivationCall>>,
}

/// The storage of slots.
#[derive(Debug)]
pub enum ActivationSlots {
    /// Own slots.
    Own(Vec<Option<Value>>),
    /// In `base`, except those in `written`.
    Overlay {
        /// The underlying activation.
        base: ActivationId,
        /// The writes; the last one for a slot counts. `None`: unset.
        written: Vec<(SlotId, Option<Value>)>,
    },
}

/// A call of a flow.
#[derive(Debug)]
pub struct ActivationCall {
    /// The flow.
    pub flow: FlowId,
    /// The activation (or overlay) that the call was made in.
    pub caller: Option<ActivationId>,
    /// The number of enclosing calls.
    pub depth: u32,
    /// When it started, by the completions.
    pub began: WorkMs,
    /// What was used in it and in nested calls. Of the model calls, those that have ended, with an answer or a failure.
    pub used: UsedAmounts,
    /// What the results used that are reused from earlier runs.
    pub kept: UsedAmounts,
    /// Model calls that were requested.
    pub asked: u64,
    /// Whether graph nodes that have not started are skipped.
    pub skipping: bool,
    /// Limits that were already reported as exceeded, one bit each.
    pub warned: u8,
    /// Tokens by the slots that their steps filled, if the program reads them.
    pub spent: Vec<(SlotId, u64)>,
    /// The reasons why the steps failed that should have filled these slots.
    pub failures: Vec<(SlotId, Arc<str>)>,
}

/// Unsetting a slot is the same as never setting it.
const UNSET: Option<Value> = None;

impl Activation {
    /// The slots of a call, all unset.
    pub fn of_call(flow: FlowId, slots: usize, caller: Option<ActivationId>, depth: u32, began: WorkMs) -> Self {
        let call = ActivationCall {
            flow,
            caller,
            depth,
            began,
            used: UsedAmounts::default(),
            kept: UsedAmounts::default(),
            asked: 0,
            skipping: false,
            warned: 0,
            spent: Vec::new(),
            failures: Vec::new(),
        };
        Self { slots: ActivationSlots::Own(vec![UNSET; slots]), trails: Vec::new(), call: Some(Box::new(call)) }
    }

    /// An overlay.
    pub fn overlay_on(base: ActivationId) -> Self {
        Self { slots: ActivationSlots::Overlay { base, written: Vec::new() }, trails: Vec::new(), call: None }
    }
}

impl GenerationalArena<Activation> {
    /// A slot's value.
    pub fn read_slot(&self, mut id: ActivationId, slot: SlotId) -> Option<&Value> {
        loop {
            match &self.get(id)?.slots {
                ActivationSlots::Own(slots) => return slots.get(slot.index())?.as_ref(),
                ActivationSlots::Overlay { base, written } => {
                    if let Some((_, value)) = written.iter().rev().find(|(s, _)| *s == slot) {
                        return value.as_ref();
                    }
                    id = *base;
                }
            }
        }
    }

    /// Sets or unsets a slot.
    pub fn write_slot(&mut self, id: ActivationId, slot: SlotId, value: Option<Value>) {
        let Some(Activation { slots, trails, .. }) = self.get_mut(id) else { return };
        let at = match slots {
            ActivationSlots::Own(slots) => {
                if let Some(place) = slots.get_mut(slot.index()) {
                    *place = value;
                }
                slot.index()
            }
            ActivationSlots::Overlay { written, .. } => match written.iter().position(|(s, _)| *s == slot) {
                Some(at) => {
                    if let Some((_, place)) = written.get_mut(at) {
                        *place = value;
                    }
                    at
                }
                None => {
                    written.push((slot, value));
                    written.len() - 1
                }
            },
        };
        // The origin of the previous value does not apply to the new one.
        if let Some(trail) = trails.get_mut(at) {
            *trail = None;
        }
    }

    /// Records the origin of the value just written to a slot.
    pub fn set_trail(&mut self, id: ActivationId, slot: SlotId, trail: OriginTrail) {
        let Some(Activation { slots, trails, .. }) = self.get_mut(id) else { return };
        let at = match slots {
            ActivationSlots::Own(slots) => Some(slot.index()).filter(|at| *at < slots.len()),
            ActivationSlots::Overlay { written, .. } => written.iter().position(|(s, _)| *s == slot),
        };
        let Some(at) = at else { return };
        if trails.len() <= at {
            trails.resize(at + 1, None);
        }
        if let Some(place) = trails.get_mut(at) {
            *place = trail;
        }
    }

    /// The origin of a slot's value, if known.
    pub fn slot_trail(&self, mut id: ActivationId, slot: SlotId) -> OriginTrail {
        loop {
            let Activation { slots, trails, .. } = self.get(id)?;
            match slots {
                ActivationSlots::Own(_) => return trails.get(slot.index())?.clone(),
                ActivationSlots::Overlay { base, written } => match written.iter().rposition(|(s, _)| *s == slot) {
                    Some(at) => return trails.get(at)?.clone(),
                    None => id = *base,
                },
            }
        }
    }

    /// Merges an overlay into its base, and removes it.
    pub fn merge_overlay(&mut self, overlay: ActivationId) {
        if let Some(Activation { slots: ActivationSlots::Overlay { base, written }, trails, .. }) = self.remove(overlay)
        {
            let mut trails = trails.into_iter();
            for (slot, value) in written {
                self.write_slot(base, slot, value);
                if let Some(trail) = trails.next() {
                    self.set_trail(base, slot, trail);
                }
            }
        }
    }

    /// The activation of the call to which an overlay belongs; a call's own slots return themselves.
    pub fn call_of(&self, mut id: ActivationId) -> Option<ActivationId> {
        loop {
            match &self.get(id)?.slots {
                ActivationSlots::Own(_) => return Some(id),
                ActivationSlots::Overlay { base, .. } => id = *base,
            }
        }
    }

    /// The call to which an activation or overlay belongs.
    pub fn flow_call(&self, id: ActivationId) -> Option<&ActivationCall> {
        self.get(self.call_of(id)?)?.call.as_deref()
    }

    /// The same, mutable.
    pub fn flow_call_mut(&mut self, id: ActivationId) -> Option<&mut ActivationCall> {
        let id = self.call_of(id)?;
        self.get_mut(id)?.call.as_deref_mut()
    }
}

/// A member of a value by path.
pub fn value_member<'v>(value: &'v Value, path: &[Arc<str>]) -> Option<&'v Value> {
    path.iter().try_fold(value, |value, name| value.get(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_overlay_hides_its_writes_from_its_base_until_it_is_merged() {
        let mut arena = GenerationalArena::default();
        let base = arena.insert(Activation::of_call(FlowId(0), 2, None, 0, WorkMs(0)));
        arena.write_slot(base, SlotId(0), Some(Value::from(1)));
        let over = arena.insert(Activation::overlay_on(base));
        arena.write_slot(over, SlotId(0), None);
        arena.write_slot(over, SlotId(1), Some(Value::from(2)));
        assert_eq!(arena.read_slot(over, SlotId(0)), None);
        assert_eq!(arena.read_slot(base, SlotId(0)), Some(&Value::from(1)));
        assert_eq!(arena.read_slot(base, SlotId(1)), None);
        arena.merge_overlay(over);
        assert_eq!(arena.read_slot(base, SlotId(0)), None);
        assert_eq!(arena.read_slot(base, SlotId(1)), Some(&Value::from(2)));
        assert_eq!(arena.len(), 1);
    }
}
