//! Builds requests.

use serde_json::{Value as Json, json};
use trefoil_ir::AnswerFormat;
use trefoil_runtime::blocks::{Media, MediaKind, MediaSource};
use trefoil_runtime::{Message, ModelError, ModelRequest, Role};

use super::ChatCompletions;
use crate::http::body::{ParameterNames, add_members, set_member};
use crate::http::endpoint::{ProtocolRequests, openai_path};
use crate::http::tools::{self, Names, Sealed};
use crate::http::{Endpoint, content, options, schema};
use crate::vendors::ChatQuirks;

/// Gemini accepts this instead of a signature on thoughts of another model:
/// <https://ai.google.dev/gemini-api/docs/thought-signatures>.
const UNSIGNED: &str = "skip_thought_signature_validator";

impl ProtocolRequests for ChatCompletions {
    fn call_path(&self, base: &str) -> String {
        openai_path(base, self.0.path, "chat/completions")
    }
    fn body(&self, endpoint: &Endpoint, request: &ModelRequest, names: &Names) -> Result<Json, ModelError> {
        let quirks = &self.0;
        let messages = request.messages.iter().map(|m| message(endpoint, m, names, quirks));
        let mut messages: Vec<Json> = messages.collect::<Result<_, _>>()?;
        let schema = request.schema.as_ref().map(|(name, schema)| (schema::name(name), schema.to_json()));
        if let Some((_, schema)) = schema.as_ref().filter(|_| !quirks.json_schema) {
            schema::instruct(&mut messages, schema);
        }
        let mut body = json!({"model": &*request.model, "messages": messages});
        // OpenAI's own servers use another name than compatible servers.
        let max_tokens = if endpoint.is_openai() { "max_completion_tokens" } else { "max_tokens" };
        let parameters = ParameterNames { max_tokens, seed: quirks.seed, ..ParameterNames::USUAL };
        add_members(&mut body, parameters.members(request));
        if !names.is_empty() {
            set_member(&mut body, "tools", tools::functions(request, names));
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
        options::merge(&mut body, request.parameters.provider_options.as_ref())?;
        Ok(body)
    }
}

fn message(endpoint: &Endpoint, message: &Message, names: &Names, quirks: &ChatQuirks) -> Result<Json, ModelError> {
    let content = message.content.to_text();
    Ok(match message.role {
        Role::System => json!({"role": "system", "content": &*content}),
        Role::User => {
            json!({"role": "user", "content": content::typed(endpoint, message, "text", |one| media(one, quirks))?})
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
        (MediaKind::Image, _) => content::image_url(media),
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
        add_members(&mut turn, sealed.turn);
        add_members(&mut one, sealed.call);
        calls.push(one);
    }
    set_member(&mut turn, "tool_calls", calls);
    turn
}
