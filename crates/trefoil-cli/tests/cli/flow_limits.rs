//! Flows as tools: what the calling run has left bounds the called one, what that uses is counted once, and it ends with the call.
#![cfg(unix)]

use serde_json::{Value as Json, json};

use crate::durable::{command as bare, signal, until};
use crate::provider::Provider;
use crate::world::{Folder, Ran, finish, wait};

/// Two calls of `ship` at the same time, then a model of its own.
const CALLER: &str = "id: caller\nkind: sequential\nsteps:\n  - ref: both\n  - ref: last\n";
const BOTH: &str = "id: both\nkind: parallel\nbranches:\n  - ref: one\n  - ref: two\n";
const LAST: &str =
    "id: last\nkind: llm\nmodel: { provider: openai, name: gpt-4o-mini }\ninstruction: I.\nprompt: the end\n";

/// Makes three calls, one after the other.
fn ship(words: [&str; 3]) -> String {
    let node = |id: &str, says: &str| {
        format!(
            "  {id}: {{ type: agent, agent: {id}, writes: output.{id} }}\n--{id}: {{ model: \"openai:gpt-4o-mini\", system: \"{says}\" }}\n"
        )
    };
    let all: String = ["a", "b", "c"].iter().zip(words).map(|(id, says)| node(id, says)).collect();
    let nodes: String = all.lines().filter(|line| !line.starts_with("--")).map(|line| format!("{line}\n")).collect();
    let agents: String =
        all.lines().filter_map(|line| line.strip_prefix("--")).map(|line| format!("  {line}\n")).collect();
    format!(
        "version: \"0.1\"\nnodes:\n{nodes}agents:\n{agents}edges: [{{ from: a, to: b }}, {{ from: b, to: c }}]\ninput: {{ message: it }}\n"
    )
}

fn folder(words: [&str; 3]) -> Folder {
    let folder = Folder::new();
    let tool =
        |id: &str| format!("id: {id}\nkind: tool\ntool: {{ kind: local, name: ship, params: {{ message: {id} }} }}\n");
    folder.write("flows/caller.yaml", CALLER).write("flows/both.yaml", BOTH).write("flows/last.yaml", LAST);
    folder.write("flows/one.yaml", tool("one")).write("flows/two.yaml", tool("two"));
    folder.write("other/ship.yaml", ship(words));
    folder.write("flows/trefoil.toml", "[tools.ship]\nflow = \"../other/ship.yaml\"\n");
    folder
}

fn command(folder: &Folder, provider: &Provider, args: &[&str]) -> std::process::Command {
    let mut command = bare(folder, provider, args);
    command.env("TREFOIL_CONFIG_DIR", folder.path().join("config"));
    command
}

fn run(folder: &Folder, provider: &Provider, args: &[&str]) -> Ran {
    finish(command(folder, provider, args))
}

/// The calling run, and the called ones.
fn runs(folder: &Folder, provider: &Provider) -> (Json, Vec<Json>) {
    let listed = run(folder, provider, &["runs", "list", "--output", "json"]).json();
    let (callers, called): (Vec<Json>, Vec<Json>) =
        listed["runs"].as_array().unwrap().iter().cloned().partition(|run| run["flow"] == "caller");
    let [caller] = callers.as_slice() else { panic!("{listed}") };
    (caller.clone(), called)
}

fn id(run: &Json) -> &str {
    run["run"].as_str().unwrap()
}

#[test]
fn calls_of_called_runs_are_within_the_limit_of_their_caller_and_counted_once() {
    let provider = Provider::start();
    let folder = folder(["first", "second", "third"]);
    // A list that only the run knows: the run starts, although it may need more.
    let mut list = ship(["first", "second", "third"]);
    for id in ["b", "c"] {
        let each = format!("{id}: {{ type: factory, agent: {id}, for_each: \"{{{{ inputs.message }}}}\"");
        list = list.replace(&format!("{id}: {{ type: agent, agent: {id}"), &each);
    }
    folder.write("other/ship.yaml", list);
    for id in ["one", "two"] {
        let text = std::fs::read_to_string(folder.path().join(format!("flows/{id}.yaml"))).unwrap();
        folder.write(&format!("flows/{id}.yaml"), text.replace(&format!("message: {id}"), "message: '[1]'"));
    }
    run(&folder, &provider, &["trust", "flows"]).exits(0);
    let ended = run(&folder, &provider, &["run", "flows/caller.yaml", "--max-calls", "4", "--output", "json"]);
    ended.exits(1).says(&["BUDGET_EXCEEDED", "call limit reached: 4 model calls are allowed"]);
    assert!(provider.asked().len() <= 4, "{:?}", provider.asked());
    let (caller, _) = runs(&folder, &provider);
    assert_eq!(caller["status"], "failed", "{caller}");
    // What was done is not done again, and what was used is used once.
    let again = run(&folder, &provider, &["resume", id(&caller), "--max-calls", "7", "--output", "json"]);
    again.exits(0);
    assert_eq!(provider.asked().len(), 7, "{:?}", provider.asked());
    let (caller, called) = runs(&folder, &provider);
    assert_eq!((&caller["calls"], &caller["usage"]["input_tokens"]), (&json!(7), &json!(70)), "{caller}");
    for one in &called {
        assert_eq!((&one["calls"], &one["status"]), (&json!(3), &json!("completed")), "{one}");
        assert_eq!(one["parent"], caller["run"]);
    }
    assert_eq!(called.len(), 2);
    run(&folder, &provider, &["store", "check"]).exits(0);
}

#[test]
fn money_of_called_runs_is_within_the_limit_of_their_caller() {
    // 1,000,000 tokens in cost $0.15.
    let provider = Provider::with_usage(|_| (1_000_000, 0));
    let folder = folder(["first", "second", "third"]);
    run(&folder, &provider, &["trust", "flows"]).exits(0);
    let ended = run(&folder, &provider, &["run", "flows/caller.yaml", "--max-cost", "0.5"]);
    ended.exits(1).says(&["BUDGET_EXCEEDED", "cost limit reached"]);
    // A call is expected to cost far less than it does, so those that are under way when the limit is come to may pass it.
    assert!((3..=5).contains(&provider.asked().len()), "{:?}", provider.asked());
}

#[test]
fn a_run_that_is_cancelled_takes_those_with_it_that_it_has_called() {
    let provider = Provider::start();
    let folder = folder(["first", "second hang", "third"]);
    run(&folder, &provider, &["trust", "flows"]).exits(0);
    let child = command(&folder, &provider, &["run", "flows/caller.yaml"]).spawn().unwrap();
    until("the calls that hang", || provider.asked().len() == 4);
    let (caller, _) = runs(&folder, &provider);
    run(&folder, &provider, &["runs", "cancel", id(&caller)]).exits(0);
    wait(child).exits(130);
    let (caller, called) = runs(&folder, &provider);
    assert_eq!(caller["status"], "cancelled");
    assert_eq!(called.iter().map(|run| run["status"].as_str().unwrap()).collect::<Vec<_>>(), ["cancelled"; 2]);
    // What they had used until then is what their caller has used.
    assert_eq!((&caller["calls"], &caller["usage"]["unknown_calls"]), (&json!(4), &json!(2)), "{caller}");
    run(&folder, &provider, &["store", "check"]).exits(0);
}

#[test]
fn called_runs_whose_process_was_killed_go_on_with_their_caller_or_are_cancelled_with_it() {
    for cancelled in [false, true] {
        let provider = Provider::start();
        let folder = folder(["first", "second hang", "third"]);
        run(&folder, &provider, &["trust", "flows"]).exits(0);
        let child = command(&folder, &provider, &["run", "flows/caller.yaml", "--max-calls", "20"]).spawn().unwrap();
        until("the calls that hang", || provider.asked().len() == 4);
        signal(&child, "-KILL");
        assert_eq!(wait(child).code, -1);
        let (caller, _) = runs(&folder, &provider);
        if cancelled {
            run(&folder, &provider, &["runs", "cancel", id(&caller)]).exits(0);
        } else {
            provider.hang(false);
            run(&folder, &provider, &["resume", "--all"]).exits(0);
            // Two calls were lost, and are made again.
            assert_eq!(provider.asked().len(), 9, "{:?}", provider.asked());
        }
        let status = if cancelled { "cancelled" } else { "completed" };
        let (caller, called) = runs(&folder, &provider);
        assert_eq!(caller["status"], status, "{caller}");
        assert!(called.len() == 2 && called.iter().all(|run| run["status"] == status), "{called:?}");
        if !cancelled {
            assert_eq!((&caller["calls"], &caller["usage"]["unknown_calls"]), (&json!(9), &json!(2)), "{caller}");
        }
        run(&folder, &provider, &["store", "check"]).exits(0);
    }
}
