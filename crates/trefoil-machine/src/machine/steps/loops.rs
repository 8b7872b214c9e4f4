//! Loops: repeats the body until `until` holds.

use trefoil_ir::StepLoop;

use crate::error::RunError;
use crate::machine::eval::EvalStop;
use crate::machine::frame::{FrameId, FrameOutcome, FrameState, MachineTask, StepStart};
use crate::machine::turn::MachineTurn;

/// Starts the first pass.
pub fn start_loop(turn: &mut MachineTurn<'_>, f: FrameId, repeat: &StepLoop) -> Result<StepStart, EvalStop> {
    pass(turn, f, repeat, 1)?;
    Ok(StepStart::Running)
}

/// A pass ended.
pub fn end_pass(
    turn: &mut MachineTurn<'_>,
    f: FrameId,
    repeat: &StepLoop,
    outcome: &FrameOutcome,
) -> Result<(), EvalStop> {
    let Some(FrameState::Loop(at)) = turn.core.frames.get(f).map(|f| &f.doing) else { return Ok(()) };
    let at = *at;
    if let FrameOutcome::Done(value) = outcome
        && !turn.eval_context(f, Some(value), None).eval_condition(&repeat.until)?
    {
        if at >= repeat.max {
            let message = format!("after {at} iterations, `until` is still false: `{}`", repeat.until.text);
            return Err(RunError::new("MAX_ITERATIONS_EXCEEDED", message).into());
        }
        return pass(turn, f, repeat, at + 1);
    }
    turn.push_task(MachineTask::Settle(f, outcome.clone()));
    Ok(())
}

fn pass(turn: &mut MachineTurn<'_>, f: FrameId, repeat: &StepLoop, pass: u32) -> Result<(), EvalStop> {
    if let Some(frame) = turn.core.frames.get_mut(f) {
        frame.doing = FrameState::Loop(pass);
    }
    turn.spawn_step(f, pass, repeat.body, None, |path| {
        path.push_pass(pass);
    })
}
