//! MCP over streamable HTTP: with sessions, and without.

use std::io::{Read as _, Write as _};
use std::time::Duration;

use serde_json::{Value as Json, json};
use trefoil_server::KeyScope;
use trefoil_store::Status;

use crate::test_server::{BODY_LIMIT, Reply, TestServer, new_client};

const OLD: &str = "2025-11-25";
const NEW: &str = "2026-07-28";

/// A client with a session.
struct Session<'s> {
    server: &'s TestServer,
    id: String,
    key: String,
}

/// The message of a response: JSON, or the last frame of a stream.
#[track_caller]
fn message(reply: &Reply) -> Json {
    if reply.header("content-type").starts_with("application/json") {
        return reply.json();
    }
    let frames = reply.frames();
    let last =
        frames.iter().rfind(|frame| !frame.is_empty()).unwrap_or_else(|| panic!("{} {}", reply.status, reply.text));
    serde_json::from_str(last).unwrap()
}

fn request(server: &TestServer, body: &Json) -> reqwest::RequestBuilder {
    server.post("/mcp", body).header("accept", "application/json, text/event-stream")
}

fn initialize() -> Json {
    let client = json!({ "name": "test", "version": "1" });
    json!({
        "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": { "protocolVersion": OLD, "capabilities": {}, "clientInfo": client },
    })
}

impl<'s> Session<'s> {
    async fn begin(server: &'s TestServer) -> Self {
        Self::begin_with(server, "Bearer none").await
    }

    async fn begin_with(server: &'s TestServer, key: &str) -> Self {
        let reply = server.send(request(server, &initialize()).header("authorization", key)).await;
        let begun = message(&reply);
        assert_eq!(begun["result"]["protocolVersion"], OLD, "{begun}");
        assert_eq!(begun["result"]["serverInfo"]["name"], "trefoil");
        let session = Self { server, id: reply.header("mcp-session-id").to_owned(), key: key.to_owned() };
        assert!(!session.id.is_empty());
        let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        assert_eq!(server.send(session.request(&ready)).await.status, 202);
        session
    }

    fn request(&self, body: &Json) -> reqwest::RequestBuilder {
        let sent = request(self.server, body).header("mcp-session-id", &self.id).header("mcp-protocol-version", OLD);
        sent.header("authorization", &self.key)
    }

    async fn ask(&self, method: &str, params: Json) -> Json {
        let body = json!({ "jsonrpc": "2.0", "id": 2, "method": method, "params": params });
        message(&self.server.send(self.request(&body)).await)
    }
}

/// A request without a session, of a client that cannot be asked.
fn stateless(server: &TestServer, method: &str, params: Json) -> reqwest::RequestBuilder {
    stateless_with(server, method, params, json!({}))
}

/// The same, of a client that can.
fn stateless_asked(server: &TestServer, method: &str, params: Json) -> reqwest::RequestBuilder {
    stateless_with(server, method, params, json!({ "elicitation": {} }))
}

fn stateless_with(server: &TestServer, method: &str, mut params: Json, can: Json) -> reqwest::RequestBuilder {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": NEW,
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": can,
    });
    let body = json!({ "jsonrpc": "2.0", "id": 3, "method": method, "params": params });
    let mut sent = request(server, &body).header("mcp-protocol-version", NEW).header("mcp-method", method);
    if let Some(name) = params["name"].as_str() {
        sent = sent.header("mcp-name", name);
    }
    sent
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn flows_are_tools_in_both_generations_of_the_protocol() {
    let server = TestServer::start().await;
    let session = Session::begin(&server).await;
    let tools = session.ask("tools/list", json!({})).await;
    let newer = message(&server.send(stateless(&server, "tools/list", json!({}))).await);
    for listed in [&tools, &newer] {
        let tools = listed["result"]["tools"].as_array().unwrap_or_else(|| panic!("{listed}"));
        let grader = tools.iter().find(|tool| tool["name"] == "grader").unwrap();
        assert_eq!(grader["inputSchema"]["required"], json!(["essay", "points"]));
    }
    let call = json!({ "name": "greeter", "arguments": { "input": "hi" } });
    let old = session.ask("tools/call", call.clone()).await;
    let new = message(&server.send(stateless(&server, "tools/call", call)).await);
    for called in [&old, &new] {
        assert_eq!(called["result"]["content"][0]["text"], "Good morning from the script.", "{called}");
        let run = called["result"]["_meta"]["trefoil/run"].as_str().unwrap();
        assert_eq!(server.state.store().record(run).await.unwrap().status, Status::Completed);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_question_that_the_client_cannot_be_asked_stays_open_and_says_where_to_answer() {
    let server = TestServer::start().await;
    let session = Session::begin(&server).await;
    let called = session.ask("tools/call", json!({ "name": "approval", "arguments": { "task": "News" } })).await;
    let result = &called["result"];
    assert_eq!(result["isError"], true, "{called}");
    let run = result["structuredContent"]["run"].as_str().unwrap();
    let path = format!("/api/v1/runs/{run}/answers");
    assert_eq!(result["structuredContent"]["answer"], json!({ "method": "POST", "path": path }));
    let text = result["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("Publish this? News") && text.contains(&path) && !text.contains("--store"), "{text}");
    server.wait_status(run, Status::Waiting).await;
    let answer = server.post(&path, &json!({ "step": "ASK", "value": "no" }));
    assert_eq!(server.send(answer).await.status, 202);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn wrong_messages_have_the_code_of_their_mistake() {
    let server = TestServer::start().await;
    let session = Session::begin(&server).await;
    for (params, part) in [
        (json!({ "name": "no-such-flow" }), "no-such-flow"),
        (json!({ "name": "greeter", "arguments": ["hi"] }), "params"),
        (json!({ "arguments": {} }), "params"),
    ] {
        let error = session.ask("tools/call", params).await["error"].clone();
        assert_eq!(error["code"], -32602, "{error}");
        assert!(error["message"].as_str().unwrap().contains(part), "{error}");
    }
    assert_eq!(session.ask("no/such", json!({})).await["error"]["code"], -32601);
    // The model gets all faults of an input.
    let call = json!({ "name": "grader", "arguments": { "essay": 5, "points": 11 } });
    let result = session.ask("tools/call", call).await["result"].clone();
    let text = result["content"][0]["text"].as_str().unwrap();
    assert!(result["isError"] == true && text.contains("essay") && text.contains("points"), "{text}");
    assert_eq!(server.run_count().await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_ends_when_its_client_says_so() {
    let server = TestServer::start().await;
    let session = Session::begin(&server).await;
    let end =
        server.request("DELETE", "/mcp").header("mcp-session-id", &session.id).header("mcp-protocol-version", OLD);
    assert_eq!(server.send(end).await.status, 204);
    let list = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list" });
    assert_eq!(server.send(session.request(&list)).await.status, 404);
    let unknown = request(&server, &list).header("mcp-session-id", "no-such-session");
    assert_eq!(server.send(unknown).await.status, 404);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_of_pages_of_others_are_refused_before_the_protocol() {
    let server = TestServer::start().await;
    for origin in ["https://evil.example", "null"] {
        let reply = server.send(request(&server, &initialize()).header("origin", origin)).await;
        assert_eq!((reply.status, &reply.json()["code"]), (403, &json!("ORIGIN_NOT_ALLOWED")));
    }
    let own = server.send(request(&server, &initialize()).header("origin", &server.url)).await;
    assert_eq!(own.status, 200);
    let rebound = server.send(request(&server, &initialize()).header("host", "evil.example")).await;
    assert_eq!(rebound.status, 421);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_without_a_session_is_cancelled_with_its_connection() {
    let server = TestServer::start().await;
    let call = stateless(&server, "tools/call", json!({ "name": "slow", "arguments": { "input": "hi" } }));
    let client = new_client();
    let calling = tokio::spawn(async move {
        let request = call.build().unwrap();
        client.execute(request).await.unwrap().text().await
    });
    let run = server.first_run("slow").await;
    calling.abort();
    let _ = calling.await;
    server.wait_status(&run, Status::Cancelled).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_stops_leaves_the_run_of_a_call_to_others() {
    let server = TestServer::start().await;
    let session = Session::begin(&server).await;
    let body = json!({
        "jsonrpc": "2.0", "id": 2, "method": "tools/call",
        "params": { "name": "slow", "arguments": { "input": "hi" } },
    });
    let call = session.request(&body);
    let calling = tokio::spawn(async move {
        let response = call.send().await.unwrap();
        response.text().await
    });
    let run = server.first_run("slow").await;
    assert_eq!(server.state.local.count_held(), 1);
    server.stop();
    // Whatever the client gets of it in the end.
    let _ = tokio::time::timeout(Duration::from_secs(10), server.state.local.stop_runs(Duration::ZERO)).await;
    let _ = tokio::time::timeout(Duration::from_secs(10), calling).await.unwrap();
    let status = server.state.store().record(&run).await.unwrap().status;
    assert!(!status.is_end(), "{status}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_end_of_a_session_cancels_its_calls_and_a_lost_connection_does_not() {
    let server = TestServer::start().await;
    let session = Session::begin(&server).await;
    let body = json!({
        "jsonrpc": "2.0", "id": 2, "method": "tools/call",
        "params": { "name": "slow", "arguments": { "input": "hi" } },
    });
    let (call, client) = (session.request(&body), new_client());
    let calling = tokio::spawn(async move {
        let request = call.build().unwrap();
        client.execute(request).await.unwrap().text().await
    });
    let run = server.first_run("slow").await;
    calling.abort();
    let _ = calling.await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    // The client may take up the stream again.
    server.wait_status(&run, Status::Running).await;
    let end =
        server.request("DELETE", "/mcp").header("mcp-session-id", &session.id).header("mcp-protocol-version", OLD);
    assert_eq!(server.send(end).await.status, 204);
    server.wait_status(&run, Status::Cancelled).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_lists_and_calls_its_own_flows_and_its_session_is_its_own() {
    let server = TestServer::start_with_keys().await;
    let scopes = [KeyScope::Read, KeyScope::Run];
    let key = server.add_key(&scopes, &["greeter"]).await;
    let session = Session::begin_with(&server, &key).await;
    let tools = session.ask("tools/list", json!({})).await;
    assert_eq!(tools["result"]["tools"].as_array().unwrap().len(), 1, "{tools}");
    let other = session.ask("tools/call", json!({ "name": "echo", "arguments": {} })).await;
    assert_eq!(other["error"]["code"], -32602, "{other}");
    assert!(!other["error"]["message"].as_str().unwrap().contains("grader"), "{other}");
    let called = session.ask("tools/call", json!({ "name": "greeter", "arguments": { "input": "hi" } })).await;
    assert_eq!(called["result"]["isError"], false, "{called}");
    let labels = server.runs_of("greeter").await[0].labels.clone();
    assert!(labels.iter().any(|(name, id)| name == "trefoil.key" && key.contains(id)), "{labels:?}");

    let stranger = server.add_key(&scopes, &[]).await;
    let list = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list" });
    let with = |key: &str| {
        let sent = request(&server, &list).header("mcp-session-id", &session.id).header("authorization", key);
        server.send(sent.header("mcp-protocol-version", OLD))
    };
    assert_eq!(with(&stranger).await.status, 404);
    assert_eq!(with("Bearer none").await.status, 401);
    assert_eq!(with(&key).await.status, 200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_needs_the_scope_for_runs_and_an_answer_that_for_answers() {
    let server = TestServer::start_with_keys().await;
    let reads = server.add_key(&[KeyScope::Read], &[]).await;
    let session = Session::begin_with(&server, &reads).await;
    let called = session.ask("tools/call", json!({ "name": "greeter", "arguments": { "input": "hi" } })).await;
    assert_eq!(called["result"]["isError"], true, "{called}");
    assert!(called["result"]["content"][0]["text"].as_str().unwrap().contains("`run`"), "{called}");
    assert_eq!(server.run_count().await, 0);

    // Without a session, a question is the result of a call, and the answer is in another one.
    let ask_with = async |key: &str, more: Json| {
        let mut params = json!({ "name": "approval", "arguments": { "task": "News" } });
        params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let sent = stateless_asked(&server, "tools/call", params).header("authorization", key);
        message(&server.send(sent).await)["result"].clone()
    };
    let runs = server.add_key(&[KeyScope::Read, KeyScope::Run], &[]).await;
    let open = ask_with(&runs, json!({})).await;
    assert_eq!((&open["isError"], &open["structuredContent"]["status"]), (&json!(true), &json!("waiting")), "{open}");
    let answers = server.add_key(&[KeyScope::Read, KeyScope::Run, KeyScope::Answer], &[]).await;
    let asked = ask_with(&answers, json!({})).await;
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    let name = asked["inputRequests"].as_object().unwrap().keys().next().unwrap().clone();
    let yes = json!({ name: { "action": "accept", "content": { "answer": "yes" } } });
    let answer = json!({ "requestState": asked["requestState"], "inputResponses": yes });
    let stranger = server.add_key(&[KeyScope::Read, KeyScope::Run, KeyScope::Answer], &[]).await;
    let refused = ask_with(&stranger, answer.clone()).await;
    assert_eq!(refused["isError"], true, "{refused}");
    let done = ask_with(&answers, answer).await;
    assert_eq!(done["content"][0]["text"].as_str().map(str::trim), Some("published"), "{done}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_list_of_tools_needs_the_scope_for_reading() {
    let server = TestServer::start_with_keys().await;
    let answers = server.add_key(&[KeyScope::Answer, KeyScope::Run], &[]).await;
    let session = Session::begin_with(&server, &answers).await;
    let newer = stateless(&server, "tools/list", json!({})).header("authorization", &answers);
    for refused in [session.ask("tools/list", json!({})).await, message(&server.send(newer).await)] {
        let message = refused["error"]["message"].as_str().unwrap_or_else(|| panic!("{refused}"));
        assert!(message.contains("`read`") && !refused.to_string().contains("greeter"), "{refused}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_that_begins_many_sessions_ends_its_own_and_locks_nobody_out() {
    let server = TestServer::start_with_keys().await;
    let (many, other) = (server.add_key(&[KeyScope::Run], &[]).await, server.add_key(&[KeyScope::Read], &[]).await);
    let kept = Session::begin_with(&server, &other).await;
    let body = json!({
        "jsonrpc": "2.0", "id": 2, "method": "tools/call",
        "params": { "name": "slow", "arguments": { "input": "hi" } },
    });
    let busy = Session::begin_with(&server, &many).await;
    let call = busy.request(&body);
    let calling = tokio::spawn(async move { call.send().await.unwrap().text().await });
    server.first_run("slow").await;
    let ping = json!({ "jsonrpc": "2.0", "id": 2, "method": "ping" });
    let (first, second) = (Session::begin_with(&server, &many).await, Session::begin_with(&server, &many).await);
    for _ in 0..97 {
        Session::begin_with(&server, &many).await;
    }
    // The key has 100 sessions now. The next one takes the place of the one that was not used for longest.
    assert_eq!(server.send(first.request(&ping)).await.status, 200);
    let last = Session::begin_with(&server, &many).await;
    assert_eq!(server.send(second.request(&ping)).await.status, 404);
    for session in [&first, &last, &kept, &busy] {
        assert_eq!(server.send(session.request(&ping)).await.status, 200);
    }
    calling.abort();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_protocol_refuses_is_a_problem() {
    let server = TestServer::start().await;
    let plain = |method: &str| server.request(method, "/mcp").header("content-type", "application/json");
    let both = "application/json, text/event-stream";
    for (request, status, code) in [
        (plain("PATCH"), 405, "METHOD_NOT_ALLOWED"),
        (plain("POST").header("accept", "text/html").body(initialize().to_string()), 406, "NOT_ACCEPTABLE"),
        (server.request("POST", "/mcp").header("accept", both).body("hi"), 415, "UNSUPPORTED_MEDIA_TYPE"),
        (plain("POST").header("accept", both).body(" ".repeat(BODY_LIMIT + 1)), 413, "BODY_TOO_LARGE"),
        (plain("GET").header("accept", both).header("mcp-session-id", "none"), 404, "SESSION_NOT_FOUND"),
    ] {
        let reply = server.send(request).await;
        assert_eq!(
            (reply.status, reply.header("content-type")),
            (status, "application/problem+json"),
            "{}",
            reply.text
        );
        assert_eq!(reply.json()["code"], code, "{}", reply.text);
    }
    // A body that does not come: the server of the test waits for five seconds.
    let address = server.url.strip_prefix("http://").unwrap().to_owned();
    let slow = tokio::task::spawn_blocking(move || {
        let mut stream = std::net::TcpStream::connect(&address).unwrap();
        let head = format!("POST /mcp HTTP/1.1\r\nHost: {address}\r\nContent-Length: 9\r\nConnection: close\r\n");
        let accepts = "Accept: application/json, text/event-stream\r\nContent-Type: application/json\r\n";
        stream.write_all(format!("{head}{accepts}\r\n{{").as_bytes()).unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        text
    });
    let slow = slow.await.unwrap();
    assert!(slow.starts_with("HTTP/1.1 408 ") && slow.contains("BODY_TOO_SLOW"), "{slow}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn places_in_errors_are_inside_the_folder_that_is_served() {
    let server = TestServer::start().await;
    let call = json!({ "name": "failing", "arguments": { "input": "hi" } });
    let session = Session::begin(&server).await;
    let old = session.ask("tools/call", call.clone()).await;
    let new = message(&server.send(stateless(&server, "tools/call", call)).await);
    for called in [&old, &new] {
        let text = called["result"]["content"][0]["text"].as_str().unwrap();
        assert!(text.contains(" failing.yaml:") && !text.contains("tests/"), "{text}");
    }
    let call = json!({ "name": "selection", "arguments": { "input": "hi" } });
    let refused = session.ask("tools/call", call).await;
    assert!(!refused.to_string().contains(env!("CARGO_MANIFEST_DIR")), "{refused}");
}
