//! The journal of a run in a store: with an entry that takes a letter in, the letter goes.

use std::sync::Arc;

use async_trait::async_trait;
use trefoil_machine::{Entry, EntryKind};
use trefoil_runtime::Journal;
use trefoil_runtime::ports::JournalError;
use trefoil_store::{Batch, Hold, Owner};

use super::Inbox;

/// The journal of one run of this process.
pub struct RunJournal {
    owner: Arc<Owner>,
    inbox: Arc<Inbox>,
    hold: Hold,
}

impl RunJournal {
    /// Of a run that this process holds.
    pub fn new(owner: Arc<Owner>, inbox: Arc<Inbox>, hold: Hold) -> Self {
        Self { owner, inbox, hold }
    }
}

#[async_trait]
impl Journal for RunJournal {
    async fn append(&self, run: &str, entries: &[Entry]) -> Result<(), JournalError> {
        if entries.is_empty() {
            return Ok(());
        }
        let mut batch = Batch::of(entries)?;
        for entry in entries {
            if let EntryKind::Completed { key, .. } | EntryKind::Failed { key, .. } | EntryKind::Restarted { key, .. } =
                &entry.kind
            {
                batch.taken.extend(self.inbox.take(run, key));
            }
        }
        Ok(self.owner.add(run, batch).await?)
    }

    async fn read(&self, run: &str, from: u64) -> Result<Vec<Entry>, JournalError> {
        self.hold.read(run, from).await
    }
}
