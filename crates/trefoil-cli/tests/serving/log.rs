//! The log of a server: for programs, and for people.

use serde_json::{Value as Json, json};

use crate::http::Request;
use crate::scene::{Scene, chain, eventually};

/// The time at the beginning of a line, and the rest.
#[track_caller]
fn timed(line: &str) -> &str {
    let (time, rest) = line.split_once(' ').unwrap_or_else(|| panic!("no time in {line}"));
    assert!(time.len() == 24 && time.ends_with('Z') && time.as_bytes()[10] == b'T', "{line}");
    rest
}

#[test]
fn a_log_for_programs_is_one_object_a_line_and_has_nothing_of_prompts() {
    let scene = Scene::new();
    scene.folder.write("flows/broken.yaml", "id: broken\nkind: llm\nmodle: x\n");
    let mut server = scene.serve(&["--log", "json"]);
    let done = server.start(&chain("confidential"));
    server.until(&done, "completed");
    let failed = server.start(&json!({ "flow": "main", "input": { "n": "failing" }, "max_calls": 1 }));
    server.until(&failed, "failed");
    let asked = server.start(&json!({ "flow": "asks", "input": { "message": "confidential" } }));
    server.until(&asked, "waiting");
    let held = server.start(&chain("hang"));
    eventually("it does not call", || scene.provider.asked_by_now().iter().any(|prompt| prompt.contains("hang")));
    server.stop();
    let log = scene.log();
    assert!(!log.contains("confidential") && !log.contains("slowly"), "{log}");
    let mut lines: Vec<Json> = Vec::new();
    for line in log.lines() {
        let one: Json = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        timed(&format!("{} ", one["time"].as_str().unwrap()));
        assert!(one["message"].is_string() || one["request"].is_string(), "{line}");
        lines.push(one);
    }
    let of_run = |run: &str| lines.iter().find(|line| line["run"] == run && line["flow"].is_string()).unwrap();
    for (run, flow, status) in [
        (&done, "main", "completed"),
        (&failed, "main", "failed"),
        (&asked, "asks", "waiting"),
        (&held, "main", "given_back"),
    ] {
        let line = of_run(run);
        assert_eq!((&line["status"], &line["flow"]), (&json!(status), &json!(flow)), "{line}");
        assert!(line["duration_ms"].is_u64() && line["cost"]["text"].is_string(), "{line}");
    }
    assert_eq!(of_run(&failed)["code"], "BUDGET_EXCEEDED");
    let says = |text: &str| lines.iter().any(|line| line["message"].as_str().is_some_and(|said| said.contains(text)));
    for text in ["serving `", "broken.yaml", "stopping", "modle"] {
        assert!(says(text), "no `{text}` in {log}");
    }
    assert!(lines.last().unwrap()["message"].as_str().unwrap().starts_with("stopped"), "{log}");
    // Another process goes on with it.
    scene.provider.hang(false);
    let again = scene.serve(&["--log", "text"]);
    again.until(&held, "completed");
    Request::get("/health").send(again.address).unwrap().is(200);
    let log = scene.log();
    // A finding has several lines, of which the first has the time.
    let is_first = |line: &&str| line.starts_with("20");
    let text: Vec<&str> = log.lines().filter(is_first).map(timed).collect();
    assert!(text.iter().any(|line| line.starts_with("error[missing-key]")), "{log}");
    assert!(text.iter().any(|line| line.starts_with(&format!("run {held} of main continued"))), "{log}");
    eventually("its end is not in the log", || {
        scene
            .log()
            .lines()
            .any(|line| line.contains(&format!("run {held} of main completed")) && line.contains(" cost "))
    });
    assert!(text.iter().any(|line| line.contains("GET /health")), "{log}");
}
