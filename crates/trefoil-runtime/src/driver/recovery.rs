//! Activities that were under way when a process ended. Nobody knows whether they were done: each is *unknown*.

use std::sync::Arc;

use super::activity::{Done, World};
use super::turns::{Driver, Waits};
use crate::ports::Decided;
use trefoil_machine::error::RunError;
use trefoil_machine::event::EventKind;
use trefoil_machine::journal::{About, EntryKind};
use trefoil_machine::request::{Activity, Request, Usage};

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
    let message = format!("the run was resumed {times} times, and nothing came of it: it may be what ends its process");
    RunError::new("RESUME_LIMIT", message).help("find out what ended the process, or start a new run")
}

/// The failure of an activity that may have been done or not.
fn unknown(activity: &Activity) -> RunError {
    let what = activity.request.sort();
    let message = format!("the process ended while this {what} was running: whether it was done is not known");
    RunError::new("UNKNOWN_OUTCOME", message)
}

/// Whether doing it twice is the same as doing it once.
fn may_repeat(world: &World, request: &Request) -> bool {
    match request {
        Request::Tool(request) => world.ports.tools.is_idempotent(request),
        Request::Command(_) => false,
        Request::Model(_) | Request::Human(_) | Request::Timer { .. } | Request::Decide(_) => true,
    }
}

impl Driver {
    /// Takes up what was under way when the process before ended.
    pub async fn again(&mut self, execution: u32, notes: Vec<String>, restart: Vec<Activity>) {
        self.tell((None, None, EventKind::RunResumed { execution }));
        for activity in restart.iter().filter(|a| matches!(a.request, Request::Human(_))) {
            self.tell_began(activity);
        }
        for message in notes {
            self.world.watch.delta(None, None, EventKind::Warning { message });
        }
        for activity in restart {
            let activity = Arc::new(activity);
            if may_repeat(&self.world, &activity.request) {
                self.repeat(activity);
                continue;
            }
            let policy = match &activity.request {
                Request::Command(_) => self.options.recovery.commands,
                _ => self.options.recovery.tools,
            };
            let decided = match policy {
                OnUnknown::Ask => self.world.decided(&activity).await,
                OnUnknown::Retry => Some(Decided::Retry),
                OnUnknown::Fail => Some(Decided::Fail),
            };
            match decided {
                Some(decided) => self.decide(activity, decided),
                None => self.wait(activity, Waits::Decision),
            }
        }
    }

    /// Does what somebody decided about an unknown activity.
    pub fn decide(&mut self, activity: Arc<Activity>, decided: Decided) {
        self.settled.push(activity.key.clone());
        match decided {
            Decided::Retry => self.repeat(activity),
            Decided::Fail => {
                let result = Err(unknown(&activity));
                self.done.push(Done { activity, result, about: About::default() });
            }
        }
    }

    /// Does it again.
    fn repeat(&mut self, activity: Arc<Activity>) {
        if !matches!(activity.request, Request::Human(_) | Request::Timer { .. } | Request::Decide(_)) {
            let usage = matches!(activity.request, Request::Model(_)).then(Usage::unknown);
            let usage = usage.map(|usage| self.machine.priced(&activity, usage));
            self.record(EntryKind::Restarted { key: activity.key.clone(), usage });
            self.machine.spent(&activity.key, usage.unwrap_or_default());
            self.tell_began(&activity);
        }
        self.starting.push(activity);
    }
}
