//! Computes a run's figures from its journal and compares them with its record, for stores that verify all their data.

use std::collections::BTreeSet;

use trefoil_machine::{Entry, EntryKind, Key};

use crate::batch::EntryBatch;
use crate::error::StoreResult;
use crate::record::{Record, RunSpending, Status};
use crate::upkeep::StoreHealth;

/// Further problems are not reported.
const PROBLEMS: usize = 100;

impl StoreHealth {
    /// Adds a problem.
    pub(crate) fn add_problem(&mut self, problem: String) {
        if self.problems.len() < PROBLEMS {
            self.problems.push(problem);
        }
    }
}

/// The facts that a journal contains about its run, collected page by page.
#[derive(Default)]
pub struct JournalAudit {
    /// The number of the next entry.
    pub next: u64,
    spent: RunSpending,
    ended: Option<Status>,
    /// Model calls in progress.
    open: BTreeSet<Key>,
    /// Whether its models cost nothing.
    pub free: bool,
    /// The first gap: the expected entry number and the one found.
    gap: Option<(u64, u64)>,
}

impl JournalAudit {
    /// Adds a page. Returns whether more can be read: false at the end and at a gap.
    pub fn add_entries(&mut self, entries: &[Entry]) -> StoreResult<bool> {
        self.gap = gap(entries, self.next);
        if entries.is_empty() || self.gap.is_some() {
            return Ok(false);
        }
        self.next += entries.len() as u64;
        entries.iter().for_each(|entry| self.note(entry));
        let batch = EntryBatch::from_entries(entries)?;
        self.free = batch.free.unwrap_or(self.free);
        self.spent.calls += batch.spent.calls;
        self.spent.usage.add_usage(batch.spent.usage);
        self.ended = batch.end.map(|end| end.status);
        Ok(true)
    }

    /// The number of model calls in progress.
    pub fn open_calls(&self) -> u64 {
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
    pub fn is_whole(&self, run: &str, health: &mut StoreHealth) -> bool {
        health.entries += self.next;
        if let Some((expected, found)) = self.gap {
            health.add_problem(format!("`{run}` has entry {found} instead of entry {expected}"));
        }
        self.gap.is_none()
    }

    /// Reports differences from the record.
    pub fn compare_record(&self, record: &Record, health: &mut StoreHealth) {
        let run = &record.run;
        let lost = if record.status == Status::Running { 0 } else { self.open_calls() };
        let (then, now) = (record.spent, self.spent.with_lost(lost, self.free));
        if record.entries != self.next {
            health.add_problem(format!("`{run}` has {} entries, but its record says {}", self.next, record.entries));
        }
        if (then.calls, then.usage) != (now.calls, now.usage) {
            health.add_problem(format!("the record of `{run}` has different figures than its journal"));
        }
        if self.ended.is_some_and(|status| status != record.status) {
            health.add_problem(format!(
                "the record of `{run}` has the status {}, but its journal does not",
                record.status
            ));
        }
    }
}

fn gap(entries: &[Entry], from: u64) -> Option<(u64, u64)> {
    for (expected, entry) in (from..).zip(entries) {
        if entry.seq != expected {
            return Some((expected, entry.seq));
        }
    }
    None
}
