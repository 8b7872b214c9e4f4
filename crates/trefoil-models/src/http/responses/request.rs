//! Builds requests.

use serde_json::{Value as Json, json};
use trefoil_ir::AnswerFormat;
use trefoil_runtime::blocks::{MediaBlock, MediaKind};
use trefoil_runtime::{MessageRole, ModelError, ModelMessage, ModelRequest, ToolSpec};

use super::{ResponsesProtocol, THOUGHTS};
use crate::http::body::{OMITTED, ParameterNames, add_members, set_member};
use crate::http::endpoint::{ProtocolRequests, openai_path};
use crate::http::tools::{self, SealedMembers, ToolWireNames};
use crate::http::{ProviderEndpoint, content, options, schema};

/// This API has no seed, penalties, `top_k` or stop texts, so they are omitted.
const NAMES: ParameterNames = ParameterNames {
    max_tokens: "max_output_tokens",
    top_k: OMITTED,
    presence_penalty: OMITTED,
    frequency_penalty: OMITTED,
    seed: OMITTED,
    stop: OMITTED,
    ..ParameterNames::USUAL
};

impl ProtocolRequests for ResponsesProtocol {
    fn call_path(&self, base: &str) -> String {
        openai_path(base, self.path, "responses")
    }
    fn request_body(
        &self,
        endpoint: &ProviderEndpoint,
        request: &ModelRequest,
        names: &ToolWireNames,
    ) -> Result<Json, ModelError> {
        let p = &request.parameters;
        let mut input: Vec<Json> = Vec::new();
        for message in &request.messages {
            input.extend(items(endpoint, message, names)?);
        }
        let mut body = json!({
            "model": &*request.model,
            "input": input,
            "store": false,
            "include": ["reasoning.encrypted_content"],
        });
        add_members(&mut body, NAMES.request_members(request));
        if let Some(format) = format(request) {
            set_member(&mut body, "text", json!({ "format": format }));
        }
        if !names.is_empty() {
            let all: Vec<Json> = request.tools.iter().map(|tool| tool_json(tool, names)).collect();
            set_member(&mut body, "tools", all);
        }
        if request.stream {
            set_member(&mut body, "stream", true);
        }
        options::merge_options(&mut body, p.provider_options.as_ref())?;
        Ok(body)
    }
}

/// The required format of the answer.
fn format(request: &ModelRequest) -> Option<Json> {
    match &request.schema {
        Some((name, schema)) => {
            let (name, schema) = (schema::to_wire_name(name), schema.to_json());
            let strict = schema::is_strict(&schema);
            Some(json!({"type": "json_schema", "name": name, "strict": strict, "schema": schema}))
        }
        None if matches!(request.format, AnswerFormat::Json(_)) => Some(json!({"type": "json_object"})),
        None => None,
    }
}

/// Disables `strict`, which is this API's default and would reject schemas outside its subset.
fn tool_json(tool: &ToolSpec, names: &ToolWireNames) -> Json {
    let mut offered = tools::tool_json(tool, names, "parameters");
    set_member(&mut offered, "type", "function");
    set_member(&mut offered, "strict", false);
    offered
}

fn items(endpoint: &ProviderEndpoint, message: &ModelMessage, names: &ToolWireNames) -> Result<Vec<Json>, ModelError> {
    let content = message.content.to_text();
    let role = match message.role {
        MessageRole::System => "system",
        MessageRole::User => "user",
        MessageRole::Assistant => "assistant",
        MessageRole::Tool => {
            let id = message.answers.as_deref().unwrap_or_default();
            return Ok(vec![json!({"type": "function_call_output", "call_id": id, "output": &*content})]);
        }
    };
    let mut items = Vec::new();
    for call in &message.calls {
        if let Some(Json::Array(thoughts)) = SealedMembers::from_call(call, endpoint.provider).turn.remove(THOUGHTS) {
            items.extend(thoughts);
        }
    }
    if message.role == MessageRole::User {
        items.push(json!({"role": role, "content": content::typed_content(endpoint, message, "input_text", image)?}));
    } else if message.calls.is_empty() || !content.is_empty() {
        items.push(json!({"role": role, "content": &*content}));
    }
    items.extend(message.calls.iter().map(|call| {
        json!({
            "type": "function_call",
            "call_id": &*call.id,
            "name": names.wire_name(&call.name),
            "arguments": tools::arguments_text(call),
        })
    }));
    Ok(items)
}

fn image(media: &MediaBlock<'_>) -> Option<Json> {
    let detail = media.detail.unwrap_or("auto");
    let image = || json!({"type": "input_image", "image_url": content::media_url(media), "detail": detail});
    (media.kind == MediaKind::Image).then(image)
}
