//! Ctrl-C: the run ends at once and cleanly, and no process continues to run.
#![cfg(unix)]

use std::process::{Child, Command};
use std::time::{Duration, Instant};

use crate::world::{AGENT, Folder, wait};

fn interrupt(child: &Child) {
    signal(child, "-INT");
}

fn signal(child: &Child, signal: &str) {
    assert!(Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap().success());
}

/// Waits until a condition is true.
fn until(what: &str, is_so: impl Fn() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < Duration::from_secs(60), "{what} did not happen");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_command_and_what_it_started_end_with_the_run() {
    let folder = Folder::new();
    let pids = folder.path().join("pids");
    let script = format!("sleep 600 & echo $! > {0}; echo $$ >> {0}; wait", pids.display());
    folder.write(
        "a.yaml",
        format!(
            "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata: {{ name: slow }}\nspec:\n  initial_state: WAIT\n  \
             states:\n    WAIT:\n      kind: System\n      command: {}\n      transitions: []\n",
            serde_json::Value::from(script)
        ),
    );
    folder.trefoil(&["run", "--model", "embedded", "a.yaml"]).silent(2).says(&[
        "command-not-allowed",
        "--allow-command",
        "a.yaml:7:",
    ]);
    for how in ["-INT", "-TERM"] {
        let _ = std::fs::remove_file(&pids);
        let child = folder.command(&["run", "--model", "embedded", "a.yaml", "--allow-command"]).spawn().unwrap();
        until("the command", || std::fs::read_to_string(&pids).is_ok_and(|t| t.lines().count() == 2));
        signal(&child, how);
        wait(child).silent(130).says(&["cancelled"]);
        for pid in std::fs::read_to_string(&pids).unwrap().lines() {
            until("their end", || {
                let state = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
                state.is_empty() || state.contains(") Z ")
            });
        }
    }
}

#[test]
fn a_run_that_waits_is_cancelled() {
    let folder = Folder::new();
    folder.write("a.yaml", AGENT).write("s.yaml", "answers:\n  helper: {text: late, delay_ms: 600000}\n");
    let child = folder.command(&["run", "a.yaml", "--model", "scripted=s.yaml", "--trace", "t.json"]).spawn().unwrap();
    // The trace file is created right before the run.
    until("the start", || folder.records("t.json"));
    std::thread::sleep(Duration::from_millis(300));
    let began = Instant::now();
    interrupt(&child);
    let ran = wait(child);
    ran.silent(130).says(&["cancelled", "spent: 1 call, ", "  trefoil trace t.json  every prompt and answer"]);
    assert!(began.elapsed() < Duration::from_secs(30));
    let trace: serde_json::Value =
        serde_json::from_slice(&std::fs::read(folder.path().join("t.json")).unwrap()).unwrap();
    assert_eq!(trace["status"], "cancelled");
}
