//! Tools in requests: names that providers accept, calls and their results, and data that goes back to its provider.
//!
//! Calls are not validated here. Arguments that are not an object are passed on as text, so that the model can be told.

use std::sync::Arc;

use serde_json::{Map, Value as Json, json};
use trefoil_runtime::{ModelMessage, ModelRequest, ModelToolCall, ToolSpec};
use trefoil_template::{Value, join_halves, read_json};

use super::body::set_member;
use super::members::text_member;
use super::schema;

/// The names of a request's tools, in the manifest and for the provider: letters, digits, `_` and `-`, at most 64.
#[derive(Debug, Default)]
pub(super) struct ToolWireNames(Vec<(Arc<str>, String)>);

impl ToolWireNames {
    /// The names of these tools. If two would be the same, a number is added.
    pub fn from_tools(tools: &[ToolSpec]) -> Self {
        let mut names = Self::default();
        for tool in tools {
            let mut wire = schema::to_wire_name(&tool.name);
            let mut n = 2;
            while names.0.iter().any(|(_, known)| *known == wire) {
                let end = format!("_{n}");
                let start: String = schema::to_wire_name(&tool.name).chars().take(64 - end.len()).collect();
                wire = start + &end;
                n += 1;
            }
            names.0.push((tool.name.clone(), wire));
        }
        names
    }

    /// Whether no tools are offered.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The name for the provider.
    pub fn wire_name(&self, name: &str) -> String {
        match self.0.iter().find(|(known, _)| **known == *name) {
            Some((_, wire)) => wire.clone(),
            None => schema::to_wire_name(name),
        }
    }

    /// All names for the provider.
    pub fn wire_names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(_, wire)| wire.as_str())
    }

    /// The name in the manifest. An unknown name stays as it is, so that the model can be told.
    pub fn manifest_name(&self, wire: &str) -> Arc<str> {
        match self.0.iter().find(|(_, known)| known == wire) {
            Some((name, _)) => name.clone(),
            None => wire.into(),
        }
    }
}

/// The schema of a tool's arguments. Providers require an object with `properties`; adding an empty one does not change
/// the meaning.
fn parameters(tool: &ToolSpec) -> Json {
    let mut schema = match tool.parameters.to_json() {
        Json::Object(schema) => schema,
        _ => Map::new(),
    };
    schema.entry("type").or_insert_with(|| "object".into());
    schema.entry("properties").or_insert_with(|| Json::Object(Map::new()));
    Json::Object(schema)
}

/// Arguments as text.
pub(super) fn arguments_text(call: &ModelToolCall) -> String {
    match &call.arguments {
        Value::Str(text) => text.to_string(),
        other => other.to_json().to_string(),
    }
}

/// A tool with its name, its description, and the schema of its arguments in this member.
pub(super) fn tool_json(tool: &ToolSpec, names: &ToolWireNames, parameters_member: &str) -> Json {
    let mut offered = json!({"name": names.wire_name(&tool.name), parameters_member: parameters(tool)});
    if !tool.description.is_empty() {
        set_member(&mut offered, "description", &*tool.description);
    }
    offered
}

/// The tools of a request in the form of chat completions, which other providers also use.
pub(super) fn function_tools_json(request: &ModelRequest, names: &ToolWireNames) -> Json {
    let function = |tool| json!({"type": "function", "function": tool_json(tool, names, "parameters")});
    request.tools.iter().map(function).collect()
}

/// A tool call in the same form.
pub(super) fn function_call(call: &ModelToolCall, names: &ToolWireNames) -> Json {
    let function = json!({"name": names.wire_name(&call.name), "arguments": arguments_text(call)});
    json!({"id": &*call.id, "type": "function", "function": function})
}

/// Arguments as an object. Other values are wrapped in one, under the name that Anthropic recommends.
pub(super) fn arguments_object(call: &ModelToolCall) -> Json {
    match &call.arguments {
        object @ Value::Object(_) => object.to_json(),
        Value::Null => Json::Object(Map::new()),
        other => json!({"INVALID_JSON": other.to_text()}),
    }
}

/// The name of the tool whose result this message is, for providers that match results by name instead of id.
pub(super) fn answered_tool_name(messages: &[ModelMessage], at: usize, names: &ToolWireNames) -> String {
    let Some(ModelMessage { answers: Some(id), .. }) = messages.get(at) else { return String::new() };
    // Ids are unique only within a turn.
    for message in messages.get(..at).unwrap_or_default().iter().rev() {
        if let Some(call) = message.calls.iter().find(|call| *call.id == **id) {
            return names.wire_name(&call.name);
        }
    }
    String::new()
}

/// Provider data that must be sent back: that of the turn, stored with its first call, and that of the call.
#[derive(Debug, Default)]
pub(super) struct SealedMembers {
    pub turn: Map<String, Json>,
    pub call: Map<String, Json>,
}

impl SealedMembers {
    /// As it is stored with the call.
    pub fn into_text(self, provider: &str) -> Option<Arc<str>> {
        if self.turn.is_empty() && self.call.is_empty() {
            return None;
        }
        Some(join_halves(json!({"by": provider, "turn": self.turn, "call": self.call}).to_string()).into())
    }

    /// Reads the data of a call. Data of another provider is ignored.
    pub fn from_call(call: &ModelToolCall, provider: &str) -> Self {
        let Some(sealed) = &call.sealed else { return Self::default() };
        let Ok(json) = read_json::<Json>(sealed) else { return Self::default() };
        if text_member(&json, "by") != Some(provider) {
            return Self::default();
        }
        let part = |name: &str| match json.get(name) {
            Some(Json::Object(members)) => members.clone(),
            _ => Map::new(),
        };
        Self { turn: part("turn"), call: part("call") }
    }
}
