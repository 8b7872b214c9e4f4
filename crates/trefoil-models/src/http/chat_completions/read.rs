//! Reads responses, complete or streamed.

use serde_json::{Map, Value as Json};
use trefoil_runtime::{Finish, ModelError, ModelErrorKind, Usage};

use crate::http::tools::Pieces;
use crate::http::{Endpoint, Partial, PartialAnswer, client, sse};
use crate::vendors::Protocol;

/// Reads a complete answer.
pub fn answer(endpoint: &Endpoint, json: &Json) -> Result<PartialAnswer, ModelError> {
    refused(endpoint, json)?;
    let message = json
        .pointer("/choices/0/message")
        .ok_or_else(|| endpoint.error(ModelErrorKind::Protocol, "sent an answer without `choices[0].message`"))?;
    let refusal = text(message.get("refusal")).filter(|text| !text.is_empty());
    let reason = json.pointer("/choices/0/finish_reason").and_then(Json::as_str);
    let finish = match &refusal {
        Some(_) => Some(Finish::Refused),
        None => reason.map(|reason| finish(endpoint, reason)).transpose()?.flatten(),
    };
    // If a model refuses, its refusal is a separate field and the content is empty.
    let text = refusal.or_else(|| text(message.get("content"))).unwrap_or_default();
    let id = json.get("id").and_then(Json::as_str).map(str::to_owned);
    let mut calls = Pieces::default();
    add_calls(endpoint, message, true, &mut calls);
    Ok(PartialAnswer { text, calls, usage: usage(json.get("usage")), model: model(json), finish, id })
}

/// Adds the tool calls of a complete message, or of a streamed piece.
fn add_calls(endpoint: &Endpoint, message: &Json, whole: bool, calls: &mut Pieces) {
    let text = |json: Option<&Json>| json.and_then(Json::as_str).map(str::to_owned);
    for (at, one) in message.get("tool_calls").and_then(Json::as_array).into_iter().flatten().enumerate() {
        // A piece has the index of its call; in a complete message, each item is a call.
        let index = if whole { Some(at as u64) } else { one.get("index").and_then(Json::as_u64) };
        let Some(piece) = calls.at(index, one.get("id").and_then(Json::as_str)) else { continue };
        if let Some(name) = text(one.pointer("/function/name")) {
            piece.name.push_str(&name);
        }
        match one.pointer("/function/arguments") {
            Some(Json::String(text)) => piece.arguments.push_str(text),
            Some(object @ Json::Object(_)) => piece.arguments = object.to_string(),
            _ => {}
        }
        if let Some(extra) = one.get("extra_content").filter(|extra| extra.is_object()) {
            piece.beside.insert("extra_content".to_owned(), extra.clone());
        }
    }
    let Protocol::ChatCompletions(quirks) = endpoint.protocol else { return };
    for name in quirks.thoughts {
        if let Some(more) = message.get(*name).filter(|more| !more.is_null()) {
            add(&mut calls.beside, name, more);
        }
    }
}

/// Appends texts and lists; other values replace the previous one.
fn add(to: &mut Map<String, Json>, name: &str, more: &Json) {
    match (to.get_mut(name), more) {
        (Some(Json::String(text)), Json::String(more)) => text.push_str(more),
        (Some(Json::Array(all)), Json::Array(more)) => all.extend(more.iter().cloned()),
        _ => drop(to.insert(name.to_owned(), more.clone())),
    }
}

/// The finish reason: <https://platform.openai.com/docs/api-reference/chat/object>, plus values of compatible servers.
/// Unknown values count as a complete answer; values that mean a server failure are errors.
fn finish(endpoint: &Endpoint, reason: &str) -> Result<Option<Finish>, ModelError> {
    Ok(match reason {
        "stop" | "eos" | "end_turn" => Some(Finish::Stop),
        "tool_calls" | "function_call" | "tool_use" => Some(Finish::Tools),
        "length" | "max_tokens" | "model_length" => Some(Finish::Length),
        "content_filter" => Some(Finish::Filtered),
        "refusal" => Some(Finish::Refused),
        "error" | "insufficient_system_resource" => {
            let what = format!("stopped in the middle of its answer: `{reason}`");
            return Err(endpoint.error(ModelErrorKind::Status(503), &what));
        }
        _ => None,
    })
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
    if partial.answer.model.is_none() {
        partial.answer.model = model(&json);
    }
    if partial.answer.id.is_none() {
        partial.answer.id = json.get("id").and_then(Json::as_str).map(str::to_owned);
    }
    // Usage arrives once, with the last choice or after it; an empty `usage` before that is ignored. Groq uses a
    // different field.
    let figures = json.get("usage").or_else(|| json.pointer("/x_groq/usage"));
    if figures.is_some_and(Json::is_object) {
        partial.answer.usage = usage(figures);
        partial.counted = partial.answer.usage.is_some();
    }
    if let Some(choice) = json.pointer("/choices/0") {
        for name in ["content", "refusal"] {
            if let Some(text) = choice.get("delta").and_then(|d| text(d.get(name))) {
                partial.push(&text, delta);
                if name == "refusal" && !text.is_empty() {
                    partial.answer.finish = Some(Finish::Refused);
                }
            }
        }
        if let Some(piece) = choice.get("delta") {
            add_calls(endpoint, piece, false, &mut partial.answer.calls);
        }
        if let Some(reason) = choice.get("finish_reason").and_then(Json::as_str) {
            let finish = finish(endpoint, reason)?;
            partial.answer.finish = partial.answer.finish.or(finish);
            partial.ended = true;
        }
    }
    Ok(())
}

/// A text, or the texts in a list of parts (Mistral's reasoning models).
fn text(content: Option<&Json>) -> Option<String> {
    match content? {
        Json::String(text) => Some(text.clone()),
        Json::Array(parts) => Some(
            parts
                .iter()
                .filter(|p| p.get("type").and_then(Json::as_str) == Some("text"))
                .filter_map(|p| p.get("text")?.as_str())
                .collect(),
        ),
        _ => None,
    }
}

fn model(json: &Json) -> Option<String> {
    json.get("model")?.as_str().filter(|m| !m.is_empty()).map(str::to_owned)
}

/// `None` if the response has no usage.
fn usage(json: Option<&Json>) -> Option<Usage> {
    let number = |path: &str| json?.pointer(path)?.as_u64();
    let (input, output) = (number("/prompt_tokens"), number("/completion_tokens"));
    let cached = number("/prompt_tokens_details/cached_tokens").max(number("/prompt_cache_hit_tokens"));
    (input.is_some() || output.is_some()).then(|| Usage {
        input_tokens: input.unwrap_or_default(),
        output_tokens: output.unwrap_or_default(),
        cached_tokens: cached.unwrap_or_default(),
        written_tokens: number("/prompt_tokens_details/cache_write_tokens").unwrap_or_default(),
        // If one figure is missing, the other is only a lower bound.
        unknown_calls: u64::from(input.is_none() || output.is_none()),
        ..Usage::default()
    })
}

/// Gateways may report a failure with a success status, in the body or within a stream.
fn refused(endpoint: &Endpoint, json: &Json) -> Result<(), ModelError> {
    let Some(error) = json.get("error").filter(|e| !e.is_null()) else { return Ok(()) };
    let kind = client::status(error).map_or(ModelErrorKind::Protocol, ModelErrorKind::Status);
    Err(client::refusal(endpoint, kind, json))
}
