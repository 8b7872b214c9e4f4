//! Reads responses, complete or streamed; a streamed piece has the form of a complete answer.

use serde_json::Value as Json;
use trefoil_runtime::{ModelError, ModelErrorKind, Usage};

use super::{OllamaProtocol, THOUGHTS};
use crate::http::arguments::ArgumentPiece;
use crate::http::assembly::{CallAssembly, CallDelta, append_text};
use crate::http::endpoint::{ProtocolAnswers, StreamEvent, TextSink};
use crate::http::finish::read_word;
use crate::http::parts::{AnswerContent, text_at, unreadable_answer_error};
use crate::http::stream::StreamTable;
use crate::http::tokens::TokenReader;
use crate::http::{PartialAnswer, PartialCall, ProviderEndpoint};

static TABLE: StreamTable = StreamTable {
    members: &["message", "done"],
    beside: &["created_at"],
    last_member: Some("done"),
    ..StreamTable::PLAIN
};

impl ProtocolAnswers for OllamaProtocol {
    fn read_answer(&self, endpoint: &ProviderEndpoint, json: &Json) -> Result<PartialAnswer, ModelError> {
        let mut partial = PartialCall::default();
        self.read_event(StreamEvent { endpoint, kind: "", json }, &mut partial, &mut |_: &str| ())?;
        if json.get("done") == Some(&Json::Bool(false)) {
            return Err(endpoint.provider_error(ModelErrorKind::Network, "sent an answer that is not done"));
        }
        // Nothing follows, so nothing takes its finish reason back.
        partial.take_news();
        if !matches!(json.get("message"), Some(Json::Object(_))) {
            return Err(endpoint.provider_error(ModelErrorKind::Protocol, "sent an answer without `message`"));
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
        if !matches!(json.get("message"), None | Some(Json::Null | Json::Object(_))) {
            return Err(unreadable_answer_error(endpoint, "a message that is no object"));
        }
        let said = AnswerContent::without_calls(endpoint, json.pointer("/message/content"))?;
        partial.push(&said.text, delta);
        partial.news.thought |= said.thought;
        partial.answer.doubts.extend(said.doubts);
        let answer = &mut partial.answer;
        if let Some(more) = text_at(json, "/message/thinking") {
            partial.news.thought = true;
            append_text(&mut answer.calls.beside, THOUGHTS, &more);
        }
        if let Some(Json::Array(calls)) = json.pointer("/message/tool_calls") {
            for call in calls {
                add_call(call, &mut answer.calls);
            }
        }
        answer.model = text_at(json, "/model").or(answer.model.take());
        if json.get("done") == Some(&Json::Bool(true)) {
            answer.usage = usage(json);
            partial.news.word = read_word(endpoint, json.get("done_reason"))?;
        }
        Ok(())
    }

    fn stream_table(&self) -> &'static StreamTable {
        &TABLE
    }
}

fn add_call(call: &Json, calls: &mut CallAssembly) {
    let text = |path: &str| call.pointer(path).and_then(Json::as_str).unwrap_or_default();
    let (index, arguments) = (calls.free_index(), ArgumentPiece::from_member(call.pointer("/function/arguments")));
    let piece = calls.add_whole(&CallDelta { index, id: text("/id"), name: text("/function/name"), arguments });
    if let Some(piece) = piece {
        piece.mark_ended(true);
    }
}

/// Prompt tokens that were cached by the previous call are not counted again.
fn usage(json: &Json) -> Option<Usage> {
    let mut tokens = TokenReader::new(Some(json));
    let (input, output) = (tokens.read_number("/prompt_eval_count"), tokens.read_number("/eval_count"));
    tokens.into_usage([input, output], None, None)
}
