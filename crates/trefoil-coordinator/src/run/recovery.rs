//! A run that another process had: what was in progress when that process ended.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use trefoil_machine::error::RunError;
use trefoil_machine::journal::{ActivityMetadata, EntryKind, ResumeChanges};
use trefoil_machine::key::Key;
use trefoil_machine::machine::KeptResult;
use trefoil_machine::request::{Activity, Request};
use trefoil_machine::{AnswerReceipt, Machine, MachineOutput};

use super::{AgendaTask, RunCoordinator, RunSettings, WaitTarget};
use crate::action::HostAction;
use crate::allowance::Share;
use crate::facts::HostFacts;
use crate::inbox_messages::{InboxMessageIds, ReceivedMessage};
use crate::input::{EndedActivity, OutcomeDecision};
use crate::memo::Memo;
use crate::notice::Notice;
use crate::recovery::{OnUnknown, lost_calls, may_repeat, unknown_outcome_error};
use crate::state::CoordinatorState;

/// The state of a run at the end of its journal.
#[derive(Debug)]
pub struct ResumedRun {
    /// The machine.
    pub machine: Machine,
    /// Activities that had started but not ended.
    pub restart: Vec<Activity>,
    /// Further requests of the machine.
    pub output: MachineOutput,
    /// The number of the next entry.
    pub next_seq: u64,
    /// Results from before the run was reopened.
    pub kept: BTreeMap<Key, KeptResult>,
    /// The secrets that were replaced in incoming data.
    pub replaced: BTreeSet<String>,
    /// How it goes on.
    pub how: RunResumption,
}

/// How a run goes on.
#[derive(Debug)]
pub enum RunResumption {
    /// Its process had ended.
    Resumed {
        /// What is to be different.
        changes: ResumeChanges,
        /// What had been received of the answers of model calls.
        drafts: BTreeMap<Key, String>,
    },
    /// It had failed. The entry has already been replayed, but is not stored yet.
    Reopened {
        /// The entry.
        kind: EntryKind,
        /// What happened in its replay.
        notices: Vec<Notice>,
        /// Activities that are requested again although their outcome is unknown.
        unknown: BTreeSet<Key>,
    },
}

impl RunCoordinator {
    /// The coordinator of a run that goes on. `within`: the share of the call that started the run.
    pub fn resume_run(
        resumed: ResumedRun,
        settings: RunSettings,
        (memo, within): (Option<Memo>, Option<Share>),
        facts: &dyn HostFacts,
    ) -> Self {
        let ResumedRun { machine, restart, output, next_seq, kept, replaced, how } = resumed;
        let mut run = Self::new(machine, settings, memo, within);
        run.outbox.continue_at(next_seq);
        (run.kept, run.replaced) = (kept, replaced);
        let restart: Vec<Arc<Activity>> = restart.into_iter().map(Arc::new).collect();
        match how {
            RunResumption::Resumed { changes, drafts } => run.go_on(restart, (changes, drafts), output, facts),
            // The failure says nothing about activities with an unknown outcome, so they are handled as in any other resume.
            RunResumption::Reopened { kind, notices, unknown } => {
                run.record(kind, facts);
                for notice in notices {
                    run.tell(notice);
                }
                run.agenda.extend([AgendaTask::TakeUpAll(restart, unknown), AgendaTask::ReadInbox]);
                run.take_output(output, facts);
            }
        }
        run
    }

    /// Continues the activities that were in progress when the previous process ended.
    fn go_on(
        &mut self,
        restart: Vec<Arc<Activity>>,
        (changes, mut drafts): (ResumeChanges, BTreeMap<Key, String>),
        output: MachineOutput,
        facts: &dyn HostFacts,
    ) {
        let (models, rest): (Vec<_>, Vec<_>) =
            restart.into_iter().partition(|one| matches!(one.request, Request::Model(_)));
        let mut lost = lost_calls(&self.machine, &models);
        for one in &mut lost {
            one.partial = drafts.remove(&one.key);
        }
        let at_ms = facts.now_ms();
        self.machine.mark_resumed(at_ms);
        let execution = self.settings.execution;
        self.machine.apply_changes(&changes);
        let (engine, changes) = (crate::ENGINE.to_owned(), Box::new(changes));
        self.record_at(at_ms, || EntryKind::Resumed { engine, execution, lost: lost.clone(), changes });
        self.tell(Notice::Resumed(execution));
        for activity in &rest {
            if matches!(activity.request, Request::Human(_)) {
                self.tell_began(activity, facts);
            }
        }
        for (activity, lost) in models.into_iter().zip(&lost) {
            self.tell(Notice::Lost(activity, Box::new(lost.clone())));
        }
        self.agenda.push_back(AgendaTask::TakeUpAll(rest, BTreeSet::new()));
        if !lost.is_empty() {
            self.agenda.push_back(AgendaTask::Lost(lost, at_ms));
        }
        self.agenda.push_back(AgendaTask::ReadInbox);
        self.take_output(output, facts);
    }

    /// Takes up time limits first, because taking up an activity may remove its time limit. `unknown`: the keys of requested
    /// activities that are taken up, too.
    pub(super) fn take_up_all(
        &mut self,
        mut restart: Vec<Arc<Activity>>,
        unknown: &BTreeSet<Key>,
        facts: &dyn HostFacts,
    ) {
        let those: Vec<_> = self.asked.extract_if(.., |activity| unknown.contains(&activity.key)).collect();
        let now = facts.now_ms();
        for activity in &those {
            self.write_down(now, activity, facts);
        }
        restart.extend(those);
        let is_timer = |activity: &Arc<Activity>| matches!(activity.request, Request::Timer { .. });
        let (timers, rest): (Vec<_>, Vec<_>) = restart.into_iter().partition(is_timer);
        for activity in timers.into_iter().chain(rest).rev() {
            self.agenda.push_front(AgendaTask::TakeUp(activity));
        }
    }

    pub(super) fn take_up(&mut self, activity: Arc<Activity>, facts: &dyn HostFacts) {
        if may_repeat(&activity.request, facts) {
            self.repeat_activity(activity, (InboxMessageIds::default(), None), facts);
            return;
        }
        self.deciding = Some(activity.clone());
        self.ask(HostAction::ReadDecision(activity), CoordinatorState::Deciding);
    }

    /// Takes up the activity with the decision about it, if there is one.
    pub(super) fn decision_read(
        &mut self,
        decided: Option<ReceivedMessage<OutcomeDecision>>,
        facts: &dyn HostFacts,
    ) -> Result<(), RunError> {
        let Some(activity) = self.deciding.take() else { return Ok(()) };
        let policy = match &activity.request {
            Request::Command(_) => self.settings.recovery.commands,
            _ => self.settings.recovery.tools,
        };
        let of_all = match policy {
            OnUnknown::Ask => None,
            OnUnknown::Retry => Some(OutcomeDecision::Retry),
            OnUnknown::Fail => Some(OutcomeDecision::Fail),
        };
        // What somebody has decided about this step stands above what is said for all.
        match decided.or(of_all.map(ReceivedMessage::without_inbox)) {
            // The decision stays in the inbox for a process with the permission.
            Some(ReceivedMessage { what: OutcomeDecision::Retry, .. })
                if let Some(error) = self.lacks_permission(&activity, facts) =>
            {
                self.leave_to_others(&error, facts);
                return Err(error);
            }
            Some(decided) => self.apply_decision(activity, decided, facts),
            None => {
                // The step's time limit applies to the work, not to the decision.
                let limit = self.machine.limit_of(&activity.key);
                self.not_yet(limit.as_ref());
                self.wait_for_message(activity, WaitTarget::Decision);
            }
        }
        Ok(())
    }

    /// Removes an activity that was to be started, until it is requested again.
    fn not_yet(&mut self, key: Option<&Key>) {
        self.starting.retain(|activity| Some(&activity.key) != key);
        self.asked.retain(|activity| Some(&activity.key) != key);
    }

    /// Applies the decision about an activity with an unknown outcome.
    pub(super) fn apply_decision(
        &mut self,
        activity: Arc<Activity>,
        ReceivedMessage { what, message_ids, receipt }: ReceivedMessage<OutcomeDecision>,
        facts: &dyn HostFacts,
    ) {
        match what {
            OutcomeDecision::Retry => self.repeat_activity(activity, (message_ids, receipt), facts),
            OutcomeDecision::Fail => {
                let result = Err(unknown_outcome_error(&activity));
                let about = ActivityMetadata { given_by: receipt.map(Box::new), ..ActivityMetadata::default() };
                self.done.push(EndedActivity { activity, result, about, message_ids });
            }
            OutcomeDecision::Done(what) => {
                self.came_in(activity, ReceivedMessage { what, message_ids, receipt });
            }
        }
    }

    /// Repeats an activity. `message_ids`: the messages that permit it, once each. `receipt`: who decided it.
    pub(super) fn repeat_activity(
        &mut self,
        activity: Arc<Activity>,
        (message_ids, receipt): (InboxMessageIds, Option<AnswerReceipt>),
        facts: &dyn HostFacts,
    ) {
        if !matches!(activity.request, Request::Human(_) | Request::Timer { .. } | Request::Decide(_)) {
            let (key, now) = (activity.key.clone(), facts.now_ms());
            let given_by = receipt.map(Box::new);
            let told = given_by.clone();
            self.record_for(message_ids, now, || EntryKind::Restarted { key, given_by });
            if facts.is_watched() {
                self.tell(Notice::Began(activity.clone(), told));
            }
            let output = self.machine.restart_effect(&activity.key, now);
            self.take_piece(output, facts);
        }
        self.starting.push(activity);
    }
}
