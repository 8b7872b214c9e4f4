//! Calls of other flows.

use std::sync::Arc;

use trefoil_ir::{FlowCallee, FlowId, Program, SubflowCall};
use trefoil_syntax::suggestions;

use super::conversation;
use crate::error::RunError;
use crate::machine::eval::EvalStop;
use crate::machine::frame::{FrameId, StepStart};
use crate::machine::progress::{CallTrails, RunningFlow};
use crate::machine::turn::MachineTurn;

/// Makes the call. Its end is the step's.
pub fn start_call(turn: &mut MachineTurn<'_>, f: FrameId, call: &SubflowCall) -> Result<StepStart, EvalStop> {
    let given = conversation::given_arguments(turn, f).map(|given| given.arguments);
    let context = turn.eval_context(f, given.as_ref(), None);
    let flow = match &call.callee {
        FlowCallee::Flow(flow) => *flow,
        FlowCallee::Named { name: text, flows } => {
            let name = context.render_text(text)?.to_text();
            let name = name.trim();
            match flows.iter().find(|(known, _)| **known == *name) {
                Some((_, flow)) => *flow,
                None => {
                    let mut error = unknown_callee(turn.program, name, flows);
                    error.location = Some(text.origin);
                    return Err(error.into());
                }
            }
        }
    };
    let (mut input, mut from) = (None, None);
    if let Some(expr) = &call.input {
        input = Some(context.eval_expr(expr)?);
        if turn.core.traces {
            from = context.expr_trail(expr);
        }
    }
    let Some(frame) = turn.core.frames.get(f) else { return Ok(StepStart::Running) };
    let (key, activation) = (frame.key.clone(), frame.activation);
    turn.spawn_flow(
        Some(f),
        0,
        flow,
        key,
        Some(activation),
        RunningFlow { input, trails: CallTrails::of_input(from), ..RunningFlow::default() },
    )?;
    Ok(StepStart::Running)
}

fn unknown_callee(program: &Program, name: &str, flows: &[(Arc<str>, FlowId)]) -> RunError {
    // All possible callees are of one kind: agents, or the workflows of a subworkflow state.
    let sort = match flows.first() {
        Some((_, flow)) => program.flows[*flow].sort,
        None => "agent",
    };
    let message = match name {
        "" => format!("the name of the {sort} to call is empty"),
        _ => format!("there is no {sort} `{name}`"),
    };
    let mut error = RunError::new("AGENT_NOT_FOUND", message);
    if let Some(near) = suggestions::nearest_name(name, flows.iter().map(|(known, _)| &**known)) {
        error.help = Some(format!("did you mean `{near}`?"));
    }
    error
}
