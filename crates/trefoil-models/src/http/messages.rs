//! Anthropic's messages.

use serde_json::{Value as Json, json};
use trefoil_runtime::{Finish, ModelError, ModelErrorKind, ModelRequest, Role, Usage};

use super::{Endpoint, Partial, PartialAnswer, client, options, schema, sse};

/// Sent when the manifest sets none: the protocol demands a number, and every model takes this one.
pub const DEFAULT_MAX_TOKENS: u32 = 8192;

/// The request body. Anthropic has no seed and no penalties: those are skipped.
pub(super) fn body(request: &ModelRequest) -> Result<Json, ModelError> {
    let p = &request.parameters;
    let mut system: Vec<String> = request
        .messages
        .iter()
        .filter(|m| m.role == Role::System)
        .map(|m| m.content.to_text().to_string())
        .filter(|text| !text.is_empty())
        .collect();
    if let Some((_, schema)) = &request.schema {
        system.push(schema::instruction(&schema.to_json()));
    }
    let messages: Vec<Json> = request
        .messages
        .iter()
        .filter_map(|m| {
            let role = match m.role {
                Role::System => return None,
                Role::User | Role::Tool => "user",
                Role::Assistant => "assistant",
            };
            Some(json!({"role": role, "content": &*m.content.to_text()}))
        })
        .collect();
    let mut body = json!({
        "model": &*request.model,
        "max_tokens": p.max_tokens.unwrap_or(DEFAULT_MAX_TOKENS),
        "messages": messages,
    });
    let mut set = |name: &str, value: Json| {
        if let Json::Object(body) = &mut body {
            body.insert(name.to_owned(), value);
        }
    };
    if !system.is_empty() {
        set("system", system.join("\n\n").into());
    }
    let numbers = [
        ("temperature", p.temperature.map(Json::from)),
        ("top_p", p.top_p.map(Json::from)),
        ("top_k", p.top_k.map(Json::from)),
    ];
    for (name, value) in numbers {
        if let Some(value) = value {
            set(name, value);
        }
    }
    if !p.stop.is_empty() {
        set("stop_sequences", p.stop.iter().map(|s| Json::from(&**s)).collect());
    }
    if request.stream {
        set("stream", true.into());
    }
    options::merge(&mut body, p.provider_options.as_ref())?;
    Ok(body)
}

/// A whole answer: its text blocks, one after the other.
pub(super) fn answer(endpoint: &Endpoint, json: &Json) -> Result<PartialAnswer, ModelError> {
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
    let mut usage = None;
    count(json.get("usage"), &mut usage);
    let finish = json.get("stop_reason").and_then(Json::as_str).and_then(finish);
    let id = json.get("id").and_then(Json::as_str).map(str::to_owned);
    Ok(PartialAnswer { text, usage, model: model(json), finish, id })
}

/// Why it stopped: <https://docs.anthropic.com/en/api/handling-stop-reasons>.
fn finish(reason: &str) -> Option<Finish> {
    match reason {
        "end_turn" | "stop_sequence" => Some(Finish::Stop),
        "max_tokens" | "model_context_window_exceeded" => Some(Finish::Length),
        "refusal" => Some(Finish::Refused),
        _ => None,
    }
}

/// One event of a streamed answer.
pub(super) fn event(
    endpoint: &Endpoint,
    event: &sse::Event,
    partial: &mut Partial,
    delta: &mut (dyn for<'d> FnMut(&'d str) + Send),
) -> Result<(), ModelError> {
    let json: Json = serde_json::from_str(&event.data)
        .map_err(|e| endpoint.error(ModelErrorKind::Protocol, &format!("sent an event that is not JSON: {e}")))?;
    match json.get("type").and_then(Json::as_str).unwrap_or(&event.name) {
        "message_start" => {
            let message = json.get("message").unwrap_or(&Json::Null);
            partial.answer.model = model(message);
            partial.answer.id = message.get("id").and_then(Json::as_str).map(str::to_owned);
            count(message.get("usage"), &mut partial.answer.usage);
        }
        "content_block_start" => {
            let block = json.get("content_block");
            if let Some(text) = block.filter(|b| is_text(b)).and_then(|b| b.get("text")?.as_str()) {
                partial.push(text, delta);
            }
        }
        "content_block_delta" => {
            if let Some(text) = json.pointer("/delta/text").and_then(Json::as_str) {
                partial.push(text, delta);
            }
        }
        "message_delta" => {
            count(json.get("usage"), &mut partial.answer.usage);
            if let Some(reason) = json.pointer("/delta/stop_reason").and_then(Json::as_str) {
                partial.answer.finish = finish(reason);
            }
        }
        "message_stop" => partial.done = true,
        "error" => refused(endpoint, &json)?,
        // `ping`, `content_block_stop`, and what will come.
        _ => {}
    }
    Ok(())
}

fn is_text(block: &Json) -> bool {
    block.get("type").and_then(Json::as_str) == Some("text")
}

fn model(json: &Json) -> Option<String> {
    json.get("model")?.as_str().filter(|m| !m.is_empty()).map(str::to_owned)
}

/// Tokens in come with the first figures, tokens out with the last. Cached ones are counted apart by Anthropic and
/// belong to the tokens in here.
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

/// An error event, or an error with a success status, with the status that its type stands for
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
    let said = client::said(&endpoint.scrub(&json.to_string())).unwrap_or_default();
    Err(endpoint.error(ModelErrorKind::Status(status), &format!("answered with an error: {said}")))
}
