//! A journal and an event sink in memory.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;

use super::{EventSink, Journal, JournalError, LetterId};
use trefoil_machine::event::Event;
use trefoil_machine::journal::Entry;

/// Stores entries in memory.
#[derive(Debug, Default)]
pub struct MemoryJournal {
    runs: Mutex<BTreeMap<String, Vec<Entry>>>,
    letters: Mutex<BTreeMap<String, Vec<LetterId>>>,
}

impl MemoryJournal {
    /// An empty journal.
    pub fn new() -> Self {
        Self::default()
    }

    /// The entries of a run. Empty if the run does not exist.
    pub fn entries(&self, run: &str) -> Vec<Entry> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner).get(run).cloned().unwrap_or_default()
    }

    /// The letters that entries of a run have acted on, in order.
    pub fn letters(&self, run: &str) -> Vec<LetterId> {
        self.letters.lock().unwrap_or_else(PoisonError::into_inner).get(run).cloned().unwrap_or_default()
    }

    /// The ids of all runs, in order.
    pub fn runs(&self) -> Vec<String> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner).keys().cloned().collect()
    }
}

#[async_trait]
impl Journal for MemoryJournal {
    async fn append(&self, run: &str, entries: &[Entry], letters: &[LetterId]) -> Result<(), JournalError> {
        let mut runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        if !runs.contains_key(run) {
            runs.insert(run.to_owned(), Vec::new());
        }
        let Some(kept) = runs.get_mut(run) else { return Ok(()) };
        let first = kept.last().map_or(0, |e| e.seq + 1);
        for (expected, entry) in (first..).zip(entries) {
            if entry.seq != expected {
                return Err(JournalError::new(format!(
                    "entry {} was written, but the next one is {expected}",
                    entry.seq
                )));
            }
        }
        kept.extend_from_slice(entries);
        if !letters.is_empty() {
            let mut taken = self.letters.lock().unwrap_or_else(PoisonError::into_inner);
            taken.entry(run.to_owned()).or_default().extend_from_slice(letters);
        }
        Ok(())
    }

    async fn read(&self, run: &str, from: u64) -> Result<Vec<Entry>, JournalError> {
        let runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        let entries = runs.get(run).ok_or_else(|| unknown(run))?;
        Ok(entries.iter().filter(|entry| entry.seq >= from).cloned().collect())
    }
}

/// Stores nothing: for runs that will not be resumed.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoJournal;

#[async_trait]
impl Journal for NoJournal {
    async fn append(&self, _run: &str, _entries: &[Entry], _letters: &[LetterId]) -> Result<(), JournalError> {
        Ok(())
    }
    async fn read(&self, run: &str, _from: u64) -> Result<Vec<Entry>, JournalError> {
        Err(unknown(run))
    }
    fn keeps(&self) -> bool {
        false
    }
}

fn unknown(run: &str) -> JournalError {
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
    pub fn seen(&self) -> Vec<Event> {
        self.events.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl EventSink for CollectEvents {
    fn event(&self, event: &Event) {
        self.events.lock().unwrap_or_else(PoisonError::into_inner).push(event.clone());
    }
}

/// Wants no events.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoEvents;

impl EventSink for NoEvents {
    fn event(&self, _event: &Event) {}
    fn wants_events(&self) -> bool {
        false
    }
}
