//! Tool calls that start runs: what they may use, and how they are ended.

use std::sync::Arc;

use futures_util::stream::StreamExt as _;

use super::activity::{Done, Performed};
use super::told::STOPPED;
use super::turns::Driver;
use crate::allowance::Refusal;
use crate::ports::Meter;
use trefoil_machine::error::RunError;
use trefoil_machine::journal::{About, EntryKind};
use trefoil_machine::request::{Activity, Request};
use trefoil_machine::{Completion, LimitKind, UsedAmounts};

/// How long stopped calls may take to end, in milliseconds.
const MOMENT_MS: u64 = 1_000;

impl Driver {
    /// Returns an error if the requested model calls and the usage of the runs above and below this one would together exceed a
    /// limit, and whether the run waits until that is raised.
    pub(super) fn beyond_limits(&mut self) -> Option<(RunError, bool)> {
        if !self.has_parts && !self.allowance.is_of_call() {
            return None;
        }
        let now = self.settle();
        let Some(call) = self.asked.iter().find(|activity| matches!(activity.request, Request::Model(_))) else {
            self.allowance.report();
            return None;
        };
        let Refusal { why, waits, kind, raise } = self.allowance.take(now).err()?;
        let location = self.world.prepared.program.step(call.step).map(|step| step.origin);
        let error = RunError::new("BUDGET_EXCEEDED", why).at_step(Some(call.key.clone()), location);
        let help = match kind.option().filter(|_| waits) {
            Some(option) => format!("allow more with `{option}`"),
            None => {
                let options: Vec<String> =
                    LimitKind::ALL.iter().filter_map(|kind| Some(format!("`{}`", kind.option()?))).collect();
                format!(
                    "raise the limit of the run that was started: {}, or the one in its manifest",
                    options.join(", ")
                )
            }
        };
        // What this run needs after these calls. The runs above it say what they need themselves.
        let raise = raise.map(|raise| raise.with_more(self.machine.still_needed(call)));
        Some((error.help(help).raising(raise), waits))
    }

    /// Updates the allowance with the run's current total and the open tool calls.
    fn settle(&mut self) -> UsedAmounts {
        let (limits, now) = (self.guard.0.least(self.machine.flags().spec.limits), self.machine.used());
        self.allowance.settle((limits, self.memo.is_some()), now, |key| {
            self.under_way.contains_key(key)
                || self.winding.iter().any(|(activity, _)| activity.key == *key)
                || self.starting.iter().any(|(activity, _)| activity.key == *key)
        });
        now
    }

    /// Creates the meter of an activity. The meter of a tool call has a share of the allowance.
    pub(super) fn meter(&mut self, activity: &Activity) -> Arc<Meter> {
        if !matches!(activity.request, Request::Tool(_)) {
            return Arc::new(Meter::of(None, self.world.seen.clone()));
        }
        self.has_parts = true;
        let _ = self.settle();
        let counted = self.world.counted.get(&activity.key).copied().unwrap_or_default();
        let room = self.machine.room(&activity.key);
        Arc::new(Meter::of(Some(self.allowance.part(&activity.key, room, counted)), self.world.seen.clone()))
    }

    /// Gives stopped tool calls that requested it a moment to end.
    pub(super) async fn wind_down(&mut self) {
        let world = self.world.clone();
        let mut moment = std::pin::pin!(world.ports.clock.sleep(MOMENT_MS));
        while !self.winding.is_empty() {
            tokio::select! {
                performed = self.work.next() => match performed {
                    Some(Ok(Performed::Done(done, _))) => self.wound_down(vec![*done]).clear(),
                    Some(_) => {}
                    None => return,
                },
                () = &mut moment => return,
            }
        }
    }

    /// Records the usage of the stopped calls in `done`, and returns the other activities.
    pub(super) fn wound_down(&mut self, done: Vec<Done>) -> Vec<Done> {
        if self.winding.is_empty() {
            return done;
        }
        let (mut others, now) = (Vec::new(), self.world.watch.now_ms());
        for done in done {
            let Some(at) = self.winding.iter().position(|(activity, _)| Arc::ptr_eq(activity, &done.activity)) else {
                others.push(done);
                continue;
            };
            let (activity, _) = self.winding.swap_remove(at);
            let Some(usage) = done.about.usage else { continue };
            let (key, about) = (activity.key.clone(), About::usage(Some(usage)));
            let error = RunError::new(STOPPED, "the call was stopped");
            let (world, result) = (self.world.clone(), Err(error.clone()));
            world.ended(&activity, &result, &about, &mut |untold| self.tell(untold));
            let about = Box::new(about);
            self.record_at(now, || EntryKind::Failed { key: key.clone(), error: error.clone().stored(), about });
            // No step waits for this completion. The machine only adds up the usage.
            self.machine.on(Completion { usage: Some(usage), ..Completion::new(key, now, Err(error)) });
        }
        others
    }
}
