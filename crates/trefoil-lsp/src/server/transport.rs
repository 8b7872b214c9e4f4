//! Where messages come from and go to. On standard input and output they have headers. Reading continues after an invalid message, and memory for a message is allocated only as
//! its bytes arrive.

use std::io::{BufRead, Error, ErrorKind, Read as _, Write};
use std::sync::mpsc::{Receiver, channel};

use lsp_server::{ErrorCode, Message};
use serde_json::{Value, json};
use trefoil_template::read_json_bytes;

/// Maximum length of a header line.
const HEADER: u64 = 8 << 10;
/// Maximum length of a message: more than ten times that of any text that is checked.
const CONTENT: u64 = 256 << 20;

/// Where the messages of a client come from.
pub trait MessageSource {
    /// Waits for a message, and returns it with all that have arrived since. None: the client has left.
    fn wait_batch(&mut self) -> Vec<ProtocolMessage>;
}

/// Where the messages for a client go.
pub trait MessageSink {
    /// Sends one as JSON text. `false`: the client has left.
    fn send_message(&mut self, json: &str) -> bool;
}

/// An incoming message.
pub enum ProtocolMessage {
    /// A message.
    Message(Message),
    /// A message with invalid content, and the reason.
    Malformed(String),
}

impl ProtocolMessage {
    /// A message from its JSON text.
    pub fn from_json(json: &[u8]) -> Self {
        match read_json_bytes(json) {
            Ok(message) => Self::Message(message),
            Err(_) => Self::Malformed("the content is not a JSON-RPC message".to_owned()),
        }
    }
    /// Whether the client ends the session.
    fn is_exit(&self) -> bool {
        matches!(self, Self::Message(Message::Notification(n)) if n.method == "exit")
    }
}

impl MessageSource for Receiver<ProtocolMessage> {
    fn wait_batch(&mut self) -> Vec<ProtocolMessage> {
        let Ok(first) = self.recv() else { return Vec::new() };
        let mut batch = vec![first];
        batch.extend(self.try_iter());
        batch
    }
}

/// A message for a client.
pub fn message_json(message: &Message) -> Value {
    let mut json = serde_json::to_value(message).unwrap_or_default();
    if let Some(members) = json.as_object_mut() {
        members.insert("jsonrpc".to_owned(), "2.0".into());
    }
    json
}

/// The response to a message whose id could not be read.
pub fn malformed_json(why: &str) -> Value {
    json!({
        "jsonrpc": "2.0",
        "id": null,
        "error": { "code": ErrorCode::ParseError as i32, "message": why },
    })
}

/// Reads on a separate thread until the input ends or its framing is invalid.
pub fn read_messages(mut input: impl BufRead + Send + 'static) -> Receiver<ProtocolMessage> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        loop {
            let content = match content(&mut input) {
                Ok(Some(content)) => content,
                Ok(None) => return,
                Err(why) => {
                    // The start of the next message is unknown, so this can only be reported to the user.
                    let _ = writeln!(std::io::stderr(), "error: cannot read any more messages: {why}");
                    return;
                }
            };
            // The content was read completely, so the next header follows whatever it is.
            let incoming = ProtocolMessage::from_json(&content);
            let last = incoming.is_exit();
            if sender.send(incoming).is_err() || last {
                return;
            }
        }
    });
    receiver
}

/// Reads the content of the next message; `None` at the end of the input.
fn content(input: &mut impl BufRead) -> std::io::Result<Option<Vec<u8>>> {
    let mut length = None;
    loop {
        let mut line = String::new();
        if input.by_ref().take(HEADER).read_line(&mut line)? == 0 {
            return Ok(None);
        }
        let Some(line) = line.strip_suffix('\n') else { return Err(invalid("a header without an end")) };
        let line = line.trim_end();
        if line.is_empty() {
            break;
        }
        let Some((name, value)) = line.split_once(':') else { return Err(invalid("no header")) };
        if name.trim().eq_ignore_ascii_case("content-length") {
            length = value.trim().parse::<u64>().ok();
        }
    }
    let length = match length {
        Some(length) if length <= CONTENT => length,
        _ => return Err(invalid("missing or invalid length")),
    };
    let mut content = Vec::new();
    input.by_ref().take(length).read_to_end(&mut content)?;
    if (content.len() as u64) < length { Ok(None) } else { Ok(Some(content)) }
}

fn invalid(what: &str) -> Error {
    Error::new(ErrorKind::InvalidData, what)
}

/// Messages with headers, on a stream. Failures are ignored; the reader notices when the client has disconnected.
pub struct HeaderedOutput<W>(pub W);

impl<W: Write> MessageSink for HeaderedOutput<W> {
    fn send_message(&mut self, json: &str) -> bool {
        if write!(self.0, "Content-Length: {}\r\n\r\n{json}", json.len()).is_ok() {
            let _ = self.0.flush();
        }
        true
    }
}
