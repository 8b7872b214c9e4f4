//! Creates frames and activities.

use std::sync::Arc;

use trefoil_ir::{FlowId, StepId};

use super::Command;
use super::activation::{Activation, ActivationId};
use super::eval::EvalStop;
use super::frame::{Doing, Frame, FrameId, Task, What};
use super::progress::FlowCall;
use super::turn::{Pending, Purpose, Turn};
use crate::error::RunError;
use crate::key::{ContentKey, Key, Path};
use crate::request::{Activity, Request};

/// The maximum nesting of calls. A cycle of calls is a load error; this also stops one caused by a rendered name.
const MAX_DEPTH: u32 = 128;

impl Turn<'_> {
    /// Starts a step under a structure. `write` puts the structure's own mark (pass, visit) before the step's segment.
    pub fn spawn_step(
        &mut self,
        parent: FrameId,
        place: u32,
        step: StepId,
        activation: Option<ActivationId>,
        write: impl FnOnce(&mut Path<'_>),
    ) -> Result<(), EvalStop> {
        self.count()?;
        let segment = self.prepared.segment(step);
        let Some(above) = self.core.frames.get(parent) else { return Ok(()) };
        let key = self.core.keys.make(&above.key, |path| {
            write(path);
            path.name(segment);
        });
        let activation = activation.unwrap_or(above.activation);
        self.insert(Frame::new(Some(parent), place, What::Step(step), activation, key));
        Ok(())
    }

    /// Starts a call of a flow in a separate activation.
    pub fn spawn_flow(
        &mut self,
        parent: Option<FrameId>,
        place: u32,
        flow: FlowId,
        key: Key,
        caller: Option<ActivationId>,
        call: FlowCall,
    ) -> Result<(), EvalStop> {
        self.count()?;
        let depth = caller.and_then(|a| self.core.activations.call(a)).map_or(0, |c| c.depth + 1);
        if depth > MAX_DEPTH {
            return Err(
                RunError::new("LIMIT_EXCEEDED", format!("calls are nested more than {MAX_DEPTH} levels deep")).into()
            );
        }
        let slots = self.program.flows[flow].slots.len();
        let activation = Activation::of_call(flow, slots, caller, depth, self.core.clock.work_now());
        let activation = self.core.activations.insert(activation);
        let mut frame = Frame::new(parent, place, What::Flow(flow), activation, key);
        frame.doing = Doing::Flow(Box::new(call));
        self.insert(frame);
        Ok(())
    }

    fn insert(&mut self, mut frame: Frame) {
        let parent = frame.parent;
        let next = parent.and_then(|p| self.core.frames.get(p)).and_then(|p| p.first_child);
        frame.next = next;
        let id = self.core.frames.insert(frame);
        if let Some(next) = next.and_then(|n| self.core.frames.get_mut(n)) {
            next.previous = Some(id);
        }
        if let Some(parent) = parent.and_then(|p| self.core.frames.get_mut(p)) {
            parent.first_child = Some(id);
        }
        self.push(Task::Begin(id));
    }

    /// Requests a step's effect from the driver, under the step's own key.
    pub fn effect(&mut self, f: FrameId, request: Request) {
        let Some(frame) = self.core.frames.get_mut(f) else { return };
        frame.effect = true;
        let key = frame.key.clone();
        self.activity(f, key, Purpose::Effect, request);
    }

    /// Requests an additional activity of a step from the driver: `KEY~NAME`.
    pub fn own_activity(
        &mut self,
        f: FrameId,
        purpose: Purpose,
        request: Request,
        write: impl FnOnce(&mut Path<'_>, u32),
    ) -> Option<Key> {
        let above = self.sharing(f);
        let frame = self.core.frames.get(f)?;
        let key = self.core.keys.make(&frame.key, |path| write(path, above));
        self.activity(f, key.clone(), purpose, request);
        Some(key)
    }

    pub(super) fn activity(&mut self, f: FrameId, key: Key, purpose: Purpose, request: Request) {
        let Some(step) = self.nearest_step(f) else { return };
        let model = matches!(request, Request::Model(_));
        let again = model && self.is_same_call(f);
        self.core.calls += u64::from(model && !again);
        let bytes = request.weight();
        let begun = !self.core.flags.reuses;
        let reserved = if begun { self.reserve(&request) } else { 0 };
        self.core.carried = self.core.carried.saturating_add(bytes);
        let content = ContentKey::of(&request);
        let labels = self.labels(f);
        let asked = self.core.clock.work_now();
        self.core.pending.insert(key.clone(), Pending { frame: f, purpose, asked, bytes, reserved, begun });
        self.core.output.commands.push(Command::Start(Activity { key, step, content, labels, again, request }));
    }

    /// How many enclosing frames have the same key: structures without a label.
    fn sharing(&self, f: FrameId) -> u32 {
        let Some(frame) = self.core.frames.get(f) else { return 0 };
        let mut above = frame.parent.and_then(|p| self.core.frames.get(p));
        let mut count = 0;
        while let Some(next) = above.filter(|a| a.key == frame.key) {
            count += 1;
            above = next.parent.and_then(|p| self.core.frames.get(p));
        }
        count
    }

    /// The step of a frame; for a flow call, the step that makes the call.
    fn nearest_step(&self, f: FrameId) -> Option<StepId> {
        match self.core.frames.get(f)?.what {
            What::Step(step) => Some(step),
            What::Flow(flow) => Some(self.program.flows[flow].body),
        }
    }

    /// The labels of the steps around a frame and its own label, outermost first.
    pub fn labels(&self, f: FrameId) -> Arc<[Arc<str>]> {
        let mut labels = Vec::new();
        let mut at = Some(f);
        while let Some(frame) = at.and_then(|f| self.core.frames.get(f)) {
            if let What::Step(step) = frame.what
                && let Some(label) = self.program.steps[step].label.as_ref()
            {
                labels.push(label.clone());
            }
            at = frame.parent;
        }
        labels.reverse();
        labels.into()
    }
}
