//! An inbox that gets answers, decisions and stop requests as letters from any process.

use std::sync::Arc;

use async_trait::async_trait;
use trefoil_runtime::ports::{Arrived, Asked, CallSite, Decided, LetterId, Letters, Received};
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
            Arrived::Answer { key, text, at: given } if key == *at.key && !request.is_late(given) => Some(text),
            _ => None,
        };
        if let Some(Received { what, letters }) = self.owner.letter(at.run, fits).await {
            return Asked::Written(what, letters);
        }
        match &self.here {
            Some(here) => here.ask(at, request).await,
            None => Asked::Later,
        }
    }

    async fn decided(&self, at: CallSite<'_>) -> Option<Received<Decided>> {
        let fits = |posted: &Posted| match arrived(posted) {
            Arrived::Decided(key, decided) if key == *at.key => Some(decided),
            _ => None,
        };
        match (self.owner.letter(at.run, fits).await, &self.here) {
            (None, Some(here)) => here.decided(at).await,
            (decided, _) => decided,
        }
    }

    async fn arrived(&self, run: &str) -> Received<Arrived> {
        let letter = async { received(&self.owner.next_letter(run).await) };
        let Some(here) = &self.here else { return letter.await };
        tokio::select! {
            arrived = here.arrived(run) => arrived,
            arrived = letter => arrived,
        }
    }

    async fn waiting(&self, run: &str) -> Option<Received<Arrived>> {
        match (self.owner.letter_now(run).await, &self.here) {
            (Some(posted), _) => Some(received(&posted)),
            (None, Some(here)) => here.waiting(run).await,
            (None, None) => None,
        }
    }
}

fn received(posted: &Posted) -> Received<Arrived> {
    Received { what: arrived(posted), letters: Letters::of([LetterId(posted.id)]) }
}

/// The meaning of a letter for a run.
fn arrived(posted: &Posted) -> Arrived {
    let letter = &posted.letter;
    let key = Key(letter.key.as_str().into());
    let text = letter.value.to_text();
    if let (LetterKind::Signal, Some(result)) = (letter.kind, letter.value.get(Letter::DONE)) {
        return Arrived::Decided(key, Decided::Done(result.clone()));
    }
    match (letter.kind, &*text) {
        (LetterKind::Answer, answer) => Arrived::Answer { key, text: answer.to_owned(), at: letter.at },
        (LetterKind::Signal, "retry") => Arrived::Decided(key, Decided::Retry),
        (LetterKind::Signal, Letter::CONTINUE) => Arrived::Continue(letter.key.clone()),
        (LetterKind::Signal, "fail") => Arrived::Decided(key, Decided::Fail),
        (LetterKind::Cancel, _) => Arrived::Cancel,
        (LetterKind::Signal, _) => Arrived::Unknown,
    }
}
