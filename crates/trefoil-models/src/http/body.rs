//! What the request bodies of all protocols have in common: members of objects, and the names of parameters.

use serde_json::{Map, Value as Json};
use trefoil_runtime::{MessageRole, ModelRequest};

use super::schema;

/// Sets a member of an object.
pub(super) fn set_member(object: &mut Json, name: &str, value: impl Into<Json>) {
    if let Json::Object(object) = object {
        object.insert(name.to_owned(), value.into());
    }
}

/// Adds members to an object.
pub(super) fn add_members(object: &mut Json, members: Map<String, Json>) {
    if let Json::Object(object) = object {
        object.extend(members);
    }
}

/// The name of a parameter that a protocol does not have.
pub(super) const OMITTED: &str = "";

/// How a protocol names the parameters of a call.
pub(super) struct ParameterNames {
    pub temperature: &'static str,
    pub top_p: &'static str,
    pub top_k: &'static str,
    pub max_tokens: &'static str,
    pub presence_penalty: &'static str,
    pub frequency_penalty: &'static str,
    pub seed: &'static str,
    pub stop: &'static str,
}

impl ParameterNames {
    /// The usual names, which are also those of manifests.
    pub const USUAL: Self = Self {
        temperature: "temperature",
        top_p: "top_p",
        top_k: "top_k",
        max_tokens: "max_tokens",
        presence_penalty: "presence_penalty",
        frequency_penalty: "frequency_penalty",
        seed: "seed",
        stop: "stop",
    };

    /// The parameters that a request sets.
    pub fn request_members(&self, request: &ModelRequest) -> Map<String, Json> {
        let p = &request.parameters;
        let mut members = Map::new();
        add_parameter(&mut members, self.temperature, p.temperature);
        add_parameter(&mut members, self.top_p, p.top_p);
        add_parameter(&mut members, self.top_k, p.top_k);
        add_parameter(&mut members, self.max_tokens, p.max_tokens);
        add_parameter(&mut members, self.presence_penalty, p.presence_penalty);
        add_parameter(&mut members, self.frequency_penalty, p.frequency_penalty);
        add_parameter(&mut members, self.seed, p.seed);
        if !p.stop.is_empty() {
            let stop: Json = p.stop.iter().map(|text| Json::from(&**text)).collect();
            add_parameter(&mut members, self.stop, Some(stop));
        }
        members
    }
}

/// Adds a parameter that is set, if the protocol has it.
fn add_parameter(members: &mut Map<String, Json>, name: &str, value: Option<impl Into<Json>>) {
    if let Some(value) = value
        && name != OMITTED
    {
        members.insert(name.to_owned(), value.into());
    }
}

/// The system messages as one text, with a schema at its end, for protocols that have one field for them. `None` if it is empty.
pub(super) fn system_text(request: &ModelRequest, schema: Option<&Json>) -> Option<String> {
    let mut texts = Vec::new();
    for message in &request.messages {
        if message.role != MessageRole::System {
            continue;
        }
        let text = message.content.to_text();
        if !text.is_empty() {
            texts.push(text.to_string());
        }
    }
    if let Some(schema) = schema {
        texts.push(schema::schema_instruction(schema));
    }
    if texts.is_empty() { None } else { Some(texts.join("\n\n")) }
}
