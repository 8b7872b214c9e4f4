//! Canonical bytes of requests and their hashes.

use serde::Serialize;
use sha2::{Digest as _, Sha256};
use trefoil_ir::{ModelParameters, Program};
use trefoil_template::wire;

use super::ask::sets_nothing;
use super::{AskDecide, AskModel, WireFormat, WireKind, WireRequest};
use crate::key::ContentKey;
use crate::request::{Message, ModelRequest, Request, Role, ToolSpec, ToolUse};

/// The form that is hashed: the kind of request and what affects its answer, nothing else.
#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum CanonicalRequest<'r> {
    Model(ModelContent<'r>),
    Tool(&'r super::AskTool),
    Describe(&'r super::AskDescribe),
    Command(&'r super::AskCommand),
    Human(&'r super::AskHuman),
    Timer(&'r super::AskTimer),
    Decide(&'r AskDecide),
}

/// What affects the answer of a model call, borrowed from its request or from the wire form: a replay computes the content key of
/// each call again. The members are in canonical order here and below, so they are not moved.
#[derive(Serialize)]
struct ModelContent<'r> {
    #[serde(skip_serializing_if = "WireFormat::is_default")]
    format: WireFormat,
    #[serde(serialize_with = "write_messages")]
    messages: &'r [Message],
    model: &'r str,
    #[serde(skip_serializing_if = "sets_nothing")]
    parameters: &'r ModelParameters,
    #[serde(skip_serializing_if = "Option::is_none")]
    provider: Option<&'r str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    schema: Option<wire::Wire<'r>>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    tools: &'r [ToolSpec],
}

#[derive(Serialize)]
struct MessageContent<'r> {
    #[serde(skip_serializing_if = "Option::is_none")]
    answers: Option<&'r str>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    calls: &'r [ToolUse],
    content: wire::Wire<'r>,
    role: Role,
}

fn write_messages<S: serde::Serializer>(messages: &[Message], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(messages.iter().map(|message| {
        let Message { role, content, parts: _, calls, answers } = message;
        MessageContent { answers: answers.as_deref(), calls, content: wire::Wire(content), role: *role }
    }))
}

impl<'r> ModelContent<'r> {
    fn wired(ask: &'r AskModel) -> Self {
        let AskModel { provider, model, messages, parameters, format, schema, tools } = ask;
        Self {
            format: *format,
            messages,
            model,
            parameters,
            provider: provider.as_deref(),
            schema: schema.as_ref().map(wire::Wire),
            tools,
        }
    }

    fn asked(request: &'r ModelRequest) -> Self {
        let ModelRequest {
            provider,
            model,
            messages,
            parameters,
            format,
            schema,
            tools,
            speaker: _,
            guards: _,
            stream: _,
            provisional: _,
        } = request;
        Self {
            format: format.into(),
            messages,
            model,
            parameters,
            provider: provider.as_deref(),
            schema: schema.as_ref().map(|(_, schema)| wire::Wire(schema)),
            tools,
        }
    }
}

impl ContentKey {
    /// That of a request of this program: the key of its wire form, which is not made for a model call.
    pub fn of(request: &Request, program: &Program) -> Self {
        match request {
            Request::Model(request) => Self::of_content(&CanonicalRequest::Model(ModelContent::asked(request))),
            request => WireRequest::of(request, program).key(),
        }
    }

    fn of_content(content: &CanonicalRequest<'_>) -> Self {
        Self(Sha256::digest(canonical(content)).into())
    }
}

impl WireRequest {
    /// The bytes of which the content key is made: canonical JSON of `{"SORT": ASK}`, without the version.
    pub fn content(&self) -> Vec<u8> {
        canonical(&match &self.request {
            WireKind::Model { ask, .. } => CanonicalRequest::Model(ModelContent::wired(ask)),
            WireKind::Tool { ask, .. } => CanonicalRequest::Tool(ask),
            WireKind::Describe { ask } => CanonicalRequest::Describe(ask),
            WireKind::Command { ask } => CanonicalRequest::Command(ask),
            WireKind::Human { ask, .. } => CanonicalRequest::Human(ask),
            WireKind::Timer { ask, .. } => CanonicalRequest::Timer(ask),
            WireKind::Decide { ask, .. } => CanonicalRequest::Decide(ask),
        })
    }
    /// The content key.
    pub fn key(&self) -> ContentKey {
        ContentKey(Sha256::digest(self.content()).into())
    }
}

/// Canonical JSON (RFC 8785).
pub fn canonical(of: &impl Serialize) -> Vec<u8> {
    // Cannot fail: keys are text, no serializer of ours returns an error, and a vector accepts every byte.
    super::jcs::to_vec(of).unwrap_or_default()
}

/// The first 64 bits of a question's hash, which identify its activity.
pub(crate) fn digest(question: &AskDecide) -> u64 {
    let hash = Sha256::digest(canonical(question));
    hash.iter().take(8).fold(0, |number, byte| number << 8 | u64::from(*byte))
}
