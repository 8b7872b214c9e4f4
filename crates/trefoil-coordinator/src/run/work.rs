//! Work: how it starts, and how it ends without a result for the machine.

use std::sync::Arc;

use trefoil_machine::journal::ActivityMetadata;
use trefoil_machine::key::Key;
use trefoil_machine::request::{Activity, Request};

use super::{InProgressActivity, RunCoordinator, WaitTarget};
use crate::action::{HostAction, StartWork, WorkId};
use crate::facts::HostFacts;
use crate::inbox_messages::InboxMessageIds;
use crate::input::{EndedActivity, EndedWork, SuspendedCall, WorkOutcome};

impl RunCoordinator {
    pub(super) fn new_work(&mut self) -> WorkId {
        self.next_work += 1;
        WorkId(self.next_work)
    }

    /// Starts the activities that have an entry.
    pub(super) fn start_activities(&mut self) {
        let starting = std::mem::take(&mut self.starting);
        let mut all = Vec::with_capacity(starting.len());
        for activity in starting {
            let share = self.create_share(&activity);
            let work = self.new_work();
            let waits = match activity.request {
                Request::Timer { due, .. } => WaitTarget::Time(due),
                _ => WaitTarget::Work,
            };
            let under_way = InProgressActivity { activity: activity.clone(), waits, work: Some(work) };
            self.under_way.insert(activity.key.clone(), under_way);
            all.push(StartWork { work, activity, share, is_call_off: false });
        }
        if !all.is_empty() {
            self.actions.push_back(HostAction::Start(all));
        }
    }

    /// Adds an activity that only waits for a message.
    pub(super) fn wait_for_message(&mut self, activity: Arc<Activity>, waits: WaitTarget) {
        self.under_way.insert(activity.key.clone(), InProgressActivity { activity, waits, work: None });
    }

    /// Marks an activity in progress as waiting for a message. Nobody works on it any more.
    pub(super) fn mark_waiting(&mut self, work: WorkId, key: &Key, waits: WaitTarget) {
        if let Some(under_way) = self.under_way.get_mut(key)
            && under_way.work == Some(work)
        {
            (under_way.waits, under_way.work) = (waits, None);
        }
    }

    /// Called when the run that a tool call started is suspended. The step's time limit applies to the work, not to the wait, so it
    /// starts again with the next call.
    pub(super) fn suspend_call(&mut self, work: WorkId, key: &Key, call: Box<SuspendedCall>, facts: &dyn HostFacts) {
        if let Some(at) = self.winding.iter().position(|(winding, _)| *winding == work) {
            self.winding.swap_remove(at);
            return;
        }
        if !self.is_current(work, key) {
            return;
        }
        if let Some(limit) = self.machine.limit_of(key) {
            self.put_away(&limit, facts);
        }
        let can_continue = self.called_back.remove(&*call.run);
        self.mark_waiting(work, key, WaitTarget::Run(call));
        if let Some(message_ids) = can_continue {
            self.call_again(key, message_ids, facts);
        }
    }

    /// Repeats a tool call whose run can continue.
    pub(super) fn call_again(&mut self, key: &Key, message_ids: InboxMessageIds, facts: &dyn HostFacts) {
        if let Some(InProgressActivity { activity, .. }) = self.put_away(key, facts) {
            self.repeat_activity(activity, (message_ids, None), facts);
        }
    }

    /// The result of work, if it is that of an activity in progress. Of a stopped call, the usage is recorded.
    pub(super) fn accept_result(
        &mut self,
        work: WorkId,
        done: EndedActivity,
        facts: &dyn HostFacts,
    ) -> Option<EndedActivity> {
        if let Some(at) = self.winding.iter().position(|(winding, _)| *winding == work) {
            self.winding.swap_remove(at);
            self.wound_down(done, facts);
            return None;
        }
        if self.is_current(work, &done.activity.key) { Some(done) } else { None }
    }

    /// Whether an activity in progress waits for this work.
    fn is_current(&self, work: WorkId, key: &Key) -> bool {
        matches!(self.under_way.get(key), Some(under_way) if under_way.work == Some(work))
    }

    /// Work has ended while the run ends.
    pub(super) fn ended_late(&mut self, ended: Vec<EndedWork>, facts: &dyn HostFacts) {
        for EndedWork { work, how, .. } in ended {
            let Some(at) = self.winding.iter().position(|(winding, _)| *winding == work) else { continue };
            self.winding.swap_remove(at);
            if let WorkOutcome::Done(done) = how {
                self.wound_down(*done, facts);
            }
        }
    }

    /// Records the usage of a stopped call.
    fn wound_down(&mut self, done: EndedActivity, facts: &dyn HostFacts) {
        let EndedActivity { activity, about, .. } = done;
        let Some(usage) = about.usage else { return };
        self.record_stopped(facts.now_ms(), activity, ActivityMetadata::from_usage(Some(usage)), facts);
    }
}
