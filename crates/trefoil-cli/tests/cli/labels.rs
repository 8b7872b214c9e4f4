//! Labels: who sets them, how runs are found by them, and what is refused.

use serde_json::json;

use crate::world::{Folder, Ran, finish};

const AGENT: &str = "id: hello\nkind: llm\nmodel: { provider: openai, name: m }\ninstruction: Say hello.\n";

fn world() -> Folder {
    let folder = Folder::new();
    folder.write("hello.yaml", AGENT);
    folder
}

const RUN: [&str; 5] = ["run", "hello.yaml", "--model", "embedded", "--quiet"];

/// Runs the binary with a store.
fn trefoil(folder: &Folder, args: &[&str]) -> Ran {
    let mut command = folder.command(args);
    command.env_remove("TREFOIL_EPHEMERAL").env("TREFOIL_CONFIG_DIR", folder.path().join("config"));
    finish(command)
}

fn run(folder: &Folder, args: &[&str]) {
    trefoil(folder, &[&RUN[..], args].concat()).exits(0);
}

/// The labels of the runs that a list has, newest first.
fn listed(folder: &Folder, args: &[&str]) -> Vec<serde_json::Value> {
    let list = trefoil(folder, &[&["runs", "list", "--output", "json"], args].concat());
    list.exits(0).json()["runs"].as_array().unwrap().iter().map(|run| run["labels"].clone()).collect()
}

#[test]
fn runs_are_found_by_the_labels_that_they_were_started_with() {
    let folder = world();
    run(&folder, &["--label", "customer=42", "--label", "team=a=b, c"]);
    run(&folder, &["--label", "customer=42"]);
    run(&folder, &["--label", "customer=43", "--detach"]);
    run(&folder, &[]);
    let (first, second) = (json!({ "customer": "42", "team": "a=b, c" }), json!({ "customer": "42" }));
    assert_eq!(listed(&folder, &["--label", "customer=42"]), [second, first.clone()]);
    assert_eq!(listed(&folder, &["--label", "customer=42", "--label", "team=a=b, c"]), std::slice::from_ref(&first));
    assert_eq!(
        listed(&folder, &["--label", "customer=43"]),
        [json!({ "customer": "43" })],
        "a submitted run has its label"
    );
    let both = ["--label", "customer=42", "--label", "customer=43"];
    assert_eq!(listed(&folder, &both), [] as [serde_json::Value; 0], "all labels must match");
    trefoil(&folder, &["runs", "list", "--label", "customer=44"]).exits(0).says(&["no runs match"]);
    let found = trefoil(&folder, &["runs", "list", "--output", "json", "--label", "team=a=b, c"]).json();
    let id = found["runs"][0]["run"].as_str().unwrap().to_owned();
    let shown = trefoil(&folder, &["runs", "show", &id]);
    assert!(shown.exits(0).out.contains("label    customer=42\nlabel    team=a=b, c\n"), "{shown:?}");
    assert_eq!(trefoil(&folder, &["runs", "show", &id, "--output", "json"]).json()["labels"], first);
}

#[test]
fn a_fork_has_its_own_labels() {
    let folder = world();
    run(&folder, &["--label", "customer=42"]);
    let fork = ["runs", "fork", "last", "--quiet", "--model", "embedded"];
    trefoil(&folder, &[&fork[..], &["--label", "try=2", "--from", "hello"]].concat()).exits(0);
    assert_eq!(listed(&folder, &[]), [json!({ "try": "2" }), json!({ "customer": "42" })]);
    trefoil(&folder, &[&fork[..], &["--label", "trefoil.key=x"]].concat())
        .exits(2)
        .says(&["`trefoil.key` is reserved"]);
}

#[test]
fn a_run_that_a_run_calls_has_the_labels_of_that_one() {
    let folder = world();
    folder.write("trefoil.toml", "[tools.inner]\nflow = \"hello.yaml\"\n");
    let call = "agent: { id: call, kind: tool, tool: { kind: local, name: inner, params: { input: hi } } }";
    folder.write("main.yaml", format!("id: main\nkind: sequential\nsteps:\n  - {call}\n"));
    trefoil(&folder, &["trust", "."]).exits(0);
    let start = ["run", "main.yaml", "--model", "embedded", "--quiet", "--label", "customer=42"];
    trefoil(&folder, &start).exits(0);
    let label = json!({ "customer": "42" });
    assert_eq!(listed(&folder, &["--flow", "hello"]), std::slice::from_ref(&label));
    // A worker does not know what the command line said.
    trefoil(&folder, &[&start[..], &["--detach"]].concat()).exits(0);
    trefoil(&folder, &["worker", "--once"]).exits(0);
    assert_eq!(listed(&folder, &["--flow", "hello"]), [label.clone(), label]);
}

#[test]
fn labels_that_are_invalid_are_refused_before_anything_runs() {
    let folder = world();
    let long = format!("{}=x", "k".repeat(65));
    let wide = format!("k={}", "x".repeat(257));
    for (label, why) in [
        ("customer", "`customer` is not a label; write `KEY=VALUE`"),
        ("=42", "`` is not a valid key of a label; use 1 to 64 of the characters"),
        ("custom er=42", "`custom er` is not a valid key of a label"),
        (&long, "is not a valid key of a label"),
        (&wide, "the value of the label `k` is invalid; use at most 256 characters"),
        ("trefoil.key=k1", "the label `trefoil.key` is reserved; use a key that does not start with `trefoil.`"),
    ] {
        trefoil(&folder, &[&RUN[..], &["--label", label]].concat()).silent(2).says(&[why]);
    }
    let twice = [&RUN[..], &["--label", "a=1", "--label", "a=2"]].concat();
    trefoil(&folder, &twice).silent(2).says(&["the label `a` is set twice", "set it once"]);
    let many: Vec<String> = (0..33).flat_map(|n| ["--label".to_owned(), format!("k{n}=")]).collect();
    let many: Vec<&str> = RUN.into_iter().chain(many.iter().map(String::as_str)).collect();
    trefoil(&folder, &many).silent(2).says(&["33 labels are more than the 32 that a run may have"]);
    trefoil(&folder, &many[..many.len() - 2]).exits(0);
    trefoil(&folder, &[&RUN[..], &["--label", "a=1", "--ephemeral"]].concat()).silent(2).says(&["--ephemeral"]);
    // What the engine sets can be looked for.
    trefoil(&folder, &["runs", "list", "--label", "trefoil.key=k1"]).exits(0).says(&["no runs match"]);
    trefoil(&folder, &["runs", "list", "--label", "trefoil.key"]).silent(2).says(&["is not a label"]);
    assert_eq!(listed(&folder, &[]).len(), 1);
}
