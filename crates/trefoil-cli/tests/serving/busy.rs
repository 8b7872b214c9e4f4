//! Requests that take long keep no other request waiting.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Map, Value as Json, json};

use crate::http::Request;
use crate::scene::{Process, Scene};

/// The longest time in which `/health` answered while a request was answered again and again by several clients.
fn slowest_health(server: &Process, request: &Request, clients: usize) -> (Duration, Duration) {
    let busy = AtomicBool::new(true);
    std::thread::scope(|scope| {
        let watch = scope.spawn(|| {
            let mut slowest = Duration::ZERO;
            while busy.load(Ordering::SeqCst) {
                let begun = Instant::now();
                server.get("/health").is(200);
                slowest = slowest.max(begun.elapsed());
            }
            slowest
        });
        let begun = Instant::now();
        let all: Vec<_> = (0..clients).map(|_| scope.spawn(|| request.send(server.address).unwrap().status)).collect();
        for one in all {
            assert!([200, 400].contains(&one.join().unwrap()));
        }
        let took = begun.elapsed();
        busy.store(false, Ordering::SeqCst);
        (watch.join().unwrap(), took)
    })
}

/// A manifest of many steps.
fn large_manifest() -> String {
    let mut text = "id: large\nkind: sequential\nsteps:\n".to_owned();
    for n in 0..1_500 {
        let _ = writeln!(
            text,
            "  - agent: {{ id: a{n}, kind: llm, model: {{ provider: openai, name: m }}, instruction: '{{{{x{n}}}}}' }}"
        );
    }
    text
}

#[test]
fn health_answers_while_manifests_and_inputs_are_checked() {
    let scene = Scene::new();
    let closed = "id: closed\nkind: llm\ninputSchema: { a: string }\nmodel: { provider: openai, name: m }\ninstruction: I.\nprompt: '{{a}}'\n";
    scene.folder.write("flows/closed.yaml", closed);
    let server = scene.serve(&[]);
    let mut members = Map::new();
    for n in 0..100_000 {
        members.insert(format!("p{n}"), Json::from(n));
    }
    let manifest = large_manifest();
    for request in [
        Request::post("/validate", &json!({ "manifest": manifest })),
        Request::post("/agents/import", &json!({ "agents": [{ "manifest": manifest }], "dryRun": true })),
        Request::post("/api/v1/runs", &json!({ "flow": "closed", "input": members })),
    ] {
        let (slowest, took) = slowest_health(&server, &request, 4);
        eprintln!("{}: {took:?}; the slowest health {slowest:?}", request.path);
        // If a thread that serves requests did the work, health would wait for about all of it.
        assert!(slowest < Duration::from_millis(500).max(took / 4), "{}: {slowest:?} of {took:?}", request.path);
    }
    let reply = server.post("/api/v1/runs", &json!({ "flow": "closed", "input": members }));
    let errors = reply.fails(400, "INPUT_INVALID").json()["errors"].as_array().unwrap().len();
    assert!((2..=200).contains(&errors), "{errors} mistakes are listed");
}
