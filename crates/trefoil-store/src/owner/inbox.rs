//! An inbox that gets answers, decisions and stop requests as messages from any process.

use std::sync::Arc;

use async_trait::async_trait;
use trefoil_runtime::ports::{
    CallSite, InboxMessageId, InboxMessageIds, QuestionState, RawDecision, RawRunMessage, ReceivedMessage,
};
use trefoil_runtime::{HumanInbox, HumanRequest, Key};

use super::Owner;
use crate::inbox::{InboxMessage, MessageKind, PostedMessage};

/// Asks the local inbox first, if there is one, and accepts messages that other processes write to this owner's runs.
pub struct StoreInbox {
    owner: Arc<Owner>,
    here: Option<Arc<dyn HumanInbox>>,
}

impl StoreInbox {
    /// `here` is the inbox that is asked first. Without it, questions are stored and the run waits for a message.
    pub fn new(owner: Arc<Owner>, here: Option<Arc<dyn HumanInbox>>) -> Self {
        Self { owner, here }
    }
}

#[async_trait]
impl HumanInbox for StoreInbox {
    async fn ask_question(&self, at: CallSite<'_>, request: &HumanRequest) -> QuestionState {
        let fits = |posted: &PostedMessage| match message_meaning(posted) {
            RawRunMessage::Answer { key, text, at: given } if key == *at.key && !request.is_late(given) => Some(text),
            _ => None,
        };
        if let Some(answer) = self.owner.find_message(at.run, fits).await {
            return QuestionState::Written(answer);
        }
        match &self.here {
            Some(here) => here.ask_question(at, request).await,
            None => QuestionState::Later,
        }
    }

    async fn find_decision(&self, at: CallSite<'_>) -> Option<ReceivedMessage<RawDecision>> {
        let fits = |posted: &PostedMessage| match message_meaning(posted) {
            RawRunMessage::Decided(key, decided) if key == *at.key => Some(decided),
            _ => None,
        };
        match (self.owner.find_message(at.run, fits).await, &self.here) {
            (None, Some(here)) => here.find_decision(at).await,
            (decided, _) => decided,
        }
    }

    async fn next_message(&self, run: &str) -> ReceivedMessage<RawRunMessage> {
        let message = async { received_message(&self.owner.next_message(run).await) };
        let Some(here) = &self.here else { return message.await };
        tokio::select! {
            arrived = here.next_message(run) => arrived,
            arrived = message => arrived,
        }
    }

    async fn waiting_message(&self, run: &str) -> Option<ReceivedMessage<RawRunMessage>> {
        match (self.owner.message_now(run).await, &self.here) {
            (Some(posted), _) => Some(received_message(&posted)),
            (None, Some(here)) => here.waiting_message(run).await,
            (None, None) => None,
        }
    }
}

fn received_message(posted: &PostedMessage) -> ReceivedMessage<RawRunMessage> {
    ReceivedMessage {
        what: message_meaning(posted),
        message_ids: InboxMessageIds::from_ids([InboxMessageId(posted.id)]),
        receipt: posted.message.receipt(),
    }
}

/// The meaning of a message for a run.
fn message_meaning(posted: &PostedMessage) -> RawRunMessage {
    let message = &posted.message;
    let key = Key(message.key.as_str().into());
    let text = message.value.to_text();
    if let (MessageKind::Signal, Some(result)) = (message.kind, message.value.get(InboxMessage::DONE)) {
        return RawRunMessage::Decided(key, RawDecision::Done(result.clone()));
    }
    match (message.kind, &*text) {
        (MessageKind::Answer, answer) => RawRunMessage::Answer { key, text: answer.to_owned(), at: message.at },
        (MessageKind::Signal, "retry") => RawRunMessage::Decided(key, RawDecision::Retry),
        (MessageKind::Signal, InboxMessage::CONTINUE) => RawRunMessage::Continue(message.key.clone()),
        (MessageKind::Signal, "fail") => RawRunMessage::Decided(key, RawDecision::Fail),
        (MessageKind::Cancel, _) => RawRunMessage::Cancel,
        (MessageKind::Signal, _) => RawRunMessage::Unknown,
    }
}
