//! Time limits of single effects: how long a person or a model may take. They are ordinary timers, so they continue in
//! other processes. That of a person goes on while no process has the run. The time limit of a step, which includes all tries, is in `lifecycle`.

use trefoil_ir::StepKind;

use super::frame::{FrameId, FrameOutcome, MachineTask};
use super::steps;
use super::turn::{ActivityPurpose, MachineTurn};
use crate::error::{FailureCause, RunError};
use crate::request::Request;
use crate::text::format_seconds;

impl MachineTurn<'_> {
    /// Starts a time limit for the effect that a frame has just requested.
    pub fn effect_within(&mut self, f: FrameId, timer: Request) {
        let key = self.own_activity(f, ActivityPurpose::Limit, timer, |path, above| {
            path.push_own_name("limit", above);
        });
        if let Some(frame) = self.core.frames.get_mut(f) {
            frame.extras.get_or_insert_default().limit = key;
        }
    }

    /// Cancels the time limit of a frame's effect.
    pub fn effect_came(&mut self, f: FrameId) {
        if let Some(extras) = self.extras_of_mut(f)
            && let Some(key) = extras.limit.take()
        {
            self.cancel_activity(key);
        }
    }

    /// The time limit of a frame's effect has passed.
    pub fn effect_late(&mut self, f: FrameId) {
        let Some((_, step)) = self.step_of(f) else { return };
        let Some(frame) = self.core.frames.get_mut(f) else { return };
        frame.extras.get_or_insert_default().limit = None;
        frame.effect = false;
        let key = frame.key.clone();
        // The call was made, so its reservation counts as spent, whatever its outcome.
        let (reserved, begun) = match self.core.pending.get(&key) {
            Some(pending) => (pending.reserved, pending.begun),
            None => (0, true),
        };
        self.core.assumed = self.core.assumed.saturating_add(reserved);
        self.cancel_activity(key);
        if matches!(step.kind, StepKind::Model(_)) && !self.spend_usage(f, (None, None), (0, begun)) {
            return;
        }
        let outcome = match &step.kind {
            StepKind::Human(call) => steps::person::timeout_outcome(self, f, call),
            StepKind::Model(call) => {
                let limit = format_seconds(call.parameters.timeout_ms.unwrap_or_default());
                let message = format!("the model did not complete its answer within {limit}");
                FrameOutcome::Failed(Box::new(RunError::new("TIMEOUT", message).with_cause(FailureCause::Timeout)))
            }
            _ => return,
        };
        self.push_task(MachineTask::Completed(f, outcome));
    }
}
