//! Answers to chat completions: what they have, and what becomes of runs that fail, wait, or lose their client.

use std::time::Duration;

use serde_json::json;
use trefoil_server::KeyScope;
use trefoil_store::Status;

use crate::test_server::{TestServer, ask, new_client};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_has_the_result_and_the_usage_of_all_calls() {
    let server = TestServer::start().await;
    let reply = server.chat(&ask("article", "{\"topic\": \"otters\"}")).await;
    assert_eq!(reply.status, 200, "{}", reply.text);
    let body = reply.json();
    let run = &server.runs_of("article").await[0].run;
    assert_eq!(body["id"], format!("chatcmpl-{run}"));
    assert_eq!(body["usage"]["prompt_tokens"], 30);
    assert_eq!(body["usage"]["total_tokens"], 41);
    assert_eq!(body["choices"].as_array().unwrap().len(), 1);
    assert_eq!(body["choices"][0]["finish_reason"], "stop");
    // It has started a run, so it must not be sent again.
    assert_eq!(reply.header("x-should-retry"), "false");
    let models = server.send(server.request("GET", "/v1/models")).await.json();
    let names: Vec<&str> =
        models["data"].as_array().unwrap().iter().map(|model| model["id"].as_str().unwrap()).collect();
    assert!(names.contains(&"article") && names.contains(&"approval"), "{names:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_that_fails_or_waits_is_an_error_that_clients_do_not_repeat() {
    let server = TestServer::start().await;
    let reply = server.chat(&ask("failing", "hi")).await;
    assert_eq!((reply.status, reply.header("x-should-retry")), (502, "false"));
    let error = reply.json()["error"].clone();
    assert_eq!((&error["code"], &error["type"]), (&json!("MODEL_ERROR"), &json!("server_error")));
    assert!(error["message"].as_str().unwrap().contains("this model refuses"), "{error}");

    let reply = server.chat(&ask("approval", "News")).await;
    let run = server.first_run("approval").await;
    assert_eq!((reply.status, reply.header("x-should-retry")), (409, "false"), "{}", reply.text);
    let error = reply.json()["error"].clone();
    assert_eq!(error["code"], "waiting_for_person");
    let message = error["message"].as_str().unwrap();
    for part in ["Publish this? News", "`yes`, `no`", &format!("POST /api/v1/runs/{run}/answers")] {
        assert!(message.contains(part), "{part}: {message}");
    }
    server.wait_status(&run, Status::Waiting).await;

    for (flow, part) in [("picture", "image"), ("selection", "get_selection")] {
        let reply = server.chat(&ask(flow, "hi")).await;
        assert_eq!((reply.status, reply.header("x-should-retry")), (422, ""), "{}", reply.text);
        assert!(reply.json()["error"]["message"].as_str().unwrap().contains(part), "{}", reply.text);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_of_a_client_that_left_is_cancelled_unless_it_may_come_back() {
    for (stream, key, status) in
        [(false, None, Status::Cancelled), (true, None, Status::Cancelled), (false, Some("k"), Status::Running)]
    {
        let server = TestServer::start().await;
        let mut body = ask("slow", "hi");
        body["stream"] = stream.into();
        let mut request = new_client()
            .post(format!("{}/v1/chat/completions", server.url))
            .header("content-type", "application/json")
            .body(body.to_string());
        if let Some(key) = key {
            request = request.header("idempotency-key", key);
        }
        let asking = tokio::spawn(async move { request.send().await.unwrap().text().await });
        let run = server.first_run("slow").await;
        asking.abort();
        let _ = asking.await;
        if status == Status::Running {
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        server.wait_status(&run, status).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_same_request_with_the_same_key_gets_the_same_run() {
    let server = TestServer::start().await;
    let send = |text: &'static str| {
        let request = server.post("/v1/chat/completions", &ask("greeter", text)).header("idempotency-key", "one");
        server.send(request)
    };
    let (first, again) = (send("hi").await.json(), send("hi").await.json());
    assert_eq!(first["id"], again["id"]);
    assert_eq!(first["choices"], again["choices"]);
    let other = send("hello").await;
    assert_eq!((other.status, &other.json()["error"]["code"]), (422, &json!("IDEMPOTENCY_KEY_REUSED")));
    assert_eq!(server.run_count().await, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_stops_says_so_and_does_not_cancel_the_run() {
    let server = TestServer::start().await;
    let request = server.post("/v1/chat/completions", &ask("slow", "hi"));
    let asking = tokio::spawn(async move {
        let response = request.send().await.unwrap();
        (response.status().as_u16(), response.text().await.unwrap())
    });
    let run = server.first_run("slow").await;
    server.stop();
    server.state.local.stop_runs(Duration::ZERO).await;
    let (status, text) = asking.await.unwrap();
    assert_eq!(status, 503, "{text}");
    assert!(text.contains("STOPPING") && text.contains(&run), "{text}");
    assert_ne!(server.state.store().record(&run).await.unwrap().status, Status::Cancelled);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_runs_its_own_flows_and_its_runs_have_its_label() {
    let server = TestServer::start_with_keys().await;
    let ask_with = |key: Option<String>, model: &str| {
        let mut request = server.post("/v1/chat/completions", &ask(model, "hi"));
        if let Some(key) = key {
            request = request.header("authorization", key);
        }
        server.send(request)
    };
    for key in [None, Some("Bearer sk-unknown".to_owned()), Some("Basic sk-unknown".to_owned())] {
        let reply = ask_with(key, "greeter").await;
        assert_eq!((reply.status, reply.header("www-authenticate")), (401, "Bearer"));
        assert_eq!(reply.json()["error"]["code"], "invalid_api_key");
        assert!(!reply.text.contains("sk-unknown"), "{}", reply.text);
    }
    let reads = server.add_key(&[KeyScope::Read], &[]).await;
    let reply = ask_with(Some(reads), "greeter").await;
    assert_eq!((reply.status, &reply.json()["error"]["code"]), (403, &json!("SCOPE_MISSING")));
    let key = server.add_key(&[KeyScope::Read, KeyScope::Run], &["greeter"]).await;
    assert_eq!(ask_with(Some(key.clone()), "echo").await.status, 404);
    assert_eq!(server.run_count().await, 0);
    assert_eq!(ask_with(Some(key.clone()), "greeter").await.status, 200);
    let labels = server.runs_of("greeter").await[0].labels.clone();
    assert!(labels.iter().any(|(name, id)| name == "trefoil.key" && key.contains(id)), "{labels:?}");
    let models = server.send(server.request("GET", "/v1/models").header("authorization", &key)).await.json();
    assert_eq!((models["data"].as_array().unwrap().len(), &models["data"][0]["id"]), (1, &json!("greeter")));
}
