//! Converts back to the machine's requests.

use std::fmt;

use trefoil_ir::{AnswerFormat, Guard, ModelParameters, OnTimeout, Program, SchemaId, ToolKind};
use trefoil_template::{Policy, Question, Value};

use super::*;
use crate::clock::{Due, RunMs, WorkMs};
use crate::request::{CommandRequest, HumanRequest, ModelRequest, Request, ToolRequest, ToolsRequest};

/// Why a stored request cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WireError {
    /// It was written by a later version than this build can read.
    Newer(u16),
    /// It contains a schema that the program does not have.
    Schema,
}

impl fmt::Display for WireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Newer(v) => write!(f, "the request has version {v}, but this build reads only up to {VERSION}"),
            Self::Schema => f.write_str("the request has a schema that is not in this program"),
        }
    }
}

impl std::error::Error for WireError {}

impl WireRequest {
    /// The request, given the same program. The origins of the parts of messages are lost.
    pub fn request(&self, program: &Program) -> Result<Request, WireError> {
        if self.v > VERSION {
            return Err(WireError::Newer(self.v));
        }
        Ok(match self.request.clone() {
            WireKind::Model { ask, how } => Request::Model(Box::new(model(*ask, how, program)?)),
            WireKind::Tool { ask, how } => Request::Tool(tool(ask, how)),
            WireKind::Command { ask: AskCommand { script, arguments, env, workdir } } => {
                let env = env.into_iter().map(|entry| (entry.name, entry.value)).collect();
                Request::Command(CommandRequest { script, arguments, env, workdir })
            }
            WireKind::Human { ask: AskHuman { prompt, default, refused }, how } => {
                let on_timeout = default.map_or(OnTimeout::Fail, OnTimeout::Answer);
                let HowHuman { step, timeout_ms, accepts, choices } = how;
                let answer_by = None;
                Request::Human(HumanRequest {
                    step,
                    prompt,
                    accepts,
                    choices,
                    refused,
                    timeout_ms,
                    on_timeout,
                    answer_by,
                })
            }
            WireKind::Describe { ask } => {
                let wanted = |AskTools { tool, names }| ToolsRequest { kind: kind(tool), names };
                Request::Describe(ask.tools.into_iter().map(wanted).collect())
            }
            WireKind::Timer { ask, how: HowTimer { due_ms, limits } } => {
                let due = if limits { Due::Work(WorkMs(due_ms)) } else { Due::Run(RunMs(due_ms)) };
                Request::Timer { ms: ask.ms, due }
            }
            WireKind::Decide { ask: AskDecide { grammar, expression, presence, schema }, how } => {
                Request::Decide(Question {
                    expression,
                    policy: Policy::with(grammar),
                    text: how.text,
                    presence,
                    schema,
                })
            }
        })
    }
}

fn model(ask: AskModel, how: HowModel, program: &Program) -> Result<ModelRequest, WireError> {
    let AskModel { provider, model, messages, parameters, format, schema, tools } = ask;
    let HowModel { speaker, schema_name, timeout_ms, stream, provisional, guards } = how;
    let format = match format {
        WireFormat::Text => AnswerFormat::Text,
        WireFormat::Json => AnswerFormat::Json(known(schema.as_ref(), program)?),
        WireFormat::JsonOrText => AnswerFormat::JsonOrText,
    };
    let guards = guards.into_iter().map(|guard| self::guard(guard, program)).collect::<Result<_, _>>()?;
    Ok(ModelRequest {
        speaker,
        provider,
        model,
        messages,
        parameters: ModelParameters { timeout_ms, ..parameters },
        format,
        schema: schema.map(|schema| (schema_name.unwrap_or_default(), schema)),
        guards,
        stream,
        provisional,
        tools,
    })
}

fn guard(guard: WireGuard, program: &Program) -> Result<Guard, WireError> {
    Ok(match guard {
        WireGuard::Injection {} => Guard::Injection,
        WireGuard::Length { max_chars, refuse } => {
            Guard::Length { max_chars: usize::try_from(max_chars).unwrap_or(usize::MAX), refuse }
        }
        WireGuard::Pii { entities, action, replacement } => Guard::Pii { entities, action, replacement },
        WireGuard::Schema { schema } => Guard::Schema(known(Some(&schema), program)?),
        WireGuard::TokenCap { max_tokens, warn } => Guard::TokenCap { max_tokens, warn },
        WireGuard::CostCap { max_micro, warn } => Guard::CostCap { max_micro, warn },
    })
}

/// The program's own schema that is equal to this one.
fn known(schema: Option<&Value>, program: &Program) -> Result<SchemaId, WireError> {
    let at = program.schemas.iter().position(|own| Some(&own.json) == schema).ok_or(WireError::Schema)?;
    u32::try_from(at).map(SchemaId).map_err(|_| WireError::Schema)
}

fn tool(ask: AskTool, how: HowTool) -> ToolRequest {
    ToolRequest { name: ask.name.or(how.name).unwrap_or_default(), kind: kind(ask.tool), arguments: ask.arguments }
}

fn kind(tool: WireTool) -> ToolKind {
    match tool {
        WireTool::Local {} => ToolKind::Local,
        WireTool::Http {} => ToolKind::Http,
        WireTool::Python {} => ToolKind::Python,
        WireTool::Mcp { server, headers } => {
            ToolKind::Mcp { server, headers: headers.into_iter().map(|one| (one.name, one.value)).collect() }
        }
    }
}
