//! Builds requests.

use serde_json::{Value as Json, json};
use trefoil_ir::AnswerFormat;
use trefoil_runtime::blocks::{MediaBlock, MediaKind, MediaSource};
use trefoil_runtime::{MessageRole, ModelError, ModelMessage, ModelRequest};

use super::ChatCompletionsProtocol;
use crate::http::body::{ParameterNames, add_members, set_member};
use crate::http::endpoint::{ProtocolRequests, openai_path};
use crate::http::tools::{self, SealedMembers, ToolWireNames};
use crate::http::{ProviderEndpoint, content, options, schema};
use crate::vendors::ChatQuirks;

/// Gemini accepts this instead of a signature on thoughts of another model:
/// <https://ai.google.dev/gemini-api/docs/thought-signatures>.
const UNSIGNED: &str = "skip_thought_signature_validator";

impl ProtocolRequests for ChatCompletionsProtocol {
    fn call_path(&self, base: &str) -> String {
        openai_path(base, self.0.path, "chat/completions")
    }
    fn request_body(
        &self,
        endpoint: &ProviderEndpoint,
        request: &ModelRequest,
        names: &ToolWireNames,
    ) -> Result<Json, ModelError> {
        let quirks = &self.0;
        let messages = request.messages.iter().map(|m| message(endpoint, m, names, quirks));
        let mut messages: Vec<Json> = messages.collect::<Result<_, _>>()?;
        let schema = request.schema.as_ref().map(|(name, schema)| (schema::to_wire_name(name), schema.to_json()));
        if let Some((_, schema)) = &schema
            && !quirks.json_schema
        {
            schema::insert_instruction(&mut messages, schema);
        }
        let mut body = json!({"model": &*request.model, "messages": messages});
        // OpenAI's own servers use another name than compatible servers.
        let max_tokens = if endpoint.is_openai() { "max_completion_tokens" } else { "max_tokens" };
        let parameters = ParameterNames { max_tokens, seed: quirks.seed, ..ParameterNames::USUAL };
        add_members(&mut body, parameters.request_members(request));
        if !names.is_empty() {
            set_member(&mut body, "tools", tools::function_tools_json(request, names));
        }
        match schema {
            Some((name, schema)) if quirks.json_schema => {
                let strict = schema::is_strict(&schema);
                let schema = json!({"name": name, "strict": strict, "schema": schema});
                set_member(&mut body, "response_format", json!({"type": "json_schema", "json_schema": schema}));
            }
            None if !matches!(request.format, AnswerFormat::Json(_)) => {}
            _ => set_member(&mut body, "response_format", json!({"type": "json_object"})),
        }
        if request.stream {
            set_member(&mut body, "stream", true);
            if quirks.stream_options {
                set_member(&mut body, "stream_options", json!({"include_usage": true}));
            }
        }
        options::merge_options(&mut body, request.parameters.provider_options.as_ref())?;
        Ok(body)
    }
}

fn message(
    endpoint: &ProviderEndpoint,
    message: &ModelMessage,
    names: &ToolWireNames,
    quirks: &ChatQuirks,
) -> Result<Json, ModelError> {
    let content = message.content.to_text();
    Ok(match message.role {
        MessageRole::System => json!({"role": "system", "content": &*content}),
        MessageRole::User => {
            json!({"role": "user", "content": content::typed_content(endpoint, message, "text", |one| media(one, quirks))?})
        }
        MessageRole::Tool => json!({
            "role": "tool",
            "tool_call_id": message.answers.as_deref().unwrap_or_default(),
            "content": &*content,
        }),
        MessageRole::Assistant if message.calls.is_empty() => json!({"role": "assistant", "content": &*content}),
        MessageRole::Assistant => turn(endpoint, message, names, quirks),
    })
}

fn media(media: &MediaBlock<'_>, quirks: &ChatQuirks) -> Option<Json> {
    Some(match (media.kind, media.source) {
        (MediaKind::Image, _) => content::image_url(media),
        (MediaKind::Audio, MediaSource::Base64(data) | MediaSource::Url(data)) if quirks.plain_audio => {
            json!({"type": "input_audio", "input_audio": data})
        }
        (MediaKind::Audio, MediaSource::Base64(data)) => {
            json!({"type": "input_audio", "input_audio": {"data": data, "format": content::audio_format(media)}})
        }
        (MediaKind::Audio, _) => return None,
    })
}

/// A turn in which the model called tools.
fn turn(endpoint: &ProviderEndpoint, message: &ModelMessage, names: &ToolWireNames, quirks: &ChatQuirks) -> Json {
    let content = message.content.to_text();
    let content = if content.is_empty() { Json::Null } else { Json::from(&*content) };
    let mut turn = json!({"role": "assistant", "content": content});
    let mut calls: Vec<Json> = Vec::new();
    for call in &message.calls {
        let mut sealed = SealedMembers::from_call(call, endpoint.provider);
        if quirks.signs && calls.is_empty() && sealed.call.is_empty() {
            sealed.call.insert("extra_content".to_owned(), json!({"google": {"thought_signature": UNSIGNED}}));
        }
        let mut one = tools::function_call(call, names);
        add_members(&mut turn, sealed.turn);
        add_members(&mut one, sealed.call);
        calls.push(one);
    }
    set_member(&mut turn, "tool_calls", calls);
    turn
}
