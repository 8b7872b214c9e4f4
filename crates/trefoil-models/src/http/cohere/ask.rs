//! Builds requests.

use serde_json::{Map, Value as Json, json};
use trefoil_ir::AnswerFormat;
use trefoil_runtime::blocks::{Media, MediaKind};
use trefoil_runtime::{Message, ModelError, ModelRequest, Role};

use crate::http::tools::{self, Names, Sealed};
use crate::http::{Endpoint, content, options, schema};

/// The request body.
pub fn body(endpoint: &Endpoint, request: &ModelRequest, names: &Names) -> Result<Json, ModelError> {
    let p = &request.parameters;
    let messages = request.messages.iter().map(|m| message(endpoint, m, names));
    let mut messages: Vec<Json> = messages.collect::<Result<_, _>>()?;
    let schema = request.schema.as_ref().map(|(_, schema)| schema.to_json());
    // Cohere rejects a response format together with tools.
    let formatted = names.is_empty();
    let native = schema.as_ref().is_some_and(|schema| formatted && schema::COHERE.has(schema));
    if let Some(schema) = schema.as_ref().filter(|_| !native) {
        schema::instruct(&mut messages, schema);
    }
    let tools: Vec<Json> = request.tools.iter().map(|tool| tools::function(tool, names)).collect();
    let format = match schema.filter(|_| native) {
        Some(schema) => Some(json!({"type": "json_object", "json_schema": schema})),
        None => (formatted && matches!(request.format, AnswerFormat::Json(_))).then(|| json!({"type": "json_object"})),
    };
    let stop = (!p.stop.is_empty()).then(|| p.stop.iter().map(|s| Json::from(&**s)).collect());
    let all = [
        ("model", Some(Json::from(&*request.model))),
        ("messages", Some(messages.into())),
        ("tools", (!tools.is_empty()).then(|| tools.into())),
        ("response_format", format),
        ("temperature", p.temperature.map(Json::from)),
        ("p", p.top_p.map(Json::from)),
        ("k", p.top_k.map(Json::from)),
        ("max_tokens", p.max_tokens.map(Json::from)),
        ("seed", p.seed.map(Json::from)),
        ("stop_sequences", stop),
        ("presence_penalty", p.presence_penalty.map(Json::from)),
        ("frequency_penalty", p.frequency_penalty.map(Json::from)),
        ("stream", Some(request.stream.into())),
    ];
    let mut body: Json = all.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect();
    options::merge(&mut body, p.provider_options.as_ref())?;
    Ok(body)
}

fn message(endpoint: &Endpoint, message: &Message, names: &Names) -> Result<Json, ModelError> {
    let content = message.content.to_text();
    Ok(match message.role {
        Role::System => json!({"role": "system", "content": &*content}),
        Role::User => {
            let text = |text: &str| json!({"type": "text", "text": text});
            let parts = content::parts(endpoint, message, text, image)?;
            json!({"role": "user", "content": parts.map_or_else(|| Json::from(&*content), Json::from)})
        }
        Role::Assistant if message.calls.is_empty() => json!({"role": "assistant", "content": &*content}),
        Role::Assistant => turn(endpoint, message, names, &content),
        Role::Tool => json!({
            "role": "tool",
            "tool_call_id": message.answers.as_deref().unwrap_or_default(),
            "content": &*content,
        }),
    })
}

fn image(media: &Media<'_>) -> Option<Json> {
    let mut url = json!({"url": content::url(media)});
    if let (Json::Object(url), Some(detail)) = (&mut url, media.detail) {
        url.insert("detail".to_owned(), detail.into());
    }
    (media.kind == MediaKind::Image).then(|| json!({"type": "image_url", "image_url": url}))
}

/// A turn in which the model called tools. The plan for the calls is sent back if it came from this provider.
fn turn(endpoint: &Endpoint, message: &Message, names: &Names, content: &str) -> Json {
    let mut turn: Map<String, Json> = Map::new();
    turn.insert("role".to_owned(), "assistant".into());
    if !content.is_empty() {
        turn.insert("content".to_owned(), content.into());
    }
    let calls: Vec<Json> = message.calls.iter().map(|call| tools::function_call(call, names)).collect();
    turn.insert("tool_calls".to_owned(), calls.into());
    for call in &message.calls {
        turn.extend(Sealed::of(call, endpoint.provider).turn);
    }
    turn.into()
}
