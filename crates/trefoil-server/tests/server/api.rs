//! Our own API. That its answers are as its description says is checked for every request, in [`TestServer::send`].

use serde_json::{Value as Json, json};
use trefoil_server::KeyScope;
use trefoil_store::Status;

use crate::described_api::DescribedApi;
use crate::test_server::{TestServer, shared_flows};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_operation_of_the_description_succeeds_as_it_says() {
    let folder = tempfile::tempdir().unwrap();
    for file in std::fs::read_dir(shared_flows().0).unwrap().flatten() {
        std::fs::copy(file.path(), folder.path().join(file.file_name())).unwrap();
    }
    let server = TestServer::start_editable(folder.path(), false).await;
    let document = server.api("GET", "/openapi.json").await.json();
    assert_eq!(document, trefoil_server::describe_api());

    assert_eq!(server.api("GET", "/me").await.status, 200);
    for path in
        ["", "/article", "/article/schema", "/article/checks", "/article/plan", "/article/graph", "/article/files"]
    {
        assert_eq!(server.api("GET", &format!("/flows{path}")).await.status, 200, "{path}");
    }
    for format in ["mermaid", "dot"] {
        assert_eq!(server.api("GET", &format!("/flows/article/graph?format={format}")).await.status, 200);
    }
    let rule = json!({ "stopped": true, "reason": "repair", "cost_per_day_micro": 5 });
    for body in [rule, json!({})] {
        let set = server.request("PUT", "/api/v1/flows/echo/rule").body(body.to_string());
        assert_eq!(server.send(set).await.status, 200);
        assert_eq!(server.api("GET", "/flows/echo/rule").await.status, 200);
    }

    let file = server.api("GET", "/flows/article/files").await.json()["files"][0].clone();
    let save = server.request("PUT", &format!("/api/v1/files/{}", file["path"].as_str().unwrap()));
    let save = save.body(json!({ "text": file["text"], "version": file["version"] }).to_string());
    assert_eq!(server.send(save).await.status, 200);

    let socket = server.request("GET", "/api/v1/language-server").header("connection", "upgrade");
    let socket = socket.header("upgrade", "websocket").header("sec-websocket-version", "13");
    let socket = socket.header("sec-websocket-key", "AAAAAAAAAAAAAAAAAAAAAA==");
    let socket = server.send(socket.header("sec-websocket-protocol", "trefoil.lsp")).await;
    assert_eq!((socket.status, socket.header("sec-websocket-protocol")), (101, "trefoil.lsp"), "{}", socket.text);

    let manifest = "id: brought\nkind: llm\nmodel: { provider: openai, name: gpt-5.4 }\ninstruction: Answer.\n";
    for path in ["/api/v1/flows/brought", "/agents/brought"] {
        let import = server.post("/agents/import", &json!({ "agents": [{ "manifest": manifest }] }));
        assert_eq!(server.send(import).await.status, 200);
        assert_eq!(server.api("GET", "/flows/brought").await.status, 200);
        let removed = server.send(server.request("DELETE", path)).await;
        assert_eq!(removed.status, 204, "{}", removed.text);
        assert_eq!(server.api("GET", "/flows/brought").await.status, 404);
        assert_eq!(server.send(server.request("DELETE", path)).await.status, 404);
    }
    let of_file = server.api("DELETE", "/flows/echo").await;
    assert_eq!((of_file.status, &of_file.json()["code"]), (409, &json!("FLOW_OF_FILE")), "{}", of_file.text);
    assert_eq!(server.send(server.request("DELETE", "/agents/echo")).await.status, 409);

    let set = server.request("PUT", "/api/v1/secrets/token").body(json!({ "value": "v" }).to_string());
    assert_eq!(server.send(set).await.status, 204);
    assert_eq!(server.api("GET", "/secrets").await.json(), json!({ "names": ["token"] }));
    assert_eq!(server.api("DELETE", "/secrets/token").await.status, 204);
    assert_eq!(server.api("DELETE", "/secrets/token").await.status, 404);

    let rights = json!({ "scopes": ["read"], "flows": ["echo"], "runs_in_flight": 2, "requests_per_minute": 100,
        "cost_per_day_micro": 5, "all_runs": true });
    let made = server.post_api("/keys", &json!({ "name": "reader", "rights": rights })).await.json();
    let listed = server.api("GET", "/keys").await;
    assert!(!listed.text.contains("hash") && listed.text.contains("reader"), "{}", listed.text);
    let id = made["record"]["id"].as_str().unwrap();
    assert_eq!(server.api("DELETE", &format!("/keys/{id}")).await.status, 204);

    let begun = server.post_api("/runs", &json!({ "flow": "greeter", "input": "hi" })).await;
    assert_eq!(begun.status, 201);
    let stream = server.post("/api/v1/runs", &json!({ "flow": "greeter", "input": "hi" }));
    assert_eq!(server.send(stream.header("accept", "text/event-stream")).await.status, 200);
    let (run, other) = (
        server.run_flow("article", json!({ "topic": "a" })).await,
        server.run_flow("article", json!({ "topic": "b" })).await,
    );
    let failed = server.run_flow("failing", json!("hi")).await;
    let waiting = server.run_flow("approval", json!({ "task": "News" })).await;
    for run in [&run, &failed, &waiting] {
        for path in ["", "/trace", "/state", "/state?event=2", "/files", "/events", "/events?limit=2"] {
            assert_eq!(server.api("GET", &format!("/runs/{run}{path}")).await.status, 200, "{path}");
        }
    }
    let stream = server.request("GET", &format!("/api/v1/runs/{run}/events")).header("accept", "text/event-stream");
    assert_eq!(server.send(stream).await.status, 200);
    assert_eq!(server.api("GET", &format!("/runs/{run}/diff?with={other}")).await.status, 200);
    for path in ["/costs", "/costs?since=2026-01-01T00:00:00Z", "/flows/article/history"] {
        assert_eq!(server.api("GET", path).await.status, 200, "{path}");
    }
    for path in ["/runs", "/runs?status=waiting,failed", "/runs?limit=1", "/questions", "/questions?limit=1"] {
        assert_eq!(server.api("GET", path).await.status, 200, "{path}");
    }

    assert_eq!(server.api("POST", &format!("/runs/{run}/resume")).await.status, 200);
    let fork = format!("/runs/{run}/fork");
    for body in [json!({ "from": "editor", "dry_run": true }), json!({ "input": { "topic": "c" }, "dry_run": true })] {
        assert_eq!(server.post_api(&fork, &body).await.status, 200);
    }
    assert_eq!(server.post_api(&format!("/runs/{run}/prompts"), &json!({})).await.status, 200);
    assert_eq!(server.post_api(&fork, &json!({ "from": "editor" })).await.status, 201);
    let answer = json!({ "step": "ASK", "value": "no" });
    assert_eq!(server.post_api(&format!("/runs/{waiting}/answers"), &answer).await.status, 202);
    let held = server.run_flow("approval", json!({ "task": "More" })).await;
    assert_eq!(server.api("POST", &format!("/runs/{failed}/resume")).await.status, 202);
    let cancelled = server.api("POST", &format!("/runs/{held}/cancel")).await;
    assert_eq!((cancelled.status, &cancelled.json()["has_ended"]), (200, &json!(true)));
    assert!(cancelled.json()["ended"].is_string(), "{}", cancelled.text);
    assert_eq!(server.api("DELETE", &format!("/runs/{run}")).await.status, 204);
    assert_eq!(server.succeeded_operations(), DescribedApi::get().operation_names());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_refused_is_a_problem_whoever_refuses_it() {
    let server = TestServer::start().await;
    let run = server.run_flow("greeter", json!("hi")).await;
    for (method, path, status) in [
        ("GET", "/nothing", 404),
        ("PATCH", "/runs", 405),
        ("GET", "/runs?limit=many", 400),
        ("GET", "/runs?no-such=1", 400),
        ("GET", "/runs?label=k", 400),
        ("GET", "/runs?after=x", 400),
        ("GET", "/runs?since=x", 400),
        ("GET", "/runs?status=x", 400),
        ("GET", &format!("/runs?text={}", "x".repeat(50_001)), 400),
        ("GET", &format!("/questions?flow={}", "x".repeat(50_001)), 400),
        ("GET", "/questions?limit=-1", 400),
        ("GET", "/questions?run=none", 404),
        ("GET", "/flows/%ff", 400),
        ("GET", "/flows/echo/graph?format=png", 400),
        ("GET", "/runs/%2e%2e", 404),
        ("GET", &format!("/runs/{run}/state?event=x"), 400),
        ("GET", &format!("/runs/{run}/diff"), 400),
        ("GET", &format!("/runs/{run}/diff?with=none"), 404),
        ("POST", "/runs/none/resume", 404),
        ("POST", &format!("/runs/{run}/answers"), 400),
        ("POST", "/runs", 400),
        ("PUT", "/secrets/no name", 400),
        ("DELETE", "/keys/none", 404),
    ] {
        let reply = server.api(method, path).await;
        assert_eq!(reply.status, status, "{method} {path}: {}", reply.text);
    }
    let unknown = server.api("GET", "/runs?stat=x").await.json()["detail"].as_str().unwrap().to_owned();
    assert!(unknown.contains("`stat`") && unknown.contains("`label`") && !unknown.contains("eserialize"), "{unknown}");
    assert_eq!(server.api("GET", &format!("/runs?text={}", "_".repeat(16_000))).await.status, 200);
    let name = json!({ "name": "a\nb", "rights": { "scopes": ["read"] } });
    assert_eq!(server.post_api("/keys", &name).await.status, 400);
    for (body, code) in [
        (json!({ "flow": "none" }), "FLOW_NOT_FOUND"),
        (json!({ "flow": "article", "input": { "topic": 5, "more": 1 } }), "INPUT_INVALID"),
        (json!({ "flow": "article", "input": "text" }), "INPUT_INVALID"),
        (json!({ "flow": "selection", "input": "x" }), "CANNOT_RUN"),
        (json!({ "flow": "echo", "max_cost": -1 }), "BAD_REQUEST"),
        (json!({ "flow": "echo", "labels": { "trefoil.key": "x" } }), "BAD_REQUEST"),
        (json!([]), "BAD_REQUEST"),
    ] {
        assert_eq!(server.post_api("/runs", &body).await.json()["code"], code, "{body}");
    }
    // Whatever the framework refuses has the form of its interface.
    let model = server.send(server.request("GET", "/v1/models/%ff")).await;
    assert_eq!((model.status, model.header("content-type")), (400, "application/json"), "{}", model.text);
    assert!(model.json()["error"]["message"].is_string(), "{}", model.text);
    let agent = server.send(server.request("GET", "/agents/%ff")).await;
    assert_eq!((agent.status, agent.json()["error"].is_string()), (400, true), "{}", agent.text);
    let twice = r#"{"flow": "echo", "input": {"plan": "free", "plan": "paid"}}"#;
    for path in ["/api/v1/runs", "/run"] {
        let twice = twice.replace("\"flow\"", if path == "/run" { "\"agentId\"" } else { "\"flow\"" });
        let reply = server.send(server.request("POST", path).body(twice)).await;
        assert!(reply.status == 400 && reply.text.contains("`input.plan` twice"), "{}", reply.text);
    }
    let keyed = TestServer::start_with_keys().await;
    assert_eq!(keyed.api("GET", "/runs").await.status, 401);
    let reads = keyed.add_key(&[KeyScope::Read], &[]).await;
    let list = keyed.request("GET", "/api/v1/keys").header("authorization", &reads);
    assert_eq!(keyed.send(list).await.status, 403);
    let remove = keyed.request("DELETE", "/api/v1/flows/echo").header("authorization", &reads);
    assert_eq!(keyed.send(remove).await.status, 403);
    let figures = keyed.request("GET", "/metrics").header("authorization", reads);
    assert_eq!(keyed.send(figures).await.status, 403);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn runs_and_questions_are_found_by_labels_with_any_value() {
    let server = TestServer::start().await;
    let start = async |labels: Json| {
        let body = json!({ "flow": "approval", "input": { "task": "News" }, "labels": labels, "wait_seconds": 20 });
        server.post_api("/runs", &body).await.json()["run"].as_str().unwrap().to_owned()
    };
    let ada = start(json!({ "person": "Lovelace, Ada", "team": "a:b&c" })).await;
    let other = start(json!({ "person": "Lovelace", "team": "x" })).await;
    let found = async |path: &str, labels: &[&str]| {
        let pairs = labels.iter().map(|label| ("label", *label));
        let url = reqwest::Url::parse_with_params(&format!("{}/api/v1{path}", server.url), pairs).unwrap();
        let list = server.send(server.request("GET", &url.as_str()[server.url.len()..])).await.json();
        let all = list[path.trim_start_matches('/')].as_array().unwrap().clone();
        let runs: Vec<String> = all.iter().map(|one| one["run"].as_str().unwrap().to_owned()).collect();
        runs
    };
    for path in ["/runs", "/questions"] {
        assert_eq!(found(path, &["person:Lovelace, Ada"]).await, std::slice::from_ref(&ada));
        assert_eq!(found(path, &["person:Lovelace, Ada", "team:a:b&c"]).await, std::slice::from_ref(&ada));
        assert_eq!(found(path, &["person:Lovelace"]).await, std::slice::from_ref(&other));
        assert!(found(path, &["person:Lovelace, Ada", "team:x"]).await.is_empty());
        assert_eq!(found(path, &[]).await.len(), 2);
    }
    let questions = server.api("GET", "/questions").await.json();
    assert_eq!(questions["questions"][1]["labels"]["person"], "Lovelace, Ada", "{questions}");
    server.wait_status(&ada, Status::Waiting).await;
}
