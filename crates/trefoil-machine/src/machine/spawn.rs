//! Creates frames and activities.

use std::sync::Arc;

use trefoil_ir::{FlowId, StepId};

use super::MachineCommand;
use super::activation::{Activation, ActivationId};
use super::eval::EvalStop;
use super::frame::{Frame, FrameId, FrameState, FrameTarget, MachineTask};
use super::progress::RunningFlow;
use super::turn::{ActivityPurpose, MachineTurn, PendingActivity};
use crate::error::RunError;
use crate::key::{ContentKey, Key, KeyWriter};
use crate::request::{Activity, Request};

/// The maximum nesting of calls. A cycle of calls is a load error; this also stops one caused by a rendered name.
const MAX_DEPTH: u32 = 128;

impl MachineTurn<'_> {
    /// Starts a step under a structure. `write` puts the structure's own mark (pass, visit) before the step's segment.
    pub fn spawn_step(
        &mut self,
        parent: FrameId,
        child_index: u32,
        step: StepId,
        activation: Option<ActivationId>,
        write: impl FnOnce(&mut KeyWriter<'_>),
    ) -> Result<(), EvalStop> {
        self.count_step()?;
        let segment = self.prepared.key_segment(step);
        let Some(above) = self.core.frames.get(parent) else { return Ok(()) };
        let key = self.core.keys.build_key(&above.key, |path| {
            write(path);
            path.push_name(segment);
        });
        let activation = activation.unwrap_or(above.activation);
        self.insert(Frame::new(Some(parent), child_index, FrameTarget::Step(step), activation, key));
        Ok(())
    }

    /// Starts a call of a flow in a separate activation.
    pub fn spawn_flow(
        &mut self,
        parent: Option<FrameId>,
        child_index: u32,
        flow: FlowId,
        key: Key,
        caller: Option<ActivationId>,
        call: RunningFlow,
    ) -> Result<(), EvalStop> {
        self.count_step()?;
        let depth = match caller.and_then(|caller| self.core.activations.flow_call(caller)) {
            Some(call) => call.depth + 1,
            None => 0,
        };
        if depth > MAX_DEPTH {
            return Err(
                RunError::new("LIMIT_EXCEEDED", format!("calls are nested more than {MAX_DEPTH} levels deep")).into()
            );
        }
        let slots = self.program.flows[flow].slots.len();
        let activation = Activation::of_call(flow, slots, caller, depth, self.core.clock.work_now());
        let activation = self.core.activations.insert(activation);
        let mut frame = Frame::new(parent, child_index, FrameTarget::Flow(flow), activation, key);
        frame.doing = FrameState::Flow(Box::new(call));
        self.insert(frame);
        Ok(())
    }

    fn insert(&mut self, mut frame: Frame) {
        let parent = frame.parent;
        if let Some(parent) = parent
            && let Some(parent) = self.core.frames.get(parent)
        {
            frame.next = parent.first_child;
        }
        let next = frame.next;
        let id = self.core.frames.insert(frame);
        if let Some(next) = next
            && let Some(next) = self.core.frames.get_mut(next)
        {
            next.previous = Some(id);
        }
        if let Some(parent) = parent
            && let Some(parent) = self.core.frames.get_mut(parent)
        {
            parent.first_child = Some(id);
        }
        self.push_task(MachineTask::Begin(id));
    }

    /// Requests a step's effect from the driver, under the step's own key.
    pub fn request_effect(&mut self, f: FrameId, request: Request) {
        let Some(frame) = self.core.frames.get_mut(f) else { return };
        frame.effect = true;
        let key = frame.key.clone();
        self.request_activity(f, key, ActivityPurpose::Effect, request);
    }

    /// Requests an additional activity of a step from the driver: `KEY~NAME`.
    pub fn own_activity(
        &mut self,
        f: FrameId,
        purpose: ActivityPurpose,
        request: Request,
        write: impl FnOnce(&mut KeyWriter<'_>, u32),
    ) -> Option<Key> {
        let above = self.sharing(f);
        let frame = self.core.frames.get(f)?;
        let key = self.core.keys.build_key(&frame.key, |path| write(path, above));
        self.request_activity(f, key.clone(), purpose, request);
        Some(key)
    }

    pub(super) fn request_activity(&mut self, f: FrameId, key: Key, purpose: ActivityPurpose, request: Request) {
        let Some(step) = self.nearest_step(f) else { return };
        let model = matches!(request, Request::Model(_));
        let again = model && self.is_same_call(f);
        self.core.calls += u64::from(model && !again);
        let bytes = request.fresh_weight();
        let begun = !self.core.flags.reuses;
        let reserved = if begun { self.reservation_for(&request) } else { 0 };
        self.core.carried = self.core.carried.saturating_add(bytes);
        let content = ContentKey::from_request(&request);
        let labels = self.step_labels(f);
        let asked = self.core.clock.work_now();
        self.core.pending.insert(key.clone(), PendingActivity { frame: f, purpose, asked, bytes, reserved, begun });
        self.core.output.commands.push(MachineCommand::Start(Activity { key, step, content, labels, again, request }));
    }

    /// How many enclosing frames have the same key: structures without a label.
    fn sharing(&self, f: FrameId) -> u32 {
        let Some(frame) = self.core.frames.get(f) else { return 0 };
        let mut next = frame.parent;
        let mut count = 0;
        while let Some(above) = next
            && let Some(above) = self.core.frames.get(above)
            && above.key == frame.key
        {
            count += 1;
            next = above.parent;
        }
        count
    }

    /// The step of a frame; for a flow call, the step that makes the call.
    fn nearest_step(&self, f: FrameId) -> Option<StepId> {
        match self.core.frames.get(f)?.what {
            FrameTarget::Step(step) => Some(step),
            FrameTarget::Flow(flow) => Some(self.program.flows[flow].body),
        }
    }

    /// The labels of the steps around a frame and its own label, outermost first.
    pub fn step_labels(&self, f: FrameId) -> Arc<[Arc<str>]> {
        let mut labels = Vec::new();
        let mut next = Some(f);
        while let Some(f) = next
            && let Some(frame) = self.core.frames.get(f)
        {
            if let FrameTarget::Step(step) = frame.what
                && let Some(label) = &self.program.steps[step].label
            {
                labels.push(label.clone());
            }
            next = frame.parent;
        }
        labels.reverse();
        labels.into()
    }
}
