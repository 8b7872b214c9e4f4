//! Reads the messages of a server: the one place where the text of a server becomes a message of the SDK.
//!
//! The SDK drops a message that has not exactly the shape of its types, and whoever waits for the answer waits until the time
//! limit. Here a message is read as JSON first. What can be understood is understood: an error of any shape, a missing
//! `jsonrpc`, a number that JSON does not have. What cannot be read is the answer of its request, with what is wrong. Results of
//! tools are passed through the SDK as JSON, in an envelope that it accepts ([`RawResult`]), so that one odd entry of a list does not
//! take the others away.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};

use rmcp::model::{
    CallToolResult, ClientJsonRpcMessage, ClientNotification, ClientRequest, CustomResult, ErrorCode, ErrorData,
    JsonRpcMessage, ListToolsResult, MetaObject, RequestId, ServerJsonRpcMessage, ServerResult,
};
use serde_json::{Map, Value as Json, json};
use trefoil_runtime::locks::lock;
use trefoil_template::{foreign_json, read_json_bytes};

/// The members of an envelope: a result, and why there is none.
const RESULT: &str = "trefoil/result";
const DAMAGE: &str = "trefoil/damage";
/// Number of bytes at the start of a text that cannot be read in which its id is searched.
const HEAD: usize = 4 << 10;

/// What a text of a server is.
#[derive(Debug)]
pub enum IncomingText {
    /// A message.
    Message(Box<ServerJsonRpcMessage>),
    /// A message that nothing waits for.
    Idle,
    /// Not a message at all, such as a line of a log.
    OtherText,
    /// A message that cannot be read, and nobody knows which request it answers.
    Unreadable(String),
}

/// How the result of a request is passed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ResultEnvelope {
    /// As the SDK reads it: the answer to a handshake.
    Typed,
    Tools,
    Call,
}

/// The requests that have no answer yet. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct OpenRequests(Arc<Mutex<HashMap<RequestId, ResultEnvelope>>>);

impl OpenRequests {
    fn lock_open(&self) -> MutexGuard<'_, HashMap<RequestId, ResultEnvelope>> {
        lock(&self.0)
    }

    /// Takes note of a message that is sent.
    pub fn note_request(&self, message: &ClientJsonRpcMessage) {
        let mut open = self.lock_open();
        match message {
            JsonRpcMessage::Request(request) => {
                let wrapping = match request.request {
                    ClientRequest::ListToolsRequest(_) => ResultEnvelope::Tools,
                    ClientRequest::CallToolRequest(_) => ResultEnvelope::Call,
                    _ => ResultEnvelope::Typed,
                };
                open.insert(request.id.clone(), wrapping);
            }
            JsonRpcMessage::Notification(sent) => {
                if let ClientNotification::CancelledNotification(cancelled) = &sent.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    open.remove(id);
                }
            }
            _ => {}
        }
    }

    /// The request that an answer with this id is for. `asked`: the request that it must be for if the id says nothing.
    fn take(&self, id: Option<&Json>, asked: Option<&RequestId>) -> AnsweredRequest {
        let mut open = self.lock_open();
        let named = id.and_then(request_id);
        // Some servers write the number as text.
        let number = match &named {
            Some(RequestId::String(text)) => text.parse().ok().map(RequestId::Number),
            _ => None,
        };
        for id in [named.as_ref(), number.as_ref(), asked].into_iter().flatten() {
            if let Some((id, wrapping)) = open.remove_entry(id) {
                return AnsweredRequest::Known(id, wrapping);
            }
        }
        // An answer to a request that is no longer waited for.
        if named.is_some() {
            return AnsweredRequest::Nothing;
        }
        if open.len() != 1 {
            return AnsweredRequest::Anything;
        }
        match open.drain().next() {
            Some((id, wrapping)) => AnsweredRequest::Known(id, wrapping),
            None => AnsweredRequest::Nothing,
        }
    }
}

/// What an answer is for.
enum AnsweredRequest {
    Known(RequestId, ResultEnvelope),
    Nothing,
    /// One of several requests.
    Anything,
}

fn request_id(id: &Json) -> Option<RequestId> {
    match id {
        Json::Number(number) => number.as_i64().map(RequestId::Number),
        Json::String(text) => Some(RequestId::String(text.as_str().into())),
        _ => None,
    }
}

/// Reads a text. `asked`: the request that it answers unless it names another one.
pub fn read_message(text: &[u8], open: &OpenRequests, asked: Option<&RequestId>) -> IncomingText {
    let text = foreign_json::without_mark(text.trim_ascii()).trim_ascii();
    if text.is_empty() {
        return IncomingText::Idle;
    }
    let members = match read_json_bytes::<Json>(text) {
        Ok(Json::Object(members)) => members,
        Ok(Json::Array(items)) if items.iter().any(|item| item.get("jsonrpc").is_some()) => {
            return damage(open.take(None, asked), "a list of messages, which this protocol does not have".to_owned());
        }
        Ok(_) => return IncomingText::OtherText,
        Err(why) if resembles(text) => {
            let id = id_within(text);
            return damage(open.take(id.as_ref(), asked), format!("it is not JSON: {}", place(&why)));
        }
        Err(_) => return IncomingText::OtherText,
    };
    let some = |name: &str| match members.get(name) {
        None | Some(Json::Null) => None,
        value => value,
    };
    let (result, error) = (some("result"), some("error"));
    let is_message = members.contains_key("jsonrpc") || members.contains_key("id");
    match (result, error, members.contains_key("method")) {
        (_, Some(_), false) | (Some(_), ..) if is_message => {
            let answered = open.take(members.get("id"), asked);
            let AnsweredRequest::Known(id, wrapping) = answered else {
                return damage(answered, "it has no id".to_owned());
            };
            message(match (result, error) {
                (Some(result), None) => wrapped(id, wrapping, result),
                (_, error) => ServerJsonRpcMessage::error(error_data(error.unwrap_or(&Json::Null)), Some(id)),
            })
        }
        (_, _, true) => request(members),
        _ if members.contains_key("jsonrpc") || matches!(members.get("id"), Some(id) if open.waits_for(id)) => {
            damage(open.take(members.get("id"), asked), "it has neither `result` nor `error` nor `method`".to_owned())
        }
        _ => IncomingText::OtherText,
    }
}

impl OpenRequests {
    fn waits_for(&self, id: &Json) -> bool {
        let Some(id) = request_id(id) else { return false };
        self.lock_open().contains_key(&id)
    }
}

/// A request or a notification of the server. What the SDK does not know needs no answer.
fn request(mut members: Map<String, Json>) -> IncomingText {
    members.insert("jsonrpc".to_owned(), "2.0".into());
    members.remove("result");
    members.remove("error");
    match serde_json::from_value(Json::Object(members)) {
        Ok(read) => message(read),
        Err(_) => IncomingText::Idle,
    }
}

fn message(message: ServerJsonRpcMessage) -> IncomingText {
    IncomingText::Message(Box::new(message))
}

/// The answer that cannot be read.
fn damage(answered: AnsweredRequest, why: String) -> IncomingText {
    let why = format!("the server sent a message that cannot be read: {why}");
    match answered {
        AnsweredRequest::Known(id, wrapping) => {
            message(ServerJsonRpcMessage::response(envelope(wrapping, DAMAGE, why.into(), Vec::new()), id))
        }
        AnsweredRequest::Nothing => IncomingText::Idle,
        AnsweredRequest::Anything => IncomingText::Unreadable(why),
    }
}

fn wrapped(id: RequestId, wrapping: ResultEnvelope, result: &Json) -> ServerJsonRpcMessage {
    let result = match wrapping {
        ResultEnvelope::Typed => serde_json::from_value(result.clone())
            .unwrap_or_else(|_| ServerResult::CustomResult(CustomResult(result.clone()))),
        ResultEnvelope::Tools => {
            let mut plain = Vec::new();
            if let Some(Json::Array(tools)) = result.get("tools") {
                for tool in tools {
                    // The SDK reads some of them itself, for the headers of later calls.
                    if let (Some(name @ Json::String(_)), Some(schema @ Json::Object(_))) =
                        (tool.get("name"), tool.get("inputSchema"))
                    {
                        plain.push(json!({"name": name, "inputSchema": schema}));
                    }
                }
            }
            envelope(wrapping, RESULT, result.clone(), plain)
        }
        ResultEnvelope::Call => envelope(wrapping, RESULT, result.clone(), Vec::new()),
    };
    ServerJsonRpcMessage::response(result, id)
}

/// A result that the SDK accepts, with this member.
fn envelope(wrapping: ResultEnvelope, name: &str, value: Json, tools: Vec<Json>) -> ServerResult {
    let members = Map::from_iter([(name.to_owned(), value)]);
    match wrapping {
        ResultEnvelope::Typed => ServerResult::CustomResult(CustomResult(Json::Object(members))),
        ResultEnvelope::Tools => {
            let tools = serde_json::from_value(Json::Array(tools)).unwrap_or_default();
            let meta = Some(MetaObject(members));
            ServerResult::ListToolsResult(ListToolsResult { meta, ..ListToolsResult::with_all_items(tools) })
        }
        ResultEnvelope::Call => {
            let mut result = CallToolResult::success(Vec::new());
            result.meta = Some(MetaObject(members));
            ServerResult::CallToolResult(result)
        }
    }
}

/// The result of a request: as JSON, or why it cannot be read.
pub type RawResult = Result<Json, String>;

/// Takes the result out of its envelope.
pub fn open_envelope(meta: Option<MetaObject>) -> RawResult {
    let mut members = meta.map(|meta| meta.0).unwrap_or_default();
    match (members.remove(RESULT), members.remove(DAMAGE)) {
        (Some(result), _) => Ok(result),
        (None, Some(Json::String(why))) => Err(why),
        _ => Err("the server answered another request than this one".to_owned()),
    }
}

/// Why the answer to a handshake cannot be read.
pub fn damage_of(result: &ServerResult) -> Option<&str> {
    match result {
        ServerResult::CustomResult(custom) => custom.0.get(DAMAGE)?.as_str(),
        _ => None,
    }
}

/// An error of any shape.
pub fn error_data(error: &Json) -> ErrorData {
    let code = match error.get("code").and_then(Json::as_i64).map(i32::try_from) {
        Some(Ok(code)) => ErrorCode(code),
        _ => ErrorCode::INTERNAL_ERROR,
    };
    let said = match error.get("message") {
        None | Some(Json::Null) => error,
        Some(said) => said,
    };
    let said = match said {
        Json::String(text) => text.clone(),
        said => said.to_string(),
    };
    let data = match error.get("data") {
        None | Some(Json::Null) => None,
        data => data.cloned(),
    };
    ErrorData::new(code, said, data)
}

/// Whether a text that is not JSON was meant as a message.
fn resembles(text: &[u8]) -> bool {
    let head = text.get(..HEAD).unwrap_or(text);
    let has = |name: &str| head.windows(name.len()).any(|part| part == name.as_bytes());
    text.starts_with(b"{") && (has("\"jsonrpc\"") || has("\"id\"") && (has("\"result\"") || has("\"error\"")))
}

/// The id in a text that is not JSON: the first one at its beginning.
fn id_within(text: &[u8]) -> Option<Json> {
    const ID: &[u8] = b"\"id\"";
    let head = text.get(..HEAD).unwrap_or(text);
    let at = head.windows(ID.len()).position(|part| part == ID)?;
    // What is before it is part of the message itself, not of something in it.
    let before = head.get(..at)?;
    let depth = before.iter().filter(|byte| **byte == b'{').count();
    let rest = head.get(at + ID.len()..)?.trim_ascii_start().strip_prefix(b":")?.trim_ascii_start();
    let end = rest.iter().position(|byte| matches!(byte, b',' | b'}'))?;
    if depth == 1 { read_json_bytes(rest.get(..end)?).ok() } else { None }
}

/// What is wrong with a JSON text, and where. A message is one line.
fn place(why: &serde_json::Error) -> String {
    why.to_string().replace(" at line 1 column ", " at column ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use rmcp::model::{CallToolRequest, CallToolRequestParams, ListToolsRequest};

    fn waiting(ids: &[i64]) -> OpenRequests {
        let open = OpenRequests::default();
        for id in ids {
            let call = CallToolRequest::new(CallToolRequestParams::new("echo"));
            open.note_request(&ClientJsonRpcMessage::request(
                ClientRequest::CallToolRequest(call),
                RequestId::Number(*id),
            ));
        }
        open
    }

    /// The id and what is in the answer.
    fn answer(incoming: IncomingText) -> (i64, String) {
        let IncomingText::Message(message) = incoming else { panic!("{incoming:?}") };
        let (id, said) = match *message {
            ServerJsonRpcMessage::Response(response) => {
                let ServerResult::CallToolResult(result) = response.result else { panic!("{:?}", response.result) };
                (response.id, open_envelope(result.meta).map_or_else(|why| why, |result| result.to_string()))
            }
            ServerJsonRpcMessage::Error(error) => (error.id.unwrap(), format!("error: {}", error.error.message)),
            other => panic!("{other:?}"),
        };
        let RequestId::Number(id) = id else { panic!("{id:?}") };
        (id, said)
    }

    #[test]
    fn whatever_resembles_an_answer_is_the_answer_of_its_request() {
        let unread = |why: &str| format!("the server sent a message that cannot be read: {why}");
        let table: &[(&str, String)] = &[
            (r#"{"jsonrpc":"2.0","id":3,"result":{"content":[]}}"#, r#"{"content":[]}"#.to_owned()),
            (r#"{"id":3,"result":{"content":null}}"#, r#"{"content":null}"#.to_owned()),
            (r#"{"jsonrpc":"2.0","id":"3","result":7}"#, "7".to_owned()),
            (r#"{"jsonrpc":"1.0","id":3,"result":{"n":-Infinity},"error":null}"#, r#"{"n":null}"#.to_owned()),
            ("\u{feff}{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":[NaN]}", "[null]".to_owned()),
            (r#"{"jsonrpc":"2.0","id":3,"result":null,"error":"disk full"}"#, "error: disk full".to_owned()),
            (r#"{"jsonrpc":"2.0","id":3,"error":{"message":{"a":1}}}"#, r#"error: {"a":1}"#.to_owned()),
            (r#"{"id":3,"error":{"code":"E17","message":"gone"}}"#, "error: gone".to_owned()),
            (
                r#"{"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"te"#,
                unread("it is not JSON: EOF while parsing a string at column 56"),
            ),
            (r#"{"jsonrpc":"2.0","id":3,"result":{"a":nan}}"#, unread("it is not JSON: expected ident at column 40")),
            (r#"{"jsonrpc":"2.0","id":3}"#, unread("it has neither `result` nor `error` nor `method`")),
        ];
        for (text, said) in table {
            assert_eq!(answer(read_message(text.as_bytes(), &waiting(&[2, 3]), None)), (3, said.clone()), "{text}");
        }
    }

    #[test]
    fn an_answer_without_an_id_is_that_of_the_only_request() {
        let texts = [r#"{"jsonrpc":"2.0","error":"no"}"#, r#"{"jsonrpc":"2.0","id":null,"error":{"message":"no"}}"#];
        for text in texts {
            assert_eq!(answer(read_message(text.as_bytes(), &waiting(&[5]), None)), (5, "error: no".to_owned()));
            let several = read_message(text.as_bytes(), &waiting(&[5, 6]), None);
            assert!(matches!(several, IncomingText::Unreadable(_)), "{several:?}");
        }
        // Over HTTP, the request is known.
        let six = RequestId::Number(6);
        let found =
            read_message(br#"{"jsonrpc":"2.0","id":"server-error","error":"no"}"#, &waiting(&[5, 6]), Some(&six));
        assert_eq!(answer(found), (6, "error: no".to_owned()));
        let cut = read_message(b"{\"jsonrpc\":\"2.0\",", &waiting(&[5, 6]), None);
        assert!(matches!(cut, IncomingText::Unreadable(_)), "{cut:?}");
    }

    #[test]
    fn logs_and_answers_that_nothing_waits_for_end_no_call() {
        let table = [
            "hello",
            "[INFO] started",
            "{ level: 'info' }",
            "{",
            r#"{"level":"error","error":"cannot connect"}"#,
            r#"{"id":"job-7","status":"done"}"#,
            "7",
        ];
        for text in table {
            let found = read_message(text.as_bytes(), &waiting(&[3]), None);
            assert!(matches!(found, IncomingText::OtherText), "{text}: {found:?}");
        }
        for text in [r#"{"jsonrpc":"2.0","id":99,"result":{}}"#, "", "{\"jsonrpc\":\"2.0\",\"method\":7}"] {
            let found = read_message(text.as_bytes(), &waiting(&[3]), None);
            assert!(matches!(found, IncomingText::Idle), "{text}: {found:?}");
        }
    }

    #[test]
    fn an_envelope_survives_the_parser_of_the_sdk() {
        let open = waiting(&[4]);
        open.note_request(&ClientJsonRpcMessage::request(
            ClientRequest::ListToolsRequest(ListToolsRequest::default()),
            RequestId::Number(5),
        ));
        let tools = r#"{"tools":[{"name":"a","inputSchema":null},{"name":"b","inputSchema":{}}],"nextCursor":7}"#;
        let list = read_message(format!(r#"{{"jsonrpc":"2.0","id":5,"result":{tools}}}"#).as_bytes(), &open, None);
        let call = read_message(br#"{"jsonrpc":"2.0","id":4,"result":{"resultType":"input_required"}}"#, &open, None);
        for found in [list, call] {
            let IncomingText::Message(message) = found else { panic!("{found:?}") };
            let read: ServerJsonRpcMessage = serde_json::from_str(&serde_json::to_string(&message).unwrap()).unwrap();
            assert_eq!(format!("{read:?}"), format!("{message:?}"));
        }
    }
}
