//! OpenAI's chat completions, as everybody else took them over.

use serde_json::{Value as Json, json};
use trefoil_ir::AnswerFormat;
use trefoil_runtime::{Finish, ModelError, ModelErrorKind, ModelRequest, Role, Usage};

use super::{Endpoint, Partial, PartialAnswer, client, options, schema, sse};
use crate::vendors::ChatQuirks;

/// The request body. `openai`: the server is OpenAI's own, which wants `max_completion_tokens` where the others know
/// `max_tokens`.
pub(super) fn body(request: &ModelRequest, quirks: &ChatQuirks, openai: bool) -> Result<Json, ModelError> {
    let mut messages: Vec<Json> = request
        .messages
        .iter()
        .map(|m| {
            let role = match m.role {
                Role::System => "system",
                Role::User => "user",
                Role::Assistant => "assistant",
                Role::Tool => "tool",
            };
            json!({"role": role, "content": &*m.content.to_text()})
        })
        .collect();
    let schema = request.schema.as_ref().map(|(name, schema)| (schema::name(name), schema.to_json()));
    if let Some((_, schema)) = schema.as_ref().filter(|_| !quirks.json_schema) {
        // After the system message that is there, so that it has the last word before the conversation.
        let at = usize::from(request.messages.first().is_some_and(|m| m.role == Role::System));
        messages.insert(at, json!({"role": "system", "content": schema::instruction(schema)}));
    }
    let mut body = json!({"model": &*request.model, "messages": messages});
    let mut set = |name: &str, value: Json| {
        if let Json::Object(body) = &mut body {
            body.insert(name.to_owned(), value);
        }
    };
    let p = &request.parameters;
    let numbers = [
        ("temperature", p.temperature.map(Json::from)),
        ("top_p", p.top_p.map(Json::from)),
        ("top_k", p.top_k.map(Json::from)),
        (if openai { "max_completion_tokens" } else { "max_tokens" }, p.max_tokens.map(Json::from)),
        ("presence_penalty", p.presence_penalty.map(Json::from)),
        ("frequency_penalty", p.frequency_penalty.map(Json::from)),
        (quirks.seed, p.seed.map(Json::from)),
    ];
    for (name, value) in numbers {
        if let Some(value) = value {
            set(name, value);
        }
    }
    if !p.stop.is_empty() {
        set("stop", p.stop.iter().map(|s| Json::from(&**s)).collect());
    }
    match schema {
        Some((name, schema)) if quirks.json_schema => {
            let strict = schema::is_strict(&schema);
            set(
                "response_format",
                json!({"type": "json_schema", "json_schema": {"name": name, "strict": strict, "schema": schema}}),
            );
        }
        Some(_) => set("response_format", json!({"type": "json_object"})),
        None if matches!(request.format, AnswerFormat::Json(_)) => {
            set("response_format", json!({"type": "json_object"}));
        }
        None => {}
    }
    if request.stream {
        set("stream", true.into());
        if quirks.stream_options {
            set("stream_options", json!({"include_usage": true}));
        }
    }
    options::merge(&mut body, p.provider_options.as_ref())?;
    Ok(body)
}

/// A whole answer.
pub(super) fn answer(endpoint: &Endpoint, json: &Json) -> Result<PartialAnswer, ModelError> {
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
    // A model that will not answer says so beside an empty content.
    let text = refusal.or_else(|| text(message.get("content"))).unwrap_or_default();
    let id = json.get("id").and_then(Json::as_str).map(str::to_owned);
    Ok(PartialAnswer { text, usage: usage(json.get("usage")), model: model(json), finish, id })
}

/// Why it stopped: <https://platform.openai.com/docs/api-reference/chat/object>, with the words of others beside. What
/// nobody knows counts as having said all; what says that the server gave up is an error.
fn finish(endpoint: &Endpoint, reason: &str) -> Result<Option<Finish>, ModelError> {
    Ok(match reason {
        "stop" | "eos" | "end_turn" => Some(Finish::Stop),
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

/// One event of a streamed answer.
pub(super) fn event(
    endpoint: &Endpoint,
    event: &sse::Event,
    partial: &mut Partial,
    delta: &mut (dyn for<'d> FnMut(&'d str) + Send),
) -> Result<(), ModelError> {
    if event.data.trim() == "[DONE]" {
        partial.done = true;
        return Ok(());
    }
    let json: Json = serde_json::from_str(&event.data)
        .map_err(|e| endpoint.error(ModelErrorKind::Protocol, &format!("sent an event that is not JSON: {e}")))?;
    refused(endpoint, &json)?;
    if partial.answer.model.is_none() {
        partial.answer.model = model(&json);
    }
    if partial.answer.id.is_none() {
        partial.answer.id = json.get("id").and_then(Json::as_str).map(str::to_owned);
    }
    // It comes once, with the last choice or after it; an empty one before that is no news.
    // Groq puts it into a place of its own.
    let figures = json.get("usage").or_else(|| json.pointer("/x_groq/usage"));
    if figures.is_some_and(Json::is_object) {
        partial.answer.usage = usage(figures);
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
        if let Some(reason) = choice.get("finish_reason").and_then(Json::as_str) {
            let finish = finish(endpoint, reason)?;
            partial.answer.finish = partial.answer.finish.or(finish);
            partial.ended = true;
        }
    }
    Ok(())
}

/// Text, or a list of parts of which those of type `text` count (Mistral's reasoning models).
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

/// None: it says nothing.
fn usage(json: Option<&Json>) -> Option<Usage> {
    let number = |path: &str| json?.pointer(path)?.as_u64();
    let (input, output) = (number("/prompt_tokens"), number("/completion_tokens"));
    let cached = number("/prompt_tokens_details/cached_tokens").max(number("/prompt_cache_hit_tokens"));
    (input.is_some() || output.is_some()).then(|| Usage {
        input_tokens: input.unwrap_or_default(),
        output_tokens: output.unwrap_or_default(),
        cached_tokens: cached.unwrap_or_default(),
        written_tokens: number("/prompt_tokens_details/cache_write_tokens").unwrap_or_default(),
        // One figure without the other is a lower bound.
        unknown_calls: u64::from(input.is_none() || output.is_none()),
        ..Usage::default()
    })
}

/// Gateways report a failure with a success status, in the body or in the middle of a stream.
fn refused(endpoint: &Endpoint, json: &Json) -> Result<(), ModelError> {
    let Some(error) = json.get("error").filter(|e| !e.is_null()) else { return Ok(()) };
    let status = ["code", "status"]
        .iter()
        .find_map(|k| error.get(k)?.as_u64())
        .and_then(|code| u16::try_from(code).ok())
        .filter(|code| (400..600).contains(code));
    let kind = status.map_or(ModelErrorKind::Protocol, ModelErrorKind::Status);
    let said = client::said(&endpoint.scrub(&json.to_string())).unwrap_or_default();
    Err(endpoint.error(kind, &format!("answered with an error: {said}")))
}
