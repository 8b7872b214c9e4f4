//! Reads responses, complete or streamed.

use serde_json::Value as Json;
use trefoil_runtime::{Finish, ModelError, ModelErrorKind, Usage};

use super::PLAN;
use crate::http::tools::Pieces;
use crate::http::{Endpoint, Partial, PartialAnswer, client, sse};

/// Reads a complete answer.
pub fn answer(endpoint: &Endpoint, json: &Json) -> Result<PartialAnswer, ModelError> {
    refused(endpoint, json)?;
    let message = json
        .get("message")
        .filter(|message| message.is_object())
        .ok_or_else(|| endpoint.error(ModelErrorKind::Protocol, "sent an answer without `message`"))?;
    let mut answer = PartialAnswer { id: text(json, "/id"), ..PartialAnswer::default() };
    for part in message.get("content").and_then(Json::as_array).into_iter().flatten() {
        if part.get("type").and_then(Json::as_str) == Some("text") {
            answer.text.push_str(part.get("text").and_then(Json::as_str).unwrap_or_default());
        }
    }
    for (at, call) in message.get("tool_calls").and_then(Json::as_array).into_iter().flatten().enumerate() {
        piece(Some(at as u64), call, &mut answer.calls);
    }
    plan(message, &mut answer.calls);
    answer.finish = text(json, "/finish_reason").map(|reason| finish(endpoint, &reason)).transpose()?.flatten();
    answer.usage = usage(json.get("usage"));
    Ok(answer)
}

/// Reads one event of a streamed answer.
pub fn event(
    endpoint: &Endpoint,
    event: &sse::Event,
    partial: &mut Partial,
    delta: &mut (dyn for<'d> FnMut(&'d str) + Send),
) -> Result<(), ModelError> {
    if event.data.trim() == "[DONE]" {
        partial.done = true;
        return Ok(());
    }
    let json = event.json(endpoint)?;
    refused(endpoint, &json)?;
    let index = json.get("index").and_then(Json::as_u64);
    match json.get("type").and_then(Json::as_str).unwrap_or(&event.name) {
        "message-start" => partial.answer.id = text(&json, "/id"),
        "content-start" | "content-delta" => {
            if let Some(text) = text(&json, "/delta/message/content/text") {
                partial.push(&text, delta);
            }
        }
        "tool-plan-delta" => plan(json.pointer("/delta/message").unwrap_or(&Json::Null), &mut partial.answer.calls),
        "tool-call-start" | "tool-call-delta" => {
            if let Some(call) = json.pointer("/delta/message/tool_calls") {
                piece(index, call, &mut partial.answer.calls);
            }
        }
        "message-end" => {
            let reason = text(&json, "/delta/finish_reason");
            partial.answer.finish = reason.map(|reason| finish(endpoint, &reason)).transpose()?.flatten();
            partial.answer.usage = usage(json.pointer("/delta/usage"));
            partial.done = true;
        }
        // Citations, ends of parts, and future kinds of events.
        _ => {}
    }
    Ok(())
}

/// Adds a tool call, or a part of one.
fn piece(index: Option<u64>, call: &Json, calls: &mut Pieces) {
    let text = |path: &str| call.pointer(path).and_then(Json::as_str);
    let Some(piece) = calls.at(index, text("/id")) else { return };
    piece.name.push_str(text("/function/name").unwrap_or_default());
    piece.arguments.push_str(text("/function/arguments").unwrap_or_default());
}

fn plan(message: &Json, calls: &mut Pieces) {
    let Some(more) = message.get(PLAN).and_then(Json::as_str).filter(|more| !more.is_empty()) else { return };
    let whole = format!("{}{more}", calls.beside.get(PLAN).and_then(Json::as_str).unwrap_or_default());
    calls.beside.insert(PLAN.to_owned(), whole.into());
}

/// The finish reason: <https://docs.cohere.com/v2/reference/chat#response.body.finish_reason>.
fn finish(endpoint: &Endpoint, reason: &str) -> Result<Option<Finish>, ModelError> {
    Ok(match reason {
        "COMPLETE" | "STOP_SEQUENCE" => Some(Finish::Stop),
        "MAX_TOKENS" => Some(Finish::Length),
        "TOOL_CALL" => Some(Finish::Tools),
        "ERROR_TOXIC" => Some(Finish::Filtered),
        "ERROR" | "TIMEOUT" => {
            let what = format!("stopped in the middle of its answer: `{reason}`");
            return Err(endpoint.error(ModelErrorKind::Status(503), &what));
        }
        _ => None,
    })
}

/// Numbers may be written as floats.
fn usage(json: Option<&Json>) -> Option<Usage> {
    let number = |path: &str| json?.pointer(path)?.as_f64().filter(|n| *n >= 0.0).map(|n| n as u64);
    let (input, output) = (number("/tokens/input_tokens"), number("/tokens/output_tokens"));
    (input.is_some() || output.is_some()).then(|| Usage {
        input_tokens: input.unwrap_or_default(),
        output_tokens: output.unwrap_or_default(),
        cached_tokens: number("/cached_tokens").unwrap_or_default(),
        unknown_calls: u64::from(input.is_none() || output.is_none()),
        ..Usage::default()
    })
}

fn text(json: &Json, path: &str) -> Option<String> {
    json.pointer(path)?.as_str().filter(|text| !text.is_empty()).map(str::to_owned)
}

/// An error in a response with a success status, or within a stream. The message of an answer is an object, that of a
/// failure is text.
fn refused(endpoint: &Endpoint, json: &Json) -> Result<(), ModelError> {
    if text(json, "/message").is_some() {
        return Err(client::refusal(endpoint, ModelErrorKind::Status(500), json));
    }
    let error = json.get("error").or_else(|| json.pointer("/delta/error")).filter(|error| !error.is_null());
    let Some(error) = error else { return Ok(()) };
    let kind = client::status(error).map_or(ModelErrorKind::Protocol, ModelErrorKind::Status);
    Err(client::refusal(endpoint, kind, &serde_json::json!({ "error": error })))
}
