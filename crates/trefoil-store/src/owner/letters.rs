//! Incoming letters for the runs of this process. One query to the store every quarter of a second serves all runs,
//! however many wait.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;

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
    /// Letters that the run has received: the activity's key, and whether the run has processed the letter.
    seen: BTreeMap<u64, (String, bool)>,
    last: u64,
}

impl Pile {
    fn add(&mut self, letter: Posted) {
        if letter.id > self.last {
            self.last = letter.id;
            self.waiting.push_back(letter);
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
            if let Some(pile) = self.piles().get_mut(run)
                && let Some(letter) = pile.waiting.pop_front()
            {
                pile.seen.insert(letter.id, (letter.letter.key.clone(), false));
                return letter;
            }
            rung.await;
        }
    }

    /// A matching letter of a run; it stays on the pile.
    pub async fn find<T>(
        &self,
        store: &dyn Store,
        run: &str,
        fits: impl Fn(&Posted) -> Option<T>,
    ) -> Result<Option<T>> {
        // It may have been written just now, so this reads the store.
        Ok(store.inbox(run).await?.iter().rev().find_map(fits))
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

    /// The journal records what the run did with the letters for a key, so they are deleted with its next entries.
    pub fn taken(&self, run: &str, key: &str) {
        if let Some(pile) = self.piles().get_mut(run) {
            pile.seen.values_mut().filter(|(of, _)| of == key).for_each(|(_, taken)| *taken = true);
        }
    }

    /// The letters that can be deleted.
    pub fn done(&self, run: &str) -> Vec<u64> {
        let mut piles = self.piles();
        let Some(pile) = piles.get_mut(run) else { return Vec::new() };
        let done: Vec<u64> = pile.seen.iter().filter(|(_, (_, taken))| *taken).map(|(id, _)| *id).collect();
        pile.seen.retain(|_, (_, taken)| !*taken);
        done
    }

    /// Forgets a run that this process no longer owns.
    pub fn forget(&self, run: &str) {
        self.piles().remove(run);
    }
}
