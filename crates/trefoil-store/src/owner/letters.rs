//! Letters for the runs of this process, as they come in. One question to the store, every quarter of a second, is enough for
//! all of them: many runs may wait at the same time.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;

use crate::error::Result;
use crate::inbox::Posted;
use crate::port::Store;

/// How often the store is asked.
pub const PAUSE: Duration = Duration::from_millis(250);

/// What has come in.
#[derive(Default)]
pub struct Letters {
    piles: Mutex<BTreeMap<String, Pile>>,
    bell: Notify,
    /// The last letter that the store has handed over.
    after: AtomicU64,
    /// Whether somebody asks the store.
    pub asking: AtomicBool,
}

/// The letters of one run.
#[derive(Default)]
struct Pile {
    waiting: VecDeque<Posted>,
    /// Those that the run has seen, and whether it has taken them in.
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

    /// The next letter of a run. Nothing is lost if nobody waits for the end of this.
    pub async fn next(&self, store: &dyn Store, run: &str) -> Posted {
        while self.load(store, run).await.is_err() {
            // The next append tells what is wrong with the store.
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

    /// A letter of a run that fits, without taking it off the pile.
    pub async fn find<T>(
        &self,
        store: &dyn Store,
        run: &str,
        fits: impl Fn(&Posted) -> Option<T>,
    ) -> Result<Option<T>> {
        // Somebody may have written it just now.
        Ok(store.inbox(run).await?.iter().rev().find_map(fits))
    }

    /// A run is about to begin: no letter for it can be there before.
    pub fn expect(&self, run: &str) {
        self.piles().entry(run.to_owned()).or_default();
    }

    /// What was there before this process asked.
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

    /// Asks the store once, for all runs.
    pub async fn ask(&self, store: &dyn Store, owner: &str) {
        if self.piles().is_empty() {
            return;
        }
        let Ok(letters) = store.posted(owner, self.after.load(Ordering::SeqCst)).await else { return };
        let Some(last) = letters.last() else { return };
        self.after.store(last.id, Ordering::SeqCst);
        let mut piles = self.piles();
        for letter in letters {
            // Whoever has not asked so far finds it when it does.
            if let Some(pile) = piles.get_mut(&letter.run) {
                pile.add(letter);
            }
        }
        drop(piles);
        self.bell.notify_waiters();
    }

    /// What the run has made of the letters with a key is in its journal: they go with its next entries.
    pub fn taken(&self, run: &str, key: &str) {
        if let Some(pile) = self.piles().get_mut(run) {
            pile.seen.values_mut().filter(|(of, _)| of == key).for_each(|(_, taken)| *taken = true);
        }
    }

    /// The letters that can go.
    pub fn done(&self, run: &str) -> Vec<u64> {
        let mut piles = self.piles();
        let Some(pile) = piles.get_mut(run) else { return Vec::new() };
        let done: Vec<u64> = pile.seen.iter().filter(|(_, (_, taken))| *taken).map(|(id, _)| *id).collect();
        pile.seen.retain(|_, (_, taken)| !*taken);
        done
    }

    /// The run is no longer this process's.
    pub fn forget(&self, run: &str) {
        self.piles().remove(run);
    }
}
