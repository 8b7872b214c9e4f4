//! Information about stored runs, and the content that a store keeps.
#![cfg(unix)]

use std::process::Command;

use serde_json::json;

use crate::durable::{GATE, command, only, signal, trefoil, until};
use crate::edited::newest;
use crate::provider::Provider;
use crate::world::{Folder, finish, wait};

fn agent(prompt: &str) -> String {
    format!("id: one\nkind: llm\nmodel: {{ provider: openai, name: m }}\ninstruction: I.\nprompt: {prompt}\n")
}

#[test]
fn a_call_that_is_tried_again_is_one_call_wherever_it_is_counted() {
    let provider = Provider::start();
    let folder = Folder::new();
    folder.write("one.yaml", agent("busy"));
    trefoil(&folder, &provider, &["run", "one.yaml", "--trace", "t.json"]).exits(0).says(&["1 call, "]);
    assert_eq!(provider.asked().len(), 2, "the first try fails");
    let run = only(&folder, &provider);
    let shown = trefoil(&folder, &provider, &["runs", "show", &run]);
    assert!(shown.exits(0).out.contains("used     1 call, "), "{shown:?}");
    let listed = trefoil(&folder, &provider, &["runs", "list", "--output", "json"]).json();
    let trace = std::fs::read_to_string(folder.path().join("t.json")).unwrap();
    let trace: serde_json::Value = serde_json::from_str(&trace).unwrap();
    assert_eq!((&listed["runs"][0]["calls"], &trace["calls"]), (&json!(1), &json!(1)));
    trefoil(&folder, &provider, &["store", "check"]).exits(0);
}

#[test]
fn two_runs_of_one_seed_are_two_runs() {
    let provider = Provider::start();
    let folder = Folder::new();
    folder.write("one.yaml", agent("one"));
    for _ in 0..2 {
        trefoil(&folder, &provider, &["run", "one.yaml", "--model", "embedded", "--seed", "7"]).exits(0);
    }
    let listed = trefoil(&folder, &provider, &["runs", "list", "--output", "json"]).json();
    assert_eq!(listed["runs"].as_array().map(Vec::len), Some(2));
}

#[test]
fn a_run_that_could_not_be_stored_is_not_said_to_continue() {
    let provider = Provider::start();
    let folder = Folder::new();
    folder.write("one.yaml", agent("one"));
    // The store exists, but its log cannot grow.
    trefoil(&folder, &provider, &["run", "one.yaml", "--model", "embedded"]).exits(0);
    let trefoil_binary = command(&folder, &provider, &[]);
    let mut full = Command::new("sh");
    full.args(["-c", "trap '' XFSZ; ulimit -f 72; exec \"$0\" run one.yaml"]).arg(env!("CARGO_BIN_EXE_trefoil"));
    full.current_dir(folder.path())
        .env_clear()
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped());
    full.envs(trefoil_binary.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let full = finish(full);
    full.silent(1).says(&["JOURNAL_ERROR", "runs.db", "--store PATH", "--ephemeral", "nothing was sent or stored"]);
    assert!(!full.err.contains("to continue") && !full.err.contains("kept as"), "{full:?}");
    assert_eq!(provider.asked().len(), 0);
}

/// A command of a test has a store of its own even if the test names none.
#[cfg(target_os = "linux")]
#[test]
fn the_store_of_a_command_of_a_test_is_in_the_home_of_its_folder() {
    let folder = Folder::new();
    folder.write("one.yaml", agent("one"));
    let mut run = folder.command(&["run", "one.yaml", "--model", "embedded"]);
    run.env_remove("TREFOIL_EPHEMERAL");
    finish(run).exits(0);
    assert!(folder.home().join(".local/share/trefoil/runs.db").exists());
}

#[test]
fn an_answer_passed_beforehand_is_the_answer_that_could_be_sent_later() {
    let provider = Provider::start();
    let folder = Folder::new();
    let ship = "- condition: input_equals\n          value: Ship\n          target: SHIP\n";
    let yes = "- condition: input_equals_yes\n          target: SHIP\n";
    folder.write("gate.yaml", GATE.replace(yes, ship));
    let run = |answer: &str| {
        let answer = format!("ASK={answer}");
        let gate =
            ["run", "gate.yaml", "--model", "embedded", "--allow-command", "-q", "--no-check", "--answer", &answer];
        trefoil(&folder, &provider, &gate)
    };
    for answer in ["Ship", "ship", " SHIP "] {
        let ran = run(answer);
        assert!(ran.exits(0).out.contains("shipped"), "{answer}: {ran:?}");
    }
    run("sail").silent(2).says(&["`sail` is not one of the answers of `ASK`", "`Ship`, `no`"]);
}

#[test]
fn a_run_that_is_told_again_names_its_files_as_before_and_its_trace_can_be_written() {
    let provider = Provider::start();
    let folder = Folder::new();
    folder.write("flows/one.yaml", agent("one"));
    let ran = trefoil(&folder, &provider, &["run", "flows/one.yaml", "--events", "jsonl", "--trace", "live.json"]);
    let run = only(&folder, &provider);
    let files = |events: Vec<serde_json::Value>| {
        events.iter().map(|event| (event["seq"].clone(), event["file"].clone())).collect::<Vec<_>>()
    };
    let told = trefoil(&folder, &provider, &["runs", "events", &run]);
    // Streamed text is only reported live.
    let live = ran.lines().into_iter().filter(|event| event["event"] != "text_delta").collect();
    assert_eq!(files(told.lines()), files(live));
    assert!(told.out.contains("\"flows/one.yaml\""), "{told:?}");
    trefoil(&folder, &provider, &["resume", &run, "--trace", "later.json"]).exits(0).says(&["has ended: completed"]);
    let trace = |name: &str| -> serde_json::Value {
        serde_json::from_str(&std::fs::read_to_string(folder.path().join(name)).unwrap()).unwrap()
    };
    let (live, later) = (trace("live.json"), trace("later.json"));
    for member in ["run", "flow", "status", "program", "sources", "answers_from", "output", "usage", "calls", "graph"] {
        assert_eq!(later[member], live[member], "{member}");
    }
    assert_eq!(later["steps"][0]["calls"][0]["messages"], live["steps"][0]["calls"][0]["messages"]);
    trefoil(&folder, &provider, &["resume", &run, "--trace", "flows/one.yaml"])
        .silent(2)
        .says(&["would be overwritten"]);
}

/// Whether nothing is kept of a run that has ended.
fn is_bare(folder: &Folder, provider: &Provider, run: &str) -> bool {
    let shown = trefoil(folder, provider, &["runs", "show", run, "--output", "json"]).json();
    assert_eq!(shown["status"], "completed", "{shown}");
    shown["content"] == "removed"
}

#[test]
fn a_run_that_uses_results_of_another_keeps_nothing_if_the_environment_says_so() {
    let (folder, provider) = (Folder::new(), Provider::start());
    folder.write("one.yaml", agent("one"));
    trefoil(&folder, &provider, &["run", "one.yaml"]).exits(0);
    let first = only(&folder, &provider);
    folder.write("two.yaml", agent("two"));
    let with = |value: &str, args: &[&str]| {
        let mut command = command(&folder, &provider, args);
        command.env("TREFOIL_NO_CONTENT", value);
        finish(command).exits(0);
        newest(&folder, &provider)
    };
    let edited = ["resume", &first, "--with", "two.yaml"];
    for (value, args, bare) in [
        ("1", &edited[..], true),
        ("0", &edited[..], false),
        ("0", &["resume", &first, "--with", "two.yaml", "--no-content"], true),
        ("yes", &["runs", "fork", &first], true),
        ("0", &["runs", "fork", &first], false),
    ] {
        let run = with(value, args);
        assert_eq!(is_bare(&folder, &provider, &run), bare, "{value}: {args:?}");
    }
    // What the variable says of new runs is nothing to a run that there is.
    with("1", &["resume", &first]);
    assert!(!is_bare(&folder, &provider, &first));
    trefoil(&folder, &provider, &["resume", &first, "--no-content"]).exits(2);
}

const PROMPT: &str = "a prompt that nobody else may read";

#[test]
fn without_content_a_run_can_be_resumed_and_leaves_only_figures() {
    let provider = Provider::start();
    let folder = Folder::new();
    let word = |name: &str| folder.path().join(name);
    let has = |what: &str| {
        let files = std::fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().path());
        let stores = files.filter(|path| path.to_string_lossy().contains("runs.db"));
        let mut bytes = stores.map(|path| std::fs::read(path).unwrap());
        bytes.any(|bytes| bytes.windows(what.len()).any(|part| part == what.as_bytes()))
    };
    folder.write("one.yaml", agent(PROMPT));
    folder
        .write("two.yaml", agent("'{{text}} hang'").replace("id: one", "id: two") + "inputSchema: { text: string }\n");
    folder.write(
        "main.yaml",
        "id: main\nkind: sequential\nsteps:\n  - ref: one\n  - ref: two\n    input: { text: '{{one}}' }\n",
    );
    let child = command(&folder, &provider, &["run", "main.yaml", "--no-content"]).spawn().unwrap();
    until("the second call", || provider.asked().len() == 2);
    signal(&child, "-KILL");
    wait(child);
    let run = only(&folder, &provider);
    assert!(has(PROMPT), "resuming needs it");
    let shown = trefoil(&folder, &provider, &["runs", "show", &run]);
    assert!(shown.exits(0).out.contains("content  kept until the run is completed"), "{shown:?}");
    provider.hang(false);
    // The resume keeps the setting.
    let ended = trefoil(&folder, &provider, &["resume", &run]);
    assert_eq!(ended.exits(0).out, format!("{PROMPT} hang\n"));
    assert_eq!(provider.asked().len(), 3);
    assert!(!has(PROMPT), "it has ended");
    let shown = trefoil(&folder, &provider, &["runs", "show", &run, "--output", "json"]).json();
    assert_eq!(
        (&shown["content"], &shown["status"], &shown["calls"]),
        (&json!("removed"), &json!("completed"), &json!(3))
    );
    assert_eq!(shown["usage"]["input_tokens"], json!(20));
    let shown = trefoil(&folder, &provider, &["runs", "show", &run]);
    assert!(shown.exits(0).out.contains("content  removed when the run ended"), "{shown:?}");
    let exported = trefoil(&folder, &provider, &["runs", "export", &run]);
    exported.exits(0).says(&["content removed when the run ended"]);
    assert!(!exported.out.contains(PROMPT) && exported.lines().len() > 5, "{exported:?}");
    trefoil(&folder, &provider, &["runs", "events", &run]).silent(2).says(&["removed when it ended", "runs export"]);
    trefoil(&folder, &provider, &["resume", &run]).silent(1).says(&["has ended: completed", "removed when it ended"]);
    trefoil(&folder, &provider, &["store", "check"]).exits(0);
    // A cancelled run has ended, too.
    std::fs::remove_file(word("runs.db")).unwrap();
    provider.hang(true);
    let child = command(&folder, &provider, &["run", "main.yaml"]).env("TREFOIL_NO_CONTENT", "1").spawn().unwrap();
    until("the second call", || provider.asked().len() == 5);
    signal(&child, "-KILL");
    wait(child);
    assert!(has(PROMPT));
    trefoil(&folder, &provider, &["runs", "cancel", &only(&folder, &provider)]).exits(0);
    assert!(!has(PROMPT), "cancelled");
}
