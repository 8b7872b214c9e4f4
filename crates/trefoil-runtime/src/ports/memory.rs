//! A journal and an event sink in memory.

use std::collections::BTreeMap;
use std::sync::Mutex;

use async_trait::async_trait;

use super::{EventSink, InboxMessageId, Journal, JournalError};
use crate::locks::lock;
use trefoil_machine::event::Event;
use trefoil_machine::journal::Entry;

/// Stores entries in memory.
#[derive(Debug, Default)]
pub struct MemoryJournal {
    runs: Mutex<BTreeMap<String, Vec<Entry>>>,
    message_ids: Mutex<BTreeMap<String, Vec<InboxMessageId>>>,
}

impl MemoryJournal {
    /// An empty journal.
    pub fn new() -> Self {
        Self::default()
    }

    /// The entries of a run. Empty if the run does not exist.
    pub fn entries(&self, run: &str) -> Vec<Entry> {
        lock(&self.runs).get(run).cloned().unwrap_or_default()
    }

    /// The messages that entries of a run have acted on, in order.
    pub fn processed_messages(&self, run: &str) -> Vec<InboxMessageId> {
        lock(&self.message_ids).get(run).cloned().unwrap_or_default()
    }

    /// The ids of all runs, in order.
    pub fn run_ids(&self) -> Vec<String> {
        lock(&self.runs).keys().cloned().collect()
    }
}

#[async_trait]
impl Journal for MemoryJournal {
    async fn append_entries(
        &self,
        run: &str,
        entries: &[Entry],
        message_ids: &[InboxMessageId],
    ) -> Result<(), JournalError> {
        let mut runs = lock(&self.runs);
        if !runs.contains_key(run) {
            runs.insert(run.to_owned(), Vec::new());
        }
        let Some(kept) = runs.get_mut(run) else { return Ok(()) };
        let first = match kept.last() {
            Some(last) => last.seq + 1,
            None => 0,
        };
        for (expected, entry) in (first..).zip(entries) {
            if entry.seq != expected {
                return Err(JournalError::new(format!(
                    "entry {} was written, but the next one is {expected}",
                    entry.seq
                )));
            }
        }
        kept.extend_from_slice(entries);
        if !message_ids.is_empty() {
            let mut taken = lock(&self.message_ids);
            taken.entry(run.to_owned()).or_default().extend_from_slice(message_ids);
        }
        Ok(())
    }

    async fn read_entries(&self, run: &str, from: u64) -> Result<Vec<Entry>, JournalError> {
        let runs = lock(&self.runs);
        let Some(entries) = runs.get(run) else { return Err(unknown_run(run)) };
        Ok(entries.iter().filter(|entry| entry.seq >= from).cloned().collect())
    }
}

/// Stores nothing: for runs that will not be resumed.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoJournal;

#[async_trait]
impl Journal for NoJournal {
    async fn append_entries(
        &self,
        _run: &str,
        _entries: &[Entry],
        _letters: &[InboxMessageId],
    ) -> Result<(), JournalError> {
        Ok(())
    }
    async fn read_entries(&self, run: &str, _from: u64) -> Result<Vec<Entry>, JournalError> {
        Err(unknown_run(run))
    }
    fn keeps_entries(&self) -> bool {
        false
    }
}

fn unknown_run(run: &str) -> JournalError {
    JournalError { is_deleted: true, ..JournalError::new(format!("unknown run `{run}`")) }
}

/// Stores events in memory.
#[derive(Debug, Default)]
pub struct CollectEvents {
    events: Mutex<Vec<Event>>,
}

impl CollectEvents {
    /// A sink without events.
    pub fn new() -> Self {
        Self::default()
    }

    /// The events so far.
    pub fn collected_events(&self) -> Vec<Event> {
        lock(&self.events).clone()
    }
}

impl EventSink for CollectEvents {
    fn receive_event(&self, event: &Event) {
        lock(&self.events).push(event.clone());
    }
}

/// Wants no events.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoEvents;

impl EventSink for NoEvents {
    fn receive_event(&self, _event: &Event) {}
    fn wants_events(&self) -> bool {
        false
    }
}
