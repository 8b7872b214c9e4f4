//! Builds requests.

use serde_json::{Value as Json, json};
use trefoil_ir::AnswerFormat;
use trefoil_runtime::blocks::{Media, MediaKind};
use trefoil_runtime::{Message, ModelError, ModelRequest, Role, ToolSpec};

use super::{Responses, THOUGHTS};
use crate::http::body::{OMITTED, ParameterNames, add_members, set_member};
use crate::http::endpoint::{ProtocolRequests, openai_path};
use crate::http::tools::{self, Names, Sealed};
use crate::http::{Endpoint, content, options, schema};

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

impl ProtocolRequests for Responses {
    fn call_path(&self, base: &str) -> String {
        openai_path(base, self.path, "responses")
    }
    fn body(&self, endpoint: &Endpoint, request: &ModelRequest, names: &Names) -> Result<Json, ModelError> {
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
        add_members(&mut body, NAMES.members(request));
        if let Some(format) = format(request) {
            set_member(&mut body, "text", json!({ "format": format }));
        }
        if !names.is_empty() {
            let all: Vec<Json> = request.tools.iter().map(|tool| offered(tool, names)).collect();
            set_member(&mut body, "tools", all);
        }
        if request.stream {
            set_member(&mut body, "stream", true);
        }
        options::merge(&mut body, p.provider_options.as_ref())?;
        Ok(body)
    }
}

/// The required format of the answer.
fn format(request: &ModelRequest) -> Option<Json> {
    match &request.schema {
        Some((name, schema)) => {
            let (name, schema) = (schema::name(name), schema.to_json());
            let strict = schema::is_strict(&schema);
            Some(json!({"type": "json_schema", "name": name, "strict": strict, "schema": schema}))
        }
        None => matches!(request.format, AnswerFormat::Json(_)).then(|| json!({"type": "json_object"})),
    }
}

/// Disables `strict`, which is this API's default and would reject schemas outside its subset.
fn offered(tool: &ToolSpec, names: &Names) -> Json {
    let mut offered = tools::offered(tool, names, "parameters");
    set_member(&mut offered, "type", "function");
    set_member(&mut offered, "strict", false);
    offered
}

fn items(endpoint: &Endpoint, message: &Message, names: &Names) -> Result<Vec<Json>, ModelError> {
    let content = message.content.to_text();
    let role = match message.role {
        Role::System => "system",
        Role::User => "user",
        Role::Assistant => "assistant",
        Role::Tool => {
            let id = message.answers.as_deref().unwrap_or_default();
            return Ok(vec![json!({"type": "function_call_output", "call_id": id, "output": &*content})]);
        }
    };
    let mut items = Vec::new();
    for call in &message.calls {
        if let Some(Json::Array(thoughts)) = Sealed::of(call, endpoint.provider).turn.remove(THOUGHTS) {
            items.extend(thoughts);
        }
    }
    if message.role == Role::User {
        items.push(json!({"role": role, "content": content::typed(endpoint, message, "input_text", image)?}));
    } else if message.calls.is_empty() || !content.is_empty() {
        items.push(json!({"role": role, "content": &*content}));
    }
    items.extend(message.calls.iter().map(|call| {
        json!({
            "type": "function_call",
            "call_id": &*call.id,
            "name": names.wire(&call.name),
            "arguments": tools::arguments_text(call),
        })
    }));
    Ok(items)
}

fn image(media: &Media<'_>) -> Option<Json> {
    let detail = media.detail.unwrap_or("auto");
    let image = || json!({"type": "input_image", "image_url": content::url(media), "detail": detail});
    (media.kind == MediaKind::Image).then(image)
}
