//! Reads responses, complete or streamed.

use serde_json::Value as Json;
use trefoil_runtime::{Finish, ModelError, ModelErrorKind, Usage};

use super::THOUGHTS;
use crate::http::tools::Pieces;
use crate::http::{Endpoint, Partial, PartialAnswer, client, sse};

/// Reads a complete answer: the concatenation of its text blocks.
pub fn answer(endpoint: &Endpoint, json: &Json) -> Result<PartialAnswer, ModelError> {
    refused(endpoint, json)?;
    let blocks = json
        .get("content")
        .and_then(Json::as_array)
        .ok_or_else(|| endpoint.error(ModelErrorKind::Protocol, "sent an answer without `content`"))?;
    let text = blocks
        .iter()
        .filter(|b| b.get("type").and_then(Json::as_str) == Some("text"))
        .filter_map(|b| b.get("text")?.as_str())
        .collect();
    let mut calls = Pieces::default();
    for (at, block) in blocks.iter().enumerate() {
        begin(at as u64, block, &mut calls);
    }
    let mut usage = None;
    count(json.get("usage"), &mut usage);
    let finish = json.get("stop_reason").and_then(Json::as_str).and_then(finish);
    let id = json.get("id").and_then(Json::as_str).map(str::to_owned);
    Ok(PartialAnswer { text, calls, usage, model: model(json), finish, id })
}

/// The finish reason: <https://docs.anthropic.com/en/api/handling-stop-reasons>.
fn finish(reason: &str) -> Option<Finish> {
    match reason {
        "end_turn" | "stop_sequence" => Some(Finish::Stop),
        "tool_use" => Some(Finish::Tools),
        "max_tokens" | "model_context_window_exceeded" => Some(Finish::Length),
        "refusal" => Some(Finish::Refused),
        _ => None,
    }
}

/// Reads one event of a streamed answer.
pub fn event(
    endpoint: &Endpoint,
    event: &sse::Event,
    partial: &mut Partial,
    delta: &mut (dyn for<'d> FnMut(&'d str) + Send),
) -> Result<(), ModelError> {
    let json = event.json(endpoint)?;
    match json.get("type").and_then(Json::as_str).unwrap_or(&event.name) {
        "message_start" => {
            let message = json.get("message").unwrap_or(&Json::Null);
            partial.answer.model = model(message);
            partial.answer.id = message.get("id").and_then(Json::as_str).map(str::to_owned);
            count(message.get("usage"), &mut partial.answer.usage);
        }
        "content_block_start" => {
            let block = json.get("content_block").unwrap_or(&Json::Null);
            if let Some(text) = block.get("text").and_then(Json::as_str).filter(|_| is_text(block)) {
                partial.push(text, delta);
            }
            begin(index(&json), block, &mut partial.answer.calls);
        }
        "content_block_delta" => {
            if let Some(text) = json.pointer("/delta/text").and_then(Json::as_str) {
                partial.push(text, delta);
            }
            go_on(index(&json), json.get("delta").unwrap_or(&Json::Null), &mut partial.answer.calls);
        }
        "message_delta" => {
            count(json.get("usage"), &mut partial.answer.usage);
            partial.counted = json.get("usage").is_some_and(Json::is_object);
            if let Some(reason) = json.pointer("/delta/stop_reason").and_then(Json::as_str) {
                partial.answer.finish = finish(reason);
                partial.ended = true;
            }
        }
        "message_stop" => partial.done = true,
        "error" => refused(endpoint, &json)?,
        // `ping`, `content_block_stop`, and future kinds of events.
        _ => {}
    }
    Ok(())
}

fn index(json: &Json) -> u64 {
    json.get("index").and_then(Json::as_u64).unwrap_or_default()
}

/// Adds a block that is not text, complete or only its start: a tool call, or a thought that belongs to one.
fn begin(index: u64, block: &Json, calls: &mut Pieces) {
    match block.get("type").and_then(Json::as_str) {
        Some("tool_use") => {
            let Some(piece) = calls.at(Some(index), block.get("id").and_then(Json::as_str)) else { return };
            block.get("name").and_then(Json::as_str).unwrap_or_default().clone_into(&mut piece.name);
            // A streamed call starts with an empty input.
            if let Some(input) = block.get("input").filter(|input| input.as_object().is_none_or(|o| !o.is_empty())) {
                piece.arguments = input.to_string();
            }
        }
        Some("thinking" | "redacted_thinking") => {
            if let Json::Array(thoughts) = calls.beside.entry(THOUGHTS).or_insert_with(|| Json::Array(Vec::new())) {
                thoughts.push(block.clone());
            }
        }
        _ => {}
    }
}

/// Appends to such a block.
fn go_on(index: u64, delta: &Json, calls: &mut Pieces) {
    let text = |name: &str| delta.get(name).and_then(Json::as_str);
    if let Some(more) = text("partial_json")
        && let Some(piece) = calls.at(Some(index), None)
    {
        piece.arguments.push_str(more);
    }
    for name in ["thinking", "signature"] {
        let last = calls.beside.get_mut(THOUGHTS).and_then(|all| all.as_array_mut()?.last_mut()?.as_object_mut());
        if let (Some(more), Some(thought)) = (text(name), last) {
            let before = thought.get(name).and_then(Json::as_str).unwrap_or_default();
            let whole = format!("{before}{more}");
            thought.insert(name.to_owned(), whole.into());
        }
    }
}

fn is_text(block: &Json) -> bool {
    block.get("type").and_then(Json::as_str) == Some("text")
}

fn model(json: &Json) -> Option<String> {
    json.get("model")?.as_str().filter(|m| !m.is_empty()).map(str::to_owned)
}

/// Input tokens arrive with the first usage, output tokens with the last. Anthropic counts cached tokens separately;
/// here they are part of the input tokens.
fn count(json: Option<&Json>, usage: &mut Option<Usage>) {
    let number = |name: &str| json.and_then(|u| u.get(name)).and_then(Json::as_u64);
    let cached = number("cache_read_input_tokens").unwrap_or(0);
    let written = number("cache_creation_input_tokens").unwrap_or(0);
    let input = number("input_tokens").unwrap_or(0).saturating_add(cached).saturating_add(written);
    if input > 0 {
        let usage = usage.get_or_insert_default();
        (usage.input_tokens, usage.cached_tokens, usage.written_tokens) = (input, cached, written);
    }
    if let Some(out) = number("output_tokens") {
        usage.get_or_insert_default().output_tokens = out;
    }
}

/// An error event, or an error in a response with a success status. Its type determines its status
/// (<https://docs.anthropic.com/en/api/errors>).
fn refused(endpoint: &Endpoint, json: &Json) -> Result<(), ModelError> {
    let Some(error) = json.get("error").filter(|e| !e.is_null()) else { return Ok(()) };
    let status = match error.get("type").and_then(Json::as_str).unwrap_or("") {
        "invalid_request_error" => 400,
        "authentication_error" => 401,
        "permission_error" => 403,
        "not_found_error" => 404,
        "request_too_large" => 413,
        "rate_limit_error" => 429,
        "timeout_error" => 504,
        "overloaded_error" => 529,
        _ => 500,
    };
    Err(client::refusal(endpoint, ModelErrorKind::Status(status), json))
}
