//! Reads responses, complete or streamed.

use serde_json::Value as Json;
use trefoil_runtime::{FinishReason, ModelError, ModelErrorKind};

use super::{ResponsesProtocol, THOUGHTS};
use crate::http::arguments::ArgumentPiece;
use crate::http::assembly::{CallAssembly, CallDelta};
use crate::http::endpoint::{ProtocolAnswers, StreamEvent, TextSink};
use crate::http::finish::{FinishWord, read_status, read_word};
use crate::http::members::{list_member, number_member, text_member};
use crate::http::parts::{AnswerContent, PartKind, kind_of, text_at, type_of};
use crate::http::stream::StreamTable;
use crate::http::tokens::TokenReader;
use crate::http::{PartialAnswer, PartialCall, ProviderEndpoint};

static TABLE: StreamTable = StreamTable {
    kinds: &["response."],
    silent: &[
        "response.output_text.done",
        "response.output_text.annotation",
        "response.refusal.done",
        "response.function_call",
        "response.reasoning",
        "response.custom_tool_call",
        "response.mcp",
        "response.code_interpreter",
        "response.audio",
        "response.image",
    ],
    first: &["response.created"],
    last: &["response.completed", "response.incomplete", "response.failed", "response.cancelled"],
    ..StreamTable::TYPED
};

impl ProtocolAnswers for ResponsesProtocol {
    fn read_answer(&self, endpoint: &ProviderEndpoint, json: &Json) -> Result<PartialAnswer, ModelError> {
        let word = ending(endpoint, None, json)?;
        let Some(Json::Array(output)) = json.get("output") else {
            return Err(endpoint.provider_error(ModelErrorKind::Protocol, "sent an answer without `output`"));
        };
        let mut answer = read_output(endpoint, output)?;
        about(json, &mut answer);
        answer.conclude(word);
        Ok(answer)
    }

    fn read_event(
        &self,
        event: StreamEvent<'_>,
        partial: &mut PartialCall,
        delta: &mut TextSink<'_>,
    ) -> Result<(), ModelError> {
        let StreamEvent { endpoint, kind, json } = event;
        let index = number_member(json, "output_index");
        match kind {
            "response.output_text.delta" => {
                let said = AnswerContent::from_content(endpoint, json.get("delta"))?;
                partial.answer.begin_part(part_of(json));
                partial.push(&said.text, delta);
            }
            "response.output_text.done" => {
                let said = AnswerContent::from_content(endpoint, json.get("text"))?;
                partial.answer.begin_part(part_of(json));
                partial.complete_part(&said.text, delta);
            }
            "response.refusal.delta" => {
                let said = AnswerContent::from_content(endpoint, json.get("delta"))?;
                partial.push(&said.text, delta);
                partial.answer.conclude(FinishWord::Known(FinishReason::Refused));
            }
            "response.output_item.added" => {
                let item = match json.get("item") {
                    Some(item) if is_call(item) => item,
                    _ => &Json::Null,
                };
                add_item(index, item, &mut partial.answer.calls, false);
            }
            "response.output_item.done" => {
                let item = json.get("item").unwrap_or(&Json::Null);
                let whole = read_output(endpoint, std::slice::from_ref(item))?;
                partial.answer.doubts.extend(whole.doubts);
                // Some servers send the text only here.
                if partial.answer.text.is_empty() {
                    partial.push(&whole.text, delta);
                }
                if !is_call(item) {
                    partial.answer.conclude(whole.word);
                }
                add_item(index, item, &mut partial.answer.calls, true);
            }
            "response.function_call_arguments.delta" => {
                let arguments = ArgumentPiece::from_member(json.get("delta"));
                partial.answer.calls.add_delta(&CallDelta { index, id: "", name: "", arguments });
            }
            "response.function_call_arguments.done" => {
                let name = text_member(json, "name").unwrap_or_default();
                let arguments = ArgumentPiece::from_member(json.get("arguments"));
                if let Some(piece) = partial.answer.calls.update_call(&CallDelta { index, id: "", name, arguments }) {
                    piece.mark_ended(true);
                }
            }
            "response.created" => about(json.get("response").unwrap_or(&Json::Null), &mut partial.answer),
            "response.completed" | "response.incomplete" | "response.failed" | "response.cancelled" => {
                let response = json.get("response").unwrap_or(&Json::Null);
                about(response, &mut partial.answer);
                let word = ending(endpoint, kind.strip_prefix("response."), response)?;
                // Some servers send the answer, or the rest of it, only here.
                let whole = read_output(endpoint, list_member(response, "output"))?;
                if whole.finish() == Some(FinishReason::Refused) {
                    partial.push(whole.text.strip_prefix(&partial.answer.text).unwrap_or_default(), delta);
                } else {
                    partial.complete(&whole.text, delta);
                }
                partial.answer.doubts.extend(whole.doubts);
                partial.answer.calls.update_all(whole.calls);
                partial.news.word = FinishWord::pick_worse(whole.word, word);
            }
            // Parts of items, tools of the provider, and future kinds of events.
            _ => {}
        }
        Ok(())
    }

    fn stream_table(&self) -> &'static StreamTable {
        &TABLE
    }
    fn has_states(&self) -> bool {
        true
    }
}

/// The text and the calls of a complete answer.
fn read_output(endpoint: &ProviderEndpoint, output: &[Json]) -> Result<PartialAnswer, ModelError> {
    let mut answer = PartialAnswer::default();
    let mut said = AnswerContent::default();
    for (at, item) in (0..).zip(output) {
        let kind = match item {
            Json::Object(item) => type_of(item),
            _ => "",
        };
        match kind {
            // What it refers to, and what the provider's own tools did, has content of its own.
            name if matches!(kind_of(name), PartKind::Thought | PartKind::Call | PartKind::Beside) => {}
            "message" | "content" | "" => said.add_all(AnswerContent::without_calls(endpoint, item.get("content"))?),
            _ => said.add_all(AnswerContent::from_content(endpoint, Some(item))?),
        }
        add_item(Some(at), item, &mut answer.calls, true);
        if is_cut(item) {
            answer.conclude(FinishWord::Known(FinishReason::Length));
        }
    }
    (answer.text, answer.doubts) = (said.text, said.doubts);
    if !said.refusal.is_empty() {
        answer.text = said.refusal;
        answer.conclude(FinishWord::Known(FinishReason::Refused));
    }
    Ok(answer)
}

/// The numbers of the item and of its part that an event belongs to.
fn part_of(json: &Json) -> [Option<u64>; 2] {
    [number_member(json, "output_index"), number_member(json, "content_index")]
}

/// Whether an item says that it ended too early.
fn is_cut(item: &Json) -> bool {
    text_member(item, "status") == Some("incomplete")
}

fn is_call(item: &Json) -> bool {
    text_member(item, "type") == Some("function_call")
}

/// Adds a tool call, or a thought that belongs to one. Several events have the same call, as far as it is known then;
/// `done`: it has ended.
fn add_item(index: Option<u64>, item: &Json, calls: &mut CallAssembly, done: bool) {
    let text = |name: &str| text_member(item, name).unwrap_or_default();
    if is_call(item) {
        calls.announce_call();
        let arguments = ArgumentPiece::from_member(item.get("arguments"));
        let piece = calls.update_call(&CallDelta { index, id: text("call_id"), name: text("name"), arguments });
        if let Some(piece) = piece
            && (done || is_cut(item))
        {
            piece.mark_ended(!is_cut(item));
        }
    } else if text("type") == "reasoning"
        && let Json::Array(thoughts) = calls.beside.entry(THOUGHTS).or_insert_with(|| Json::Array(Vec::new()))
    {
        thoughts.push(item.clone());
    }
}

/// Reads the metadata of an answer.
fn about(json: &Json, answer: &mut PartialAnswer) {
    answer.model = text_at(json, "/model").or(answer.model.take());
    answer.id = text_at(json, "/id").or(answer.id.take());
    let mut tokens = TokenReader::new(json.get("usage"));
    let (input, output) = (tokens.read_number("/input_tokens"), tokens.read_number("/output_tokens"));
    let cached = tokens.read_number("/input_tokens_details/cached_tokens");
    let written = tokens.read_number("/input_tokens_details/cache_write_tokens");
    answer.usage = tokens.into_usage([input, output], cached, written).or(answer.usage);
}

/// Why an answer is over. The type of the last event says so, and the status of the response; the worse of them counts.
/// The error of a response that failed, if it has one, was found before.
fn ending(endpoint: &ProviderEndpoint, event: Option<&str>, response: &Json) -> Result<Option<FinishWord>, ModelError> {
    let of_event = read_word(endpoint, event.map(Json::from).as_ref())?;
    Ok(FinishWord::pick_worse(of_event, read_status(endpoint, response)?))
}
