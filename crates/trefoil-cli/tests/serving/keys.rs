//! Keys: what is refused without one, and what each of them may see, do and use up.

use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};

use crate::http::{Frames, Reply, Request};
use crate::scene::{Process, Scene, chain, eventually};

/// Requests about a run, with whether they change something.
fn requests_about(run: &str) -> Vec<Request> {
    let at = |rest: &str| format!("/api/v1/runs/{run}{rest}");
    vec![
        Request::get(&at("")),
        Request::get(&at("/events")),
        Request::get(&at("/events")).with("Accept", "text/event-stream"),
        Request::get(&at("/trace")),
        Request::get(&at("/state?event=1")),
        Request::get(&at(&format!("/diff?with={run}"))),
        Request::get(&format!("/api/v1/questions?run={run}")),
        Request::post(&at("/answers"), &json!({ "step": "approve", "value": "yes" })),
        Request::post(&at("/cancel"), &json!({})),
        Request::post(&at("/resume"), &json!({})),
        Request::post(&at("/fork"), &json!({})),
        Request::post(&at("/fork"), &json!({ "dry_run": true })),
        Request::new("DELETE", &at("")),
    ]
}

fn send(server: &Process, request: &Request, key: &str) -> Reply {
    request.clone().with_key(key).send(server.address).unwrap()
}

fn get(server: &Process, path: &str, key: &str) -> Json {
    send(server, &Request::get(path), key).is(200).json()
}

/// Starts a run of the flow that asks, and waits for its question.
fn asked(server: &Process, key: &str) -> String {
    let body = json!({ "flow": "asks", "input": { "message": "go" }, "wait_seconds": 60 });
    let reply = send(server, &Request::post("/api/v1/runs", &body), key);
    let run = reply.is(200).json();
    assert_eq!(run["status"], "waiting");
    run["run"].as_str().unwrap().to_owned()
}

#[test]
fn without_a_key_nothing_is_answered() {
    let scene = Scene::new();
    let server = scene.serve(&["--require-key"]);
    let key = scene.key("some", &[]);
    let run = asked(&server, &key);
    let mut all = requests_about(&run);
    for path in [
        "/api/v1/flows",
        "/api/v1/flows/main",
        "/api/v1/flows/main/graph",
        "/api/v1/runs",
        "/api/v1/questions",
        "/api/v1/keys",
        "/metrics",
    ] {
        all.push(Request::get(path));
    }
    all.push(Request::post("/api/v1/runs", &chain("x")));
    all.push(Request::post("/api/v1/keys", &json!({ "name": "mine", "rights": { "scopes": ["admin"] } })));
    let (id, secret) = key.strip_prefix("trefoil_").unwrap().split_once('_').unwrap();
    let wrong = [
        "x".to_owned(),
        format!("trefoil_{id}_"),
        format!("trefoil_{id}_{}x", &secret[..secret.len() - 1]),
        format!("trefoil_000000000000_{secret}"),
        format!("{key}x"),
        format!("trefoil_{}_{secret}", id.to_uppercase().replace(char::is_numeric, "A")),
    ];
    for request in &all {
        request.send(server.address).unwrap().fails(401, "KEY_MISSING");
        let refused = request.clone().with("Authorization", &format!("Basic {key}")).send(server.address).unwrap();
        assert_eq!(refused.fails(401, "KEY_MISSING").headers["www-authenticate"], "Bearer");
        for wrong in &wrong {
            send(&server, request, wrong).fails(401, "KEY_UNKNOWN");
        }
    }
    server.get("/health").is(200);
    server.get("/ready").is(200);
    assert_eq!(get(&server, &format!("/api/v1/runs/{run}"), &key)["status"], "waiting", "nothing has changed");
    assert!(!scene.log().contains(secret), "keys are not in the log");
}

#[test]
fn each_scope_allows_only_what_it_says() {
    let scene = Scene::new();
    let server = scene.serve(&["--require-key"]);
    let keys: Vec<(&str, String)> = ["read", "run", "answer", "admin"]
        .map(|scope| (scope, scene.key(scope, &["--scope", scope, "--all-runs"])))
        .into();
    let run = asked(&server, &keys[3].1);
    let about = requests_about(&run);
    let mut needs: Vec<(Request, &str)> = Vec::new();
    for (request, scope) in about
        .into_iter()
        .zip(["read", "read", "read", "read", "read", "read", "read", "answer", "run", "run", "run", "run", "run"])
    {
        needs.push((request, scope));
    }
    needs.push((Request::get("/api/v1/flows"), "read"));
    needs.push((Request::get("/api/v1/runs"), "read"));
    needs.push((Request::post("/api/v1/runs", &chain("x")), "run"));
    needs.push((Request::get("/api/v1/keys"), "admin"));
    needs.push((Request::post("/api/v1/keys", &json!({ "name": "x", "rights": { "scopes": ["admin"] } })), "admin"));
    needs.push((Request::new("DELETE", "/api/v1/keys/admin"), "admin"));
    needs.push((
        Request { body: json!({ "stopped": true }).to_string(), ..Request::new("PUT", "/api/v1/flows/main/rule") },
        "admin",
    ));
    let files = json!({ "files": { "asks.yaml": "x" } });
    needs.push((Request::post(&format!("/api/v1/runs/{run}/fork"), &files), "admin"));
    for (request, scope) in &needs {
        for (name, key) in &keys {
            if name != scope && *name != "admin" {
                let reply = send(&server, request, key);
                assert_eq!(reply.status, 403, "{} {} with {name}: {reply:?}", request.method, request.path);
                reply.fails(403, "SCOPE_MISSING");
            }
        }
    }
    assert_eq!(get(&server, &format!("/api/v1/runs/{run}"), &keys[0].1)["status"], "waiting", "nothing has changed");
}

#[test]
fn the_runs_of_another_key_do_not_exist() {
    let scene = Scene::new();
    let server = scene.serve(&["--require-key"]);
    let [alice, bob] = ["alice", "bob"].map(|name| scene.key(name, &[]));
    let run = asked(&server, &alice);
    let bobs = asked(&server, &bob);
    for request in requests_about(&run) {
        let reply = send(&server, &request, &bob);
        assert_eq!(reply.status, 404, "{} {}: {reply:?}", request.method, request.path);
        reply.fails(404, "RUN_NOT_FOUND");
    }
    send(&server, &Request::get(&format!("/api/v1/runs/{bobs}/diff?with={run}")), &bob).fails(404, "RUN_NOT_FOUND");
    for query in [
        "",
        "?flow=asks",
        &format!("?parent={run}"),
        &format!("?text={run}"),
        "?status=waiting",
        "?label=trefoil.key:x",
    ] {
        let list = send(&server, &Request::get(&format!("/api/v1/runs{query}")), &bob);
        assert!(!list.is(200).body.contains(&run), "{query}: {list:?}");
    }
    let questions = send(&server, &Request::get("/api/v1/questions"), &bob);
    assert!(questions.is(200).body.contains(&bobs) && !questions.body.contains(&run), "{questions:?}");
    // The same idempotency key of another caller is another request.
    let start = Request::post("/api/v1/runs", &chain("same")).with("Idempotency-Key", "same");
    let [of_alice, of_bob] = [&alice, &bob].map(|key| send(&server, &start, key).is(201).json()["run"].clone());
    assert_ne!(of_alice, of_bob);
    // Labels of the server are not for clients.
    let forged = json!({ "flow": "main", "input": { "n": "x" }, "labels": { "trefoil.key": "x" } });
    send(&server, &Request::post("/api/v1/runs", &forged), &bob).is(400);
    // A fork belongs to whoever made it.
    let all = scene.key("all", &["--all-runs"]);
    assert_eq!(get(&server, &format!("/api/v1/runs/{run}"), &all)["status"], "waiting", "nothing has changed");
}

#[test]
fn a_key_for_one_flow_sees_no_other() {
    let scene = Scene::new();
    let server = scene.serve(&["--require-key"]);
    let (one, all) = (scene.key("one", &["--flow", "main", "--all-runs"]), scene.key("all", &[]));
    let run = asked(&server, &all);
    for request in requests_about(&run) {
        send(&server, &request, &one).fails(404, "RUN_NOT_FOUND");
    }
    for path in ["", "/checks", "/plan", "/graph", "/schema", "/rule"] {
        send(&server, &Request::get(&format!("/api/v1/flows/asks{path}")), &one).fails(404, "FLOW_NOT_FOUND");
    }
    let body = json!({ "flow": "asks", "input": { "message": "go" } });
    let refused = send(&server, &Request::post("/api/v1/runs", &body), &one);
    assert!(!refused.fails(404, "FLOW_NOT_FOUND").body.contains("`main`, `asks`"));
    for path in ["/api/v1/flows", "/api/v1/runs", "/api/v1/questions"] {
        let reply = send(&server, &Request::get(path), &one);
        assert!(!reply.is(200).body.contains("asks"), "{path}: {reply:?}");
    }
}

#[test]
fn a_revoked_key_is_refused_within_two_seconds_and_its_streams_end() {
    let scene = Scene::new();
    let server = scene.serve(&["--require-key"]);
    let (key, kept) = (scene.key("gone", &[]), scene.key("kept", &["--all-runs"]));
    let run = asked(&server, &key);
    let events = Request::get(&format!("/api/v1/runs/{run}/events")).with("Accept", "text/event-stream");
    let watch = |key: &str| Frames::new(events.clone().with_key(key).open(server.address).unwrap().body);
    let (mut of_gone, mut of_kept) = (watch(&key), watch(&kept));
    scene.say(&["keys", "revoke", "gone"]);
    let began = Instant::now();
    eventually("a revoked key is accepted", || send(&server, &Request::get("/api/v1/flows"), &key).status == 401);
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
    while of_gone.next_frame().unwrap().is_some() {}
    let answer = Request::post(&format!("/api/v1/runs/{run}/answers"), &json!({ "step": "approve", "value": "yes" }));
    send(&server, &answer, &kept).is(202);
    let mut last = String::new();
    while let Some(frame) = of_kept.next_frame().unwrap() {
        last = frame.event;
    }
    assert_eq!(last, "run_finished");
}

#[test]
fn a_key_sends_no_more_requests_in_a_minute_than_it_may() {
    let scene = Scene::new();
    let servers = [scene.serve(&["--require-key"]), scene.serve(&["--require-key"])];
    let key = scene.key("slow", &["--requests-per-minute", "6"]);
    // The limit holds over all servers of the store.
    for n in 0..6 {
        get(&servers[n % 2], "/api/v1/flows", &key);
    }
    for server in &servers {
        let reply = send(server, &Request::get("/api/v1/flows"), &key);
        let seconds: u64 = reply.fails(429, "RATE_LIMITED").headers["retry-after"].parse().unwrap();
        assert!((1..=60).contains(&seconds), "{reply:?}");
        assert_eq!(reply.json()["retry_after"], seconds);
    }
    let other = scene.key("other", &[]);
    get(&servers[0], "/api/v1/flows", &other);
}

#[test]
fn a_key_has_no_more_runs_in_progress_than_it_may() {
    let scene = Scene::new();
    let servers = [scene.serve(&["--require-key"]), scene.serve(&["--require-key"])];
    let key = scene.key("few", &["--runs-in-flight", "2"]);
    // All at the same time, at both servers.
    let mut threads = Vec::new();
    for n in 0..8 {
        let request = Request::post("/api/v1/runs", &chain(&format!("hang {n}"))).with_key(&key);
        let address = servers[n % 2].address;
        threads.push(std::thread::spawn(move || request.send(address).unwrap()));
    }
    let mut started = Vec::new();
    for thread in threads {
        let reply = thread.join().unwrap();
        if reply.status == 429 {
            assert_eq!(reply.fails(429, "RUNS_IN_FLIGHT").headers["retry-after"], "1");
            continue;
        }
        started.push(reply.is(201).json()["run"].as_str().unwrap().to_owned());
    }
    assert_eq!(started.len(), 2, "{started:?}");
    let cancel = Request::post(&format!("/api/v1/runs/{}/cancel", started[0]), &json!({}));
    send(&servers[1], &cancel, &key);
    eventually("there is no room after a run has ended", || {
        let reply = send(&servers[1], &Request::post("/api/v1/runs", &chain("hang again")), &key);
        reply.status == 201
    });
}

#[test]
fn a_key_and_a_flow_cost_no_more_in_a_day_than_they_may() {
    let scene = Scene::new();
    // A call with 10 tokens in and 3 out costs $0.00013.
    scene.settings("[prices]\n\"openai:m\" = { input = 10, output = 10 }\n");
    let server = scene.serve(&["--require-key"]);
    let key = scene.key("poor", &["--cost-per-day", "2"]);
    let with_limit = |n: &str, dollars: f64| {
        let mut body = chain(n);
        body["max_cost"] = json!(dollars);
        Request::post("/api/v1/runs", &body)
    };
    // What a run in progress may still spend counts.
    let first = send(&server, &with_limit("hang 1", 1.5), &key).is(201).json()["run"].clone();
    let refused = send(&server, &with_limit("hang 2", 1.5), &key);
    match refused.status {
        // It has what is left.
        201 => {
            let third = send(&server, &with_limit("hang 3", 0.5), &key);
            let seconds: u64 = third.fails(429, "BUDGET_EXHAUSTED").headers["retry-after"].parse().unwrap();
            assert!((1..=86_400).contains(&seconds), "{third:?}");
        }
        _ => drop(refused.fails(429, "BUDGET_EXHAUSTED")),
    }
    let other = scene.key("rich", &[]);
    send(&server, &with_limit("other", 1.0), &other).is(201);
    send(&server, &Request::post(&format!("/api/v1/runs/{}/cancel", first.as_str().unwrap()), &json!({})), &key);

    // A flow has a budget of its own, and can be stopped.
    let admin = scene.key("admin", &["--scope", "admin"]);
    let rule = |rule: Json| {
        let request = Request { body: rule.to_string(), ..Request::new("PUT", "/api/v1/flows/main/rule") };
        send(&server, &request, &admin).is(200);
    };
    rule(json!({ "cost_per_day_micro": 1 }));
    send(&server, &with_limit("by flow", 1.0), &other).fails(429, "BUDGET_EXHAUSTED");
    rule(json!({ "stopped": true, "reason": "prompt under repair" }));
    let stopped = send(&server, &with_limit("stopped", 1.0), &other);
    assert!(stopped.fails(409, "FLOW_STOPPED").body.contains("prompt under repair"));
    rule(json!({}));
    let run = send(&server, &with_limit("again", 1.0), &other).is(201).json()["run"].clone();
    let path = format!("/api/v1/runs/{}", run.as_str().unwrap());
    eventually("it does not end", || get(&server, &path, &other)["status"] != "running");
    assert_eq!(get(&server, &path, &other)["cost"]["usd"], 0.00039);
}

/// A call, and a request to a port where nobody listens.
const FAILS: &str = "\
id: fails
kind: sequential
inputSchema: { n: string }
steps:
  - agent: { id: first, kind: llm, model: { provider: openai, name: m }, instruction: I., prompt: 'paid {{n}}' }
    input: { n: '{{n}}' }
  - agent: { id: second, kind: tool, tool: { kind: http, name: fetch, url: 'http://127.0.0.1:9/' } }
";

#[test]
fn neither_a_deletion_nor_a_resumption_gets_around_what_a_key_may_use() {
    let scene = Scene::new();
    scene.settings("[prices]\n\"openai:m\" = { input = 10, output = 10 }\n\n[http]\nallow = [\"127.0.0.1:9\"]\n");
    scene.folder.write("flows/fails.yaml", FAILS);
    scene.provider.hang(true);
    let server = scene.serve(&["--require-key"]);
    let start = |flow: &str, n: &str, dollars: f64, key: &str| {
        let body = json!({ "flow": flow, "input": { "n": n }, "max_cost": dollars });
        let run = send(&server, &Request::post("/api/v1/runs", &body), key).is(201).json();
        run["run"].as_str().unwrap().to_owned()
    };
    let at = |run: &str| format!("/api/v1/runs/{run}");
    let failed = |n: &str, key: &str| {
        let run = start("fails", n, 1.5, key);
        eventually("it does not fail", || get(&server, &at(&run), key)["status"] == "failed");
        run
    };
    let resume = |run: &str, key: &str| send(&server, &Request::post(&format!("{}/resume", at(run)), &json!({})), key);
    let reserved = |run: &str, key: &str| {
        let run = get(&server, &at(run), key);
        run["labels"]["trefoil.cost_limit"].as_str().unwrap().parse::<u64>().unwrap()
    };

    // What a deleted run has spent stays spent.
    let key = scene.key("poor", &["--cost-per-day", "2"]);
    let gone = failed("gone", &key);
    let spent = get(&server, &at(&gone), &key)["cost"]["usd"].as_f64().unwrap();
    let spent = (spent * 1e6).round() as u64;
    assert!(spent > 0);
    send(&server, &Request::new("DELETE", &at(&gone)), &key).is(204);
    let again = failed("again", &key);
    let open = start("main", "hang now", 2.0, &key);
    assert_eq!(reserved(&open, &key), 2_000_000 - 2 * spent);
    // What a run may still spend must be there when it goes on.
    resume(&again, &key).fails(429, "BUDGET_EXHAUSTED");
    send(&server, &Request::post(&format!("{}/cancel", at(&open)), &json!({})), &key);
    eventually("there is no room after the other run", || resume(&again, &key).status == 202);

    let single = scene.key("single", &["--runs-in-flight", "1"]);
    let run = failed("one", &single);
    start("main", "hang too", 1.0, &single);
    resume(&run, &single).fails(429, "RUNS_IN_FLIGHT");

    let admin = scene.key("admin", &["--scope", "admin"]);
    let rule = json!({ "stopped": true }).to_string();
    let stop = Request { body: rule, ..Request::new("PUT", "/api/v1/flows/fails/rule") };
    send(&server, &stop, &admin).is(200);
    resume(&again, &admin).fails(409, "FLOW_STOPPED");
}
