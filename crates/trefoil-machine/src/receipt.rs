//! Who gave an answer, from where, and when. It is stored and shown with the answer, and decides nothing.
//!
//! Names and origins are texts of a stranger: they have a limited length, secrets are masked in them, and whatever shows them
//! escapes them.

use std::fmt;

use serde::ser::SerializeStruct as _;
use serde::{Deserialize, Serialize, Serializer};

use crate::moment::{format_moment, rfc3339_ms};
use crate::text::shorten_text;

/// Maximum number of characters of a name, and of an origin. What is longer is cut off.
const LONGEST: usize = 200;

/// Who gives an answer, and from where.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "SenderParts")]
pub struct AnswerSender {
    name: String,
    origin: String,
}

/// A sender as it is stored: anybody may have written it.
#[derive(Deserialize)]
struct SenderParts {
    #[serde(default)]
    name: String,
    #[serde(default)]
    origin: String,
}

impl From<SenderParts> for AnswerSender {
    fn from(parts: SenderParts) -> Self {
        Self::new(&parts.name, &parts.origin)
    }
}

impl AnswerSender {
    /// The origin of an answer that is typed while the run is in progress.
    pub const TERMINAL: &str = "terminal";
    /// The origin of an answer that a command sends to a stored run.
    pub const COMMAND_LINE: &str = "command line";
    /// The origin of an answer that was given when the run was started.
    pub const BEFORE_RUN: &str = "given before the run";
    /// The origin of an answer that an MCP client sends.
    pub const MCP: &str = "mcp";

    /// A sender. `name`: of a user or a key; empty if it is not known. `origin`: `terminal`, `command line`, `api 203.0.113.7`. Both
    /// are cut off after 200 characters.
    pub fn new(name: &str, origin: &str) -> Self {
        Self { name: shorten_text(name, LONGEST), origin: shorten_text(origin, LONGEST) }
    }

    /// The name. Empty: it is not known.
    pub fn sender_name(&self) -> &str {
        &self.name
    }

    /// Where the answer comes from.
    pub fn sender_origin(&self) -> &str {
        &self.origin
    }

    /// Its texts, for masking.
    pub fn texts_mut(&mut self) -> [&mut String; 2] {
        [&mut self.name, &mut self.origin]
    }
}

/// Who gave an answer, from where, and when.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnswerReceipt {
    /// Who, and from where.
    #[serde(flatten)]
    pub sender: AnswerSender,
    /// When, in milliseconds since 1970-01-01 UTC.
    pub at: u64,
}

/// `by ada, 2026-03-01 09:05:00Z, from terminal`
impl fmt::Display for AnswerReceipt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let AnswerSender { name, origin } = &self.sender;
        if !name.is_empty() {
            write!(f, "by {name}, ")?;
        }
        f.write_str(&format_moment(self.at))?;
        match origin.as_str() {
            "" => Ok(()),
            AnswerSender::BEFORE_RUN => write!(f, ", {origin}"),
            _ => write!(f, ", from {origin}"),
        }
    }
}

/// A receipt in the form for programs: `{name, origin, at}`, with the time as text.
pub struct DisplayedReceipt<'r>(pub &'r AnswerReceipt);

impl Serialize for DisplayedReceipt<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let AnswerReceipt { sender, at } = self.0;
        let mut all = serializer.serialize_struct("AnswerReceipt", 3)?;
        all.serialize_field("name", &sender.name)?;
        all.serialize_field("origin", &sender.origin)?;
        all.serialize_field("at", &rfc3339_ms(*at))?;
        all.end()
    }
}

/// For fields of events.
pub(crate) fn serialize_displayed<S: Serializer>(
    receipt: &Option<Box<AnswerReceipt>>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    receipt.as_deref().map(DisplayedReceipt).serialize(serializer)
}

/// An answer or a decision, with its receipt if it is known who gave it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GivenAnswer {
    /// The answer.
    pub text: String,
    /// Who gave it.
    pub receipt: Option<AnswerReceipt>,
}

impl GivenAnswer {
    /// What is said to somebody who answers later: `already answered with `yes`, by ada, 2026-03-01 09:05:00Z, from terminal`
    pub fn settled_text(&self) -> String {
        match &self.receipt {
            Some(receipt) => format!("already answered with `{}`, {receipt}", self.text),
            None => format!("already answered with `{}`", self.text),
        }
    }

    /// Says that something was done with this answer: `answered by ada, 2026-03-01 09:05:00Z, from terminal: yes`. `text`: the answer
    /// as it is to be shown.
    pub fn describe_answer(&self, verb: &str, text: &str) -> String {
        match &self.receipt {
            Some(receipt) => format!("{verb} {receipt}: {text}"),
            None => format!("{verb}: {text}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn receipt(name: &str, origin: &str) -> AnswerReceipt {
        AnswerReceipt { sender: AnswerSender::new(name, origin), at: 1_772_355_900_250 }
    }

    #[test]
    fn a_receipt_says_as_much_as_is_known() {
        for (name, origin, text) in [
            ("ada", "terminal", "by ada, 2026-03-01 09:05:00Z, from terminal"),
            ("ada", AnswerSender::BEFORE_RUN, "by ada, 2026-03-01 09:05:00Z, given before the run"),
            ("", "api 203.0.113.7", "2026-03-01 09:05:00Z, from api 203.0.113.7"),
            ("", "", "2026-03-01 09:05:00Z"),
        ] {
            assert_eq!(receipt(name, origin).to_string(), text);
        }
    }

    #[test]
    fn a_stored_receipt_is_read_again_and_no_text_of_it_is_long() {
        let stored = serde_json::to_string(&receipt("ada", "terminal")).unwrap();
        assert_eq!(stored, r#"{"name":"ada","origin":"terminal","at":1772355900250}"#);
        assert_eq!(serde_json::from_str::<AnswerReceipt>(&stored).unwrap(), receipt("ada", "terminal"));
        let long = format!(r#"{{"name":"{}","at":1,"later":[]}}"#, "é".repeat(100_000));
        let read: AnswerReceipt = serde_json::from_str(&long).unwrap();
        assert_eq!(read.sender.sender_name().chars().count(), LONGEST + 3);
        assert_eq!(read.sender.sender_origin(), "");
    }

    #[test]
    fn programs_get_the_time_as_text() {
        let shown = serde_json::to_string(&DisplayedReceipt(&receipt("ada", "terminal"))).unwrap();
        assert_eq!(shown, r#"{"name":"ada","origin":"terminal","at":"2026-03-01T09:05:00.250Z"}"#);
    }
}
