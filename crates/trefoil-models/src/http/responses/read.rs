//! Reads responses, complete or streamed.

use serde_json::Value as Json;
use trefoil_runtime::{Finish, ModelError, ModelErrorKind, Usage};

use super::THOUGHTS;
use crate::http::tools::Pieces;
use crate::http::{Endpoint, Partial, PartialAnswer, client, sse};

/// Reads a complete answer.
pub fn answer(endpoint: &Endpoint, json: &Json) -> Result<PartialAnswer, ModelError> {
    refused(endpoint, json)?;
    let output = json
        .get("output")
        .and_then(Json::as_array)
        .ok_or_else(|| endpoint.error(ModelErrorKind::Protocol, "sent an answer without `output`"))?;
    let mut answer = said(output);
    about(json, &mut answer);
    Ok(answer)
}

/// The text and the calls of a complete answer.
fn said(output: &[Json]) -> PartialAnswer {
    let mut answer = PartialAnswer::default();
    let mut refusal = String::new();
    for (at, item) in output.iter().enumerate() {
        for part in item.get("content").and_then(Json::as_array).into_iter().flatten() {
            let text = |name: &str| part.get(name).and_then(Json::as_str).unwrap_or_default();
            match text("type") {
                "output_text" => answer.text.push_str(text("text")),
                "refusal" => refusal.push_str(text("refusal")),
                _ => {}
            }
        }
        add_item(at as u64, item, &mut answer.calls);
    }
    if !refusal.is_empty() {
        (answer.text, answer.finish) = (refusal, Some(Finish::Refused));
    }
    answer
}

/// Reads one event of a streamed answer.
pub fn event(
    endpoint: &Endpoint,
    event: &sse::Event,
    partial: &mut Partial,
    delta: &mut (dyn for<'d> FnMut(&'d str) + Send),
) -> Result<(), ModelError> {
    let json = event.json(endpoint)?;
    let text = || json.get("delta").and_then(Json::as_str).unwrap_or_default();
    match json.get("type").and_then(Json::as_str).unwrap_or(&event.name) {
        "response.output_text.delta" => partial.push(text(), delta),
        "response.refusal.delta" => {
            partial.push(text(), delta);
            partial.answer.finish = Some(Finish::Refused);
        }
        "response.output_item.done" => {
            let index = json.get("output_index").and_then(Json::as_u64).unwrap_or_default();
            add_item(index, json.get("item").unwrap_or(&Json::Null), &mut partial.answer.calls);
        }
        "response.created" => about(json.get("response").unwrap_or(&Json::Null), &mut partial.answer),
        "response.completed" | "response.incomplete" | "response.failed" => {
            let response = json.get("response").unwrap_or(&Json::Null);
            refused(endpoint, response)?;
            // Some servers send the answer only here.
            let whole = said(response.get("output").and_then(Json::as_array).map_or(&[], Vec::as_slice));
            if partial.answer.text.is_empty() {
                partial.push(&whole.text, delta);
                partial.answer.finish = partial.answer.finish.or(whole.finish);
            }
            if partial.answer.calls.is_empty() && !whole.calls.is_empty() {
                partial.answer.calls = whole.calls;
            }
            about(response, &mut partial.answer);
            partial.done = true;
        }
        "error" => {
            // The error is in the event itself, or in its `error`.
            let error = json.get("error").filter(|error| error.is_object()).unwrap_or(&json);
            return Err(failure(endpoint, error));
        }
        // Parts of items, tools of the provider, and future kinds of events.
        _ => {}
    }
    Ok(())
}

/// Adds a tool call, or a thought that belongs to one.
fn add_item(index: u64, item: &Json, calls: &mut Pieces) {
    let text = |name: &str| item.get(name).and_then(Json::as_str).unwrap_or_default();
    match text("type") {
        "function_call" => {
            let Some(piece) = calls.at(Some(index), Some(text("call_id"))) else { return };
            text("name").clone_into(&mut piece.name);
            text("arguments").clone_into(&mut piece.arguments);
        }
        "reasoning" => {
            if let Json::Array(thoughts) = calls.beside.entry(THOUGHTS).or_insert_with(|| Json::Array(Vec::new())) {
                thoughts.push(item.clone());
            }
        }
        _ => {}
    }
}

/// Reads the metadata of an answer.
fn about(json: &Json, answer: &mut PartialAnswer) {
    let text = |path: &str| json.pointer(path).and_then(Json::as_str).filter(|text| !text.is_empty());
    let finish = match (text("/status"), text("/incomplete_details/reason")) {
        (Some("completed"), _) => Some(Finish::Stop),
        (Some("incomplete"), Some("content_filter")) => Some(Finish::Filtered),
        (Some("incomplete"), _) => Some(Finish::Length),
        _ => None,
    };
    answer.finish = answer.finish.or(finish);
    answer.model = text("/model").map(str::to_owned).or(answer.model.take());
    answer.id = text("/id").map(str::to_owned).or(answer.id.take());
    let number = |path: &str| json.pointer(path).and_then(Json::as_u64);
    if let (Some(input), Some(output)) = (number("/usage/input_tokens"), number("/usage/output_tokens")) {
        answer.usage = Some(Usage {
            input_tokens: input,
            output_tokens: output,
            cached_tokens: number("/usage/input_tokens_details/cached_tokens").unwrap_or_default(),
            written_tokens: number("/usage/input_tokens_details/cache_write_tokens").unwrap_or_default(),
            ..Usage::default()
        });
    }
}

/// An error in a response with a success status.
fn refused(endpoint: &Endpoint, json: &Json) -> Result<(), ModelError> {
    match json.get("error").filter(|error| !error.is_null()) {
        Some(error) => Err(failure(endpoint, error)),
        None if json.get("status").and_then(Json::as_str) == Some("failed") => {
            Err(endpoint.error(ModelErrorKind::Status(500), "failed without saying why"))
        }
        None => Ok(()),
    }
}

fn failure(endpoint: &Endpoint, error: &Json) -> ModelError {
    let code = error.get("code").and_then(Json::as_str).is_some_and(|code| !code.is_empty());
    // The other codes are about the request.
    let status = client::status(error).or(code.then_some(400));
    client::refusal(endpoint, status.map_or(ModelErrorKind::Protocol, ModelErrorKind::Status), error)
}
