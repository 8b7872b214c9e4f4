//! Reads responses, complete or streamed; a streamed piece has the form of a complete answer.

use serde_json::Value as Json;
use trefoil_runtime::{Finish, ModelError, ModelErrorKind, Usage};

use super::SIGNATURE;
use crate::http::tools::Pieces;
use crate::http::{Endpoint, Partial, PartialAnswer, client, sse};

/// Reads a complete answer.
pub fn answer(endpoint: &Endpoint, json: &Json) -> Result<PartialAnswer, ModelError> {
    let mut partial = Partial::default();
    add(endpoint, json, &mut partial, &mut |_: &str| ())?;
    if !partial.ended && json.pointer("/candidates/0").is_none() {
        return Err(endpoint.error(ModelErrorKind::Protocol, "sent an answer without `candidates`"));
    }
    Ok(partial.answer)
}

/// Reads one event of a streamed answer.
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
    for part in json.pointer("/candidates/0/content/parts").and_then(Json::as_array).into_iter().flatten() {
        // Summaries of thoughts are not part of the answer.
        let thought = part.get("thought").and_then(Json::as_bool) == Some(true);
        if let Some(text) = part.get("text").and_then(Json::as_str).filter(|_| !thought) {
            partial.push(text, delta);
        }
        call(part, &mut partial.answer.calls);
    }
    let answer = &mut partial.answer;
    answer.model = text("/modelVersion").map(str::to_owned).or(answer.model.take());
    answer.id = text("/responseId").map(str::to_owned).or(answer.id.take());
    let used = usage(json.get("usageMetadata"));
    answer.usage = used.or(answer.usage);
    partial.counted = used.is_some();
    if let Some(reason) = text("/candidates/0/finishReason") {
        answer.finish = finish(endpoint, reason)?;
        partial.ended = true;
    } else if text("/promptFeedback/blockReason").is_some() {
        answer.finish = Some(Finish::Filtered);
        partial.ended = true;
    }
    Ok(())
}

fn call(part: &Json, calls: &mut Pieces) {
    let Some(call) = part.get("functionCall") else { return };
    let text = |name: &str| call.get(name).and_then(Json::as_str);
    let piece = calls.next(text("id"));
    text("name").unwrap_or_default().clone_into(&mut piece.name);
    if let Some(arguments) = call.get("args").filter(|args| !args.is_null()) {
        piece.arguments = arguments.to_string();
    }
    if let Some(signature) = part.get(SIGNATURE) {
        piece.beside.insert(SIGNATURE.to_owned(), signature.clone());
    }
}

/// The finish reason: <https://ai.google.dev/api/generate-content#FinishReason>. Unknown values count as a complete
/// answer; values that mean a malfunction of the model are errors.
fn finish(endpoint: &Endpoint, reason: &str) -> Result<Option<Finish>, ModelError> {
    Ok(match reason {
        "STOP" => Some(Finish::Stop),
        "MAX_TOKENS" => Some(Finish::Length),
        "SAFETY" | "RECITATION" | "LANGUAGE" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII" | "MODEL_ARMOR" => {
            Some(Finish::Filtered)
        }
        reason if reason.starts_with("IMAGE_") => Some(Finish::Filtered),
        "MALFORMED_FUNCTION_CALL"
        | "MALFORMED_RESPONSE"
        | "UNEXPECTED_TOOL_CALL"
        | "TOO_MANY_TOOL_CALLS"
        | "MISSING_THOUGHT_SIGNATURE" => {
            let what = format!("stopped in the middle of its answer: `{reason}`");
            return Err(endpoint.error(ModelErrorKind::Status(503), &what));
        }
        _ => None,
    })
}

/// Thoughts cost the same as output.
fn usage(json: Option<&Json>) -> Option<Usage> {
    let number = |name: &str| json?.get(name)?.as_u64();
    let (input, output) = (number("promptTokenCount"), number("candidatesTokenCount"));
    let of_tools = number("toolUsePromptTokenCount").unwrap_or_default();
    let thoughts = number("thoughtsTokenCount").unwrap_or_default();
    input.map(|input| Usage {
        input_tokens: input.saturating_add(of_tools),
        // Missing if the output is empty.
        output_tokens: output.unwrap_or_default().saturating_add(thoughts),
        cached_tokens: number("cachedContentTokenCount").unwrap_or_default(),
        ..Usage::default()
    })
}

/// An error in a response with a success status, or within a stream.
fn refused(endpoint: &Endpoint, json: &Json) -> Result<(), ModelError> {
    let Some(error) = json.get("error").filter(|e| !e.is_null()) else { return Ok(()) };
    let kind = client::status(error).map_or(ModelErrorKind::Protocol, ModelErrorKind::Status);
    Err(client::refusal(endpoint, kind, json))
}
