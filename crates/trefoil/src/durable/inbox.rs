//! People who are not here: questions are kept with their run, and answers come in as letters in the store.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use trefoil_runtime::{Arrived, Asked, Decided, HumanInbox, HumanRequest, Key, ports::CallSite};
use trefoil_store::{Batch, Letter, LetterKind, Owner, Posted};

/// How often a run that is running looks for letters.
const LOOK: Duration = Duration::from_millis(500);

/// The inbox of the runs of a process.
pub struct Inbox {
    owner: Arc<Owner>,
    /// Who may be here to answer.
    here: Option<Arc<dyn HumanInbox>>,
    /// The letters that were taken for each activity, until its entries are written.
    read: Mutex<BTreeMap<(String, Key), Vec<u64>>>,
}

impl Inbox {
    /// Over a store. `here`: somebody who is asked first.
    pub fn new(owner: Arc<Owner>, here: Option<Arc<dyn HumanInbox>>) -> Self {
        Self { owner, here, read: Mutex::default() }
    }

    /// The letters of a run that nobody has read. A store that cannot be read now has none: the next append says what is wrong.
    async fn letters(&self, run: &str) -> Vec<Posted> {
        let letters = self.owner.store().inbox(run).await.unwrap_or_default();
        let read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        letters.into_iter().filter(|posted| !read.values().flatten().any(|id| *id == posted.id)).collect()
    }

    /// The first letter for an activity.
    async fn letter(&self, run: &str, key: &Key) -> Option<String> {
        let posted = self.letters(run).await.into_iter().find(|posted| is_for(&posted.letter, key))?;
        self.reading(run, key, posted.id);
        Some(posted.letter.value.to_text().to_string())
    }

    /// The letters that were read for an activity, to be removed.
    pub fn take(&self, run: &str, key: &Key) -> Vec<u64> {
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if read.is_empty() {
            return Vec::new();
        }
        read.remove(&(run.to_owned(), key.clone())).unwrap_or_default()
    }

    fn reading(&self, run: &str, key: &Key, id: u64) {
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        read.entry((run.to_owned(), key.clone())).or_default().push(id);
    }
}

/// Whoever writes a letter names the activity by its key: the run may ask the same step again. An answer is for a question, a
/// signal for a decision.
fn is_for(letter: &Letter, key: &Key) -> bool {
    letter.kind != LetterKind::Cancel && letter.key == key.as_str()
}

fn decided(answer: &str) -> Option<Decided> {
    match answer {
        "retry" => Some(Decided::Retry),
        "fail" => Some(Decided::Fail),
        _ => None,
    }
}

#[async_trait]
impl HumanInbox for Inbox {
    async fn ask(&self, at: CallSite<'_>, request: &HumanRequest) -> Asked {
        if let Some(answer) = self.letter(at.run, at.key).await {
            return Asked::Answer(answer);
        }
        match &self.here {
            Some(here) => here.ask(at, request).await,
            None => Asked::Later,
        }
    }

    async fn decided(&self, at: CallSite<'_>) -> Option<Decided> {
        decided(&self.letter(at.run, at.key).await?)
    }

    async fn arrived(&self, run: &str) -> Arrived {
        loop {
            tokio::time::sleep(LOOK).await;
            for Posted { id, letter, .. } in self.letters(run).await {
                let key = Key(letter.key.as_str().into());
                self.reading(run, &key, id);
                let text = letter.value.to_text().to_string();
                match letter.kind {
                    LetterKind::Cancel => return Arrived::Cancel,
                    LetterKind::Answer => return Arrived::Answer(key, text),
                    LetterKind::Signal => match decided(&text) {
                        Some(decided) => return Arrived::Decided(key, decided),
                        None => continue,
                    },
                }
            }
        }
    }

    async fn taken(&self, run: &str, key: &Key) {
        let taken = self.take(run, key);
        // Most were taken with their entries. Of those that nobody waits for, one that stays is read again by a later process.
        if !taken.is_empty() {
            let _ = self.owner.add(run, Batch { taken, ..Batch::default() }).await;
        }
    }
}
