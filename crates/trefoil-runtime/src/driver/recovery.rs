//! Activities that were in progress when a process ended. Nobody knows whether they were done: each is *unknown*.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::ENGINE;
use super::activity::{self, Done, World};
use super::drafts::add_drafts;
use super::told::Untold;
use super::turns::{Driver, Waits};
use crate::ports::Decided;
use trefoil_machine::error::RunError;
use trefoil_machine::event::EventKind;
use trefoil_machine::journal::{About, Changes, EntryKind, Lost};
use trefoil_machine::key::Key;
use trefoil_machine::request::{Activity, Request, Usage};
use trefoil_machine::{Machine, Output};

/// What a run that is resumed was at when its process ended.
pub struct Open {
    /// How often it has been resumed, including this time.
    pub execution: u32,
    /// What whoever continues with it should know.
    pub notes: Vec<String>,
    /// What had begun and not ended.
    pub restart: Vec<Activity>,
    /// What was asked for beyond that.
    pub output: Output,
}

/// How a run that had failed continues.
pub struct Again {
    /// The entry that says so.
    pub kind: EntryKind,
    /// What to tell with it.
    pub told: Vec<Untold>,
    /// What is requested again although nobody knows whether it was done.
    pub unknown: BTreeSet<Key>,
}

/// What becomes of unknown activities. Models are called again; time, people and conditions on what is set cost nothing to
/// ask again. Of tools and commands only those that may be called twice are called again unasked (decision C15).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Recovery {
    /// Of tools that are not idempotent.
    pub tools: OnUnknown,
    /// Of commands.
    pub commands: OnUnknown,
}

/// What becomes of an unknown activity that may do harm when it is done twice.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OnUnknown {
    /// The run waits until somebody decides.
    #[default]
    Ask,
    /// It is done again.
    Retry,
    /// It failed, with `UNKNOWN_OUTCOME`.
    Fail,
}

/// A run that ends its process, again and again.
pub fn hopeless(times: u32) -> RunError {
    let message =
        format!("the run was resumed {times} times without progress; it may be the reason why its process ends");
    RunError::new("RESUME_LIMIT", message).help("find out what ended the process, or start a new run")
}

/// The code of that.
pub const UNKNOWN: &str = "UNKNOWN_OUTCOME";

/// The failure of an activity that may have been done or not.
fn unknown(activity: &Activity) -> RunError {
    let what = activity.request.sort();
    let message = format!("it is unknown whether this {what} was done: its process ended, or no answer came");
    RunError::new(UNKNOWN, message)
}

/// Whether doing it twice is the same as doing it once.
pub fn may_repeat(world: &World, request: &Request) -> bool {
    match request {
        Request::Tool(request) => world.ports.tools.is_idempotent(request),
        Request::Command(_) => false,
        Request::Model(_) | Request::Describe(_) | Request::Human(_) | Request::Timer { .. } | Request::Decide(_) => {
            true
        }
    }
}

/// The model calls among activities, with what each is taken to have used.
pub fn lost(machine: &Machine, open: &[Activity]) -> Vec<Lost> {
    let models = open.iter().filter(|a| matches!(a.request, Request::Model(_)));
    let lost =
        |a: &Activity| Lost { key: a.key.clone(), usage: machine.priced(a, Usage::unknown(), None), partial: None };
    models.map(lost).collect()
}

impl Driver {
    /// Takes up what was in progress when the process before ended.
    pub async fn again(&mut self, changes: Changes, resumed: Open) -> Result<(), RunError> {
        let Open { execution, notes, restart, output } = resumed;
        let mut lost = lost(&self.machine, &restart);
        add_drafts(&self.world, &mut lost).await;
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
        let (engine, at_ms) = (ENGINE.to_owned(), self.world.watch.now_ms());
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

    /// Goes on with a run that had failed. That it failed says nothing new about what may have been done: somebody decides.
    pub async fn reopened(&mut self, again: Again, open: Open) -> Result<(), RunError> {
        for untold in again.told {
            self.tell(untold);
        }
        self.record(again.kind);
        self.take(open.output).await?;
        let unknown = self.begin_those(&again.unknown);
        self.take_all_up(open.restart.into_iter().map(Arc::new).chain(unknown)).await
    }

    /// Time limits first: what becomes of them depends on what becomes of what they limit.
    async fn take_all_up(&mut self, all: impl Iterator<Item = Arc<Activity>>) -> Result<(), RunError> {
        let (timers, rest): (Vec<_>, Vec<_>) = all.partition(|a| matches!(a.request, Request::Timer { .. }));
        for activity in timers.into_iter().chain(rest) {
            self.take_up(activity).await?;
        }
        Ok(())
    }

    async fn take_up(&mut self, activity: Arc<Activity>) -> Result<(), RunError> {
        if may_repeat(&self.world, &activity.request) {
            self.repeat(activity);
            return Ok(());
        }
        let policy = match &activity.request {
            Request::Command(_) => self.going.recovery.commands,
            _ => self.going.recovery.tools,
        };
        let decided = match policy {
            OnUnknown::Ask => self.world.decided(&activity).await,
            OnUnknown::Retry => Some(Decided::Retry),
            OnUnknown::Fail => Some(Decided::Fail),
        };
        match decided {
            // What was decided stays for a process that may do it.
            Some(Decided::Retry) if let Some(error) = self.may_not(&activity) => return Err(error),
            Some(decided) => self.decide(activity, decided),
            None => {
                // Whoever decides has all the time they need: the time limit of the step is for doing it.
                let limit = self.machine.limit_of(&activity.key);
                self.not_yet(limit.as_ref());
                self.wait(activity, Waits::Decision);
            }
        }
        Ok(())
    }

    /// Does what somebody decided about an unknown activity.
    pub fn decide(&mut self, activity: Arc<Activity>, decided: Decided) {
        self.settled.push(activity.key.clone());
        match decided {
            Decided::Retry => self.repeat(activity),
            Decided::Fail => {
                let result = Err(unknown(&activity));
                self.done.push(Done { activity, result, about: About::default(), spent: Vec::new() });
            }
            Decided::Done(value) => {
                let value = self.world.secrets.scrub_value(value);
                let result = Ok(match &activity.request {
                    Request::Command(_) => activity::succeeded(value.to_text().to_string()),
                    _ => value,
                });
                self.done.push(Done { activity, result, about: About::default(), spent: Vec::new() });
            }
        }
    }

    /// Does it again.
    fn repeat(&mut self, activity: Arc<Activity>) {
        if !matches!(activity.request, Request::Human(_) | Request::Timer { .. } | Request::Decide(_)) {
            let (key, now) = (activity.key.clone(), self.world.watch.now_ms());
            self.record_at(now, || EntryKind::Restarted { key, usage: None, anew: true });
            self.tell_began(&activity);
            let output = self.machine.restarted(&activity.key, now);
            self.take_piece(output);
        }
        self.starting.push((activity, None));
    }
}
