//! How each protocol marks its events and the end of a stream, as data.

use serde_json::Value as Json;

use crate::vendors::{Own, Protocol};

/// What `[DONE]` means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DoneMark {
    /// It is the protocol's own end of a complete answer.
    Last,
    /// The protocol has no such mark. Some gateways send it at the end of any body, complete or not.
    BodyEnd,
}

/// The events of a protocol.
#[derive(Debug)]
pub struct StreamTable {
    /// Members that only its events have.
    members: &'static [&'static str],
    /// How the types of its events start.
    kinds: &'static [&'static str],
    /// The types of its last event.
    last: &'static [&'static str],
    /// A member that is `true` in its last event.
    last_member: Option<&'static str>,
    /// What `[DONE]` means in it.
    pub done: DoneMark,
}

/// A protocol whose streams end with their body.
const PLAIN: StreamTable =
    StreamTable { members: &[], kinds: &[], last: &[], last_member: None, done: DoneMark::BodyEnd };

static CHAT_COMPLETIONS: StreamTable = StreamTable { members: &["choices"], done: DoneMark::Last, ..PLAIN };
static RESPONSES: StreamTable = StreamTable {
    kinds: &["response."],
    last: &["response.completed", "response.incomplete", "response.failed"],
    ..PLAIN
};
static MESSAGES: StreamTable = StreamTable { kinds: &["message_", "content_block_"], last: &["message_stop"], ..PLAIN };
static GEMINI: StreamTable = StreamTable { members: &["candidates", "promptFeedback", "usageMetadata"], ..PLAIN };
static COHERE: StreamTable =
    StreamTable { kinds: &["message-", "content-", "tool-", "citation-"], last: &["message-end"], ..PLAIN };
static OLLAMA: StreamTable = StreamTable { members: &["message", "done"], last_member: Some("done"), ..PLAIN };

impl StreamTable {
    /// The table of a protocol.
    pub fn of(protocol: &Protocol) -> &'static Self {
        match protocol {
            Protocol::ChatCompletions(_) => &CHAT_COMPLETIONS,
            Protocol::Responses { .. } => &RESPONSES,
            Protocol::Messages => &MESSAGES,
            Protocol::Own(Own::Gemini, _) => &GEMINI,
            Protocol::Own(Own::Cohere, _) => &COHERE,
            Protocol::Own(Own::Ollama, _) => &OLLAMA,
        }
    }

    /// Whether an event has the form of this protocol's events. Servers with another protocol send JSON, too.
    pub fn recognizes(&self, kind: &str, json: &Json) -> bool {
        self.members.iter().any(|name| json.get(name).is_some())
            || self.kinds.iter().any(|start| kind.starts_with(start))
    }

    /// Whether it is the last event of an answer.
    pub fn is_last(&self, kind: &str, json: &Json) -> bool {
        let member = |name| json.get(name).and_then(Json::as_bool) == Some(true);
        self.last.contains(&kind) || self.last_member.is_some_and(member)
    }
}
