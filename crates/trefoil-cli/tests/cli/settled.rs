//! Questions and decisions that are settled although the run has not continued yet: answered, or too late to answer.

use std::process::Stdio;
use std::time::Duration;

use crate::durable::{signal, until};
use crate::world::{Folder, Ran, finish, wait};

const STORE: [&str; 2] = ["--store", "runs.db"];

fn trefoil(folder: &Folder, args: &[&str]) -> Ran {
    let mut command = folder.command(&[args, &STORE].concat());
    command.env_remove("TREFOIL_EPHEMERAL");
    finish(command)
}

/// A question, then a command.
fn ship(folder: &Folder, rest: &str, transitions: &str) {
    folder.write(
        "ship.yaml",
        format!(
            "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata: {{ name: ship, version: \"1.0.0\" }}\nspec:\n  \
             initial_state: ASK\n  states:\n    ASK:\n      kind: Human\n      prompt: Ship it?\n{rest}      transitions:\n{transitions}    \
             SHIP:\n      kind: System\n      command: printf 'shipped %s' {{{{ASK.response}}}}\n      transitions: []\n"
        ),
    );
}

const WORDS: &str =
    "        - { condition: input_equals_yes, target: SHIP }\n        - { condition: input_equals_no, target: SHIP }\n";
const ANY: &str = "        - { condition: always, target: SHIP }\n";

/// What each view says: the text, and the commands of `next`.
fn views(folder: &Folder) -> [(String, Vec<String>); 4] {
    let commands = |json: &serde_json::Value| -> Vec<String> {
        let next = json["next"].as_array().unwrap().iter();
        next.map(|next| next["command"].as_str().unwrap().to_owned()).collect()
    };
    let printed = |text: &str| -> Vec<String> {
        let lines = text.lines().filter_map(|line| line.find("trefoil r").map(|at| line[at..].to_owned()));
        lines.collect()
    };
    let (trace, show) = (trefoil(folder, &["trace", "last"]).out, trefoil(folder, &["runs", "show", "last"]).out);
    let json = trefoil(folder, &["trace", "last", "--json"]);
    let shown = trefoil(folder, &["runs", "show", "last", "--output", "json"]);
    trefoil(folder, &["trace", "last", "--html", "t.html"]).exits(0);
    let page = std::fs::read_to_string(folder.path().join("t.html")).unwrap();
    assert_eq!(page.contains("trefoil runs answer"), json.out.contains("trefoil runs answer"));
    [
        (trace.clone(), printed(&trace)),
        (show.clone(), printed(&show)),
        (json.out.clone(), commands(&json.json())),
        (shown.out.clone(), commands(&shown.json())),
    ]
}

#[test]
fn what_is_answered_is_not_asked_in_any_view() {
    let folder = Folder::new();
    ship(&folder, "", WORDS);
    trefoil(&folder, &["run", "ship.yaml", "-i", "x", "--allow-command"]).exits(75);
    for (text, commands) in views(&folder) {
        assert_eq!(commands.iter().filter(|command| command.contains("runs answer")).count(), 2, "{text}");
    }
    trefoil(&folder, &["runs", "answer", "last", "ASK", "yes"]).exits(0);
    for (text, commands) in views(&folder) {
        let is_answered = text.contains("(answered by ada, ") && text.contains(", from command line: yes)");
        assert!(is_answered && !text.contains("or the step fails"), "{text}");
        let [resume] = commands.as_slice() else { panic!("{commands:?}: {text}") };
        assert!(resume.starts_with("trefoil resume "), "{resume}");
    }
}

#[test]
fn an_answer_after_the_time_is_refused_and_the_step_fails_as_every_view_says() {
    for (rest, then) in [
        ("      timeout: 3s\n", "the step fails"),
        ("      timeout: 3s\n      default_response: \"no\"\n", "the answer is `no`"),
    ] {
        let folder = Folder::new();
        ship(&folder, rest, WORDS);
        let mut command = folder.command(&[&["run", "ship.yaml", "-i", "x", "--allow-command"], &STORE[..]].concat());
        command.env_remove("TREFOIL_EPHEMERAL").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn().unwrap();
        until("the question", || trefoil(&folder, &["runs", "show", "last"]).out.contains("answer by"));
        signal(&child, "-INT");
        wait(child).exits(130);
        std::thread::sleep(Duration::from_millis(3_000));
        let late = trefoil(&folder, &["runs", "answer", "last", "ASK", "yes"]);
        let missed = format!("; when the run continues, {then}");
        late.exits(2).says(&[
            "`ASK` cannot be answered any more: not answered by ",
            &missed,
            "to continue: trefoil resume",
        ]);
        for (text, commands) in views(&folder) {
            assert!(text.contains(&missed) && !text.contains("answer by 2"), "{text}");
            let [resume] = commands.as_slice() else { panic!("{commands:?}: {text}") };
            assert!(resume.starts_with("trefoil resume "), "{resume}");
        }
        let went_on = trefoil(&folder, &["resume", "last", "--allow-command"]);
        if then == "the step fails" {
            went_on.exits(1).says(&["HUMAN_TIMEOUT"]);
        } else {
            assert!(went_on.exits(0).out.contains("shipped no"), "{went_on:?}");
        }
    }
}

#[test]
fn a_printed_command_for_any_answer_asks_for_it_instead_of_naming_one() {
    let folder = Folder::new();
    ship(&folder, "", ANY);
    let ran = trefoil(&folder, &["run", "ship.yaml", "-i", "x", "--allow-command"]);
    ran.exits(75);
    assert!(!ran.err.contains("VALUE") && ran.err.contains(" ASK - --store "), "{}", ran.err);
    for (text, commands) in views(&folder) {
        assert!(commands.iter().any(|command| command.contains(" ASK - --store ")), "{text}");
    }
    let answer =
        |given: &str| folder.trefoil_with(&["runs", "answer", "last", "ASK", "-", "--store", "runs.db"], given);
    answer("").exits(2).says(&["the answer is empty"]);
    answer(" \n").exits(2).says(&["the answer is empty"]);
    answer("by air\n").exits(0);
    let went_on = trefoil(&folder, &["resume", "last", "--allow-command"]);
    assert!(went_on.exits(0).out.contains("shipped by air"), "{went_on:?}");
}

#[test]
fn each_answer_with_a_transition_of_its_own_has_a_command_and_any_other_one_too() {
    let folder = Folder::new();
    let own = "        - { condition: input_equals_yes, target: SHIP }\n        - { condition: input_equals_no, target: SHIP }\n";
    ship(&folder, "", &format!("{own}{ANY}"));
    let ran = trefoil(&folder, &["run", "ship.yaml", "-i", "x", "--allow-command"]);
    ran.exits(75).says(&[" ASK yes --store ", " ASK no --store ", " ASK - --store "]);
    for (text, commands) in views(&folder) {
        let of = |word: &str| commands.iter().any(|command| command.contains(&format!(" ASK {word} --store ")));
        assert!(of("yes") && of("no") && of("-"), "{text}");
    }
    let events = trefoil(&folder, &["runs", "events", "last"]);
    let asked = events.lines().into_iter().find(|event| event["event"] == "signal_wanted").unwrap();
    assert_eq!((&asked["choices"], asked.get("accepts")), (&serde_json::json!(["yes", "no"]), None));
    trefoil(&folder, &["runs", "answer", "last", "ASK", "by air"]).exits(0);
    let went_on = trefoil(&folder, &["resume", "last", "--allow-command"]);
    assert!(went_on.exits(0).out.contains("shipped by air"), "{went_on:?}");
}

#[test]
fn an_answer_to_a_run_that_has_ended_says_how_it_has_ended() {
    let folder = Folder::new();
    ship(&folder, "", WORDS);
    trefoil(&folder, &["run", "ship.yaml", "-i", "x", "--allow-command"]).exits(75);
    trefoil(&folder, &["runs", "cancel", "last"]).exits(0);
    let late = trefoil(&folder, &["runs", "answer", "last", "ASK", "yes"]);
    late.exits(2).says(&[
        "`ASK` is not asked any more, because run ",
        " has ended: cancelled\n",
        "`trefoil runs show ",
    ]);
}

#[test]
fn a_run_without_a_process_has_no_step_in_progress() {
    let folder = Folder::new();
    ship(&folder, "", WORDS);
    let show = || trefoil(&folder, &["runs", "show", "last"]).out;
    trefoil(&folder, &["run", "ship.yaml", "-i", "x", "--detach"]).exits(0);
    let text = show();
    assert!(text.contains("status   pending") && text.contains("· ASK") && !text.contains("interrupted"), "{text}");
    trefoil(&folder, &["run", "ship.yaml", "-i", "x", "--allow-command"]).exits(75);
    trefoil(&folder, &["runs", "answer", "last", "ASK", "yes"]).exits(0);
    // The process that continues it lacks the permission for the next step.
    trefoil(&folder, &["resume", "last"]).exits(75);
    let text = show();
    assert!(text.contains("status   waiting") && text.contains("? SHIP") && !text.contains('⠋'), "{text}");
}
