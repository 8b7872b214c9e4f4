//! How each protocol marks its events and the end of a stream, as data.

use serde_json::Value as Json;

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
    pub members: &'static [&'static str],
    /// How the types of its events start.
    pub kinds: &'static [&'static str],
    /// Members of events that say nothing about the answer.
    pub beside: &'static [&'static str],
    /// All events have a type, and clients must ignore types that they do not know.
    pub typed: bool,
    /// How the types of events start whose text is no text of the answer, or repeats it.
    pub silent: &'static [&'static str],
    /// The types of its first event.
    pub first: &'static [&'static str],
    /// The types of its last event.
    pub last: &'static [&'static str],
    /// A member that is `true` in its last event.
    pub last_member: Option<&'static str>,
    /// What `[DONE]` means in it.
    pub done: DoneMark,
}

impl StreamTable {
    /// A protocol whose streams end with their body.
    pub const PLAIN: Self = Self {
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
    pub const TYPED: Self = Self { typed: true, ..Self::PLAIN };

    /// What an event without an error is. `kind`: its type, or else its name.
    pub fn event_shape(&self, kind: &str, json: &Json) -> EventShape {
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
        if !self.typed || self.silent.iter().any(|start| kind.starts_with(start)) {
            return false;
        }
        TEXTS.iter().any(|path| matches!(json.pointer(path), Some(Json::String(text)) if !text.is_empty()))
    }

    /// Whether it is the first event of an answer.
    pub fn is_first(&self, kind: &str) -> bool {
        self.first.contains(&kind)
    }

    /// Whether it is the last event of an answer.
    pub fn is_last(&self, kind: &str, json: &Json) -> bool {
        self.last.contains(&kind) || matches!(self.last_member, Some(name) if json.get(name) == Some(&Json::Bool(true)))
    }
}
