//! Runs that reuse answers of earlier runs; the provider counts the calls.
#![cfg(unix)]

use crate::durable::{command, signal, trefoil, until};
use crate::edited::{newest, pipeline};
use crate::provider::Provider;
use crate::world::{Folder, Ran, wait};

const STEPS: &[(&str, &str, &str)] = &[("one", "x", "say one"), ("two", "{{one}}", "two after {{text}}")];

fn world(steps: &[(&str, &str, &str)]) -> (Folder, Provider) {
    let (folder, provider) = (Folder::new(), Provider::start());
    provider.hang(false);
    folder.write("main.yaml", pipeline(steps));
    (folder, provider)
}

/// Runs a file with answers of earlier runs. Returns the requests that were made.
fn reuse(folder: &Folder, provider: &Provider, args: &[&str]) -> (Ran, Vec<String>) {
    let before = provider.asked().len();
    let ran = trefoil(folder, provider, &[&["run"], args].concat());
    (ran, provider.asked()[before..].to_vec())
}

#[test]
fn what_was_answered_before_in_any_run_is_not_asked_again() {
    let (folder, provider) = world(STEPS);
    let (first, asked) = reuse(&folder, &provider, &["main.yaml", "--reuse"]);
    first.exits(0).says(&["note: no answers of earlier runs reused, 2 model calls made"]);
    assert_eq!(asked.len(), 2, "there is nothing to use");
    let run = newest(&folder, &provider);
    // Another flow, whose step has another name.
    folder.write("other.yaml", pipeline(&[("uno", "x", "say one"), ("three", "{{uno}}", "three after {{text}}")]));
    let (second, asked) = reuse(&folder, &provider, &["other.yaml", "--reuse"]);
    second.exits(0).says(&["note: 1 answer of earlier runs reused (saved 13 tokens, $?), 1 model call made"]);
    assert_eq!(asked, ["three after say one"]);
    assert_eq!(second.out, "three after say one\n");
    let new = newest(&folder, &provider);
    let verified = trefoil(&folder, &provider, &["replay", &new]);
    assert!(verified.exits(0).out.contains(&format!("kept      1 result of run {run}\n")), "{verified:?}");
    // Without the option, nothing is reused.
    assert_eq!(reuse(&folder, &provider, &["main.yaml"]).1.len(), 2);
    let (other, asked) = reuse(&folder, &provider, &["main.yaml", "--model", "openai:m-large", "--reuse"]);
    other.exits(0);
    assert_eq!(asked.len(), 2, "another model is another question");
    trefoil(&folder, &provider, &["store", "check"]).exits(0);
}

#[test]
fn answers_that_are_used_are_no_calls_for_a_limit() {
    let (folder, provider) = world(STEPS);
    trefoil(&folder, &provider, &["run", "main.yaml"]).exits(0);
    folder.write("main.yaml", pipeline(&[("new", "x", "say more"), STEPS[0], STEPS[1]]));
    let (ran, asked) = reuse(&folder, &provider, &["main.yaml", "--max-calls", "1", "--reuse"]);
    ran.exits(0).says(&["2 answers of earlier runs reused", "1 model call made"]);
    assert_eq!(asked, ["say more"]);
    // What it has no answer to is a call.
    folder.write(
        "main.yaml",
        pipeline(&[("new", "x", "say most"), STEPS[0], ("two", "{{one}}", "two well after {{text}}")]),
    );
    let (ran, asked) = reuse(&folder, &provider, &["main.yaml", "--max-calls", "1", "--reuse"]);
    ran.exits(75).says(&["waiting: stopped before", "1 of 1 calls made, and 1 more is needed"]);
    assert_eq!(asked, ["say most"]);
}

#[test]
fn of_one_run_only_its_answers_are_used() {
    let (folder, provider) = world(STEPS);
    trefoil(&folder, &provider, &["run", "main.yaml"]).exits(0);
    let first = newest(&folder, &provider);
    folder.write("other.yaml", pipeline(&[("one", "x", "say something else")]));
    trefoil(&folder, &provider, &["run", "other.yaml"]).exits(0);
    let other = newest(&folder, &provider);
    let (ran, asked) = reuse(&folder, &provider, &["main.yaml", &format!("--reuse={}", &first[..8])]);
    ran.exits(0).says(&["note: 2 answers of earlier runs reused (saved 26 tokens, $?), no calls made"]);
    assert_eq!(asked, Vec::<String>::new());
    assert_eq!(reuse(&folder, &provider, &["main.yaml", &format!("--reuse={other}")]).1.len(), 2);
    let (unknown, asked) = reuse(&folder, &provider, &["main.yaml", "--reuse=nothing"]);
    unknown.silent(2).says(&["unknown run `nothing`"]);
    assert_eq!(asked, Vec::<String>::new());
}

/// Two equal requests get two answers: an answer is used only once, even if several runs have it.
#[test]
fn an_answer_is_used_once() {
    let (folder, provider) = world(&[("one", "x", "say one")]);
    trefoil(&folder, &provider, &["run", "main.yaml"]).exits(0);
    reuse(&folder, &provider, &["main.yaml", "--reuse"]).0.exits(0);
    reuse(&folder, &provider, &["main.yaml", "--reuse"]).0.exits(0);
    folder.write("main.yaml", pipeline(&[("one", "x", "say one"), ("two", "x", "say one"), ("three", "x", "say one")]));
    let (ran, asked) = reuse(&folder, &provider, &["main.yaml", "--reuse"]);
    ran.exits(0).says(&["1 answer of earlier runs reused", "2 model calls made"]);
    assert_eq!(asked, ["say one", "say one"], "three runs have one answer");
}

#[test]
fn placeholders_and_runs_without_content_have_no_answers() {
    let (folder, provider) = world(STEPS);
    trefoil(&folder, &provider, &["run", "main.yaml", "--model", "embedded"]).exits(0);
    trefoil(&folder, &provider, &["run", "main.yaml", "--no-content"]).exits(0);
    let asked = reuse(&folder, &provider, &["main.yaml", "--reuse"]).1;
    assert_eq!(asked.len(), 2);
    let (own, asked) = reuse(&folder, &provider, &["main.yaml", "--model", "embedded", "--reuse"]);
    own.exits(0).says(&["2 answers of earlier runs reused"]);
    assert_eq!(asked, Vec::<String>::new());
    let (both, _) = reuse(&folder, &provider, &["main.yaml", "--reuse", "--ephemeral"]);
    both.silent(2);
}

/// Answers of runs that were killed are reused, too, and a run that is killed keeps its reused answers when it is
/// resumed.
#[test]
fn a_run_that_was_killed_is_used_and_uses_what_it_did() {
    let (folder, provider) = world(&[("one", "x", "say one"), ("two", "y", "hang")]);
    provider.hang(true);
    for args in [["run", "main.yaml"].as_slice(), &["run", "main.yaml", "--reuse"]] {
        let before = provider.asked().iter().filter(|one| *one == "hang").count();
        let child = command(&folder, &provider, args).spawn().unwrap();
        until("the second call", || provider.asked().iter().filter(|one| *one == "hang").count() > before);
        signal(&child, "-KILL");
        wait(child);
    }
    assert_eq!(provider.asked(), ["say one", "hang", "hang"]);
    provider.hang(false);
    trefoil(&folder, &provider, &["resume", &newest(&folder, &provider)]).exits(0);
    assert_eq!(provider.asked(), ["say one", "hang", "hang", "hang"]);
    trefoil(&folder, &provider, &["replay", &newest(&folder, &provider)]).exits(0);
}

#[test]
fn commands_are_run_and_people_are_asked_as_ever() {
    let (folder, provider) = (Folder::new(), Provider::start());
    folder.write(
        "w.yaml",
        "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata: { name: w, version: \"1.0.0\" }\nspec:\n  initial_state: SEND\n  \
         states:\n    SEND:\n      kind: System\n      command: \"echo sent >> sent.txt\"\n      transitions: []\n",
    );
    for _ in 0..2 {
        trefoil(&folder, &provider, &["run", "w.yaml", "--allow-command", "--reuse"]).exits(0);
    }
    assert_eq!(std::fs::read_to_string(folder.path().join("sent.txt")).unwrap(), "sent\nsent\n");
}
