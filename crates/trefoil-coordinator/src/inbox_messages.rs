//! Messages of other processes, which stay in a run's inbox until the run has acted on them.
//!
//! What a run receives comes with its [`InboxMessageIds`]. They can only be passed on to an append, together with
//! the entry that acts on the message.
//! So an act and the removal of its message are one transaction, and a process that ends before or after it changes nothing about
//! that. Messages that are dropped stay in the inbox.

use trefoil_machine::AnswerReceipt;

/// The number of a message in its inbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InboxMessageId(pub u64);

/// The messages that say one thing. Cannot be copied, because one message permits one act.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct InboxMessageIds(Vec<InboxMessageId>);

impl InboxMessageIds {
    /// The messages with these numbers.
    pub fn from_ids(ids: impl IntoIterator<Item = InboxMessageId>) -> Self {
        Self(ids.into_iter().collect())
    }

    /// Adds other messages.
    pub fn append_ids(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    /// Their numbers.
    pub fn as_slice(&self) -> &[InboxMessageId] {
        &self.0
    }
}

/// What a run receives, with the messages that say it.
#[derive(Debug, PartialEq, Eq)]
pub struct ReceivedMessage<T> {
    /// What it says.
    pub what: T,
    /// What acting on it takes out of the inbox.
    pub message_ids: InboxMessageIds,
    /// Who said it, if that is known. The entry that acts on it names them.
    pub receipt: Option<AnswerReceipt>,
}

impl<T> ReceivedMessage<T> {
    /// Something that is in no inbox.
    pub fn without_inbox(what: T) -> Self {
        Self { what, message_ids: InboxMessageIds::default(), receipt: None }
    }
}
