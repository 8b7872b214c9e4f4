//! Tools in requests and responses: names that providers accept, and calls, complete or in pieces.
//!
//! Calls are not validated here. Arguments that are not an object are passed on as text, so that the model can be told.

use std::sync::Arc;

use serde_json::{Map, Value as Json, json};
use trefoil_runtime::{Message, ModelRequest, ToolSpec, ToolUse};
use trefoil_template::{Value, join_halves, json_nodes, limits, read_json};

use super::schema;

/// The names of a request's tools, in the manifest and for the provider: letters, digits, `_` and `-`, at most 64.
#[derive(Debug, Default)]
pub(super) struct Names(Vec<(Arc<str>, String)>);

impl Names {
    /// The names of a request's tools. If two would be the same, a number is added.
    pub fn of(request: &ModelRequest) -> Self {
        let mut names = Self::default();
        for tool in &request.tools {
            let mut wire = schema::name(&tool.name);
            let mut n = 2;
            while names.0.iter().any(|(_, known)| *known == wire) {
                let end = format!("_{n}");
                wire = schema::name(&tool.name).chars().take(64 - end.len()).chain(end.chars()).collect();
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
    pub fn wire(&self, name: &str) -> String {
        let known = self.0.iter().find(|(known, _)| **known == *name);
        known.map_or_else(|| schema::name(name), |(_, wire)| wire.clone())
    }

    /// The name in the manifest. An unknown name stays as it is, so that the model can be told.
    fn own(&self, wire: &str) -> Arc<str> {
        self.0.iter().find(|(_, known)| known == wire).map_or_else(|| wire.into(), |(name, _)| name.clone())
    }
}

/// The schema of a tool's arguments. Providers require an object with `properties`; adding an empty one does not change
/// the meaning.
pub(super) fn parameters(tool: &ToolSpec) -> Json {
    let mut schema = match tool.parameters.to_json() {
        Json::Object(schema) => schema,
        _ => Map::new(),
    };
    schema.entry("type").or_insert_with(|| "object".into());
    schema.entry("properties").or_insert_with(|| Json::Object(Map::new()));
    Json::Object(schema)
}

/// Arguments as text.
pub(super) fn arguments_text(call: &ToolUse) -> String {
    match &call.arguments {
        Value::Str(text) => text.to_string(),
        other => other.to_json().to_string(),
    }
}

/// A tool in the form of chat completions, which other providers also use.
pub(super) fn function(tool: &ToolSpec, names: &Names) -> Json {
    let mut function = json!({"name": names.wire(&tool.name), "parameters": parameters(tool)});
    if !tool.description.is_empty()
        && let Json::Object(function) = &mut function
    {
        function.insert("description".to_owned(), (&*tool.description).into());
    }
    json!({"type": "function", "function": function})
}

/// A tool call in the same form.
pub(super) fn function_call(call: &ToolUse, names: &Names) -> Json {
    let function = json!({"name": names.wire(&call.name), "arguments": arguments_text(call)});
    json!({"id": &*call.id, "type": "function", "function": function})
}

/// Arguments as an object. Other values are wrapped in one, under the name that Anthropic recommends.
pub(super) fn arguments_object(call: &ToolUse) -> Json {
    match &call.arguments {
        object @ Value::Object(_) => object.to_json(),
        Value::Null => Json::Object(Map::new()),
        other => json!({"INVALID_JSON": other.to_text()}),
    }
}

/// The name of the tool whose result this message is, for providers that match results by name instead of id.
pub(super) fn answered(messages: &[Message], at: usize, names: &Names) -> String {
    let id = messages.get(at).and_then(|message| message.answers.as_deref());
    // Ids are unique only within a turn.
    let before = messages.get(..at).unwrap_or_default().iter().rev().flat_map(|message| &message.calls);
    let call = before.into_iter().find(|call| Some(&*call.id) == id);
    call.map_or_else(String::new, |call| names.wire(&call.name))
}

/// A tool call that is still arriving.
#[derive(Debug, Default)]
pub(super) struct CallPiece {
    /// Its index, as the provider counts calls.
    index: Option<u64>,
    pub id: String,
    pub name: String,
    /// The part of its arguments that has arrived.
    pub arguments: String,
    /// Provider data of the call that must be sent back.
    pub beside: Map<String, Json>,
}

/// The tool calls of a turn while they arrive.
#[derive(Debug, Default)]
pub(super) struct Pieces {
    all: Vec<CallPiece>,
    /// Provider data of the turn that must be sent back.
    pub beside: Map<String, Json>,
}

impl Pieces {
    /// Whether no call has arrived.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Adds a call that arrives complete.
    pub fn next(&mut self, id: Option<&str>) -> &mut CallPiece {
        let index = Some(self.all.len() as u64);
        self.all.push(CallPiece { index, id: id.unwrap_or_default().to_owned(), ..CallPiece::default() });
        let last = self.all.len() - 1;
        #[allow(clippy::indexing_slicing, reason = "it was pushed a line above")]
        &mut self.all[last]
    }

    /// The call that a piece belongs to. Some servers have no indexes, and some give all calls the same index: a new id
    /// with a known index is a new call.
    pub fn at(&mut self, index: Option<u64>, id: Option<&str>) -> Option<&mut CallPiece> {
        let id = id.unwrap_or_default();
        let other = |piece: &CallPiece| !id.is_empty() && !piece.id.is_empty() && piece.id != id;
        let known = match index {
            Some(_) => self.all.iter().rposition(|piece| piece.index == index && !other(piece)),
            None => self
                .all
                .len()
                .checked_sub(1)
                .filter(|last| id.is_empty() || self.all.get(*last).is_some_and(|p| p.id == id)),
        };
        let at = known.unwrap_or_else(|| {
            self.all.push(CallPiece { index, ..CallPiece::default() });
            self.all.len() - 1
        });
        let piece = self.all.get_mut(at)?;
        if !id.is_empty() {
            id.clone_into(&mut piece.id);
        }
        Some(piece)
    }

    /// The calls, when everything has arrived. `provider` is the one that gets its data back.
    pub fn calls(self, names: &Names, provider: &str) -> Vec<ToolUse> {
        let mut calls: Vec<ToolUse> = Vec::new();
        let mut beside_turn = Some(self.beside).filter(|beside| !beside.is_empty());
        for CallPiece { id, name, arguments, beside, .. } in self.all {
            // Results are matched with calls by id, so ids must be unique and not empty.
            let taken = |id: &str| calls.iter().any(|call| *call.id == *id);
            let base = if id.is_empty() { "call".to_owned() } else { id };
            let mut n = calls.len() + 1;
            let mut id = if base == "call" { format!("call_{n}") } else { base.clone() };
            while taken(&id) {
                n += 1;
                id = format!("{base}_{n}");
            }
            let sealed = Sealed { turn: beside_turn.take().unwrap_or_default(), call: beside };
            calls.push(ToolUse {
                id: id.into(),
                name: names.own(&name),
                arguments: read_arguments(&join_halves(arguments)),
                sealed: sealed.text(provider),
            });
        }
        calls
    }
}

/// Parses arguments as JSON; text that is not an object stays text. No text means no arguments.
fn read_arguments(text: &str) -> Value {
    if text.trim().is_empty() {
        return Value::from_json(Json::Object(Map::new()));
    }
    if text.len() > limits::ANSWER_NODES && json_nodes(text.as_bytes()) > limits::ANSWER_NODES {
        return text.into();
    }
    match read_json::<Json>(text) {
        Ok(object @ Json::Object(_)) => Value::from_json(object),
        _ => text.into(),
    }
}

/// Provider data that must be sent back: that of the turn, stored with its first call, and that of the call.
#[derive(Debug, Default)]
pub(super) struct Sealed {
    pub turn: Map<String, Json>,
    pub call: Map<String, Json>,
}

impl Sealed {
    fn text(self, provider: &str) -> Option<Arc<str>> {
        if self.turn.is_empty() && self.call.is_empty() {
            return None;
        }
        Some(join_halves(json!({"by": provider, "turn": self.turn, "call": self.call}).to_string()).into())
    }

    /// Reads the data of a call. Data of another provider is ignored.
    pub fn of(call: &ToolUse, provider: &str) -> Self {
        let json = call.sealed.as_ref().and_then(|text| read_json::<Json>(text).ok()).unwrap_or_default();
        if json.get("by").and_then(Json::as_str) != Some(provider) {
            return Self::default();
        }
        let part = |name: &str| json.get(name).and_then(Json::as_object).cloned().unwrap_or_default();
        Self { turn: part("turn"), call: part("call") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn pieces(all: &[(Option<u64>, Option<&str>, &str)]) -> Vec<(String, Json)> {
        let mut pieces = Pieces::default();
        for (index, id, text) in all {
            pieces.at(*index, *id).unwrap().arguments.push_str(text);
        }
        let calls = pieces.calls(&Names::default(), "p");
        calls.into_iter().map(|call| (call.id.to_string(), call.arguments.to_json())).collect()
    }

    #[test]
    fn pieces_find_their_calls_however_servers_count() {
        let two = [("a".to_owned(), json!({"x": 1})), ("b".to_owned(), json!({}))];
        assert_eq!(
            pieces(&[
                (Some(0), Some("a"), "{\"x\""),
                (Some(1), Some("b"), "{"),
                (Some(0), None, ":1}"),
                (Some(1), None, "}")
            ]),
            two
        );
        assert_eq!(
            pieces(&[(Some(0), Some("a"), "{\"x\""), (Some(0), Some("a"), ":1}"), (Some(0), Some("b"), "{}")]),
            two
        );
        assert_eq!(pieces(&[(None, Some("a"), "{\"x\":"), (None, None, "1}"), (None, Some("b"), "")]), two);
    }

    #[test]
    fn calls_without_ids_or_with_the_same_get_their_own() {
        let ids =
            |all: &[(Option<u64>, Option<&str>, &str)]| pieces(all).into_iter().map(|(id, _)| id).collect::<Vec<_>>();
        assert_eq!(ids(&[(Some(0), None, "{}"), (Some(1), Some(""), "{}")]), ["call_1", "call_2"]);
        assert_eq!(ids(&[(Some(0), Some("x"), ""), (Some(1), Some("x"), "")]), ["x", "x_3"]);
    }

    #[test]
    fn arguments_that_are_no_object_stay_text() {
        for text in ["{\"a\": ", "[1]", "7", "\"x\"", "nonsense"] {
            assert_eq!(read_arguments(text).to_json(), json!(text));
        }
        assert_eq!(read_arguments(" ").to_json(), json!({}));
        let deep = "{\"a\":".repeat(5_000);
        assert_eq!(read_arguments(&deep).to_json(), json!(deep));
    }

    #[test]
    fn what_another_provider_sealed_is_not_shown() {
        let mut pieces = Pieces::default();
        pieces.at(None, Some("a")).unwrap().beside.insert("signature".into(), json!("s"));
        pieces.beside.insert("thoughts".into(), json!([1]));
        let calls = pieces.calls(&Names::default(), "google");
        assert_eq!(Sealed::of(&calls[0], "google").call["signature"], "s");
        assert_eq!(Sealed::of(&calls[0], "google").turn["thoughts"], json!([1]));
        assert!(Sealed::of(&calls[0], "openai").call.is_empty());
    }
}
