//! Reads responses, complete or streamed; a streamed piece has the form of a complete answer.

use serde_json::Value as Json;
use trefoil_runtime::{Finish, ModelError, ModelErrorKind, Usage};

use super::THOUGHTS;
use crate::http::tools::Pieces;
use crate::http::{Endpoint, Partial, PartialAnswer, client, sse};

/// Reads a complete answer.
pub fn answer(endpoint: &Endpoint, json: &Json) -> Result<PartialAnswer, ModelError> {
    let mut partial = Partial::default();
    add(endpoint, json, &mut partial, &mut |_: &str| ())?;
    if json.get("message").is_none_or(|message| !message.is_object()) {
        return Err(endpoint.error(ModelErrorKind::Protocol, "sent an answer without `message`"));
    }
    Ok(partial.answer)
}

/// Reads one line of a streamed answer.
pub fn event(
    endpoint: &Endpoint,
    event: &sse::Event,
    partial: &mut Partial,
    delta: &mut (dyn for<'d> FnMut(&'d str) + Send),
) -> Result<(), ModelError> {
    let json = event.json(endpoint)?;
    add(endpoint, &json, partial, delta)
}

fn add(
    endpoint: &Endpoint,
    json: &Json,
    partial: &mut Partial,
    delta: &mut (dyn for<'d> FnMut(&'d str) + Send),
) -> Result<(), ModelError> {
    refused(endpoint, json)?;
    let text = |path: &str| json.pointer(path).and_then(Json::as_str).filter(|text| !text.is_empty());
    if let Some(text) = text("/message/content") {
        partial.push(text, delta);
    }
    let answer = &mut partial.answer;
    if let Some(more) = text("/message/thinking") {
        let before = answer.calls.beside.get(THOUGHTS).and_then(Json::as_str).unwrap_or_default();
        let whole = format!("{before}{more}");
        answer.calls.beside.insert(THOUGHTS.to_owned(), whole.into());
    }
    for call in json.pointer("/message/tool_calls").and_then(Json::as_array).into_iter().flatten() {
        add_call(call, &mut answer.calls);
    }
    answer.model = text("/model").map(str::to_owned).or(answer.model.take());
    if json.get("done").and_then(Json::as_bool) == Some(true) {
        answer.usage = usage(json);
        answer.finish = match text("/done_reason") {
            Some("length") => Some(Finish::Length),
            Some("stop") => Some(Finish::Stop),
            _ => None,
        };
        partial.done = true;
    }
    Ok(())
}

fn add_call(call: &Json, calls: &mut Pieces) {
    let piece = calls.next(call.get("id").and_then(Json::as_str));
    call.pointer("/function/name").and_then(Json::as_str).unwrap_or_default().clone_into(&mut piece.name);
    piece.arguments = match call.pointer("/function/arguments") {
        Some(Json::String(text)) => text.clone(),
        Some(Json::Null) | None => String::new(),
        Some(other) => other.to_string(),
    };
}

/// Prompt tokens that were cached by the previous call are not counted again.
fn usage(json: &Json) -> Option<Usage> {
    let number = |name: &str| json.get(name).and_then(Json::as_u64);
    let (input, output) = (number("prompt_eval_count"), number("eval_count"));
    (input.is_some() || output.is_some()).then(|| Usage {
        input_tokens: input.unwrap_or_default(),
        output_tokens: output.unwrap_or_default(),
        unknown_calls: u64::from(input.is_none() || output.is_none()),
        ..Usage::default()
    })
}

/// An error in a response with a success status, or within a stream: `{"error": "..."}`.
fn refused(endpoint: &Endpoint, json: &Json) -> Result<(), ModelError> {
    let Some(error) = json.get("error").filter(|e| !e.is_null()) else { return Ok(()) };
    let kind = client::status(error).map_or(ModelErrorKind::Status(500), ModelErrorKind::Status);
    Err(client::refusal(endpoint, kind, json))
}
