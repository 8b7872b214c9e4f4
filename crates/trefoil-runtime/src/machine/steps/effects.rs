//! The plain effects: tools, commands, people, time.

use trefoil_ir::{CommandCall, HumanCall, ToolCall};
use trefoil_template::Value;

use crate::machine::eval::{Stop, text_of};
use crate::machine::frame::FrameId;
use crate::machine::lifecycle::Started;
use crate::machine::turn::Turn;
use crate::request::{CommandRequest, HumanRequest, Request, ToolRequest};

/// Asks for a tool call.
pub fn tool(turn: &mut Turn<'_>, f: FrameId, call: &ToolCall) -> Result<Started, Stop> {
    let arguments = turn.context(f, None, None).passing(&call.arguments)?;
    let request = ToolRequest { name: call.name.clone(), kind: call.kind.clone(), arguments };
    turn.effect(f, Request::Tool(request));
    Ok(Started::Running)
}

/// Asks for a command.
pub fn command(turn: &mut Turn<'_>, f: FrameId, call: &CommandCall) -> Result<Started, Stop> {
    let context = turn.context(f, None, None);
    let text = |e| Ok(text_of(&context.passing(e)?));
    let request = CommandRequest {
        script: call.script.clone(),
        arguments: call.arguments.iter().map(text).collect::<Result<_, Stop>>()?,
        env: call.env.iter().map(|(name, e)| Ok((name.clone(), text(e)?))).collect::<Result<_, Stop>>()?,
        workdir: call.workdir.as_ref().map(text).transpose()?,
    };
    turn.effect(f, Request::Command(request));
    Ok(Started::Running)
}

/// Asks for a person's answer.
pub fn human(turn: &mut Turn<'_>, f: FrameId, call: &HumanCall) -> Result<Started, Stop> {
    let prompt = text_of(&turn.context(f, None, None).passing(&call.prompt)?);
    let request = HumanRequest {
        step: turn.labels(f).last().cloned().unwrap_or_else(|| turn.program.name.clone()),
        prompt,
        timeout_ms: call.timeout_ms,
        on_timeout: call.on_timeout.clone(),
    };
    turn.effect(f, Request::Human(request));
    Ok(Started::Running)
}

/// Lets time pass.
pub fn wait(turn: &mut Turn<'_>, f: FrameId, ms: u64) -> Result<Started, Stop> {
    if ms == 0 {
        return Ok(Started::Done(Value::Null));
    }
    turn.effect(f, Request::Timer { ms });
    Ok(Started::Running)
}
