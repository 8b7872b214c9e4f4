//! Activities with an unknown outcome, because their process has ended. A model call counts as a call, and so does the next one, so
//! limits on calls apply however often a process ends. The time that an activity had worked is lost with it and counts towards no time
//! limit: its own starts again, and those around it are put off.

use std::collections::BTreeMap;

use super::frame::{FrameId, FrameTarget, MachineTask};
use super::steps;
use super::turn::{ActivityPurpose, MachineTurn};
use crate::clock::{DueTime, RunMs};
use crate::journal::LostModelCall;
use crate::key::Key;
use crate::request::Request;

impl MachineTurn<'_> {
    /// Counts the calls, then requests them again.
    pub fn recover_lost_calls(&mut self, lost: &[LostModelCall], at_ms: u64) {
        self.core.clock.advance_to(RunMs(at_ms));
        self.put_off(lost.iter().map(|lost| &lost.key));
        let mut frames = Vec::with_capacity(lost.len());
        for LostModelCall { key, usage, .. } in lost {
            let Some(pending) = self.core.pending.swap_remove(key) else { continue };
            let f = pending.frame;
            self.core.carried = self.core.carried.saturating_sub(pending.bytes);
            if let Some(frame) = self.core.frames.get_mut(f) {
                frame.effect = false;
            }
            // The first call that exceeds a limit ends the run, but the usage of the others still counts.
            if self.core.finished {
                self.core.usage.add_usage(*usage);
            } else if self.spend_usage(f, (Some(*usage), None), (pending.reserved, pending.begun)) {
                frames.push(f);
            }
        }
        self.try_anew(frames);
    }

    /// Puts off the time limits around activities whose work was lost by the time that they had worked; around several, by the
    /// longest.
    pub fn put_off<'k>(&mut self, lost: impl IntoIterator<Item = &'k Key>) {
        let now = self.core.clock.work_now();
        let mut around: BTreeMap<FrameId, u64> = BTreeMap::new();
        for key in lost {
            let Some(pending) = self.core.pending.get(key) else { continue };
            let worked = now.ms_since(pending.asked);
            if worked == 0 {
                continue;
            }
            let mut next = self.parent_of(pending.frame);
            while let Some(f) = next {
                let most = around.entry(f).or_default();
                *most = worked.max(*most);
                next = self.parent_of(f);
            }
        }
        for (f, worked) in around {
            self.put_off_timeout(f, worked);
            self.put_off_budget(f, worked);
        }
    }

    fn put_off_timeout(&mut self, f: FrameId, worked: u64) {
        let Some(frame) = self.core.frames.get(f) else { return };
        let limit = match frame.what {
            FrameTarget::Step(step) => self.program.steps[step].policy.timeout_ms,
            FrameTarget::Flow(_) => steps::flow::time_limit(frame),
        };
        let Some(timer) = frame.timer.clone() else { return };
        let Some(pending) = self.core.pending.get(&timer) else { return };
        if pending.purpose != ActivityPurpose::Timeout {
            return;
        }
        let (Some(ms), Some(extras)) = (limit, &frame.extras) else { return };
        let Some(ends) = extras.ends else { return };
        let ends = ends.plus_ms(worked);
        if let Some(frame) = self.core.frames.get_mut(f) {
            frame.extras.get_or_insert_default().ends = Some(ends);
        }
        self.cancel_activity(timer.clone());
        self.request_activity(f, timer, ActivityPurpose::Timeout, Request::Timer { ms, due: DueTime::Work(ends) });
    }

    fn put_off_budget(&mut self, f: FrameId, worked: u64) {
        let Some(frame) = self.core.frames.get(f) else { return };
        let FrameTarget::Flow(flow) = frame.what else { return };
        let timer = match &frame.extras {
            Some(extras) => extras.budget.clone(),
            None => None,
        };
        let Some(budget) = &self.program.flows[flow].budget else { return };
        let Some(limit) = budget.max_duration_ms else { return };
        let Some(call) = self.core.activations.flow_call_mut(frame.activation) else { return };
        call.began = call.began.plus_ms(worked);
        let ms = limit.saturating_add(1);
        let due = DueTime::Work(call.began.plus_ms(ms));
        if let Some(timer) = timer {
            self.cancel_activity(timer.clone());
            self.request_activity(f, timer, ActivityPurpose::Budget, Request::Timer { ms, due });
        }
    }

    /// An effect is repeated because its process ended; the time limit of its step starts again.
    pub fn restart_effect(&mut self, key: &Key, at_ms: u64) {
        self.core.clock.advance_to(RunMs(at_ms));
        self.put_off([key]);
        let now = self.core.clock.work_now();
        let Some(pending) = self.core.pending.get_mut(key) else { return };
        pending.asked = now;
        let f = pending.frame;
        let Some((_, step)) = self.step_of(f) else { return };
        let Some(ms) = step.policy.timeout_ms else { return };
        let Some(frame) = self.core.frames.get_mut(f) else { return };
        let Some(timer) = frame.timer.clone() else { return };
        frame.extras.get_or_insert_default().ends = Some(self.core.clock.work_now().plus_ms(ms));
        self.cancel_activity(timer.clone());
        let request = self.limit_timer(ms);
        self.request_activity(f, timer, ActivityPurpose::Timeout, request);
    }

    /// Requests activities in progress again; timers, given by their requests, start again.
    pub fn ask_again(&mut self, again: &[(Key, Option<Request>)], at_ms: u64) {
        self.core.clock.advance_to(RunMs(at_ms));
        let (mut frames, mut limits) = (Vec::new(), Vec::new());
        for (key, timer) in again {
            let Some(pending) = self.core.pending.swap_remove(key) else { continue };
            let (f, purpose) = (pending.frame, pending.purpose);
            self.core.carried = self.core.carried.saturating_sub(pending.bytes);
            match timer {
                Some(timer) => limits.push((f, purpose, key, timer)),
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
        for (f, purpose, key, timer) in limits {
            let Request::Timer { ms, due } = *timer else { continue };
            let request = match due {
                DueTime::Run(_) => self.wait_timer(ms),
                DueTime::Work(_) => self.limit_timer(ms),
            };
            if purpose == ActivityPurpose::Timeout
                && let Some(frame) = self.core.frames.get_mut(f)
            {
                frame.extras.get_or_insert_default().ends = Some(self.core.clock.work_now().plus_ms(ms));
            }
            self.request_activity(f, key.clone(), purpose, request);
        }
        self.try_anew(frames);
    }

    /// The first one is requested first.
    fn try_anew(&mut self, frames: Vec<FrameId>) {
        for f in frames.into_iter().rev() {
            // The time limits of an effect belong to the new request.
            self.effect_came(f);
            let mut timer = None;
            if let Some(frame) = self.core.frames.get_mut(f) {
                timer = frame.timer.take();
                if let Some(extras) = &mut frame.extras {
                    extras.same_call = false;
                }
            }
            if let Some(key) = timer {
                self.cancel_activity(key);
            }
            self.push_task(MachineTask::Try(f));
        }
    }
}
