//! Incoming messages for the runs of this process. One query to the store every quarter of a second serves all runs,
//! however many wait.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use tokio::sync::Notify;
use trefoil_runtime::ports::{InboxMessageId, InboxMessageIds as Ids, ReceivedMessage};

use crate::error::StoreResult;
use crate::inbox::PostedMessage;
use crate::port::Store;
use trefoil_runtime::locks::lock;

/// Time between queries.
pub const PAUSE: Duration = Duration::from_millis(250);

/// The messages that have arrived.
#[derive(Default)]
pub struct OwnerInbox {
    queues: Mutex<BTreeMap<String, RunMessageQueue>>,
    bell: Notify,
    /// The number of the last message that the store returned.
    after: AtomicU64,
    /// Whether a task queries the store.
    pub asking: AtomicBool,
}

/// The messages of one run.
#[derive(Default)]
struct RunMessageQueue {
    waiting: VecDeque<PostedMessage>,
    /// Messages that entries have acted on: they are deleted, but a query that was in progress may still return them.
    taken: BTreeSet<u64>,
    last: u64,
}

impl RunMessageQueue {
    fn add(&mut self, message: PostedMessage) {
        if message.id > self.last {
            self.last = message.id;
            self.waiting.push_back(message);
        }
    }

    fn next(&mut self) -> Option<PostedMessage> {
        loop {
            let next = self.waiting.pop_front()?;
            if !self.taken.contains(&next.id) {
                return Some(next);
            }
        }
    }
}

impl OwnerInbox {
    fn lock_queues(&self) -> MutexGuard<'_, BTreeMap<String, RunMessageQueue>> {
        lock(&self.queues)
    }

    /// The next message of a run. Cancelling this future loses no message.
    pub async fn next_message(&self, store: &dyn Store, run: &str) -> PostedMessage {
        while self.load(store, run).await.is_err() {
            // The next append reports what is wrong with the store.
            tokio::time::sleep(PAUSE).await;
        }
        loop {
            let rung = self.bell.notified();
            if let Some(message) = self.lock_queues().get_mut(run).and_then(RunMessageQueue::next) {
                return message;
            }
            rung.await;
        }
    }

    /// The next message of a run, if one was written before this process first asked, or has been seen since.
    pub async fn next_now(&self, store: &dyn Store, run: &str) -> StoreResult<Option<PostedMessage>> {
        self.load(store, run).await?;
        Ok(self.lock_queues().get_mut(run).and_then(RunMessageQueue::next))
    }

    /// What the matching messages of a run say; they stay in the queue. The first one counts, and acting on it deletes all of them: they
    /// are about the same question.
    pub async fn find_message<T>(
        &self,
        store: &dyn Store,
        run: &str,
        fits: impl Fn(&PostedMessage) -> Option<T>,
    ) -> StoreResult<Option<ReceivedMessage<T>>> {
        // It may have been written just now, so this reads the store.
        let inbox = store.read_inbox(run).await?;
        let (mut first, mut ids) = (None, Vec::new());
        for posted in &inbox {
            if let Some(what) = fits(posted) {
                ids.push(InboxMessageId(posted.id));
                first.get_or_insert((what, posted.message.receipt()));
            }
        }
        let Some((what, receipt)) = first else { return Ok(None) };
        Ok(Some(ReceivedMessage { what, message_ids: Ids::from_ids(ids), receipt }))
    }

    /// Prepares for a new run. It cannot have any messages yet, so the store need not be queried.
    pub fn expect_run(&self, run: &str) {
        self.lock_queues().entry(run.to_owned()).or_default();
    }

    /// Loads the messages that were written before this process first asked.
    async fn load(&self, store: &dyn Store, run: &str) -> StoreResult<()> {
        if self.lock_queues().contains_key(run) {
            return Ok(());
        }
        let messages = store.read_inbox(run).await?;
        let mut queues = self.lock_queues();
        let queue = queues.entry(run.to_owned()).or_default();
        messages.into_iter().for_each(|message| queue.add(message));
        Ok(())
    }

    /// Queries the store once, for all runs.
    pub async fn query_store(&self, store: &dyn Store, owner: &str) {
        if self.lock_queues().is_empty() {
            return;
        }
        let Ok(messages) = store.messages_for_owner(owner, self.after.load(Ordering::SeqCst)).await else { return };
        let Some(last) = messages.last() else { return };
        self.after.store(last.id, Ordering::SeqCst);
        let mut queues = self.lock_queues();
        for message in messages {
            // A run without a queue loads its messages when it first asks.
            if let Some(queue) = queues.get_mut(&message.run) {
                queue.add(message);
            }
        }
        drop(queues);
        self.bell.notify_waiters();
    }

    /// Entries have acted on these messages of a run.
    pub fn mark_taken(&self, run: &str, message_ids: &[InboxMessageId]) {
        if let Some(queue) = self.lock_queues().get_mut(run) {
            queue.taken.extend(message_ids.iter().map(|id| id.0));
        }
    }

    /// Forgets a run that this process no longer owns.
    pub fn forget_run(&self, run: &str) {
        self.lock_queues().remove(run);
    }
}
