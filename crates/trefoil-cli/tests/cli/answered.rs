//! Who gave an answer, from where and when, in every view of a run.

use std::process::Command;

use serde_json::Value;

use crate::durable::{signal, until};
use crate::mcp::{connect, flows, generations, text};
use crate::terminal::Screen;
use crate::world::{Folder, Ran, finish, wait};

const GATE: &str = "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata: { name: gate, version: \"1.0.0\" }\nspec:\n  \
    initial_state: ASK\n  states:\n    ASK:\n      kind: Human\n      prompt: Ship it?\n      transitions:\n        \
    - { condition: input_equals_yes, target: WHERE }\n        - { condition: input_equals_no, target: WHERE }\n    WHERE:\n      \
    kind: Human\n      prompt: Where?\n      transitions: []\n";

fn gate() -> Folder {
    let folder = Folder::new();
    folder.write("gate.yaml", GATE);
    folder
}

fn command(folder: &Folder, args: &[&str]) -> Command {
    let mut command = folder.command(&[args, &["--store", "runs.db"]].concat());
    command.env_remove("TREFOIL_EPHEMERAL");
    command
}

fn trefoil(folder: &Folder, args: &[&str]) -> Ran {
    finish(command(folder, args))
}

/// The name and the origin of each receipt in the events of the last run.
fn receipts(folder: &Folder) -> Vec<(String, String)> {
    let events = trefoil(folder, &["runs", "events", "last"]).lines();
    let receipts = events.iter().filter_map(|event| event.get("given_by"));
    receipts.map(|receipt| (word(receipt, "name"), word(receipt, "origin"))).collect()
}

fn word(receipt: &Value, member: &str) -> String {
    receipt[member].as_str().unwrap().to_owned()
}

/// Times are written like this, with digits for the letters.
fn timeless(text: &str) -> String {
    let moment = regex::Regex::new(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(\.\d+)?Z").unwrap();
    moment.replace_all(text, "TIME").into_owned()
}

#[test]
fn every_view_says_who_answered_when_and_from_where() {
    let folder = gate();
    trefoil(&folder, &["run", "gate.yaml", "-i", "x", "--answer", "WHERE=here"]).exits(75);
    trefoil(&folder, &["runs", "answer", "last", "ASK", "Yes"]).exits(0);
    // Before the run continues, and to whoever comes second.
    let waiting = "`ASK` asks: Ship it? (answered by ada, TIME, from command line: yes)";
    assert!(timeless(&trefoil(&folder, &["runs", "show", "last"]).out).contains(waiting));
    assert!(timeless(&trefoil(&folder, &["trace", "last"]).out).contains(waiting));
    let json = trefoil(&folder, &["runs", "list", "--output", "json"]).json();
    assert_eq!(word(&json["runs"][0]["waiting"][0]["given_by"], "name"), "ada");
    let mut second = command(&folder, &["runs", "answer", "last", "ASK", "no"]);
    second.env("LOGNAME", "bo");
    let refused = finish(second);
    assert!(
        timeless(&refused.exits(2).err)
            .contains("`ASK` is already answered with `yes`, by ada, TIME, from command line"),
        "{}",
        refused.err
    );
    trefoil(&folder, &["resume", "last", "--answer", "WHERE=here"]).exits(0);

    let shown = timeless(&trefoil(&folder, &["runs", "show", "last"]).out);
    assert!(shown.contains("\nanswered ASK: yes (by ada, TIME, from command line)\n"), "{shown}");
    assert!(shown.contains("\nanswered WHERE: here (by ada, TIME, given before the run)\n"), "{shown}");
    let ada = |origin: &str| ("ada".to_owned(), origin.to_owned());
    assert_eq!(receipts(&folder), [ada("command line"), ada("given before the run")]);
    let json = trefoil(&folder, &["runs", "show", "last", "--output", "json"]).json();
    let steps = json["steps"].as_array().unwrap();
    let asked = steps.iter().find(|step| step["label"] == "ASK").unwrap();
    assert_eq!(word(&asked["given_by"], "origin"), "command line");
    let step = timeless(&trefoil(&folder, &["trace", "last", "--step", "ASK"]).out);
    assert!(step.contains("answered by ada, TIME, from command line"), "{step}");

    let trace = trefoil(&folder, &["trace", "last", "--json"]).json();
    let schema = folder.trefoil(&["schema", "trace-output"]).json();
    jsonschema::draft202012::new(&schema).unwrap().validate(&trace).unwrap();
    let all = trace["steps"].as_array().unwrap().iter().flat_map(|step| step["calls"].as_array().unwrap());
    let names: Vec<_> = all.filter_map(|call| call.get("given_by")).map(|receipt| word(receipt, "name")).collect();
    assert_eq!(names, ["ada", "ada"]);
    trefoil(&folder, &["trace", "last", "--html", "t.html"]).exits(0);
    let page = std::fs::read_to_string(folder.path().join("t.html")).unwrap();
    assert!(page.contains("\"given_by\":{\"name\":\"ada\",\"origin\":\"command line\""));
    // The journal is that of a run that can be verified.
    trefoil(&folder, &["replay", "last"]).exits(0);
}

#[test]
fn what_is_typed_comes_from_the_terminal() {
    let folder = gate();
    let screen = Screen::of(command(&folder, &["run", "gate.yaml", "-i", "x"]), 90);
    screen.waits_for("(yes/no)> ").types("no\n").waits_for("Where?").types("there\n");
    let (code, seen) = screen.ends();
    assert_eq!(code, 0, "{seen}");
    let terminal = || ("ada".to_owned(), "terminal".to_owned());
    assert_eq!(receipts(&folder), [terminal(), terminal()]);
}

#[test]
fn a_name_is_shown_as_text_and_cut_off() {
    let folder = gate();
    trefoil(&folder, &["run", "gate.yaml", "-i", "x"]).exits(75);
    let mut answer = command(&folder, &["runs", "answer", "last", "ASK", "yes"]);
    answer.env("LOGNAME", format!("\u{1b}[2J\u{202e}eve\n<script>{}", "x".repeat(10_000)));
    finish(answer).exits(0);
    for views in [false, true] {
        if views {
            trefoil(&folder, &["resume", "last"]).exits(75);
        }
        for args in
            [&["runs", "show", "last"][..], &["trace", "last"], &["trace", "last", "--step", "ASK"], &["runs", "list"]]
        {
            let ran = trefoil(&folder, args);
            for forbidden in ['\u{1b}', '\u{202e}'] {
                assert!(!ran.out.contains(forbidden) && !ran.err.contains(forbidden), "{args:?}: {}", ran.out);
            }
        }
    }
    let [(name, _)] = &receipts(&folder)[..] else { panic!() };
    assert!(name.contains("eve") && name.chars().count() < 250, "{name}");
}

#[test]
fn a_decision_about_an_unknown_outcome_names_who_made_it() {
    let folder = Folder::new();
    folder.write(
        "pay.yaml",
        "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata: { name: pay, version: \"1.0.0\" }\nspec:\n  \
         initial_state: PAY\n  states:\n    PAY:\n      kind: System\n      command: touch begun && sleep 600\n      transitions: []\n",
    );
    let run = command(&folder, &["run", "pay.yaml", "-i", "x", "--allow-command"])
        .current_dir(folder.path())
        .spawn()
        .unwrap();
    until("the command", || folder.path().join("begun").exists());
    signal(&run, "-KILL");
    wait(run);
    trefoil(&folder, &["resume", "last", "--allow-command"]).exits(75);
    trefoil(&folder, &["runs", "answer", "last", "PAY", "done", "--result", "paid"]).exits(0);
    let waiting = timeless(&trefoil(&folder, &["runs", "show", "last"]).out);
    assert!(waiting.contains("decided by ada, TIME, from command line: "), "{waiting}");
    trefoil(&folder, &["resume", "last", "--allow-command"]).exits(0);
    let shown = timeless(&trefoil(&folder, &["runs", "show", "last"]).out);
    assert!(shown.contains("\ndecided  PAY: done (by ada, TIME, from command line)\n"), "{shown}");
    assert_eq!(receipts(&folder), [("ada".to_owned(), "command line".to_owned())]);
}

#[tokio::test]
async fn an_mcp_client_answers_by_its_name() {
    let folder = flows();
    for generation in generations() {
        let client = connect(&folder, generation, rmcp::model::ElicitationAction::Accept).await;
        let said = client.call("asks", serde_json::json!({ "message": "the release" })).await;
        assert_eq!(said.is_error, Some(false), "{}", text(&said));
        client.leave().await;
        assert_eq!(receipts(&folder), [("tests".to_owned(), "mcp".to_owned())]);
    }
}
