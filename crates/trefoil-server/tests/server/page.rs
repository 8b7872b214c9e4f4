//! The page of the server: what a browser gets, and the streams from which it is kept up to date.

use serde_json::{Value as Json, json};
use trefoil_server::KeyScope;
use trefoil_store::Status;

use crate::test_server::{Reply, TestServer};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_page_needs_no_key_and_allows_itself_nothing_else() {
    let server = TestServer::start_with_keys().await;
    let page = server.send(server.request("GET", "/")).await;
    assert_eq!((page.status, page.header("content-type")), (200, "text/html; charset=utf-8"));
    let policy: Vec<&str> = page.header("content-security-policy").split("; ").collect();
    let allowed = [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "connect-src 'self'",
        "img-src 'self' data:",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    ];
    assert_eq!(policy, allowed);
    assert_eq!((page.header("x-content-type-options"), page.header("referrer-policy")), ("nosniff", "no-referrer"));
    assert!(!page.text.contains("<script>") && !page.text.contains("<style"), "nothing stands in the page itself");

    let mut files = 0;
    for part in page.text.split('"').filter(|part| part.starts_with("assets/")) {
        let file = server.send(server.request("GET", &format!("/{part}"))).await;
        assert_eq!(file.status, 200, "{part}");
        assert!(file.header("cache-control").contains("immutable"), "the hash of {part} is that of the file");
        let tag = file.header("etag").to_owned();
        let again = server.request("GET", &format!("/{part}")).header("if-none-match", &tag);
        assert_eq!(server.send(again).await.status, 304);
        let old = server.send(server.request("GET", &format!("/{}", part.replace("?v=", "?v=0")))).await;
        assert_eq!((old.status, old.header("cache-control")), (200, "no-cache"), "an address of another version");
        files += 1;
    }
    assert_eq!(files, 2);
    let tag = page.header("etag").to_owned();
    assert_eq!(server.send(server.request("GET", "/").header("if-none-match", tag)).await.status, 304);
    assert_eq!(server.send(server.request("GET", "/assets/none.js")).await.status, 404);
    // What other clients get there is as before.
    assert_eq!(server.send(server.request("GET", "/runs").header("accept", "text/html")).await.status, 401);
    let strange = server.request("GET", "/").header("host", "evil.example");
    assert_eq!(server.send(strange).await.status, 421);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_caller_learns_what_it_may_do() {
    let server = TestServer::start_with_keys().await;
    assert_eq!(server.api("GET", "/me").await.status, 401);
    let key = server.add_key(&[KeyScope::Read, KeyScope::Answer], &["echo"]).await;
    let me = server.send(server.request("GET", "/api/v1/me").header("authorization", key)).await.json();
    let expected = json!({ "name": "test", "needs_key": true, "scopes": ["read", "answer"], "flows": ["echo"],
        "all_runs": false, "edit": false });
    assert_eq!(me, expected);
    let open = TestServer::start().await;
    let me = open.api("GET", "/me").await.json();
    let all = ["read", "run", "answer", "admin"];
    assert_eq!(me, json!({ "name": "local", "needs_key": false, "scopes": all, "all_runs": true, "edit": false }));
}

/// The frames of a stream: name, id, data.
fn frames(reply: &Reply) -> Vec<(String, String, Json)> {
    let mut all = Vec::new();
    for frame in reply.text.split("\n\n") {
        let (mut name, mut id, mut data) = (String::new(), String::new(), None);
        for line in frame.lines() {
            match line.split_once(": ") {
                Some(("event", value)) => name = value.to_owned(),
                Some(("id", value)) => id = value.to_owned(),
                Some(("data", value)) => data = Some(serde_json::from_str(value).unwrap()),
                _ => {}
            }
        }
        if let Some(data) = data {
            all.push((name, id, data));
        }
    }
    all
}

async fn watch_trace(server: &TestServer, run: &str, after: Option<&str>) -> Vec<(String, String, Json)> {
    let mut request = server.request("GET", &format!("/api/v1/runs/{run}/trace")).header("accept", "text/event-stream");
    if let Some(after) = after {
        request = request.header("last-event-id", after);
    }
    let reply = server.send(request).await;
    assert_eq!(reply.status, 200, "{}", reply.text);
    frames(&reply)
}

fn keys(trace: &Json) -> Vec<&str> {
    trace["steps"].as_array().unwrap().iter().map(|step| step["key"].as_str().unwrap()).collect()
}

/// Puts the changes of frames into a trace, as a page does.
fn merge(mut trace: Json, frames: &[(String, String, Json)]) -> Json {
    for (name, _, change) in frames {
        if name != "changes" {
            continue;
        }
        let mut steps = trace["steps"].as_array().unwrap().clone();
        for step in change["steps"].as_array().unwrap() {
            match steps.iter_mut().find(|known| known["key"] == step["key"]) {
                Some(known) => *known = step.clone(),
                None => steps.push(step.clone()),
            }
        }
        let kept: Vec<Json> = ["input", "effective_input", "graph"].iter().map(|name| trace[name].clone()).collect();
        trace = change.clone();
        for (name, value) in ["input", "effective_input", "graph"].iter().zip(kept) {
            trace[name] = value;
        }
        trace["steps"] = steps.into();
    }
    trace
}

/// The trace without the keys of steps in its graph: those of a page are as old as its graph.
fn without_graph_keys(mut trace: Json) -> Json {
    for part in ["nodes", "frames"] {
        for shape in trace["graph"][part].as_array_mut().unwrap() {
            shape["steps"] = Json::Null;
        }
    }
    trace
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_trace_that_is_watched_becomes_the_trace_of_the_run_step_by_step() {
    let server = TestServer::start().await;
    let begun = server.post_api("/runs", &json!({ "flow": "stepwise", "input": "x" })).await.json();
    let run = begun["run"].as_str().unwrap();
    let frames = watch_trace(&server, run, None).await;
    assert_eq!(frames[0].0, "trace");
    let changes: Vec<&Json> = frames.iter().filter(|frame| frame.0 == "changes").map(|frame| &frame.2).collect();
    assert!(changes.len() >= 2, "{} frames of changes for three steps with pauses", changes.len());
    for change in &changes {
        assert!(change.get("graph").is_none() && change.get("input").is_none(), "what never changes is sent once");
    }
    let last = changes.last().unwrap();
    assert_eq!(last["status"], "completed");
    assert!(!keys(last).contains(&"first"), "a step that has long ended is not sent again: {:?}", keys(last));
    let texts: Vec<&Json> = frames.iter().filter(|frame| frame.0 == "text").map(|frame| &frame.2).collect();
    assert!(texts.iter().any(|text| text["text"] == "c" && text["first"] == true), "{texts:?}");

    let whole = without_graph_keys(server.api("GET", &format!("/runs/{run}/trace")).await.json());
    let first = without_graph_keys(frames[0].2.clone());
    assert_eq!(merge(first.clone(), &frames), whole);

    // Whoever has seen a part gets the rest.
    let rest = watch_trace(&server, run, Some(&frames[0].1)).await;
    assert!(rest.iter().all(|frame| frame.0 == "changes"), "the whole trace is not sent again");
    assert_eq!(merge(first, &rest), whole);
    let end = &frames.iter().rev().find(|frame| !frame.1.is_empty()).unwrap().1;
    let nothing = watch_trace(&server, run, Some(end)).await;
    assert_eq!(nothing.len(), 1);
    assert_eq!(keys(&nothing[0].2), Vec::<&str>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_trace_says_how_a_run_stands_that_has_not_ended() {
    let server = TestServer::start().await;
    let run = server.run_flow("approval", json!({ "task": "News" })).await;
    server.wait_status(&run, Status::Waiting).await;
    let trace = server.api("GET", &format!("/runs/{run}/trace")).await.json();
    assert_eq!((&trace["status"], &trace["waiting"][0]["prompt"]), (&json!("waiting"), &json!("Publish this? News")));
    let watching = watch_trace(&server, &run, None);
    let answering = async {
        tokio::time::sleep(std::time::Duration::from_millis(500)).await;
        let answer = json!({ "step": "ASK", "value": "no" });
        assert_eq!(server.post_api(&format!("/runs/{run}/answers"), &answer).await.status, 202);
        // The flow runs a command, which this server does not allow: it stops before it, and whoever watches would wait.
        server.wait_status(&run, Status::Waiting).await;
        tokio::time::sleep(std::time::Duration::from_millis(1_500)).await;
        assert_eq!(server.api("POST", &format!("/runs/{run}/cancel")).await.status, 200);
    };
    let (frames, ()) = tokio::join!(watching, answering);
    assert_eq!(frames[0].2["status"], "waiting");
    assert_eq!(frames.last().unwrap().2["status"], "cancelled", "{:?}", frames.last().unwrap().2);
}
