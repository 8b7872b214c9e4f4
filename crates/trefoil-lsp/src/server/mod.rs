//! The protocol. Its types are used only here, not in features.
//!
//! One thread reads messages; this one handles them in order. Changes are applied at once but analysed only when a
//! request needs the result or no message is waiting, so that a burst of keystrokes is checked once.

mod answer;
mod capabilities;
mod convert;
mod position;
mod publish;
mod session;
mod transport;
mod uri;

use std::collections::HashSet;
use std::io::{BufReader, Write};

use lsp_server::{ErrorCode, Message, Notification, Request, RequestId, Response};

use session::Session;
use transport::Incoming;

/// Serves standard input and output until the client exits. Returns the exit code of the protocol: 0 if `exit` came
/// after `shutdown`, otherwise 1.
pub fn run() -> u8 {
    serve(BufReader::new(std::io::stdin()), std::io::stdout())
}

fn serve(input: impl std::io::BufRead + Send + 'static, mut output: impl Write) -> u8 {
    let incoming = transport::read(input);
    let mut phase = Phase::New;
    let mut session = Session::default();
    loop {
        let Ok(first) = incoming.recv() else { return u8::from(!matches!(phase, Phase::Ended)) };
        let mut batch = vec![first];
        batch.extend(incoming.try_iter());
        let cancelled = cancelled(&batch);
        for one in batch {
            match one {
                Incoming::Malformed(why) => transport::write_malformed(&mut output, &why),
                Incoming::Message(Message::Request(request)) => {
                    let answer = if cancelled.contains(&request.id) {
                        failure(request.id, ErrorCode::RequestCanceled, "cancelled")
                    } else {
                        respond(&mut session, &mut phase, request)
                    };
                    transport::write(&mut output, answer);
                    session.outgoing.drain(..).for_each(|message| transport::write(&mut output, message));
                }
                Incoming::Message(Message::Notification(n)) if n.method == "exit" => {
                    return u8::from(!matches!(phase, Phase::Ended));
                }
                Incoming::Message(Message::Notification(n)) => {
                    if matches!(phase, Phase::Serving)
                        && let Some(request) = notice(&mut session, n)
                    {
                        transport::write(&mut output, request);
                    }
                }
                // Responses to our own requests need no action.
                Incoming::Message(Message::Response(_)) => {}
            }
        }
        if matches!(phase, Phase::Serving) {
            for message in guarded(|| publish::publish(&mut session)).unwrap_or_default() {
                transport::write(&mut output, message);
            }
        }
    }
}

/// The phase of the session.
enum Phase {
    /// Before `initialize`.
    New,
    /// After `initialize`.
    Serving,
    /// After `shutdown`.
    Ended,
}

fn respond(session: &mut Session, phase: &mut Phase, request: Request) -> Response {
    let Request { id, method, params } = request;
    match (&*phase, method.as_str()) {
        (Phase::New, "initialize") => match serde_json::from_value(params) {
            Ok(params) => {
                *phase = Phase::Serving;
                session.start(&params);
                Response::new_ok(id, capabilities::result(session))
            }
            Err(error) => failure(id, ErrorCode::InvalidParams, &error.to_string()),
        },
        (Phase::New, _) => failure(id, ErrorCode::ServerNotInitialized, "`initialize` must be the first request"),
        (Phase::Ended, _) => failure(id, ErrorCode::InvalidRequest, "the server has been shut down"),
        (Phase::Serving, "initialize") => failure(id, ErrorCode::InvalidRequest, "`initialize` was already called"),
        (Phase::Serving, "shutdown") => {
            *phase = Phase::Ended;
            Response::new_ok(id, ())
        }
        (Phase::Serving, _) => match guarded(|| answer::answer(session, &method, params)) {
            Some(Ok(result)) => Response::new_ok(id, result),
            Some(Err(refused)) => failure(id, refused.code, &refused.message),
            None => failure(id, ErrorCode::InternalError, "internal error; the request was dropped"),
        },
    }
}

fn notice(session: &mut Session, n: Notification) -> Option<Request> {
    // Notifications have no response, so invalid ones are ignored.
    guarded(|| session.notice(&n.method, n.params)).flatten()
}

/// Catches panics, so that a bug fails one request and not the whole server.
fn guarded<T>(f: impl FnOnce() -> T) -> Option<T> {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(f)).ok()
}

fn failure(id: RequestId, code: ErrorCode, message: &str) -> Response {
    Response::new_err(id, code as i32, message.to_owned())
}

/// The requests that the client has cancelled.
fn cancelled(batch: &[Incoming]) -> HashSet<RequestId> {
    let ids = batch.iter().filter_map(|one| match one {
        Incoming::Message(Message::Notification(n)) if n.method == "$/cancelRequest" => n.params.get("id"),
        _ => None,
    });
    ids.filter_map(|id| serde_json::from_value(id.clone()).ok()).collect()
}
