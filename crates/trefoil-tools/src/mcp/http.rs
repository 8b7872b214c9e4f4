//! Servers over streamable HTTP: the SDK's transport on top of the guarded client.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use futures::stream::BoxStream;
use http::{HeaderName, HeaderValue};
use reqwest::Method;
use reqwest::header::{CONTENT_TYPE, WWW_AUTHENTICATE};
use rmcp::ErrorData;
use rmcp::model::{ClientJsonRpcMessage, ClientRequest, ProtocolVersion, RequestId, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_client::{
    SseError, StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
};
use serde_json::Value as Json;
use sse_stream::{Sse, SseStream};
use trefoil_runtime::ToolError;
use trefoil_template::{NodeCounter, Value, has_too_many_nodes, limits, read_json_bytes};

use super::connection_failure::ConnectionFailure;
use super::incoming::{IncomingText, OpenRequests, error_data, read_message};
use crate::guard::{GuardedClient, GuardedRequest, HttpAnswer, HttpFault, OpenResponse};
use crate::process::last_words;

const JSON: &str = "application/json";
const EVENTS: &str = "text/event-stream";
const SESSION: &str = "mcp-session-id";

/// A request to a server.
#[derive(Clone, Copy)]
pub enum McpRequest<'a> {
    /// The start of a connection.
    Handshake,
    /// All of its tools.
    Tools,
    /// A call of a tool, with arguments as they may be shown.
    Call(&'a str, &'a Value),
}

/// A request in one line.
pub fn display_request(url: &str, wanted: McpRequest<'_>) -> String {
    let to = GuardedRequest { method: Method::POST, ..GuardedRequest::for_get(url) };
    match wanted {
        McpRequest::Handshake => format!("{} for the handshake", to.display_line()),
        McpRequest::Tools => format!("{} for the list of tools", to.display_line()),
        McpRequest::Call(tool, arguments) => {
            let body = Some(arguments.to_json().to_string().into_bytes());
            format!("{} for the tool `{tool}`", GuardedRequest { body, ..to }.display_line())
        }
    }
}

/// Why a message was not accepted, or not sent.
pub type HttpFailure = StreamableHttpError<HttpFault>;
type EventStream = BoxStream<'static, Result<Sse, SseError>>;

/// Sends the SDK's messages with the guarded client.
#[derive(Clone)]
pub struct GuardedTransport {
    client: GuardedClient,
    /// The operator's headers, with secrets filled in.
    headers: Arc<[(String, String)]>,
    time: Duration,
    trouble: ConnectionFailure,
    requests: OpenRequests,
}

impl GuardedTransport {
    /// `headers` are sent with every request.
    pub fn new(
        client: GuardedClient,
        headers: Vec<(String, String)>,
        time: Duration,
        trouble: ConnectionFailure,
    ) -> Self {
        Self { client, headers: headers.into(), time, trouble, requests: OpenRequests::default() }
    }

    fn call(
        &self,
        method: Method,
        url: &str,
        session: Option<&str>,
        more: &HashMap<HeaderName, HeaderValue>,
    ) -> GuardedRequest {
        let mut headers = self.headers.to_vec();
        let accept = if method == Method::GET { EVENTS.to_owned() } else { format!("{JSON}, {EVENTS}") };
        headers.push(("accept".to_owned(), accept));
        if let Some(session) = session {
            headers.push((SESSION.to_owned(), session.to_owned()));
        }
        for (name, value) in more {
            if let Ok(value) = value.to_str() {
                headers.push((name.to_string(), value.to_owned()));
            }
        }
        GuardedRequest { method, headers, time: Some(self.time), ..GuardedRequest::for_get(url) }
    }

    async fn open_response(&self, call: GuardedRequest) -> Result<OpenResponse, HttpFailure> {
        self.client.open_response(call).await.map_err(|fault| self.fault(fault))
    }

    async fn read_whole_answer(&self, opened: OpenResponse) -> Result<HttpAnswer, HttpFailure> {
        let read = tokio::time::timeout(self.time, opened.read_whole()).await;
        let answer = read.unwrap_or(Err(HttpFault::Timeout(self.time.as_secs()))).map_err(|fault| self.fault(fault))?;
        if has_too_many_nodes(&answer.body) {
            self.trouble.record_failure(too_many());
            return Err(StreamableHttpError::UnexpectedServerResponse(too_many().to_string().into()));
        }
        Ok(answer)
    }

    fn fault(&self, fault: HttpFault) -> HttpFailure {
        self.trouble.record_failure(fault.clone().into());
        StreamableHttpError::Client(fault)
    }

    /// The events of an answer. `trouble`: where a failure is reported; `asked`: the request that they answer.
    fn events(&self, opened: OpenResponse, trouble: ConnectionFailure, asked: Option<RequestId>) -> EventStream {
        let (requests, told) = (self.requests.clone(), trouble.clone());
        let held = (opened, trouble, EventCounter::default());
        let pieces = futures::stream::unfold(Some(held), |held| async move {
            let (mut opened, trouble, mut counter) = held?;
            match opened.next_chunk().await {
                Ok(Some(piece)) if counter.is_beyond(&piece) => {
                    trouble.record_failure(too_many());
                    None
                }
                Ok(Some(piece)) => Some((Ok(piece), Some((opened, trouble, counter)))),
                Ok(None) => None,
                Err(fault) => {
                    trouble.record_failure(fault.clone().into());
                    Some((Err(fault), None))
                }
            }
        });
        let read = move |event: Result<Sse, SseError>| {
            let mut event = event?;
            let Some(data) = event.data.take() else { return Ok(event) };
            match read_message(data.as_bytes(), &requests, asked.as_ref()) {
                IncomingText::Message(message) => event.data = serde_json::to_string(&message).ok(),
                IncomingText::Unreadable(why) => told.record_failure(ToolError::Unusable(why)),
                IncomingText::Idle | IncomingText::OtherText => {}
            }
            Ok(event)
        };
        SseStream::from_bytes_stream(pieces).map(read).boxed()
    }

    /// The meaning of an error status: some servers put a protocol error in the body.
    fn refusal(
        &self,
        answer: &HttpAnswer,
        message: &ClientJsonRpcMessage,
        session: bool,
    ) -> Result<StreamableHttpPostResponse, HttpFailure> {
        let status = answer.status.as_u16();
        let mut error = None;
        if let Ok(body) = read_json_bytes::<Json>(&answer.body)
            && body.get("jsonrpc").is_some()
            && let Some(said) = body.get("error")
        {
            error = Some(error_data(said));
        }
        let closed = matches!(status, 401 | 403);
        if let ClientJsonRpcMessage::Request(request) = message
            && matches!(request.request, ClientRequest::DiscoverRequest(_))
            && !session
            && answer.status.is_client_error()
            && !closed
        {
            // A server with an earlier protocol does not know this request; the SDK then uses the older handshake.
            let error = error.unwrap_or_else(|| ErrorData::invalid_request(format!("answered with {status}"), None));
            let message = ServerJsonRpcMessage::error(error, Some(request.id.clone()));
            return Ok(StreamableHttpPostResponse::Json(message, None));
        }
        // One that does not know the version of the handshake may name others in a text.
        if error.is_none() && is_handshake(message) && answer.status.is_client_error() {
            let text = last_words(&String::from_utf8_lossy(&answer.body));
            if names_version(&text) {
                error = Some(ErrorData::invalid_params(text, None));
            }
        }
        match error {
            // After a restart, a server does not know the session. The protocol asks for 404, but the official servers answer 400.
            Some(error) if session && status == 400 && says_unknown_session(&error) => {
                Err(StreamableHttpError::SessionExpired)
            }
            Some(error) if !closed => {
                let error = ServerJsonRpcMessage::error(error, asked_by(message).cloned());
                Ok(StreamableHttpPostResponse::Json(error, None))
            }
            _ => Err(self.status(answer)),
        }
    }

    fn status(&self, HttpAnswer { status, headers, .. }: &HttpAnswer) -> HttpFailure {
        let reason = match status.canonical_reason() {
            Some(reason) => format!(": {reason}"),
            None => String::new(),
        };
        // RFC 9110, 11.6.1: the scheme that the server expects.
        let mut wanted = String::new();
        if let Some(Ok(said)) = headers.get(WWW_AUTHENTICATE).map(HeaderValue::to_str)
            && let Some(scheme) = said.split([' ', ',']).next()
            && is_token(scheme)
        {
            wanted = format!(" (it asks for `{scheme}` credentials)");
        }
        let message = format!("answered with {}{reason}{wanted}", status.as_u16());
        self.trouble.record_failure(ToolError::Status {
            status: status.as_u16(),
            message: message.clone(),
            retry_after_ms: None,
        });
        StreamableHttpError::UnexpectedServerResponse(message.into())
    }
}

fn too_many() -> ToolError {
    let why = format!("the server sent a message with more than {} values", limits::ANSWER_NODES);
    ToolError::Unusable(why)
}

/// Counts the values in each event of a stream.
#[derive(Default)]
struct EventCounter {
    nodes: NodeCounter,
    /// Whether the last line so far is empty.
    empty: bool,
}

impl EventCounter {
    /// Counts a piece of the stream, and returns whether an event has too many values.
    fn is_beyond(&mut self, piece: &[u8]) -> bool {
        for line in piece.split_inclusive(|byte| *byte == b'\n') {
            let ends = line.ends_with(b"\n");
            // An empty line ends an event.
            if ends && self.empty && line.trim_ascii().is_empty() {
                self.nodes = NodeCounter::default();
            }
            self.empty = ends;
            self.nodes.push(line);
            if self.nodes.node_count() > limits::ANSWER_NODES {
                return true;
            }
        }
        false
    }
}

/// Whether an error without a code of its own means that the server has no such session.
fn says_unknown_session(error: &ErrorData) -> bool {
    !matches!(error.code.0, -32700..=-32600) && error.message.to_ascii_lowercase().contains("session")
}

/// The id of the request that a message is.
fn asked_by(message: &ClientJsonRpcMessage) -> Option<&RequestId> {
    match message {
        ClientJsonRpcMessage::Request(request) => Some(&request.id),
        _ => None,
    }
}

fn is_handshake(message: &ClientJsonRpcMessage) -> bool {
    matches!(message, ClientJsonRpcMessage::Request(request) if matches!(request.request, ClientRequest::InitializeRequest(_)))
}

/// Whether a text is a short name, such as that of a scheme.
fn is_token(text: &str) -> bool {
    (1..=20).contains(&text.len()) && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
}

fn header_text<'r>(opened: &'r OpenResponse, name: &str) -> Option<&'r str> {
    opened.response_headers().get(name)?.to_str().ok()
}

fn is(opened: &OpenResponse, kind: &str) -> bool {
    let said = header_text(opened, CONTENT_TYPE.as_str()).unwrap_or_default();
    said.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case(kind)
}

impl StreamableHttpClient for GuardedTransport {
    type Error = HttpFault;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        _auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<StreamableHttpPostResponse, HttpFailure> {
        let mut call = self.call(Method::POST, &uri, session_id.as_deref(), &custom_headers);
        call.headers.push(("content-type".to_owned(), JSON.to_owned()));
        call.body = Some(serde_json::to_vec(&message)?);
        self.requests.note_request(&message);
        let opened = self.open_response(call).await?;
        let status = opened.status();
        let session = session_id.is_some();
        if matches!(status.as_u16(), 202 | 204) {
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        if status.as_u16() == 404 && session {
            return Err(StreamableHttpError::SessionExpired);
        }
        if !status.is_success() {
            let answer = self.read_whole_answer(opened).await?;
            return self.refusal(&answer, &message, session);
        }
        let new = header_text(&opened, SESSION).map(str::to_owned);
        if is(&opened, EVENTS) {
            let events = self.events(opened, self.trouble.clone(), asked_by(&message).cloned());
            return Ok(StreamableHttpPostResponse::Sse(events, new));
        }
        let json = is(&opened, JSON);
        let answer = self.read_whole_answer(opened).await?;
        let Some(asked) = asked_by(&message) else { return Ok(StreamableHttpPostResponse::Accepted) };
        let what = match read_message(&answer.body, &self.requests, Some(asked)) {
            IncomingText::Message(answered) if json => return Ok(StreamableHttpPostResponse::Json(*answered, new)),
            IncomingText::Unreadable(why) => why,
            _ => "the server's answer is not an MCP message".to_owned(),
        };
        self.trouble.record_failure(ToolError::Unusable(what.clone()));
        Err(StreamableHttpError::UnexpectedServerResponse(what.into()))
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session_id: Arc<str>,
        _auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<(), HttpFailure> {
        let call = self.call(Method::DELETE, &uri, Some(&session_id), &custom_headers);
        // A server need not support deleting sessions.
        self.client.open_response(call).await.map_err(StreamableHttpError::Client)?;
        Ok(())
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        _auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<EventStream, HttpFailure> {
        let mut call = self.call(Method::GET, &uri, session_id.as_deref(), &custom_headers);
        if let Some(id) = last_event_id {
            call.headers.push(("last-event-id".to_owned(), id));
        }
        // No request depends on this stream, so its failures are not reported.
        let opened = self.client.open_response(call).await.map_err(StreamableHttpError::Client)?;
        if opened.status().as_u16() == 405 || !is(&opened, EVENTS) {
            return Err(StreamableHttpError::ServerDoesNotSupportSse);
        }
        Ok(self.events(opened, ConnectionFailure::default(), None))
    }
}

/// Whether a text names versions of the protocol.
fn names_version(text: &str) -> bool {
    ProtocolVersion::KNOWN_VERSIONS.iter().any(|version| text.contains(version.as_str()))
}
