//! The plain effects: tools, commands, time.

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
    let (mut tool, mut given) = (None, None);
    if let Some(arguments) = conversation::given_arguments(turn, f) {
        tool = arguments.tool;
        given = Some(arguments.arguments);
    }
    let context = turn.eval_context(f, given.as_ref(), None);
    let arguments = match (&call.kind, &call.arguments) {
        (ToolKind::Http, ValueExpression::Object(members)) => {
            let mut arguments = ValueObject::with_capacity_and_hasher(members.len(), Default::default());
            for (name, expr) in members {
                let value = match expr {
                    ValueExpression::Template(text) | ValueExpression::Typed(text) if **name == *URL => {
                        context.render_address(text)?
                    }
                    expr => context.eval_uncounted(expr)?,
                };
                arguments.insert(name.clone(), value);
            }
            arguments.into()
        }
        (_, arguments) => context.eval_uncounted(arguments)?,
    };
    let name = match tool {
        Some(name) => name,
        None => call.name.clone(),
    };
    let request = ToolRequest { name, kind: call.kind.clone(), arguments };
    turn.request_effect(f, Request::Tool(request));
    Ok(StepStart::Running)
}

/// Requests a command.
pub fn request_command(turn: &mut MachineTurn<'_>, f: FrameId, call: &CommandCall) -> Result<StepStart, EvalStop> {
    let context = turn.eval_context(f, None, None);
    let text = |expr| Ok::<_, EvalStop>(text_of(&context.eval_uncounted(expr)?));
    let request = CommandRequest {
        script: call.script.clone(),
        arguments: call.arguments.iter().map(text).collect::<Result<_, EvalStop>>()?,
        env: call.env.iter().map(|(name, e)| Ok((name.clone(), text(e)?))).collect::<Result<_, EvalStop>>()?,
        workdir: match &call.workdir {
            Some(expr) => Some(text(expr)?),
            None => None,
        },
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
