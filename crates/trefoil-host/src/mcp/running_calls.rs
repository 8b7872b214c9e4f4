//! The runs in progress. They are interrupted when the client has left, and when the process is stopped.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use crate::Run;
use trefoil_runtime::CancelSwitch;
use trefoil_runtime::locks::lock;

/// The runs in progress, also of calls that wait for an answer.
#[derive(Default)]
pub struct RunningCalls {
    runs: Mutex<HashMap<String, CancelSwitch>>,
    is_stopping: AtomicBool,
}

/// A run that is registered.
pub struct RegisteredRun(Arc<RunningCalls>, String);

impl RunningCalls {
    /// From now on, a client that leaves has not cancelled anything: the process is being stopped.
    pub fn note_stop(&self) {
        self.is_stopping.store(true, Ordering::SeqCst);
    }

    /// Interrupts all runs, and those that start later. Stored ones can be resumed.
    pub fn interrupt_runs(&self) {
        self.note_stop();
        self.runs().values().for_each(CancelSwitch::interrupt_runs);
    }

    /// Whether no run is in progress.
    pub fn is_empty(&self) -> bool {
        self.runs().is_empty()
    }

    fn runs(&self) -> MutexGuard<'_, HashMap<String, CancelSwitch>> {
        lock(&self.runs)
    }
}

impl RegisteredRun {
    /// Registers a run.
    pub fn new(running: &Arc<RunningCalls>, run: &Run) -> Self {
        running.runs().insert(run.id().to_owned(), run.cancel_switch());
        if running.is_stopping.load(Ordering::SeqCst) {
            run.cancel_switch().interrupt_runs();
        }
        Self(running.clone(), run.id().to_owned())
    }

    /// Whether runs end now, because the client has left or the process is stopped.
    pub fn is_stopping(&self) -> bool {
        self.0.is_stopping.load(Ordering::SeqCst)
    }
}

impl Drop for RegisteredRun {
    fn drop(&mut self) {
        self.0.runs().remove(&self.1);
    }
}
