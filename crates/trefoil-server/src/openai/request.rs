//! What a chat completion asks for, and what it means to a flow. Nothing is dropped silently: each part has one of these meanings, or
//! the request is refused with the name of the part.
//!
//! | part | meaning |
//! |---|---|
//! | `model` | the flow |
//! | `messages`, of a flow with the property `messages` in its input | that property, as they are; text parts are joined |
//! | `messages`, of any other flow | one message of the user: the text input; if the input is an object, that object as JSON |
//! | `user`, `metadata` | labels of the run |
//! | `stream`, `stream_options` | as at OpenAI |
//! | everything else | [`super::parameters`] |

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json};
use trefoil_host::catalog::CatalogFlow;
use trefoil_store::check_user_labels;
use trefoil_template::read_json_bytes;

use super::errors::OpenAiError;
use super::parameters::check_parameter;

/// The property of an input that gets the whole conversation.
const MESSAGES: &str = "messages";
/// The label with the `user` of a request.
const USER_LABEL: &str = "user";
/// The roles of messages.
const ROLES: [&str; 5] = ["system", "developer", "user", "assistant", "tool"];
/// What a message may have beside its role and its content. Null means that it is not there.
const EXTRAS: [&str; 4] = ["name", "refusal", "tool_call_id", "tool_calls"];

/// A chat completion to make.
#[derive(Debug)]
pub struct ChatRequest {
    /// The flow.
    pub model: String,
    /// Whether the answer is a stream.
    pub stream: bool,
    /// Whether a stream has the usage.
    pub include_usage: bool,
    /// Labels of the run.
    pub labels: BTreeMap<String, String>,
    messages: Vec<ChatMessage>,
}

/// A message.
#[derive(Debug)]
struct ChatMessage {
    role: String,
    /// The text. `None`: there is none, but calls of tools.
    content: Option<String>,
    /// The other members.
    extras: Map<String, Json>,
}

fn wrong_type(param: &str, expected: &str) -> OpenAiError {
    OpenAiError::of_part(param, "invalid_type", format!("`{param}` must be {expected}"))
}

impl ChatRequest {
    /// Reads the body of a request.
    ///
    /// # Errors
    ///
    /// 400 with the part that is wrong, or has no meaning here.
    pub fn parse(body: Json) -> Result<Self, OpenAiError> {
        let Json::Object(mut body) = body else {
            let message = "the body must be a JSON object";
            return Err(OpenAiError::new(http::StatusCode::BAD_REQUEST, "invalid_request", message));
        };
        for (name, value) in &body {
            check_parameter(name, value)?;
        }
        let model = match body.remove("model") {
            Some(Json::String(model)) => model,
            _ => return Err(wrong_type("model", "the name of a flow")),
        };
        let stream = read_flag(&mut body, "stream", "stream")?;
        let include_usage = read_stream_options(body.remove("stream_options"), stream)?;
        let labels = read_labels(body.remove("user"), body.remove("metadata"))?;
        let Some(Json::Array(all)) = body.remove(MESSAGES) else {
            return Err(wrong_type(MESSAGES, "a list of messages"));
        };
        let mut messages = Vec::new();
        for (index, message) in all.into_iter().enumerate() {
            messages.push(ChatMessage::parse(message, &format!("messages[{index}]"))?);
        }
        if messages.is_empty() {
            return Err(OpenAiError::of_part(MESSAGES, "invalid_message", "`messages` must have at least one message"));
        }
        Ok(Self { model, stream, include_usage, labels, messages })
    }

    /// The input of a flow.
    ///
    /// # Errors
    ///
    /// 400 with the message that the flow cannot get.
    pub fn flow_input(self, flow: &CatalogFlow) -> Result<Json, OpenAiError> {
        let intake = &flow.flow.loaded_target().program.entry_flow().intake;
        let mut names: Vec<&str> = intake.fields.iter().map(|field| &*field.name).collect();
        if names.contains(&MESSAGES) {
            let messages = self.messages.into_iter().map(ChatMessage::into_json).collect();
            return Ok(Json::Object([(MESSAGES.to_owned(), Json::Array(messages))].into_iter().collect()));
        }
        let text = self.only_text(&flow.name)?;
        if names.is_empty() {
            return Ok(Json::String(text));
        }
        match read_json_bytes::<Json>(text.as_bytes()) {
            Ok(input @ Json::Object(_)) => Ok(input),
            // Its text is one of the properties.
            _ if intake.wrap.is_some() => Ok(Json::String(text)),
            _ => {
                names.sort_unstable();
                let names = names.join("`, `");
                let message = format!(
                    "the input of `{}` is an object: the message must be JSON with the properties `{names}`",
                    flow.name
                );
                Err(OpenAiError::of_part("messages[0].content", "INPUT_INVALID", message))
            }
        }
    }

    /// The text of the only message, for a flow that can get no more.
    fn only_text(self, flow: &str) -> Result<String, OpenAiError> {
        let unsupported = |at: String, what: String| {
            let message = format!(
                "`{flow}` cannot get {what}: only a flow whose input has the property `messages` gets the whole conversation; send one \
                 message of the role `user`"
            );
            OpenAiError::of_part(at, "unsupported_message", message)
        };
        for (index, message) in self.messages.iter().enumerate() {
            if message.role != "user" {
                return Err(unsupported(
                    format!("messages[{index}]"),
                    format!("a message of the role `{}`", message.role),
                ));
            }
            if let Some(name) = message.extras.keys().next() {
                return Err(unsupported(format!("messages[{index}].{name}"), format!("`{name}` of a message")));
            }
        }
        if self.messages.len() > 1 {
            return Err(unsupported("messages[1]".to_owned(), "more than one message".to_owned()));
        }
        let only = self.messages.into_iter().next();
        Ok(only.and_then(|message| message.content).unwrap_or_default())
    }
}

impl ChatMessage {
    /// `at`: its place in the request.
    fn parse(message: Json, at: &str) -> Result<Self, OpenAiError> {
        let Json::Object(mut members) = message else { return Err(wrong_type(at, "an object")) };
        members.retain(|_, value| !value.is_null());
        let role = match members.remove("role") {
            Some(Json::String(role)) if ROLES.contains(&&*role) => role,
            _ => {
                let message = format!("`{at}.role` must be one of `{}`", ROLES.join("`, `"));
                return Err(OpenAiError::of_part(format!("{at}.role"), "invalid_message", message));
            }
        };
        let content = match members.remove("content") {
            Some(content) => Some(read_content(content, &format!("{at}.content"))?),
            None if role == "assistant" && members.contains_key("tool_calls") => None,
            None => return Err(wrong_type(&format!("{at}.content"), "text, or a list of text parts")),
        };
        for name in members.keys() {
            if !EXTRAS.contains(&name.as_str()) {
                let name: String = name.chars().take(100).collect();
                let message = format!("`{name}` of a message has no meaning here");
                return Err(OpenAiError::of_part(format!("{at}.{name}"), "unsupported_content", message));
            }
        }
        Ok(Self { role, content, extras: members })
    }

    fn into_json(self) -> Json {
        let mut members = Map::new();
        members.insert("role".to_owned(), self.role.into());
        members.insert("content".to_owned(), self.content.into());
        members.extend(self.extras);
        Json::Object(members)
    }
}

/// The text of a message: its parts together.
fn read_content(content: Json, at: &str) -> Result<String, OpenAiError> {
    let parts = match content {
        Json::String(text) => return Ok(text),
        Json::Array(parts) if !parts.is_empty() => parts,
        _ => return Err(wrong_type(at, "text, or a list of text parts")),
    };
    let mut all = String::new();
    for (index, part) in parts.into_iter().enumerate() {
        let at = format!("{at}[{index}]");
        let Json::Object(mut members) = part else { return Err(wrong_type(&at, "an object")) };
        members.retain(|_, value| !value.is_null());
        let sort = members.remove("type");
        match (sort.as_ref().and_then(Json::as_str), members.remove("text")) {
            (Some("text"), Some(Json::String(text))) => all.push_str(&text),
            (Some("text"), _) => return Err(wrong_type(&format!("{at}.text"), "text")),
            (Some(sort), _) => {
                let sort: String = sort.chars().take(100).collect();
                let message = format!("parts of the type `{sort}` are not supported: a message must be text");
                return Err(OpenAiError::of_part(at, "unsupported_content", message));
            }
            (None, _) => return Err(wrong_type(&format!("{at}.type"), "`text`")),
        }
        if let Some(name) = members.keys().next() {
            let name: String = name.chars().take(100).collect();
            let message = format!("`{name}` of a text part has no meaning here");
            return Err(OpenAiError::of_part(format!("{at}.{name}"), "unsupported_content", message));
        }
    }
    Ok(all)
}

/// `at`: its place in the request.
fn read_flag(members: &mut Map<String, Json>, name: &str, at: &str) -> Result<bool, OpenAiError> {
    match members.remove(name) {
        None | Some(Json::Null) => Ok(false),
        Some(Json::Bool(flag)) => Ok(flag),
        Some(_) => Err(wrong_type(at, "true or false")),
    }
}

/// Whether a stream has the usage.
fn read_stream_options(options: Option<Json>, stream: bool) -> Result<bool, OpenAiError> {
    const OPTIONS: &str = "stream_options";
    let mut members = match options {
        None | Some(Json::Null) => return Ok(false),
        Some(Json::Object(members)) => members,
        Some(_) => return Err(wrong_type(OPTIONS, "an object")),
    };
    if !stream {
        let message = "`stream_options` needs `stream: true`";
        return Err(OpenAiError::of_part(OPTIONS, "invalid_request", message));
    }
    let include_usage = read_flag(&mut members, "include_usage", "stream_options.include_usage")?;
    // Padding that hides the lengths of the pieces; there is none.
    if read_flag(&mut members, "include_obfuscation", "stream_options.include_obfuscation")? {
        let message = "`stream_options.include_obfuscation` is not supported; leave it out, or send false";
        return Err(OpenAiError::of_part("stream_options.include_obfuscation", "unsupported_parameter", message));
    }
    match members.keys().next() {
        None => Ok(include_usage),
        Some(other) => {
            let other: String = other.chars().take(100).collect();
            let message = format!("there is no option `{other}` of `stream_options`");
            Err(OpenAiError::of_part(format!("stream_options.{other}"), "unsupported_parameter", message))
        }
    }
}

/// The labels of the run.
fn read_labels(user: Option<Json>, metadata: Option<Json>) -> Result<BTreeMap<String, String>, OpenAiError> {
    let mut labels = BTreeMap::new();
    match metadata {
        None | Some(Json::Null) => {}
        Some(Json::Object(members)) => {
            for (key, value) in members {
                let Json::String(value) = value else {
                    let key: String = key.chars().take(100).collect();
                    return Err(wrong_type(&format!("metadata.{key}"), "text"));
                };
                labels.insert(key, value);
            }
        }
        Some(_) => return Err(wrong_type("metadata", "an object with texts")),
    }
    check_labels(&labels, "metadata")?;
    match user {
        None | Some(Json::Null) => {}
        Some(Json::String(user)) => {
            let label = BTreeMap::from([(USER_LABEL.to_owned(), user)]);
            check_labels(&label, "user")?;
            for (key, user) in label {
                if matches!(labels.insert(key, user.clone()), Some(other) if other != user) {
                    let message = "`user` and `metadata.user` are one label of the run, and differ";
                    return Err(OpenAiError::of_part("metadata.user", "invalid_request", message));
                }
            }
        }
        Some(_) => return Err(wrong_type("user", "text")),
    }
    Ok(labels)
}

fn check_labels(labels: &BTreeMap<String, String>, at: &str) -> Result<(), OpenAiError> {
    let all: Vec<(String, String)> = labels.clone().into_iter().collect();
    check_user_labels(&all).map_err(|fault| {
        let message = format!("`{at}` becomes labels of the run, and {fault}; {}", fault.help_text());
        OpenAiError::of_part(at, "invalid_request", message)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn refused(body: Json) -> (String, String) {
        let error = ChatRequest::parse(body).unwrap_err().to_json()["error"].clone();
        (error["code"].as_str().unwrap().to_owned(), error["param"].as_str().unwrap_or_default().to_owned())
    }

    fn with(name: &str, value: Json) -> Json {
        let mut body = json!({ "model": "m", "messages": [{ "role": "user", "content": "hi" }] });
        body[name] = value;
        body
    }

    #[test]
    fn labels_are_those_of_user_and_metadata() {
        let mut body = with("metadata", json!({ "team": "red" }));
        body["user"] = json!("ada");
        let labels = ChatRequest::parse(body).unwrap().labels;
        assert_eq!(
            labels,
            BTreeMap::from([("team".to_owned(), "red".to_owned()), ("user".to_owned(), "ada".to_owned())])
        );
        let mut body = with("metadata", json!({ "user": "eve" }));
        body["user"] = json!("ada");
        assert_eq!(refused(body), ("invalid_request".to_owned(), "metadata.user".to_owned()));
        assert_eq!(refused(with("metadata", json!({ "trefoil.key": "k" }))).1, "metadata");
        assert_eq!(refused(with("metadata", json!({ "a b": "c" }))).1, "metadata");
    }

    #[test]
    fn each_wrong_part_is_named() {
        for (body, code, param) in [
            (json!({ "messages": [] }), "invalid_type", "model"),
            (with("stream", json!("yes")), "invalid_type", "stream"),
            (with("stream_options", json!({})), "invalid_request", "stream_options"),
            (with("messages", json!({})), "invalid_type", "messages"),
            (with("messages", json!([{ "role": "user", "content": [] }])), "invalid_type", "messages[0].content"),
            (
                with("messages", json!([{ "role": "user", "content": [{ "type": "text", "text": 5 }] }])),
                "invalid_type",
                "messages[0].content[0].text",
            ),
            (
                with("messages", json!([{ "role": "user", "content": "x", "audio": { "id": "a" } }])),
                "unsupported_content",
                "messages[0].audio",
            ),
        ] {
            assert_eq!(refused(body.clone()), (code.to_owned(), param.to_owned()), "{body}");
        }
    }
}
