//! Builds requests.

use serde_json::{Value as Json, json};
use trefoil_ir::AnswerFormat;
use trefoil_runtime::blocks::{MediaBlock, MediaKind};
use trefoil_runtime::{MessageRole, ModelError, ModelMessage, ModelRequest};

use super::CohereProtocol;
use crate::http::body::{ParameterNames, add_members, set_member};
use crate::http::endpoint::ProtocolRequests;
use crate::http::tools::{self, SealedMembers, ToolWireNames};
use crate::http::{ProviderEndpoint, content, options, schema};

const NAMES: ParameterNames =
    ParameterNames { top_p: "p", top_k: "k", stop: "stop_sequences", ..ParameterNames::USUAL };

impl ProtocolRequests for CohereProtocol {
    fn call_path(&self, base: &str) -> String {
        if base.ends_with("/v2") { format!("{base}/chat") } else { format!("{base}/v2/chat") }
    }
    fn models_path(&self) -> (&'static str, Option<(&'static str, &'static str)>) {
        ("/v1/models", Some(("page_size", "1000")))
    }
    fn request_body(
        &self,
        endpoint: &ProviderEndpoint,
        request: &ModelRequest,
        names: &ToolWireNames,
    ) -> Result<Json, ModelError> {
        let messages = request.messages.iter().map(|m| message(endpoint, m, names));
        let mut messages: Vec<Json> = messages.collect::<Result<_, _>>()?;
        // Cohere rejects a response format together with tools.
        let formatted = names.is_empty();
        let (native, told) = match request.schema.as_ref().map(|(_, schema)| schema.to_json()) {
            Some(schema) if formatted && schema::COHERE.accepts_schema(&schema) => (Some(schema), None),
            schema => (None, schema),
        };
        if let Some(schema) = &told {
            schema::insert_instruction(&mut messages, schema);
        }
        let mut body = json!({"model": &*request.model, "messages": messages, "stream": request.stream});
        if !names.is_empty() {
            set_member(&mut body, "tools", tools::function_tools_json(request, names));
        }
        if let Some(schema) = native {
            set_member(&mut body, "response_format", json!({"type": "json_object", "json_schema": schema}));
        } else if formatted && matches!(request.format, AnswerFormat::Json(_)) {
            set_member(&mut body, "response_format", json!({"type": "json_object"}));
        }
        add_members(&mut body, NAMES.request_members(request));
        options::merge_options(&mut body, request.parameters.provider_options.as_ref())?;
        Ok(body)
    }
}

fn message(endpoint: &ProviderEndpoint, message: &ModelMessage, names: &ToolWireNames) -> Result<Json, ModelError> {
    let content = message.content.to_text();
    Ok(match message.role {
        MessageRole::System => json!({"role": "system", "content": &*content}),
        MessageRole::User => {
            let image = |media: &MediaBlock<'_>| match media.kind {
                MediaKind::Image => Some(content::image_url(media)),
                MediaKind::Audio => None,
            };
            json!({"role": "user", "content": content::typed_content(endpoint, message, "text", image)?})
        }
        MessageRole::Assistant if message.calls.is_empty() => json!({"role": "assistant", "content": &*content}),
        MessageRole::Assistant => turn(endpoint, message, names, &content),
        MessageRole::Tool => json!({
            "role": "tool",
            "tool_call_id": message.answers.as_deref().unwrap_or_default(),
            "content": &*content,
        }),
    })
}

/// A turn in which the model called tools. The plan for the calls is sent back if it came from this provider.
fn turn(endpoint: &ProviderEndpoint, message: &ModelMessage, names: &ToolWireNames, content: &str) -> Json {
    let calls: Vec<Json> = message.calls.iter().map(|call| tools::function_call(call, names)).collect();
    let mut turn = json!({"role": "assistant", "tool_calls": calls});
    if !content.is_empty() {
        set_member(&mut turn, "content", content);
    }
    for call in &message.calls {
        add_members(&mut turn, SealedMembers::from_call(call, endpoint.provider).turn);
    }
    turn
}
