//! Clocks: the system's, and a virtual one on which time passes only when runs wait for it.

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::sync::Mutex;
use std::task::Poll;
use std::time::Duration;

use async_trait::async_trait;

use super::Clock;
use crate::locks::lock;

/// The system's monotonic clock. Needs a tokio runtime with time enabled.
#[derive(Debug, Clone)]
pub struct SystemClock {
    began: std::time::Instant,
}

impl Default for SystemClock {
    #[allow(clippy::disallowed_methods, reason = "this is the clock port")]
    fn default() -> Self {
        Self { began: std::time::Instant::now() }
    }
}

impl SystemClock {
    /// A clock that starts now.
    pub fn new() -> Self {
        Self::default()
    }
}

#[async_trait]
impl Clock for SystemClock {
    fn now_ms(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
    async fn sleep_ms(&self, ms: u64) {
        tokio::time::sleep(Duration::from_millis(ms)).await;
    }
    #[allow(clippy::disallowed_methods, reason = "this is the clock port")]
    fn wall_ms(&self) -> u64 {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        since.map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
    }
}

/// How often the earliest sleeper is polled, without any other use of the clock, before time jumps to it.
const PATIENCE: u32 = 16;

/// 2025-01-01 UTC: when a virtual clock starts.
const BEGAN_MS: u64 = 1_735_689_600_000;

/// A clock that stands still while there is work, and jumps to the earliest sleeper when there is none. For tests and simulation,
/// within one task: work that waits for something outside the task does not count.
#[derive(Debug, Default)]
pub struct VirtualClock {
    state: Mutex<VirtualClockState>,
}

#[derive(Debug, Default)]
struct VirtualClockState {
    now_ms: u64,
    sleepers: BTreeMap<(u64, u64), ()>,
    next: u64,
    idle: u32,
}

impl VirtualClock {
    /// A clock at 0.
    pub fn new() -> Self {
        Self::default()
    }

    fn state(&self) -> std::sync::MutexGuard<'_, VirtualClockState> {
        lock(&self.state)
    }
}

/// Removes a sleeper when its future is dropped.
struct ClockSleeper<'c> {
    clock: &'c VirtualClock,
    at: (u64, u64),
}

impl Drop for ClockSleeper<'_> {
    fn drop(&mut self) {
        self.clock.state().sleepers.remove(&self.at);
    }
}

#[async_trait]
impl Clock for VirtualClock {
    fn now_ms(&self) -> u64 {
        let mut state = self.state();
        // Asking for the time counts as work.
        state.idle = 0;
        state.now_ms
    }

    fn wall_ms(&self) -> u64 {
        BEGAN_MS + self.now_ms()
    }

    async fn sleep_ms(&self, ms: u64) {
        let sleeper = {
            let mut state = self.state();
            let at = (state.now_ms.saturating_add(ms), state.next);
            state.next += 1;
            state.idle = 0;
            state.sleepers.insert(at, ());
            ClockSleeper { clock: self, at }
        };
        poll_fn(|context| {
            let mut state = self.state();
            if sleeper.at.0 <= state.now_ms {
                return Poll::Ready(());
            }
            if state.sleepers.keys().next() == Some(&sleeper.at) {
                state.idle += 1;
                if state.idle > PATIENCE {
                    state.idle = 0;
                    state.now_ms = sleeper.at.0;
                    return Poll::Ready(());
                }
            }
            context.waker().wake_by_ref();
            Poll::Pending
        })
        .await;
    }
}
