//! Builds requests.

use serde_json::{Map, Value as Json, json};
use trefoil_ir::AnswerFormat;
use trefoil_runtime::blocks::{Media, MediaKind, MediaSource};
use trefoil_runtime::{Message, ModelError, ModelRequest, Role, ToolUse};

use crate::http::tools::{self, Names, Sealed};
use crate::http::{Endpoint, content, options, schema};

/// Options outside of `options`.
const BESIDE: &[&str] = &["think", "keep_alive", "format", "logprobs", "top_logprobs", "truncate"];

/// The request body.
pub fn body(endpoint: &Endpoint, request: &ModelRequest, names: &Names) -> Result<Json, ModelError> {
    let all = (0..request.messages.len()).map(|at| message(endpoint, &request.messages, at, names));
    let mut messages: Vec<Json> = all.collect::<Result<_, _>>()?;
    let schema = request.schema.as_ref().map(|(_, schema)| schema.to_json());
    // With a response format, the model cannot call tools.
    let native = names.is_empty();
    if let Some(schema) = schema.as_ref().filter(|_| !native) {
        schema::instruct(&mut messages, schema);
    }
    let mut body = Map::new();
    body.insert("model".to_owned(), (&*request.model).into());
    body.insert("messages".to_owned(), messages.into());
    body.insert("stream".to_owned(), request.stream.into());
    if !names.is_empty() {
        let tools: Vec<Json> = request.tools.iter().map(|tool| tools::function(tool, names)).collect();
        body.insert("tools".to_owned(), tools.into());
    } else if let Some(schema) = schema {
        body.insert("format".to_owned(), schema);
    } else if matches!(request.format, AnswerFormat::Json(_)) {
        body.insert("format".to_owned(), "json".into());
    }
    let parameters = parameters(request);
    if !parameters.is_empty() {
        body.insert("options".to_owned(), parameters.into());
    }
    let mut body = Json::Object(body);
    let options = request.parameters.provider_options.as_ref();
    options::merge_below(&mut body, options, ("options", BESIDE), options::snake_name)?;
    Ok(body)
}

fn parameters(request: &ModelRequest) -> Map<String, Json> {
    let p = &request.parameters;
    let stop = (!p.stop.is_empty()).then(|| p.stop.iter().map(|s| Json::from(&**s)).collect());
    let all = [
        ("temperature", p.temperature.map(Json::from)),
        ("top_p", p.top_p.map(Json::from)),
        ("top_k", p.top_k.map(Json::from)),
        ("num_predict", p.max_tokens.map(Json::from)),
        ("seed", p.seed.map(Json::from)),
        ("stop", stop),
        ("presence_penalty", p.presence_penalty.map(Json::from)),
        ("frequency_penalty", p.frequency_penalty.map(Json::from)),
    ];
    all.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
}

fn message(endpoint: &Endpoint, all: &[Message], at: usize, names: &Names) -> Result<Json, ModelError> {
    let Some(message) = all.get(at) else { return Ok(Json::Null) };
    let content = message.content.to_text();
    Ok(match message.role {
        Role::System => json!({"role": "system", "content": &*content}),
        Role::User => match content::parts(endpoint, message, |text| text.into(), image)? {
            Some(parts) => with_images(parts),
            None => json!({"role": "user", "content": &*content}),
        },
        Role::Assistant if message.calls.is_empty() => json!({"role": "assistant", "content": &*content}),
        Role::Assistant => turn(endpoint, message, names, &content),
        Role::Tool => {
            json!({"role": "tool", "tool_name": tools::answered(all, at, names), "content": &*content})
        }
    })
}

fn image(media: &Media<'_>) -> Option<Json> {
    match (media.kind, media.source) {
        (MediaKind::Image, MediaSource::Base64(data)) => Some(json!({ "image": data })),
        _ => None,
    }
}

/// Joins the texts and adds the images as a separate list.
fn with_images(parts: Vec<Json>) -> Json {
    let (mut texts, mut images) = (Vec::new(), Vec::new());
    for part in parts {
        match part {
            Json::String(text) => texts.push(text),
            other => images.extend(other.get("image").cloned()),
        }
    }
    json!({"role": "user", "content": texts.join("\n"), "images": images})
}

/// A turn in which the model called tools.
fn turn(endpoint: &Endpoint, message: &Message, names: &Names, content: &str) -> Json {
    let mut turn: Map<String, Json> = Map::new();
    turn.insert("role".to_owned(), "assistant".into());
    if !content.is_empty() {
        turn.insert("content".to_owned(), content.into());
    }
    let call = |call: &ToolUse| json!({"function": {"name": names.wire(&call.name), "arguments": tools::arguments_object(call)}});
    turn.insert("tool_calls".to_owned(), message.calls.iter().map(call).collect());
    for call in &message.calls {
        turn.extend(Sealed::of(call, endpoint.provider).turn);
    }
    turn.into()
}
