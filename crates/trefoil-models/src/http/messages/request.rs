//! Builds requests.

use reqwest::header::HeaderName;
use serde_json::{Value as Json, json};
use trefoil_runtime::blocks::{MediaBlock, MediaKind, MediaSource};
use trefoil_runtime::{MessageRole, ModelError, ModelMessage, ModelRequest};

use super::{MessagesProtocol, THOUGHTS};
use crate::http::body::{OMITTED, ParameterNames, add_members, set_member, system_text};
use crate::http::endpoint::ProtocolRequests;
use crate::http::tools::{self, SealedMembers, ToolWireNames};
use crate::http::{ProviderEndpoint, content, options, schema};

/// The supported version.
const VERSION: &str = "2023-06-01";
/// Used if the manifest sets no limit: the protocol requires one, and every model accepts this one.
const DEFAULT_MAX_TOKENS: u32 = 8192;
/// The limit is always set; see [`DEFAULT_MAX_TOKENS`].
const NAMES: ParameterNames = ParameterNames {
    max_tokens: OMITTED,
    presence_penalty: OMITTED,
    frequency_penalty: OMITTED,
    seed: OMITTED,
    stop: "stop_sequences",
    ..ParameterNames::USUAL
};
/// Minimum size in bytes of a system message that is marked for the provider's cache; the cache ignores shorter ones.
const LONG: usize = 4096;

impl ProtocolRequests for MessagesProtocol {
    fn call_path(&self, base: &str) -> String {
        if base.ends_with("/v1") { format!("{base}/messages") } else { format!("{base}/v1/messages") }
    }
    fn models_path(&self) -> (&'static str, Option<(&'static str, &'static str)>) {
        ("/models", Some(("limit", "1000")))
    }
    fn key_header(&self, key: &str) -> (HeaderName, String) {
        (HeaderName::from_static("x-api-key"), key.to_owned())
    }
    fn version_header(&self) -> Option<(&'static str, &'static str)> {
        Some(("anthropic-version", VERSION))
    }
    // Anthropic has no seed and no penalties, so they are omitted.
    fn request_body(
        &self,
        endpoint: &ProviderEndpoint,
        request: &ModelRequest,
        names: &ToolWireNames,
    ) -> Result<Json, ModelError> {
        let p = &request.parameters;
        let mut body = json!({
            "model": &*request.model,
            "max_tokens": p.max_tokens.unwrap_or(DEFAULT_MAX_TOKENS),
            "messages": messages(endpoint, request, names)?,
        });
        let (native, told) = match request.schema.as_ref().map(|(_, schema)| schema.to_json()) {
            Some(schema) if schema::ANTHROPIC.accepts_schema(&schema) && holds_to_schemas(&request.model) => {
                (Some(schema), None)
            }
            schema => (None, schema),
        };
        if let Some(system) = system(request, told.as_ref()) {
            set_member(&mut body, "system", system);
        }
        if let Some(schema) = native {
            set_member(&mut body, "output_config", json!({"format": {"type": "json_schema", "schema": schema}}));
        }
        if !names.is_empty() {
            let all: Vec<Json> =
                request.tools.iter().map(|tool| tools::tool_json(tool, names, "input_schema")).collect();
            set_member(&mut body, "tools", all);
        }
        add_members(&mut body, NAMES.request_members(request));
        if request.stream {
            set_member(&mut body, "stream", true);
        }
        options::merge_options(&mut body, p.provider_options.as_ref())?;
        Ok(body)
    }
}

/// Whether a model supports schemas: Claude 4.5 and later. Names in another form belong to proxies and are treated as
/// unsupported.
fn holds_to_schemas(model: &str) -> bool {
    let (_, name) = model.rsplit_once('/').unwrap_or(("", model));
    // `claude-sonnet-4-5-20250929`, `claude-opus-5`; before that, `claude-3-5-sonnet-20241022`.
    let Some(rest) = name.strip_prefix("claude-") else { return false };
    let Some((family, parts)) = rest.split_once('-') else { return false };
    let mut numbers = parts.split('-').map(|part| match part.parse::<u32>() {
        Ok(number) if number < 100 => number,
        _ => 0,
    });
    let version = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    family.chars().all(|c| c.is_ascii_alphabetic()) && version >= (4, 5)
}

/// Whether the next request will probably start with the contents of this one, as in a tool loop.
fn is_loop(request: &ModelRequest) -> bool {
    !request.tools.is_empty()
}

/// Marks a block as the end of a prefix that the provider may cache.
fn mark_cacheable(mut block: Json) -> Json {
    set_member(&mut block, "cache_control", json!({"type": "ephemeral"}));
    block
}

/// The system messages, and a schema as text. A long system message is cached, because many calls share it.
fn system(request: &ModelRequest, schema: Option<&Json>) -> Option<Json> {
    let text = system_text(request, schema)?;
    Some(match text.len() >= LONG || is_loop(request) {
        true => json!([mark_cacheable(json!({"type": "text", "text": text}))]),
        false => text.into(),
    })
}

fn messages(
    endpoint: &ProviderEndpoint,
    request: &ModelRequest,
    names: &ToolWireNames,
) -> Result<Vec<Json>, ModelError> {
    let mut all: Vec<Json> = Vec::new();
    // Results of one turn are blocks of one message.
    let mut results: Vec<Json> = Vec::new();
    for message in &request.messages {
        if !matches!(message.role, MessageRole::System | MessageRole::Tool) && !results.is_empty() {
            all.push(json!({"role": "user", "content": std::mem::take(&mut results)}));
        }
        let content = message.content.to_text();
        match message.role {
            MessageRole::System => {}
            MessageRole::Tool => {
                let id = tool_id(message.answers.as_deref().unwrap_or_default());
                results.push(json!({"type": "tool_result", "tool_use_id": id, "content": &*content}));
            }
            MessageRole::User => {
                all.push(json!({"role": "user", "content": content::typed_content(endpoint, message, "text", image)?}));
            }
            MessageRole::Assistant if message.calls.is_empty() => {
                all.push(json!({"role": "assistant", "content": &*content}));
            }
            MessageRole::Assistant => all.push(json!({"role": "assistant", "content": turn(endpoint, message, names)})),
        }
    }
    if !results.is_empty() {
        all.push(json!({"role": "user", "content": results}));
    }
    if is_loop(request) {
        mark_last(&mut all);
    }
    Ok(all)
}

fn image(media: &MediaBlock<'_>) -> Option<Json> {
    let source = match (media.kind, media.source) {
        (MediaKind::Image, MediaSource::Base64(data)) => {
            json!({"type": "base64", "media_type": media.media_type, "data": data})
        }
        (MediaKind::Image, MediaSource::Url(url)) => json!({"type": "url", "url": url}),
        _ => return None,
    };
    Some(json!({"type": "image", "source": source}))
}

/// Marks the end of the conversation, because the next request starts with all of it.
fn mark_last(messages: &mut [Json]) {
    let Some(last) = messages.last_mut() else { return };
    let Some(content) = last.get_mut("content") else { return };
    match content {
        Json::String(text) if !text.is_empty() => {
            *content = json!([mark_cacheable(json!({"type": "text", "text": text}))])
        }
        Json::Array(blocks) => {
            if let Some(last) = blocks.last_mut() {
                *last = mark_cacheable(last.take());
            }
        }
        _ => {}
    }
}

/// A turn in which the model called tools: its thoughts, its text, its calls.
fn turn(endpoint: &ProviderEndpoint, message: &ModelMessage, names: &ToolWireNames) -> Vec<Json> {
    let mut blocks = Vec::new();
    let mut calls = Vec::new();
    for call in &message.calls {
        if let Some(Json::Array(thoughts)) = SealedMembers::from_call(call, endpoint.provider).turn.remove(THOUGHTS) {
            blocks.extend(thoughts);
        }
        calls.push(json!({
            "type": "tool_use",
            "id": tool_id(&call.id),
            "name": names.wire_name(&call.name),
            "input": tools::arguments_object(call),
        }));
    }
    let content = message.content.to_text();
    if !content.is_empty() {
        blocks.push(json!({"type": "text", "text": &*content}));
    }
    blocks.extend(calls);
    blocks
}

/// An id in the form that Anthropic accepts; it may come from another provider.
fn tool_id(id: &str) -> String {
    id.chars().map(|c| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') { c } else { '_' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claude_4_5_and_later_are_held_to_schemas() {
        for model in [
            "claude-sonnet-4-5",
            "claude-haiku-4-5-20251001",
            "claude-opus-4-7",
            "anthropic/claude-opus-5",
            "claude-fable-5",
        ] {
            assert!(holds_to_schemas(model), "{model}");
        }
        for model in [
            "claude-3-5-sonnet-20241022",
            "claude-sonnet-4-20250514",
            "claude-opus-4-1",
            "claude-opus-4-0",
            "mine",
            "claude-x",
        ] {
            assert!(!holds_to_schemas(model), "{model}");
        }
    }
}
