//! Messages from other processes to a run: answers of people, signals, stop requests. A message is deleted in the
//! transaction that appends the entries that process it.
//!
//! A message that answers is for one question: that which its writer saw. Whether the question is still open, and has no other
//! message, is decided in the transaction that stores it. Any entry about the question's activity closes the question, and deletes
//! its message. So the message in an inbox is always for the question that is open now.

use trefoil_machine::receipt::{AnswerReceipt, AnswerSender, GivenAnswer};
use trefoil_template::Value;

use crate::error::StoreError;

/// The kind of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageKind {
    /// A person's answer.
    Answer,
    /// A signal. For an activity with an unknown outcome: `retry`, `fail`, or an object with its result as [`InboxMessage::DONE`]. For a
    /// run that a tool call started: [`InboxMessage::CONTINUE`].
    Signal,
    /// A request to stop the run.
    Cancel,
}

impl MessageKind {
    /// All kinds.
    pub const ALL: [Self; 3] = [Self::Answer, Self::Signal, Self::Cancel];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Answer => "answer",
            Self::Signal => "signal",
            Self::Cancel => "cancel",
        }
    }
}

/// A message to a run.
#[derive(Debug, Clone, PartialEq)]
pub struct InboxMessage {
    /// Its kind.
    pub kind: MessageKind,
    /// The activity's key, for an answer or a signal to an activity; the run's id, for a signal about a called run. Otherwise empty.
    pub key: String,
    /// Its content.
    pub value: Value,
    /// When it was written: milliseconds since 1970-01-01 UTC.
    pub at: u64,
    /// For a message that [answers](Self::is_answer), otherwise 0: [`Record::entries`](crate::Record::entries) of
    /// the run, read before its writer
    /// saw that the question is open.
    pub as_of: u64,
    /// Who wrote it, and from where, if that is known. Nothing depends on it.
    pub sender: Option<AnswerSender>,
}

impl InboxMessage {
    /// The member of a signal that contains the result of an activity that was done.
    pub const DONE: &str = "done";
    /// The value of a signal whose key is the id of a run: that run, which a tool call of this one started, can continue,
    /// or has ended in another process. A store writes the latter itself, in the transaction that ends that run, to all runs above it.
    pub const CONTINUE: &str = "continue";

    /// Tells a run that a run that one of its tool calls started can continue, or has ended.
    pub fn goes_on(called: String, at: u64) -> Self {
        Self { kind: MessageKind::Signal, key: called, value: Self::CONTINUE.into(), at, as_of: 0, sender: None }
    }

    /// Whether it answers a question of an activity, or decides about its unknown outcome. One message does that for each.
    pub fn is_answer(&self) -> bool {
        match self.kind {
            MessageKind::Answer => true,
            MessageKind::Signal => *self.value.to_text() != *Self::CONTINUE,
            MessageKind::Cancel => false,
        }
    }

    /// Who wrote it, from where, and when, if that is known.
    pub fn receipt(&self) -> Option<AnswerReceipt> {
        Some(AnswerReceipt { sender: self.sender.clone()?, at: self.at })
    }

    /// The answer or decision that it brings.
    pub fn given_answer(&self) -> GivenAnswer {
        GivenAnswer { text: self.value.to_text().to_string(), receipt: self.receipt() }
    }

    /// The answer that a question has already, of the messages to its run.
    pub(crate) fn find_earlier_answer(&self, all: &[PostedMessage]) -> Option<StoreError> {
        let is_same = |other: &Self| other.is_answer() && other.key == self.key;
        let earlier = all.iter().map(|posted| &posted.message).find(|other| is_same(other))?;
        Some(StoreError::Answered { key: self.key.clone(), by: Some(earlier.given_answer()) })
    }

    /// That the question is not open any more.
    pub(crate) fn is_late(&self) -> StoreError {
        StoreError::Answered { key: self.key.clone(), by: None }
    }
}

/// A message in an inbox.
#[derive(Debug, Clone, PartialEq)]
pub struct PostedMessage {
    /// Its number. Later messages have higher numbers.
    pub id: u64,
    /// The run's id.
    pub run: String,
    /// The message.
    pub message: InboxMessage,
}
