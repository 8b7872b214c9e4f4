//! Messages in and out. Reading continues after a message that could not be understood, and believes no length before its
//! bytes have come.

use std::io::{BufRead, Error, ErrorKind, Read as _, Write};
use std::sync::mpsc::{Receiver, channel};

use lsp_server::{ErrorCode, Message};

/// A longer header line is invalid.
const HEADER: u64 = 8 << 10;
/// A longer message is invalid: no text that is checked is a tenth as long.
const CONTENT: u64 = 256 << 20;

/// What came in.
pub enum Incoming {
    /// A message.
    Message(Message),
    /// A message whose content is no message, and why.
    Malformed(String),
}

/// Reads on a thread of its own, until the input ends or its framing is lost.
pub fn read(mut input: impl BufRead + Send + 'static) -> Receiver<Incoming> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        loop {
            let content = match content(&mut input) {
                Ok(Some(content)) => content,
                Ok(None) => return,
                Err(why) => {
                    // Where the next message begins is not known any more: only a person can be told.
                    let _ = writeln!(std::io::stderr(), "error: cannot read any more messages: {why}");
                    return;
                }
            };
            let incoming = match serde_json::from_slice(&content) {
                Ok(message) => Incoming::Message(message),
                // It has been read to its end, so the next header follows.
                Err(_) => Incoming::Malformed("the content is not a JSON-RPC message".to_owned()),
            };
            let last = matches!(&incoming, Incoming::Message(Message::Notification(n)) if n.method == "exit");
            if sender.send(incoming).is_err() || last {
                return;
            }
        }
    });
    receiver
}

/// The bytes of the next message; none at the end of the input.
fn content(input: &mut impl BufRead) -> std::io::Result<Option<Vec<u8>>> {
    let lost = |what: &str| Error::new(ErrorKind::InvalidData, what);
    let mut length = None;
    loop {
        let mut line = String::new();
        if input.by_ref().take(HEADER).read_line(&mut line)? == 0 {
            return Ok(None);
        }
        let line = line.strip_suffix('\n').ok_or_else(|| lost("a header without an end"))?.trim_end();
        if line.is_empty() {
            break;
        }
        let (name, value) = line.split_once(':').ok_or_else(|| lost("no header"))?;
        if name.trim().eq_ignore_ascii_case("content-length") {
            length = value.trim().parse::<u64>().ok();
        }
    }
    let length = length.filter(|n| *n <= CONTENT).ok_or_else(|| lost("missing or invalid length"))?;
    let mut content = Vec::new();
    input.by_ref().take(length).read_to_end(&mut content)?;
    if (content.len() as u64) < length { Ok(None) } else { Ok(Some(content)) }
}

/// Writes a message. Who has gone away hears no more; that the input ends will be noticed.
pub fn write(output: &mut impl Write, message: impl Into<Message>) {
    let _ = message.into().write(output);
}

/// Answers what had no id that could be read.
pub fn write_malformed(output: &mut impl Write, why: &str) {
    let answer = serde_json::json!({
        "jsonrpc": "2.0",
        "id": null,
        "error": { "code": ErrorCode::ParseError as i32, "message": why },
    })
    .to_string();
    let _ = write!(output, "Content-Length: {}\r\n\r\n{answer}", answer.len()).and_then(|()| output.flush());
}
