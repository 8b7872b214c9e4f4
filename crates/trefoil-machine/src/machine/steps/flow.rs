//! A call of a flow: intake, init, body, output, exports.

use trefoil_ir::{FlowDefinition, FlowId, StepKind};
use trefoil_template::{Value, ValueObject};

use crate::error::RunError;
use crate::machine::activation::{ActivationId, value_member};
use crate::machine::eval::EvalStop;
use crate::machine::frame::{Frame, FrameId, FrameOutcome, FrameState, FrameTarget};
use crate::machine::intake;
use crate::machine::progress::CallTrails;
use crate::machine::trail::{self, OriginTrail};
use crate::machine::turn::MachineTurn;

/// The time limit of a flow call's frame.
pub fn time_limit(frame: &Frame) -> Option<u64> {
    if let FrameState::Flow(call) = &frame.doing { call.time_limit } else { None }
}

/// Processes the input, evaluates `init`, starts the body.
pub fn begin_flow(turn: &mut MachineTurn<'_>, f: FrameId) -> Result<(), EvalStop> {
    let Some(frame) = turn.core.frames.get_mut(f) else { return Ok(()) };
    let FrameTarget::Flow(id) = frame.what else { return Ok(()) };
    let flow = &turn.program.flows[id];
    let activation = frame.activation;
    let FrameState::Flow(call) = &mut frame.doing else { return Ok(()) };
    if !call.taken_in
        && let Some(input) = &call.input
        && input.is_masked()
    {
        let input = input.clone();
        // Asked before anything is taken in, because this starts again with each answer.
        intake::check_masked_input(turn.prepared, id, flow, &input, &turn.eval_context(f, None, None))?;
    }
    let Some(frame) = turn.core.frames.get_mut(f) else { return Ok(()) };
    let FrameState::Flow(call) = &mut frame.doing else { return Ok(()) };
    if !std::mem::replace(&mut call.taken_in, true) {
        let filled = std::mem::take(&mut call.filled);
        let captured = call.captured.take();
        let input = call.input.take();
        let trails = call.trails.take();
        let limit = call.time_limit;
        if let Some(captured) = captured {
            for (slot, value) in captured.iter() {
                turn.core.activations.write_slot(activation, *slot, Some(value.clone()));
            }
        }
        for (slot, value) in filled {
            turn.core.activations.write_slot(activation, slot, Some(value));
        }
        let CallTrails { input: from, marks } = match trails {
            Some(trails) => *trails,
            None => CallTrails::default(),
        };
        for (slot, trail) in marks {
            turn.core.activations.set_trail(activation, slot, trail);
        }
        if let Some(ms) = limit {
            turn.start_timeout(f, ms);
        }
        turn.watch_time(f, flow);
        take_in(turn, activation, id, flow, input, &from)?;
    }
    while let Some((slot, expr)) = flow.init.get(next_init(turn, f)) {
        let value = turn.eval_context(f, None, None).eval_expr(expr)?;
        turn.core.activations.write_slot(activation, *slot, Some(value));
        turn.set_slot_trail(f, *slot, |turn| turn.eval_context(f, None, None).expr_trail(expr));
        if let Some(Frame { doing: FrameState::Flow(call), .. }) = turn.core.frames.get_mut(f) {
            call.next_init += 1;
        }
    }
    turn.spawn_step(f, 0, flow.body, None, |_| {})
}

fn next_init(turn: &MachineTurn<'_>, f: FrameId) -> usize {
    match turn.core.frames.get(f) {
        Some(Frame { doing: FrameState::Flow(call), .. }) => call.next_init,
        _ => usize::MAX,
    }
}

fn take_in(
    turn: &mut MachineTurn<'_>,
    activation: ActivationId,
    id: FlowId,
    flow: &FlowDefinition,
    input: Option<Value>,
    from: &OriginTrail,
) -> Result<(), EvalStop> {
    // The body of a fan-out may have captured its caller's input in this slot.
    if input.is_none() && turn.core.activations.read_slot(activation, flow.intake.slot).is_some() {
        return Ok(());
    }
    let (value, raw) = intake::process_input(turn.prepared, id, flow, input.as_ref())?;
    turn.core.activations.write_slot(activation, flow.intake.slot, value);
    if turn.core.traces {
        turn.core.activations.set_trail(activation, flow.intake.slot, intake::intake_trail(flow, input.as_ref(), from));
    }
    if let Some((slot, key)) = &flow.intake.raw {
        turn.core.activations.write_slot(activation, *slot, raw);
        if turn.core.traces {
            turn.core.activations.set_trail(activation, *slot, intake::raw_trail(input.as_ref(), key.as_deref(), from));
        }
    }
    Ok(())
}

/// The body ended.
pub fn end_flow_body(
    turn: &mut MachineTurn<'_>,
    f: FrameId,
    id: FlowId,
    _place: u32,
    outcome: &FrameOutcome,
) -> Result<(), EvalStop> {
    let flow = &turn.program.flows[id];
    let outcome = match (outcome, &flow.output) {
        (FrameOutcome::Done(value), Some(output)) => {
            let value = turn.eval_context(f, Some(value), None).eval_expr(output)?;
            if !value.is_within_limits() {
                return Err(RunError::too_large("the output").into());
            }
            FrameOutcome::Done(value)
        }
        (outcome, _) => outcome.clone(),
    };
    if let FrameOutcome::Done(_) = outcome {
        export(turn, f, flow);
    }
    turn.end_frame(f, outcome);
    Ok(())
}

/// Stores the flow's inner results in the caller's slot.
fn export(turn: &mut MachineTurn<'_>, f: FrameId, flow: &FlowDefinition) {
    let Some(frame) = turn.core.frames.get(f) else { return };
    let (activation, Some(parent)) = (frame.activation, frame.parent) else { return };
    let Some((_, step)) = turn.step_of(parent) else { return };
    let StepKind::Call(call) = &step.kind else { return };
    let Some(into) = call.exports else { return };
    let mut exports = ValueObject::with_capacity_and_hasher(flow.exports.len(), Default::default());
    for export in &flow.exports {
        let read = |slot| turn.core.activations.read_slot(activation, slot);
        let Some(out) = read(export.slot) else { continue };
        let Some(out) = value_member(out, &export.member) else { continue };
        let inner = export.inner.and_then(read).cloned().unwrap_or_default();
        let pair: Value = [("out", out.clone()), ("in", inner)].into_iter().collect();
        exports.insert(export.key.clone(), pair);
    }
    turn.write_slot(parent, into, Some(exports.into()));
    turn.set_slot_trail(parent, into, |turn| {
        let from = |slot| turn.core.activations.slot_trail(activation, slot);
        let members = flow.exports.iter().map(|export| {
            let out = trail::trail_member(&from(export.slot), &export.member);
            let inner = export.inner.and_then(from);
            (export.key.clone(), trail::object_trail([("out".into(), out), ("in".into(), inner)], None))
        });
        trail::object_trail(members, None)
    });
}
