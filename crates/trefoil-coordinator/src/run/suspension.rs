//! Suspends a run that only waits: for people, decisions, called runs or timers.

use trefoil_machine::clock::{DueTime, RunMs};
use trefoil_machine::error::RunError;
use trefoil_machine::event::AwaitedActivity;
use trefoil_machine::journal::{CalledRun, EntryKind};
use trefoil_machine::request::Usage;

use super::{AgendaTask, InProgressActivity, RunCoordinator, WaitTarget};
use crate::facts::HostFacts;
use crate::notice::{Notice, SuspendedRun};

/// A run that is suspended here.
#[derive(Debug)]
pub(super) struct LocalSuspension {
    /// What it waits for.
    pub waiting: Vec<AwaitedActivity>,
    /// When the next wait is due.
    wake: Option<RunMs>,
}

impl RunCoordinator {
    /// Whether something would start next, but must not.
    pub(super) fn is_held(&self) -> bool {
        self.wanted.is_holding() && !(self.asked.is_empty() && self.queue.is_empty())
    }

    /// Whether the work in progress of a run has ended that is to stop then.
    pub(super) fn is_drained(&self) -> bool {
        self.winding.is_empty() && !self.under_way.values().any(|one| one.waits == WaitTarget::Work)
    }

    /// Whether anybody works on anything.
    pub(super) fn is_working(&self) -> bool {
        !self.winding.is_empty() || self.under_way.values().any(|one| one.work.is_some())
    }

    /// Whether it waits for a run that it has called.
    pub(super) fn waits_for_called(&self) -> bool {
        self.under_way.values().any(|one| matches!(one.waits, WaitTarget::Run(_)))
    }

    /// Returns what the run waits for, if it can be suspended. A run with a timer that is due soon is not suspended.
    pub(super) fn only_waits(&self, facts: &dyn HostFacts) -> Option<LocalSuspension> {
        if !self.queue.is_empty() || self.is_held() {
            return None;
        }
        let mut wake: Option<RunMs> = None;
        for under_way in self.under_way.values() {
            match &under_way.waits {
                WaitTarget::Work => return None,
                WaitTarget::Time(DueTime::Run(due)) => wake = earlier(wake, Some(*due)),
                // Time limits stand still while no process has the run.
                WaitTarget::Time(DueTime::Work(_)) | WaitTarget::Run(_) | WaitTarget::Answer | WaitTarget::Decision => {
                }
            }
        }
        if let Some(wake) = wake
            && self.time_left(DueTime::Run(wake), facts) <= self.settings.linger_ms
        {
            return None;
        }
        let mut waiting = Vec::new();
        for under_way in self.under_way.values() {
            match &under_way.waits {
                WaitTarget::Work | WaitTarget::Time(_) => {}
                WaitTarget::Run(call) => {
                    let (key, more) = (&under_way.activity.key, self.machine.still_needed(None));
                    for awaited in &call.waiting {
                        waiting.push(awaited.clone().for_caller(key, more));
                    }
                }
                WaitTarget::Answer | WaitTarget::Decision => waiting.push(facts.awaited_activity(&under_way.activity)),
            }
        }
        waiting.sort_by(|a, b| (&a.run, &a.key).cmp(&(&b.run, &b.key)));
        if waiting.is_empty() { None } else { Some(LocalSuspension { waiting, wake }) }
    }

    /// What called runs that wait have used. The machine counts a called run when that has ended.
    pub(super) fn used_by_waiting_calls(&self) -> Usage {
        let mut all = Usage::default();
        for one in self.under_way.values() {
            if let WaitTarget::Run(call) = &one.waits {
                // A call that is made again after a failure has counted before.
                let counted = self.settings.counted.get(&one.activity.key).copied().unwrap_or_default();
                all.add_usage(call.usage.difference_from(counted));
            }
        }
        all
    }

    /// The run waits for somebody who allows what it would do next, and who goes on with it then.
    pub(super) fn wait_for_permission(&mut self, why: &RunError, facts: &dyn HostFacts) {
        self.stop_before(why, None, facts);
    }

    /// The run stops here before something that this process may not do. Another process, which may do it, can continue at once.
    pub(super) fn leave_to_others(&mut self, why: &RunError, facts: &dyn HostFacts) {
        self.stop_before(why, Some(facts.wall_ms()), facts);
    }

    fn stop_before(&mut self, why: &RunError, wake_at: Option<u64>, facts: &dyn HostFacts) {
        (self.stays, self.is_suspended) = (true, true);
        let mut waiting = Vec::new();
        for InProgressActivity { activity, waits, .. } in self.under_way.values() {
            if *waits == WaitTarget::Answer {
                waiting.push(activity.clone());
            }
        }
        let run = SuspendedRun { waiting, called: Vec::new(), wake_at, why: Some(why.clone()) };
        let why = Some(Box::new(why.clone().without_location()));
        self.record(EntryKind::Suspended { wake_at, called: Vec::new(), why }, facts);
        self.tell(Notice::Suspended(Box::new(run)));
    }

    /// Records that the run is suspended. It ends here when that is stored.
    pub(super) fn suspend_run(&mut self, suspended: LocalSuspension, facts: &dyn HostFacts) {
        let mut wake_at = None;
        if let Some(wake) = suspended.wake {
            wake_at = Some(facts.wall_ms().saturating_add(self.time_left(DueTime::Run(wake), facts)));
        }
        let (mut called, mut waiting) = (Vec::new(), Vec::new());
        for InProgressActivity { activity, waits, .. } in self.under_way.values() {
            match waits {
                WaitTarget::Work | WaitTarget::Time(_) => continue,
                WaitTarget::Answer | WaitTarget::Decision => {}
                WaitTarget::Run(call) => {
                    wake_at = earlier(wake_at, call.wake_at);
                    called.push(CalledRun { key: activity.key.clone(), run: call.run.to_string() });
                }
            }
            waiting.push(activity.clone());
        }
        let run = SuspendedRun { waiting, called: called.clone(), wake_at, why: None };
        self.forget_called_back();
        self.record(EntryKind::Suspended { wake_at, called, why: None }, facts);
        self.tell(Notice::Suspended(Box::new(run)));
        self.agenda.extend([AgendaTask::WindDown, AgendaTask::Suspended(Box::new(suspended))]);
        self.commit();
    }
}

fn earlier<T: Ord>(one: Option<T>, other: Option<T>) -> Option<T> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}
