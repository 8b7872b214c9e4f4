//! What the next append stores: entries, and the messages that they act on. Both are written in one transaction.

use trefoil_machine::clock::RunMs;
use trefoil_machine::journal::{Entry, EntryKind, VERSION};

use crate::inbox_messages::InboxMessageIds;

/// The entries that are not yet written.
#[derive(Debug)]
pub struct JournalOutbox {
    next_seq: u64,
    /// The time of the last entry, in milliseconds since the run started.
    at_ms: u64,
    /// Whether the journal stores entries.
    keeps: bool,
    /// Whether any entry has been written, by this process or an earlier one.
    is_kept: bool,
    /// Whether entries are being written.
    is_writing: bool,
    entries: Vec<Entry>,
    message_ids: InboxMessageIds,
}

impl JournalOutbox {
    /// For a run in which nothing has happened yet. `keeps`: whether its journal stores entries.
    pub fn new(keeps: bool) -> Self {
        let (entries, message_ids) = (Vec::new(), InboxMessageIds::default());
        Self { next_seq: 0, at_ms: 0, keeps, is_kept: false, is_writing: false, entries, message_ids }
    }

    /// Sets the number of the next entry of a run that is resumed.
    pub fn continue_at(&mut self, seq: u64) {
        (self.next_seq, self.is_kept) = (seq, true);
    }

    /// Whether the journal stores entries.
    pub fn is_journaled(&self) -> bool {
        self.keeps
    }

    /// Whether the journal has entries of the run.
    pub fn is_kept(&self) -> bool {
        self.keeps && self.is_kept
    }

    /// Adds an entry, with the messages that it acts on.
    pub fn add_entry(&mut self, message_ids: InboxMessageIds, at_ms: u64, kind: impl FnOnce() -> EntryKind) {
        self.message_ids.append_ids(message_ids);
        self.at_ms = at_ms;
        if self.keeps {
            self.entries.push(Entry { v: VERSION, seq: self.next_seq, at_ms, kind: kind() });
            self.next_seq += 1;
        }
    }

    /// The time of the last entry that was added.
    pub fn last_at(&self) -> RunMs {
        RunMs(self.at_ms)
    }

    /// Deletes messages that no entry will ever act on: together with the next entries, as nothing depends on when.
    pub fn discard_messages(&mut self, message_ids: InboxMessageIds) {
        self.message_ids.append_ids(message_ids);
    }

    /// Takes everything that is to be written. If that fails, the messages stay in the inbox.
    pub fn take_batch(&mut self) -> Option<(Vec<Entry>, InboxMessageIds)> {
        if self.entries.is_empty() {
            return None;
        }
        self.is_writing = true;
        Some((std::mem::take(&mut self.entries), std::mem::take(&mut self.message_ids)))
    }

    /// What was taken is written, or that failed.
    pub fn finish_write(&mut self, is_stored: bool) {
        self.is_kept |= std::mem::take(&mut self.is_writing) && is_stored;
    }
}
