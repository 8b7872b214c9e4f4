//! Anthropic messages: requests and responses.

use expect_test::expect;
use serde_json::{Value as Json, json};
use trefoil_ir::ModelParameters;
use trefoil_runtime::{MessageRole, ModelErrorKind, Usage};
use trefoil_template::Value;

use crate::request::{ask, message, request, schema};
use crate::server::{Reply, Server};

const ANTHROPIC: &[(&str, &str)] = &[("ANTHROPIC_API_KEY", "sk-ant-secret"), ("ANTHROPIC_BASE_URL", "{url}")];

#[tokio::test]
async fn an_answer_comes_with_its_figures() {
    let server = Server::start(vec![Reply::json(json!({
        "model": "claude-x",
        "content": [{"type": "thinking", "thinking": "hm", "signature": "s"},
                    {"type": "text", "text": "Bon"}, {"type": "text", "text": "jour"}],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 4, "cache_read_input_tokens": 6, "cache_creation_input_tokens": 2, "output_tokens": 3},
    }))])
    .await;
    let mut asked = request("three");
    asked.provider = Some("anthropic".into());
    asked.messages = vec![
        message(MessageRole::System, "Translate."),
        message(MessageRole::User, "one"),
        message(MessageRole::Assistant, "1"),
        message(MessageRole::User, "three"),
    ];
    asked.parameters = ModelParameters {
        temperature: Some(0.2),
        top_p: Some(0.5),
        top_k: Some(4),
        seed: Some(1),
        stop: vec!["END".into()],
        provider_options: Some(Value::from_json(json!({"thinking": {"type": "enabled", "budgetTokens": 1024}}))),
        ..ModelParameters::default()
    };
    let (answer, _) = ask(&*server.registry(ANTHROPIC).by_name(), &asked).await;
    let answer = answer.unwrap();
    assert_eq!(answer.text, "Bonjour");
    let usage = Usage { input_tokens: 12, output_tokens: 3, cached_tokens: 6, written_tokens: 2, ..Usage::default() };
    assert_eq!(answer.usage, usage);
    assert_eq!(answer.model.as_deref(), Some("claude-x"));

    let sent = server.request();
    assert_eq!(sent.line, "POST /v1/messages HTTP/1.1");
    assert_eq!(sent.headers["x-api-key"], "sk-ant-secret");
    assert_eq!(sent.headers["anthropic-version"], "2023-06-01");
    assert!(!sent.headers.contains_key("authorization"));
    assert_eq!(
        sent.body,
        json!({
            "model": "model-x", "max_tokens": 8192, "system": "Translate.",
            "messages": [
                {"role": "user", "content": "one"},
                {"role": "assistant", "content": "1"},
                {"role": "user", "content": "three"},
            ],
            "temperature": 0.2, "top_p": 0.5, "top_k": 4, "stop_sequences": ["END"],
            "thinking": {"type": "enabled", "budget_tokens": 1024},
        })
    );
}

#[tokio::test]
async fn a_schema_goes_into_the_system_message() {
    let reply = || Reply::json(json!({"content": [{"type": "text", "text": "{}"}]}));
    let server = Server::start(vec![reply()]).await;
    let mut asked = request("x");
    asked.parameters.max_tokens = Some(9);
    asked.schema = schema("s", json!({"type": "object"}));
    ask(&*server.registry(ANTHROPIC).resolve_provider("anthropic", "m").unwrap(), &asked).await.0.unwrap();
    let body = server.request().body;
    assert_eq!(body["max_tokens"], 9);
    let system = body["system"].as_str().unwrap();
    assert!(system.contains("JSON Schema") && system.ends_with(r#"{"type":"object"}"#), "{system}");
}

fn event(json: Json) -> String {
    format!("event: {}\ndata: {json}\n\n", json["type"].as_str().unwrap())
}

#[tokio::test]
async fn a_stream_is_shown_as_it_comes_and_counted() {
    let events = [
        json!({"type": "message_start", "message": {"model": "claude-x", "usage": {"input_tokens": 10, "output_tokens": 1}}}),
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": ""}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "hm"}}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}}),
        json!({"type": "ping"}),
        json!({"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "Bon"}}),
        json!({"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "jour"}}),
        json!({"type": "content_block_stop", "index": 1}),
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 7}}),
        json!({"type": "message_stop"}),
    ];
    let texts: Vec<String> = events.into_iter().map(event).collect();
    let server = Server::start(vec![Reply::stream(&texts.iter().map(String::as_str).collect::<Vec<_>>())]).await;
    let mut asked = request("x");
    asked.stream = true;
    let (answer, heard) = ask(&*server.registry(ANTHROPIC).resolve_provider("anthropic", "m").unwrap(), &asked).await;
    let answer = answer.unwrap();
    assert_eq!(answer.text, "Bonjour");
    assert_eq!(heard, ["Bon", "jour"]);
    assert_eq!(answer.usage, Usage { input_tokens: 10, output_tokens: 7, ..Usage::default() });
    assert_eq!(answer.model.as_deref(), Some("claude-x"));
    assert_eq!(server.request().body["stream"], true);
}

#[tokio::test]
async fn an_error_in_the_middle_has_the_status_of_its_type() {
    let start = event(json!({"type": "message_start", "message": {}}));
    let overloaded = event(json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}));
    let server = Server::start(vec![Reply::stream(&[&start, &overloaded])]).await;
    let mut asked = request("x");
    asked.stream = true;
    let (answer, _) = ask(&*server.registry(ANTHROPIC).resolve_provider("anthropic", "m").unwrap(), &asked).await;
    let error = answer.unwrap_err();
    assert_eq!(error.kind, ModelErrorKind::Status(529));
    expect!["`anthropic` answered with an error: Overloaded"].assert_eq(&error.message);
}
