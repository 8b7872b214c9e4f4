//! The finish reason and usage of answers in both protocols, streamed and not.

use serde_json::{Value as Json, json};
use trefoil_models::Registry;
use trefoil_runtime::{FinishReason, Usage};

use crate::request::{ask, request};
use crate::server::{Piece, Reply, Server};

fn registry(url: &str) -> Registry {
    let env =
        [("OPENAI_API_KEY", "k"), ("OPENAI_BASE_URL", url), ("ANTHROPIC_API_KEY", "k"), ("ANTHROPIC_BASE_URL", url)];
    Registry::new(env.map(|(k, v)| (k.to_owned(), v.to_owned())))
}

fn events(events: &[Json]) -> Vec<String> {
    events.iter().map(|e| format!("data: {e}\n\n")).collect()
}

async fn finish(provider: &str, reply: Reply, stream: bool) -> (Option<FinishReason>, String, Usage) {
    let server = Server::start(vec![reply]).await;
    let mut asked = request("x");
    asked.stream = stream;
    let (answer, _) = ask(&*registry(&server.url).resolve_provider(provider, "m").unwrap(), &asked).await;
    let answer = answer.unwrap();
    (answer.finish, answer.text, answer.usage)
}

#[tokio::test]
async fn openai_says_why_it_stopped() {
    let said = [
        ("stop", Some(FinishReason::Stop)),
        ("length", Some(FinishReason::Length)),
        ("content_filter", Some(FinishReason::Filtered)),
        ("something new", None),
    ];
    for (word, expect) in said {
        let choice = json!({"message": {"content": "Half"}, "finish_reason": word});
        let whole = finish("openai", Reply::json(json!({"choices": [choice]})), false).await;
        assert_eq!((whole.0, &*whole.1), (expect, "Half"), "{word}");
        let last = json!({"choices": [{"delta": {"content": "Half"}, "finish_reason": word}]});
        let texts = events(&[last]);
        let streamed = finish("openai", Reply::stream(&[&texts[0], "data: [DONE]\n\n"]), true).await;
        assert_eq!((streamed.0, &*streamed.1), (expect, "Half"), "{word}");
    }
    let refused =
        json!({"choices": [{"message": {"content": null, "refusal": "I will not."}, "finish_reason": "stop"}]});
    let refused = finish("openai", Reply::json(refused), false).await;
    assert_eq!((refused.0, &*refused.1), (Some(FinishReason::Refused), "I will not."));
}

#[tokio::test]
async fn anthropic_says_why_it_stopped() {
    let said = [
        ("end_turn", Some(FinishReason::Stop)),
        ("max_tokens", Some(FinishReason::Length)),
        ("model_context_window_exceeded", Some(FinishReason::Length)),
        ("refusal", Some(FinishReason::Refused)),
    ];
    for (word, expect) in said {
        let body = json!({"content": [{"type": "text", "text": "Half"}], "stop_reason": word});
        assert_eq!(finish("anthropic", Reply::json(body), false).await.0, expect, "{word}");
        let texts = events(&[
            json!({"type": "content_block_delta", "delta": {"text": "Half"}}),
            json!({"type": "message_delta", "delta": {"stop_reason": word}}),
            json!({"type": "message_stop"}),
        ]);
        let pieces: Vec<&str> = texts.iter().map(String::as_str).collect();
        assert_eq!(finish("anthropic", Reply::stream(&pieces), true).await.0, expect, "{word}");
    }
}

#[tokio::test]
async fn usage_that_nobody_tells_is_unknown_and_not_nothing() {
    let body = json!({"choices": [{"message": {"content": "Hi"}, "finish_reason": "stop"}]});
    assert_eq!(finish("openai", Reply::json(body), false).await.2, Usage::for_unknown_call());
    let body = json!({"content": [{"type": "text", "text": "Hi"}], "stop_reason": "end_turn"});
    assert_eq!(finish("anthropic", Reply::json(body), false).await.2, Usage::for_unknown_call());
}

#[tokio::test]
async fn a_call_that_breaks_off_keeps_what_had_come() {
    let start = json!({"type": "message_start", "message": {"id": "msg_7", "model": "claude-x",
        "usage": {"input_tokens": 40, "output_tokens": 1}}});
    let text = json!({"type": "content_block_delta", "delta": {"text": "Once upon"}});
    let mut pieces: Vec<Piece> = events(&[start, text]).into_iter().map(|e| Piece::Bytes(e.into_bytes())).collect();
    pieces.push(Piece::Cut);
    let server = Server::start(vec![Reply::Stream(pieces)]).await;
    let mut asked = request("x");
    asked.stream = true;
    let (answer, _) = ask(&*registry(&server.url).resolve_provider("anthropic", "m").unwrap(), &asked).await;
    let came = answer.unwrap_err().came.expect("it had begun");
    assert_eq!((&*came.text, came.request_id.as_deref()), ("Once upon", Some("msg_7")));
    let known = Usage { input_tokens: 40, output_tokens: 1, unknown_calls: 1, ..Usage::default() };
    assert_eq!(came.usage, known, "a lower bound");
}

#[tokio::test]
async fn a_call_that_never_began_used_nothing() {
    let server = Server::start(vec![Reply::Whole(429, vec![], String::new())]).await;
    let (answer, _) = ask(&*registry(&server.url).resolve_provider("openai", "m").unwrap(), &request("x")).await;
    assert_eq!(answer.unwrap_err().came, None);
    let (answer, _) =
        ask(&*registry("http://127.0.0.1:1").resolve_provider("openai", "m").unwrap(), &request("x")).await;
    assert_eq!(answer.unwrap_err().came, None);
}

#[tokio::test]
async fn the_name_of_the_request_is_kept() {
    let body = json!({"id": "chatcmpl-1", "choices": [{"message": {"content": "Hi"}}]}).to_string();
    let headers = vec![("content-type", "application/json"), ("x-request-id", "req_9")];
    let server = Server::start(vec![Reply::Whole(200, headers, body)]).await;
    let (answer, _) = ask(&*registry(&server.url).resolve_provider("openai", "m").unwrap(), &request("x")).await;
    assert_eq!(answer.unwrap().request_id.as_deref(), Some("req_9"));
}
