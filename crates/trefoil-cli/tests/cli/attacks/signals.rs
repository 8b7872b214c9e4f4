//! Stopping a run works quickly, whatever the run is doing.
#![cfg(unix)]

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::world::Folder;

/// It takes a second; a busy machine may need more. A run that ignores signals never ends.
const SOON: Duration = Duration::from_secs(20);

fn signal(child: &Child, signal: &str) {
    assert!(Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap().success());
}

/// The exit code of a process after a stop request, if nobody reads its output.
fn end(mut child: Child, what: &str) -> Option<i32> {
    let began = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status.code();
        }
        if began.elapsed() > SOON {
            child.kill().unwrap();
            panic!("{what}: the signal was not answered");
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Waits until a condition is true.
fn until(what: &str, is_so: impl Fn() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < Duration::from_secs(60), "{what} did not happen");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A loop over long texts, whose output fills every pipe that is not read.
fn talkative(folder: &Folder) {
    let text = "word ".repeat(2000);
    folder.write(
        "a.yaml",
        "kind: llm\nid: helper\nmodel: { provider: openai, name: gpt-5-mini }\ninstruction: Help.\nprompt: '{{userQuery}}'\n",
    );
    folder.write("input.json", serde_json::json!({"userQuery": text.repeat(20)}).to_string());
}

#[test]
fn with_a_full_pipe_on_stdout_a_run_still_ends_and_leaves_its_trace() {
    for how in ["-INT", "-TERM", "-HUP", "-QUIT"] {
        let folder = Folder::new();
        talkative(&folder);
        let args = [
            "run",
            "a.yaml",
            "--model",
            "embedded",
            "--input-json",
            "@input.json",
            "--events",
            "jsonl",
            "--trace",
            "t.json",
        ];
        let mut command = folder.command(&args);
        command.stderr(Stdio::null());
        let child = command.spawn().unwrap();
        until("the start", || folder.records("t.json"));
        // Until the full pipe blocks it.
        std::thread::sleep(Duration::from_millis(500));
        signal(&child, how);
        assert_eq!(end(child, how), Some(130), "{how}");
        let trace = std::fs::read(folder.path().join("t.json")).unwrap();
        let trace: serde_json::Value = serde_json::from_slice(&trace).unwrap_or_else(|e| panic!("{how}: {e}"));
        assert_eq!(trace["flow"], "helper");
    }
}

#[test]
fn with_a_full_pipe_on_stderr_a_run_still_ends() {
    let folder = Folder::new();
    let name = "n".repeat(200);
    let mut steps = String::new();
    for n in 0..400 {
        steps.push_str(&format!("  - agent:\n      id: {name}{n}\n      kind: llm\n      model: {{ provider: openai, name: m }}\n      instruction: I\n      prompt: P\n"));
    }
    folder.write("a.yaml", format!("kind: sequential\nid: p\nsteps:\n{steps}"));
    let mut command = folder.command(&["run", "a.yaml", "--model", "embedded", "--no-check", "--trace", "t.json"]);
    command.stdout(Stdio::null());
    let child = command.spawn().unwrap();
    until("the start", || folder.records("t.json"));
    std::thread::sleep(Duration::from_millis(500));
    signal(&child, "-INT");
    assert_eq!(end(child, "stderr"), Some(130));
}

#[test]
fn busy_with_one_value_a_run_still_ends() {
    let folder = Folder::new();
    // A schema that checks everything twice at every level, and deep answers, so that each check takes as long as
    // allowed.
    let twice = "{ allOf: [{ properties: { left: { $ref: '#' } } }, { properties: { left: { $ref: '#' } } }] }";
    let agent = |n: u32| {
        format!(
            "apiVersion: 100monkeys.ai/v1\nkind: Agent\nmetadata: {{ name: deep-{n} }}\nspec:\n  runtime: {{ model: smart }}\n  \
             task: {{ instruction: Answer. }}\n  execution:\n    mode: iterative\n    max_iterations: 50\n    validation:\n      \
             - type: json_schema\n        schema: {twice}\n"
        )
    };
    folder.write("a.yaml", agent(0));
    let deep = (0..60).fold(serde_json::json!({}), |inner, _| serde_json::json!({ "left": inner }));
    let answers = vec![serde_json::json!({ "json": deep }); 50];
    folder.write("s.json", serde_json::json!({ "answers": { "deep-0": answers } }).to_string());
    let args = ["run", "a.yaml", "-i", "go", "--model", "scripted=s.json", "--no-check", "--trace", "t.json"];
    let child = folder.command(&args).spawn().unwrap();
    until("the start", || folder.records("t.json"));
    std::thread::sleep(Duration::from_millis(300));
    signal(&child, "-TERM");
    assert_eq!(end(child, "busy"), Some(130));
}
