//! Reads and writes messages. Reading continues after an invalid message, and memory for a message is allocated only as
//! its bytes arrive.

use std::io::{BufRead, Error, ErrorKind, Read as _, Write};
use std::sync::mpsc::{Receiver, channel};

use lsp_server::{ErrorCode, Message};
use trefoil_template::read_json_bytes;

/// Maximum length of a header line.
const HEADER: u64 = 8 << 10;
/// Maximum length of a message: more than ten times that of any text that is checked.
const CONTENT: u64 = 256 << 20;

/// An incoming message.
pub enum ProtocolMessage {
    /// A message.
    Message(Message),
    /// A message with invalid content, and the reason.
    Malformed(String),
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
            let incoming = match read_json_bytes(&content) {
                Ok(message) => ProtocolMessage::Message(message),
                // The content was read completely, so the next header follows.
                Err(_) => ProtocolMessage::Malformed("the content is not a JSON-RPC message".to_owned()),
            };
            let last = matches!(&incoming, ProtocolMessage::Message(Message::Notification(n)) if n.method == "exit");
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

/// Writes a message. Failures are ignored; the reader notices when the client has disconnected.
pub fn write_message(output: &mut impl Write, message: impl Into<Message>) {
    let _ = message.into().write(output);
}

/// Responds to a message whose id could not be read.
pub fn write_malformed(output: &mut impl Write, why: &str) {
    let answer = serde_json::json!({
        "jsonrpc": "2.0",
        "id": null,
        "error": { "code": ErrorCode::ParseError as i32, "message": why },
    })
    .to_string();
    if write!(output, "Content-Length: {}\r\n\r\n{answer}", answer.len()).is_ok() {
        let _ = output.flush();
    }
}
