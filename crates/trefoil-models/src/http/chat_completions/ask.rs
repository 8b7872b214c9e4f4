//! Builds requests.

use serde_json::{Value as Json, json};
use trefoil_ir::AnswerFormat;
use trefoil_runtime::blocks::{Media, MediaKind, MediaSource};
use trefoil_runtime::{Message, ModelError, ModelRequest, Role};

use crate::http::tools::{self, Names, Sealed};
use crate::http::{Endpoint, content, options, schema};
use crate::vendors::ChatQuirks;

/// Gemini accepts this instead of a signature on thoughts of another model:
/// <https://ai.google.dev/gemini-api/docs/thought-signatures>.
const UNSIGNED: &str = "skip_thought_signature_validator";

/// The request body.
pub fn body(
    endpoint: &Endpoint,
    request: &ModelRequest,
    names: &Names,
    quirks: &ChatQuirks,
) -> Result<Json, ModelError> {
    let messages = request.messages.iter().map(|m| message(endpoint, m, names, quirks));
    let mut messages: Vec<Json> = messages.collect::<Result<_, _>>()?;
    let schema = request.schema.as_ref().map(|(name, schema)| (schema::name(name), schema.to_json()));
    if let Some((_, schema)) = schema.as_ref().filter(|_| !quirks.json_schema) {
        schema::instruct(&mut messages, schema);
    }
    let mut body = json!({"model": &*request.model, "messages": messages});
    let mut set = |name: &str, value: Json| {
        if let Json::Object(body) = &mut body {
            body.insert(name.to_owned(), value);
        }
    };
    parameters(endpoint, request, quirks, &mut set);
    if !names.is_empty() {
        set("tools", request.tools.iter().map(|tool| tools::function(tool, names)).collect());
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
    options::merge(&mut body, request.parameters.provider_options.as_ref())?;
    Ok(body)
}

fn parameters(endpoint: &Endpoint, request: &ModelRequest, quirks: &ChatQuirks, set: &mut impl FnMut(&str, Json)) {
    let p = &request.parameters;
    // OpenAI's own servers use another name than compatible servers.
    let max_tokens = if endpoint.is_openai() { "max_completion_tokens" } else { "max_tokens" };
    let numbers = [
        ("temperature", p.temperature.map(Json::from)),
        ("top_p", p.top_p.map(Json::from)),
        ("top_k", p.top_k.map(Json::from)),
        (max_tokens, p.max_tokens.map(Json::from)),
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
}

fn message(endpoint: &Endpoint, message: &Message, names: &Names, quirks: &ChatQuirks) -> Result<Json, ModelError> {
    let content = message.content.to_text();
    Ok(match message.role {
        Role::System => json!({"role": "system", "content": &*content}),
        Role::User => {
            let text = |text: &str| json!({"type": "text", "text": text});
            let parts = content::parts(endpoint, message, text, |one| media(one, quirks))?;
            json!({"role": "user", "content": parts.map_or_else(|| Json::from(&*content), Json::from)})
        }
        Role::Tool => json!({
            "role": "tool",
            "tool_call_id": message.answers.as_deref().unwrap_or_default(),
            "content": &*content,
        }),
        Role::Assistant if message.calls.is_empty() => json!({"role": "assistant", "content": &*content}),
        Role::Assistant => turn(endpoint, message, names, quirks),
    })
}

fn media(media: &Media<'_>, quirks: &ChatQuirks) -> Option<Json> {
    Some(match (media.kind, media.source) {
        (MediaKind::Image, _) => {
            let mut url = json!({"url": content::url(media)});
            if let (Json::Object(url), Some(detail)) = (&mut url, media.detail) {
                url.insert("detail".to_owned(), detail.into());
            }
            json!({"type": "image_url", "image_url": url})
        }
        (MediaKind::Audio, MediaSource::Base64(data) | MediaSource::Url(data)) if quirks.plain_audio => {
            json!({"type": "input_audio", "input_audio": data})
        }
        (MediaKind::Audio, MediaSource::Base64(data)) => {
            json!({"type": "input_audio", "input_audio": {"data": data, "format": content::format(media)}})
        }
        (MediaKind::Audio, _) => return None,
    })
}

/// A turn in which the model called tools.
fn turn(endpoint: &Endpoint, message: &Message, names: &Names, quirks: &ChatQuirks) -> Json {
    let content = message.content.to_text();
    let content = if content.is_empty() { Json::Null } else { Json::from(&*content) };
    let mut turn = json!({"role": "assistant", "content": content});
    let mut calls: Vec<Json> = Vec::new();
    for call in &message.calls {
        let mut sealed = Sealed::of(call, endpoint.provider);
        if quirks.signs && calls.is_empty() && sealed.call.is_empty() {
            sealed.call.insert("extra_content".to_owned(), json!({"google": {"thought_signature": UNSIGNED}}));
        }
        let mut one = tools::function_call(call, names);
        for (object, beside) in [(&mut turn, sealed.turn), (&mut one, sealed.call)] {
            if let Json::Object(object) = object {
                object.extend(beside);
            }
        }
        calls.push(one);
    }
    if let Json::Object(turn) = &mut turn {
        turn.insert("tool_calls".to_owned(), calls.into());
    }
    turn
}
