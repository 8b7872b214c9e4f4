//! Messages from other processes. Each is acted on by one entry, whose append deletes it.

use std::sync::Arc;

use trefoil_machine::journal::ActivityMetadata;
use trefoil_machine::key::Key;
use trefoil_machine::request::{Activity, Request};

use super::{InProgressActivity, RunCoordinator, WaitTarget};
use crate::facts::HostFacts;
use crate::inbox_messages::{InboxMessageIds, ReceivedMessage};
use crate::input::{EndedActivity, IncomingValue, OutcomeDecision, RunMessage};

impl RunCoordinator {
    /// Handles a message.
    pub(super) fn receive_message(
        &mut self,
        ReceivedMessage { what, message_ids, receipt }: ReceivedMessage<RunMessage>,
        facts: &dyn HostFacts,
    ) {
        match what {
            RunMessage::Cancel => self.cancel_run(message_ids, facts),
            RunMessage::Continue(run) => self.run_can_continue(run, message_ids, facts),
            RunMessage::Answer { key, answer, at } => match self.open_question(&key, at, facts) {
                Some(activity) => {
                    self.came_in(activity, ReceivedMessage { what: answer, message_ids, receipt });
                }
                None => self.outbox.discard_messages(message_ids),
            },
            RunMessage::Decided(key, decided) => {
                let activity = match self.under_way.get(&key) {
                    Some(open) if open.waits == WaitTarget::Decision => open.activity.clone(),
                    _ => return self.outbox.discard_messages(message_ids),
                };
                // The decision stays in the inbox for a process with the permission.
                if decided == OutcomeDecision::Retry && self.lacks_permission(&activity, facts).is_some() {
                    return;
                }
                self.put_away(&key, facts);
                self.apply_decision(activity, ReceivedMessage { what: decided, message_ids, receipt }, facts);
            }
            RunMessage::Unknown => self.outbox.discard_messages(message_ids),
        }
    }

    /// An activity ends with a value that nobody worked for.
    pub(super) fn came_in(&mut self, activity: Arc<Activity>, came: ReceivedMessage<IncomingValue>) {
        let ReceivedMessage { what: IncomingValue { value, replaced }, message_ids, receipt } = came;
        let about = ActivityMetadata { replaced, given_by: receipt.map(Box::new), ..ActivityMetadata::default() };
        self.done.push(EndedActivity { activity, result: Ok(value), about, message_ids });
    }

    /// Removes a question without an answer, whose time has not ended at that moment, from the work in progress, or from that which is
    /// to start.
    fn open_question(&mut self, key: &Key, at: u64, facts: &dyn HostFacts) -> Option<Arc<Activity>> {
        let is_question = |activity: &Activity| match &activity.request {
            Request::Human(request) => activity.key == *key && !request.is_late(at),
            _ => false,
        };
        if let Some(under_way) = self.under_way.get(key)
            && is_question(&under_way.activity)
        {
            return Some(self.put_away(key, facts)?.activity);
        }
        let at = self.starting.iter().position(|activity| is_question(activity))?;
        Some(self.starting.remove(at))
    }

    fn run_can_continue(&mut self, run: String, message_ids: InboxMessageIds, facts: &dyn HostFacts) {
        let waits = |one: &&InProgressActivity| matches!(&one.waits, WaitTarget::Run(call) if *call.run == *run);
        match self.under_way.values().find(waits) {
            Some(under_way) => {
                let key = under_way.activity.key.clone();
                self.call_again(&key, message_ids, facts);
            }
            // The call may be about to report that its run is suspended, without having seen the answer.
            None => self.called_back.entry(run).or_default().append_ids(message_ids),
        }
    }

    /// Deletes the messages about runs that no call waits for: the run is suspended, so no call is about to report one.
    pub(super) fn forget_called_back(&mut self) {
        for message_ids in std::mem::take(&mut self.called_back).into_values() {
            self.outbox.discard_messages(message_ids);
        }
    }
}
