//! Reads responses, complete or streamed.

use serde_json::Value as Json;
use trefoil_runtime::{ModelError, ModelErrorKind, Usage};

use super::{CohereProtocol, PLAN};
use crate::http::arguments::ArgumentPiece;
use crate::http::assembly::{CallAssembly, CallDelta, append_text};
use crate::http::endpoint::{ProtocolAnswers, StreamEvent, TextSink};
use crate::http::finish::read_word;
use crate::http::members::{list_member, number_member};
use crate::http::parts::{AnswerContent, text_at};
use crate::http::stream::StreamTable;
use crate::http::tokens::TokenReader;
use crate::http::{PartialAnswer, PartialCall, ProviderEndpoint};

static TABLE: StreamTable = StreamTable {
    kinds: &["message-", "content-", "tool-", "citation-"],
    first: &["message-start"],
    last: &["message-end"],
    ..StreamTable::TYPED
};

impl ProtocolAnswers for CohereProtocol {
    fn read_answer(&self, endpoint: &ProviderEndpoint, json: &Json) -> Result<PartialAnswer, ModelError> {
        let Some(message @ Json::Object(_)) = json.get("message") else {
            return Err(endpoint.provider_error(ModelErrorKind::Protocol, "sent an answer without `message`"));
        };
        let mut answer = PartialAnswer { id: text_at(json, "/id"), ..PartialAnswer::default() };
        let said = AnswerContent::without_calls(endpoint, message.get("content"))?;
        answer.text = said.text;
        answer.doubts.extend(said.doubts);
        for (at, call) in (0..).zip(list_member(message, "tool_calls")) {
            piece(Some(at), call, &mut answer.calls);
        }
        plan(message, &mut answer.calls);
        answer.conclude(read_word(endpoint, json.get("finish_reason"))?);
        answer.usage = usage(json.get("usage"));
        Ok(answer)
    }

    fn read_event(
        &self,
        event: StreamEvent<'_>,
        partial: &mut PartialCall,
        delta: &mut TextSink<'_>,
    ) -> Result<(), ModelError> {
        let StreamEvent { endpoint, kind, json } = event;
        let index = number_member(json, "index");
        match kind {
            "message-start" => partial.answer.id = text_at(json, "/id"),
            "content-start" | "content-delta" => {
                let said = AnswerContent::without_calls(endpoint, json.pointer("/delta/message/content"))?;
                partial.push(&said.text, delta);
                partial.news.thought |= said.thought;
                partial.answer.doubts.extend(said.doubts);
            }
            "tool-plan-delta" => {
                partial.news.thought = true;
                plan(json.pointer("/delta/message").unwrap_or(&Json::Null), &mut partial.answer.calls);
            }
            "tool-call-start" | "tool-call-delta" => {
                let call = json.pointer("/delta/message/tool_calls").unwrap_or(&Json::Null);
                if kind == "tool-call-start" {
                    partial.answer.calls.announce_call();
                }
                piece(index, call, &mut partial.answer.calls);
            }
            "message-end" => {
                partial.news.word = read_word(endpoint, json.pointer("/delta/finish_reason"))?;
                partial.answer.usage = usage(json.pointer("/delta/usage"));
            }
            // Citations, ends of parts, and future kinds of events.
            _ => {}
        }
        Ok(())
    }

    fn stream_table(&self) -> &'static StreamTable {
        &TABLE
    }
}

/// Adds a tool call, or a part of one.
fn piece(index: Option<u64>, call: &Json, calls: &mut CallAssembly) {
    let text = |path: &str| call.pointer(path).and_then(Json::as_str).unwrap_or_default();
    let arguments = ArgumentPiece::from_member(call.pointer("/function/arguments"));
    calls.add_delta(&CallDelta { index, id: text("/id"), name: text("/function/name"), arguments });
}

fn plan(message: &Json, calls: &mut CallAssembly) {
    if let Some(Json::String(more)) = message.get(PLAN)
        && !more.is_empty()
    {
        append_text(&mut calls.beside, PLAN, more);
    }
}

fn usage(json: Option<&Json>) -> Option<Usage> {
    let mut tokens = TokenReader::new(json);
    let (input, output) = (tokens.read_number("/tokens/input_tokens"), tokens.read_number("/tokens/output_tokens"));
    let cached = tokens.read_number("/cached_tokens");
    tokens.into_usage([input, output], cached, None)
}
