//! Computes a run's figures from its journal and compares them with its record, for stores that verify all their data.

use std::collections::BTreeSet;

use trefoil_machine::{Entry, EntryKind, Key};

use crate::batch::Batch;
use crate::error::Result;
use crate::record::{Record, Spent, Status};
use crate::upkeep::Health;

/// Further problems are not reported.
const PROBLEMS: usize = 100;

impl Health {
    /// Adds a problem.
    pub(crate) fn note(&mut self, problem: String) {
        if self.problems.len() < PROBLEMS {
            self.problems.push(problem);
        }
    }
}

/// The facts that a journal contains about its run, collected page by page.
#[derive(Default)]
pub struct Said {
    /// The number of the next entry.
    pub next: u64,
    spent: Spent,
    ended: Option<Status>,
    /// Model calls in progress.
    open: BTreeSet<Key>,
    /// Whether its models cost nothing.
    pub free: bool,
    /// The first gap: the expected entry number and the one found.
    gap: Option<(u64, u64)>,
}

impl Said {
    /// Adds a page. Returns whether more can be read: false at the end and at a gap.
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

    /// The number of model calls in progress.
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

    /// Reports a gap in the journal. Returns whether the journal has none.
    pub fn is_whole(&self, run: &str, health: &mut Health) -> bool {
        health.entries += self.next;
        if let Some((expected, found)) = self.gap {
            health.note(format!("`{run}` has entry {found} instead of entry {expected}"));
        }
        self.gap.is_none()
    }

    /// Reports differences from the record.
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
