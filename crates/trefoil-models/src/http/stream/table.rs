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

/// What an event is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventShape {
    /// One of the protocol.
    Own,
    /// One that says nothing about the answer: a sign of life, figures, or a type that is newer than this table.
    Harmless,
    /// Anything else. A server that sends it has failed.
    Strange,
}

/// Parts of the types of events that only keep a connection open.
const SIGNS_OF_LIFE: &[&str] = &["ping", "keepalive", "keep-alive", "keep_alive", "heartbeat"];

/// Where events have text.
const TEXTS: &[&str] =
    &["/delta", "/text", "/content", "/delta/text", "/delta/content", "/delta/message", "/delta/message/content/text"];

/// The events of a protocol.
#[derive(Debug)]
pub struct StreamTable {
    /// Members that only its events have.
    members: &'static [&'static str],
    /// How the types of its events start.
    kinds: &'static [&'static str],
    /// Members of events that say nothing about the answer.
    beside: &'static [&'static str],
    /// All events have a type, and clients must ignore types that they do not know.
    typed: bool,
    /// How the types of events start whose text is no text of the answer, or repeats it.
    silent: &'static [&'static str],
    /// The types of its first event.
    first: &'static [&'static str],
    /// The types of its last event.
    last: &'static [&'static str],
    /// A member that is `true` in its last event.
    last_member: Option<&'static str>,
    /// What `[DONE]` means in it.
    pub done: DoneMark,
}

/// A protocol whose streams end with their body.
const PLAIN: StreamTable = StreamTable {
    members: &[],
    kinds: &[],
    beside: &[],
    typed: false,
    silent: &[],
    first: &[],
    last: &[],
    last_member: None,
    done: DoneMark::BodyEnd,
};
/// A protocol whose events have types.
const TYPED: StreamTable = StreamTable { typed: true, ..PLAIN };

static CHAT_COMPLETIONS: StreamTable = StreamTable {
    members: &["choices"],
    beside: &[
        "usage",
        "id",
        "model",
        "created",
        "object",
        "obfuscation",
        "system_fingerprint",
        "service_tier",
        "provider",
        "prompt_filter_results",
        "prompt_annotations",
        "x_groq",
        "timings",
        "citations",
        "search_results",
    ],
    done: DoneMark::Last,
    ..PLAIN
};
static RESPONSES: StreamTable = StreamTable {
    kinds: &["response."],
    silent: &[
        "response.output_text.done",
        "response.output_text.annotation",
        "response.refusal.done",
        "response.function_call",
        "response.reasoning",
        "response.custom_tool_call",
        "response.mcp",
        "response.code_interpreter",
        "response.audio",
        "response.image",
    ],
    first: &["response.created"],
    last: &["response.completed", "response.incomplete", "response.failed", "response.cancelled"],
    ..TYPED
};
static MESSAGES: StreamTable =
    StreamTable { kinds: &["message_", "content_block_"], first: &["message_start"], last: &["message_stop"], ..TYPED };
static GEMINI: StreamTable = StreamTable {
    members: &["candidates", "promptFeedback", "usageMetadata"],
    beside: &["responseId", "modelVersion", "createTime"],
    ..PLAIN
};
static COHERE: StreamTable = StreamTable {
    kinds: &["message-", "content-", "tool-", "citation-"],
    first: &["message-start"],
    last: &["message-end"],
    ..TYPED
};
static OLLAMA: StreamTable =
    StreamTable { members: &["message", "done"], beside: &["created_at"], last_member: Some("done"), ..PLAIN };

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

    /// What an event without an error is. `kind`: its type, or else its name.
    pub fn shape(&self, kind: &str, json: &Json) -> EventShape {
        let has = |names: &[&str]| names.iter().any(|name| json.get(name).is_some());
        if has(self.members) || self.kinds.iter().any(|start| kind.starts_with(start)) {
            return EventShape::Own;
        }
        let is_blank = match json {
            Json::Null => true,
            Json::Object(members) => members.is_empty(),
            Json::Array(items) => items.is_empty(),
            _ => false,
        };
        let is_alive = || SIGNS_OF_LIFE.iter().any(|sign| kind.to_ascii_lowercase().contains(sign));
        let is_newer = self.typed && kind != "message" && json.is_object();
        if is_blank || is_newer || has(self.beside) || is_alive() { EventShape::Harmless } else { EventShape::Strange }
    }

    /// Whether an event that brought nothing of the answer has text that may belong to it.
    pub fn leaves_out(&self, kind: &str, json: &Json) -> bool {
        let is_text = |path: &str| json.pointer(path).and_then(Json::as_str).is_some_and(|text| !text.is_empty());
        self.typed && !self.silent.iter().any(|start| kind.starts_with(start)) && TEXTS.iter().any(|path| is_text(path))
    }

    /// Whether it is the first event of an answer.
    pub fn is_first(&self, kind: &str) -> bool {
        self.first.contains(&kind)
    }

    /// Whether it is the last event of an answer.
    pub fn is_last(&self, kind: &str, json: &Json) -> bool {
        let member = |name| json.get(name).and_then(Json::as_bool) == Some(true);
        self.last.contains(&kind) || self.last_member.is_some_and(member)
    }
}
