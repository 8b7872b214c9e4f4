//! OpenAI-compatible chat completions: requests and responses.

use expect_test::expect;
use serde_json::{Value as Json, json};
use trefoil_ir::ModelParameters;
use trefoil_runtime::{MessageRole, ModelErrorKind, Usage};
use trefoil_template::Value;

use crate::request::{ask, message, request, schema};
use crate::server::{Piece, Reply, Server};

const OPENAI: &[(&str, &str)] = &[("OPENAI_API_KEY", "sk-very-secret"), ("OPENAI_BASE_URL", "{url}/v1")];

fn completion(text: &str) -> Reply {
    Reply::json(json!({
        "model": "model-x-2026",
        "choices": [{"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 12, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 8}},
    }))
}

#[tokio::test]
async fn an_answer_comes_with_its_figures_and_nothing_rewritten() {
    let server = Server::start(vec![completion("  Bonjour\n")]).await;
    let provider = server.registry(OPENAI).by_name();
    let mut asked = request("Hello {{x}}");
    asked.provider = Some("openai".into());
    asked.model = "qwen-max".into();
    asked.messages.insert(0, message(MessageRole::System, "Be brief."));
    assert_eq!(provider.label(&asked), "openai:qwen-max");
    let (answer, heard) = ask(&*provider, &asked).await;
    let answer = answer.unwrap();
    assert_eq!(answer.text, "  Bonjour\n");
    assert_eq!(answer.usage, Usage { input_tokens: 12, output_tokens: 3, cached_tokens: 8, ..Usage::default() });
    assert_eq!(answer.model.as_deref(), Some("model-x-2026"));
    assert!(heard.is_empty(), "nothing is shown that was not asked to be");

    let sent = server.request();
    assert_eq!(sent.line, "POST /v1/chat/completions HTTP/1.1");
    assert_eq!(sent.headers["authorization"], "Bearer sk-very-secret");
    assert_eq!(sent.headers["content-type"], "application/json");
    assert_eq!(
        sent.body,
        json!({"model": "qwen-max", "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Hello {{x}}"},
        ]})
    );
}

#[tokio::test]
async fn examples_parameters_options_and_schema_are_sent() {
    let server = Server::start(vec![completion("{}")]).await;
    let provider = server.registry(OPENAI).resolve_provider("openai", "model-y").unwrap();
    let mut asked = request("three");
    asked.messages = vec![
        message(MessageRole::System, "Sort."),
        message(MessageRole::User, "one"),
        message(MessageRole::Assistant, "1"),
        message(MessageRole::User, "three"),
    ];
    asked.parameters = ModelParameters {
        temperature: Some(0.0),
        top_p: Some(0.5),
        top_k: Some(4),
        max_tokens: Some(100),
        presence_penalty: Some(0.1),
        frequency_penalty: Some(-0.1),
        seed: Some(-7),
        stop: vec!["END".into(), "STOP".into()],
        provider_options: Some(Value::from_json(json!({"reasoningEffort": "low", "metadata": {"runId": "r"}}))),
        timeout_ms: None,
    };
    let answer_schema = json!({"type": "object", "properties": {"n": {"type": "integer"}, "why": {"type": "string"}},
        "required": ["n"]});
    asked.schema = schema("sort output", answer_schema.clone());
    assert_eq!(provider.label(&asked), "openai:model-y");
    ask(&*provider, &asked).await.0.unwrap();
    assert_eq!(
        server.request().body,
        json!({
            "model": "model-y",
            "messages": [
                {"role": "system", "content": "Sort."},
                {"role": "user", "content": "one"},
                {"role": "assistant", "content": "1"},
                {"role": "user", "content": "three"},
            ],
            "temperature": 0.0, "top_p": 0.5, "top_k": 4, "max_tokens": 100,
            "presence_penalty": 0.1, "frequency_penalty": -0.1, "seed": -7, "stop": ["END", "STOP"],
            "reasoning_effort": "low", "metadata": {"runId": "r"},
            "response_format": {"type": "json_schema",
                "json_schema": {"name": "sort_output", "strict": false, "schema": answer_schema}},
        })
    );
}

#[tokio::test]
async fn a_server_without_schemas_gets_it_in_words() {
    let server = Server::start(vec![completion("{}")]).await;
    let registry = server.registry(&[("DEEPSEEK_API_KEY", "k"), ("DEEPSEEK_BASE_URL", "{url}")]);
    let mut asked = request("x");
    asked.messages.insert(0, message(MessageRole::System, "Be brief."));
    asked.schema = schema("s", json!({"type": "object"}));
    ask(&*registry.resolve_provider("deepseek", "m").unwrap(), &asked).await.0.unwrap();
    let body = server.request().body;
    assert_eq!(body["response_format"], json!({"type": "json_object"}));
    assert_eq!(body["messages"][0]["content"], "Be brief.");
    assert_eq!(body["messages"][1]["role"], "system");
    assert!(body["messages"][1]["content"].as_str().unwrap().ends_with(r#"{"type":"object"}"#));
    assert_eq!(body["messages"][2]["content"], "x");
}

#[tokio::test]
async fn ollama_needs_no_key() {
    let server = Server::start(vec![completion("hi")]).await;
    let registry = server.registry(&[("OLLAMA_BASE_URL", "{url}/v1")]);
    let (answer, _) = ask(&*registry.resolve_provider("ollama", "llama3:8b").unwrap(), &request("x")).await;
    assert_eq!(answer.unwrap().text, "hi");
    let sent = server.request();
    assert_eq!(sent.line, "POST /v1/chat/completions HTTP/1.1");
    assert!(!sent.headers.contains_key("authorization"));
    assert_eq!(sent.body["model"], "llama3:8b");
}

#[tokio::test]
async fn compatible_interfaces_of_other_makers_are_where_they_say() {
    for (provider, key, variable, base, path) in [
        (
            "google",
            "GOOGLE_GENERATIVE_AI_API_KEY",
            "GOOGLE_GENERATIVE_AI_BASE_URL",
            "{url}/v1beta/openai",
            "/v1beta/openai/chat/completions",
        ),
        ("cohere", "COHERE_API_KEY", "COHERE_BASE_URL", "{url}/compatibility/v1", "/compatibility/v1/chat/completions"),
        ("azure", "AZURE_OPENAI_API_KEY", "AZURE_OPENAI_BASE_URL", "{url}", "/openai/v1/chat/completions"),
    ] {
        let server = Server::start(vec![completion("fine")]).await;
        let registry = server.registry(&[(key, "k-123456"), (variable, base)]);
        let mut asked = request("hi");
        asked.parameters.max_tokens = Some(9);
        let answer = ask(&*registry.resolve_provider(provider, "m").unwrap(), &asked).await.0.unwrap();
        assert_eq!(answer.text, "fine");
        let sent = server.request();
        assert_eq!(sent.line, format!("POST {path} HTTP/1.1"));
        assert_eq!(sent.headers["authorization"], "Bearer k-123456");
        let most = if provider == "azure" { "max_completion_tokens" } else { "max_tokens" };
        assert_eq!((&sent.body["model"], &sent.body[most]), (&json!("m"), &json!(9)), "{provider}");
    }
}

fn event(json: Json) -> String {
    format!("data: {json}\n\n")
}

#[tokio::test]
async fn a_stream_is_shown_as_it_comes_and_counted_at_its_end() {
    let delta = |text: &str| event(json!({"model": "m-1", "choices": [{"delta": {"content": text}}], "usage": null}));
    let mut bytes: Vec<u8> =
        event(json!({"model": "m-1", "choices": [{"delta": {"role": "assistant", "content": ""}}]})).into_bytes();
    bytes.extend(delta("Gr").bytes());
    bytes.extend(delta("üß").bytes());
    bytes.extend(delta(" Gott").bytes());
    // The cut is inside a character.
    let cut = bytes.windows(2).position(|w| w == "ü".as_bytes()).unwrap() + 1;
    let pieces = vec![
        Piece::Bytes(bytes[..cut].to_vec()),
        Piece::Bytes(bytes[cut..].to_vec()),
        Piece::Bytes(event(json!({"choices": [{"delta": {}, "finish_reason": "stop"}]})).into_bytes()),
        Piece::Bytes(event(json!({"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 2}})).into_bytes()),
        Piece::Bytes(b"data: [DONE]\n\n".to_vec()),
    ];
    let server = Server::start(vec![Reply::Stream(pieces)]).await;
    let mut asked = request("x");
    asked.stream = true;
    let (answer, heard) = ask(&*server.registry(OPENAI).resolve_provider("openai", "m").unwrap(), &asked).await;
    let answer = answer.unwrap();
    assert_eq!(answer.text, "Grüß Gott");
    assert_eq!(heard, ["Gr", "üß", " Gott"]);
    assert_eq!(answer.usage, Usage { input_tokens: 5, output_tokens: 2, ..Usage::default() });
    assert_eq!(answer.model.as_deref(), Some("m-1"));
    let body = server.request().body;
    assert_eq!(body["stream"], true);
    assert_eq!(body["stream_options"], json!({"include_usage": true}));
}

#[tokio::test]
async fn a_server_that_does_not_stream_is_heard_all_the_same() {
    let server = Server::start(vec![completion("whole")]).await;
    let mut asked = request("x");
    asked.stream = true;
    let (answer, heard) = ask(&*server.registry(OPENAI).resolve_provider("openai", "m").unwrap(), &asked).await;
    assert_eq!(answer.unwrap().text, "whole");
    assert_eq!(heard, ["whole"]);
}

#[tokio::test]
async fn a_stream_may_end_without_its_last_word() {
    let delta = event(json!({"choices": [{"delta": {"content": "all"}, "finish_reason": "stop"}]}));
    let server = Server::start(vec![Reply::stream(&[&delta])]).await;
    let mut asked = request("x");
    asked.stream = true;
    let (answer, _) = ask(&*server.registry(OPENAI).resolve_provider("openai", "m").unwrap(), &asked).await;
    assert_eq!(answer.unwrap().text, "all");
}

#[tokio::test]
async fn parts_and_refusals_are_text_too() {
    let replies = vec![
        Reply::json(json!({"choices": [{"message": {"content": [
            {"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "a"}, {"type": "text", "text": "b"},
        ]}}]})),
        Reply::json(json!({"choices": [{"message": {"content": null, "refusal": "I will not"}}]})),
    ];
    let server = Server::start(replies).await;
    let provider = server.registry(OPENAI).resolve_provider("openai", "m").unwrap();
    assert_eq!(ask(&*provider, &request("x")).await.0.unwrap().text, "ab");
    assert_eq!(ask(&*provider, &request("x")).await.0.unwrap().text, "I will not");
}

#[tokio::test]
async fn an_error_behind_a_good_status_is_an_error() {
    let failed = json!({"error": {"message": "upstream says no", "code": 502}});
    let server = Server::start(vec![Reply::json(failed.clone()), Reply::stream(&[&event(failed)])]).await;
    let provider = server.registry(OPENAI).resolve_provider("openai", "m").unwrap();
    let mut told = Vec::new();
    for stream in [false, true] {
        let mut asked = request("x");
        asked.stream = stream;
        let error = ask(&*provider, &asked).await.0.unwrap_err();
        assert_eq!(error.kind, ModelErrorKind::Status(502));
        told.push(error.message);
    }
    assert_eq!(told[0], told[1]);
    expect!["`openai` answered with an error: upstream says no"].assert_eq(&told[0]);
}

#[tokio::test]
async fn providers_are_asked_in_their_own_words() {
    let last = event(json!({"choices": [{"delta": {"content": "hi"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 2}}));
    let server = Server::start(vec![Reply::stream(&[&last])]).await;
    let registry = server.registry(&[("MISTRAL_API_KEY", "k"), ("MISTRAL_BASE_URL", "{url}/v1")]);
    let mut asked = request("x");
    asked.stream = true;
    asked.parameters.seed = Some(3);
    let (answer, _) = ask(&*registry.resolve_provider("mistral", "m").unwrap(), &asked).await;
    assert_eq!(answer.unwrap().usage.output_tokens, 2);
    assert_eq!(
        server.request().body,
        json!({"model": "m", "messages": [{"role": "user", "content": "x"}], "random_seed": 3, "stream": true})
    );
}
