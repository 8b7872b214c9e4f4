//! Calls of other flows.

use trefoil_ir::{FlowCallee, SubflowCall};
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
                    // All possible callees are of one kind: agents, or the workflows of a subworkflow state.
                    let sort = flows.first().map_or("agent", |(_, id)| turn.program.flows[*id].sort);
                    let message = match name {
                        "" => format!("the name of the {sort} to call is empty"),
                        _ => format!("there is no {sort} `{name}`"),
                    };
                    let mut error = RunError::new("AGENT_NOT_FOUND", message);
                    error.location = Some(text.origin);
                    error.help = suggestions::nearest_name(name, flows.iter().map(|(known, _)| &**known))
                        .map(|near| format!("did you mean `{near}`?"));
                    return Err(error.into());
                }
            }
        }
    };
    let input = call.input.as_ref().map(|e| context.eval_expr(e)).transpose()?;
    let from = call.input.as_ref().filter(|_| turn.core.traces).and_then(|e| context.expr_trail(e));
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
