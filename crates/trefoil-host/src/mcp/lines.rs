//! The client's messages and ours, one line each.
//!
//! The SDK drops a message that it cannot read, and its client then waits forever. Here such a message is answered with
//! an error and reported. The end of its stream is noticed at once, even while calls are in progress.

use std::io;
use std::sync::Arc;

use rmcp::RoleServer;
use rmcp::model::{
    CallToolRequestParams, ClientRequest, InitializeRequestParams, JsonRpcMessage, PaginatedRequestParams,
};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::sync::{Mutex, mpsc};
use trefoil_template::read_json_bytes;

use super::id::IdSearch;

/// Maximum size of a client's message in bytes.
const LONGEST: usize = 8 << 20;
/// Messages that were read and not yet handled.
const QUEUE: usize = 64;

/// The codes of JSON-RPC.
const UNREADABLE: i32 = -32700;
const INVALID: i32 = -32600;
const WRONG_PARAMS: i32 = -32602;

type IncomingMessage = RxJsonRpcMessage<RoleServer>;

/// Gets why messages of a client are rejected.
pub trait RejectionWatch: Send + Sync {
    /// A message was rejected, and why.
    fn message_rejected(&self, why: &str);
}

/// The streams of a client.
pub struct ServerStreams {
    /// Its messages.
    pub input: Box<dyn AsyncRead + Send + Unpin>,
    /// The answers to it.
    pub output: Box<dyn AsyncWrite + Send + Unpin>,
    /// Makes JSON harmless for where it is written, which may be a terminal.
    pub escape: fn(&str) -> String,
}

/// The transport for the SDK.
pub struct LineTransport {
    messages: mpsc::Receiver<IncomingMessage>,
    out: ClientStream,
}

/// The stream to the client, `None` after the SDK has closed it, and what makes JSON harmless for it.
#[derive(Clone)]
struct ClientStream(Arc<Mutex<Option<Box<dyn AsyncWrite + Send + Unpin>>>>, fn(&str) -> String);

impl LineTransport {
    /// Reads from now on. `left` is called when the client has closed its stream.
    pub fn read_from(
        streams: ServerStreams,
        watch: Arc<dyn RejectionWatch>,
        left: impl FnOnce() + Send + 'static,
    ) -> Self {
        let ServerStreams { input, output, escape } = streams;
        let out = ClientStream(Arc::new(Mutex::new(Some(output))), escape);
        let (sender, messages) = mpsc::channel(QUEUE);
        let answers = out.clone();
        tokio::spawn(async move {
            let mut from = BufReader::new(input);
            while let Some(line) = next(&mut from, LONGEST).await {
                match line.read() {
                    Ok(Some(message)) => {
                        if sender.send(message).await.is_err() {
                            break;
                        }
                    }
                    Ok(None) => {}
                    Err(refused) => refused.report(&answers, &*watch).await,
                }
            }
            left();
        });
        Self { messages, out }
    }
}

impl Transport<RoleServer> for LineTransport {
    type Error = io::Error;

    fn send(&mut self, item: TxJsonRpcMessage<RoleServer>) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let out = self.out.clone();
        async move { out.write(serde_json::to_string(&item)).await }
    }

    async fn receive(&mut self) -> Option<IncomingMessage> {
        self.messages.recv().await
    }

    async fn close(&mut self) -> io::Result<()> {
        self.out.0.lock().await.take();
        Ok(())
    }
}

impl ClientStream {
    async fn write(&self, message: serde_json::Result<String>) -> io::Result<()> {
        let line = format!("{}\n", (self.1)(&message?));
        match &mut *self.0.lock().await {
            Some(out) => {
                out.write_all(line.as_bytes()).await?;
                out.flush().await
            }
            None => Err(io::ErrorKind::NotConnected.into()),
        }
    }
}

/// A line from the client.
enum ClientLine {
    Whole(Vec<u8>),
    /// It was longer than allowed. What is left of it is the id.
    TooLong(IdSearch),
}

/// A message that cannot be handled.
#[derive(Debug, PartialEq)]
struct RefusedMessage {
    code: i32,
    why: String,
    id: Value,
    /// Whether the client expects an answer.
    answered: bool,
}

/// The next line; `None` at the end of the stream, and if the stream cannot be read.
async fn next(from: &mut BufReader<impl AsyncRead + Unpin>, longest: usize) -> Option<ClientLine> {
    let mut line = ClientLine::Whole(Vec::new());
    loop {
        let part = from.fill_buf().await.unwrap_or_default();
        if part.is_empty() {
            // The last message may lack its line break.
            return (!matches!(&line, ClientLine::Whole(bytes) if bytes.is_empty())).then_some(line);
        }
        let end = part.iter().position(|byte| *byte == b'\n');
        let part = part.get(..end.unwrap_or(part.len())).unwrap_or_default();
        match &mut line {
            ClientLine::Whole(bytes) if bytes.len() + part.len() > longest => {
                let mut search = IdSearch::default();
                search.feed_part(bytes);
                search.feed_part(part);
                line = ClientLine::TooLong(search);
            }
            ClientLine::Whole(bytes) => bytes.extend_from_slice(part),
            ClientLine::TooLong(search) => search.feed_part(part),
        }
        let read = part.len() + usize::from(end.is_some());
        from.consume(read);
        if end.is_some() {
            return Some(line);
        }
    }
}

impl ClientLine {
    /// The message; `None` if there is nothing to do.
    fn read(self) -> Result<Option<IncomingMessage>, RefusedMessage> {
        let refused = |code, why: String, id: Option<Value>| {
            Err(RefusedMessage { code, why, id: id.unwrap_or(Value::Null), answered: true })
        };
        let bytes = match self {
            Self::Whole(bytes) => bytes,
            Self::TooLong(search) => {
                return refused(INVALID, format!("the message is longer than {} MB", LONGEST >> 20), search.id());
            }
        };
        let text = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(&bytes).trim_ascii();
        if text.is_empty() {
            return Ok(None);
        }
        match read_json_bytes::<Value>(text) {
            Err(error) => refused(UNREADABLE, format!("the message is not valid JSON: {error}"), {
                let mut search = IdSearch::default();
                search.feed_part(text);
                search.id()
            }),
            Ok(message) => understood(message),
        }
    }
}

/// The SDK's form of a message.
fn understood(message: Value) -> Result<Option<IncomingMessage>, RefusedMessage> {
    let id = message.get("id").cloned();
    let usable = id.as_ref().is_none_or(|id| id.is_i64() || id.is_string());
    let is_call = message.get("method").is_some_and(Value::is_string);
    let refused = |code, why: String| {
        let id = id.clone().filter(|_| usable).unwrap_or_default();
        // An answer to a notification or to a response would be an answer to nothing.
        Err(RefusedMessage { code, why, answered: is_call && message.get("id").is_some() || !message.is_object(), id })
    };
    if !message.is_object() {
        return refused(INVALID, "the message is not a JSON object".to_owned());
    }
    if is_call && !usable {
        return refused(INVALID, "`id` must be a string or an integer".to_owned());
    }
    match serde_json::from_value::<IncomingMessage>(message.clone()) {
        Ok(JsonRpcMessage::Request(request)) => match &request.request {
            // The SDK takes a known method with other parameters for an unknown method.
            ClientRequest::CustomRequest(custom) => match wrong_params(&custom.method, custom.params.as_ref()) {
                Some(why) => refused(WRONG_PARAMS, why),
                None => Ok(Some(JsonRpcMessage::Request(request))),
            },
            _ => Ok(Some(JsonRpcMessage::Request(request))),
        },
        Ok(read) => Ok(Some(read)),
        Err(error) => refused(INVALID, format!("the message is not valid JSON-RPC: {error}")),
    }
}

/// Why the parameters of a known method are wrong; `None` if the method is not known.
pub fn wrong_params(method: &str, params: Option<&Value>) -> Option<String> {
    use serde_json::from_value;
    let params = params.cloned().unwrap_or_default();
    let error = match method {
        "tools/call" => from_value::<CallToolRequestParams>(params).err(),
        "tools/list" => from_value::<Option<PaginatedRequestParams>>(params).err(),
        "initialize" => from_value::<InitializeRequestParams>(params).err(),
        _ => return None,
    };
    let why = error.map_or_else(|| "unexpected form".to_owned(), |error| error.to_string());
    Some(format!("invalid `params` of `{method}`: {why}"))
}

impl RefusedMessage {
    async fn report(self, out: &ClientStream, watch: &dyn RejectionWatch) {
        watch.message_rejected(&self.why);
        if self.answered {
            let error = json!({ "code": self.code, "message": self.why });
            // A disconnected client is detected elsewhere.
            let answer = json!({ "jsonrpc": "2.0", "id": self.id, "error": error });
            let _ = out.write(serde_json::to_string(&answer)).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(line: &str) -> (i32, Value, bool) {
        let refused = ClientLine::Whole(line.as_bytes().to_vec()).read().err().unwrap();
        (refused.code, refused.id, refused.answered)
    }

    #[test]
    fn what_cannot_be_read_is_answered_with_its_id() {
        let deep = "[".repeat(200) + &"]".repeat(200);
        for bad in ["1e999", &deep, r#"{"a":"#, "nonsense"] {
            let line = format!(r#"{{"jsonrpc":"2.0","method":"tools/call","params":{{"id":9,"x":{bad}}},"id":7}}"#);
            let first = format!(r#"{{"id":"a","jsonrpc":"2.0","params":{bad}"#);
            let open = bad.ends_with(':');
            assert_eq!(refused(&line), (UNREADABLE, if open { Value::Null } else { 7.into() }, true), "{line}");
            assert_eq!(refused(&first), (UNREADABLE, "a".into(), true), "{first}");
        }
    }

    #[test]
    fn wrong_messages_have_the_code_of_their_mistake() {
        let call = |params: &str| format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}"#);
        for params in [r#"{"name":"x","arguments":["a"]}"#, r#"{"arguments":{}}"#] {
            assert_eq!(refused(&call(params)), (WRONG_PARAMS, 1.into(), true), "{params}");
        }
        assert!(matches!(ClientLine::Whole(call(r#"{"name":"x"}"#).into_bytes()).read(), Ok(Some(_))));
        assert_eq!(refused(r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#), (INVALID, Value::Null, true));
        assert_eq!(refused(&call("5")), (INVALID, 1.into(), true));
        assert_eq!(refused("[]"), (INVALID, Value::Null, true));
        assert!(!refused(r#"{"jsonrpc":"2.0","id":1,"nothing":true}"#).2);
        assert!(matches!(ClientLine::Whole(b" \r".to_vec()).read(), Ok(None)));
        // The SDK says that it does not know the method.
        assert!(matches!(
            ClientLine::Whole(br#"{"jsonrpc":"2.0","id":1,"method":"x/y"}"#.to_vec()).read(),
            Ok(Some(_))
        ));
    }

    #[tokio::test]
    async fn a_long_line_is_skipped_but_not_its_id() {
        let long = format!("{{\"params\":\"{}\",\"id\":3}}\nnext\n", "x".repeat(100));
        let mut from = BufReader::with_capacity(7, long.as_bytes());
        let refused = next(&mut from, 50).await.unwrap().read().err().unwrap();
        assert_eq!((refused.code, refused.id), (INVALID, 3.into()));
        assert!(matches!(next(&mut from, 50).await, Some(ClientLine::Whole(text)) if text == b"next"));
        assert!(next(&mut from, 50).await.is_none());
        let mut from = BufReader::new(&b"{}\n{\"cut\": "[..]);
        assert!(matches!(next(&mut from, 50).await, Some(ClientLine::Whole(text)) if text == b"{}"));
        assert!(next(&mut from, 50).await.unwrap().read().is_err());
        assert!(next(&mut from, 50).await.is_none());
    }
}
