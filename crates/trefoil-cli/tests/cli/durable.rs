//! Runs that outlive their process, with the real binary: killed, stopped, answered later.
#![cfg(unix)]

use std::process::{Child, Command};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::provider::{KEY, Provider};
use crate::world::{Folder, Ran, finish, wait};

pub fn world() -> Folder {
    let folder = Folder::new();
    folder.write(
        "main.yaml",
        "id: main\nkind: sequential\nsteps:\n  - ref: first\n  - ref: second\n    input: { text: '{{first}}' }\n",
    );
    let agent = |id: &str, prompt: &str| {
        format!("id: {id}\nkind: llm\nmodel: {{ provider: openai, name: m }}\ninstruction: I.\nprompt: '{prompt}'\n")
    };
    folder.write("first.yaml", agent("first", "one"));
    folder.write("second.yaml", format!("{}inputSchema: {{ text: string }}\n", agent("second", "{{text}} hang")));
    folder
}

pub fn command(folder: &Folder, provider: &Provider, args: &[&str]) -> Command {
    let mut command = folder.command(args);
    command.env_remove("TREFOIL_EPHEMERAL").env("TREFOIL_STORE", folder.path().join("runs.db"));
    command.env("OPENAI_API_KEY", KEY).env("OPENAI_BASE_URL", provider.address());
    command
}

pub fn trefoil(folder: &Folder, provider: &Provider, args: &[&str]) -> Ran {
    finish(command(folder, provider, args))
}

pub fn until(what: &str, is_so: impl Fn() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < Duration::from_secs(60), "{what} did not happen");
        std::thread::sleep(Duration::from_millis(5));
    }
}

pub fn signal(child: &Child, signal: &str) {
    assert!(Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap().success());
}

/// The id of the only run.
pub fn only(folder: &Folder, provider: &Provider) -> String {
    let listed = trefoil(folder, provider, &["runs", "list", "--output", "json"]).json();
    let [run] = listed["runs"].as_array().unwrap().as_slice() else { panic!("{listed}") };
    run["run"].as_str().unwrap().to_owned()
}

#[test]
fn a_run_whose_process_was_killed_continues_and_pays_for_nothing_twice() {
    let provider = Provider::start();
    let folder = world();
    let child = command(&folder, &provider, &["run", "main.yaml"]).spawn().unwrap();
    until("the second call", || provider.asked().len() == 2);
    signal(&child, "-KILL");
    assert_eq!(wait(child).code, -1);
    let run = only(&folder, &provider);
    // The run has no owner, and the usage of the call in progress is unknown, even before the run is resumed.
    let interrupted =
        trefoil(&folder, &provider, &["runs", "list", "--status", "interrupted", "--output", "json"]).json();
    let unknown = json!({ "input_tokens": 10, "output_tokens": 3, "unknown_calls": 1, "unpriced_calls": 2 });
    let left = &interrupted["runs"][0];
    assert_eq!((&left["run"], &left["calls"], &left["usage"]), (&json!(run), &json!(2), &unknown));
    let shown = trefoil(&folder, &provider, &["runs", "show", &run]);
    assert!(shown.exits(0).out.contains("status   interrupted\n") && shown.out.contains("10+? tokens in"), "{shown:?}");
    trefoil(&folder, &provider, &["runs", "list", "--status", "running"]).silent(0).says(&["no runs"]);
    trefoil(&folder, &provider, &["store", "check"]).exits(0);
    provider.hang(false);
    // Immediately: the lease of a process that has ended need not expire.
    let resumed = trefoil(&folder, &provider, &["resume", "--all", "--trace", "t.json"]);
    resumed.exits(0);
    assert_eq!(resumed.out, "one hang\n");
    // The kept steps, the resume, and the steps that ran afterwards, each once.
    let told: Vec<&str> = resumed
        .err
        .lines()
        .filter(|line| ["first", "second", "resumed"].iter().any(|word| line.contains(word)))
        .collect();
    let [kept, now, called, done] = told.as_slice() else { panic!("{resumed:?}") };
    assert!(kept.starts_with("     kept  ✓ first ") && now.ends_with(" ↻ resumed"), "{resumed:?}");
    assert!(called.contains("… second ") && done.contains("✓ second "), "{resumed:?}");
    assert_eq!(provider.asked(), ["one", "one hang", "one hang"], "the first call is not made again");
    let shown = trefoil(&folder, &provider, &["runs", "show", &run[..6], "--output", "json"]).json();
    assert_eq!((&shown["status"], &shown["calls"]), (&json!("completed"), &json!(3)));
    // The trace starts at the start of the run, to the second.
    let trace: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(folder.path().join("t.json")).unwrap()).unwrap();
    let at = |time: &serde_json::Value| humantime::parse_rfc3339(time.as_str().unwrap()).unwrap();
    let (traced, began) = (at(&trace["started_at"]), at(&shown["started"]));
    let apart = traced.duration_since(began).unwrap_or_else(|error| error.duration());
    assert!(apart < Duration::from_millis(500), "{trace}");
    assert_eq!(
        shown["usage"],
        json!({ "input_tokens": 20, "output_tokens": 6, "unknown_calls": 1, "unpriced_calls": 3 })
    );
    let kept = std::fs::read(folder.path().join("runs.db")).unwrap();
    assert!(!kept.windows(KEY.len()).any(|bytes| bytes == KEY.as_bytes()), "a key in the store");
}

#[test]
fn ctrl_c_leaves_a_run_that_can_continue_and_says_how() {
    let provider = Provider::start();
    let folder = world();
    let child = command(&folder, &provider, &["run", "main.yaml"]).spawn().unwrap();
    until("the second call", || provider.asked().len() == 2);
    signal(&child, "-INT");
    let stopped = wait(child);
    let run = only(&folder, &provider);
    stopped.silent(130).says(&[&format!("run {run}"), "interrupted", &format!("to continue: trefoil resume {run}")]);
    // The usage of the call in progress is unknown, in the output and in the record.
    stopped.says(&["spent: 2 calls, 10+? tokens in, 3+? out, $?, "]);
    let shown = trefoil(&folder, &provider, &["runs", "show", &run]);
    assert!(shown.exits(0).out.contains("used     2 calls, 10+? tokens in, 3+? out, $?\n"), "{shown:?}");
    provider.hang(false);
    let resumed = trefoil(&folder, &provider, &["resume", "--all", "-q"]);
    resumed.exits(0);
    assert_eq!(resumed.out, "one hang\n");
    trefoil(&folder, &provider, &["resume", "--all"]).exits(0).says(&["no run can continue now"]);
    // A run that has ended is not shown as if it ran again.
    let again = trefoil(&folder, &provider, &["resume", &run]);
    again.exits(0);
    assert_eq!(
        (again.out.as_str(), again.err.as_str()),
        ("one hang\n", &*format!("note: run {run} has ended: completed\n"))
    );
    let events = trefoil(&folder, &provider, &["resume", &run, "--events", "jsonl", "-q"]).lines();
    assert_eq!((events.len(), &events[0]["event"]), (1, &json!("run_finished")));
    assert_eq!(provider.asked().len(), 3);
}

pub const GATE: &str = "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata: { name: gate }\nspec:\n  initial_state: ASK\n  \
                    states:\n    ASK:\n      kind: Human\n      prompt: Ship it?\n      transitions:\n        - condition: \
                    input_equals_yes\n          target: SHIP\n        - condition: input_equals_no\n          target: STOP\n    \
                    SHIP:\n      kind: System\n      command: echo shipped\n      transitions: []\n    STOP:\n      kind: \
                    System\n      command: echo stopped\n      transitions: []\n";

#[test]
fn a_question_waits_for_its_answer_and_only_takes_one_that_leads_on() {
    let provider = Provider::start();
    let folder = Folder::new();
    folder.write("gate.yaml", GATE);
    let gate = ["run", "gate.yaml", "--model", "embedded", "--allow-command"];
    let asked = trefoil(&folder, &provider, &gate);
    let run = only(&folder, &provider);
    asked.silent(75).says(&[
        "waiting: `ASK` asks: Ship it?",
        &format!("trefoil runs answer {run} ASK yes\n"),
        &format!("trefoil runs answer {run} ASK no\n"),
        &format!("then: trefoil resume {run}"),
    ]);
    trefoil(&folder, &provider, &["resume", &run, "--allow-command"]).silent(75);
    trefoil(&folder, &provider, &["runs", "answer", &run, "ASK", "perhaps"])
        .silent(2)
        .says(&["`ASK` does not accept `perhaps`", "answer with one of `yes`, `no`"]);
    trefoil(&folder, &provider, &["runs", "answer", &run, "WHO", "yes"]).silent(2).says(&["is not waiting for `WHO`"]);
    trefoil(&folder, &provider, &["runs", "answer", &run, "ASK", "YES"]).exits(0);
    let second = trefoil(&folder, &provider, &["runs", "answer", &run, "ASK", "no"]);
    second.silent(2).says(&["`ASK` is already answered with `yes`"]);
    let shown = trefoil(&folder, &provider, &["runs", "show", &run]);
    assert!(shown.exits(0).out.contains(", from command line: yes)"), "{shown:?}");
    let listed = trefoil(&folder, &provider, &["runs", "list", "--status", "waiting"]);
    assert!(listed.exits(0).out.contains(&run));
    let shipped = trefoil(&folder, &provider, &["resume", &run, "--allow-command"]);
    assert!(shipped.exits(0).out.contains("shipped"), "{shipped:?}");
    trefoil(&folder, &provider, &["runs", "cancel", &run]).silent(2).says(&["has ended"]);
    trefoil(&folder, &provider, &["runs", "delete", &run]).exits(0);
    trefoil(&folder, &provider, &["runs", "list"]).silent(0).says(&["no runs"]);
}

#[test]
fn an_answer_is_taken_when_any_transition_takes_it() {
    let provider = Provider::start();
    let folder = Folder::new();
    let to_stop = "- condition: input_equals_no\n          target: STOP\n";
    let or_words = "- condition: custom\n          expression: human.feedback\n          target: STOP\n";
    folder.write("gate.yaml", GATE.replace(to_stop, &format!("{to_stop}        {or_words}")));
    let gate = ["run", "gate.yaml", "--model", "embedded", "--allow-command"];
    for (answer, taken) in [("later", false), ("{\"feedback\": \"\"}", false), ("{\"feedback\": \"shorter\"}", true)] {
        trefoil(&folder, &provider, &gate).silent(75);
        let listed = trefoil(&folder, &provider, &["runs", "list", "--output", "json"]).json();
        let run = listed["runs"][0]["run"].as_str().unwrap();
        let answered = trefoil(&folder, &provider, &["runs", "answer", run, "ASK", answer]);
        if taken {
            answered.exits(0);
            let resumed = trefoil(&folder, &provider, &["resume", run, "--allow-command", "-q"]);
            assert!(resumed.exits(0).out.contains("stopped"), "{resumed:?}");
        } else {
            answered.silent(2).says(&["`ASK` does not accept", "answer with one of `yes`, `no`"]);
            trefoil(&folder, &provider, &["resume", run, "--allow-command", "-q"]).silent(75);
        }
    }
}

#[test]
fn a_run_that_is_continued_after_a_failure_ends_when_it_has_ended() {
    let provider = Provider::start();
    let folder = Folder::new();
    let agent = "id: a\nkind: llm\nmodel: { provider: openai, name: m }\ninstruction: I.\nprompt: fail\n";
    folder.write("a.yaml", agent);
    let mut run = command(&folder, &provider, &["run", "a.yaml"]);
    run.env("OPENAI_BASE_URL", "http://127.0.0.1:1/v1");
    finish(run).exits(1);
    let run = only(&folder, &provider);
    let times = || {
        let shown = trefoil(&folder, &provider, &["runs", "show", &run, "--output", "json"]).json();
        (shown["status"].as_str().unwrap().to_owned(), shown["ended"].as_str().unwrap().to_owned())
    };
    let (_, failed) = times();
    std::thread::sleep(Duration::from_millis(1_100));
    trefoil(&folder, &provider, &["resume", &run, "--model", "embedded"]).exits(0);
    let (status, ended) = times();
    assert_eq!(status, "completed");
    // Times in RFC 3339 format can be compared as texts.
    assert!(ended > failed && ended[..19] > failed[..19], "{failed}, then {ended}");
}

/// From its own folder, the path of a run's folder is empty.
#[test]
fn a_run_of_the_current_folder_goes_on_with_its_files() {
    let provider = Provider::start();
    let folder = world();
    folder.write("script.yaml", "answers:\n  first: one\n  second: { error: { status: 400 } }\n");
    for target in [".", "./", ".#main"] {
        trefoil(&folder, &provider, &["run", target, "--model", "scripted=script.yaml"]).exits(1);
        let gone_on = trefoil(&folder, &provider, &["resume", "last", "--model", "embedded"]);
        gone_on.exits(0);
        assert!(!gone_on.err.contains("only your own settings"), "{target}: {}", gone_on.err);
        assert!(!gone_on.err.contains("changed"), "{target}: {}", gone_on.err);
    }
}

#[test]
fn limits_can_be_changed_when_a_run_goes_on_and_hold_over_every_crash() {
    let provider = Provider::start();
    let folder = world();
    folder.write("config/config.toml", PRICES);
    let limited = ["run", "main.yaml", "--max-calls", "2"];
    let child = priced(&folder, &provider, &limited).spawn().unwrap();
    until("the second call", || provider.asked().len() == 2);
    signal(&child, "-KILL");
    wait(child);
    let run = only(&folder, &provider);
    // With one more call allowed, it is called again, and lost again.
    let child = priced(&folder, &provider, &["resume", &run, "--max-calls", "3"]).spawn().unwrap();
    until("the third call", || provider.asked().len() == 3);
    signal(&child, "-KILL");
    wait(child);
    provider.hang(false);
    let refused = finish(priced(&folder, &provider, &["resume", &run]));
    refused.exits(1).says(&["BUDGET_EXCEEDED", "3 of 3 model calls used"]);
    assert_eq!(provider.asked().len(), 3, "no call beyond the limit");
    let exported = trefoil(&folder, &provider, &["runs", "export", &run]).lines();
    let changed = exported.iter().find_map(|entry| entry["entry"]["resumed"]["changes"].as_object());
    assert_eq!(json!(changed), json!({ "max_calls": 3 }));
}

#[test]
fn a_run_that_another_model_goes_on_with_costs_what_that_model_costs() {
    let provider = Provider::start();
    let folder = world();
    folder.write("config/config.toml", PRICES);
    let child = priced(&folder, &provider, &["run", "main.yaml"]).spawn().unwrap();
    until("the second call", || provider.asked().len() == 2);
    signal(&child, "-KILL");
    wait(child);
    let run = only(&folder, &provider);
    finish(priced(&folder, &provider, &["resume", &run, "--model", "embedded"])).exits(0);
    let shown = trefoil(&folder, &provider, &["runs", "show", &run, "--output", "json"]).json();
    assert_eq!((&shown["usage"]["cost_micro"], &shown["usage"]["unpriced_calls"]), (&json!(16_000), &json!(1)));
}

#[test]
fn who_answers_when_a_run_goes_on_answers_from_then_on() {
    let asks = "version: \"0.1\"\nagents:\n  writer: { model: \"openai:m\", system: \"draft and hang\" }\n  \
                publisher: { model: \"openai:m\", system: \"publish because {{ approve.output }}\" }\nnodes:\n  \
                draft: { agent: writer, writes: output.draft }\n  \
                approve: { type: human, prompt: \"May it?\", writes: output.approved }\n  \
                publish: { agent: publisher, writes: output.published }\nedges:\n  - { from: draft, to: approve }\n  \
                - { from: approve, to: publish }\ninput:\n  message: go\n";
    // Chosen models are part of the program, wherever they are chosen.
    for named in [&[][..], &["--model", "openai:other"]] {
        let provider = Provider::start();
        let folder = Folder::new();
        folder.write("flow.yaml", asks);
        let child = command(&folder, &provider, &[&["run", "flow.yaml"], named].concat()).spawn().unwrap();
        until("the call", || provider.asked().len() == 1);
        signal(&child, "-KILL");
        wait(child);
        let run = only(&folder, &provider);
        let other = trefoil(&folder, &provider, &["resume", &run, "--model", "openai:another"]);
        other.silent(2).says(&["cannot continue with models other than its original ones", "--model embedded"]);
        let kept = trefoil(&folder, &provider, &["runs", "export", &run]).lines().len();
        assert_eq!(kept, 2, "nothing has happened");
        trefoil(&folder, &provider, &["resume", &run, "--model", "embedded"]).exits(75);
        trefoil(&folder, &provider, &["runs", "answer", &run, "approve", "yes"]).exits(0);
        let ended = trefoil(&folder, &provider, &["resume", &run, "--output", "json"]);
        assert!(ended.exits(0).json()["published"].as_str().unwrap().starts_with("[embedded]"), "{ended:?}");
        assert_eq!(provider.asked().len(), 1);
        trefoil(&folder, &provider, &["runs", "events", &run]).exits(0);
    }
}

#[test]
fn a_run_that_failed_goes_on_from_the_step_that_failed() {
    let provider = Provider::start();
    let folder = Folder::new();
    let state = |name: &str, command: &str, next: &str| {
        format!("    {name}:\n      kind: System\n      command: {command}\n      transitions: {next}\n")
    };
    folder.write(
        "deploy.yaml",
        "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata: { name: deploy }\nspec:\n  initial_state: BUILD\n  states:\n"
            .to_owned()
            + &state("BUILD", "echo built >> built", "[{ condition: always, target: SHIP }]")
            + &state("SHIP", "test -e key && cat built", "[]"),
    );
    let may = ["--model", "embedded", "--allow-command"];
    let failed = finish(command(&folder, &provider, &[&["run", "deploy.yaml"], &may[..]].concat()));
    let run = only(&folder, &provider);
    failed.exits(1).says(&["COMMAND_FAILED", &format!("to continue: trefoil resume {run}")]);
    let again = trefoil(&folder, &provider, &["resume", &run, "--allow-command"]);
    again.exits(1).says(&["COMMAND_FAILED"]);
    trefoil(&folder, &provider, &["resume", "--all"]).exits(0).says(&["no run can continue now"]);
    folder.write("key", "");
    let went_on = trefoil(&folder, &provider, &["resume", &run, "--allow-command", "--trace", "t.json"]);
    assert_eq!(went_on.exits(0).out.trim(), "built", "the first step was not run again");
    let shown = trefoil(&folder, &provider, &["runs", "show", &run, "--output", "json"]).json();
    assert_eq!((&shown["status"], &shown["error"]), (&json!("completed"), &json!(null)));
    trefoil(&folder, &provider, &["store", "check"]).exits(0);
    // The events and the trace contain everything: two failures, then the end.
    let events = trefoil(&folder, &provider, &["runs", "events", &run]).lines();
    let ends = events.iter().filter(|event| event["event"] == "run_finished").count();
    assert_eq!(ends, 3);
    let trace = std::fs::read_to_string(folder.path().join("t.json")).unwrap();
    let trace: serde_json::Value = serde_json::from_str(&trace).unwrap();
    assert_eq!((&trace["status"], &trace["error"]), (&json!("completed"), &json!(null)));
    // A run that can only fail in the same way is not resumed.
    let gone = folder.path().join("built");
    std::fs::remove_file(gone).unwrap();
    trefoil(&folder, &provider, &["runs", "cancel", &run]).silent(2).says(&["has ended"]);
}

#[test]
fn a_question_of_a_run_that_had_failed_before_takes_any_answer_that_leads_on() {
    let provider = Provider::start();
    let folder = Folder::new();
    folder.write(
        "ship.yaml",
        "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata: { name: ship }\nspec:\n  initial_state: SHIP\n  states:\n    \
         SHIP:\n      kind: System\n      command: test -e key && cat key\n      transitions: [{ condition: exit_code_zero, target: ASK }]\n    \
         ASK:\n      kind: Human\n      prompt: To whom?\n      transitions: [{ condition: always, target: DONE }]\n    \
         DONE:\n      kind: System\n      command: echo done\n      transitions: []\n",
    );
    let may = ["--model", "embedded", "--allow-command", "-q"];
    finish(command(&folder, &provider, &[&["run", "ship.yaml"], &may[..]].concat())).exits(1);
    let run = only(&folder, &provider);
    folder.write("key", "k");
    trefoil(&folder, &provider, &["resume", &run, "--allow-command"]).silent(75).says(&["To whom?"]);
    trefoil(&folder, &provider, &["runs", "answer", &run, "ASK", "the harbour"]).exits(0);
    trefoil(&folder, &provider, &["resume", &run, "--allow-command"]).exits(0);
}

#[test]
fn a_run_that_would_only_fail_again_is_not_continued() {
    let provider = Provider::start();
    let folder = Folder::new();
    folder.write(
        "loop.yaml",
        "id: loop\nkind: sequential\nsteps:\n  - agent: { id: one, kind: llm, model: { provider: openai, name: m }, instruction: I, \
         prompt: P }\nuntil: \"{{one}} == 'never'\"\nmaxIterations: 2\n",
    );
    let failed = trefoil(&folder, &provider, &["run", "loop.yaml", "--no-check"]);
    let run = only(&folder, &provider);
    failed.exits(1).says(&["MAX_ITERATIONS_EXCEEDED", &format!("stored as: trefoil runs show {run}")]);
    let refused = trefoil(&folder, &provider, &["resume", &run]);
    refused.exits(1).says(&["WOULD_REPEAT", "in a fork with `--from STEP --rerun STEP`"]);
    let shown = trefoil(&folder, &provider, &["runs", "show", &run, "--output", "json"]).json();
    assert_eq!((&shown["status"], &shown["error"]["code"]), (&json!("failed"), &json!("MAX_ITERATIONS_EXCEEDED")));
    assert_eq!(provider.asked().len(), 2);
}

#[test]
fn runs_can_be_cancelled_exported_and_told_again() {
    let provider = Provider::start();
    let folder = Folder::new();
    folder.write("gate.yaml", GATE);
    trefoil(&folder, &provider, &["run", "gate.yaml", "--model", "embedded", "--allow-command"]).exits(75);
    let run = only(&folder, &provider);
    trefoil(&folder, &provider, &["runs", "cancel", &run]).exits(0).says(&["cancelled"]);
    let shown = trefoil(&folder, &provider, &["runs", "show", &run, "--output", "json"]).json();
    assert_eq!(shown["status"], json!("cancelled"));
    let entries = trefoil(&folder, &provider, &["runs", "export", &run]).lines();
    assert!(entries[0]["entry"]["started"].is_object() && entries.last().unwrap()["entry"]["finished"].is_object());
    let events = trefoil(&folder, &provider, &["runs", "events", &run]).lines();
    assert_eq!(
        events.iter().map(|e| e["seq"].as_u64().unwrap()).collect::<Vec<_>>(),
        (0..events.len() as u64).collect::<Vec<_>>()
    );
    assert_eq!(events.last().unwrap()["event"], json!("run_finished"));
    let rest = trefoil(&folder, &provider, &["runs", "events", &run, "--after", "1"]).lines();
    assert_eq!(rest, events[2..]);
    let resumed = trefoil(&folder, &provider, &["resume", &run]);
    resumed.exits(130);
}

#[test]
fn what_a_stranger_wrote_moves_no_cursor_and_stays_what_it_is() {
    let provider = Provider::start();
    let folder = Folder::new();
    let evil = "one \u{9b}2J\u{202e}two\u{1b}[31m";
    folder.write(
        "evil.yaml",
        format!(
            "id: evil\nkind: llm\nmodel: {{ provider: openai, name: m }}\ninstruction: I.\nprompt: {}\n",
            json!(evil)
        )
        .replace('\u{9b}', "\\u009b"),
    );
    let tricky = |text: &str| text.contains(|c: char| c.is_control() && c != '\n' || c == '\u{202e}');
    let ran = trefoil(&folder, &provider, &["run", "evil.yaml", "--no-check", "--events", "jsonl", "--output", "json"]);
    assert!(!tricky(&ran.exits(0).out) && !tricky(&ran.err), "{ran:?}");
    let run = only(&folder, &provider);
    for args in [&["runs", "events", &run][..], &["runs", "export", &run], &["runs", "show", &run], &["resume", &run]] {
        let shown = trefoil(&folder, &provider, args);
        // A result that is written to a file is not escaped.
        assert!(args[0] == "resume" || !tricky(&shown.exits(0).out), "{args:?}: {shown:?}");
        assert!(!tricky(&shown.err), "{args:?}: {shown:?}");
    }
    let events = trefoil(&folder, &provider, &["runs", "events", &run]).lines();
    assert_eq!(events.last().unwrap()["output"], json!(evil));
}

#[test]
fn a_store_that_cannot_be_used_stops_a_run_before_its_first_call_and_says_what_to_do() {
    let provider = Provider::start();
    let folder = world();
    folder.write("broken.db", "not a database, but long enough to be read as one: ".repeat(40));
    let broken = trefoil(&folder, &provider, &["run", "main.yaml", "--store", "broken.db"]);
    broken.silent(2).says(&["is not a Trefoil store", "--store PATH"]);
    let mut homeless = command(&folder, &provider, &["run", "main.yaml"]);
    homeless.env_remove("TREFOIL_STORE").env("HOME", "/dev/null");
    let homeless = finish(homeless);
    homeless.silent(2).says(&["--store PATH", "--ephemeral"]);
    assert_eq!(provider.asked_by_now().len(), 0, "nothing was called");
    provider.hang(false);
    let ephemeral = trefoil(&folder, &provider, &["run", "main.yaml", "--ephemeral", "-q"]);
    assert_eq!(ephemeral.exits(0).out, "one hang\n");
    assert!(!folder.path().join("runs.db").exists());
}

/// The user's prices: a call of the provider with 10 input and 3 output tokens costs $0.016.
const PRICES: &str = "[prices]\n\"openai:m\" = { input = 1000, output = 2000.0 }\n";

pub fn priced(folder: &Folder, provider: &Provider, args: &[&str]) -> Command {
    let mut command = command(folder, provider, args);
    command.env("TREFOIL_CONFIG_DIR", folder.path().join("config"));
    command
}

#[test]
fn what_a_run_costs_is_in_its_journal_and_later_prices_do_not_change_it() {
    let provider = Provider::start();
    let folder = world();
    folder.write("config/config.toml", PRICES);
    let child = priced(&folder, &provider, &["run", "main.yaml"]).spawn().unwrap();
    until("the second call", || provider.asked().len() == 2);
    signal(&child, "-KILL");
    wait(child);
    let run = only(&folder, &provider);
    let shown = trefoil(&folder, &provider, &["runs", "show", &run]);
    assert!(shown.exits(0).out.contains("10+? tokens in, 3+? out, $0.016+?\n"), "{shown:?}");
    // The cost of the second call is unknown, and the run continues with its original prices.
    provider.hang(false);
    folder.write("config/config.toml", PRICES.replace("1000", "5"));
    let resumed = finish(priced(&folder, &provider, &["resume", &run, "--trace", "t.json"]));
    resumed.exits(0).says(&["20+? tokens in, 6+? out, $0.032+?"]);
    let usage =
        json!({ "input_tokens": 20, "output_tokens": 6, "unknown_calls": 1, "cost_micro": 32000, "unpriced_calls": 1 });
    let trace: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(folder.path().join("t.json")).unwrap()).unwrap();
    let listed = trefoil(&folder, &provider, &["runs", "list", "--output", "json"]).json();
    assert_eq!((&listed["runs"][0]["usage"], &trace["usage"]), (&usage, &usage));
    let events = trefoil(&folder, &provider, &["runs", "events", &run]).lines();
    let costs: Vec<_> =
        events.iter().filter(|e| e["event"] == "model_finished").map(|e| &e["usage"]["cost_micro"]).collect();
    assert_eq!(costs, [16_000, 16_000], "{events:?}");
    let traced = trefoil(&folder, &provider, &["trace", "t.json"]);
    assert!(traced.exits(0).out.contains("at least $0.032"), "{traced:?}");
    trefoil(&folder, &provider, &["store", "check"]).exits(0);
}

#[test]
fn a_price_that_nobody_knows_is_not_zero_and_an_embedded_answer_costs_nothing() {
    let provider = Provider::start();
    let folder = world();
    provider.hang(false);
    trefoil(&folder, &provider, &["run", "main.yaml"]).exits(0).says(&["20 tokens in, 6 out, $?, "]);
    let cheap = trefoil(&folder, &provider, &["run", "main.yaml", "--model", "openai:gpt-4o-mini"]);
    cheap.exits(0).says(&["20 tokens in, 6 out, $0.000008, "]);
    trefoil(&folder, &provider, &["run", "main.yaml", "--model", "embedded"]).exits(0).says(&["out, $0, "]);
}

#[test]
fn a_price_that_cannot_be_read_is_reported_and_a_project_sets_prices_only_with_trust() {
    let provider = Provider::start();
    let folder = world();
    for (wrong, says) in [
        ("\"openai:m\" = 3", "must be a table: `{ input = 1.25, output = 10 }`"),
        ("\"openai:m\" = { input = 3 }", "needs `input` and `output`"),
        ("\"openai:m\" = { input = -3, output = 1 }", "`input` must be dollars per million tokens, 0 or more"),
        ("\"openai:m\" = { input = 3, output = 1, cached = 1 }", "unknown key `cached` in a price"),
        ("m = { input = 3, output = 1 }", "`m` must be `\"provider:name\"`"),
    ] {
        folder.write("config/config.toml", format!("[prices]\n{wrong}\n"));
        finish(priced(&folder, &provider, &["run", "main.yaml"])).exits(2).says(&[says]);
    }
    folder.write("config/config.toml", "").write("trefoil.toml", PRICES);
    let refused = finish(priced(&folder, &provider, &["run", "main.yaml"]));
    refused.exits(2).says(&["`[prices]` would set the prices of models, but you have not trusted this project"]);
    assert!(provider.asked().is_empty());
}

#[test]
fn a_limit_on_money_holds_before_the_call_and_over_a_crash() {
    let provider = Provider::start();
    let folder = world();
    // The estimated cost of a call is about $0.02, because of its prompt.
    folder.write("config/config.toml", "[prices]\n\"openai:m\" = { input = 1000, output = 1 }\n");
    let third = "id: third\nkind: llm\nmodel: { provider: openai, name: m }\ninstruction: I.\nprompt: three\n";
    folder.write("third.yaml", third).write(
        "main.yaml",
        "id: main\nkind: sequential\nsteps:\n  - ref: first\n  - ref: second\n    input: { text: '{{first}}' }\n  - ref: third\n",
    );
    let refused = finish(priced(&folder, &provider, &["run", "main.yaml", "--max-cost", "0.025"]));
    refused.exits(1).says(&["BUDGET_EXCEEDED", "cost limit reached: $0.0101 of $0.025 spent", "--max-cost"]);
    assert_eq!(provider.asked(), ["one"], "the second call was not made");
    trefoil(&folder, &provider, &["runs", "delete", &only(&folder, &provider)]).exits(0);

    // The second call is cut off and its cost is unknown, so its estimated cost counts, which leaves no room for
    // another call.
    let child = priced(&folder, &provider, &["run", "main.yaml", "--max-cost", "0.05"]).spawn().unwrap();
    until("the second call", || provider.asked().len() == 3);
    signal(&child, "-KILL");
    wait(child);
    provider.hang(false);
    let resumed = finish(priced(&folder, &provider, &["resume", &only(&folder, &provider)]));
    resumed.exits(1).says(&["BUDGET_EXCEEDED", "of $0.05 spent"]);
    assert_eq!(provider.asked().len(), 3, "the second call was not made again");
    let whole = finish(priced(&folder, &provider, &["run", "main.yaml", "--max-cost", "0.05", "--ephemeral"]));
    whole.exits(0).says(&["$0.0301"]);
}

#[test]
fn a_limit_on_money_needs_the_prices_of_all_models() {
    let provider = Provider::start();
    let folder = world();
    let refused = trefoil(&folder, &provider, &["run", "main.yaml", "--max-cost", "1"]);
    refused.exits(2).says(&[
        "unknown-price",
        "needs the price of every model, but the price of `openai:m` is unknown",
        "\"openai:m\" = { input = 1.25, output = 10 }",
    ]);
    trefoil(&folder, &provider, &["run", "main.yaml", "--max-cost", "1e3"])
        .exits(2)
        .says(&["write a number of dollars"]);
    trefoil(&folder, &provider, &["run", "main.yaml", "--max-cost", "0", "--model", "embedded"]).exits(0);
    assert!(provider.asked().is_empty());
}

#[test]
fn a_limit_on_money_that_cannot_be_held_is_refused_before_a_run_continues() {
    let provider = Provider::start();
    let folder = world();
    let child = command(&folder, &provider, &["run", "main.yaml"]).spawn().unwrap();
    until("the second call", || provider.asked().len() == 2);
    signal(&child, "-KILL");
    wait(child);
    let run = only(&folder, &provider);
    let before = trefoil(&folder, &provider, &["runs", "export", &run]).out;
    let refused = trefoil(&folder, &provider, &["resume", &run, "--max-cost", "1"]);
    refused.silent(2).says(&["unknown-price", "the price of `openai:m` is unknown"]);
    // The run keeps its original prices: none.
    folder.write("config/config.toml", PRICES);
    finish(priced(&folder, &provider, &["resume", &run, "--max-cost", "1"])).silent(2).says(&["unknown-price"]);
    assert_eq!(trefoil(&folder, &provider, &["runs", "export", &run]).out, before, "nothing has happened");
    provider.hang(false);
    trefoil(&folder, &provider, &["resume", &run]).exits(0);
    assert_eq!(provider.asked().len(), 3);

    // A run with prices, and calls whose maximum cost is unknown.
    let priced_run = ["run", "main.yaml", "--max-cost", "100"];
    provider.hang(true);
    let child = priced(&folder, &provider, &priced_run).spawn().unwrap();
    until("its second call", || provider.asked().len() == 5);
    signal(&child, "-KILL");
    wait(child);
    let listed = trefoil(&folder, &provider, &["runs", "list", "--status", "interrupted", "--output", "json"]).json();
    let run = listed["runs"][0]["run"].as_str().unwrap().to_owned();
    let strict = finish(priced(&folder, &provider, &["resume", &run, "--reserve", "bound"]));
    strict.silent(2).says(&["unknown-bound", "the context window of `openai:m` is unknown"]);
    provider.hang(false);
    finish(priced(&folder, &provider, &["resume", &run])).exits(0);
}

#[test]
fn a_strict_limit_on_money_needs_the_most_that_calls_can_cost_and_is_kept() {
    let provider = Provider::start();
    let folder = world();
    let settings = "[prices]\n\"openai:m\" = { input = 1000, output = 1 }\n[run]\nreserve = \"bound\"\n";
    folder.write("config/config.toml", settings);
    let limited = ["run", "main.yaml", "--max-cost", "0.06"];
    let refused = finish(priced(&folder, &provider, &limited));
    refused.exits(2).says(&["unknown-bound", "the context window of `openai:m` is unknown", "first.yaml"]);
    assert!(provider.asked().is_empty());
    // The maximum length of the prompt is more than its estimate.
    for id in ["first", "second"] {
        let text = std::fs::read_to_string(folder.path().join(format!("{id}.yaml"))).unwrap();
        folder.write(&format!("{id}.yaml"), text.replace("name: m }", "name: m, maxTokens: 10 }"));
    }
    let child = priced(&folder, &provider, &limited).spawn().unwrap();
    until("the second call", || provider.asked().len() == 2);
    signal(&child, "-KILL");
    wait(child);
    provider.hang(false);
    // The settings have changed by now; the run keeps its original ones.
    folder.write("config/config.toml", settings.replace("bound", "estimate"));
    let run = only(&folder, &provider);
    let stopped = finish(priced(&folder, &provider, &["resume", &run]));
    stopped.exits(1).says(&["BUDGET_EXCEEDED", "of $0.06 spent, and the next call may cost $0.02"]);
    let journal = trefoil(&folder, &provider, &["runs", "export", &run]).out;
    assert!(journal.contains("\"reserve\":\"bound\""), "{journal}");
    // A resume may reserve less for further calls.
    let resumed = finish(priced(&folder, &provider, &["resume", &run, "--reserve", "estimate", "--max-cost", "0.07"]));
    resumed.exits(0);
    let changed = trefoil(&folder, &provider, &["runs", "export", &run]).lines();
    let changed = changed.iter().find_map(|entry| entry["entry"]["reopened"]["changes"].as_object());
    assert_eq!(json!(changed), json!({ "max_cost_micro": 70_000, "reserve": "estimate" }));
    let estimated = ["run", "main.yaml", "--max-cost", "0.06", "--reserve", "estimate", "--ephemeral"];
    finish(priced(&folder, &provider, &estimated)).exits(0);
    folder.write("config/config.toml", "[run]\nreserve = 3\n");
    let wrong = finish(priced(&folder, &provider, &limited));
    wrong.exits(2).says(&["`reserve` must be `\"bound\"` or `\"estimate\"`"]);
}

#[test]
fn limits_of_the_host_are_settings_and_hold() {
    let provider = Provider::start();
    provider.hang(false);
    let folder = world();
    for (wrong, says) in [
        ("in_flight = 0", "`in_flight` must be a whole number, 1 or more"),
        ("speed = 3", "`[limits]` has no key `speed`; its keys are `in_flight`, `in_flight_per_run`, `runs_per_flow`"),
        ("opnai = { in_flight = 1 }", "unknown provider `opnai`; did you mean `openai`?"),
        ("openai = { rate = 1 }", "`[limits.openai]` has no key `rate`; its keys are `in_flight`"),
    ] {
        folder.write("config/config.toml", format!("[limits]\n{wrong}\n"));
        finish(priced(&folder, &provider, &["run", "main.yaml"])).exits(2).says(&[says]);
    }
    assert!(provider.asked().is_empty());
    folder.write("config/config.toml", "[limits]\nin_flight = 1\n[limits.openai]\nrequests_per_minute = 1\n");
    let mut paced = priced(&folder, &provider, &["run", "main.yaml"]).spawn().unwrap();
    until("the first call", || provider.asked().len() == 1);
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!(provider.asked().len(), 1, "the second waits for the next minute");
    signal(&paced, "-KILL");
    paced.wait().unwrap();
}

#[test]
fn a_limit_on_money_of_a_manifest_holds_and_needs_prices() {
    let provider = Provider::start();
    let folder = Folder::new();
    folder.write(
        "main.yaml",
        "version: \"0.1\"\nagents: {a: {model: \"openai:m\", system: I.}}\nnodes:\n  one: {agent: a, writes: output.one}\n  \
         two: {agent: a, writes: output.two}\nedges: [{from: one, to: two}]\nbudget: {max_cost_usd: 0.025}\n",
    );
    let run = ["run", "main.yaml", "-i", "x", "--no-check"];
    trefoil(&folder, &provider, &run).exits(2).says(&["unknown-price", "of `openai:m` is unknown"]);
    folder.write("config/config.toml", "[prices]\n\"openai:m\" = { input = 1000, output = 1 }\n");
    let refused = finish(priced(&folder, &provider, &run));
    refused.exits(1).says(&["BUDGET_EXCEEDED", "cost limit reached: $0.0101 of $0.025 spent", "raise the limit"]);
    // The place of the step that would have been next.
    refused.says(&["main.yaml:5:3"]);
    assert_eq!(provider.asked().len(), 1);
    let plan = finish(priced(&folder, &provider, &["plan", "main.yaml"]));
    assert!(plan.exits(0).out.contains("limit: $0.025; exceeding it fails the run"), "{plan:?}");
}

/// Each answer of a script is used once, in however many processes the run goes on.
#[test]
fn a_resumed_run_goes_on_with_the_first_answer_of_a_script_that_is_not_used() {
    let (folder, provider) = (Folder::new(), Provider::start());
    let step = |id: &str| {
        format!(
            "  - agent: {{ id: {id}, kind: llm, model: {{ provider: openai, name: m }}, instruction: I., prompt: {id} }}\n"
        )
    };
    let steps = ["a", "b", "c", "d"].map(step).concat();
    folder.write("main.yaml", format!("id: main\nkind: sequential\nsteps:\n{steps}"));
    let answers = |all: &[&str]| format!("answers:\n  '*': [{}]\n", all.join(", "));
    let went = |resumes: &[(&str, &[&str])]| {
        folder.write("script.yaml", answers(&["uno", "due"]));
        trefoil(&folder, &provider, &["run", "main.yaml", "--model", "scripted=script.yaml"])
            .silent(1)
            .says(&["no more answers"]);
        let listed = trefoil(&folder, &provider, &["runs", "list", "--output", "json"]).json();
        let run = listed["runs"][0]["run"].as_str().unwrap().to_owned();
        for (file, all) in resumes {
            folder.write(&format!("{file}.yaml"), answers(all));
            let model = format!("scripted={file}.yaml");
            trefoil(&folder, &provider, &["resume", &run, "--model", &model]);
        }
        trefoil(&folder, &provider, &["runs", "show", &run]).exits(0).out.clone()
    };
    let has = |shown: &str, step: &str, answer: &str| {
        let is = |line: &str| line.contains(&format!("✓ {step} ")) && line.contains(answer);
        assert!(shown.lines().any(is), "{step} {answer}: {shown}");
    };
    let shown = went(&[("script", &["uno", "due", "tre", "quattro"])]);
    has(&shown, "c", "tre");
    has(&shown, "d", "quattro");
    let shown = went(&[("script", &["uno", "due", "tre"]), ("script", &["uno", "due", "tre", "quattro"])]);
    has(&shown, "d", "quattro");
    // Another script begins with its first answer, and is gone on with in the same way.
    let shown = went(&[("other", &["drei"]), ("other", &["drei", "vier"])]);
    has(&shown, "c", "drei");
    has(&shown, "d", "vier");
}
