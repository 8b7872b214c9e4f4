//! Follows a run that any process drives: its events are computed from its journal, as they are stored.

use std::pin::Pin;
use std::sync::Arc;

use tokio::sync::mpsc;
use trefoil_runtime::{Event, EventSink};
use trefoil_store::Store;

use super::UnreadableRun;
use crate::durable::{StoredRun, history_of};
use trefoil_project::error::{Error, Result};

/// Reads a journal to the end of its run.
type JournalReading = Pin<Box<dyn Future<Output = Result<(), UnreadableRun>> + Send>>;

/// The events of a run, from its first on. Dropping it stops nothing.
pub struct RunFollower {
    events: mpsc::UnboundedReceiver<Event>,
    /// Reads the journal, and ends when the run does. `None`: it has ended.
    reading: Option<JournalReading>,
}

impl RunFollower {
    pub(super) fn new(store: Arc<dyn Store>, stored: StoredRun, has_provenance: bool) -> Self {
        let (sender, events) = mpsc::unbounded_channel();
        let sender = EventSender { sender, has_provenance };
        let reading = async move {
            let sent = history_of(store, &stored, Arc::new(sender), true).await;
            sent.map(drop).map_err(|error| UnreadableRun::of_journal(error, &stored))
        };
        Self { events, reading: Some(Box::pin(reading)) }
    }

    /// The next event; waits for it. `None` after the last event of a run that has ended. A run that waits is followed
    /// on: somebody may answer it.
    ///
    /// # Errors
    ///
    /// [`Error::Store`] or [`Error::NotStarted`] if the journal cannot be read, or is not that of this program.
    pub async fn next_event(&mut self) -> Result<Option<Event>> {
        loop {
            let Some(reading) = &mut self.reading else { return Ok(self.events.recv().await) };
            tokio::select! {
                biased;
                event = self.events.recv() => if event.is_some() { return Ok(event) },
                read = reading => {
                    self.reading = None;
                    read.map_err(Error::from)?;
                }
            }
        }
    }
}

/// Sends events to whoever follows. Whoever has left needs none.
struct EventSender {
    sender: mpsc::UnboundedSender<Event>,
    has_provenance: bool,
}

impl EventSink for EventSender {
    fn wants_provenance(&self) -> bool {
        self.has_provenance
    }
    fn receive_event(&self, event: &Event) {
        self.receive_owned(event.clone());
    }
    fn receive_owned(&self, event: Event) {
        let _ = self.sender.send(event);
    }
}
