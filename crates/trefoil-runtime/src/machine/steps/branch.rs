//! The first arm that holds. Its end is the branch's.

use trefoil_ir::{Arm, StepId};
use trefoil_template::Value;

use crate::machine::eval::Stop;
use crate::machine::frame::FrameId;
use crate::machine::lifecycle::Started;
use crate::machine::turn::Turn;

/// Chooses, and starts the arm.
pub fn start(turn: &mut Turn<'_>, f: FrameId, arms: &[Arm], otherwise: Option<StepId>) -> Result<Started, Stop> {
    let context = turn.context(f, None, None);
    let mut chosen = None;
    for (at, arm) in arms.iter().enumerate() {
        if context.cond(&arm.when)? {
            chosen = Some((at, arm.step));
            break;
        }
    }
    let chosen = chosen.or_else(|| otherwise.map(|step| (arms.len(), step)));
    for step in arms.iter().map(|a| a.step).chain(otherwise) {
        if Some(step) != chosen.map(|(_, step)| step) {
            let saw = turn.saw(f, arms.iter().map(|a| &a.when));
            turn.note_passed_over(f, step, &format!("branch not taken{saw}"));
        }
    }
    match chosen {
        Some((at, step)) => {
            turn.spawn_step(f, at as u32, step, None, |_| {})?;
            Ok(Started::Running)
        }
        None => Ok(Started::Done(Value::Null)),
    }
}
