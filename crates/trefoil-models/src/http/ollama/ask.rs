//! Builds requests.

use serde_json::{Value as Json, json};
use trefoil_ir::AnswerFormat;
use trefoil_runtime::blocks::{Media, MediaKind, MediaSource};
use trefoil_runtime::{Message, ModelError, ModelRequest, Role, ToolUse};

use super::Ollama;
use crate::http::body::{ParameterNames, add_members, set_member};
use crate::http::endpoint::ProtocolRequests;
use crate::http::tools::{self, Names, Sealed};
use crate::http::{Endpoint, content, options, schema};

/// Options outside of `options`.
const BESIDE: &[&str] = &["think", "keep_alive", "format", "logprobs", "top_logprobs", "truncate"];

impl ProtocolRequests for Ollama {
    fn call_path(&self, base: &str) -> String {
        if base.ends_with("/api") { format!("{base}/chat") } else { format!("{base}/api/chat") }
    }
    fn models_path(&self) -> (&'static str, Option<(&'static str, &'static str)>) {
        ("/tags", None)
    }
    fn body(&self, endpoint: &Endpoint, request: &ModelRequest, names: &Names) -> Result<Json, ModelError> {
        let all = (0..request.messages.len()).map(|at| message(endpoint, &request.messages, at, names));
        let mut messages: Vec<Json> = all.collect::<Result<_, _>>()?;
        let schema = request.schema.as_ref().map(|(_, schema)| schema.to_json());
        // With a response format, the model cannot call tools.
        let native = names.is_empty();
        if let Some(schema) = schema.as_ref().filter(|_| !native) {
            schema::instruct(&mut messages, schema);
        }
        let mut body = json!({"model": &*request.model, "messages": messages, "stream": request.stream});
        if !names.is_empty() {
            set_member(&mut body, "tools", tools::functions(request, names));
        } else if let Some(schema) = schema {
            set_member(&mut body, "format", schema);
        } else if matches!(request.format, AnswerFormat::Json(_)) {
            set_member(&mut body, "format", "json");
        }
        let parameters = ParameterNames { max_tokens: "num_predict", ..ParameterNames::USUAL }.members(request);
        if !parameters.is_empty() {
            set_member(&mut body, "options", parameters);
        }
        let options = request.parameters.provider_options.as_ref();
        options::merge_below(&mut body, options, ("options", BESIDE), options::snake_name)?;
        Ok(body)
    }
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
    let call = |call: &ToolUse| json!({"function": {"name": names.wire(&call.name), "arguments": tools::arguments_object(call)}});
    let calls: Vec<Json> = message.calls.iter().map(call).collect();
    let mut turn = json!({"role": "assistant", "tool_calls": calls});
    if !content.is_empty() {
        set_member(&mut turn, "content", content);
    }
    for call in &message.calls {
        add_members(&mut turn, Sealed::of(call, endpoint.provider).turn);
    }
    turn
}
