//! Steps in sequence; the result is the last one's.

use trefoil_ir::StepId;
use trefoil_template::Value;

use crate::machine::eval::EvalStop;
use crate::machine::frame::{Doing, FrameId, Outcome, Started, Task};
use crate::machine::turn::Turn;

/// Starts the first step.
pub fn start(turn: &mut Turn<'_>, f: FrameId, steps: &[StepId]) -> Result<Started, EvalStop> {
    let Some(first) = steps.first() else { return Ok(Started::Done(Value::Null)) };
    if let Some(frame) = turn.core.frames.get_mut(f) {
        frame.doing = Doing::Sequence(0);
    }
    turn.spawn_step(f, 0, *first, None, |_| {})?;
    Ok(Started::Running)
}

/// Starts the next step.
pub fn ended(turn: &mut Turn<'_>, f: FrameId, steps: &[StepId], outcome: &Outcome) -> Result<(), EvalStop> {
    let Some(Doing::Sequence(at)) = turn.core.frames.get_mut(f).map(|f| &mut f.doing) else { return Ok(()) };
    let next = *at + 1;
    *at = next;
    match (outcome, steps.get(next as usize)) {
        (Outcome::Done(_), Some(step)) => turn.spawn_step(f, next, *step, None, |_| {}),
        _ => {
            turn.push(Task::Settle(f, outcome.clone()));
            Ok(())
        }
    }
}
