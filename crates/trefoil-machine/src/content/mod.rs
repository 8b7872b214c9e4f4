//! What of a request affects its answer: the input of its content key.
//!
//! ```text
//! Request --> RFC 8785 bytes of {"SORT": CONTENT} --SHA-256--> ContentKey
//! ```
//!
//! These forms are a contract, because journals contain the keys. A new field is omitted if it has its default, so that the keys of
//! older requests do not change. Nothing here depends on `Debug` or on texts for people. Values are in [their wire
//! form](trefoil_template::wire), with the names of holes and never their content.
//!
//! What only says who asks, how it is shown and how long it may take is not here. Neither is the name of a step: what a request is, is
//! what it does. Golden vectors are in `tests/machine/content`.

mod jcs;

use std::sync::Arc;

use serde::Serialize;
use sha2::{Digest as _, Sha256};
use trefoil_ir::{AnswerFormat, Guard, ModelParameters, OnTimeout, PiiAction, PiiEntity, ToolKind};
use trefoil_template::wire::{self, WireForm};
use trefoil_template::{ConditionExpression, ConditionGrammar, HoleQuestion, Value};

use crate::guard;
use crate::key::ContentKey;
use crate::request::{
    CommandRequest, HumanRequest, MessageRole, ModelMessage, ModelRequest, ModelToolCall, Request, ToolRequest,
    ToolSpec, ToolsRequest,
};

/// The form that is hashed, borrowed from the request: a replay computes the content key of each call again. The members of the most
/// frequent forms are in canonical order, so they are not moved.
#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum RequestContent<'r> {
    Model(ModelContent<'r>),
    Tool(ToolContent<'r>),
    Describe { tools: Vec<ToolsContent<'r>> },
    Command(CommandContent<'r>),
    Human(HumanContent<'r>),
    Timer { ms: u64 },
    Decide(QuestionContent),
}

impl<'r> RequestContent<'r> {
    fn from_request(request: &'r Request) -> Self {
        match request {
            Request::Model(request) => Self::Model(ModelContent::from_request(request)),
            Request::Tool(request) => Self::Tool(ToolContent::from_request(request)),
            Request::Describe(wanted) => {
                Self::Describe { tools: wanted.iter().map(ToolsContent::from_request).collect() }
            }
            Request::Command(request) => Self::Command(CommandContent::from_request(request)),
            Request::Human(request) => Self::Human(HumanContent::from_request(request)),
            Request::Timer { ms, due: _ } => Self::Timer { ms: *ms },
            Request::Decide(question) => Self::Decide(QuestionContent::from_question(question)),
        }
    }
}

#[derive(Serialize)]
struct ModelContent<'r> {
    #[serde(skip_serializing_if = "Option::is_none")]
    format: Option<&'static str>,
    messages: Vec<MessageContent<'r>>,
    model: &'r str,
    #[serde(skip_serializing_if = "sets_nothing")]
    parameters: &'r ModelParameters,
    #[serde(skip_serializing_if = "Option::is_none")]
    provider: Option<&'r str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    schema: Option<WireForm<'r>>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    tools: &'r [ToolSpec],
}

/// Whether no parameter is set that affects the answer.
fn sets_nothing(parameters: &ModelParameters) -> bool {
    parameters.without_timeout() == ModelParameters::default()
}

impl<'r> ModelContent<'r> {
    fn from_request(request: &'r ModelRequest) -> Self {
        let ModelRequest {
            provider,
            model,
            messages,
            parameters,
            format,
            schema,
            tools,
            speaker: _,
            // A guardrail checks an answer that is reused again.
            guards: _,
            stream: _,
            provisional: _,
        } = request;
        let format = match format {
            AnswerFormat::Text => None,
            AnswerFormat::Json(_) => Some("json"),
            AnswerFormat::JsonOrText => Some("json_or_text"),
        };
        Self {
            format,
            messages: messages.iter().map(MessageContent::from_message).collect(),
            model,
            parameters,
            provider: provider.as_deref(),
            schema: schema.as_ref().map(|(_, schema)| WireForm(schema)),
            tools,
        }
    }
}

#[derive(Serialize)]
struct MessageContent<'r> {
    #[serde(skip_serializing_if = "Option::is_none")]
    answers: Option<&'r str>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    calls: &'r [ModelToolCall],
    content: WireForm<'r>,
    role: MessageRole,
}

impl<'r> MessageContent<'r> {
    fn from_message(message: &'r ModelMessage) -> Self {
        let ModelMessage { role, content, parts: _, calls, answers } = message;
        Self { answers: answers.as_deref(), calls, content: WireForm(content), role: *role }
    }
}

#[derive(Serialize)]
struct ToolContent<'r> {
    arguments: WireForm<'r>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'r str>,
    tool: KindContent<'r>,
}

impl<'r> ToolContent<'r> {
    fn from_request(request: &'r ToolRequest) -> Self {
        let ToolRequest { name, kind, arguments } = request;
        // An HTTP request or a Python function says in its arguments what it does. Its name may be that of its step.
        let name = match kind {
            ToolKind::Local | ToolKind::Mcp { .. } => Some(&**name),
            ToolKind::Http | ToolKind::Python => None,
        };
        Self { arguments: WireForm(arguments), name, tool: KindContent::from_kind(kind) }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum KindContent<'r> {
    Local {},
    Http {},
    Mcp {
        #[serde(skip_serializing_if = "Vec::is_empty")]
        headers: Vec<EntryContent<'r>>,
        server: &'r str,
    },
    Python {},
}

impl<'r> KindContent<'r> {
    fn from_kind(kind: &'r ToolKind) -> Self {
        match kind {
            ToolKind::Local => Self::Local {},
            ToolKind::Http => Self::Http {},
            ToolKind::Python => Self::Python {},
            ToolKind::Mcp { server, headers } => Self::Mcp { headers: EntryContent::from_entries(headers), server },
        }
    }
}

/// A header or an environment variable.
#[derive(Serialize)]
struct EntryContent<'r> {
    name: &'r str,
    value: WireForm<'r>,
}

impl<'r> EntryContent<'r> {
    fn from_entries(entries: &'r [(Arc<str>, Value)]) -> Vec<Self> {
        entries.iter().map(|(name, value)| Self { name, value: WireForm(value) }).collect()
    }
}

#[derive(Serialize)]
struct ToolsContent<'r> {
    #[serde(skip_serializing_if = "Option::is_none")]
    names: Option<&'r [Arc<str>]>,
    tool: KindContent<'r>,
}

impl<'r> ToolsContent<'r> {
    fn from_request(wanted: &'r ToolsRequest) -> Self {
        Self { names: wanted.names.as_deref(), tool: KindContent::from_kind(&wanted.kind) }
    }
}

#[derive(Serialize)]
struct CommandContent<'r> {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    arguments: Vec<WireForm<'r>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    env: Vec<EntryContent<'r>>,
    script: &'r str,
    #[serde(skip_serializing_if = "Option::is_none")]
    workdir: Option<WireForm<'r>>,
}

impl<'r> CommandContent<'r> {
    fn from_request(request: &'r CommandRequest) -> Self {
        let CommandRequest { script, arguments, env, workdir } = request;
        Self {
            arguments: arguments.iter().map(WireForm).collect(),
            env: EntryContent::from_entries(env),
            script,
            workdir: workdir.as_ref().map(WireForm),
        }
    }
}

#[derive(Serialize)]
struct HumanContent<'r> {
    /// The answer used on timeout.
    #[serde(skip_serializing_if = "Option::is_none")]
    default: Option<&'r str>,
    prompt: WireForm<'r>,
    #[serde(skip_serializing_if = "Option::is_none")]
    refused: Option<&'r str>,
}

impl<'r> HumanContent<'r> {
    fn from_request(request: &'r HumanRequest) -> Self {
        let HumanRequest { prompt, refused, on_timeout, step: _, accepts: _, choices: _, timeout_ms: _, answer_by: _ } =
            request;
        let default = if let OnTimeout::Answer(answer) = on_timeout { Some(&**answer) } else { None };
        Self { default, prompt: WireForm(prompt), refused: refused.as_deref() }
    }
}

/// A condition on something that only the driver knows.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct QuestionContent {
    /// The grammar, which determines how it is evaluated.
    pub grammar: ConditionGrammar,
    /// Without references; see [`trefoil_template::HoleQuestion`].
    pub expression: Arc<ConditionExpression>,
    /// Whether it only asks if all holes can be filled.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub presence: bool,
    /// Asks whether the expression, a value, matches this schema.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "wire::serialize_optional")]
    pub schema: Option<Value>,
}

impl QuestionContent {
    /// The content of a question.
    pub fn from_question(question: &HoleQuestion) -> Self {
        let HoleQuestion { expression, policy, presence, schema, text: _ } = question;
        let (grammar, expression) = (policy.conditions, expression.clone());
        Self { grammar, expression, presence: *presence, schema: schema.clone() }
    }
    /// The first 64 bits of its hash, which identify its activity.
    pub(crate) fn short_digest(&self) -> u64 {
        let hash = Sha256::digest(canonical_json(self));
        hash.iter().take(8).fold(0, |number, byte| number << 8 | u64::from(*byte))
    }
}

/// A guardrail that can change an answer.
#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum GuardContent<'r> {
    Length { max_chars: u64, refuse: bool },
    Pii { entities: &'r [PiiEntity], action: PiiAction, replacement: &'r str },
}

/// A digest of the settings of those guardrails that can change an answer.
pub fn changing_guards(guards: &[Guard]) -> ContentKey {
    let content = |guard| match guard {
        &Guard::Length { max_chars, refuse } => Some(GuardContent::Length { max_chars: max_chars as u64, refuse }),
        Guard::Pii { entities, action, replacement } => {
            Some(GuardContent::Pii { entities, action: *action, replacement })
        }
        Guard::Injection | Guard::Schema(_) | Guard::TokenCap { .. } | Guard::CostCap { .. } => None,
    };
    let changing: Vec<_> = guards.iter().filter(|guard| guard::can_change_answer(guard)).filter_map(content).collect();
    ContentKey(Sha256::digest(canonical_json(&changing)).into())
}

impl ContentKey {
    /// The content key of a request.
    pub fn from_request(request: &Request) -> Self {
        Self(Sha256::digest(request_content(request)).into())
    }
}

/// The bytes of which the content key of a request is made.
pub fn request_content(request: &Request) -> Vec<u8> {
    canonical_json(&RequestContent::from_request(request))
}

/// Canonical JSON (RFC 8785).
pub fn canonical_json(of: &impl Serialize) -> Vec<u8> {
    // Cannot fail: keys are text, no serializer of ours returns an error, and a vector accepts every byte.
    jcs::to_vec(of).unwrap_or_default()
}
