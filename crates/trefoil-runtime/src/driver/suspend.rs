//! Suspends a run that only waits: for people, decisions, called runs or timers.

use super::cancel::Cancel;
use super::turns::{Driver, UnderWay, Waits};
use trefoil_machine::clock::{Due, RunMs};
use trefoil_machine::error::RunError;
use trefoil_machine::event::Waiting;
use trefoil_machine::journal::{CalledRun, EntryKind};
use trefoil_machine::request::Usage;

/// A run that is suspended.
pub struct Suspended {
    /// What it waits for.
    pub waiting: Vec<Waiting>,
    /// When the next wait is due.
    wake: Option<RunMs>,
}

impl Driver {
    /// Whether something would start next, but must not.
    pub(super) fn is_held(&self) -> bool {
        self.going.cancel.is_held() && !(self.asked.is_empty() && self.queue.is_empty())
    }

    /// Whether the run is drained: it shall stop when its work in progress has ended, and that has ended.
    pub(super) fn is_drained(&self) -> bool {
        let is_work = |one: &UnderWay| matches!(one.waits, Waits::Work);
        self.going.cancel.is_draining() && self.winding.is_empty() && !self.under_way.values().any(is_work)
    }

    /// Whether it waits for a run that it has called.
    pub(super) fn waits_for_called(&self) -> bool {
        self.under_way.values().any(|one| matches!(one.waits, Waits::Run(_)))
    }

    /// Lets the runs that tool calls have started end their work in progress, too.
    pub(super) fn drain_called(&self) {
        let calls = self.under_way.values().filter(|one| matches!(one.waits, Waits::Work));
        calls.filter_map(|one| one.meter.winds_down()).for_each(Cancel::drain);
    }

    /// Returns what the run waits for, if it can be suspended. A run with a timer that is due soon is not suspended.
    pub fn only_waits(&self) -> Option<Suspended> {
        if !self.queue.is_empty() || self.is_held() {
            return None;
        }
        let mut wake: Option<RunMs> = None;
        let mut waiting = Vec::new();
        for under_way in self.under_way.values() {
            match &under_way.waits {
                Waits::Work => return None,
                Waits::Time(Due::Run(due)) => wake = Some(wake.map_or(*due, |wake| wake.min(*due))),
                // Time limits stand still while no process has the run.
                Waits::Time(Due::Work(_)) => {}
                Waits::Run(call) => waiting.extend(call.waiting.iter().map(|one| {
                    let calls = [&under_way.activity.key].into_iter().chain(&one.calls).cloned().collect();
                    Waiting { calls, ..one.clone() }
                })),
                Waits::Answer | Waits::Decision => waiting.push(self.world.waiting(&under_way.activity)),
            }
        }
        let left = |wake: RunMs| self.world.watch.left(Due::Run(wake));
        if waiting.is_empty() || wake.is_some_and(|wake| left(wake) <= self.going.linger_ms) {
            return None;
        }
        waiting.sort_by(|a, b| (&a.run, &a.key).cmp(&(&b.run, &b.key)));
        Some(Suspended { waiting, wake })
    }

    /// What called runs that wait have used. The machine counts a called run when that has ended.
    pub(super) fn used_by_waiting_calls(&self) -> Usage {
        let mut all = Usage::default();
        for one in self.under_way.values() {
            if let Waits::Run(call) = &one.waits {
                all.add(call.usage);
            }
        }
        all
    }

    /// The run waits for somebody who allows what it would do next, and who goes on with it then.
    pub(super) fn wait_for_permission(&mut self, why: &RunError) {
        self.stop_before(why, None);
    }

    /// The run stops here before something that this process may not do. Another process, which may do it, can continue at once.
    pub(super) fn leave_to_others(&mut self, why: &RunError) {
        self.stop_before(why, Some(self.world.ports.clock.wall_ms()));
    }

    fn stop_before(&mut self, why: &RunError, wake_at: Option<u64>) {
        (self.stays, self.is_suspended) = (true, true);
        let asked = self.under_way.values().filter(|one| matches!(one.waits, Waits::Answer));
        let event = self.world.suspended(asked.map(|one| &*one.activity), &[], None, Some(why));
        let why = Some(Box::new(why.clone().stored()));
        self.record(EntryKind::Suspended { wake_at, called: Vec::new(), why });
        self.tell(event);
    }

    /// Records that the run is suspended.
    pub async fn suspend(&mut self, suspended: &Suspended) -> Result<(), RunError> {
        let ports = &self.world.ports;
        let left = |wake: RunMs| self.world.watch.left(Due::Run(wake));
        let own = suspended.wake.map(|wake| ports.clock.wall_ms().saturating_add(left(wake)));
        let of_called = |one: &UnderWay| if let Waits::Run(call) = &one.waits { call.wake_at } else { None };
        let wake_at = self.under_way.values().filter_map(of_called).chain(own).min();
        let called = |one: &UnderWay| match &one.waits {
            Waits::Run(call) => Some(CalledRun { key: one.activity.key.clone(), run: call.run.to_string() }),
            _ => None,
        };
        let called: Vec<CalledRun> = self.under_way.values().filter_map(called).collect();
        let waits = |waits: &Waits| matches!(waits, Waits::Answer | Waits::Decision | Waits::Run(_));
        let waiting = self.under_way.values().filter(|u| waits(&u.waits)).map(|u| &*u.activity);
        let event = self.world.suspended(waiting, &called, wake_at, None);
        self.forget_called_back();
        self.record(EntryKind::Suspended { wake_at, called, why: None });
        self.tell(event);
        self.commit().await
    }
}

/// The error that a suspended run returns instead of a result.
pub fn error(waiting: &[Waiting]) -> RunError {
    let steps: Vec<String> = waiting.iter().map(|w| format!("`{}`", w.step)).collect();
    RunError::new("SUSPENDED", format!("the run is waiting for {}", steps.join(", ")))
}
