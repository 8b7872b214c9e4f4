//! The first arm whose condition holds. Its end is the branch's.

use trefoil_ir::{BranchArm, StepId};
use trefoil_template::Value;

use crate::machine::eval::EvalStop;
use crate::machine::frame::{FrameId, StepStart};
use crate::machine::turn::MachineTurn;

/// Selects an arm and starts it.
pub fn start_branch(
    turn: &mut MachineTurn<'_>,
    f: FrameId,
    arms: &[BranchArm],
    otherwise: Option<StepId>,
) -> Result<StepStart, EvalStop> {
    let context = turn.eval_context(f, None, None);
    let mut chosen = None;
    for (at, arm) in arms.iter().enumerate() {
        if context.eval_condition(&arm.when)? {
            chosen = Some((at, arm.step));
            break;
        }
    }
    if let (None, Some(step)) = (chosen, otherwise) {
        chosen = Some((arms.len(), step));
    }
    let mut passed_over: Vec<StepId> = Vec::new();
    for step in arms.iter().map(|arm| arm.step).chain(otherwise) {
        let is_chosen = matches!(chosen, Some((_, taken)) if taken == step);
        if !is_chosen {
            passed_over.push(step);
        }
    }
    if !passed_over.is_empty() {
        // The conditions after the one that holds were not evaluated.
        let asked = match chosen {
            Some((at, _)) => at + 1,
            None => arms.len(),
        };
        let reason = not_taken(&turn.describe_condition_values(f, arms.iter().take(asked).map(|a| &a.when)));
        for step in passed_over {
            turn.note_passed_over(f, step, &reason);
        }
    }
    match chosen {
        Some((at, step)) => {
            turn.spawn_step(f, at as u32, step, None, |_| {})?;
            Ok(StepStart::Running)
        }
        None => Ok(StepStart::Done(Value::Null)),
    }
}

/// Why an arm was not taken, as far as the values show it.
pub fn not_taken(saw: &str) -> String {
    if saw.is_empty() { "branch not taken".to_owned() } else { format!("branch not taken: {saw}") }
}
