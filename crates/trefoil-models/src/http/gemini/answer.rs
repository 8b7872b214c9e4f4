//! Reads responses, complete or streamed; a streamed piece has the form of a complete answer.

use serde_json::Value as Json;
use trefoil_runtime::{FinishReason, ModelError, ModelErrorKind, Usage};

use super::{GeminiProtocol, SIGNATURE};
use crate::http::arguments::ArgumentPiece;
use crate::http::assembly::{CallAssembly, CallDelta};
use crate::http::endpoint::{ProtocolAnswers, StreamEvent, TextSink};
use crate::http::finish::{FinishWord, is_word, read_word};
use crate::http::members::{list_member, number_member, text_member};
use crate::http::parts::{AnswerContent, text_at};
use crate::http::stream::StreamTable;
use crate::http::tokens::TokenReader;
use crate::http::{PartialAnswer, PartialCall, ProviderEndpoint};

static TABLE: StreamTable = StreamTable {
    members: &["candidates", "promptFeedback", "usageMetadata"],
    beside: &["responseId", "modelVersion", "createTime"],
    ..StreamTable::PLAIN
};

impl ProtocolAnswers for GeminiProtocol {
    fn read_answer(&self, endpoint: &ProviderEndpoint, json: &Json) -> Result<PartialAnswer, ModelError> {
        let mut partial = PartialCall::default();
        self.read_event(StreamEvent { endpoint, kind: "", json }, &mut partial, &mut |_: &str| ())?;
        if partial.take_news().word.is_none() && json.pointer("/candidates/0").is_none() {
            return Err(endpoint.provider_error(ModelErrorKind::Protocol, "sent an answer without `candidates`"));
        }
        Ok(partial.answer)
    }

    fn read_event(
        &self,
        event: StreamEvent<'_>,
        partial: &mut PartialCall,
        delta: &mut TextSink<'_>,
    ) -> Result<(), ModelError> {
        let StreamEvent { endpoint, json, .. } = event;
        let mut is_said = false;
        for (place, candidate) in (0..).zip(list_member(json, "candidates")) {
            let at = number_member(candidate, "index").unwrap_or(place);
            add_parts(endpoint, at, candidate, partial, delta)?;
            if let Some(word) = read_word(endpoint, candidate.get("finishReason"))? {
                partial.answer.choices.note_word(endpoint, at, word)?;
                is_said = true;
            }
        }
        let answer = &mut partial.answer;
        answer.model = text_at(json, "/modelVersion").or(answer.model.take());
        answer.id = text_at(json, "/responseId").or(answer.id.take());
        let used = usage(json.get("usageMetadata"));
        answer.usage = used.or(answer.usage);
        partial.news.usage = used.is_some();
        let blocked = is_word(json.pointer("/promptFeedback/blockReason"));
        let said = if is_said { partial.answer.choices.finish_word() } else { None };
        partial.news.word = match said {
            // Whatever the reason is, the prompt was blocked.
            None if blocked => Some(FinishWord::Known(FinishReason::Filtered)),
            word => word,
        };
        Ok(())
    }

    fn stream_table(&self) -> &'static StreamTable {
        &TABLE
    }
}

/// Adds the content of a candidate.
fn add_parts(
    endpoint: &ProviderEndpoint,
    at: u64,
    candidate: &Json,
    partial: &mut PartialCall,
    delta: &mut TextSink<'_>,
) -> Result<(), ModelError> {
    let Some(content) = candidate.get("content") else { return Ok(()) };
    let parts = content.get("parts").unwrap_or(content);
    let said = AnswerContent::from_content(endpoint, Some(parts))?;
    partial.push_of(endpoint, at, &said.text, delta)?;
    partial.answer.doubts.extend(said.doubts);
    if let Json::Array(parts) = parts {
        for part in parts {
            call(part, &mut partial.answer.calls);
        }
    }
    partial.note_calls(endpoint, at, said.thought)
}

fn call(part: &Json, calls: &mut CallAssembly) {
    let Some(call) = part.get("functionCall") else { return };
    let text = |name: &str| text_member(call, name).unwrap_or_default();
    let arguments = ArgumentPiece::from_member(call.get("args"));
    let index = calls.free_index();
    let Some(piece) = calls.add_whole(&CallDelta { index, id: text("id"), name: text("name"), arguments }) else {
        return;
    };
    piece.mark_ended(true);
    if let Some(signature) = part.get(SIGNATURE) {
        piece.beside.insert(SIGNATURE.to_owned(), signature.clone());
    }
}

/// Thoughts cost the same as output.
fn usage(json: Option<&Json>) -> Option<Usage> {
    let mut tokens = TokenReader::new(json);
    let (input, output) = (tokens.read_number("/promptTokenCount"), tokens.read_number("/candidatesTokenCount"));
    let of_tools = tokens.read_number("/toolUsePromptTokenCount").unwrap_or_default();
    let thoughts = tokens.read_number("/thoughtsTokenCount").unwrap_or_default();
    let cached = tokens.read_number("/cachedContentTokenCount");
    // The output is missing if it is empty; without the input there is no usage.
    let numbers = match input {
        Some(input) => {
            let output = output.unwrap_or_default();
            [Some(input.saturating_add(of_tools)), Some(output.saturating_add(thoughts))]
        }
        None => [None, None],
    };
    tokens.into_usage(numbers, cached, None)
}
