//! The choices of an answer. One answer was requested, so several choices are its parts: some gateways put the text in one
//! and the tool calls in another. Each has an end of its own.

use std::collections::BTreeMap;

use trefoil_runtime::{ModelError, ModelErrorKind};

use super::finish::FinishWord;
use super::{PartialCall, ProviderEndpoint};

/// More choices than any API has.
const MOST: usize = 128;

/// What is known of each choice.
#[derive(Debug, Default)]
pub(super) struct AnswerChoices {
    all: BTreeMap<u64, AnswerChoice>,
    /// The choice whose text is the answer.
    text: Option<u64>,
}

#[derive(Debug, Default)]
struct AnswerChoice {
    /// A part of the answer is in it.
    used: bool,
    /// Why it is over, since the last part.
    word: Option<FinishWord>,
}

impl AnswerChoices {
    /// Whether text of this choice is text of the answer: that of the first one that has any is.
    pub fn takes_text(&mut self, at: u64) -> bool {
        *self.text.get_or_insert(at) == at
    }

    /// Notes that a part of the answer arrived in a choice, which takes back why it is over.
    pub fn note_part(&mut self, endpoint: &ProviderEndpoint, at: u64) -> Result<(), ModelError> {
        let choice = self.choice(endpoint, at)?;
        choice.used = true;
        if !matches!(choice.word, Some(FinishWord::Ongoing(_))) {
            choice.word = None;
        }
        Ok(())
    }

    /// Notes why a choice is over.
    pub fn note_word(&mut self, endpoint: &ProviderEndpoint, at: u64, word: FinishWord) -> Result<(), ModelError> {
        let choice = self.choice(endpoint, at)?;
        choice.word = FinishWord::pick_later(choice.word.take(), Some(word));
        Ok(())
    }

    fn choice(&mut self, endpoint: &ProviderEndpoint, at: u64) -> Result<&mut AnswerChoice, ModelError> {
        if self.all.len() >= MOST && !self.all.contains_key(&at) {
            let what = format!("sent more than {MOST} choices in one answer");
            return Err(endpoint.provider_error(ModelErrorKind::Protocol, &what));
        }
        Ok(self.all.entry(at).or_default())
    }

    /// Why the answer is over. `None` while a choice that has a part of it goes on. The others count only if none has.
    pub fn finish_word(&self) -> Option<FinishWord> {
        let is_any_used = self.all.values().any(|choice| choice.used);
        let mut worst = None;
        for choice in self.all.values() {
            if choice.used && choice.word.is_none() {
                return None;
            }
            if choice.used || !is_any_used {
                worst = FinishWord::pick_worse(worst, choice.word.clone());
            }
        }
        worst
    }
}

impl PartialCall {
    /// Appends text of a choice, if it is text of the answer. Returns whether it is.
    pub fn push_of(
        &mut self,
        endpoint: &ProviderEndpoint,
        at: u64,
        text: &str,
        delta: &mut (dyn for<'d> FnMut(&'d str) + Send),
    ) -> Result<bool, ModelError> {
        if text.is_empty() {
            return Ok(false);
        }
        let is_taken = self.answer.choices.takes_text(at);
        if is_taken {
            self.push(text, delta);
            self.answer.choices.note_part(endpoint, at)?;
        } else {
            self.answer.doubts.leave_out("text of a second answer");
        }
        Ok(is_taken)
    }

    /// Notes the calls of a choice that have just arrived, and whether it has a thought.
    pub fn note_calls(&mut self, endpoint: &ProviderEndpoint, at: u64, thought: bool) -> Result<(), ModelError> {
        let grown = self.answer.calls.take_growth();
        self.news.thought |= thought;
        self.news.content |= grown;
        if thought || grown { self.answer.choices.note_part(endpoint, at) } else { Ok(()) }
    }
}
