//! Which step a name refers to in a place, and whether its output exists there: steps before the place; in a loop, all
//! steps from the second pass on; in parallel, none.

use trefoil_ir::ValuePresence;

use super::{AgntzAgentNames, PipelinePosition, StepOrder};
use crate::names::MissingValueReason;

/// The step with this name, and what is known about its output at this place; `None`: no step has the name.
pub fn find_step(
    names: &AgntzAgentNames,
    name: &str,
    at: PipelinePosition,
) -> Option<(usize, ValuePresence, Option<MissingValueReason>)> {
    let hits = names.steps_named(name);
    let here = step_index(names, at);
    let before = hits.iter().rev().find(|i| **i < here).copied();
    let step = before.or(hits.first().copied())?;
    let own = hits.contains(&here);
    let (defined, doubt) = match before {
        _ if names.order == StepOrder::Parallel && at != PipelinePosition::End => {
            (ValuePresence::Never, Some(concurrent_reason(own)))
        }
        None if names.order == StepOrder::Loop => (ValuePresence::Sometimes, Some(MissingValueReason::FirstPass)),
        None => (ValuePresence::Never, Some(if own { MissingValueReason::Own } else { MissingValueReason::Later })),
        Some(_) => skipped(names, hits, here),
    };
    Some((step, defined, doubt))
}

/// The index of the step that contains a place; after the last step, the number of steps.
pub fn step_index(names: &AgntzAgentNames, at: PipelinePosition) -> usize {
    match at {
        PipelinePosition::Step(i) => i,
        PipelinePosition::End => names.steps.len(),
    }
}

fn concurrent_reason(own: bool) -> MissingValueReason {
    if own { MissingValueReason::Own } else { MissingValueReason::Beside }
}

/// A step with a `when` may not have run.
fn skipped(names: &AgntzAgentNames, hits: &[usize], here: usize) -> (ValuePresence, Option<MissingValueReason>) {
    const THERE: (ValuePresence, Option<MissingValueReason>) = (ValuePresence::Always, None);
    // Another step with the same key may have left a result.
    let [only] = hits else { return THERE };
    let Some(when) = step_condition(names, *only) else { return THERE };
    // The reading step has the same condition, so both are skipped.
    if step_condition(names, here) == Some(when) {
        return THERE;
    }
    (ValuePresence::Sometimes, Some(MissingValueReason::Skipped(Some(when.into()))))
}

fn step_condition(names: &AgntzAgentNames, index: usize) -> Option<&str> {
    names.steps.get(index)?.when.as_deref()
}
