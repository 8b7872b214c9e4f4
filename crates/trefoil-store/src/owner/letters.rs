//! Incoming letters for the runs of this process. One query to the store every quarter of a second serves all runs,
//! however many wait.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use trefoil_runtime::ports::{LetterId, Letters as Ids, Received};

use crate::error::Result;
use crate::inbox::Posted;
use crate::port::Store;

/// Time between queries.
pub const PAUSE: Duration = Duration::from_millis(250);

/// The letters that have arrived.
#[derive(Default)]
pub struct Letters {
    piles: Mutex<BTreeMap<String, Pile>>,
    bell: Notify,
    /// The number of the last letter that the store returned.
    after: AtomicU64,
    /// Whether a task queries the store.
    pub asking: AtomicBool,
}

/// The letters of one run.
#[derive(Default)]
struct Pile {
    waiting: VecDeque<Posted>,
    /// Letters that entries have acted on: they are deleted, but a query that was in progress may still return them.
    taken: BTreeSet<u64>,
    last: u64,
}

impl Pile {
    fn add(&mut self, letter: Posted) {
        if letter.id > self.last {
            self.last = letter.id;
            self.waiting.push_back(letter);
        }
    }

    fn next(&mut self) -> Option<Posted> {
        loop {
            let next = self.waiting.pop_front()?;
            if !self.taken.contains(&next.id) {
                return Some(next);
            }
        }
    }
}

impl Letters {
    fn piles(&self) -> MutexGuard<'_, BTreeMap<String, Pile>> {
        self.piles.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next letter of a run. Cancelling this future loses no letter.
    pub async fn next(&self, store: &dyn Store, run: &str) -> Posted {
        while self.load(store, run).await.is_err() {
            // The next append reports what is wrong with the store.
            tokio::time::sleep(PAUSE).await;
        }
        loop {
            let rung = self.bell.notified();
            if let Some(letter) = self.piles().get_mut(run).and_then(Pile::next) {
                return letter;
            }
            rung.await;
        }
    }

    /// The next letter of a run, if one was written before this process first asked, or has been seen since.
    pub async fn next_now(&self, store: &dyn Store, run: &str) -> Result<Option<Posted>> {
        self.load(store, run).await?;
        Ok(self.piles().get_mut(run).and_then(Pile::next))
    }

    /// What the matching letters of a run say; they stay on the pile. The first one counts, and acting on it deletes all of them: they
    /// are about the same question.
    pub async fn find<T>(
        &self,
        store: &dyn Store,
        run: &str,
        fits: impl Fn(&Posted) -> Option<T>,
    ) -> Result<Option<Received<T>>> {
        // It may have been written just now, so this reads the store.
        let inbox = store.inbox(run).await?;
        let mut found = inbox.iter().filter_map(|posted| Some((posted.id, fits(posted)?)));
        let Some((first, what)) = found.next() else { return Ok(None) };
        let others = found.map(|(id, _)| id);
        Ok(Some(Received { what, letters: Ids::of(std::iter::once(first).chain(others).map(LetterId)) }))
    }

    /// Prepares for a new run. It cannot have any letters yet, so the store need not be queried.
    pub fn expect(&self, run: &str) {
        self.piles().entry(run.to_owned()).or_default();
    }

    /// Loads the letters that were written before this process first asked.
    async fn load(&self, store: &dyn Store, run: &str) -> Result<()> {
        if self.piles().contains_key(run) {
            return Ok(());
        }
        let letters = store.inbox(run).await?;
        let mut piles = self.piles();
        let pile = piles.entry(run.to_owned()).or_default();
        letters.into_iter().for_each(|letter| pile.add(letter));
        Ok(())
    }

    /// Queries the store once, for all runs.
    pub async fn ask(&self, store: &dyn Store, owner: &str) {
        if self.piles().is_empty() {
            return;
        }
        let Ok(letters) = store.posted(owner, self.after.load(Ordering::SeqCst)).await else { return };
        let Some(last) = letters.last() else { return };
        self.after.store(last.id, Ordering::SeqCst);
        let mut piles = self.piles();
        for letter in letters {
            // A run without a pile loads its letters when it first asks.
            if let Some(pile) = piles.get_mut(&letter.run) {
                pile.add(letter);
            }
        }
        drop(piles);
        self.bell.notify_waiters();
    }

    /// Entries have acted on these letters of a run.
    pub fn taken(&self, run: &str, letters: &[LetterId]) {
        if let Some(pile) = self.piles().get_mut(run) {
            pile.taken.extend(letters.iter().map(|letter| letter.0));
        }
    }

    /// Forgets a run that this process no longer owns.
    pub fn forget(&self, run: &str) {
        self.piles().remove(run);
    }
}
