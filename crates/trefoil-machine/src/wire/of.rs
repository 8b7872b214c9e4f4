//! Converts from the machine's requests.

use trefoil_ir::{AnswerFormat, Guard, OnTimeout, Program, SchemaId, ToolKind};
use trefoil_template::{Question, Value};

use super::ask::WireEntry;
use super::*;
use crate::clock::Due;
use crate::guard;
use crate::key::ContentKey;
use crate::request::{CommandRequest, HumanRequest, Message, ModelRequest, Request, ToolRequest};

impl WireRequest {
    /// The wire form of a request of this program, with its schemas.
    pub fn of(request: &Request, program: &Program) -> Self {
        let request = match request {
            Request::Model(request) => model(request, program),
            Request::Tool(request) => tool(request),
            Request::Command(request) => WireKind::Command { ask: command(request) },
            Request::Human(request) => human(request),
            Request::Describe(wanted) => {
                WireKind::Describe { ask: AskDescribe { tools: wanted.iter().map(AskTools::of).collect() } }
            }
            Request::Timer { ms, due } => {
                let how = match due {
                    Due::Run(at) => HowTimer { due_ms: at.0, limits: false },
                    Due::Work(at) => HowTimer { due_ms: at.0, limits: true },
                };
                WireKind::Timer { ask: AskTimer { ms: *ms }, how }
            }
            Request::Decide(question) => {
                let how = HowDecide { text: question.text.clone() };
                WireKind::Decide { ask: AskDecide::of(question), how }
            }
        };
        Self { v: VERSION, request }
    }
}

impl AskDecide {
    /// The wire form of a question.
    pub fn of(question: &Question) -> Self {
        let Question { expression, policy, presence, schema, text: _ } = question;
        let (grammar, expression) = (policy.conditions, expression.clone());
        Self { grammar, expression, presence: *presence, schema: schema.clone() }
    }
}

fn model(request: &ModelRequest, program: &Program) -> WireKind {
    let ModelRequest {
        speaker,
        provider,
        model,
        messages,
        parameters,
        format,
        schema,
        guards,
        stream,
        provisional,
        tools,
    } = request;
    let (schema_name, schema) = schema.clone().unzip();
    let messages = messages.iter().map(|message| Message { parts: Vec::new(), ..message.clone() });
    let ask = AskModel {
        provider: provider.clone(),
        model: model.clone(),
        messages: messages.collect(),
        parameters: parameters.without_timeout(),
        format: format.into(),
        schema,
        tools: tools.clone(),
    };
    let timeout_ms = parameters.timeout_ms;
    let json = |id| program.schema(id).map(|schema| schema.json.clone()).unwrap_or_default();
    let how = HowModel {
        speaker: speaker.clone(),
        schema_name,
        timeout_ms,
        stream: *stream,
        provisional: *provisional,
        guards: guards.iter().map(|guard| guard_of(guard, &json)).collect(),
    };
    WireKind::Model { ask: Box::new(ask), how }
}

impl From<&AnswerFormat> for WireFormat {
    fn from(format: &AnswerFormat) -> Self {
        match format {
            AnswerFormat::Text => Self::Text,
            AnswerFormat::Json(_) => Self::Json,
            AnswerFormat::JsonOrText => Self::JsonOrText,
        }
    }
}

fn guard_of(guard: &Guard, json: &dyn Fn(SchemaId) -> Value) -> WireGuard {
    match guard {
        Guard::Injection => WireGuard::Injection {},
        Guard::Length { max_chars, refuse } => WireGuard::Length { max_chars: *max_chars as u64, refuse: *refuse },
        Guard::Pii { entities, action, replacement } => {
            WireGuard::Pii { entities: entities.clone(), action: *action, replacement: replacement.clone() }
        }
        Guard::Schema(id) => WireGuard::Schema { schema: json(*id) },
        Guard::TokenCap { max_tokens, warn } => WireGuard::TokenCap { max_tokens: *max_tokens, warn: *warn },
        Guard::CostCap { max_micro, warn } => WireGuard::CostCap { max_micro: *max_micro, warn: *warn },
    }
}

/// A digest of the settings of those guardrails that can change an answer.
pub fn changing_guards(guards: &[Guard]) -> ContentKey {
    // No schema is among them, so none is looked up.
    let of = guards.iter().filter(|guard| guard::changes(guard)).map(|guard| guard_of(guard, &|_| Value::Null));
    ContentKey::of_text(&String::from_utf8_lossy(&super::canonical(&of.collect::<Vec<_>>())))
}

fn tool(request: &ToolRequest) -> WireKind {
    let ToolRequest { name, kind, arguments } = request;
    // An HTTP request or a Python function says in its arguments what it does. Its name may be that of its step.
    let (known_by, shown_as) = match kind {
        ToolKind::Local | ToolKind::Mcp { .. } => (Some(name.clone()), None),
        ToolKind::Http | ToolKind::Python => (None, Some(name.clone())),
    };
    let ask = AskTool { name: known_by, tool: WireTool::of(kind), arguments: arguments.clone() };
    WireKind::Tool { ask, how: HowTool { name: shown_as } }
}

impl WireTool {
    /// The wire form.
    pub fn of(kind: &ToolKind) -> Self {
        match kind {
            ToolKind::Local => Self::Local {},
            ToolKind::Http => Self::Http {},
            ToolKind::Python => Self::Python {},
            ToolKind::Mcp { server, headers } => Self::Mcp {
                server: server.clone(),
                headers: headers
                    .iter()
                    .map(|(name, value)| WireEntry { name: name.clone(), value: value.clone() })
                    .collect(),
            },
        }
    }
}

fn command(request: &CommandRequest) -> AskCommand {
    let CommandRequest { script, arguments, env, workdir } = request;
    let env = env.iter().map(|(name, value)| WireEntry { name: name.clone(), value: value.clone() });
    AskCommand { script: script.clone(), arguments: arguments.clone(), env: env.collect(), workdir: workdir.clone() }
}

fn human(request: &HumanRequest) -> WireKind {
    let HumanRequest { step, prompt, accepts, choices, refused, timeout_ms, on_timeout, answer_by: _ } = request;
    let default = if let OnTimeout::Answer(answer) = on_timeout { Some(answer.clone()) } else { None };
    let ask = AskHuman { prompt: prompt.clone(), default, refused: refused.clone() };
    let (accepts, choices) = (accepts.clone(), choices.clone());
    WireKind::Human { ask, how: HowHuman { step: step.clone(), timeout_ms: *timeout_ms, accepts, choices } }
}
