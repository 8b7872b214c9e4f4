//! What a journal says of its run, to compare it with the run's record: for stores that read everything to say what is wrong.

use std::collections::BTreeSet;

use trefoil_machine::{Entry, EntryKind, Key};

use crate::batch::Batch;
use crate::error::Result;
use crate::record::{Record, Spent, Status};
use crate::upkeep::Health;

/// More than this nobody reads.
const PROBLEMS: usize = 100;

impl Health {
    /// Notes what is wrong.
    pub(crate) fn note(&mut self, problem: String) {
        if self.problems.len() < PROBLEMS {
            self.problems.push(problem);
        }
    }
}

/// What a journal says of its run, page by page.
#[derive(Default)]
pub struct Said {
    /// The number of the next entry.
    pub next: u64,
    spent: Spent,
    ended: Option<Status>,
    /// Model calls that have begun and not ended.
    open: BTreeSet<Key>,
    /// Whether its models cost nothing.
    pub free: bool,
    /// The entry that belongs where another one is.
    gap: Option<(u64, u64)>,
}

impl Said {
    /// Adds a page. Whether more can be read: false at the end, and where an entry is missing.
    pub fn add(&mut self, entries: &[Entry]) -> Result<bool> {
        self.gap = gap(entries, self.next);
        if entries.is_empty() || self.gap.is_some() {
            return Ok(false);
        }
        self.next += entries.len() as u64;
        entries.iter().for_each(|entry| self.note(entry));
        let batch = Batch::of(entries)?;
        self.free = batch.free.unwrap_or(self.free);
        self.spent.calls += batch.spent.calls;
        self.spent.usage.add(batch.spent.usage);
        self.ended = batch.end.map(|end| end.status);
        Ok(true)
    }

    /// How many model calls have begun and not ended.
    pub fn open(&self) -> u64 {
        self.open.len() as u64
    }

    fn note(&mut self, entry: &Entry) {
        match &entry.kind {
            EntryKind::Scheduled { key, sort, .. } if sort == "model" => {
                self.open.insert(key.clone());
            }
            EntryKind::Completed { key, .. } | EntryKind::Failed { key, .. } => {
                self.open.remove(key);
            }
            EntryKind::Resumed { lost, .. } => self.open.retain(|key| lost.iter().all(|lost| lost.key != *key)),
            _ => {}
        }
    }

    /// Notes where the journal has a gap; whether it is whole.
    pub fn is_whole(&self, run: &str, health: &mut Health) -> bool {
        health.entries += self.next;
        if let Some((expected, found)) = self.gap {
            health.note(format!("`{run}` has entry {found} instead of entry {expected}"));
        }
        self.gap.is_none()
    }

    /// Notes where the record says something else.
    pub fn compare(&self, record: &Record, health: &mut Health) {
        let run = &record.run;
        let lost = if record.status == Status::Running { 0 } else { self.open() };
        let (then, now) = (record.spent, self.spent.with_lost(lost, self.free));
        if record.entries != self.next {
            health.note(format!("`{run}` has {} entries, but its record says {}", self.next, record.entries));
        }
        if (then.calls, then.usage) != (now.calls, now.usage) {
            health.note(format!("the record of `{run}` has different figures than its journal"));
        }
        if self.ended.is_some_and(|status| status != record.status) {
            health.note(format!("the record of `{run}` has the status {}, but its journal does not", record.status));
        }
    }
}

fn gap(entries: &[Entry], from: u64) -> Option<(u64, u64)> {
    (from..).zip(entries).map(|(expected, entry)| (expected, entry.seq)).find(|(expected, found)| expected != found)
}
