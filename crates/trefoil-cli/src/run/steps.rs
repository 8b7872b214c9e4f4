//! The steps of a stored run, in the same form as at the end of a run.

use std::sync::{Mutex, PoisonError};

use trefoil_runtime::{Event, EventSink};

use super::look::LineLook;
use super::progress::Progress;
use super::tree::{Size, TreeSort, lines};
use crate::output;

/// Collects the steps from events.
#[derive(Default)]
pub struct Steps(Mutex<Progress>);

impl Steps {
    /// No process works on the run any more.
    pub fn interrupt(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).interrupt();
    }
    /// One line for each known step. `ended`: no step is running any more.
    pub fn lines(&self, ended: bool) -> Vec<String> {
        let mut progress = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if ended {
            progress.stop(true);
        }
        let size = Size { rows: usize::MAX, columns: output::width() };
        let sort = (TreeSort::Last, size);
        let lines = lines(&progress, "", progress.at_ms, 0, sort, LineLook::default());
        // The first line is the header, which is not needed here.
        lines.into_iter().skip(1).map(|line| line.trim_end().to_owned()).collect()
    }
}

impl EventSink for Steps {
    fn event(&self, event: &Event) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take(event);
    }
}
