//! Several who watch a run, and the handle as one of them.

use std::sync::Arc;

use tokio::sync::mpsc;
use trefoil_runtime::ports::NoEvents;
use trefoil_runtime::{Event, EventSink};

/// All of them as one.
pub(super) fn all(sinks: &[Arc<dyn EventSink>]) -> Arc<dyn EventSink> {
    match sinks {
        [] => Arc::new(NoEvents),
        [one] => one.clone(),
        all => Arc::new(Fan(all.to_vec())),
    }
}

/// Several who watch.
struct Fan(Vec<Arc<dyn EventSink>>);

impl EventSink for Fan {
    fn wants_provenance(&self) -> bool {
        self.0.iter().any(|sink| sink.wants_provenance())
    }
    fn event(&self, event: &Event) {
        for sink in &self.0 {
            sink.event(event);
        }
    }
    fn caught_up(&self) {
        self.0.iter().for_each(|sink| sink.caught_up());
    }
}

/// Hands events to whoever holds the run.
pub(super) struct ToHandle(pub mpsc::UnboundedSender<Event>);

impl EventSink for ToHandle {
    fn event(&self, event: &Event) {
        // Whoever does not read them any more does not want them.
        if !self.0.is_closed() {
            let _ = self.0.send(event.clone());
        }
    }
}
