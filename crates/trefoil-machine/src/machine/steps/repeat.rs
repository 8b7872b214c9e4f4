//! Loops: repeats the body until `until` holds.

use trefoil_ir::Loop;

use crate::error::RunError;
use crate::machine::eval::EvalStop;
use crate::machine::frame::{Doing, FrameId, Outcome, Started, Task};
use crate::machine::turn::Turn;

/// Starts the first pass.
pub fn start(turn: &mut Turn<'_>, f: FrameId, repeat: &Loop) -> Result<Started, EvalStop> {
    pass(turn, f, repeat, 1)?;
    Ok(Started::Running)
}

/// A pass ended.
pub fn ended(turn: &mut Turn<'_>, f: FrameId, repeat: &Loop, outcome: &Outcome) -> Result<(), EvalStop> {
    let Some(Doing::Loop(at)) = turn.core.frames.get(f).map(|f| &f.doing) else { return Ok(()) };
    let at = *at;
    if let Outcome::Done(value) = outcome
        && !turn.context(f, Some(value), None).cond(&repeat.until)?
    {
        if at >= repeat.max {
            let message = format!("after {at} iterations, `until` is still false: `{}`", repeat.until.text);
            return Err(RunError::new("MAX_ITERATIONS_EXCEEDED", message).into());
        }
        return pass(turn, f, repeat, at + 1);
    }
    turn.push(Task::Settle(f, outcome.clone()));
    Ok(())
}

fn pass(turn: &mut Turn<'_>, f: FrameId, repeat: &Loop, pass: u32) -> Result<(), EvalStop> {
    if let Some(frame) = turn.core.frames.get_mut(f) {
        frame.doing = Doing::Loop(pass);
    }
    turn.spawn_step(f, pass, repeat.body, None, |path| {
        path.pass(pass);
    })
}
