//! Arguments of tool calls: collected while they arrive, read when they are complete.

use serde_json::{Map, Value as Json};
use trefoil_template::{Value, json_nodes, limits, read_json};

/// A piece of arguments.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum ArgumentPiece<'j> {
    /// None, or an object that is still empty.
    Absent,
    /// Text, which continues the text so far.
    Text(&'j str),
    /// All arguments, in a protocol or from a server that sends JSON instead of text.
    Whole(String),
}

impl<'j> ArgumentPiece<'j> {
    /// The arguments in a member of a call.
    pub fn from_member(json: Option<&'j Json>) -> Self {
        match json {
            None | Some(Json::Null) => Self::Absent,
            Some(Json::Object(all)) if all.is_empty() => Self::Absent,
            Some(Json::String(text)) => Self::Text(text),
            Some(other) => Self::Whole(other.to_string()),
        }
    }
}

/// How much of the arguments has arrived, in the order of fullness.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ArgumentCompleteness {
    /// Nothing, or only spaces.
    #[default]
    Blank,
    /// The start of something, or something that cannot be arguments.
    Partial,
    /// An object without properties.
    Hollow,
    /// An object, or a text.
    Whole,
}

/// What the bytes so far are.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum ArgumentScanState {
    #[default]
    Blank,
    /// An open object, with this many open brackets.
    Object(usize),
    /// An open text.
    Text,
    /// One whole object or text.
    Closed,
    /// Anything else.
    Other,
}

/// Arguments that arrive in pieces. Each byte is looked at once, however many pieces there are.
#[derive(Debug, Default, Clone)]
pub(super) struct PartialArguments {
    text: String,
    shape: ArgumentScanState,
    quoted: bool,
    escaped: bool,
    /// Whether an object has more than its brackets.
    filled: bool,
}

impl PartialArguments {
    /// Whole arguments.
    pub fn from_text(text: &str) -> Self {
        let mut whole = Self::default();
        whole.push(text);
        whole
    }

    /// Appends a piece.
    pub fn push(&mut self, more: &str) {
        self.text.push_str(more);
        more.bytes().for_each(|byte| self.scan(byte));
    }

    fn scan(&mut self, byte: u8) {
        if std::mem::take(&mut self.escaped) {
            return;
        }
        match (self.shape, byte) {
            (_, b'\\') if self.quoted => self.escaped = true,
            (ArgumentScanState::Text, b'"') => (self.shape, self.quoted) = (ArgumentScanState::Closed, false),
            (ArgumentScanState::Object(_), b'"') => (self.quoted, self.filled) = (!self.quoted, true),
            _ if self.quoted => {}
            (ArgumentScanState::Blank | ArgumentScanState::Closed, b' ' | b'\t' | b'\n' | b'\r') => {}
            (ArgumentScanState::Blank, b'{') => self.shape = ArgumentScanState::Object(1),
            (ArgumentScanState::Blank, b'"') => {
                (self.shape, self.quoted, self.filled) = (ArgumentScanState::Text, true, true)
            }
            (ArgumentScanState::Object(depth), b'{' | b'[') => self.shape = ArgumentScanState::Object(depth + 1),
            (ArgumentScanState::Object(1), b'}' | b']') => self.shape = ArgumentScanState::Closed,
            (ArgumentScanState::Object(depth), b'}' | b']') => self.shape = ArgumentScanState::Object(depth - 1),
            (ArgumentScanState::Object(_), _) => {}
            (
                ArgumentScanState::Blank
                | ArgumentScanState::Closed
                | ArgumentScanState::Text
                | ArgumentScanState::Other,
                _,
            ) => self.shape = ArgumentScanState::Other,
        }
    }

    /// How much has arrived.
    pub fn arrived_part(&self) -> ArgumentCompleteness {
        match self.shape {
            ArgumentScanState::Blank => ArgumentCompleteness::Blank,
            ArgumentScanState::Object(_) | ArgumentScanState::Text | ArgumentScanState::Other => {
                ArgumentCompleteness::Partial
            }
            ArgumentScanState::Closed if !self.filled => ArgumentCompleteness::Hollow,
            ArgumentScanState::Closed => ArgumentCompleteness::Whole,
        }
    }

    /// Whether they are one whole object or text.
    pub fn is_whole(&self) -> bool {
        self.arrived_part() >= ArgumentCompleteness::Hollow
    }

    /// The text so far.
    pub fn text(&self) -> &str {
        &self.text
    }
}

/// Parses arguments as JSON; text that is not an object stays text. No text means no arguments. Some servers encode
/// arguments twice, so a text that holds an object is that object.
pub(super) fn read_arguments(text: &str) -> Value {
    if text.trim().is_empty() {
        return Value::from_json(Json::Object(Map::new()));
    }
    let read =
        |text: &str| match text.len() > limits::ANSWER_NODES && json_nodes(text.as_bytes()) > limits::ANSWER_NODES {
            true => None,
            false => read_json::<Json>(text).ok(),
        };
    let inner = match read(text) {
        Some(Json::String(inner)) if inner.trim().is_empty() => Some(Json::Object(Map::new())),
        Some(Json::String(inner)) => read(&inner),
        whole => whole,
    };
    match inner {
        Some(object @ Json::Object(_)) => Value::from_json(object),
        _ => text.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn arguments_that_are_no_object_stay_text() {
        for text in ["{\"a\": ", "[1]", "7", "\"x\"", "\"[1]\"", "\"{\\\"a\\\"\"", "nonsense", "null", "{} {}"] {
            assert_eq!(read_arguments(text).to_json(), json!(text));
        }
        let deep = "{\"a\":".repeat(5_000);
        assert_eq!(read_arguments(&deep).to_json(), json!(deep));
        let many = format!("{{\"a\":[{}1]}}", "1,".repeat(limits::ANSWER_NODES));
        assert_eq!(read_arguments(&many).to_json(), json!(many));
        let many = json!(many).to_string();
        assert_eq!(read_arguments(&many).to_json(), json!(many), "also if they are encoded twice");
    }

    #[test]
    fn empty_text_and_an_object_in_a_text_are_arguments() {
        for text in ["", " ", "\n", "\"\"", " \"\" ", "\" \"", "{}", "\"{}\""] {
            assert_eq!(read_arguments(text).to_json(), json!({}), "{text}");
        }
        for text in ["{\"a\":\"b\"}", "\"{\\\"a\\\":\\\"b\\\"}\"", "\"  {\\\"a\\\": \\\"b\\\"}\\n\""] {
            assert_eq!(read_arguments(text).to_json(), json!({"a": "b"}), "{text}");
        }
    }

    #[test]
    fn the_end_of_arguments_is_found_at_every_cut() {
        let all = [
            ("", ArgumentCompleteness::Blank),
            (" \n", ArgumentCompleteness::Blank),
            ("{", ArgumentCompleteness::Partial),
            ("{}", ArgumentCompleteness::Hollow),
            (" { } ", ArgumentCompleteness::Hollow),
            ("{\"a\":{\"b\":[1,{}]}}", ArgumentCompleteness::Whole),
            ("{\"}\":\"]{\\\"\"}", ArgumentCompleteness::Whole),
            ("{\"a\":\"\\\\\"}", ArgumentCompleteness::Whole),
            ("\"\"", ArgumentCompleteness::Whole),
            ("\"{\\\"a\\\":1}\"", ArgumentCompleteness::Whole),
            ("\"{\\\"a\\\":1}", ArgumentCompleteness::Partial),
            ("[1]", ArgumentCompleteness::Partial),
            ("{} {}", ArgumentCompleteness::Partial),
            ("null", ArgumentCompleteness::Partial),
        ];
        for (text, fullness) in all {
            for cut in 0..=text.len() {
                let mut arguments = PartialArguments::default();
                arguments.push(&text[..cut]);
                arguments.push(&text[cut..]);
                assert_eq!((arguments.arrived_part(), arguments.text()), (fullness, text), "cut at {cut}");
            }
        }
    }
}
