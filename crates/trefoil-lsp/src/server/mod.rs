//! The protocol. Its types are used only here, not in features.
//!
//! Messages come from a [`MessageSource`] and go to a [`MessageSink`]: those of standard input and output, or those of a host that
//! has its clients elsewhere. One thread reads messages; this one handles them in order. Changes are applied at once but analysed only when a
//! request needs the result or no message is waiting, so that a burst of keystrokes is checked once.

mod answer;
mod capabilities;
mod converter;
mod position;
mod published_diagnostics;
mod session;
mod transport;
mod uri;

use std::collections::HashSet;
use std::io::BufReader;

use lsp_server::{ErrorCode, Message, Notification, Request, RequestId, Response};
use serde_json::Value;
use trefoil_project::folder_files::FolderFiles;

use session::EditorSession;
pub use transport::{MessageSink, MessageSource, ProtocolMessage};

/// Serves standard input and output until the client exits. Returns the exit code of the protocol: 0 if `exit` came
/// after `shutdown`, otherwise 1.
pub fn run() -> u8 {
    let mut incoming = transport::read_messages(BufReader::new(std::io::stdin()));
    let mut outgoing = transport::HeaderedOutput(std::io::stdout());
    serve_session(EditorSession::default(), &mut incoming, &mut outgoing)
}

/// Serves a client that is not on this machine until it exits or leaves: only the files below a folder, by their paths in it.
/// Blocks the thread.
pub fn serve_folder(folder: FolderFiles, incoming: &mut dyn MessageSource, outgoing: &mut dyn MessageSink) {
    serve_session(EditorSession::for_folder(folder), incoming, outgoing);
}

fn serve_session(mut session: EditorSession, incoming: &mut dyn MessageSource, outgoing: &mut dyn MessageSink) -> u8 {
    let mut phase = ServerPhase::New;
    loop {
        let batch = incoming.wait_batch();
        let cancelled = cancelled(&batch);
        let mut has_ended = batch.is_empty();
        let mut answers = Vec::new();
        for one in batch {
            match one {
                ProtocolMessage::Malformed(why) => answers.push(transport::malformed_json(&why)),
                ProtocolMessage::Message(Message::Request(request)) => {
                    let answer = if cancelled.contains(&request.id) {
                        failure(request.id, ErrorCode::RequestCanceled, "cancelled")
                    } else {
                        respond(&mut session, &mut phase, request)
                    };
                    answers.push(transport::message_json(&answer.into()));
                    answers.extend(session.outgoing.drain(..).map(|message| transport::message_json(&message)));
                }
                ProtocolMessage::Message(Message::Notification(n)) if n.method == "exit" => {
                    has_ended = true;
                    break;
                }
                ProtocolMessage::Message(Message::Notification(n)) => {
                    if matches!(phase, ServerPhase::Serving)
                        && let Some(request) = notice(&mut session, n)
                    {
                        answers.push(transport::message_json(&request.into()));
                    }
                }
                // Responses to our own requests need no action.
                ProtocolMessage::Message(Message::Response(_)) => {}
            }
            if !send_all(&session, &mut answers, outgoing) {
                return 1;
            }
        }
        if has_ended {
            return u8::from(!matches!(phase, ServerPhase::Ended));
        }
        if matches!(phase, ServerPhase::Serving) {
            let changed = catch_panics(|| published_diagnostics::publish_changes(&mut session)).unwrap_or_default();
            answers.extend(changed.iter().map(transport::message_json));
        }
        if !send_all(&session, &mut answers, outgoing) {
            return 1;
        }
    }
}

/// Sends messages as the client may see them. `false`: it has left.
fn send_all(session: &EditorSession, messages: &mut Vec<Value>, outgoing: &mut dyn MessageSink) -> bool {
    for mut message in messages.drain(..) {
        session.hide_places(&mut message);
        if !outgoing.send_message(&message.to_string()) {
            return false;
        }
    }
    true
}

/// The phase of the session.
enum ServerPhase {
    /// Before `initialize`.
    New,
    /// After `initialize`.
    Serving,
    /// After `shutdown`.
    Ended,
}

fn respond(session: &mut EditorSession, phase: &mut ServerPhase, request: Request) -> Response {
    let Request { id, method, params } = request;
    match (&*phase, method.as_str()) {
        (ServerPhase::New, "initialize") => match serde_json::from_value(params) {
            Ok(params) => {
                *phase = ServerPhase::Serving;
                session.apply_client_settings(&params);
                Response::new_ok(id, capabilities::initialize_result(session))
            }
            Err(error) => failure(id, ErrorCode::InvalidParams, &error.to_string()),
        },
        (ServerPhase::New, _) => failure(id, ErrorCode::ServerNotInitialized, "`initialize` must be the first request"),
        (ServerPhase::Ended, _) => failure(id, ErrorCode::InvalidRequest, "the server has been shut down"),
        (ServerPhase::Serving, "initialize") => {
            failure(id, ErrorCode::InvalidRequest, "`initialize` was already called")
        }
        (ServerPhase::Serving, "shutdown") => {
            *phase = ServerPhase::Ended;
            Response::new_ok(id, ())
        }
        (ServerPhase::Serving, _) => match catch_panics(|| answer::answer_request(session, &method, params)) {
            Some(Ok(result)) => Response::new_ok(id, result),
            Some(Err(refused)) => failure(id, refused.code, &refused.message),
            None => failure(id, ErrorCode::InternalError, "internal error; the request was dropped"),
        },
    }
}

fn notice(session: &mut EditorSession, n: Notification) -> Option<Request> {
    // Notifications have no response, so invalid ones are ignored.
    catch_panics(|| session.handle_notification(&n.method, n.params)).flatten()
}

/// Catches panics, so that a bug fails one request and not the whole server.
fn catch_panics<T>(f: impl FnOnce() -> T) -> Option<T> {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(f)).ok()
}

fn failure(id: RequestId, code: ErrorCode, message: &str) -> Response {
    Response::new_err(id, code as i32, message.to_owned())
}

/// The requests that the client has cancelled.
fn cancelled(batch: &[ProtocolMessage]) -> HashSet<RequestId> {
    let mut ids = HashSet::new();
    for message in batch {
        if let ProtocolMessage::Message(Message::Notification(n)) = message
            && n.method == "$/cancelRequest"
            && let Some(id) = n.params.get("id")
            && let Ok(id) = serde_json::from_value(id.clone())
        {
            ids.insert(id);
        }
    }
    ids
}
