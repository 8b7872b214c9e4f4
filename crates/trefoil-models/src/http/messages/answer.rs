//! Reads responses, complete or streamed.

use serde_json::Value as Json;
use trefoil_runtime::{ModelError, ModelErrorKind, Usage};

use super::{MessagesProtocol, THOUGHTS};
use crate::http::arguments::ArgumentPiece;
use crate::http::assembly::{CallAssembly, CallDelta, append_text};
use crate::http::endpoint::{ProtocolAnswers, StreamEvent, TextSink};
use crate::http::finish::read_word;
use crate::http::members::{number_member, text_member};
use crate::http::parts::{AnswerContent, text_at};
use crate::http::stream::StreamTable;
use crate::http::tokens::TokenReader;
use crate::http::{PartialAnswer, PartialCall, ProviderEndpoint};

static TABLE: StreamTable = StreamTable {
    kinds: &["message_", "content_block_"],
    first: &["message_start"],
    last: &["message_stop"],
    ..StreamTable::TYPED
};

impl ProtocolAnswers for MessagesProtocol {
    // Reads a complete answer: the concatenation of its text blocks.
    fn read_answer(&self, endpoint: &ProviderEndpoint, json: &Json) -> Result<PartialAnswer, ModelError> {
        let Some(Json::Array(blocks)) = json.get("content") else {
            return Err(endpoint.provider_error(ModelErrorKind::Protocol, "sent an answer without `content`"));
        };
        let said = AnswerContent::from_content(endpoint, json.get("content"))?;
        let mut answer = PartialAnswer {
            text: said.text,
            model: text_at(json, "/model"),
            doubts: said.doubts,
            ..PartialAnswer::default()
        };
        for (at, block) in (0..).zip(blocks) {
            begin(Some(at), block, &mut answer.calls);
        }
        count(json.get("usage"), &mut answer.usage);
        answer.conclude(read_word(endpoint, json.get("stop_reason"))?);
        answer.id = text_member(json, "id").map(str::to_owned);
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
            "message_start" => {
                let message = json.get("message").unwrap_or(&Json::Null);
                partial.answer.model = text_at(message, "/model");
                partial.answer.id = text_member(message, "id").map(str::to_owned);
                count(message.get("usage"), &mut partial.answer.usage);
                say(endpoint, message.get("content").unwrap_or(&Json::Null), partial, delta)?;
            }
            "content_block_start" => {
                let block = json.get("content_block").unwrap_or(&Json::Null);
                say(endpoint, block, partial, delta)?;
                partial.news.thought |= begin(index, block, &mut partial.answer.calls);
            }
            "content_block_delta" => {
                let piece = json.get("delta").unwrap_or(&Json::Null);
                say(endpoint, piece, partial, delta)?;
                partial.news.thought |= go_on(index, piece, &mut partial.answer.calls);
            }
            "message_delta" => {
                count(json.get("usage"), &mut partial.answer.usage);
                partial.news.usage = matches!(json.get("usage"), Some(Json::Object(_)));
                partial.news.word = read_word(endpoint, json.pointer("/delta/stop_reason"))?;
            }
            // `ping`, `message_stop`, `content_block_stop`, and future kinds of events.
            _ => {}
        }
        Ok(())
    }

    fn stream_table(&self) -> &'static StreamTable {
        &TABLE
    }
}

/// Adds a block that is not text, complete or only its start: a tool call, or a thought that belongs to one. Returns
/// whether it is a thought.
fn begin(index: Option<u64>, block: &Json, calls: &mut CallAssembly) -> bool {
    let text = |name: &str| text_member(block, name).unwrap_or_default();
    match text("type") {
        "tool_use" => {
            let arguments = ArgumentPiece::Absent;
            if let Some(piece) = calls.add_whole(&CallDelta { index, id: text("id"), name: text("name"), arguments }) {
                // A streamed call starts with an empty input; what it starts with counts if nothing follows.
                piece.begin_with(ArgumentPiece::from_member(block.get("input")));
            }
            false
        }
        "thinking" | "redacted_thinking" => {
            if let Json::Array(thoughts) = calls.beside.entry(THOUGHTS).or_insert_with(|| Json::Array(Vec::new())) {
                thoughts.push(block.clone());
            }
            true
        }
        _ => false,
    }
}

/// Appends to such a block. Returns whether it is a thought.
fn go_on(index: Option<u64>, delta: &Json, calls: &mut CallAssembly) -> bool {
    // Some gateways send an object instead of a part of its text.
    let arguments = ArgumentPiece::from_member(delta.get("partial_json"));
    if arguments != ArgumentPiece::Absent {
        calls.add_delta(&CallDelta { index, id: "", name: "", arguments });
    }
    let mut is_thought = false;
    for name in ["thinking", "signature"] {
        if let Some(more) = text_member(delta, name)
            && let Some(Json::Array(thoughts)) = calls.beside.get_mut(THOUGHTS)
            && let Some(Json::Object(thought)) = thoughts.last_mut()
        {
            append_text(thought, name, more);
            is_thought = true;
        }
    }
    is_thought
}

/// Adds the text of a block, or of a piece of one.
fn say(
    endpoint: &ProviderEndpoint,
    block: &Json,
    partial: &mut PartialCall,
    delta: &mut TextSink<'_>,
) -> Result<(), ModelError> {
    let said = AnswerContent::from_content(endpoint, Some(block))?;
    partial.push(&said.text, delta);
    partial.answer.doubts.extend(said.doubts);
    Ok(())
}

/// Input tokens arrive with the first usage, output tokens with the last. Anthropic counts cached tokens separately;
/// here they are part of the input tokens.
fn count(json: Option<&Json>, usage: &mut Option<Usage>) {
    let mut tokens = TokenReader::new(json);
    let (cached, written) =
        (tokens.read_number("/cache_read_input_tokens"), tokens.read_number("/cache_creation_input_tokens"));
    let parts = [tokens.read_number("/input_tokens"), cached, written];
    let input = if tokens.is_invalid() { None } else { parts.into_iter().flatten().reduce(u64::saturating_add) };
    let output = tokens.read_number("/output_tokens");
    let is_invalid = tokens.is_invalid();
    let Some(newer) = tokens.into_usage([input, output], cached, written) else { return };
    let Some(earlier) = *usage else {
        *usage = Some(newer);
        return;
    };
    // Later events repeat only some of the numbers, or have zeros for the others.
    let has_input = newer.input_tokens > 0;
    let of_input = if has_input { newer } else { earlier };
    let is_complete =
        (has_input || earlier.input_tokens > 0 || earlier.is_known()) && (output.is_some() || earlier.is_known());
    *usage = Some(Usage {
        output_tokens: output.unwrap_or(earlier.output_tokens),
        unknown_calls: u64::from(is_invalid || !is_complete),
        ..of_input
    });
}
