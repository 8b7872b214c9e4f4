//! The run's clock and its stream of events, which have consecutive numbers and the time for which the run has been worked on.

use std::sync::{Arc, Mutex};

use trefoil_syntax::Location;

use super::masking::MaskingLayer;
use crate::locks::lock;
use crate::ports::{Clock, EventSink};
use trefoil_machine::clock::{DueTime, RunClock, RunMs, WorkMs};
use trefoil_machine::event::{Event, EventKind};
use trefoil_machine::key::Key;

/// Numbers events and measures the run's time.
pub struct RunEventClock {
    /// The run's id.
    pub run: Arc<str>,
    sink: Arc<dyn EventSink>,
    clock: Arc<dyn Clock>,
    masking: Arc<MaskingLayer>,
    state: Mutex<EventClockState>,
}

struct EventClockState {
    next: u64,
    began_ms: u64,
    base_ms: u64,
    clock: RunClock,
}

impl RunEventClock {
    /// A clock that starts now.
    pub fn new(run: Arc<str>, sink: Arc<dyn EventSink>, clock: Arc<dyn Clock>, masking: Arc<MaskingLayer>) -> Self {
        let state = EventClockState { next: 0, began_ms: clock.now_ms(), base_ms: 0, clock: RunClock::default() };
        Self { run, sink, clock, masking, state: Mutex::new(state) }
    }

    /// Hides the values of this layer from now on.
    pub fn set_masking(&mut self, masking: Arc<MaskingLayer>) {
        self.masking = masking;
    }

    /// Sets the clock of a resumed run to this time.
    pub fn continue_from(&self, at_ms: u64) {
        lock(&self.state).base_ms = at_ms;
    }

    /// Milliseconds since the run started.
    pub fn now_ms(&self) -> u64 {
        let now = self.clock.now_ms();
        let state = lock(&self.state);
        state.base_ms.saturating_add(now.saturating_sub(state.began_ms))
    }

    /// Sets the clocks of a resumed run, as its journal has them.
    pub fn set_run_clock(&self, clock: RunClock) {
        lock(&self.state).clock = clock;
    }

    /// Milliseconds on the run's work clock.
    pub fn worked_ms(&self) -> u64 {
        let now = RunMs(self.now_ms());
        lock(&self.state).clock.work_at(now).0
    }

    /// How long a timer still runs, in milliseconds.
    pub fn remaining_ms(&self, due: DueTime) -> u64 {
        let now = RunMs(self.now_ms());
        lock(&self.state).clock.time_left(due, now)
    }

    /// Whether the sink wants events.
    pub fn wants_events(&self) -> bool {
        self.sink.wants_events()
    }

    /// Sends an event.
    pub fn send_event(&self, key: Option<Key>, location: Option<Location>, kind: EventKind) {
        self.note_at(WorkMs(self.worked_ms()), key, location, kind);
    }

    /// Sends an event of an entry that was made at this time.
    pub fn note_stored(&self, at: RunMs, key: Option<Key>, location: Option<Location>, kind: EventKind) {
        let at = lock(&self.state).clock.work_at(at);
        self.note_at(at, key, location, kind);
    }

    /// Sends an event with a time of the work clock.
    pub fn note_at(&self, at: WorkMs, key: Option<Key>, location: Option<Location>, kind: EventKind) {
        self.emit_event(at.0, key, location, kind, 1);
    }

    /// Sends an event that is not in the journal. It has the number of the event before it.
    pub fn send_delta(&self, key: Option<Key>, location: Option<Location>, kind: EventKind) {
        self.emit_event(self.worked_ms(), key, location, kind, 0);
    }

    fn emit_event(&self, at_ms: u64, key: Option<Key>, location: Option<Location>, kind: EventKind, step: u64) {
        if !self.wants_events() {
            return;
        }
        let kind = self.masking.mask_event(kind);
        // Sent while the lock is held, so that events arrive in the order of their numbers.
        let mut state = lock(&self.state);
        state.next += step;
        let seq = state.next.saturating_sub(1);
        self.sink.receive_owned(Event { run: self.run.clone(), seq, at_ms, key, location, kind });
    }
}
