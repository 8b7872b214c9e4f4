//! Concurrent steps. Each sees the slots as they were before; when all have ended, their writes are merged in the order
//! of the branches.

use trefoil_ir::{OnItemFailure, ParallelSteps};
use trefoil_template::Value;

use crate::event::ItemTally;
use crate::machine::activation::Activation;
use crate::machine::eval::EvalStop;
use crate::machine::frame::{FrameId, FrameOutcome, FrameState, MachineTask, StepStart};
use crate::machine::progress::RunningBranches;
use crate::machine::turn::MachineTurn;

/// Starts as many branches as may run.
pub fn start_parallel(turn: &mut MachineTurn<'_>, f: FrameId, parallel: &ParallelSteps) -> Result<StepStart, EvalStop> {
    if parallel.branches.is_empty() {
        return Ok(StepStart::Done(Value::Null));
    }
    if let Some(frame) = turn.core.frames.get_mut(f) {
        let overlays = vec![None; parallel.branches.len()];
        frame.doing =
            FrameState::Parallel(Box::new(RunningBranches { overlays, next: 0, running: 0, failed: 0, pumping: true }));
    }
    turn.push_task(MachineTask::Pump(f));
    Ok(StepStart::Running)
}

/// Starts the next branch, if one may start.
pub fn start_next_branch(turn: &mut MachineTurn<'_>, f: FrameId) -> Result<(), EvalStop> {
    let Some((_, step)) = turn.step_of(f) else { return Ok(()) };
    let trefoil_ir::StepKind::Parallel(parallel) = &step.kind else { return Ok(()) };
    let Some(frame) = turn.core.frames.get_mut(f) else { return Ok(()) };
    let base = frame.activation;
    let FrameState::Parallel(running) = &mut frame.doing else { return Ok(()) };
    running.pumping = false;
    let child_index = running.next;
    let Some(branch) = parallel.branches.get(child_index) else { return Ok(()) };
    if running.running >= parallel.concurrency.unwrap_or(u32::MAX).max(1) {
        return Ok(());
    }
    let overlay = turn.core.activations.insert(Activation::overlay_on(base));
    running.next += 1;
    running.running += 1;
    running.pumping = true;
    if let Some(slot) = running.overlays.get_mut(child_index) {
        *slot = Some(overlay);
    }
    turn.push_task(MachineTask::Pump(f));
    turn.spawn_step(f, child_index as u32, *branch, Some(overlay), |_| {})
}

/// A branch ended.
pub fn end_branch(
    turn: &mut MachineTurn<'_>,
    f: FrameId,
    parallel: &ParallelSteps,
    child_index: u32,
    outcome: &FrameOutcome,
) -> Result<(), EvalStop> {
    let Some(FrameState::Parallel(running)) = turn.core.frames.get_mut(f).map(|f| &mut f.doing) else { return Ok(()) };
    running.running -= 1;
    if let FrameOutcome::Failed(_) = outcome {
        if parallel.on_failure == OnItemFailure::Abort {
            turn.push_task(MachineTask::Settle(f, outcome.clone()));
            return Ok(());
        }
        running.failed += 1;
        if let Some(overlay) = running.overlays.get_mut(child_index as usize).and_then(Option::take) {
            turn.core.activations.remove(overlay);
        }
    }
    if running.next < parallel.branches.len() {
        if !std::mem::replace(&mut running.pumping, true) {
            turn.push_task(MachineTask::Pump(f));
        }
    } else if running.running == 0 {
        let failed = running.failed;
        for overlay in std::mem::take(&mut running.overlays).into_iter().flatten() {
            turn.core.activations.merge_overlay(overlay);
        }
        if failed > 0 {
            turn.count_items(f, ItemTally { total: parallel.branches.len() as u32, failed });
        }
        turn.succeed_try(f, Value::Null);
    }
    Ok(())
}
