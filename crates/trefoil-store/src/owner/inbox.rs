//! An inbox that gets answers, decisions and stop requests as letters from any process.

use std::sync::Arc;

use async_trait::async_trait;
use trefoil_runtime::ports::{Arrived, Asked, CallSite, Decided};
use trefoil_runtime::{HumanInbox, HumanRequest, Key};

use super::Owner;
use crate::inbox::{Letter, LetterKind, Posted};

/// Asks the local inbox first, if there is one, and accepts letters that other processes write to this owner's runs.
pub struct Inbox {
    owner: Arc<Owner>,
    here: Option<Arc<dyn HumanInbox>>,
}

impl Inbox {
    /// `here` is the inbox that is asked first. Without it, questions are stored and the run waits for a letter.
    pub fn new(owner: Arc<Owner>, here: Option<Arc<dyn HumanInbox>>) -> Self {
        Self { owner, here }
    }
}

#[async_trait]
impl HumanInbox for Inbox {
    async fn ask(&self, at: CallSite<'_>, request: &HumanRequest) -> Asked {
        let fits = |posted: &Posted| match arrived(posted) {
            Some(Arrived::Answer(key, answer)) if key == *at.key => Some(answer),
            _ => None,
        };
        if let Some(answer) = self.owner.letter(at.run, fits).await {
            return Asked::Answer(answer);
        }
        match &self.here {
            Some(here) => here.ask(at, request).await,
            None => Asked::Later,
        }
    }

    async fn decided(&self, at: CallSite<'_>) -> Option<Decided> {
        let fits = |posted: &Posted| match arrived(posted) {
            Some(Arrived::Decided(key, decided)) if key == *at.key => Some(decided),
            _ => None,
        };
        match (self.owner.letter(at.run, fits).await, &self.here) {
            (None, Some(here)) => here.decided(at).await,
            (decided, _) => decided,
        }
    }

    async fn arrived(&self, run: &str) -> Arrived {
        let letter = async {
            loop {
                if let Some(arrived) = arrived(&self.owner.next_letter(run).await) {
                    return arrived;
                }
            }
        };
        let Some(here) = &self.here else { return letter.await };
        tokio::select! {
            arrived = here.arrived(run) => arrived,
            arrived = letter => arrived,
        }
    }

    async fn taken(&self, run: &str, key: &Key) {
        self.owner.taken(run, key.as_str());
        if let Some(here) = &self.here {
            here.taken(run, key).await;
        }
    }
}

/// The meaning of a letter for a run; `None` if no run waits for it.
fn arrived(posted: &Posted) -> Option<Arrived> {
    let letter = &posted.letter;
    let key = Key(letter.key.as_str().into());
    let text = letter.value.to_text();
    if let (LetterKind::Signal, Some(result)) = (letter.kind, letter.value.get(Letter::DONE)) {
        return Some(Arrived::Decided(key, Decided::Done(result.clone())));
    }
    match (letter.kind, &*text) {
        (LetterKind::Answer, answer) => Some(Arrived::Answer(key, answer.to_owned())),
        (LetterKind::Signal, "retry") => Some(Arrived::Decided(key, Decided::Retry)),
        (LetterKind::Signal, Letter::CONTINUE) => Some(Arrived::Continue(letter.key.clone())),
        (LetterKind::Signal, "fail") => Some(Arrived::Decided(key, Decided::Fail)),
        (LetterKind::Cancel, _) => Some(Arrived::Cancel),
        (LetterKind::Signal, _) => None,
    }
}
