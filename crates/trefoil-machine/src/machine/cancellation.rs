//! Ends of frames, including cancellation: nothing under a frame outlives it.

use super::MachineCommand;
use super::frame::{Frame, FrameId, FrameOutcome, FrameState, FrameTarget, MachineTask};
use super::turn::MachineTurn;
use crate::error::RunError;
use crate::event::EventKind;
use crate::key::Key;

impl MachineTurn<'_> {
    /// Removes a frame and notifies its parent. Its activities and children were removed before.
    pub fn end_frame(&mut self, f: FrameId, outcome: FrameOutcome) {
        self.cancel_frame_work(f);
        let Some(frame) = self.remove(f) else { return };
        let Some(parent) = frame.parent else {
            return self.finish_run(match outcome {
                FrameOutcome::Done(value) => Ok(value),
                FrameOutcome::Failed(error) => Err(*error),
            });
        };
        if self.core.traces {
            self.core.ended = Some((parent, frame.child_index, frame.base.clone()));
        }
        self.push_task(MachineTask::Ended(parent, frame.child_index, outcome));
    }

    /// Cancels everything that a frame has in progress: its activities, its questions, and everything under it.
    pub fn cancel_frame_work(&mut self, f: FrameId) {
        self.cancel_children(f);
        self.cancel_activities(f);
        if let Some(frame) = self.core.frames.get_mut(f)
            && !matches!(frame.doing, FrameState::Flow(_))
        {
            let doing = std::mem::take(&mut frame.doing);
            self.release(doing);
        }
    }

    fn cancel_activities(&mut self, f: FrameId) {
        let Some(frame) = self.core.frames.get_mut(f) else { return };
        let effect = if std::mem::take(&mut frame.effect) { Some(frame.key.clone()) } else { None };
        let timer = frame.timer.take();
        let (pending_questions, budget, limit) = match &mut frame.extras {
            Some(extras) => (std::mem::take(&mut extras.pending_questions), extras.budget.take(), extras.limit.take()),
            None => Default::default(),
        };
        for key in [effect, timer, budget, limit].into_iter().flatten() {
            self.cancel_activity(key);
        }
        for question in pending_questions {
            self.cancel_activity(question.key);
        }
    }

    /// Cancels one activity.
    pub fn cancel_activity(&mut self, key: Key) {
        if self.core.pending.swap_remove(&key).is_some() {
            self.core.output.commands.push(MachineCommand::Cancel(key));
        }
    }

    /// Cancels everything under a frame, deepest first, without recursion.
    fn cancel_children(&mut self, f: FrameId) {
        loop {
            // Descend to a frame without children.
            let mut at = f;
            while let Some(Frame { first_child: Some(child), .. }) = self.core.frames.get(at) {
                at = *child;
            }
            if at == f {
                return;
            }
            self.cancel_activities(at);
            if let Some(frame) = self.remove(at) {
                self.note_cancelled(&frame);
            }
        }
    }

    fn note_cancelled(&mut self, frame: &Frame) {
        let FrameTarget::Step(step) = frame.what else { return };
        let step = &self.program.steps[step];
        if frame.announced && step.label.is_some() {
            let mut error = RunError::new("CANCELLED", "cancelled with the step around it");
            error.key = Some(frame.base.clone());
            error.location = Some(step.origin);
            self.emit_event(&frame.base, step.origin, EventKind::StepFailed { error, handled_as: "cancel" });
        }
    }

    /// Removes a frame from the tree, frees what it owns, and adds its usage to the parent.
    fn remove(&mut self, f: FrameId) -> Option<Frame> {
        let mut frame = self.core.frames.remove(f)?;
        match frame.previous {
            Some(previous) => {
                if let Some(previous) = self.core.frames.get_mut(previous) {
                    previous.next = frame.next;
                }
            }
            None => {
                if let Some(parent) = frame.parent
                    && let Some(parent) = self.core.frames.get_mut(parent)
                {
                    parent.first_child = frame.next;
                }
            }
        }
        if let Some(next) = frame.next
            && let Some(next) = self.core.frames.get_mut(next)
        {
            next.previous = frame.previous;
        }
        if let Some(parent) = frame.parent
            && let Some(parent) = self.core.frames.get_mut(parent)
        {
            parent.usage.add_usage(frame.usage);
            parent.kept_tokens = parent.kept_tokens.saturating_add(frame.kept_tokens);
        }
        match frame.what {
            FrameTarget::Flow(_) => {
                self.core.activations.remove(frame.activation);
            }
            FrameTarget::Step(step) => {
                if self.prepared.tracks_spending
                    && let Some(slot) = self.program.steps[step].out
                    && let Some(call) = self.core.activations.flow_call_mut(frame.activation)
                {
                    call.spent.push((slot, frame.usage.total_tokens().saturating_add(frame.kept_tokens)));
                }
            }
        }
        let doing = std::mem::take(&mut frame.doing);
        self.release(doing);
        Some(frame)
    }

    /// Frees what the state of a step owns.
    fn release(&mut self, doing: FrameState) {
        if let FrameState::Parallel(running) = doing {
            for overlay in running.overlays.into_iter().flatten() {
                self.core.activations.remove(overlay);
            }
        }
    }
}
