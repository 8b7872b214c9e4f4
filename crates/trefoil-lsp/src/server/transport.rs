//! Messages in and out. Framing is `lsp-server`'s; reading goes on after a message that could not be understood.

use std::io::{BufRead, ErrorKind, Write};
use std::sync::mpsc::{Receiver, channel};

use lsp_server::{ErrorCode, Message};

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
            let incoming = match Message::read(&mut input) {
                Ok(Some(message)) => Incoming::Message(message),
                Ok(None) => return,
                // The content has been read to its end then, so the next header follows.
                Err(error) if error.kind() == ErrorKind::InvalidData && is_about_content(&error.to_string()) => {
                    Incoming::Malformed("the content is no JSON-RPC message".to_owned())
                }
                Err(_) => return,
            };
            let last = matches!(&incoming, Incoming::Message(Message::Notification(n)) if n.method == "exit");
            if sender.send(incoming).is_err() || last {
                return;
            }
        }
    });
    receiver
}

/// Whether reading failed behind the header.
fn is_about_content(error: &str) -> bool {
    error.starts_with("malformed LSP payload") || error.contains("utf-8")
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
