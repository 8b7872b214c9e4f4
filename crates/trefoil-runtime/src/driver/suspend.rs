//! When a run has only waiting left to do: for people, for somebody's decision, for time.

use super::turns::{Driver, Waits};
use trefoil_machine::error::RunError;
use trefoil_machine::event::Waiting;
use trefoil_machine::journal::EntryKind;

/// A run that is suspended.
pub struct Suspended {
    /// What it waits for.
    pub waiting: Vec<Waiting>,
    /// When time alone continues with it, on the run's clock.
    wake_ms: Option<u64>,
}

impl Driver {
    /// Whether nothing is left but to wait for somebody. Time that is near is waited for here.
    pub fn only_waits(&self) -> Option<Suspended> {
        if !self.queue.is_empty() {
            return None;
        }
        let mut wake_ms: Option<u64> = None;
        let mut waiting = Vec::new();
        for under_way in self.under_way.values() {
            match under_way.waits {
                Waits::Work => return None,
                Waits::Time(due_ms) => wake_ms = Some(wake_ms.map_or(due_ms, |wake| wake.min(due_ms))),
                Waits::Answer | Waits::Decision => waiting.push(self.world.waiting(&under_way.activity)),
            }
        }
        let near = || self.world.watch.now_ms().saturating_add(self.going.linger_ms);
        if waiting.is_empty() || wake_ms.is_some_and(|wake| wake <= near()) {
            return None;
        }
        waiting.sort_by(|a, b| a.key.cmp(&b.key));
        Some(Suspended { waiting, wake_ms })
    }

    /// Writes down that the run is suspended.
    pub async fn suspend(&mut self, suspended: &Suspended) -> Result<(), RunError> {
        let ports = &self.world.ports;
        let from_now = |wake_ms: u64| wake_ms.saturating_sub(self.world.watch.now_ms());
        let wake_at = suspended.wake_ms.map(|wake_ms| ports.clock.wall_ms().saturating_add(from_now(wake_ms)));
        self.record(EntryKind::Suspended { wake_at });
        let waits = |waits: &Waits| matches!(waits, Waits::Answer | Waits::Decision);
        let waiting = self.under_way.values().filter(|u| waits(&u.waits)).map(|u| &*u.activity);
        let event = self.world.suspended(waiting, wake_at);
        self.tell(event);
        self.commit().await
    }
}

/// What whoever asked for the result gets instead.
pub fn error(waiting: &[Waiting]) -> RunError {
    let steps: Vec<String> = waiting.iter().map(|w| format!("`{}`", w.step)).collect();
    RunError::new("SUSPENDED", format!("the run is waiting for {}", steps.join(", ")))
}
