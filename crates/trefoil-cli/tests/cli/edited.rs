//! Runs of an edited file that use what an earlier run has: calls are counted by the provider.
#![cfg(unix)]

use crate::durable::{command, only, signal, trefoil, until};
use crate::provider::Provider;
use crate::world::{Folder, wait};

/// A pipeline of steps: each has a name, what it is given, and a prompt.
fn pipeline(steps: &[(&str, &str, &str)]) -> String {
    let mut text = "id: main\nkind: sequential\nsteps:\n".to_owned();
    for (name, given, prompt) in steps {
        let agent = format!(
            "  - input: {{ text: '{given}' }}\n    agent:\n      id: {name}\n      kind: llm\n      model: {{ provider: openai, name: m }}\n"
        );
        text.push_str(&agent);
        text.push_str("      inputSchema: { text: string }\n      instruction: I.\n");
        text.push_str(&format!("      prompt: '{prompt}'\n"));
    }
    text
}

const FIRST: &[(&str, &str, &str)] =
    &[("one", "x", "say one"), ("two", "{{one}}", "two after {{text}}"), ("three", "{{two}}", "three after {{text}}")];

/// A run of that, with a provider that forgets what it was asked.
fn begun() -> (Folder, Provider, String, usize) {
    let (folder, provider) = (Folder::new(), Provider::start());
    provider.hang(false);
    folder.write("main.yaml", pipeline(FIRST));
    trefoil(&folder, &provider, &["run", "main.yaml"]).exits(0);
    let (run, asked) = (only(&folder, &provider), provider.asked().len());
    assert_eq!(asked, 3);
    (folder, provider, run, asked)
}

#[test]
fn only_what_an_edit_changes_is_asked_again() {
    let (folder, provider, run, before) = begun();
    let steps = [FIRST[0], ("two", "{{one}}", "two well after {{text}}"), FIRST[2]];
    folder.write("edited.yaml", pipeline(&steps));
    let ran = trefoil(&folder, &provider, &["resume", &run, "--with", "edited.yaml", "--explain"]);
    ran.exits(0).says(&[
        " kept  one",
        "again  two  the user message changed: its own text (edited.yaml:19)",
        "again  three  the user message changed: the result of `two` (edited.yaml:20)",
        "1 result of run",
        "2 calls made",
    ]);
    assert_eq!(provider.asked()[before..], ["two well after say one", "three after two well after say one"]);
    // The new run stands for itself: its journal is read, and tells what it used of the other.
    let all = trefoil(&folder, &provider, &["runs", "list", "--output", "json"]).json();
    let new = all["runs"][0]["run"].as_str().unwrap().to_owned();
    assert_ne!(new, run);
    trefoil(&folder, &provider, &["runs", "events", &new]).exits(0);
    let exported = trefoil(&folder, &provider, &["runs", "export", &new]).exits(0).out.clone();
    assert!(exported.contains(&format!("\"basis\":{{\"run\":\"{run}\"")), "{exported}");
    trefoil(&folder, &provider, &["store", "check"]).exits(0);
}

#[test]
fn a_step_with_another_name_keeps_its_result() {
    let (folder, provider, run, before) = begun();
    let steps = [("uno", "x", "say one"), ("two", "{{uno}}", "two after {{text}}"), FIRST[2]];
    folder.write("edited.yaml", pipeline(&steps));
    let ran = trefoil(&folder, &provider, &["resume", &run, "--with", "edited.yaml"]);
    ran.exits(0).says(&["`uno` keeps its result: it was `one` before", "3 results of run"]);
    assert_eq!(provider.asked().len(), before, "nothing is asked again");
}

#[test]
fn from_a_step_on_everything_is_done_again() {
    let (folder, provider, run, before) = begun();
    let ran = trefoil(&folder, &provider, &["resume", &run, "--with", "main.yaml", "--from", "two", "--explain"]);
    ran.exits(0).says(&[" kept  one", "again  two  it is to be done again"]);
    assert_eq!(provider.asked()[before..], ["two after say one", "three after two after say one"]);
    let unknown = trefoil(&folder, &provider, &["resume", &run, "--with", "main.yaml", "--from", "tow"]);
    unknown.exits(2).says(&["the run has no step `tow`", "`one`, `three`, `two`"]);
    assert_eq!(provider.asked().len(), before + 2, "nothing was asked for that");
}

#[test]
fn placeholders_are_not_taken_for_answers() {
    let (folder, provider) = (Folder::new(), Provider::start());
    provider.hang(false);
    folder.write("main.yaml", pipeline(FIRST));
    trefoil(&folder, &provider, &["run", "main.yaml", "--model", "embedded"]).exits(0);
    let run = only(&folder, &provider);
    trefoil(&folder, &provider, &["resume", &run, "--with", "main.yaml"]).exits(0).says(&["3 results of run"]);
    trefoil(&folder, &provider, &["resume", &run, "--with", "main.yaml", "--model", "openai:m"]).exits(0);
    assert_eq!(provider.asked().len(), 3, "a model is asked for each of them");
}

/// A second process that ends in the middle leaves a run that goes on as if nothing had happened: it still knows the first one.
#[test]
fn an_edited_run_that_is_killed_still_pays_for_nothing_twice() {
    let (folder, provider, run, before) = begun();
    provider.hang(true);
    let steps = [("new", "x", "hang"), FIRST[0], FIRST[1], FIRST[2]];
    folder.write("edited.yaml", pipeline(&steps));
    let child = command(&folder, &provider, &["resume", &run, "--with", "edited.yaml"]).spawn().unwrap();
    until("the new call", || provider.asked().len() == before + 1);
    signal(&child, "-KILL");
    wait(child);
    provider.hang(false);
    let all = trefoil(&folder, &provider, &["runs", "list", "--output", "json"]).json();
    let new = all["runs"][0]["run"].as_str().unwrap().to_owned();
    trefoil(&folder, &provider, &["resume", &new]).exits(0);
    assert_eq!(provider.asked()[before..], ["hang", "hang"], "the call that was under way, and nothing else");
}

#[test]
fn what_must_not_be_done_twice_ends_the_run_unless_somebody_says_so() {
    let (folder, provider) = (Folder::new(), Provider::start());
    let workflow = |word: &str| {
        format!(
            "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata: {{ name: w, version: \"1.0.0\" }}\nspec:\n  initial_state: SEND\n  \
             states:\n    SEND:\n      kind: System\n      command: \"echo {word} >> sent.txt\"\n      transitions: []\n"
        )
    };
    folder.write("w.yaml", workflow("first"));
    let sent = || std::fs::read_to_string(folder.path().join("sent.txt")).unwrap_or_default();
    trefoil(&folder, &provider, &["run", "w.yaml", "--allow-command"]).exits(0);
    assert_eq!(sent(), "first\n");
    let run = only(&folder, &provider);
    folder.write("w.yaml", workflow("second"));
    let refused = trefoil(&folder, &provider, &["resume", &run, "--with", "w.yaml", "--allow-command"]);
    refused.exits(1).says(&["WOULD_REPEAT", "--rerun SEND"]);
    assert_eq!(sent(), "first\n");
    folder.write("w.yaml", workflow("first"));
    let from = ["resume", &run, "--with", "w.yaml", "--allow-command", "--from", "SEND"];
    trefoil(&folder, &provider, &from).exits(1).says(&["WOULD_REPEAT"]);
    assert_eq!(sent(), "first\n");
    folder.write("w.yaml", workflow("second"));
    let again = ["resume", &run, "--with", "w.yaml", "--allow-command", "--rerun", "SEND"];
    trefoil(&folder, &provider, &again).exits(0);
    assert_eq!(sent(), "first\nsecond\n");
}
