//! Reads answers and events: what a protocol reads of them, and what all protocols have in common.

use serde_json::Value as Json;
use trefoil_runtime::{FinishReason, ModelError};

use super::endpoint::{ProviderEndpoint, StreamEvent, TextSink};
use super::finish::{self, FinishWord};
use super::{PartialAnswer, PartialCall, refusal};

impl ProviderEndpoint {
    /// Reads an answer that is not streamed.
    pub(super) fn read_answer(&self, json: &Json) -> Result<PartialAnswer, ModelError> {
        refusal::check_for_error(self, "", json)?;
        let mut answer = self.protocol.read_answer(self, json)?;
        answer.calls.end_all();
        if !self.protocol.has_states() {
            answer.conclude(self.read_state(json)?);
        }
        Ok(answer)
    }

    /// What an answer or an event of a protocol without states says of its state, if something is wrong with it.
    fn read_state(&self, json: &Json) -> Result<Option<FinishWord>, ModelError> {
        let is_bad = |word: &FinishWord| {
            !matches!(word, FinishWord::Known(FinishReason::Stop | FinishReason::Tools) | FinishWord::Unknown(_))
        };
        Ok(finish::read_status(self, json)?.filter(is_bad))
    }

    /// Reads one event of a streamed answer. `kind` is its type.
    pub(super) fn read_event(
        &self,
        kind: &str,
        json: &Json,
        partial: &mut PartialCall,
        delta: &mut TextSink<'_>,
    ) -> Result<(), ModelError> {
        self.protocol.read_event(StreamEvent { endpoint: self, kind, json }, partial, delta)?;
        if !self.protocol.has_states() {
            // That an answer is not over yet is true of each piece.
            let state = self.read_state(json)?.filter(|word| !word.is_ongoing());
            partial.news.word = FinishWord::pick_worse(partial.news.word.take(), state);
        }
        Ok(())
    }
}
