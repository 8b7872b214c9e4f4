//! Builds requests.

use reqwest::Url;
use reqwest::header::HeaderName;
use serde_json::{Value as Json, json};
use trefoil_ir::AnswerFormat;
use trefoil_runtime::blocks::{MediaBlock, MediaSource};
use trefoil_runtime::{MessageRole, ModelError, ModelMessage, ModelRequest};

use super::{GeminiProtocol, SIGNATURE};
use crate::http::body::{ParameterNames, add_members, set_member, system_text};
use crate::http::endpoint::ProtocolRequests;
use crate::http::tools::{self, SealedMembers, ToolWireNames};
use crate::http::{ProviderEndpoint, content, options, schema};

/// Accepted instead of a missing signature of another model:
/// <https://ai.google.dev/gemini-api/docs/thought-signatures>.
const UNSIGNED: &str = "skip_thought_signature_validator";
/// Options outside of `generationConfig`.
const BESIDE: &[&str] = &["safetySettings", "cachedContent", "labels", "serviceTier", "toolConfig", "store"];

const NAMES: ParameterNames = ParameterNames {
    top_p: "topP",
    top_k: "topK",
    max_tokens: "maxOutputTokens",
    presence_penalty: "presencePenalty",
    frequency_penalty: "frequencyPenalty",
    stop: "stopSequences",
    ..ParameterNames::USUAL
};

impl ProtocolRequests for GeminiProtocol {
    fn call_path(&self, base: &str) -> String {
        // The model and the method are added for each request.
        if base.is_empty() { "/v1beta/models".to_owned() } else { format!("{base}/models") }
    }
    fn models_path(&self) -> (&'static str, Option<(&'static str, &'static str)>) {
        ("/models", Some(("pageSize", "1000")))
    }
    // The URL for a call of a model, based on the URL of all models.
    fn call_url(&self, url: &Url, request: &ModelRequest) -> Url {
        let mut url = url.clone();
        let way = if request.stream { "streamGenerateContent" } else { "generateContent" };
        let call = format!("{}:{way}", request.model);
        if let Ok(mut path) = url.path_segments_mut() {
            let name = call.strip_prefix("models/").unwrap_or(&call);
            if name.contains('/') {
                // `tunedModels/mine` is next to `models`, not below it.
                path.pop();
            }
            path.extend(name.split('/'));
        }
        if request.stream {
            url.query_pairs_mut().append_pair("alt", "sse");
        }
        url
    }
    fn key_header(&self, key: &str) -> (HeaderName, String) {
        (HeaderName::from_static("x-goog-api-key"), key.to_owned())
    }
    fn request_body(
        &self,
        endpoint: &ProviderEndpoint,
        request: &ModelRequest,
        names: &ToolWireNames,
    ) -> Result<Json, ModelError> {
        let mut body = json!({"contents": contents(endpoint, request, names)?});
        let (native, told) = match request.schema.as_ref().map(|(_, schema)| schema.to_json()) {
            // Older models reject a schema together with tools.
            Some(schema) if names.is_empty() && schema::GEMINI.accepts_schema(&schema) => (Some(schema), None),
            schema => (None, schema),
        };
        if let Some(system) = system_text(request, told.as_ref()) {
            set_member(&mut body, "systemInstruction", json!({"role": "user", "parts": [{"text": system}]}));
        }
        if !names.is_empty() {
            let offered: Vec<Json> =
                request.tools.iter().map(|tool| tools::tool_json(tool, names, "parametersJsonSchema")).collect();
            set_member(&mut body, "tools", json!([{ "functionDeclarations": offered }]));
        }
        let mut config = NAMES.request_members(request);
        if names.is_empty() && matches!(request.format, AnswerFormat::Json(_)) || native.is_some() {
            config.insert("responseMimeType".to_owned(), "application/json".into());
        }
        if let Some(schema) = native {
            config.insert("responseJsonSchema".to_owned(), schema);
        }
        if !config.is_empty() {
            set_member(&mut body, "generationConfig", config);
        }
        let options = request.parameters.provider_options.as_ref();
        options::merge_below(&mut body, options, ("generationConfig", BESIDE), options::camel_name)?;
        Ok(body)
    }
}

fn contents(
    endpoint: &ProviderEndpoint,
    request: &ModelRequest,
    names: &ToolWireNames,
) -> Result<Vec<Json>, ModelError> {
    let mut all: Vec<Json> = Vec::new();
    // Results of one turn are parts of one message.
    let mut results: Vec<Json> = Vec::new();
    for (at, message) in request.messages.iter().enumerate() {
        if message.role != MessageRole::Tool && !results.is_empty() {
            all.push(json!({"role": "user", "parts": std::mem::take(&mut results)}));
        }
        let text = |text: &str| json!({ "text": text });
        let content = message.content.to_text();
        match message.role {
            MessageRole::System => {}
            MessageRole::User => {
                let parts = content::content_parts(endpoint, message, text, |one| Some(media(one)))?;
                all.push(json!({"role": "user", "parts": parts.unwrap_or_else(|| vec![text(&content)])}));
            }
            MessageRole::Assistant => all.push(json!({"role": "model", "parts": turn(endpoint, message, names)})),
            MessageRole::Tool => {
                let mut response = json!({
                    "name": tools::answered_tool_name(&request.messages, at, names),
                    "response": {"result": &*content},
                });
                if let Some(id) = message.answers.as_deref() {
                    set_member(&mut response, "id", id);
                }
                results.push(json!({ "functionResponse": response }));
            }
        }
    }
    if !results.is_empty() {
        all.push(json!({"role": "user", "parts": results}));
    }
    Ok(all)
}

fn media(media: &MediaBlock<'_>) -> Json {
    let (member, mut inner) = match media.source {
        MediaSource::Base64(data) => ("inlineData", json!({ "data": data })),
        _ => ("fileData", json!({"fileUri": content::media_url(media)})),
    };
    if let Some(kind) = media.media_type {
        set_member(&mut inner, "mimeType", kind);
    }
    json!({ member: inner })
}

/// A turn of the model: its text and its tool calls.
fn turn(endpoint: &ProviderEndpoint, message: &ModelMessage, names: &ToolWireNames) -> Vec<Json> {
    let content = message.content.to_text();
    let mut parts = Vec::new();
    if !content.is_empty() || message.calls.is_empty() {
        parts.push(json!({"text": &*content}));
    }
    for (at, call) in message.calls.iter().enumerate() {
        let mut sealed = SealedMembers::from_call(call, endpoint.provider);
        // Only the first call of a turn is signed.
        if at == 0 && sealed.call.is_empty() {
            sealed.call.insert(SIGNATURE.to_owned(), UNSIGNED.into());
        }
        let function =
            json!({"id": &*call.id, "name": names.wire_name(&call.name), "args": tools::arguments_object(call)});
        let mut part = json!({ "functionCall": function });
        add_members(&mut part, sealed.call);
        parts.push(part);
    }
    parts
}
