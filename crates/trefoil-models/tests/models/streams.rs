//! The ends of streams, and streams that are not what they should be, in each protocol.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use expect_test::expect;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use trefoil_models::ModelTimeLimits;
use trefoil_runtime::{FinishReason, ModelAnswer, ModelError, ModelErrorKind, ModelRequest, Usage};

use crate::faces::{FACES, Face};
use crate::request::{ask, request};
use crate::server::{Piece, Reply, Server};

async fn streamed(face: Face, reply: Reply, limits: ModelTimeLimits) -> Result<ModelAnswer, ModelError> {
    let server = Server::start(vec![reply]).await;
    let registry = face.registry(&server.url, "k").with_limits(limits);
    let asked = ModelRequest { stream: true, ..request("x") };
    ask(&*registry.resolve_provider(face.provider(), "m").unwrap(), &asked).await.0
}

fn event(face: Face, event: &serde_json::Value) -> Piece {
    Piece::Bytes(face.event(event).into_bytes())
}

/// A piece of text, the end of the answer, and its usage, without the mark of the end of the stream.
fn complete(face: Face) -> Option<(Vec<Piece>, Piece)> {
    let text = event(face, &face.piece("all of it"));
    let (end, usage) = match face {
        Face::Chat => (
            json!({"choices": [{"delta": {}, "finish_reason": "stop"}]}),
            json!({"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 3}}),
        ),
        Face::Messages => (
            json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}}),
            json!({"type": "message_delta", "delta": {}, "usage": {"input_tokens": 5, "output_tokens": 3}}),
        ),
        Face::Gemini => (
            json!({"candidates": [{"finishReason": "STOP"}]}),
            json!({"usageMetadata": {"promptTokenCount": 5, "candidatesTokenCount": 3}}),
        ),
        // Their last event ends the stream.
        Face::Responses | Face::Cohere | Face::Ollama => return None,
    };
    Some((vec![text, event(face, &end)], event(face, &usage)))
}

/// A piece of text with the usage so far, as some servers report it with each piece.
fn counted_early(face: Face) -> Option<Piece> {
    let event = match face {
        Face::Chat => json!({
            "choices": [{"delta": {"content": "all "}}],
            "usage": {"prompt_tokens": 5, "completion_tokens": 1},
        }),
        Face::Messages => {
            return Some(self::event(
                face,
                &json!({"type": "message_start", "message": {"usage": {"input_tokens": 5, "output_tokens": 1}}}),
            ));
        }
        Face::Gemini => json!({
            "candidates": [{"content": {"parts": [{"text": "all "}]}}],
            "usageMetadata": {"promptTokenCount": 5, "candidatesTokenCount": 1},
        }),
        Face::Responses | Face::Cohere | Face::Ollama => return None,
    };
    Some(self::event(face, &event))
}

#[tokio::test]
async fn events_are_recognized_under_another_content_type() {
    for face in [Face::Chat, Face::Responses, Face::Messages, Face::Gemini, Face::Cohere] {
        for kind in ["text/plain; charset=utf-8", "application/octet-stream", ""] {
            let end = match face {
                Face::Chat => json!({"choices": [{"delta": {}, "finish_reason": "stop"}]}),
                Face::Responses => json!({"type": "response.completed", "response": {"status": "completed"}}),
                Face::Messages => json!({"type": "message_stop"}),
                Face::Gemini => json!({"candidates": [{"finishReason": "STOP"}]}),
                _ => json!({"type": "message-end", "delta": {"finish_reason": "COMPLETE"}}),
            };
            let body = format!(": hi\n\n{}{}", face.event(&face.piece("Bonjour")), face.event(&end));
            let answer =
                streamed(face, Reply::Whole(200, vec![("content-type", kind)], body), ModelTimeLimits::default()).await;
            assert_eq!(answer.unwrap().text, "Bonjour", "{face:?} as {kind}");
        }
    }
}

#[tokio::test]
async fn an_answer_of_another_type_names_the_type() {
    let text = |kind| Reply::Whole(200, vec![("content-type", kind)], "Hello".to_owned());
    let error = streamed(Face::Chat, text("text/plain; charset=utf-8"), ModelTimeLimits::default()).await.unwrap_err();
    expect!["`openai` sent an answer of type `text/plain` that is not JSON: expected value at line 1 column 1"]
        .assert_eq(&error.message);
    expect!["check the base URL, and any proxies"].assert_eq(&error.help.unwrap());
}

#[tokio::test]
async fn a_stream_in_another_format_is_no_network_error() {
    for face in FACES {
        // The form of another protocol, with and without a mark of the end.
        let foreign = match face {
            Face::Chat => Face::Messages,
            _ => Face::Chat,
        };
        for done in [true, false] {
            let mut pieces = vec![event(face, &foreign.piece("half")), event(face, &json!({"id": "x", "model": "m"}))];
            pieces.extend((done && face == Face::Chat).then(|| Piece::Bytes(b"data: [DONE]\n\n".to_vec())));
            let error = streamed(face, face.stream(pieces), ModelTimeLimits::default()).await.unwrap_err();
            assert_eq!(error.kind, ModelErrorKind::Protocol, "{face:?}");
            assert_eq!(error.message, format!("`{}` sent a stream in another format", face.provider()));
            assert!(error.help.is_some_and(|help| help.contains("base URL")));
        }
    }
}

#[tokio::test]
async fn a_failure_of_cohere_with_a_success_status_is_told() {
    let failure = json!({"id": "x", "message": "The server had an error"});
    let event = format!("data: {failure}\n\n");
    for reply in [Reply::json(failure), Reply::stream(&[&event])] {
        let error = streamed(Face::Cohere, reply, ModelTimeLimits::default()).await.unwrap_err();
        assert_eq!(error.kind, ModelErrorKind::Status(503));
        expect!["`cohere` answered with an error: The server had an error"].assert_eq(&error.message);
    }
}

#[tokio::test]
async fn a_redirect_is_not_followed_and_its_target_is_told() {
    let headers = vec![("location", "https://gate.example/login?token=secret")];
    let error =
        streamed(Face::Chat, Reply::Whole(307, headers, String::new()), ModelTimeLimits::default()).await.unwrap_err();
    expect!["`openai` answered with 307: a redirect to https://gate.example, which is not followed"]
        .assert_eq(&error.message);
    expect!["check the base URL; if you trust the target of the redirect, set it there"]
        .assert_eq(&error.help.unwrap());
}

/// A server that keeps its connections, and sends the last chunk of a stream some time after its last event.
async fn slow_to_end(face: Face) -> (String, Arc<AtomicU32>) {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let connections = Arc::new(AtomicU32::new(0));
    let counted = connections.clone();
    let events = match face {
        Face::Ollama => face.event(&face.whole("x")),
        Face::Messages => face.event(&face.piece("x")) + &face.event(&json!({"type": "message_stop"})),
        _ => face.event(&face.piece("x")) + "data: [DONE]\n\n",
    };
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            counted.fetch_add(1, Ordering::SeqCst);
            let events = events.clone();
            tokio::spawn(async move {
                let (mut seen, mut chunk) = (Vec::new(), [0; 4096]);
                while let Ok(n) = stream.read(&mut chunk).await.map_err(drop)
                    && n > 0
                {
                    seen.extend(&chunk[..n]);
                    // The request ends with its body.
                    if seen.ends_with(b"}") {
                        seen.clear();
                        let kind = if face == Face::Ollama { "application/x-ndjson" } else { "text/event-stream" };
                        let head =
                            format!("HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ntransfer-encoding: chunked\r\n\r\n");
                        let body = format!("{head}{:x}\r\n{events}\r\n", events.len());
                        let _ = stream.write_all(body.as_bytes()).await;
                        tokio::time::sleep(Duration::from_millis(10)).await;
                        let _ = stream.write_all(b"0\r\n\r\n").await;
                    }
                }
            });
        }
    });
    (url, connections)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_connection_of_a_stream_is_used_again() {
    for face in [Face::Chat, Face::Messages, Face::Ollama] {
        let (url, connections) = slow_to_end(face).await;
        let registry = face.registry(&url, "k");
        let asked = ModelRequest { stream: true, ..request("x") };
        for _ in 0..4 {
            ask(&*registry.resolve_provider(face.provider(), "m").unwrap(), &asked).await.0.unwrap();
            // A step does something with the answer before the next call.
            tokio::time::sleep(Duration::from_millis(60)).await;
        }
        assert_eq!(connections.load(Ordering::SeqCst), 1, "{face:?}");
    }
}

/// What takes long: `.ci/hunt` runs it, the gate does not.
mod hunt {
    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn an_answer_is_complete_although_its_stream_stays_open_or_breaks_off() {
        let known = Usage { input_tokens: 5, output_tokens: 3, ..Usage::default() };
        // The time without data is shorter than the wait for the usage, and longer.
        for idle_ms in [200, 60_000] {
            for face in FACES {
                for (with_usage, last) in
                    [(true, Piece::Silence), (false, Piece::Silence), (true, Piece::Cut), (false, Piece::Cut)]
                {
                    let Some((mut pieces, usage)) = complete(face) else { continue };
                    pieces.extend(with_usage.then_some(usage));
                    pieces.push(last);
                    let began = Instant::now();
                    let limits = ModelTimeLimits { idle_ms, ..ModelTimeLimits::default() };
                    let answer = streamed(face, face.stream(pieces), limits).await.unwrap();
                    assert_eq!((&*answer.text, answer.finish), ("all of it", Some(FinishReason::Stop)));
                    assert_eq!(answer.usage, if with_usage { known } else { Usage::for_unknown_call() }, "{face:?}");
                    assert!(began.elapsed() < Duration::from_secs(20), "{face:?}: it waits for the end of the stream");
                }
            }
        }
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn usage_after_the_end_replaces_that_of_an_earlier_piece() {
        let last = Usage { input_tokens: 5, output_tokens: 3, ..Usage::default() };
        let part = Usage { input_tokens: 5, output_tokens: 1, unknown_calls: 1, ..Usage::default() };
        for face in FACES {
            let (Some(first), Some((pieces, usage))) = (counted_early(face), complete(face)) else { continue };
            let with = |rest: Vec<Piece>| [vec![first.clone()], pieces.clone(), rest].concat();
            let began = Instant::now();
            let late = face.stream(with(vec![Piece::Pause(700), usage.clone(), Piece::Silence]));
            assert_eq!(streamed(face, late, ModelTimeLimits::default()).await.unwrap().usage, last, "{face:?}");
            assert!(began.elapsed() < Duration::from_secs(20), "{face:?}: it waits for the end of the stream");
            // Nobody reports what the whole answer has used.
            for end in [Piece::Silence, Piece::Cut] {
                let answer = streamed(face, face.stream(with(vec![end])), ModelTimeLimits::default()).await.unwrap();
                assert_eq!(answer.usage, part, "{face:?}");
            }
            // The limit of the call ends only the wait.
            let limits = ModelTimeLimits { call_ms: Some(1_000), ..ModelTimeLimits::default() };
            let answer = streamed(face, face.stream(with(vec![Piece::Silence])), limits).await.unwrap();
            assert_eq!((answer.finish, answer.usage), (Some(FinishReason::Stop), part), "{face:?}");
        }
    }
}
