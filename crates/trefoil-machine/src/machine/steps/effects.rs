//! The plain effects: tools, commands, time.

use std::sync::Arc;

use trefoil_ir::{CommandCall, Expr, ToolCall, ToolKind};
use trefoil_template::{Object, Value};

use super::conversation;
use crate::machine::eval::{EvalStop, text_of};
use crate::machine::frame::{FrameId, Started};
use crate::machine::turn::Turn;
use crate::request::{CommandRequest, Request, ToolRequest};

/// The argument of an http tool that contains the web address.
const URL: &str = "url";

/// Requests a tool call.
pub fn tool(turn: &mut Turn<'_>, f: FrameId, call: &ToolCall) -> Result<Started, EvalStop> {
    let (tool, given) = conversation::given(turn, f).map(|given| (given.tool, given.arguments)).unzip();
    let context = turn.context(f, given.as_ref(), None);
    let arguments = match (&call.kind, &call.arguments) {
        (ToolKind::Http, Expr::Object(members)) => {
            let value = |(name, e): &(Arc<str>, Expr)| match e {
                Expr::Template(text) | Expr::Typed(text) if **name == *URL => {
                    Ok((name.clone(), context.address(text)?))
                }
                e => Ok((name.clone(), context.passing(e)?)),
            };
            members.iter().map(value).collect::<Result<Object, EvalStop>>()?.into()
        }
        (_, arguments) => context.passing(arguments)?,
    };
    let name = tool.flatten().unwrap_or_else(|| call.name.clone());
    let request = ToolRequest { name, kind: call.kind.clone(), arguments };
    turn.effect(f, Request::Tool(request));
    Ok(Started::Running)
}

/// Requests a command.
pub fn command(turn: &mut Turn<'_>, f: FrameId, call: &CommandCall) -> Result<Started, EvalStop> {
    let context = turn.context(f, None, None);
    let text = |e| Ok(text_of(&context.passing(e)?));
    let request = CommandRequest {
        script: call.script.clone(),
        arguments: call.arguments.iter().map(text).collect::<Result<_, EvalStop>>()?,
        env: call.env.iter().map(|(name, e)| Ok((name.clone(), text(e)?))).collect::<Result<_, EvalStop>>()?,
        workdir: call.workdir.as_ref().map(text).transpose()?,
    };
    turn.effect(f, Request::Command(request));
    Ok(Started::Running)
}

/// Requests a delay.
pub fn wait(turn: &mut Turn<'_>, f: FrameId, ms: u64) -> Result<Started, EvalStop> {
    if ms == 0 {
        return Ok(Started::Done(Value::Null));
    }
    let timer = turn.waiting(ms);
    turn.effect(f, timer);
    Ok(Started::Running)
}
