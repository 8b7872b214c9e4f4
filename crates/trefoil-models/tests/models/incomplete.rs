//! Servers that send a finish reason too early, too many calls, or impossible numbers, over real connections.

use std::time::{Duration, Instant};

use expect_test::expect;
use serde_json::{Value as Json, json};
use tokio::task::JoinSet;
use trefoil_models::ModelTimeLimits;
use trefoil_runtime::{
    AnswerDoubt, FinishReason, ModelAnswer, ModelError, ModelErrorKind, ModelRequest, ToolSpec, Usage,
};

use crate::faces::{FACES, Face};
use crate::request::{ask, request};
use crate::server::{Piece, Reply, Server};

async fn asked(face: Face, reply: Reply, stream: bool, limits: ModelTimeLimits) -> Result<ModelAnswer, ModelError> {
    let server = Server::start(vec![reply]).await;
    let registry = face.registry(&server.url, "k").with_limits(limits);
    let asked = ModelRequest { stream, tools: vec![ToolSpec::without_description("echo")], ..request("x") };
    let answer = ask(&*registry.resolve_provider(face.provider(), "m").unwrap(), &asked).await.0;
    assert_eq!(server.requests().len(), 1);
    answer
}

fn bytes(face: Face, event: &Json) -> Piece {
    Piece::Bytes(face.event(event).into_bytes())
}

/// A piece of text with a finish reason, or what the protocol has instead.
fn piece(face: Face, text: &str, reason: &Json) -> Vec<Piece> {
    let usage = json!({"promptTokenCount": 9, "candidatesTokenCount": 4});
    let events = match face {
        Face::Chat => vec![json!({"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": reason}]})],
        Face::Gemini => {
            let candidate = json!({"content": {"parts": [{"text": text}]}, "finishReason": reason});
            vec![json!({"candidates": [candidate], "usageMetadata": usage})]
        }
        Face::Messages => {
            vec![face.piece(text), json!({"type": "message_delta", "delta": {"stop_reason": reason}})]
        }
        _ => vec![face.piece(text)],
    };
    events.iter().map(|event| bytes(face, event)).collect()
}

fn last(face: Face) -> Vec<Piece> {
    match face {
        Face::Chat => vec![Piece::Bytes(b"data: [DONE]\n\n".to_vec())],
        Face::Messages => vec![bytes(face, &json!({"type": "message_stop"}))],
        Face::Responses => {
            vec![bytes(face, &json!({"type": "response.completed", "response": {"status": "completed"}}))]
        }
        Face::Cohere => vec![bytes(face, &json!({"type": "message-end", "delta": {"finish_reason": "COMPLETE"}}))],
        Face::Ollama => vec![bytes(face, &json!({"message": {"content": ""}, "done": true, "done_reason": "stop"}))],
        Face::Gemini => Vec::new(),
    }
}

/// Reasons that servers send with every piece.
fn reasons(face: Face) -> Vec<Json> {
    match face {
        Face::Chat => vec![json!(""), json!("stop"), json!("null"), json!("in_progress")],
        Face::Gemini => vec![json!("STOP"), json!(""), json!("FINISH_REASON_UNSPECIFIED")],
        // A known reason is an event without text in this protocol, and its own servers end with it.
        Face::Messages => vec![json!(""), json!("null")],
        Face::Responses | Face::Cohere | Face::Ollama => vec![Json::Null],
    }
}

/// Text, a finish reason alone, more text after a while, then these.
fn taken_back(face: Face, end: Vec<Piece>) -> Reply {
    let [one, two] = ["one-", "two"].map(|text| bytes(face, &face.piece(text)));
    face.stream([vec![one, reason(face), Piece::Pause(1_500), two], end].concat())
}

/// A finish reason without text.
fn reason(face: Face) -> Piece {
    match face {
        Face::Messages => bytes(face, &json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}})),
        Face::Gemini => piece(face, "", &json!("STOP")).remove(0),
        _ => piece(face, "", &json!("stop")).remove(0),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn text_after_a_finish_reason_takes_it_back_and_the_wait_starts_anew() {
    let mut all = JoinSet::new();
    for face in [Face::Chat, Face::Messages, Face::Gemini] {
        all.spawn(async move {
            let end = [vec![Piece::Pause(3_300), reason(face)], last(face)].concat();
            let answer = asked(face, taken_back(face, end), true, ModelTimeLimits::default()).await.unwrap();
            assert_eq!((&*answer.text, answer.finish), ("one-two", Some(FinishReason::Stop)), "{face:?}");
        });
        // From then on only the end of the stream completes the answer.
        let [cut, silence] = [Piece::Cut, Piece::Silence];
        for end in
            [vec![], vec![cut.clone()], vec![silence.clone()], vec![reason(face), cut], vec![reason(face), silence]]
        {
            all.spawn(async move {
                let limits = ModelTimeLimits { idle_ms: 2_000, ..ModelTimeLimits::default() };
                let error = asked(face, taken_back(face, end), true, limits).await.unwrap_err();
                let came = error.came.map(|came| came.text);
                assert_eq!((error.kind, came), (ModelErrorKind::Network, Some("one-two".into())), "{face:?}");
            });
        }
    }
    while let Some(one) = all.join_next().await {
        one.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_finish_reason_with_the_first_text_proves_nothing() {
    let limits = ModelTimeLimits { idle_ms: 400, call_ms: Some(20_000), ..ModelTimeLimits::default() };
    for (face, reason) in [(Face::Chat, "stop"), (Face::Gemini, "STOP")] {
        for end in [Piece::Cut, Piece::Silence] {
            let pieces = [piece(face, "one-", &json!(reason)), vec![end]].concat();
            let error = asked(face, face.stream(pieces), true, limits).await.unwrap_err();
            assert_eq!(error.kind, ModelErrorKind::Network, "{face:?}");
        }
        let answer = asked(face, face.stream(piece(face, "one", &json!(reason))), true, limits).await;
        assert_eq!(answer.unwrap().text, "one", "{face:?}: the body ends as it should");
        // The limit of the call ends an answer only if it is complete.
        let pieces = [piece(face, "one-", &json!(reason)), vec![Piece::Silence]].concat();
        let limits = ModelTimeLimits { call_ms: Some(400), ..ModelTimeLimits::default() };
        let error = asked(face, face.stream(pieces), true, limits).await.unwrap_err();
        assert_eq!(error.kind, ModelErrorKind::Timeout, "{face:?}");
    }
}

#[tokio::test]
async fn an_error_after_a_finish_reason_is_an_error() {
    let failure = json!({"error": {"message": "CUDA out of memory", "code": 500}});
    for face in FACES {
        for reason in reasons(face) {
            let failed = match face {
                Face::Messages => {
                    json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}})
                }
                Face::Responses => json!({"type": "error", "code": "server_error", "message": "no"}),
                _ => failure.clone(),
            };
            let pieces = [piece(face, "one-", &reason), vec![bytes(face, &failed)], last(face)].concat();
            let error = asked(face, face.stream(pieces), true, ModelTimeLimits::default()).await.unwrap_err();
            assert!(matches!(error.kind, ModelErrorKind::Status(500 | 529)), "{face:?} {error:?}");
            assert_eq!(error.came.unwrap().text, "one-", "{face:?}");
        }
    }
}

#[tokio::test]
async fn a_stream_may_end_without_the_last_line_break() {
    for face in FACES {
        let text = face.event(&face.piece("whole"));
        let end = match face {
            Face::Chat => face.event(&json!({"choices": [{"delta": {}, "finish_reason": "stop"}]})),
            Face::Gemini => face.event(&json!({"candidates": [{"finishReason": "STOP"}]})),
            _ => last(face).into_iter().map(|piece| text_of(&piece)).collect(),
        };
        for breaks in ["", "\n"] {
            let stream = format!("{text}{}{breaks}", end.trim_end());
            let answer =
                asked(face, face.stream(vec![Piece::Bytes(stream.into_bytes())]), true, ModelTimeLimits::default())
                    .await;
            assert_eq!(answer.map(|answer| answer.text), Ok("whole".to_owned()), "{face:?}");
        }
    }
}

/// An answer with that many calls, whole and as one event of a stream.
fn many(face: Face, count: usize) -> (Json, Json) {
    let all = |call: &dyn Fn(usize) -> Json| (0..count).map(call).collect::<Vec<Json>>();
    let function = |i: usize| json!({"id": format!("c{i}"), "index": i, "type": "function", "function": {"name": "echo", "arguments": "{}"}});
    match face {
        Face::Chat => {
            let calls = all(&function);
            (
                json!({"choices": [{"message": {"content": null, "tool_calls": calls}}]}),
                json!({"choices": [{"delta": {"tool_calls": calls}}]}),
            )
        }
        Face::Responses => {
            let calls = all(
                &|i| json!({"type": "function_call", "call_id": format!("c{i}"), "name": "echo", "arguments": "{}"}),
            );
            let whole = json!({"status": "completed", "output": calls});
            (whole.clone(), json!({"type": "response.completed", "response": whole}))
        }
        Face::Messages => {
            let calls = all(&|i| json!({"type": "tool_use", "id": format!("c{i}"), "name": "echo", "input": {}}));
            (json!({"content": calls}), json!({"type": "content_block_start", "index": 0, "content_block": calls[0]}))
        }
        Face::Gemini => {
            let calls = all(&|_| json!({"functionCall": {"name": "echo", "args": {}}}));
            let whole = json!({"candidates": [{"content": {"parts": calls}}]});
            (whole.clone(), whole)
        }
        Face::Cohere => {
            let start =
                json!({"type": "tool-call-start", "index": 0, "delta": {"message": {"tool_calls": function(0)}}});
            (json!({"message": {"tool_calls": all(&function)}}), start)
        }
        Face::Ollama => {
            let message = json!({"content": "", "tool_calls": all(&function)});
            (json!({"message": message, "done": true}), json!({"message": message, "done": false}))
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_never_pauses_does_not_outlast_the_limit_of_the_call() {
    let limits = ModelTimeLimits { call_ms: Some(700), ..ModelTimeLimits::default() };
    for face in FACES {
        // A thought, which each piece makes longer, and text.
        let thought = match face {
            Face::Ollama => json!({"message": {"content": "", "thinking": "h"}, "done": false}),
            Face::Cohere => json!({"type": "tool-plan-delta", "delta": {"message": {"tool_plan": "h"}}}),
            Face::Messages => {
                json!({"type": "content_block_delta", "delta": {"type": "thinking_delta", "thinking": "h"}})
            }
            _ => face.piece("h"),
        };
        let start = (face == Face::Messages).then(|| {
            bytes(face, &json!({"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": ""}}))
        });
        let flood = Piece::Flood(face.event(&thought).repeat(20).into_bytes());
        let began = Instant::now();
        let pieces = start.into_iter().chain([flood]).collect();
        let error = asked(face, face.stream(pieces), true, limits).await.unwrap_err();
        // At its limit, or at the limit of bytes.
        assert!(matches!(error.kind, ModelErrorKind::Timeout | ModelErrorKind::Protocol), "{face:?} {error:?}");
        assert!(began.elapsed() < Duration::from_secs(20), "{face:?}: {:?}", began.elapsed());
    }
}

#[tokio::test]
async fn impossible_usage_is_unknown() {
    let numbers = [json!(-1), json!(u64::MAX), json!((1_u64 << 53) + 1), json!(-0.5), json!(1e300), json!("7")];
    for face in FACES {
        for number in &numbers {
            // The numbers of input tokens in each protocol.
            let mut whole = face.whole("hi");
            let pointer = match face {
                Face::Chat => "/usage/prompt_tokens",
                Face::Responses | Face::Messages => "/usage/input_tokens",
                Face::Gemini => "/usageMetadata/promptTokenCount",
                Face::Cohere => "/usage/tokens/input_tokens",
                Face::Ollama => "/prompt_eval_count",
            };
            *whole.pointer_mut(pointer).unwrap() = number.clone();
            let event = match face {
                Face::Chat => {
                    json!({"choices": [{"delta": {"content": "hi"}, "finish_reason": "stop"}], "usage": whole["usage"]})
                }
                Face::Responses => json!({"type": "response.completed", "response": whole}),
                Face::Messages => json!({"type": "message_start", "message": {"usage": whole["usage"]}}),
                Face::Cohere => {
                    json!({"type": "message-end", "delta": {"finish_reason": "COMPLETE", "usage": whole["usage"]}})
                }
                Face::Gemini | Face::Ollama => whole.clone(),
            };
            let rest = if face == Face::Messages { [vec![reason(face)], last(face)].concat() } else { Vec::new() };
            let stream = face.stream([vec![bytes(face, &event)], rest].concat());
            for answer in [
                asked(face, Reply::json(whole.clone()), false, ModelTimeLimits::default()).await.unwrap(),
                asked(face, stream, true, ModelTimeLimits::default()).await.unwrap(),
            ] {
                assert_eq!(answer.usage.unknown_calls, 1, "{face:?} {number}: {:?}", answer.usage);
                assert!(answer.usage.total_tokens() < 100, "{face:?} {number}: {:?}", answer.usage);
            }
        }
    }
    let most = json!({"choices": [{"message": {"content": "x"}}], "usage": {"prompt_tokens": 1_u64 << 53, "completion_tokens": 0}});
    let usage = asked(Face::Chat, Reply::json(most), false, ModelTimeLimits::default()).await.unwrap().usage;
    assert_eq!(usage, Usage { input_tokens: 1 << 53, ..Usage::default() });
}

#[tokio::test]
async fn an_answer_that_says_that_it_is_not_done_is_an_error() {
    let text = json!([{"type": "message", "content": [{"type": "output_text", "text": "part"}]}]);
    let response = |status: &str| json!({"id": "x", "status": status, "output": text});
    let ollama = json!({"message": {"content": "part"}, "done": false});
    let word = |word: &str| json!({"choices": [{"message": {"content": "part"}, "finish_reason": word}]});
    for (face, body) in [
        (Face::Responses, response("in_progress")),
        (Face::Responses, response("queued")),
        (Face::Responses, response("cancelled")),
        (Face::Responses, response("failed")),
        (Face::Ollama, ollama),
        (Face::Chat, word("USER_CANCEL")),
        (Face::Messages, json!({"content": [{"type": "text", "text": "part"}], "stop_reason": "pause_turn"})),
        (Face::Gemini, json!({"candidates": [{"content": {"parts": [{"text": "part"}]}, "finishReason": "OTHER"}]})),
        (Face::Cohere, json!({"message": {"content": [{"type": "text", "text": "part"}]}, "finish_reason": "ERROR"})),
    ] {
        for stream in [false, true] {
            let error = asked(face, Reply::json(body.clone()), stream, ModelTimeLimits::default()).await.unwrap_err();
            assert!(matches!(error.kind, ModelErrorKind::Network | ModelErrorKind::Status(503)), "{body}: {error:?}");
        }
    }
    // Nothing says that these are not whole.
    for (face, body) in [
        (Face::Responses, json!({"output": text})),
        (Face::Chat, json!({"choices": [{"message": {"content": "part"}, "finish_reason": null}]})),
        (Face::Messages, json!({"content": [{"type": "text", "text": "part"}]})),
        (Face::Gemini, json!({"candidates": [{"content": {"parts": [{"text": "part"}]}}]})),
        (Face::Ollama, json!({"message": {"content": "part"}})),
    ] {
        assert_eq!(
            asked(face, Reply::json(body), false, ModelTimeLimits::default()).await.unwrap().text,
            "part",
            "{face:?}"
        );
    }
}

/// The answer `part` with this finish reason: whole, and streamed. A protocol without an answer of that kind has none.
fn ended_with(face: Face, word: Option<&str>) -> [Option<Reply>; 2] {
    let place = match face {
        Face::Chat => "/choices/0/finish_reason",
        Face::Responses => "/status",
        Face::Messages => "/stop_reason",
        Face::Gemini => "/candidates/0/finishReason",
        Face::Cohere => "/finish_reason",
        Face::Ollama => "/done_reason",
    };
    let mut whole = face.whole("part");
    *whole.pointer_mut(place).unwrap() = json!(word);
    let end = match face {
        Face::Chat => vec![json!({"choices": [{"delta": {}, "finish_reason": word}]})],
        Face::Responses => vec![json!({"type": "response.completed", "response": {"status": word}})],
        Face::Messages => {
            vec![json!({"type": "message_delta", "delta": {"stop_reason": word}}), json!({"type": "message_stop"})]
        }
        Face::Gemini => vec![json!({"candidates": [{"content": {"parts": []}, "finishReason": word}]})],
        Face::Cohere => vec![json!({"type": "message-end", "delta": {"finish_reason": word}})],
        Face::Ollama => vec![json!({"message": {"content": ""}, "done": true, "done_reason": word})],
    };
    // The type of its last event is the reason, and an answer of Gemini that has none is not complete.
    let is_possible = word.is_some() || !matches!(face, Face::Responses | Face::Gemini);
    let mut pieces = vec![bytes(face, &face.piece("part"))];
    pieces.extend(end.iter().map(|event| bytes(face, event)));
    if face == Face::Chat {
        pieces.extend(last(face));
    }
    let stream = if face == Face::Ollama { Reply::Lines(pieces) } else { Reply::Stream(pieces) };
    [Some(Reply::json(whole)), is_possible.then_some(stream)]
}

#[tokio::test]
async fn an_answer_without_a_known_finish_reason_is_used_and_in_doubt() {
    let mut tried = 0;
    for face in FACES {
        let known = match face {
            Face::Responses => "completed",
            Face::Gemini => "STOP",
            Face::Messages => "end_turn",
            Face::Cohere => "COMPLETE",
            Face::Chat | Face::Ollama => "stop",
        };
        let long = "x".repeat(100);
        for (word, doubt) in [
            (Some(known), vec![]),
            (Some("something_new"), vec![AnswerDoubt::UnknownFinish("something_new".to_owned())]),
            (Some(&*long), vec![AnswerDoubt::UnknownFinish("x".repeat(60))]),
            (None, vec![AnswerDoubt::MissingFinish]),
        ] {
            for (streamed, reply) in [false, true].into_iter().zip(ended_with(face, word)) {
                let Some(reply) = reply else { continue };
                let answer = asked(face, reply, streamed, ModelTimeLimits::default()).await.unwrap();
                assert_eq!((&*answer.text, &answer.doubts), ("part", &doubt), "{face:?} {word:?} {streamed}");
                tried += 1;
            }
        }
    }
    assert_eq!(tried, 46);
}

#[tokio::test]
async fn a_body_that_ends_within_an_event_is_no_answer() {
    for face in FACES {
        for torn in [face.event(&face.piece("two")).into_bytes()[..12].to_vec(), b"Internal Server Error".to_vec()] {
            let reason =
                if matches!(face, Face::Chat | Face::Messages | Face::Gemini) { vec![reason(face)] } else { vec![] };
            let pieces = [vec![bytes(face, &face.piece("one-"))], reason, vec![Piece::Bytes(torn)]].concat();
            let error = asked(face, face.stream(pieces), true, ModelTimeLimits::default()).await.unwrap_err();
            assert!(matches!(error.kind, ModelErrorKind::Network | ModelErrorKind::Status(503)), "{face:?} {error:?}");
            assert_eq!(error.came.unwrap().text, "one-", "{face:?}");
        }
    }
}

#[tokio::test]
async fn the_calls_of_a_second_choice_are_called() {
    let call = json!({"id": "A", "type": "function", "function": {"name": "echo", "arguments": "{\"text\":\"a\"}"}});
    let body = json!({"choices": [
        {"index": 0, "message": {"content": "I call it."}, "finish_reason": "stop"},
        {"index": 1, "message": {"content": null, "tool_calls": [call]}, "finish_reason": "tool_calls"},
    ]});
    let answer = asked(Face::Chat, Reply::json(body), false, ModelTimeLimits::default()).await.unwrap();
    assert_eq!((&*answer.text, answer.finish, answer.calls.len()), ("I call it.", Some(FinishReason::Tools), 1));
    assert_eq!(answer.calls[0].arguments.to_json(), json!({"text": "a"}));
}

#[tokio::test]
async fn a_closed_connection_ends_a_body_without_a_length_only_where_a_reason_proves_it() {
    let done = Piece::Bytes(b"data: [DONE]\n\n".to_vec());
    let mut tried = 0;
    for (face, word) in [(Face::Chat, "stop"), (Face::Gemini, "STOP")] {
        let piece = |reason: Json| piece(face, "one ", &reason);
        let (none, with) = (piece(Json::Null), piece(json!(word)));
        for (pieces, is_proved) in [
            (with.clone(), false),
            ([with.clone(), with.clone()].concat(), false),
            ([with.clone(), with.clone(), vec![reason(face)]].concat(), false),
            ([with.clone(), with.clone(), vec![done.clone()]].concat(), true),
            ([none.clone(), with.clone()].concat(), true),
            ([none.clone(), none.clone(), vec![reason(face)]].concat(), true),
            (none.clone(), false),
        ] {
            let answer = asked(face, Reply::Unframed(pieces.clone()), true, ModelTimeLimits::default()).await;
            assert_eq!(answer.is_ok(), is_proved, "{face:?} {answer:?}");
            if let Err(error) = answer {
                assert_eq!(error.kind, ModelErrorKind::Network);
            }
            // The same with an end that the transfer marks, or with a length.
            let has_reason = pieces.len() > 1 || pieces != none;
            assert_eq!(
                asked(face, Reply::Stream(pieces.clone()), true, ModelTimeLimits::default()).await.is_ok(),
                has_reason
            );
            let body: String = pieces.iter().map(text_of).collect();
            let sized = Reply::Whole(200, vec![("content-type", "text/event-stream")], body);
            assert_eq!(asked(face, sized, true, ModelTimeLimits::default()).await.is_ok(), has_reason, "{face:?}");
            tried += 3;
        }
    }
    assert_eq!(tried, 42);
}

fn text_of(piece: &Piece) -> String {
    if let Piece::Bytes(bytes) = piece { String::from_utf8(bytes.clone()).unwrap() } else { String::new() }
}

#[tokio::test]
async fn more_of_an_answer_after_its_last_event_is_an_error_and_an_open_connection_is_not_waited_for() {
    for face in FACES.into_iter().filter(|face| *face != Face::Gemini) {
        let start = [vec![bytes(face, &face.piece("one-"))], last(face)].concat();
        // In one piece, because what comes long after the end is not waited for.
        let late = [start.clone(), vec![bytes(face, &face.piece("two"))]].concat();
        let late: Vec<u8> = late.iter().flat_map(|piece| text_of(piece).into_bytes()).collect();
        let error =
            asked(face, face.stream(vec![Piece::Bytes(late)]), true, ModelTimeLimits::default()).await.unwrap_err();
        assert_eq!(error.kind, ModelErrorKind::Network, "{face:?}");
        assert!(error.message.ends_with("sent more of its answer after the end of it"), "{}", error.message);
        let began = Instant::now();
        let open = [start, vec![Piece::Silence]].concat();
        let answer = asked(face, face.stream(open), true, ModelTimeLimits::default()).await;
        assert_eq!(answer.map(|answer| answer.text), Ok("one-".to_owned()), "{face:?}");
        assert!(began.elapsed() < Duration::from_secs(2), "{face:?} {:?}", began.elapsed());
    }
}

#[tokio::test]
async fn an_announced_call_that_never_arrives_is_said() {
    for face in FACES {
        let word = if face == Face::Responses { "requires_action" } else { "tool_calls" };
        for (reply, stream) in ended_with(face, Some(word)).into_iter().zip([false, true]) {
            let error = asked(face, reply.unwrap(), stream, ModelTimeLimits::default()).await.unwrap_err();
            assert_eq!((error.kind, error.came.unwrap().text.as_str()), (ModelErrorKind::Network, "part"), "{face:?}");
            let message = error.message.replace(face.provider(), "PROVIDER");
            expect!["`PROVIDER` ended its answer with a tool call that it announced but never sent"]
                .assert_eq(&message);
        }
    }
}

/// What takes long: `.ci/hunt` runs it, the gate does not.
mod hunt {
    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn an_answer_with_too_many_calls_is_an_error_at_once() {
        let limits = ModelTimeLimits { call_ms: Some(60_000), ..ModelTimeLimits::default() };
        for face in FACES {
            // As many as fit into an event.
            let (whole, event) = many(face, 20_000);
            let began = Instant::now();
            let mut told = vec![asked(face, Reply::json(whole), false, limits).await.unwrap_err()];
            // Where an event has one call, there are as many events.
            let text = match face {
                Face::Messages | Face::Cohere => {
                    let event = |i: usize| {
                        face.event(&event)
                            .replace("\"c0\"", &format!("\"c{i}\""))
                            .replace("\"index\":0", &format!("\"index\":{i}"))
                    };
                    (0..20_000).map(event).collect()
                }
                _ => face.event(&event),
            };
            told.push(asked(face, face.stream(vec![Piece::Bytes(text.into_bytes())]), true, limits).await.unwrap_err());
            for error in told {
                assert_eq!(error.kind, ModelErrorKind::Protocol, "{face:?}");
                let message = error.message.replace(face.provider(), "PROVIDER");
                expect!["`PROVIDER` sent more than 1024 tool calls in one answer"].assert_eq(&message);
            }
            assert!(began.elapsed() < Duration::from_secs(45), "{face:?}: {:?}", began.elapsed());
            let (whole, _) = many(face, 1_024);
            assert_eq!(asked(face, Reply::json(whole), false, limits).await.unwrap().calls.len(), 1_024, "{face:?}");
        }
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_slow_answer_with_a_finish_reason_in_every_piece_is_read_to_its_end() {
        let mut all = JoinSet::new();
        let began = Instant::now();
        for face in FACES {
            for reason in reasons(face) {
                all.spawn(async move {
                    let mut pieces = Vec::new();
                    for text in ["one-", "two-", "three"] {
                        pieces.extend(piece(face, text, &reason));
                        // Longer than the wait after a finish reason that ends an answer by itself.
                        pieces.push(Piece::Pause(3_300));
                    }
                    let end = match face {
                        Face::Chat if reason == "in_progress" => piece(face, "", &json!("stop")),
                        Face::Gemini => piece(face, "", &json!("STOP")),
                        Face::Messages => {
                            vec![bytes(face, &json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}}))]
                        }
                        _ => Vec::new(),
                    };
                    pieces.extend(end.into_iter().chain(last(face)));
                    let answer = asked(face, face.stream(pieces), true, ModelTimeLimits::default()).await;
                    assert_eq!(answer.map(|answer| answer.text), Ok("one-two-three".to_owned()), "{face:?} {reason}");
                });
            }
        }
        let count = all.len();
        while let Some(one) = all.join_next().await {
            one.unwrap();
        }
        assert_eq!(count, 12);
        assert!(began.elapsed() > Duration::from_secs(9));
    }
}
