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
        let stop = (!p.stop.is_empty()).then(|| p.stop.iter().map(|s| Json::from(&**s)).collect());
        let all = [
            (self.temperature, p.temperature.map(Json::from)),
            (self.top_p, p.top_p.map(Json::from)),
            (self.top_k, p.top_k.map(Json::from)),
            (self.max_tokens, p.max_tokens.map(Json::from)),
            (self.presence_penalty, p.presence_penalty.map(Json::from)),
            (self.frequency_penalty, p.frequency_penalty.map(Json::from)),
            (self.seed, p.seed.map(Json::from)),
            (self.stop, stop),
        ];
        let known = all.into_iter().filter(|(name, _)| *name != OMITTED);
        known.filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
    }
}

/// The system messages as one text, with a schema at its end, for protocols that have one field for them. `None` if it is empty.
pub(super) fn system_text(request: &ModelRequest, schema: Option<&Json>) -> Option<String> {
    let texts =
        request.messages.iter().filter(|m| m.role == MessageRole::System).map(|m| m.content.to_text().to_string());
    let texts: Vec<String> =
        texts.filter(|text| !text.is_empty()).chain(schema.map(schema::schema_instruction)).collect();
    (!texts.is_empty()).then(|| texts.join("\n\n"))
}
