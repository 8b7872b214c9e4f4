//! Activities that were in progress when a process ended. Their outcome is *unknown*.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::ENGINE;
use super::activity::{self, Done, World};
use super::drafts::add_drafts;
use super::told::Untold;
use super::turns::{Driver, Waits};
use crate::ports::{Decided, Letters, Received};
use trefoil_machine::error::RunError;
use trefoil_machine::event::EventKind;
use trefoil_machine::journal::{Changes, EntryKind, Lost};
use trefoil_machine::key::Key;
use trefoil_machine::request::{Activity, Request, Usage};
use trefoil_machine::{Machine, Output};

/// The state of a resumed run when its process ended.
pub struct Open {
    /// How often it has been resumed, including this time.
    pub execution: u32,
    /// Warnings for the user.
    pub notes: Vec<String>,
    /// Activities that had started but not ended.
    pub restart: Vec<Activity>,
    /// Further requests of the machine.
    pub output: Output,
}

/// How a failed run is reopened.
pub struct Again {
    /// The entry [`EntryKind::Reopened`].
    pub kind: EntryKind,
    /// The events for that entry.
    pub told: Vec<Untold>,
    /// Activities that are requested again although their outcome is unknown.
    pub unknown: BTreeSet<Key>,
}

/// How to handle activities with an unknown outcome. Model calls are repeated. Timers, questions, descriptions of tools and
/// conditions are repeated because that is free. Of tools and commands, only idempotent tools are repeated without asking.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Recovery {
    /// For tools that are not idempotent.
    pub tools: OnUnknown,
    /// For commands.
    pub commands: OnUnknown,
}

/// How to handle an activity with an unknown outcome that may not be safe to repeat.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OnUnknown {
    /// The run waits until somebody decides.
    #[default]
    Ask,
    /// It is repeated.
    Retry,
    /// It fails with `UNKNOWN_OUTCOME`.
    Fail,
}

/// The error for a run that was resumed too often without progress.
pub fn hopeless(times: u32) -> RunError {
    let message =
        format!("the run was resumed {times} times without progress; it may be the reason why its process ends");
    RunError::new("RESUME_LIMIT", message).help("find out what ended the process, or start a new run")
}

/// The error code of an activity with an unknown outcome.
pub const UNKNOWN: &str = "UNKNOWN_OUTCOME";

/// The error for an activity with an unknown outcome.
fn unknown(activity: &Activity) -> RunError {
    let what = activity.request.sort();
    let message = format!("it is unknown whether this {what} was done: its process ended, or no answer came");
    RunError::new(UNKNOWN, message)
}

/// Whether performing it twice is the same as performing it once.
pub fn may_repeat(world: &World, request: &Request) -> bool {
    match request {
        Request::Tool(request) => world.ports.tools.is_idempotent(request),
        Request::Command(_) => false,
        Request::Model(_) | Request::Describe(_) | Request::Human(_) | Request::Timer { .. } | Request::Decide(_) => {
            true
        }
    }
}

/// The model calls among activities, with the usage that each counts for.
pub fn lost(machine: &Machine, open: &[Activity]) -> Vec<Lost> {
    let models = open.iter().filter(|a| matches!(a.request, Request::Model(_)));
    let lost =
        |a: &Activity| Lost { key: a.key.clone(), usage: machine.priced(a, Usage::unknown(), None), partial: None };
    models.map(lost).collect()
}

impl Driver {
    /// Continues the activities that were in progress when the previous process ended.
    pub async fn again(&mut self, changes: Changes, resumed: Open) -> Result<(), RunError> {
        let Open { execution, notes, restart, output } = resumed;
        let mut lost = lost(&self.machine, &restart);
        add_drafts(&self.world, &mut lost).await;
        let at_ms = self.world.watch.now_ms();
        self.machine.resumed(at_ms);
        self.world.watch.resumed(self.machine.clock());
        self.tell((None, None, EventKind::RunResumed { execution }));
        for activity in restart.iter().filter(|a| matches!(a.request, Request::Human(_))) {
            self.tell_began(activity);
        }
        for (activity, lost) in restart.iter().filter(|a| matches!(a.request, Request::Model(_))).zip(&lost) {
            self.tell(self.world.lost(activity, lost));
        }
        for message in notes {
            self.world.watch.delta(None, None, EventKind::Warning { message });
        }
        let engine = ENGINE.to_owned();
        self.machine.change(&changes);
        let changes = Box::new(changes);
        self.record_at(at_ms, || EntryKind::Resumed { engine, execution, lost: lost.clone(), changes });
        self.take(output).await?;
        let restart = restart.into_iter().filter(|a| !matches!(a.request, Request::Model(_)));
        self.take_all_up(restart.map(Arc::new)).await?;
        if !lost.is_empty() {
            let output = self.machine.lost(&lost, at_ms);
            self.take(output).await?;
        }
        Ok(())
    }

    /// Continues a run that had failed. The failure says nothing about activities with an unknown outcome, so they are handled as
    /// in any other resume.
    pub async fn reopened(&mut self, again: Again, open: Open) -> Result<(), RunError> {
        self.world.watch.resumed(self.machine.clock());
        for untold in again.told {
            self.tell(untold);
        }
        self.record(again.kind);
        self.take(open.output).await?;
        let unknown = self.begin_those(&again.unknown);
        self.take_all_up(open.restart.into_iter().map(Arc::new).chain(unknown)).await
    }

    /// Takes up time limits first, because taking up an activity may remove its time limit.
    async fn take_all_up(&mut self, all: impl Iterator<Item = Arc<Activity>>) -> Result<(), RunError> {
        let (timers, rest): (Vec<_>, Vec<_>) = all.partition(|a| matches!(a.request, Request::Timer { .. }));
        for activity in timers.into_iter().chain(rest) {
            self.take_up(activity).await?;
        }
        Ok(())
    }

    async fn take_up(&mut self, activity: Arc<Activity>) -> Result<(), RunError> {
        if may_repeat(&self.world, &activity.request) {
            self.repeat(activity, Letters::default());
            return Ok(());
        }
        let policy = match &activity.request {
            Request::Command(_) => self.going.recovery.commands,
            _ => self.going.recovery.tools,
        };
        let decided = match policy {
            OnUnknown::Ask => None,
            OnUnknown::Retry => Some(Decided::Retry),
            OnUnknown::Fail => Some(Decided::Fail),
        };
        // What somebody has decided about this step stands above what is said for all.
        match self.world.decided(&activity).await.or(decided.map(Received::here)) {
            // The decision stays in the inbox for a process with the permission.
            Some(Received { what: Decided::Retry, .. }) if let Some(error) = self.lacks_permission(&activity) => {
                self.leave_to_others(&error);
                return Err(error);
            }
            Some(Received { what, letters }) => self.decide(activity, what, letters),
            None => {
                // The step's time limit applies to the work, not to the decision.
                let limit = self.machine.limit_of(&activity.key);
                self.not_yet(limit.as_ref());
                self.wait(activity, Waits::Decision);
            }
        }
        Ok(())
    }

    /// Applies the decision about an activity with an unknown outcome.
    pub fn decide(&mut self, activity: Arc<Activity>, decided: Decided, letters: Letters) {
        match decided {
            Decided::Retry => self.repeat(activity, letters),
            Decided::Fail => {
                let result = Err(unknown(&activity));
                self.done.push(Done::of(activity, result, letters));
            }
            Decided::Done(value) => {
                let value = match &activity.request {
                    Request::Command(_) => activity::succeeded(value.to_text().to_string()),
                    _ => value,
                };
                self.came_in(activity, value, letters);
            }
        }
    }

    /// Repeats an activity. `letters`: those that permit it, once.
    pub(super) fn repeat(&mut self, activity: Arc<Activity>, letters: Letters) {
        if !matches!(activity.request, Request::Human(_) | Request::Timer { .. } | Request::Decide(_)) {
            let (key, now) = (activity.key.clone(), self.world.watch.now_ms());
            self.record_for(letters, now, || EntryKind::Restarted { key });
            self.tell_began(&activity);
            let output = self.machine.restarted(&activity.key, now);
            self.take_piece(output);
        }
        self.starting.push((activity, None));
    }
}
