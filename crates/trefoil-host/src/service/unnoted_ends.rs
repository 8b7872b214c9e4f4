//! Ends of runs that are not in the store.

use trefoil_runtime::{Event, EventKind};

/// Tells the end of a run from that of this process, which has lost the run or its store. The latter is not in the journal and has no
/// number of its own: for watchers, the run goes on elsewhere.
#[derive(Default)]
pub(crate) struct UnnotedEnds {
    last: Option<u64>,
    is_left: bool,
}

impl UnnotedEnds {
    /// Whether the next event is for watchers.
    pub fn take_noted(&mut self, event: &Event) -> bool {
        let is_noted = matches!(self.last, Some(last) if event.seq > last);
        if matches!(event.kind, EventKind::RunFinished { .. }) && !is_noted {
            self.is_left = true;
            return false;
        }
        self.last = Some(event.seq);
        true
    }
    /// Whether the run has left this process without an end.
    pub fn has_left(&self) -> bool {
        self.is_left
    }
}
