//! Builds requests.

use reqwest::Url;
use serde_json::{Map, Value as Json, json};
use trefoil_ir::AnswerFormat;
use trefoil_runtime::blocks::{Media, MediaSource};
use trefoil_runtime::{Message, ModelError, ModelRequest, Role, ToolSpec};

use super::SIGNATURE;
use crate::http::tools::{self, Names, Sealed};
use crate::http::{Endpoint, content, options, schema};

/// Accepted instead of a missing signature of another model:
/// <https://ai.google.dev/gemini-api/docs/thought-signatures>.
const UNSIGNED: &str = "skip_thought_signature_validator";
/// Options outside of `generationConfig`.
const BESIDE: &[&str] = &["safetySettings", "cachedContent", "labels", "serviceTier", "toolConfig", "store"];

/// The URL for a call of a model, based on the URL of all models.
pub fn call_url(models: &Url, request: &ModelRequest) -> Url {
    let mut url = models.clone();
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

/// The request body.
pub fn body(endpoint: &Endpoint, request: &ModelRequest, names: &Names) -> Result<Json, ModelError> {
    let mut body = Map::new();
    body.insert("contents".to_owned(), contents(endpoint, request, names)?.into());
    let schema = request.schema.as_ref().map(|(_, schema)| schema.to_json());
    // Older models reject a schema together with tools.
    let native = schema.as_ref().is_some_and(|schema| names.is_empty() && schema::GEMINI.has(schema));
    if let Some(system) = system(request, schema.as_ref().filter(|_| !native)) {
        body.insert("systemInstruction".to_owned(), json!({"role": "user", "parts": [{"text": system}]}));
    }
    if !names.is_empty() {
        let offered: Vec<Json> = request.tools.iter().map(|tool| offered(tool, names)).collect();
        body.insert("tools".to_owned(), json!([{ "functionDeclarations": offered }]));
    }
    let mut config = parameters(request);
    if names.is_empty() && matches!(request.format, AnswerFormat::Json(_)) || native {
        config.insert("responseMimeType".to_owned(), "application/json".into());
    }
    if let Some(schema) = schema.filter(|_| native) {
        config.insert("responseJsonSchema".to_owned(), schema);
    }
    if !config.is_empty() {
        body.insert("generationConfig".to_owned(), config.into());
    }
    let mut body = Json::Object(body);
    let options = request.parameters.provider_options.as_ref();
    options::merge_below(&mut body, options, ("generationConfig", BESIDE), options::camel_name)?;
    Ok(body)
}

fn parameters(request: &ModelRequest) -> Map<String, Json> {
    let p = &request.parameters;
    let stop = (!p.stop.is_empty()).then(|| p.stop.iter().map(|s| Json::from(&**s)).collect());
    let all = [
        ("temperature", p.temperature.map(Json::from)),
        ("topP", p.top_p.map(Json::from)),
        ("topK", p.top_k.map(Json::from)),
        ("maxOutputTokens", p.max_tokens.map(Json::from)),
        ("stopSequences", stop),
        ("presencePenalty", p.presence_penalty.map(Json::from)),
        ("frequencyPenalty", p.frequency_penalty.map(Json::from)),
        ("seed", p.seed.map(Json::from)),
    ];
    all.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
}

fn system(request: &ModelRequest, schema: Option<&Json>) -> Option<String> {
    let texts = request.messages.iter().filter(|m| m.role == Role::System).map(|m| m.content.to_text().to_string());
    let texts: Vec<String> = texts.filter(|text| !text.is_empty()).chain(schema.map(schema::instruction)).collect();
    (!texts.is_empty()).then(|| texts.join("\n\n"))
}

fn offered(tool: &ToolSpec, names: &Names) -> Json {
    let mut offered = json!({"name": names.wire(&tool.name), "parametersJsonSchema": tools::parameters(tool)});
    if !tool.description.is_empty()
        && let Json::Object(offered) = &mut offered
    {
        offered.insert("description".to_owned(), (&*tool.description).into());
    }
    offered
}

fn contents(endpoint: &Endpoint, request: &ModelRequest, names: &Names) -> Result<Vec<Json>, ModelError> {
    let mut all: Vec<Json> = Vec::new();
    // Results of one turn are parts of one message.
    let mut results: Vec<Json> = Vec::new();
    for (at, message) in request.messages.iter().enumerate() {
        if message.role != Role::Tool && !results.is_empty() {
            all.push(json!({"role": "user", "parts": std::mem::take(&mut results)}));
        }
        let text = |text: &str| json!({ "text": text });
        let content = message.content.to_text();
        match message.role {
            Role::System => {}
            Role::User => {
                let parts = content::parts(endpoint, message, text, |one| Some(media(one)))?;
                all.push(json!({"role": "user", "parts": parts.unwrap_or_else(|| vec![text(&content)])}));
            }
            Role::Assistant => all.push(json!({"role": "model", "parts": turn(endpoint, message, names)})),
            Role::Tool => {
                let mut response = json!({
                    "name": tools::answered(&request.messages, at, names),
                    "response": {"result": &*content},
                });
                if let (Json::Object(response), Some(id)) = (&mut response, message.answers.as_deref()) {
                    response.insert("id".to_owned(), id.into());
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

fn media(media: &Media<'_>) -> Json {
    let mut inner = Map::new();
    if let Some(kind) = media.media_type {
        inner.insert("mimeType".to_owned(), kind.into());
    }
    match media.source {
        MediaSource::Base64(data) => {
            inner.insert("data".to_owned(), data.into());
            json!({ "inlineData": inner })
        }
        _ => {
            inner.insert("fileUri".to_owned(), content::url(media).into());
            json!({ "fileData": inner })
        }
    }
}

/// A turn of the model: its text and its tool calls.
fn turn(endpoint: &Endpoint, message: &Message, names: &Names) -> Vec<Json> {
    let content = message.content.to_text();
    let mut parts = Vec::new();
    if !content.is_empty() || message.calls.is_empty() {
        parts.push(json!({"text": &*content}));
    }
    for (at, call) in message.calls.iter().enumerate() {
        let mut sealed = Sealed::of(call, endpoint.provider);
        // Only the first call of a turn is signed.
        if at == 0 && sealed.call.is_empty() {
            sealed.call.insert(SIGNATURE.to_owned(), UNSIGNED.into());
        }
        let function = json!({"id": &*call.id, "name": names.wire(&call.name), "args": tools::arguments_object(call)});
        let mut part = Map::new();
        part.insert("functionCall".to_owned(), function);
        part.extend(sealed.call);
        parts.push(part.into());
    }
    parts
}
