//! The commands that are printed about a stored run: they name the permissions that the run had, and do what they say.

use crate::world::{Folder, Ran, finish};

/// A question, then a command.
const FLOW: &str = "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata: { name: ship, version: \"1.0.0\" }\nspec:\n  \
    initial_state: ASK\n  states:\n    ASK:\n      kind: Human\n      prompt: Ship it?\n      transitions:\n        \
    - { condition: input_equals_yes, target: SHIP }\n        - { condition: input_equals_no, target: SHIP }\n    SHIP:\n      \
    kind: System\n      command: printf shipped\n      transitions: []\n";

fn trefoil(folder: &Folder, args: &[&str]) -> Ran {
    let mut command = folder.command(args);
    command.env_remove("TREFOIL_EPHEMERAL");
    finish(command)
}

/// The printed command that begins so, as its words.
fn printed(said: &str, beginning: &str) -> Vec<String> {
    let line = said.lines().find_map(|line| line.find(beginning).map(|at| &line[at..]));
    let line = line.unwrap_or_else(|| panic!("no `{beginning}` in {said}"));
    line.split_whitespace().skip(1).map(|word| word.trim_matches(['\'', '`']).to_owned()).collect()
}

#[test]
fn every_printed_command_has_the_permissions_that_the_run_had() {
    let given: [&[&str]; 3] = [
        &["--allow-command"],
        &["--allow-command", "--allow-host", "127.0.0.1:8931"],
        &["--allow-command", "--allow-host", "10.0.0.0/8", "--allow-host", "*.example.org"],
    ];
    for given in given {
        let folder = Folder::new();
        folder.write("ship.yaml", FLOW);
        let stored = ["--store", "runs.db"];
        let started = trefoil(&folder, &[&["run", "ship.yaml", "-i", "x"], &stored[..], given].concat());
        started.exits(75);
        let list = trefoil(&folder, &["runs", "list", "--store", "runs.db", "--output", "json"]).json();
        let run = list["runs"][0]["run"].as_str().unwrap().to_owned();
        let resume = format!("trefoil resume {run}");
        let wanted: Vec<String> =
            [&["resume", &run, "--store", "runs.db"], given].concat().iter().map(|word| (*word).to_owned()).collect();
        // After the question, while it waits, when it is answered, and when somebody answers again.
        let shown = trefoil(&folder, &["runs", "show", &run, "--store", "runs.db"]);
        let yes = printed(&started.err, "trefoil runs answer");
        let yes: Vec<&str> = yes.iter().map(String::as_str).collect();
        let answered = trefoil(&folder, &yes);
        let again = trefoil(&folder, &yes);
        let ready = trefoil(&folder, &["runs", "show", &run, "--store", "runs.db"]);
        answered.exits(0);
        for said in [&started.err, &shown.out, &answered.err, &again.err, &ready.out] {
            assert_eq!(printed(said, &resume), wanted, "{said}");
        }
        // A process without them stops, and says what the run had before; the record grants nothing.
        let without = trefoil(&folder, &["resume", &run, "--store", "runs.db"]);
        assert!(without.code != 0 && !without.out.contains("shipped"), "{without:?}");
        assert_eq!(printed(&without.err, &resume), wanted, "{}", without.err);
        // What is printed does what it says, in the state in which it was printed.
        let words = printed(&without.err, &resume);
        let ended = trefoil(&folder, &words.iter().map(String::as_str).collect::<Vec<_>>());
        assert!(ended.code == 0 && ended.out.contains("shipped"), "{ended:?}");
    }
}

#[test]
fn the_json_of_a_run_has_its_steps_and_its_result() {
    let folder = Folder::new();
    folder.write("ship.yaml", FLOW);
    let args = ["run", "ship.yaml", "-i", "x", "--allow-command", "--answer", "ASK=yes", "--store", "runs.db"];
    trefoil(&folder, &args).exits(0);
    let list = trefoil(&folder, &["runs", "list", "--store", "runs.db", "--output", "json"]).json();
    let run = list["runs"][0]["run"].as_str().unwrap().to_owned();
    let json = trefoil(&folder, &["runs", "show", &run, "--store", "runs.db", "--output", "json"]).json();
    let steps = json["steps"].as_array().unwrap();
    let labels: Vec<&str> = steps.iter().map(|step| step["label"].as_str().unwrap()).collect();
    assert_eq!((labels, json["status"].as_str()), (vec!["ASK", "SHIP"], Some("completed")), "{json:#}");
    assert!(steps.iter().all(|step| step["status"] == "done" && step.get("calls").is_none()), "{json:#}");
    let resumed = trefoil(&folder, &["resume", &run, "--store", "runs.db", "--output", "json", "-q"]).json();
    assert_eq!(json["result"], resumed);
}
