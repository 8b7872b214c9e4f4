//! Builds requests.

use serde_json::{Value as Json, json};
use trefoil_ir::AnswerFormat;
use trefoil_runtime::blocks::{MediaBlock, MediaKind, MediaSource};
use trefoil_runtime::{MessageRole, ModelError, ModelMessage, ModelRequest, ModelToolCall};

use super::OllamaProtocol;
use crate::http::body::{ParameterNames, add_members, set_member};
use crate::http::endpoint::ProtocolRequests;
use crate::http::tools::{self, SealedMembers, ToolWireNames};
use crate::http::{ProviderEndpoint, content, options, schema};

/// Options outside of `options`.
const BESIDE: &[&str] = &["think", "keep_alive", "format", "logprobs", "top_logprobs", "truncate"];

impl ProtocolRequests for OllamaProtocol {
    fn call_path(&self, base: &str) -> String {
        if base.ends_with("/api") { format!("{base}/chat") } else { format!("{base}/api/chat") }
    }
    fn models_path(&self) -> (&'static str, Option<(&'static str, &'static str)>) {
        ("/tags", None)
    }
    fn request_body(
        &self,
        endpoint: &ProviderEndpoint,
        request: &ModelRequest,
        names: &ToolWireNames,
    ) -> Result<Json, ModelError> {
        let all = (0..request.messages.len()).map(|at| message(endpoint, &request.messages, at, names));
        let mut messages: Vec<Json> = all.collect::<Result<_, _>>()?;
        let schema = request.schema.as_ref().map(|(_, schema)| schema.to_json());
        // With a response format, the model cannot call tools.
        let native = names.is_empty();
        if let Some(schema) = &schema
            && !native
        {
            schema::insert_instruction(&mut messages, schema);
        }
        let mut body = json!({"model": &*request.model, "messages": messages, "stream": request.stream});
        if !names.is_empty() {
            set_member(&mut body, "tools", tools::function_tools_json(request, names));
        } else if let Some(schema) = schema {
            set_member(&mut body, "format", schema);
        } else if matches!(request.format, AnswerFormat::Json(_)) {
            set_member(&mut body, "format", "json");
        }
        let parameters = ParameterNames { max_tokens: "num_predict", ..ParameterNames::USUAL }.request_members(request);
        if !parameters.is_empty() {
            set_member(&mut body, "options", parameters);
        }
        let options = request.parameters.provider_options.as_ref();
        options::merge_below(&mut body, options, ("options", BESIDE), options::snake_name)?;
        Ok(body)
    }
}

fn message(
    endpoint: &ProviderEndpoint,
    all: &[ModelMessage],
    at: usize,
    names: &ToolWireNames,
) -> Result<Json, ModelError> {
    let Some(message) = all.get(at) else { return Ok(Json::Null) };
    let content = message.content.to_text();
    Ok(match message.role {
        MessageRole::System => json!({"role": "system", "content": &*content}),
        MessageRole::User => match content::content_parts(endpoint, message, |text| text.into(), image)? {
            Some(parts) => with_images(parts),
            None => json!({"role": "user", "content": &*content}),
        },
        MessageRole::Assistant if message.calls.is_empty() => json!({"role": "assistant", "content": &*content}),
        MessageRole::Assistant => turn(endpoint, message, names, &content),
        MessageRole::Tool => {
            json!({"role": "tool", "tool_name": tools::answered_tool_name(all, at, names), "content": &*content})
        }
    })
}

fn image(media: &MediaBlock<'_>) -> Option<Json> {
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
fn turn(endpoint: &ProviderEndpoint, message: &ModelMessage, names: &ToolWireNames, content: &str) -> Json {
    let call = |call: &ModelToolCall| json!({"function": {"name": names.wire_name(&call.name), "arguments": tools::arguments_object(call)}});
    let calls: Vec<Json> = message.calls.iter().map(call).collect();
    let mut turn = json!({"role": "assistant", "tool_calls": calls});
    if !content.is_empty() {
        set_member(&mut turn, "content", content);
    }
    for call in &message.calls {
        add_members(&mut turn, SealedMembers::from_call(call, endpoint.provider).turn);
    }
    turn
}
