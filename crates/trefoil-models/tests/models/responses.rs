//! OpenAI's responses API: reading responses, complete and streamed.

use serde_json::{Value as Json, json};
use trefoil_models::{Registry, VendorApi};
use trefoil_runtime::{FinishReason, ModelAnswer, ModelError, ModelErrorKind, ToolSpec, Usage};

use crate::request::{ask, request};
use crate::server::{Reply, Server};

/// Reads a response as a complete answer, and as the last event of a stream.
async fn read(response: Json) -> [Result<ModelAnswer, ModelError>; 2] {
    let sort = match response["status"].as_str() {
        Some("failed") => "response.failed",
        Some("incomplete") => "response.incomplete",
        _ => "response.completed",
    };
    let part = |part: &Json| match part["type"].as_str() {
        Some("refusal") => json!({"type": "response.refusal.delta", "delta": part["refusal"]}),
        _ => json!({"type": "response.output_text.delta", "delta": part["text"]}),
    };
    let parts = response["output"].as_array().into_iter().flatten().filter_map(|item| item["content"].as_array());
    let mut events: Vec<Json> = parts.flatten().map(part).collect();
    events.push(json!({"type": sort, "response": response}));
    let stream: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
    let server = Server::start_with(move |body| match body["stream"] == true {
        true => Reply::stream(&[&stream]),
        false => Reply::json(response.clone()),
    })
    .await;
    let env = [("OPENAI_API_KEY", "sk-very-secret"), ("OPENAI_BASE_URL", &*format!("{}/v1", server.url))];
    let registry =
        Registry::new(env.map(|(k, v)| (k.to_owned(), v.to_owned()))).with_api("openai", VendorApi::Responses);
    let model = registry.resolve_provider("openai", "m").unwrap();
    let mut asked = request("x");
    let whole = ask(&*model, &asked).await.0;
    asked.stream = true;
    [whole, ask(&*model, &asked).await.0]
}

fn said(text: &str) -> Json {
    json!([{"type": "reasoning", "summary": []}, {"type": "message", "content": [{"type": "output_text", "text": text}]}])
}

#[tokio::test]
async fn an_answer_comes_with_its_figures() {
    let usage = json!({"input_tokens": 12, "output_tokens": 3, "input_tokens_details": {"cached_tokens": 8, "cache_write_tokens": 2}});
    let response =
        json!({"id": "resp_1", "model": "m-2026", "status": "completed", "output": said("Bonjour"), "usage": usage});
    for answer in read(response).await {
        let answer = answer.unwrap();
        let usage =
            Usage { input_tokens: 12, output_tokens: 3, cached_tokens: 8, written_tokens: 2, ..Usage::default() };
        assert_eq!((&*answer.text, answer.usage, answer.finish), ("Bonjour", usage, Some(FinishReason::Stop)));
        assert_eq!((answer.model.as_deref(), answer.request_id.as_deref()), (Some("m-2026"), Some("resp_1")));
    }
}

#[tokio::test]
async fn why_it_stopped_is_told() {
    let incomplete = |reason: &str| json!({"status": "incomplete", "incomplete_details": {"reason": reason}, "output": said("Half")});
    let refusal = json!([{"type": "message", "content": [{"type": "refusal", "refusal": "I cannot"}]}]);
    let all = [
        (incomplete("max_output_tokens"), FinishReason::Length, "Half"),
        (incomplete("content_filter"), FinishReason::Filtered, "Half"),
        (json!({"status": "completed", "output": refusal}), FinishReason::Refused, "I cannot"),
    ];
    for (response, finish, text) in all {
        for answer in read(response).await {
            let answer = answer.unwrap();
            assert_eq!((answer.finish, &*answer.text), (Some(finish), text));
        }
    }
}

#[tokio::test]
async fn what_failed_is_an_error_with_the_status_that_it_stands_for() {
    let failed = |code: &str| json!({"status": "failed", "error": {"code": code, "message": "no, sk-very-secret"}, "output": []});
    let all = [("server_error", 500), ("rate_limit_exceeded", 429), ("invalid_prompt", 400)];
    for (code, status) in all {
        for answer in read(failed(code)).await {
            let error = answer.unwrap_err();
            assert_eq!(error.kind, ModelErrorKind::Status(status), "{}", error.message);
            assert!(error.message.ends_with("answered with an error: no, ***"), "{}", error.message);
        }
    }
}

#[tokio::test]
async fn an_answer_that_comes_only_with_the_last_event_is_read() {
    let call = json!({"type": "function_call", "call_id": "c1", "name": "search", "arguments": "{\"q\":\"tea\"}"});
    let mut output = said("Bonjour").as_array().unwrap().clone();
    output.push(call);
    let last = json!({"type": "response.completed", "response": {"status": "completed", "output": output}});
    let server = Server::start(vec![Reply::stream(&[&format!("data: {last}\n\n")])]).await;
    let env = [("OPENAI_API_KEY", "k"), ("OPENAI_BASE_URL", &*format!("{}/v1", server.url))];
    let registry =
        Registry::new(env.map(|(k, v)| (k.to_owned(), v.to_owned()))).with_api("openai", VendorApi::Responses);
    let mut asked = request("x");
    asked.stream = true;
    asked.tools = vec![ToolSpec::without_description("search")];
    let (answer, heard) = ask(&*registry.resolve_provider("openai", "m").unwrap(), &asked).await;
    let answer = answer.unwrap();
    assert_eq!((&*answer.text, heard.concat()), ("Bonjour", "Bonjour".to_owned()));
    assert_eq!((answer.calls.len(), &*answer.calls[0].name, answer.finish), (1, "search", Some(FinishReason::Tools)));
}
