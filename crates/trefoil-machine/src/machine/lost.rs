//! Model calls with an unknown outcome, because their process has ended. Each counts as a call, and so does the next
//! one, so limits apply however often a process ends.

use super::frame::{FrameId, Task};
use super::turn::{Purpose, Turn};
use crate::journal::Lost;
use crate::key::Key;

impl Turn<'_> {
    /// Counts the calls, then requests them again.
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
            // The first call that exceeds a limit ends the run, but the usage of the others still counts.
            if self.core.finished {
                self.core.usage.add(*usage);
            } else if self.spend(f, (Some(*usage), None), (pending.reserved, pending.begun)) {
                frames.push(f);
            }
        }
        self.try_anew(frames);
    }

    /// An effect is repeated because its process ended; the time limit of its step starts again.
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

    /// Requests activities in progress again; time limits, given in milliseconds, start again.
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
        // An effect that is requested again starts its own time limits.
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

    /// The first one is requested first.
    fn try_anew(&mut self, frames: Vec<FrameId>) {
        for f in frames.into_iter().rev() {
            // The time limits of an effect belong to the new request.
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
