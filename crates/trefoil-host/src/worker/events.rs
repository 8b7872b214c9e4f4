//! What a worker says, and how it is stopped. Its host decides what becomes of both.

use std::time::Duration;

use trefoil_project::Error;
use trefoil_runtime::RunOutcome;
use trefoil_store::StoreError;

/// Something that a worker does or meets.
#[derive(Debug)]
pub enum WorkerEvent<'e> {
    /// It works on the runs of a store from now on.
    Working {
        /// The store.
        place: String,
        /// Maximum number of concurrent runs.
        concurrency: usize,
    },
    /// A run continues here.
    RunBegun {
        /// Its id.
        run: &'e str,
        /// Its flow.
        flow: &'e str,
    },
    /// Only the user's own settings apply to a run.
    ProjectIgnored {
        /// Its id.
        run: &'e str,
        /// Why those of the project do not.
        why: &'e str,
    },
    /// A run has ended here.
    RunEnded {
        /// Its outcome.
        outcome: &'e RunOutcome,
        /// Whether it has not ended in the store, because this process lacks something that another one may have.
        open: bool,
        /// Whether the store keeps its content.
        kept: bool,
    },
    /// Another process works on a run that this one has lost.
    RunTaken(&'e RunOutcome),
    /// A run cannot continue here. It is tried again later; this is said once.
    RunRefused {
        /// Its id.
        run: &'e str,
        /// Why it cannot.
        why: &'e Error,
    },
    /// The store cannot be asked for runs at the moment.
    StoreUnavailable(&'e StoreError),
    /// The worker stops.
    Stopping {
        /// The number of runs that it gives back.
        runs: usize,
        /// How long their calls in progress may take to end; `None`: they are given back at once.
        drain: Option<Duration>,
    },
    /// The calls in progress of these runs did not end in time. They may be paid for again.
    CallsCut {
        /// The number of runs.
        runs: usize,
    },
}

/// Gets what a worker says.
pub trait WorkerWatch: Send + Sync {
    /// Takes an event, at once.
    fn take_event(&self, event: WorkerEvent<'_>);
}

/// Requests to stop, such as the signals of a process.
pub trait StopRequests: Send {
    /// Waits for the next one.
    fn next_request(&mut self) -> impl Future<Output = ()> + Send;
}
