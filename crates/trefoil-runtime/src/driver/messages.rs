//! Messages from other processes. Each is acted on by one entry, whose append deletes its letters.

use std::sync::Arc;

use super::turns::{Driver, UnderWay, Waits};
use crate::ports::{Arrived, Decided, Letters, Received};
use trefoil_machine::key::Key;
use trefoil_machine::request::{Activity, Request};

impl Driver {
    /// Handles the messages that are in the inbox when a run is resumed. A message that waits while no process has the run would
    /// otherwise only be seen if the run has something else to do.
    pub(super) async fn read_inbox(&mut self) {
        while self.finished.is_none()
            && let Some(received) = self.world.ports.humans.waiting(&self.world.watch.run).await
        {
            self.arrive(received);
        }
    }

    /// Handles a message.
    pub(super) fn arrive(&mut self, Received { what, letters }: Received<Arrived>) {
        match what {
            Arrived::Cancel => self.stop(letters),
            Arrived::Continue(run) => self.run_can_continue(run, letters),
            Arrived::Answer { key, text, at } => match self.open_question(&key, at) {
                Some(activity) => self.came_in(activity, text.into(), letters),
                None => self.outbox.discard(letters),
            },
            Arrived::Decided(key, decided) => {
                let open = self.under_way.get(&key).filter(|one| one.waits == Waits::Decision);
                let Some(activity) = open.map(|one| one.activity.clone()) else {
                    return self.outbox.discard(letters);
                };
                // The decision stays in the inbox for a process with the permission.
                if decided == Decided::Retry && self.lacks_permission(&activity).is_some() {
                    return;
                }
                self.put_away(&key);
                self.decide(activity, decided, letters);
            }
            Arrived::Unknown => self.outbox.discard(letters),
        }
    }

    /// Removes a question without an answer, whose time has not ended at that moment, from the work in progress, or from that which is
    /// to start.
    fn open_question(&mut self, key: &Key, at: u64) -> Option<Arc<Activity>> {
        let is_question = |activity: &Activity| match &activity.request {
            Request::Human(request) => activity.key == *key && !request.is_late(at),
            _ => false,
        };
        if self.under_way.get(key).is_some_and(|one| is_question(&one.activity)) {
            return self.put_away(key).map(|UnderWay { activity, .. }| activity);
        }
        let at = self.starting.iter().position(|(activity, _)| is_question(activity))?;
        Some(self.starting.remove(at).0)
    }

    fn run_can_continue(&mut self, run: String, letters: Letters) {
        let waits = |one: &&UnderWay| matches!(&one.waits, Waits::Run(call) if *call.run == *run);
        match self.under_way.values().find(waits).map(|one| one.activity.key.clone()) {
            Some(key) => self.call_again(&key, letters),
            // The call may be about to report that its run is suspended, without having seen the answer.
            None => self.called_back.entry(run).or_default().join(letters),
        }
    }

    /// Deletes the messages about runs that no call waits for: the run is suspended, so no call is about to report one.
    pub(super) fn forget_called_back(&mut self) {
        for letters in std::mem::take(&mut self.called_back).into_values() {
            self.outbox.discard(letters);
        }
    }
}
