//! Steps in sequence; the result is the last one's.

use trefoil_ir::StepId;
use trefoil_template::Value;

use crate::machine::eval::EvalStop;
use crate::machine::frame::{FrameId, FrameOutcome, FrameState, MachineTask, StepStart};
use crate::machine::turn::MachineTurn;

/// Starts the first step.
pub fn start_sequence(turn: &mut MachineTurn<'_>, f: FrameId, steps: &[StepId]) -> Result<StepStart, EvalStop> {
    let Some(first) = steps.first() else { return Ok(StepStart::Done(Value::Null)) };
    if let Some(frame) = turn.core.frames.get_mut(f) {
        frame.doing = FrameState::Sequence(0);
    }
    turn.spawn_step(f, 0, *first, None, |_| {})?;
    Ok(StepStart::Running)
}

/// Starts the next step.
pub fn continue_sequence(
    turn: &mut MachineTurn<'_>,
    f: FrameId,
    steps: &[StepId],
    outcome: &FrameOutcome,
) -> Result<(), EvalStop> {
    let Some(FrameState::Sequence(at)) = turn.core.frames.get_mut(f).map(|f| &mut f.doing) else { return Ok(()) };
    let next = *at + 1;
    *at = next;
    match (outcome, steps.get(next as usize)) {
        (FrameOutcome::Done(_), Some(step)) => turn.spawn_step(f, next, *step, None, |_| {}),
        _ => {
            turn.push_task(MachineTask::Settle(f, outcome.clone()));
            Ok(())
        }
    }
}
