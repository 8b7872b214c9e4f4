//! Keys for a flow, and the flows that it calls.

use serde_json::{Value as Json, json};

use crate::http::{Reply, Request};
use crate::scene::Scene;

#[test]
fn a_key_for_a_flow_starts_no_run_of_a_flow_that_it_calls() {
    let scene = Scene::new();
    let agent = "id: shorten\nkind: llm\ninputSchema: { text: string }\nmodel: { provider: openai, name: m }\ninstruction: I.\nprompt: '{{text}}'\n";
    let caller = "id: brief\nkind: tool\ninputSchema: { text: string }\ntool: { kind: local, name: shorten, params: { text: '{{text}}' } }\n";
    scene.folder.write("flows/shorten.yaml", agent).write("flows/brief.yaml", caller);
    scene.project("[tools.shorten]\nflow = \"shorten.yaml\"\ndescription = \"Shortens\"\n");
    let server = scene.serve(&["--require-key"]);
    let keys = [scene.key("one", &["--flow", "brief"]), scene.key("two", &["--flow", "brief", "--flow", "shorten"])];
    for (key, may) in [(&keys[0], false), (&keys[1], true)] {
        let send = |request: Request| -> Reply { request.with_key(key).send(server.address).unwrap() };
        let start = |flow: &str| {
            Request::post("/api/v1/runs", &json!({ "flow": flow, "input": { "text": "x" }, "wait_seconds": 60 }))
        };
        let run = send(start("brief")).is(200).json();
        assert_eq!(run["status"], "completed", "{run}");
        let called = called_run(&scene, run["run"].as_str().unwrap());
        let path = format!("/api/v1/runs/{called}");
        // It is a part of a run of the key.
        send(Request::get(&path)).is(200);
        for body in
            [json!({ "input": { "text": "y" } }), json!({}), json!({ "input": { "text": "y" }, "dry_run": true })]
        {
            let forked = send(Request::post(&format!("{path}/fork"), &body));
            check(&forked, may, if body["dry_run"] == true { 200 } else { 201 });
        }
        check(&send(Request::post(&format!("{path}/resume"), &json!({}))), may, 200);
        let refused = send(start("shorten"));
        check(&refused, may, 200);
        assert!(may || !refused.json()["help"].as_str().unwrap().contains("shorten"), "{refused:?}");
    }
}

#[track_caller]
fn check(reply: &Reply, may: bool, status: u16) {
    if may {
        reply.is(status);
    } else {
        reply.fails(404, "FLOW_NOT_FOUND");
    }
}

fn called_run(scene: &Scene, run: &str) -> String {
    let all: Json = serde_json::from_str(&scene.say(&["runs", "list", "--output", "json"])).unwrap();
    let runs = all.as_array().or_else(|| all["runs"].as_array()).unwrap();
    runs.iter().find(|one| one["parent"] == run).unwrap()["run"].as_str().unwrap().to_owned()
}

#[test]
fn a_fault_in_a_called_flow_has_no_path_of_the_machine() {
    let scene = Scene::new();
    let caller = "id: brief\nkind: tool\ninputSchema: { text: string }\ntool: { kind: local, name: gone, params: { text: '{{text}}' } }\n";
    let inner = "id: gone\nkind: tool\ninputSchema: { text: string }\ntool: { kind: local, name: no_such_tool, params: { text: '{{text}}' } }\n";
    scene.folder.write("flows/gone.yaml", inner).write("flows/brief.yaml", caller);
    scene.project("[tools.gone]\nflow = \"gone.yaml\"\ndescription = \"Is gone\"\n");
    let folder = scene.folder.path().canonicalize().unwrap();
    let server = scene.serve(&[]);
    let body = json!({ "flow": "brief", "input": { "text": "x" } });
    let refused = server.post("/api/v1/runs", &body);
    let errors = refused.fails(422, "CANNOT_RUN").json()["errors"].clone();
    assert!(errors.to_string().contains("gone.yaml"), "{refused:?}");
    let chat = json!({ "model": "brief", "messages": [{ "role": "user", "content": "x" }] });
    let call = json!({ "agentId": "brief", "input": { "text": "x" } });
    for reply in [refused, server.post("/v1/chat/completions", &chat), server.post("/run", &call)] {
        assert!(reply.status >= 400 && !reply.body.contains(folder.to_str().unwrap()), "{reply:?}");
    }
}
