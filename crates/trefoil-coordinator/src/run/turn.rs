//! A turn: what the machine requests is stored and started. Then the run waits.

use std::sync::Arc;

use trefoil_machine::clock::{DueTime, RunMs};
use trefoil_machine::error::RunError;
use trefoil_machine::journal::EntryKind;
use trefoil_machine::request::{Activity, Request};

use super::{AgendaTask, RunCoordinator};
use crate::action::HostAction;
use crate::facts::HostFacts;
use crate::inbox_messages::InboxMessageIds;
use crate::input::{AdmittedCalls, StopRequest};
use crate::queue::{WaitingCall, limited_call_key};
use crate::state::{CoordinatorState, TurnPhase};

impl RunCoordinator {
    /// Goes through a phase of a turn. The next one is on the agenda after whatever this one puts there.
    pub(super) fn perform_phase(&mut self, phase: TurnPhase, facts: &dyn HostFacts) -> Result<(), RunError> {
        if let Some(next) = phase.next_phase() {
            self.agenda.push_back(AgendaTask::Phase(next));
        }
        match phase {
            TurnPhase::Results => {
                let ended = std::mem::take(&mut self.done);
                if !ended.is_empty() {
                    self.complete_activities(ended, facts);
                }
            }
            TurnPhase::Finish => {
                if let Some(result) = self.finished.take() {
                    self.finish(*result);
                }
            }
            TurnPhase::Permission => {
                for next in self.asked.iter().chain(&self.starting) {
                    if let Some(error) = self.lacks_permission(next, facts) {
                        self.leave_to_others(&error, facts);
                        return Err(error);
                    }
                }
            }
            TurnPhase::LookUp => {
                let unknown = match &self.memo {
                    Some(memo) => memo.answers_to_look_up(&self.asked),
                    None => Vec::new(),
                };
                if !unknown.is_empty() {
                    self.ask(HostAction::LookUp(unknown), CoordinatorState::LookingUp);
                }
            }
            TurnPhase::Reuse => {
                self.reuse_results(facts)?;
                if self.finished.is_some() {
                    self.begin_turn();
                }
            }
            TurnPhase::Limits => self.compare_limits(facts)?,
            // A run that is being stopped starts nothing that would be stopped at once.
            TurnPhase::Schedule if self.is_held() || self.wanted.is_now() => {}
            TurnPhase::Schedule => self.schedule(facts),
            TurnPhase::Commit => self.commit(),
            TurnPhase::Start => {
                self.start_activities();
                if !self.done.is_empty() {
                    self.begin_turn();
                }
            }
            TurnPhase::Wait => self.wait(facts)?,
        }
        Ok(())
    }

    /// The rest of this turn is skipped.
    pub(super) fn begin_turn(&mut self) {
        self.agenda.clear();
    }

    /// Records entries for the requested activities, which can no longer be taken back. A model call that has to wait gets its
    /// entry when its turn comes.
    fn schedule(&mut self, facts: &dyn HostFacts) {
        let is_call = |activity: &&Arc<Activity>| matches!(activity.request, Request::Model(_));
        let calls: Vec<_> = match self.settings.queues {
            true => self.asked.iter().filter(is_call).cloned().collect(),
            false => Vec::new(),
        };
        if calls.is_empty() && self.queue.is_empty() {
            self.start_admitted(AdmittedCalls::default(), facts);
        } else {
            self.ask(HostAction::Admit(calls), CoordinatorState::Admitting);
        }
    }

    pub(super) fn start_admitted(&mut self, admitted: AdmittedCalls, facts: &dyn HostFacts) {
        let now = facts.now_ms();
        for key in admitted.turned {
            if let Some(WaitingCall { call, limit }) = self.queue.remove_call(&key) {
                self.begin_activity(now, call, limit, facts);
            }
        }
        let mut at_once = admitted.at_once.into_iter().peekable();
        for activity in std::mem::take(&mut self.asked) {
            let Some(activity) = self.queue.keep_limit(activity) else { continue };
            let is_call = self.settings.queues && matches!(activity.request, Request::Model(_));
            if is_call && at_once.next_if(|key| *key == activity.key).is_none() {
                self.queue.add_call(activity);
            } else {
                self.begin_activity(now, activity, None, facts);
            }
        }
    }

    fn begin_activity(
        &mut self,
        now: u64,
        activity: Arc<Activity>,
        limit: Option<Arc<Activity>>,
        facts: &dyn HostFacts,
    ) {
        let is_limit = match self.starting.last() {
            Some(last) => {
                matches!(last.request, Request::Model(_)) && limited_call_key(&activity) == Some(last.key.as_str())
            }
            None => false,
        };
        let activity = if is_limit { self.limit_from_now(&activity, now) } else { activity };
        self.write_down(now, &activity, facts);
        self.starting.push(activity);
        if let Some(limit) = limit {
            self.begin_activity(now, limit, None, facts);
        }
    }

    /// A time limit that starts now.
    fn limit_from_now(&self, limit: &Arc<Activity>, now: u64) -> Arc<Activity> {
        let Request::Timer { ms, due } = limit.request else { return limit.clone() };
        let due = match due {
            DueTime::Run(_) => DueTime::Run(RunMs(now).plus_ms(ms)),
            DueTime::Work(_) => DueTime::Work(self.machine.clock().work_at(RunMs(now)).plus_ms(ms)),
        };
        Arc::new(Activity { request: Request::Timer { ms, due }, ..(**limit).clone() })
    }

    /// Records the entry of an activity that is to be started.
    pub(super) fn write_down(&mut self, now: u64, activity: &Arc<Activity>, facts: &dyn HostFacts) {
        self.record_at(now, || EntryKind::Scheduled {
            key: activity.key.clone(),
            sort: activity.request.sort_name().into(),
            content: activity.content,
            due_ms: if let Request::Timer { due: DueTime::Run(at), .. } = activity.request { Some(at.0) } else { None },
            again: activity.again,
        });
        self.tell_began(activity, facts);
    }

    /// Waits, or ends the run here if it can only wait for others or is to stop.
    fn wait(&mut self, facts: &dyn HostFacts) -> Result<(), RunError> {
        if self.wanted.is_now() {
            return self.stop_as_wanted(facts);
        }
        let drains = self.wanted == StopRequest::Drain;
        // A run that this one has called may wait only because it was drained, too.
        let suspended = if drains && self.waits_for_called() { None } else { self.only_waits(facts) };
        if let Some(suspended) = suspended {
            self.suspend_run(suspended, facts);
            return Ok(());
        }
        if drains && self.is_drained() {
            return self.stop_as_wanted(facts);
        }
        let is_held = self.is_held();
        if !self.is_working() && self.queue.is_empty() && !is_held {
            if !self.omitted.is_empty() {
                // The only step that was to run has.
                self.cancel_run(InboxMessageIds::default(), facts);
                return Ok(());
            }
            return Err(RunError::new("LIMIT_EXCEEDED", "internal error: nothing is in flight"));
        }
        self.ask(HostAction::Wait { is_held, drains }, CoordinatorState::Working { is_held });
        Ok(())
    }
}
