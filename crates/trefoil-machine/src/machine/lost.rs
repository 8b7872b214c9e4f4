//! Model calls of which nobody knows how they ended, because their process is gone. Each counts as a call that was made, and the
//! next one is a call like any other: so limits hold however often a process ends.

use super::frame::{FrameId, Task};
use super::turn::{Purpose, Turn};
use crate::journal::Lost;
use crate::key::Key;

impl Turn<'_> {
    /// Books them, then asks for them again.
    pub fn lost(&mut self, lost: &[Lost], at_ms: u64) {
        self.core.now_ms = self.core.now_ms.max(at_ms);
        let mut frames = Vec::with_capacity(lost.len());
        for Lost { key, usage, .. } in lost {
            let Some(pending) = self.core.pending.swap_remove(key) else { continue };
            let f = pending.frame;
            self.core.carried = self.core.carried.saturating_sub(pending.bytes);
            if let Some(frame) = self.core.frames.get_mut(f) {
                frame.effect = false;
            }
            // The first one that passes a limit ends the run; what the others used counts nevertheless.
            if self.core.finished {
                self.core.usage.add(*usage);
            } else if self.spend(f, Some(*usage), pending.reserved) {
                frames.push(f);
            }
        }
        self.try_anew(frames);
    }

    /// An effect is done again, because its process ended: the time limit of its step begins now.
    pub fn restarted(&mut self, key: &Key, at_ms: u64) {
        self.core.now_ms = self.core.now_ms.max(at_ms);
        let Some(f) = self.core.pending.get(key).map(|pending| pending.frame) else { return };
        let Some(ms) = self.step_of(f).and_then(|(_, step)| step.policy.timeout_ms) else { return };
        let Some(frame) = self.core.frames.get_mut(f) else { return };
        let Some(timer) = frame.timer.clone() else { return };
        frame.aside.get_or_insert_default().ends_ms = Some(self.core.now_ms.saturating_add(ms));
        self.cancel_activity(timer.clone());
        let request = self.timer(ms);
        self.activity(f, timer, Purpose::Timeout, request);
    }

    /// Asks again for activities that are in progress; of time limits, the milliseconds: they begin now.
    pub fn ask_again(&mut self, again: &[(Key, Option<u64>)], at_ms: u64) {
        self.core.now_ms = self.core.now_ms.max(at_ms);
        let (mut frames, mut limits) = (Vec::new(), Vec::new());
        for (key, ms) in again {
            let Some(pending) = self.core.pending.swap_remove(key) else { continue };
            let (f, purpose) = (pending.frame, pending.purpose);
            self.core.carried = self.core.carried.saturating_sub(pending.bytes);
            match ms {
                Some(ms) => limits.push((f, purpose, key, *ms)),
                None => {
                    if let Some(frame) = self.core.frames.get_mut(f) {
                        frame.effect = false;
                        frames.push(f);
                    }
                }
            }
        }
        // An effect that is requested again brings its limits with it.
        limits.retain(|(f, ..)| !frames.contains(f));
        for (f, purpose, key, ms) in limits {
            let ends = self.core.now_ms.saturating_add(ms);
            if purpose == Purpose::Timeout
                && let Some(frame) = self.core.frames.get_mut(f)
            {
                frame.aside.get_or_insert_default().ends_ms = Some(ends);
            }
            let request = self.timer(ms);
            self.activity(f, key.clone(), purpose, request);
        }
        self.try_anew(frames);
    }

    /// The first one's turn comes first.
    fn try_anew(&mut self, frames: Vec<FrameId>) {
        for f in frames.into_iter().rev() {
            // The time limits of an effect are those of the one that is requested now.
            self.effect_came(f);
            let timer = self.core.frames.get_mut(f).and_then(|frame| {
                if let Some(aside) = frame.aside.as_deref_mut() {
                    aside.same_call = false;
                }
                frame.timer.take()
            });
            if let Some(key) = timer {
                self.cancel_activity(key);
            }
            self.push(Task::Try(f));
        }
    }
}
