//! What is sent.

use serde_json::{Map, Value as Json, json};
use trefoil_runtime::{Message, ModelError, ModelRequest, Role, ToolSpec, ToolUse};
use trefoil_template::Value;

use super::THOUGHTS;
use crate::http::tools::{self, Names, Sealed};
use crate::http::{Endpoint, options, schema};

/// Sent when the manifest sets none: the protocol demands a number, and every model takes this one.
const DEFAULT_MAX_TOKENS: u32 = 8192;
/// Bytes of a system message that is worth keeping in the provider's cache: shorter ones are not kept anyway.
const LONG: usize = 4096;

/// The request body. Anthropic has no seed and no penalties: those are skipped.
pub fn body(endpoint: &Endpoint, request: &ModelRequest, names: &Names) -> Result<Json, ModelError> {
    let p = &request.parameters;
    let mut body = json!({
        "model": &*request.model,
        "max_tokens": p.max_tokens.unwrap_or(DEFAULT_MAX_TOKENS),
        "messages": messages(endpoint, request, names),
    });
    let mut set = |name: &str, value: Json| {
        if let Json::Object(body) = &mut body {
            body.insert(name.to_owned(), value);
        }
    };
    if let Some(system) = system(request) {
        set("system", system);
    }
    if !names.is_empty() {
        set("tools", request.tools.iter().map(|tool| offered(tool, names)).collect());
    }
    let numbers = [
        ("temperature", p.temperature.map(Json::from)),
        ("top_p", p.top_p.map(Json::from)),
        ("top_k", p.top_k.map(Json::from)),
    ];
    for (name, value) in numbers {
        if let Some(value) = value {
            set(name, value);
        }
    }
    if !p.stop.is_empty() {
        set("stop_sequences", p.stop.iter().map(|s| Json::from(&**s)).collect());
    }
    if request.stream {
        set("stream", true.into());
    }
    options::merge(&mut body, p.provider_options.as_ref())?;
    Ok(body)
}

/// Whether the next call will likely begin with what this one says: the turns of a tool loop do.
fn is_loop(request: &ModelRequest) -> bool {
    !request.tools.is_empty()
}

/// Up to here the provider may keep what it has read.
fn marked(mut block: Json) -> Json {
    if let Json::Object(block) = &mut block {
        block.insert("cache_control".to_owned(), json!({"type": "ephemeral"}));
    }
    block
}

/// The system messages, and the schema in words. A long one is what many calls have in common.
fn system(request: &ModelRequest) -> Option<Json> {
    let texts = request.messages.iter().filter(|m| m.role == Role::System).map(|m| m.content.to_text().to_string());
    let mut texts: Vec<String> = texts.filter(|text| !text.is_empty()).collect();
    if let Some((_, schema)) = &request.schema {
        texts.push(schema::instruction(&schema.to_json()));
    }
    let text = texts.join("\n\n");
    if text.is_empty() {
        return None;
    }
    Some(match text.len() >= LONG || is_loop(request) {
        true => json!([marked(json!({"type": "text", "text": text}))]),
        false => text.into(),
    })
}

fn offered(tool: &ToolSpec, names: &Names) -> Json {
    let mut offered = json!({"name": names.wire(&tool.name), "input_schema": tools::parameters(tool)});
    if !tool.description.is_empty()
        && let Json::Object(offered) = &mut offered
    {
        offered.insert("description".to_owned(), (&*tool.description).into());
    }
    offered
}

fn messages(endpoint: &Endpoint, request: &ModelRequest, names: &Names) -> Vec<Json> {
    let mut all: Vec<Json> = Vec::new();
    // Results of one turn are blocks of one message.
    let mut results: Vec<Json> = Vec::new();
    for message in request.messages.iter().filter(|m| m.role != Role::System) {
        if message.role != Role::Tool && !results.is_empty() {
            all.push(json!({"role": "user", "content": std::mem::take(&mut results)}));
        }
        let content = message.content.to_text();
        match message.role {
            Role::System => {}
            Role::Tool => {
                let id = tool_id(message.answers.as_deref().unwrap_or_default());
                results.push(json!({"type": "tool_result", "tool_use_id": id, "content": &*content}));
            }
            Role::User => all.push(json!({"role": "user", "content": &*content})),
            Role::Assistant if message.calls.is_empty() => {
                all.push(json!({"role": "assistant", "content": &*content}));
            }
            Role::Assistant => all.push(json!({"role": "assistant", "content": turn(endpoint, message, names)})),
        }
    }
    if !results.is_empty() {
        all.push(json!({"role": "user", "content": results}));
    }
    if is_loop(request) {
        mark_last(&mut all);
    }
    all
}

/// Marks the end of the conversation: the next turn begins with all of it.
fn mark_last(messages: &mut [Json]) {
    let Some(content) = messages.last_mut().and_then(|last| last.get_mut("content")) else { return };
    match content {
        Json::String(text) if !text.is_empty() => *content = json!([marked(json!({"type": "text", "text": text}))]),
        Json::Array(blocks) => {
            if let Some(last) = blocks.last_mut() {
                *last = marked(last.take());
            }
        }
        _ => {}
    }
}

/// A turn of the model that calls tools: what it thought, what it said, what it called.
fn turn(endpoint: &Endpoint, message: &Message, names: &Names) -> Vec<Json> {
    let mut blocks = Vec::new();
    let mut calls = Vec::new();
    for call in &message.calls {
        if let Some(Json::Array(thoughts)) = Sealed::of(call, endpoint.provider).turn.remove(THOUGHTS) {
            blocks.extend(thoughts);
        }
        calls.push(json!({
            "type": "tool_use",
            "id": tool_id(&call.id),
            "name": names.wire(&call.name),
            "input": input(call),
        }));
    }
    let content = message.content.to_text();
    if !content.is_empty() {
        blocks.push(json!({"type": "text", "text": &*content}));
    }
    blocks.extend(calls);
    blocks
}

/// What is not an object goes in one, under the name that Anthropic proposes for it.
fn input(call: &ToolUse) -> Json {
    match &call.arguments {
        object @ Value::Object(_) => object.to_json(),
        Value::Null => Json::Object(Map::new()),
        other => json!({"INVALID_JSON": other.to_text()}),
    }
}

/// An id as Anthropic takes it: another provider may have made it.
fn tool_id(id: &str) -> String {
    id.chars().map(|c| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') { c } else { '_' }).collect()
}
