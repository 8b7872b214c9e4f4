//! What a chat completion may ask for: each part that is refused, by name, and without a run.

use serde_json::{Value as Json, json};

use crate::test_server::{BODY_LIMIT, TestServer, ask};

/// Sends a request that must be refused, and compares status, code and parameter.
#[track_caller]
fn check_error(reply: &crate::test_server::Reply, status: u16, code: &str, param: Option<&str>) -> Json {
    let body = reply.json();
    let error = &body["error"];
    assert_eq!(body.as_object().unwrap().len(), 1, "{body}");
    let found = (reply.status, error["code"].as_str().unwrap(), error["param"].as_str());
    assert_eq!(found, (status, code, param), "{body}");
    assert!(!error["message"].as_str().unwrap().is_empty(), "{body}");
    error.clone()
}

fn with(model: &str, name: &str, value: Json) -> Json {
    let mut body = ask(model, "hi");
    body[name] = value;
    body
}

fn messages(model: &str, messages: Json) -> Json {
    json!({ "model": model, "messages": messages })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_parameter_without_effect_is_refused_by_name_and_starts_no_run() {
    let server = TestServer::start().await;
    let function = json!({ "type": "function", "function": { "name": "f" } });
    for (name, value) in [
        ("tools", json!([function])),
        ("tool_choice", json!("required")),
        ("tool_choice", json!({ "type": "function", "function": { "name": "f" } })),
        ("functions", json!([{ "name": "f" }])),
        ("n", json!(2)),
        ("n", json!(0)),
        ("n", json!("1")),
        ("temperature", json!(0)),
        ("temperature", json!(0.999)),
        ("top_p", json!(0.5)),
        ("max_tokens", json!(1)),
        ("max_completion_tokens", json!(0)),
        ("response_format", json!({ "type": "json_object" })),
        ("response_format", json!("text")),
        ("logprobs", json!(true)),
        ("parallel_tool_calls", json!(false)),
        ("service_tier", json!("flex")),
        ("stop", json!("end")),
        ("stop", json!(["end"])),
        ("seed", json!(0)),
        ("store", json!(true)),
        ("audio", json!({})),
        ("web_search_options", json!({})),
        ("Temperature", json!(1)),
        ("", json!(null)),
    ] {
        for stream in [false, true] {
            let mut body = with("greeter", name, value.clone());
            body["stream"] = stream.into();
            let error = check_error(&server.chat(&body).await, 400, "unsupported_parameter", Some(name));
            assert_eq!(error["type"], "invalid_request_error");
        }
    }
    assert_eq!(server.run_count().await, 0);
    for (name, value) in [("n", json!(1)), ("temperature", json!(1.0)), ("tools", json!([])), ("seed", json!(null))] {
        assert_eq!(server.chat(&with("greeter", name, value)).await.status, 200, "{name}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_that_the_flow_cannot_get_is_refused_by_its_place() {
    let server = TestServer::start().await;
    let user = json!({ "role": "user", "content": "hi" });
    let image = json!({ "type": "image_url", "image_url": { "url": "https://example.com/a.png" } });
    for (list, code, param) in [
        (json!([{ "role": "system", "content": "Be brief." }, user]), "unsupported_message", "messages[0]"),
        (json!([user, { "role": "assistant", "content": "Hello." }, user]), "unsupported_message", "messages[1]"),
        (json!([user, user]), "unsupported_message", "messages[1]"),
        (json!([{ "role": "user", "content": "hi", "name": "ada" }]), "unsupported_message", "messages[0].name"),
        (json!([{ "role": "assistant", "content": "Hello." }]), "unsupported_message", "messages[0]"),
        (json!([]), "invalid_message", "messages"),
        (json!("hi"), "invalid_type", "messages"),
        (json!(["hi"]), "invalid_type", "messages[0]"),
        (json!([{ "role": "narrator", "content": "hi" }]), "invalid_message", "messages[0].role"),
        (json!([{ "content": "hi" }]), "invalid_message", "messages[0].role"),
        (json!([{ "role": "user" }]), "invalid_type", "messages[0].content"),
        (json!([{ "role": "user", "content": null }]), "invalid_type", "messages[0].content"),
        (json!([{ "role": "user", "content": 5 }]), "invalid_type", "messages[0].content"),
        (json!([{ "role": "user", "content": [] }]), "invalid_type", "messages[0].content"),
        (json!([{ "role": "user", "content": [image] }]), "unsupported_content", "messages[0].content[0]"),
        (
            json!([{ "role": "user", "content": [{ "type": "text", "text": "hi" }, image] }]),
            "unsupported_content",
            "messages[0].content[1]",
        ),
        (
            json!([{ "role": "user", "content": [{ "type": "text", "text": "hi", "cache": 1 }] }]),
            "unsupported_content",
            "messages[0].content[0].cache",
        ),
        (json!([{ "role": "user", "content": "hi", "weight": 1 }]), "unsupported_content", "messages[0].weight"),
    ] {
        check_error(&server.chat(&messages("greeter", list)).await, 400, code, Some(param));
    }
    // A flow that gets the whole conversation cannot get an image either.
    let list = json!([{ "role": "user", "content": [image] }]);
    check_error(
        &server.chat(&messages("chat", list)).await,
        400,
        "unsupported_content",
        Some("messages[0].content[0]"),
    );
    assert_eq!(server.run_count().await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flow_with_the_property_messages_gets_all_of_them() {
    let server = TestServer::start().await;
    let call = json!({ "id": "c1", "type": "function", "function": { "name": "f", "arguments": "{}" } });
    let list = json!([
        { "role": "system", "content": "Be brief." },
        { "role": "user", "content": [{ "type": "text", "text": "what " }, { "type": "text", "text": "is it?" }], "name": "ada" },
        { "role": "assistant", "content": null, "tool_calls": [call] },
        { "role": "tool", "content": "five", "tool_call_id": "c1" },
    ]);
    let reply = server.chat(&messages("chat", list)).await;
    // Its schema wants a text for every message, so the one without is not accepted, and not dropped.
    check_error(&reply, 400, "INPUT_INVALID", Some("messages"));
    let list = json!([
        { "role": "system", "content": "Be brief." },
        { "role": "user", "content": [{ "type": "text", "text": "what " }, { "type": "text", "text": "is it?" }], "name": "ada" },
        { "role": "assistant", "content": "I look.", "tool_calls": [call] },
        { "role": "tool", "content": "five", "tool_call_id": "c1" },
    ]);
    let reply = server.chat(&messages("chat", list)).await;
    let heard: Json = serde_json::from_str(reply.json()["choices"][0]["message"]["content"].as_str().unwrap()).unwrap();
    assert_eq!(
        heard["heard"],
        json!([
            { "role": "system", "content": "Be brief." },
            { "role": "user", "content": "what is it?", "name": "ada" },
            { "role": "assistant", "content": "I look.", "tool_calls": [call] },
            { "role": "tool", "content": "five", "tool_call_id": "c1" },
        ])
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_object_is_read_from_the_message_and_all_its_faults_are_named() {
    let server = TestServer::start().await;
    for text in ["On otters.", "[]", "{\"essay\": ", "\"text\"", ""] {
        let error =
            check_error(&server.chat(&ask("grader", text)).await, 400, "INPUT_INVALID", Some("messages[0].content"));
        let message = error["message"].as_str().unwrap();
        assert!(message.contains("`essay`") && message.contains("`points`"), "{message}");
    }
    let reply = server.chat(&ask("grader", "{\"essay\": 5, \"points\": 11}")).await;
    let error = check_error(&reply, 400, "INPUT_INVALID", Some("messages"));
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("essay") && message.contains("points"), "{message}");
    assert_eq!(server.run_count().await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wrong_request_has_an_error_of_the_form_that_clients_know() {
    let server = TestServer::start().await;
    check_error(&server.chat(&ask("no-such-flow", "hi")).await, 404, "model_not_found", Some("model"));
    check_error(&server.chat(&with("greeter", "stream", json!(1))).await, 400, "invalid_type", Some("stream"));
    let options = with("greeter", "stream_options", json!({ "include_usage": true }));
    check_error(&server.chat(&options).await, 400, "invalid_request", Some("stream_options"));
    for (option, code) in
        [("include_usage", "invalid_type"), ("include_obfuscation", "invalid_type"), ("other", "unsupported_parameter")]
    {
        let mut body = with("greeter", "stream_options", json!({ option: "yes" }));
        body["stream"] = true.into();
        check_error(&server.chat(&body).await, 400, code, Some(&format!("stream_options.{option}")));
    }
    for body in ["{", "[]", "5", "\u{0}"] {
        let request = server.request("POST", "/v1/chat/completions").body(body);
        let reply = server.send(request).await;
        assert_eq!(reply.status, 400, "{body}");
        assert!(!reply.json()["error"]["message"].as_str().unwrap().is_empty());
    }
    let large = ask("greeter", &"x".repeat(BODY_LIMIT));
    check_error(&server.chat(&large).await, 413, "BODY_TOO_LARGE", None);
    check_error(&server.send(server.post("/v1/responses", &json!({}))).await, 404, "unknown_url", None);
    check_error(&server.send(server.request("GET", "/v1/chat/completions")).await, 405, "METHOD_NOT_ALLOWED", None);
    let strange = server.post("/v1/chat/completions", &ask("greeter", "hi")).header("origin", "https://evil.example");
    check_error(&server.send(strange).await, 403, "ORIGIN_NOT_ALLOWED", None);
    check_error(
        &server.send(server.request("GET", "/v1/models/no%2Fsuch")).await,
        404,
        "model_not_found",
        Some("model"),
    );
    // Elsewhere, problems keep their own form.
    let reply = server.send(server.request("GET", "/api/v1/flows/no-such-flow")).await;
    assert_eq!(
        (reply.header("content-type"), &reply.json()["code"]),
        ("application/problem+json", &json!("FLOW_NOT_FOUND"))
    );
    assert_eq!(server.run_count().await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn user_and_metadata_are_labels_of_the_run() {
    let server = TestServer::start().await;
    let mut body = with("greeter", "metadata", json!({ "team": "red" }));
    body["user"] = json!("ada");
    assert_eq!(server.chat(&body).await.status, 200);
    let labels = server.runs_of("greeter").await[0].labels.clone();
    assert_eq!(labels, [("team".to_owned(), "red".to_owned()), ("user".to_owned(), "ada".to_owned())]);
    for (name, value, param) in [
        ("metadata", json!("x"), "metadata"),
        ("metadata", json!({ "team": 5 }), "metadata.team"),
        ("metadata", json!({ "team": "x".repeat(10_000) }), "metadata"),
        ("metadata", json!({ "trefoil.key": "other" }), "metadata"),
        ("user", json!(5), "user"),
        ("user", json!("x".repeat(300)), "user"),
    ] {
        let reply = server.chat(&with("greeter", name, value)).await;
        assert_eq!((reply.status, reply.json()["error"]["param"].as_str().unwrap()), (400, param));
    }
    assert_eq!(server.run_count().await, 1);
}
