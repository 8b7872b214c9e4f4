//! The two clocks of a run, both made of journal entries.
//!
//! The *run's clock* counts from the start of the run and goes on while no process has the run. Waits, delays before retries and the
//! time that a person has are due on it. The *work clock* stands still while no process has the run. Time limits of steps, model
//! calls and flows go by it, so an outage does not use them up. The two have different types, so a limit cannot be compared with the
//! wrong clock.
//!
//! A process that is killed leaves no entry. The last moment at which it is known to have worked is that of its last entry, and the
//! time from there to the entry [`Resumed`](crate::EntryKind::Resumed) does not count: rather too little counts than too much.
//! What an activity had worked that has to be repeated is not counted either, so that the repetition finds the limits as it did.

use std::fmt;

/// A moment on the run's clock, in milliseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunMs(pub u64);

/// A moment on the work clock, in milliseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WorkMs(pub u64);

impl RunMs {
    /// Later by this many milliseconds.
    #[must_use]
    pub fn plus_ms(self, ms: u64) -> Self {
        Self(self.0.saturating_add(ms))
    }

    /// The milliseconds from an earlier moment to this one.
    pub fn ms_since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

impl WorkMs {
    /// Later by this many milliseconds.
    #[must_use]
    pub fn plus_ms(self, ms: u64) -> Self {
        Self(self.0.saturating_add(ms))
    }

    /// The milliseconds from an earlier moment to this one.
    pub fn ms_since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

/// When a timer is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DueTime {
    /// On the run's clock: a wait.
    Run(RunMs),
    /// On the work clock: a time limit.
    Work(WorkMs),
}

impl fmt::Display for DueTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Run(at) => write!(f, "{} ms", at.0),
            Self::Work(at) => write!(f, "{} ms of work", at.0),
        }
    }
}

/// Both clocks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RunClock {
    /// The moment that the machine last heard of.
    now: RunMs,
    /// The moment of the last entry in the journal, as far as it was replayed.
    last_entry: RunMs,
    /// The time so far in which no process had the run.
    idle_ms: u64,
    /// When it began, in milliseconds since 1970-01-01 UTC: as if it had always gone on, also while the run had failed.
    origin: u64,
}

impl RunClock {
    /// It begins at this moment of the wall clock.
    pub fn set_origin(&mut self, origin: u64) {
        self.origin = origin;
    }

    /// A moment on the wall clock, in milliseconds since 1970-01-01 UTC.
    pub fn wall_at(&self, at: RunMs) -> u64 {
        self.origin.saturating_add(at.0)
    }

    /// The run's clock.
    pub fn run_now(&self) -> RunMs {
        self.now
    }

    /// The work clock.
    pub fn work_now(&self) -> WorkMs {
        self.work_at(self.now)
    }

    /// The work clock at a moment since the last resume.
    pub fn work_at(&self, at: RunMs) -> WorkMs {
        WorkMs(at.0.saturating_sub(self.idle_ms))
    }

    /// Something happened at this moment.
    pub fn advance_to(&mut self, at: RunMs) {
        self.now = self.now.max(at);
    }

    /// The journal has an entry of this moment.
    pub fn note_entry_at(&mut self, at: RunMs) {
        self.last_entry = self.last_entry.max(at);
    }

    /// A process resumed the run at this moment. Nobody had it since the last entry.
    pub fn resume_at(&mut self, at: RunMs) {
        self.idle_ms = self.idle_ms.saturating_add(at.ms_since(self.last_entry));
        self.note_entry_at(at);
        self.advance_to(at);
    }

    /// How long a timer still runs.
    pub fn time_left(&self, due: DueTime, at: RunMs) -> u64 {
        match due {
            DueTime::Run(due) => due.ms_since(at),
            DueTime::Work(due) => due.ms_since(self.work_at(at)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_run_clock_goes_on_while_no_process_has_the_run() {
        let mut clock = RunClock::default();
        clock.advance_to(RunMs(400));
        [100, 500].map(RunMs).into_iter().for_each(|at| clock.note_entry_at(at));
        let (limit, wait) = (DueTime::Work(WorkMs(1_000)), DueTime::Run(RunMs(1_000)));
        assert_eq!((clock.time_left(limit, RunMs(600)), clock.time_left(wait, RunMs(600))), (400, 400));
        clock.resume_at(RunMs(90_000));
        assert_eq!((clock.run_now(), clock.work_now()), (RunMs(90_000), WorkMs(500)));
        assert_eq!((clock.time_left(limit, RunMs(90_100)), clock.time_left(wait, RunMs(90_100))), (400, 0));
        clock.note_entry_at(RunMs(90_200));
        clock.resume_at(RunMs(1_000_000));
        assert_eq!(clock.work_at(RunMs(1_000_050)), WorkMs(750));
    }
}
