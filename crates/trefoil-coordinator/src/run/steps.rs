//! What the machine gets, and what it answers.

use std::collections::BTreeSet;
use std::sync::Arc;

use trefoil_machine::error::RunError;
use trefoil_machine::journal::{ActivityMetadata, EntryKind};
use trefoil_machine::key::Key;
use trefoil_machine::request::{Activity, Request, Usage};
use trefoil_machine::{MachineCommand, MachineOutput};

use super::{AgendaTask, InProgressActivity, RunCoordinator, WaitTarget};
use crate::action::{HostAction, StartWork};
use crate::facts::HostFacts;
use crate::inbox_messages::InboxMessageIds;
use crate::input::{EndedActivity, StopRequest};
use crate::notice::Notice;
use crate::outcome::{INTERRUPTED, STOPPED};

impl RunCoordinator {
    /// The machine gets these results, one after the other.
    pub(super) fn complete_activities(&mut self, batch: Vec<EndedActivity>, facts: &dyn HostFacts) {
        // All of them have ended, even if the machine reacts to the first by cancelling others.
        for done in &batch {
            self.under_way.swap_remove(&done.activity.key);
        }
        self.agenda.push_front(AgendaTask::Results(batch.into_iter(), facts.now_ms()));
    }

    pub(super) fn pass_results(
        &mut self,
        mut results: std::vec::IntoIter<EndedActivity>,
        at_ms: u64,
        facts: &dyn HostFacts,
    ) {
        while let Some(done) = results.next() {
            let output = self.result(done, at_ms, facts);
            if output.more {
                self.agenda.push_front(AgendaTask::Results(results, at_ms));
                self.take_output(output, facts);
                return;
            }
            self.take_output(output, facts);
        }
        if self.settings.queues {
            self.actions.push_back(HostAction::FreePermits);
        }
    }

    fn result(&mut self, mut done: EndedActivity, now: u64, facts: &dyn HostFacts) -> MachineOutput {
        let EndedActivity { activity, about, .. } = &mut done;
        if about.is_reused() {
            self.machine.not_made(activity);
        }
        if about.from.is_none() {
            self.machine.mark_begun(activity);
        }
        self.price(activity, about);
        self.replaced.extend(about.replaced.iter().cloned());
        let completion = self.record_ended(now, done, facts);
        self.machine.complete_activity(completion)
    }

    /// What an activity used, and what models used that were asked before: each at its own price. From here on the journal says it.
    fn price(&self, activity: &Activity, about: &mut ActivityMetadata) {
        let mut before: Option<Usage> = None;
        for earlier in &mut about.answer_metadata.before {
            if let Some(usage) = earlier.usage {
                let usage = self.machine.price_usage(activity, usage.without_impossible(), Some(&earlier.model));
                earlier.usage = Some(usage);
                before.get_or_insert_default().add_usage(usage);
            }
        }
        // Providers may report any numbers, and so may an embedder's tools.
        let Some(own) = about.usage else { return };
        let own = own.without_impossible();
        // The last model may have used nothing, although others have.
        let is_used = before.is_none() || own != Usage::default();
        let mut all = if is_used { self.machine.price_usage(activity, own, about.model.as_deref()) } else { own };
        if let Some(before) = before {
            all.add_usage(before);
        }
        about.usage = Some(all.without_impossible());
    }

    /// Does what the host wants who stops the run.
    pub(super) fn stop_as_wanted(&mut self, facts: &dyn HostFacts) -> Result<(), RunError> {
        if self.outbox.is_journaled() && matches!(self.wanted, StopRequest::Interrupt | StopRequest::Drain) {
            return Err(RunError::new(INTERRUPTED, "the run was interrupted; it can be resumed"));
        }
        self.cancel_run(InboxMessageIds::default(), facts);
        Ok(())
    }

    /// Cancels the run. `message_ids`: the messages that request it.
    pub(super) fn cancel_run(&mut self, message_ids: InboxMessageIds, facts: &dyn HostFacts) {
        self.record_for(message_ids, facts.now_ms(), || EntryKind::CancelRequested {});
        let output = self.machine.cancel_run();
        self.take_piece(output, facts);
        self.book_stopped(facts);
    }

    /// Records the known usage of stopped model calls, because it was spent.
    pub(super) fn book_stopped(&mut self, facts: &dyn HostFacts) {
        if self.stopped.is_empty() {
            return;
        }
        let now = facts.now_ms();
        for (activity, mut about) in std::mem::take(&mut self.stopped) {
            self.price(&activity, &mut about);
            self.record_stopped(now, activity, about, facts);
        }
    }

    /// Records that a call was stopped.
    pub(super) fn record_stopped(
        &mut self,
        at_ms: u64,
        activity: Arc<Activity>,
        about: ActivityMetadata,
        facts: &dyn HostFacts,
    ) {
        let result = Err(RunError::new(STOPPED, "the call was stopped"));
        let completion = self.record_ended(
            at_ms,
            EndedActivity { activity, result, about, message_ids: InboxMessageIds::default() },
            facts,
        );
        // No step waits for the result: the machine only adds up the usage.
        self.machine.complete_activity(completion);
    }

    /// Takes the machine's output, until the machine waits or has ended. If there is more, the rest is on the agenda.
    pub(super) fn take_output(&mut self, output: MachineOutput, facts: &dyn HostFacts) {
        let more = output.more;
        self.take_piece(output, facts);
        if more {
            self.agenda.push_front(AgendaTask::Yield);
            // Watchers see progress.
            self.commit();
        } else {
            self.book_stopped(facts);
        }
    }

    pub(super) fn take_piece(&mut self, output: MachineOutput, facts: &dyn HostFacts) {
        if facts.is_watched() {
            for event in output.events {
                self.tell(Notice::Noted(event));
            }
        }
        let mut void = BTreeSet::new();
        for command in output.commands {
            match command {
                MachineCommand::Start(activity) => {
                    // Cancelled, and requested again in the same output.
                    if void.remove(&activity.key) {
                        self.take_back(|key| *key == activity.key);
                    }
                    self.asked.push(Arc::new(activity));
                }
                MachineCommand::Cancel(key) => match self.put_away(&key, facts) {
                    Some(InProgressActivity { activity, work, .. })
                        if matches!(activity.request, Request::Model(_)) =>
                    {
                        let about = match work {
                            Some(work) => facts.metadata_so_far(work, &activity),
                            None => ActivityMetadata::from_usage(Some(Usage::for_unknown_call())),
                        };
                        self.stopped.push((activity, about));
                    }
                    Some(InProgressActivity { activity, waits: WaitTarget::Run(_), .. }) => self.call_off(activity),
                    Some(_) => {}
                    None => {
                        void.insert(key);
                    }
                },
                MachineCommand::Finish(result) => self.finished = Some(Box::new(result)),
            }
        }
        if !void.is_empty() {
            self.take_back(|key| void.contains(key));
        }
    }

    /// Takes back activities that have not started, as if they had never been requested.
    fn take_back(&mut self, unwanted: impl Fn(&Key) -> bool) {
        let admitted: Vec<_> = self.starting.extract_if(.., |activity| unwanted(&activity.key)).collect();
        let mut back: Vec<_> = self.asked.extract_if(.., |activity| unwanted(&activity.key)).collect();
        back.extend(self.omitted.extract_if(.., |activity| unwanted(&activity.key)));
        let waiting = self.queue.take_back(unwanted);
        let mut leaving: Vec<Key> = Vec::new();
        for activity in waiting.iter().chain(&admitted) {
            if matches!(activity.request, Request::Model(_)) {
                leaving.push(activity.key.clone());
            }
        }
        if self.settings.queues && !leaving.is_empty() {
            self.actions.push_back(HostAction::LeaveQueue(leaving));
        }
        for activity in waiting.into_iter().chain(back) {
            self.machine.not_made(&activity);
        }
    }

    /// Removes an activity in progress, and stops the work for it.
    pub(super) fn put_away(&mut self, key: &Key, facts: &dyn HostFacts) -> Option<InProgressActivity> {
        let under_way = self.under_way.swap_remove(key)?;
        if let Some(work) = under_way.work {
            let winds_down = facts.winds_down(work);
            if winds_down {
                self.winding.push((work, under_way.activity.clone()));
            }
            self.actions.push_back(HostAction::Stop { work, winds_down });
        }
        Some(under_way)
    }

    /// Ends a suspended run that is no longer needed: makes its tool call again, to be stopped, so that the tool ends the run.
    fn call_off(&mut self, activity: Arc<Activity>) {
        let share = self.create_share(&activity);
        let work = self.new_work();
        self.winding.push((work, activity.clone()));
        self.actions.push_back(HostAction::Start(vec![StartWork { work, activity, share, is_call_off: true }]));
    }
}
