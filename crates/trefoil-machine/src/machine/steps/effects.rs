//! The plain effects: tools, commands, time.

use std::sync::Arc;

use trefoil_ir::{CommandCall, ToolCall, ToolKind, ValueExpression};
use trefoil_template::{Value, ValueObject};

use super::conversation;
use crate::machine::eval::{EvalStop, text_of};
use crate::machine::frame::{FrameId, StepStart};
use crate::machine::turn::MachineTurn;
use crate::request::{CommandRequest, Request, ToolRequest};

/// The argument of an http tool that contains the web address.
const URL: &str = "url";

/// Requests a tool call.
pub fn request_tool(turn: &mut MachineTurn<'_>, f: FrameId, call: &ToolCall) -> Result<StepStart, EvalStop> {
    let (tool, given) = conversation::given_arguments(turn, f).map(|given| (given.tool, given.arguments)).unzip();
    let context = turn.eval_context(f, given.as_ref(), None);
    let arguments = match (&call.kind, &call.arguments) {
        (ToolKind::Http, ValueExpression::Object(members)) => {
            let value = |(name, e): &(Arc<str>, ValueExpression)| match e {
                ValueExpression::Template(text) | ValueExpression::Typed(text) if **name == *URL => {
                    Ok((name.clone(), context.render_address(text)?))
                }
                e => Ok((name.clone(), context.eval_uncounted(e)?)),
            };
            members.iter().map(value).collect::<Result<ValueObject, EvalStop>>()?.into()
        }
        (_, arguments) => context.eval_uncounted(arguments)?,
    };
    let name = tool.flatten().unwrap_or_else(|| call.name.clone());
    let request = ToolRequest { name, kind: call.kind.clone(), arguments };
    turn.request_effect(f, Request::Tool(request));
    Ok(StepStart::Running)
}

/// Requests a command.
pub fn request_command(turn: &mut MachineTurn<'_>, f: FrameId, call: &CommandCall) -> Result<StepStart, EvalStop> {
    let context = turn.eval_context(f, None, None);
    let text = |e| Ok(text_of(&context.eval_uncounted(e)?));
    let request = CommandRequest {
        script: call.script.clone(),
        arguments: call.arguments.iter().map(text).collect::<Result<_, EvalStop>>()?,
        env: call.env.iter().map(|(name, e)| Ok((name.clone(), text(e)?))).collect::<Result<_, EvalStop>>()?,
        workdir: call.workdir.as_ref().map(text).transpose()?,
    };
    turn.request_effect(f, Request::Command(request));
    Ok(StepStart::Running)
}

/// Requests a delay.
pub fn request_wait(turn: &mut MachineTurn<'_>, f: FrameId, ms: u64) -> Result<StepStart, EvalStop> {
    if ms == 0 {
        return Ok(StepStart::Done(Value::Null));
    }
    let timer = turn.wait_timer(ms);
    turn.request_effect(f, timer);
    Ok(StepStart::Running)
}
