//! Streams of chat completions.

use std::fmt::Write as _;

use serde_json::{Value as Json, json};

use crate::test_server::{Reply, TestServer, ask};

fn streamed(model: &str, text: &str) -> Json {
    let mut body = ask(model, text);
    body["stream"] = true.into();
    body
}

/// The chunks of a stream without its end, and whether it has the end.
fn chunks(reply: &Reply) -> (Vec<Json>, bool) {
    let mut frames = reply.frames();
    let has_end = frames.last() == Some(&"[DONE]");
    if has_end {
        frames.pop();
    }
    (frames.into_iter().map(|frame| serde_json::from_str(frame).unwrap()).collect(), has_end)
}

/// The pieces of content.
fn pieces(chunks: &[Json]) -> Vec<String> {
    let mut pieces = Vec::new();
    for chunk in chunks {
        if let Some(piece) = chunk["choices"][0]["delta"]["content"].as_str()
            && !piece.is_empty()
        {
            pieces.push(piece.to_owned());
        }
    }
    pieces
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_text_of_the_last_agent_comes_in_pieces_and_then_the_usage() {
    let server = TestServer::start().await;
    let mut body = streamed("greeter", "hi");
    body["stream_options"] = json!({ "include_usage": true });
    let reply = server.chat(&body).await;
    assert_eq!(
        (reply.status, reply.header("content-type"), reply.header("x-should-retry")),
        (200, "text/event-stream", "false")
    );
    let (chunks, has_end) = chunks(&reply);
    assert!(has_end, "{}", reply.text);
    assert_eq!(pieces(&chunks), ["Good ", "morning ", "from ", "the ", "script."]);
    assert_eq!(chunks[0]["choices"][0]["delta"]["role"], "assistant");
    let last = &chunks[chunks.len() - 1];
    assert_eq!((&last["choices"], &last["usage"]["total_tokens"]), (&json!([]), &json!(17)));
    let stop = &chunks[chunks.len() - 2];
    assert_eq!((&stop["choices"][0]["finish_reason"], &stop["usage"]), (&json!("stop"), &Json::Null));
    for chunk in &chunks {
        assert_eq!((&chunk["id"], &chunk["created"]), (&chunks[0]["id"], &chunks[0]["created"]));
    }
    let without = server.chat(&streamed("greeter", "hi")).await;
    assert!(!without.text.contains("usage"), "{}", without.text);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_result_that_is_not_the_text_of_an_agent_comes_in_one_piece() {
    let server = TestServer::start().await;
    for (flow, text) in [("article", "{\"topic\": \"otters\"}"), ("echo", "hi"), ("stepwise", "hi")] {
        let whole = server.chat(&ask(flow, text)).await.json()["choices"][0]["message"]["content"].clone();
        let (chunks, _) = chunks(&server.chat(&streamed(flow, text)).await);
        assert_eq!(pieces(&chunks), [whole.as_str().unwrap()], "{flow}");
    }
    let (chunks, has_end) = chunks(&server.chat(&streamed("blank", "hi")).await);
    assert_eq!((pieces(&chunks).len(), has_end), (0, true));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_that_runs_last_is_streamed_and_those_before_it_are_not() {
    let folder = tempfile::tempdir().unwrap();
    let mut flow = "id: two\nkind: sequential\nsteps:\n".to_owned();
    for agent in ["first", "second"] {
        let _ = writeln!(
            flow,
            "  - agent: {{ id: {agent}, kind: llm, model: {{ provider: openai, name: m }}, instruction: {agent} }}"
        );
    }
    let flows = folder.path().join("flows");
    std::fs::create_dir(&flows).unwrap();
    std::fs::write(flows.join("two.yaml"), flow).unwrap();
    let script = folder.path().join("script.yaml");
    std::fs::write(&script, "answers:\n  first: not this\n  second: but this\n").unwrap();
    let server = TestServer::start_with(&flows, &script).await;
    let (chunks, _) = chunks(&server.chat(&streamed("two", "hi")).await);
    assert_eq!(pieces(&chunks), ["but ", "this"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failure_after_the_beginning_is_an_event() {
    let server = TestServer::start().await;
    for (flow, code, part) in
        [("failing", "MODEL_ERROR", "this model refuses"), ("approval", "waiting_for_person", "Publish this? hi")]
    {
        let reply = server.chat(&streamed(flow, "hi")).await;
        assert_eq!((reply.status, reply.header("x-should-retry")), (200, "false"));
        let (chunks, has_end) = chunks(&reply);
        assert!(!has_end, "{}", reply.text);
        let error = &chunks[chunks.len() - 1]["error"];
        assert_eq!(error["code"], code);
        assert!(error["message"].as_str().unwrap().contains(part), "{error}");
    }
    // What is wrong before a run has started is a status.
    let reply = server.chat(&streamed("no-such-flow", "hi")).await;
    assert_eq!((reply.status, &reply.json()["error"]["code"]), (404, &json!("model_not_found")));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn awkward_characters_do_not_break_frames() {
    let server = TestServer::start().await;
    let plain = server.chat(&ask("hurt", "hi")).await.json()["choices"][0]["message"]["content"].clone();
    let reply = server.chat(&streamed("hurt", "hi")).await;
    let (chunks, has_end) = chunks(&reply);
    assert!(has_end);
    assert_eq!(pieces(&chunks).concat(), plain.as_str().unwrap());
    for character in ['\u{85}', '\u{2028}', '\u{2029}'] {
        assert!(!reply.text.contains(character), "{character:?}");
    }
}
