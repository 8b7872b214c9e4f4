//! Tools in requests to providers: names that providers accept, tool calls and their results, and data that a provider requires
//! back.
//!
//! Calls are not validated here. Arguments that are not a JSON object are passed on as text: the error goes to the model, which can
//! correct its call.

use std::sync::Arc;

use serde_json::{Map, Value as Json, json};
use trefoil_runtime::{ModelMessage, ModelRequest, ModelToolCall, ToolSpec};
use trefoil_template::{Value, join_halves, read_json};

use super::body::set_member;
use super::members::text_member;
use super::schema;

/// The names of a request's tools: pairs of the name in the manifest and the name for the provider, which has only letters, digits,
/// `_` and `-`.
#[derive(Debug, Default)]
pub(super) struct ToolWireNames(Vec<(Arc<str>, String)>);

impl ToolWireNames {
    /// The names of these tools. If two names become equal, the later one gets a number.
    pub fn from_tools(tools: &[ToolSpec]) -> Self {
        let mut names = Self::default();
        for tool in tools {
            let mut wire = schema::to_wire_name(&tool.name);
            let mut number = 2;
            while names.0.iter().any(|(_, known)| *known == wire) {
                let suffix = format!("_{number}");
                let start: String =
                    schema::to_wire_name(&tool.name).chars().take(schema::LONGEST_NAME - suffix.len()).collect();
                wire = start + &suffix;
                number += 1;
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

    /// The name in the manifest. An unknown name is returned as it is: the model gets an error that names it.
    pub fn manifest_name(&self, wire: &str) -> Arc<str> {
        match self.0.iter().find(|(_, known)| known == wire) {
            Some((name, _)) => name.clone(),
            None => wire.into(),
        }
    }
}

/// The schema of a tool's arguments. Providers require an object with `properties`; adding an empty one does not change
/// the meaning.
fn parameters_schema(tool: &ToolSpec) -> Json {
    let mut schema = match tool.parameters.to_json() {
        Json::Object(schema) => schema,
        _ => Map::new(),
    };
    schema.entry("type").or_insert_with(|| "object".into());
    schema.entry("properties").or_insert_with(|| Json::Object(Map::new()));
    Json::Object(schema)
}

/// The arguments of a call as JSON text. Text that is not an object is sent back to the provider as the model wrote it.
pub(super) fn arguments_text(call: &ModelToolCall) -> String {
    match &call.arguments {
        Value::Str(text) => text.to_string(),
        other => other.to_json().to_string(),
    }
}

/// A tool with its name, its description, and the schema of its arguments in this member.
pub(super) fn tool_json(tool: &ToolSpec, names: &ToolWireNames, parameters_member: &str) -> Json {
    let mut tool_json = json!({"name": names.wire_name(&tool.name), parameters_member: parameters_schema(tool)});
    if !tool.description.is_empty() {
        set_member(&mut tool_json, "description", &*tool.description);
    }
    tool_json
}

/// The tools of a request in the form of chat completions, which other providers also use.
pub(super) fn function_tools_json(request: &ModelRequest, names: &ToolWireNames) -> Json {
    let function = |tool| json!({"type": "function", "function": tool_json(tool, names, "parameters")});
    request.tools.iter().map(function).collect()
}

/// A tool call in the form of chat completions.
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
    // Ids are unique only within a turn, so the nearest earlier call with this id is the right one.
    for message in messages.get(..at).unwrap_or_default().iter().rev() {
        if let Some(call) = message.calls.iter().find(|call| *call.id == **id) {
            return names.wire_name(&call.name);
        }
    }
    String::new()
}

/// Data that a provider attached to its answer and requires back in later requests, such as signed reasoning. It is stored with the
/// calls of the turn and never read by others.
#[derive(Debug, Default)]
pub(super) struct SealedMembers {
    /// The data of the whole turn. It is stored with the turn's first call.
    pub turn: Map<String, Json>,
    /// The data of this call.
    pub call: Map<String, Json>,
}

impl SealedMembers {
    /// The JSON text that is stored with the call. `None` if there is no data.
    pub fn into_text(self, provider: &str) -> Option<Arc<str>> {
        if self.turn.is_empty() && self.call.is_empty() {
            return None;
        }
        Some(join_halves(json!({"by": provider, "turn": self.turn, "call": self.call}).to_string()).into())
    }

    /// Reads the data stored with a call. Data of another provider is ignored: this one could not read it.
    pub fn from_call(call: &ModelToolCall, provider: &str) -> Self {
        let Some(sealed) = &call.sealed else { return Self::default() };
        let Ok(json) = read_json::<Json>(sealed) else { return Self::default() };
        if text_member(&json, "by") != Some(provider) {
            return Self::default();
        }
        let members = |name: &str| match json.get(name) {
            Some(Json::Object(members)) => members.clone(),
            _ => Map::new(),
        };
        Self { turn: members("turn"), call: members("call") }
    }
}
