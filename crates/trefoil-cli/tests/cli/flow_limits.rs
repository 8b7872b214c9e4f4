//! Flows as tools: the remaining limits of the calling run apply to the called one, its usage is counted once, and it
//! ends with the call.
#![cfg(unix)]

use expect_test::expect;
use serde_json::{Value as Json, json};

use crate::durable::{command as bare, signal, until};
use crate::provider::Provider;
use crate::world::{Folder, Ran, finish, wait};

/// Two concurrent calls of `ship`, then a model call.
const CALLER: &str = "id: caller\nkind: sequential\nsteps:\n  - ref: both\n  - ref: last\n";
const BOTH: &str = "id: both\nkind: parallel\nbranches:\n  - ref: one\n  - ref: two\n";
const LAST: &str =
    "id: last\nkind: llm\nmodel: { provider: openai, name: gpt-4o-mini }\ninstruction: I.\nprompt: the end\n";

/// Makes three calls in sequence.
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

fn count_of(calls: usize) -> String {
    if calls == 1 { "1 call".to_owned() } else { format!("{calls} calls") }
}

fn id(run: &Json) -> &str {
    run["run"].as_str().unwrap()
}

#[test]
fn calls_of_called_runs_are_within_the_limit_of_their_caller_and_counted_once() {
    let provider = Provider::start();
    let folder = folder(["first", "second", "third"]);
    // The length of the list is only known during the run, so the run starts although it may need more calls.
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
    // Completed calls are not repeated, and their usage counts once. A call that was in progress at the limit was cancelled, and is
    // made again.
    let again = run(&folder, &provider, &["resume", id(&caller), "--max-calls", "8", "--output", "json"]);
    again.exits(0);
    let asked = provider.asked().len();
    assert!((7..=8).contains(&asked), "{:?}", provider.asked());
    let (caller, called) = runs(&folder, &provider);
    assert_eq!((&caller["calls"], &caller["usage"]["input_tokens"]), (&json!(asked), &json!(70)), "{caller}");
    let calls: u64 = called.iter().map(|one| one["calls"].as_u64().unwrap()).sum();
    assert_eq!(calls + 1, asked as u64, "each call is of one run: {called:?}");
    let completed: Vec<_> = called.iter().filter(|one| one["status"] == "completed").collect();
    assert_eq!(completed.len(), 2, "{called:?}");
    assert!(called.len() + 7 <= asked + 2 && called.iter().all(|one| one["parent"] == caller["run"]), "{called:?}");
    run(&folder, &provider, &["store", "check"]).exits(0);
}

#[test]
fn a_run_that_reuses_answers_shares_its_limits_with_those_that_it_calls() {
    let provider = Provider::start();
    let folder = folder(["first", "second", "third"]);
    run(&folder, &provider, &["trust", "flows"]).exits(0);
    let ended = run(&folder, &provider, &["run", "flows/caller.yaml", "--reuse", "--max-calls", "4"]);
    let (caller, _) = runs(&folder, &provider);
    ended.exits(75).says(&["call limit reached", &format!("trefoil resume {} --max-calls ", id(&caller))]);
    assert_eq!(caller["status"], "waiting");
    assert!(provider.asked().len() <= 4, "{:?}", provider.asked());
    // What its called runs have used counts in every view.
    let calls = count_of(provider.asked().len());
    assert_eq!(caller["calls"], provider.asked().len(), "{caller}");
    let shown = run(&folder, &provider, &["runs", "show", id(&caller)]);
    assert!(shown.exits(0).out.contains(&format!("used     {calls},")), "{}", shown.out);
    let traced = run(&folder, &provider, &["trace", id(&caller), "--json"]).json();
    assert_eq!(traced["calls"], caller["calls"]);
    // One printed command is enough. Its number depends on which of the two runs was stopped where.
    let raised = raised_until_completed(&folder, &provider, ended);
    assert_eq!(raised.len(), 1, "{raised:?}");
    // What was called before the limit is not called again. A run may also reuse answers that the other one has got meanwhile.
    assert!((5..=7).contains(&provider.asked().len()), "{:?}", provider.asked());
}

#[test]
fn money_of_called_runs_is_within_the_limit_of_their_caller() {
    // 1,000,000 input tokens cost $0.15.
    let provider = Provider::with_usage(|_| (1_000_000, 0));
    let folder = folder(["first", "second", "third"]);
    run(&folder, &provider, &["trust", "flows"]).exits(0);
    let ended = run(&folder, &provider, &["run", "flows/caller.yaml", "--max-cost", "0.5"]);
    ended.exits(1).says(&["BUDGET_EXCEEDED", "cost limit reached"]);
    // Calls cost far more than their estimates, so calls in progress may exceed the limit.
    assert!((3..=5).contains(&provider.asked().len()), "{:?}", provider.asked());
}

/// The limits that the printed commands raise, until the run has completed.
fn raised_until_completed(folder: &Folder, provider: &Provider, mut ran: Ran) -> Vec<String> {
    let mut raised = Vec::new();
    while ran.code != 0 {
        let text = format!("{}\n{}", ran.out, ran.err);
        let raises = |line: &&str| line.contains("trefoil resume ") && line.contains("--max-");
        let line = text.lines().find(raises).unwrap_or_else(|| panic!("after {raised:?}: {text}"));
        let words: Vec<&str> = line.split("trefoil ").nth(1).unwrap().split_whitespace().collect();
        raised.push(words[2..].join(" "));
        assert!(raised.len() < 9, "{raised:?}");
        // Every view names the same command.
        let shown = run(folder, provider, &["runs", "show", words[1]]);
        assert!(shown.exits(0).out.contains(&words.join(" ")), "{words:?}: {}", shown.out);
        ran = run(folder, provider, &words);
    }
    raised
}

#[test]
fn the_printed_commands_raise_the_limit_of_the_run_at_the_top_until_it_completes() {
    let provider = Provider::start();
    let folder = folder(["first", "second", "third"]);
    let steps: String = ["a", "b", "c", "d"].iter().map(|id| format!("  - ref: {id}\n")).collect();
    for id in ["a", "b", "c", "d"] {
        folder.write(&format!("flows/{id}.yaml"), LAST.replace("id: last", &format!("id: {id}")));
    }
    let caller = CALLER.replace("  - ref: both\n", &format!("{steps}  - ref: one\n"));
    folder.write("flows/caller.yaml", caller);
    // Each of the 8 calls costs a little more than one cent.
    folder.write("config/config.toml", "[prices]\n\"openai:gpt-4o-mini\" = { input = 1000, output = 1 }\n");
    run(&folder, &provider, &["trust", "flows"]).exits(0);
    let target = "flows/caller.yaml";
    let follow = |ran| raised_until_completed(&folder, &provider, ran);
    let raised = follow(run(&folder, &provider, &["run", target, "--max-cost", "0.055"]));
    expect!["--max-cost 0.121265"].assert_eq(&raised.join(", "));
    let first = runs(&folder, &provider).0["run"].as_str().unwrap().to_owned();
    let again = ["runs", "fork", &first, "--from", "a", "--rerun", "one"];
    let fork = |limit: &[&str]| follow(run(&folder, &provider, &[&again, limit].concat()));
    expect!["--max-cost 0.121265"].assert_eq(&fork(&["--max-cost", "0.055"]).join(", "));
    expect!["--max-calls 13"].assert_eq(&fork(&["--max-calls", "6"]).join(", "));
    // A limit that is less than what was spent already.
    let stopped = run(&folder, &provider, &[&again, &["--max-cost", "0.055"][..]].concat());
    let told = stopped.exits(75).err.lines().find(|line| line.contains("trefoil resume "));
    let top = told.unwrap().split_whitespace().nth(2).unwrap();
    let lower = run(&folder, &provider, &["resume", top, "--max-cost", "0.02"]);
    expect!["--max-cost 0.121265"].assert_eq(&follow(lower).join(", "));
    run(&folder, &provider, &["store", "check"]).exits(0);
}

#[test]
fn the_limit_that_a_called_run_of_a_fork_raises_is_enough_for_what_its_caller_needs_afterwards() {
    let provider = Provider::start();
    let folder = folder(["first", "second", "third"]);
    let after: String = ["a", "b", "d"].iter().map(|id| format!("  - ref: {id}\n")).collect();
    for id in ["a", "b", "d"] {
        folder.write(&format!("flows/{id}.yaml"), LAST.replace("id: last", &format!("id: {id}")));
    }
    folder.write("flows/caller.yaml", CALLER.replace("  - ref: both\n", &format!("  - ref: one\n{after}")));
    run(&folder, &provider, &["trust", "flows"]).exits(0);
    run(&folder, &provider, &["run", "flows/caller.yaml"]).exits(0);
    let first = runs(&folder, &provider).0["run"].as_str().unwrap().to_owned();
    let fork =
        run(&folder, &provider, &["runs", "fork", &first, "--from", "one", "--rerun", "one", "--max-calls", "1"]);
    // The second of the three calls of `ship` does not fit, and four follow in its caller.
    fork.exits(75).says(&["call limit reached"]);
    expect!["--max-calls 8"].assert_eq(&raised_until_completed(&folder, &provider, fork).join(", "));
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
    // Their usage until then is part of the caller's usage.
    assert_eq!((&caller["calls"], &caller["usage"]["unknown_calls"]), (&json!(4), &json!(2)), "{caller}");
    run(&folder, &provider, &["store", "check"]).exits(0);
}

#[test]
fn a_called_run_that_was_cancelled_keeps_what_it_has_when_it_is_called_again() {
    let provider = Provider::start();
    let folder = folder(["first", "second hang", "third after these"]);
    folder.write("flows/two.yaml", "id: two\nkind: tool\ntool: { kind: local, name: gate }\n");
    let gate = "while [ ! -e go ]; do sleep 0.05; done; [ -e open ] && echo open";
    let settings =
        format!("[tools.ship]\nflow = \"../other/ship.yaml\"\n[tools.gate]\ncommand = [\"sh\", \"-c\", \"{gate}\"]\n");
    folder.write("flows/trefoil.toml", settings);
    run(&folder, &provider, &["trust", "flows"]).exits(0);
    let child = command(&folder, &provider, &["run", "flows/caller.yaml"]).spawn().unwrap();
    until("the call that hangs", || provider.asked().len() == 2);
    folder.write("flows/go", "");
    wait(child).exits(1).says(&["TOOL_ERROR", "gate"]);
    let (caller, called) = runs(&folder, &provider);
    assert_eq!(called.iter().map(|run| run["status"].as_str().unwrap()).collect::<Vec<_>>(), ["cancelled"]);
    folder.write("flows/open", "");
    provider.hang(false);
    let again = run(&folder, &provider, &["resume", id(&caller), "--output", "json"]);
    again.exits(0);
    let asked = provider.asked();
    let times = |what: &str| asked.iter().filter(|prompt| prompt.contains(what)).count();
    assert_eq!((times("first"), times("second"), times("third"), times("the end")), (1, 2, 1, 1), "{asked:?}");
    let (caller, called) = runs(&folder, &provider);
    assert_eq!(caller["calls"], json!(5), "one that was lost, and four: {caller}");
    assert_eq!(called.len(), 2, "the cancelled run, and the one that goes on with its results: {called:?}");
    run(&folder, &provider, &["store", "check"]).exits(0);
}

#[test]
fn a_called_run_that_stopped_before_a_tool_says_so_in_its_caller_and_goes_on_when_that_is_allowed() {
    let provider = Provider::start();
    let folder = folder(["first", "second", "third"]);
    folder.write(
        "other/ship.yaml",
        "id: ship\nkind: sequential\ninputSchema: { message: string }\nsteps:\n  - ref: send\n",
    );
    folder.write("other/send.yaml", "id: send\nkind: tool\ntool: { kind: local, name: mail, params: { to: me } }\n");
    folder.write("flows/two.yaml", "id: two\nkind: tool\ntool: { kind: local, name: gate }\n");
    let until_open = |file: &str| format!("while [ ! -e {file} ]; do sleep 0.05; done");
    folder.write(
        "flows/trefoil.toml",
        format!(
            "[tools.ship]\nflow = \"../other/ship.yaml\"\n\
             [tools.gate]\ncommand = [\"sh\", \"-c\", \"{}; [ -e open ] && echo open\"]\n\
             [tools.mail]\ncommand = [\"sh\", \"-c\", \"echo mail >> sent; {}; echo sent\"]\n",
            until_open("go"),
            until_open("open")
        ),
    );
    run(&folder, &provider, &["trust", "flows"]).exits(0);
    let child = command(&folder, &provider, &["run", "flows/caller.yaml"]).spawn().unwrap();
    let sent = || std::fs::read_to_string(folder.path().join("flows/sent")).unwrap_or_default().lines().count();
    until("the mail", || sent() == 1);
    folder.write("flows/go", "");
    wait(child).exits(1).says(&["TOOL_ERROR", "gate"]);
    folder.write("flows/open", "");
    let (caller, _) = runs(&folder, &provider);
    let stopped = run(&folder, &provider, &["resume", id(&caller)]);
    let (_, called) = runs(&folder, &provider);
    let called: Vec<&Json> = called.iter().filter(|run| run["status"] == "waiting").collect();
    let [called] = called.as_slice() else { panic!("{called:?}") };
    let allows = format!("trefoil resume {} --rerun send", id(called));
    let why = format!("the run {} has stopped before `send`: this tool", id(called));
    stopped.exits(75).says(&[&why, &format!("  {allows}\n"), &format!("then: trefoil resume {}", id(&caller))]);
    let shown = run(&folder, &provider, &["runs", "show", id(&caller)]);
    assert!(shown.exits(0).out.contains(&why), "{}", shown.out);
    run(&folder, &provider, &["runs", "answer", id(&caller), "one", "done"]).exits(2).says(&["has stopped before"]);
    run(&folder, &provider, &["resume", id(&caller), "--rerun", "send"]).exits(2).says(&[&allows]);
    assert_eq!(sent(), 1, "nothing was sent a second time unasked");
    run(&folder, &provider, &["resume", id(called), "--rerun", "send"]).exits(0);
    run(&folder, &provider, &["resume", id(&caller)]).exits(0);
    assert_eq!(sent(), 2);
    // What a run has called goes with it.
    let deleted = run(&folder, &provider, &["runs", "delete", id(&caller)]);
    deleted.exits(0).says(&[&format!("deleted {}, which {} had called", id(called), id(&caller))]);
    assert_eq!(run(&folder, &provider, &["runs", "list", "--output", "json"]).json()["runs"], json!([]));
}

#[test]
fn what_a_called_flow_has_done_is_not_done_again_because_the_step_that_calls_it_has_another_name() {
    let provider = Provider::start();
    let folder = folder(["first", "second", "third"]);
    let tool =
        |id: &str| format!("id: {id}\nkind: tool\ntool: {{ kind: local, name: ship, params: {{ message: one }} }}\n");
    folder.write("flows/caller.yaml", "id: caller\nkind: sequential\nsteps:\n  - ref: one\n  - ref: last\n");
    folder.write("flows/one.yaml", tool("one")).write("flows/uno.yaml", tool("uno"));
    let ship = "id: ship\nkind: sequential\ninputSchema: { message: string }\nsteps:\n  - ref: send\n  - ref: wait\n";
    let call = |id: &str, name: &str| {
        format!("id: {id}\nkind: tool\ntool: {{ kind: local, name: {name}, params: {{ to: me }} }}\n")
    };
    folder.write("other/ship.yaml", ship);
    folder.write("other/send.yaml", call("send", "mail")).write("other/wait.yaml", call("wait", "gate"));
    folder.write(
        "flows/trefoil.toml",
        "[tools.ship]\nflow = \"../other/ship.yaml\"\n\
         [tools.gate]\ncommand = [\"sh\", \"-c\", \"echo wait >> waited; while [ ! -e open ]; do sleep 0.05; done\"]\n\
         [tools.mail]\ncommand = [\"sh\", \"-c\", \"echo mail >> sent; echo sent\"]\n",
    );
    run(&folder, &provider, &["trust", "flows"]).exits(0);
    let child = command(&folder, &provider, &["run", "flows/caller.yaml"]).spawn().unwrap();
    let lines = |name: &str| {
        let text = std::fs::read_to_string(folder.path().join("flows").join(name)).unwrap_or_default();
        text.lines().count()
    };
    until("the tool after the mail", || lines("waited") == 1);
    signal(&child, "-KILL");
    wait(child);
    folder.write("flows/open", "");
    let (first, _) = runs(&folder, &provider);
    folder.write("flows/caller.yaml", "id: caller\nkind: sequential\nsteps:\n  - ref: uno\n  - ref: last\n");
    let edited = run(&folder, &provider, &["resume", id(&first), "--with", "flows/caller.yaml"]);
    edited.exits(75).says(&["has stopped before `wait`", "--rerun wait"]);
    assert_eq!((lines("sent"), lines("waited")), (1, 1), "{}", edited.err);
}

#[test]
fn a_model_that_called_a_flow_waits_for_whoever_the_flow_asks() {
    let provider = Provider::start();
    let folder = Folder::new();
    let agent = "id: caller\nkind: llm\nmodel: { provider: openai, name: gpt-4o-mini }\ninstruction: I.\nprompt: P.\n";
    folder.write("flows/caller.yaml", format!("{agent}tools: [{{ kind: local, tools: [ship] }}]\n"));
    folder.write(
        "other/ship.yaml",
        "version: \"0.1\"\nnodes:\n  ok: { type: human, prompt: \"Ship {{ inputs.message }}?\", writes: output.said }\nedges: []\ninput: { message: it }\n",
    );
    folder.write("flows/trefoil.toml", "[tools.ship]\nflow = \"../other/ship.yaml\"\n");
    run(&folder, &provider, &["trust", "flows"]).exits(0);
    let first = run(&folder, &provider, &["run", "flows/caller.yaml"]);
    first.exits(75).says(&["asks: Ship message 0?"]);
    let (caller, called) = runs(&folder, &provider);
    assert_eq!((&caller["status"], &called[0]["status"]), (&json!("waiting"), &json!("waiting")));
    // The question can be answered where it is asked, and through the run that waits with it.
    run(&folder, &provider, &["runs", "answer", id(&called[0]), "ok", "it-is-so"]).exits(0);
    run(&folder, &provider, &["resume", id(&caller)]).exits(75).says(&["asks: Ship message 1?"]);
    assert!(provider.asked()[1].contains("it-is-so"), "the model has the result: {:?}", provider.asked());
    run(&folder, &provider, &["runs", "answer", id(&caller), "ok", "yes"]).exits(0);
    run(&folder, &provider, &["resume", id(&caller)]).exits(0);
    assert_eq!(provider.asked().len(), 3, "{:?}", provider.asked());
    let (caller, called) = runs(&folder, &provider);
    assert!(called.len() == 2 && called.iter().all(|run| run["status"] == "completed"), "{called:?}");
    assert_eq!((&caller["status"], &caller["calls"]), (&json!("completed"), &json!(3)));
}

#[test]
fn a_run_that_is_cancelled_or_fails_while_it_waits_takes_the_called_one_with_it() {
    for fails in [false, true] {
        let provider = Provider::start();
        let folder = folder(["first", "second", "third"]);
        folder.write(
            "other/ship.yaml",
            "version: \"0.1\"\nnodes:\n  ok: { type: human, prompt: \"Ship?\", writes: output.said }\nedges: []\ninput: { message: it }\n",
        );
        let gate = "while [ ! -e go ]; do sleep 0.05; done; [ -e open ] && echo open";
        folder.write("flows/two.yaml", "id: two\nkind: tool\ntool: { kind: local, name: gate }\n");
        folder.write(
            "flows/trefoil.toml",
            format!(
                "[tools.ship]\nflow = \"../other/ship.yaml\"\n[tools.gate]\ncommand = [\"sh\", \"-c\", \"{gate}\"]\n"
            ),
        );
        run(&folder, &provider, &["trust", "flows"]).exits(0);
        if fails {
            let child = command(&folder, &provider, &["run", "flows/caller.yaml"]).spawn().unwrap();
            let waiting = ["runs", "list", "--status", "waiting", "--output", "json"];
            until("the question", || {
                folder.path().join("runs.db").exists() && run(&folder, &provider, &waiting).out.contains("\"waiting\"")
            });
            folder.write("flows/go", "");
            wait(child).exits(1).says(&["gate"]);
        } else {
            folder.write("flows/go", "").write("flows/open", "");
            run(&folder, &provider, &["run", "flows/caller.yaml"]).exits(75);
            let (caller, _) = runs(&folder, &provider);
            run(&folder, &provider, &["runs", "cancel", id(&caller)]).exits(0);
        }
        let (caller, called) = runs(&folder, &provider);
        assert_eq!(caller["status"], if fails { "failed" } else { "cancelled" }, "{caller}");
        assert_eq!(called.iter().map(|run| run["status"].as_str().unwrap()).collect::<Vec<_>>(), ["cancelled"]);
        run(&folder, &provider, &["store", "check"]).exits(0);
    }
}

#[test]
fn results_of_runs_that_called_runs_have_called_are_kept_too() {
    let provider = Provider::start();
    let folder = folder(["first", "second hang", "third after these"]);
    let call = |id: &str, tool: &str| format!("id: {id}\nkind: tool\ntool: {{ kind: local, name: {tool} }}\n");
    let mid = call("one", "mid").replace("name: mid", "name: mid, params: { input: it }");
    folder.write("flows/one.yaml", mid).write("flows/two.yaml", call("two", "gate"));
    folder.write("flows/mid.yaml", call("mid", "ship"));
    let gate = "while [ ! -e go ]; do sleep 0.05; done; [ -e open ] && echo open";
    let settings = format!(
        "[tools.mid]\nflow = \"mid.yaml\"\n[tools.ship]\nflow = \"../other/ship.yaml\"\n\
         [tools.gate]\ncommand = [\"sh\", \"-c\", \"{gate}\"]\neffects = \"read_only\"\n"
    );
    folder.write("flows/trefoil.toml", settings);
    run(&folder, &provider, &["trust", "flows"]).exits(0);
    let child = command(&folder, &provider, &["run", "flows/caller.yaml"]).spawn().unwrap();
    until("the call that hangs", || provider.asked().len() == 2);
    folder.write("flows/go", "");
    wait(child).exits(1).says(&["TOOL_ERROR", "gate"]);
    let (caller, called) = runs(&folder, &provider);
    assert!(called.len() == 2 && called.iter().all(|run| run["status"] == "cancelled"), "{called:?}");
    folder.write("flows/open", "");
    provider.hang(false);
    // A new run that reuses the results of the failed one, and that one itself.
    for args in [["runs", "fork", id(&caller)].as_slice(), &["resume", id(&caller)]] {
        let before = provider.asked();
        run(&folder, &provider, args).exits(0);
        let asked = provider.asked()[before.len()..].to_vec();
        assert!(!asked.iter().any(|prompt| prompt == "first"), "{args:?}: {asked:?}");
        assert!(asked.iter().any(|prompt| prompt.contains("third")), "{args:?}: {asked:?}");
    }
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

#[test]
fn a_run_that_reuses_answers_reserves_what_the_calls_of_called_flows_may_cost() {
    let provider = Provider::start();
    let folder = folder(["first", "second", "third"]);
    folder.write("flows/caller.yaml", CALLER.replace("  - ref: both\n", "  - ref: one\n"));
    // Each call costs a little more than one cent.
    folder.write("config/config.toml", "[prices]\n\"openai:gpt-4o-mini\" = { input = 1000, output = 1 }\n");
    run(&folder, &provider, &["trust", "flows"]).exits(0);
    run(&folder, &provider, &["run", "flows/caller.yaml"]).exits(0);
    let first = runs(&folder, &provider).0["run"].as_str().unwrap().to_owned();
    let before = provider.asked().len();
    let again = ["runs", "fork", &first, "--from", "one", "--rerun", "one", "--max-cost", "0.005"];
    let stopped = run(&folder, &provider, &again);
    stopped.exits(75).says(&["cost limit reached", "--max-cost "]);
    assert_eq!(provider.asked().len(), before, "no call is made that the limit does not allow");
    raised_until_completed(&folder, &provider, stopped);
    assert_eq!(provider.asked().len(), before + 4);
}

#[test]
fn a_limit_that_a_failed_called_run_meets_when_it_goes_on_is_named_and_raised() {
    let provider = Provider::start();
    let folder = folder(["first", "second", "third"]);
    folder.write("flows/caller.yaml", CALLER.replace("  - ref: both\n", "  - ref: one\n"));
    folder.write("script.yaml", "answers:\n  a: one\n  b: { error: { status: 400 } }\n");
    run(&folder, &provider, &["trust", "flows"]).exits(0);
    run(&folder, &provider, &["run", "flows/caller.yaml", "--model", "scripted=script.yaml"]).exits(1);
    let (caller, _) = runs(&folder, &provider);
    // Two calls were made: the limit is met before, or exactly where the run failed.
    for limit in ["1", "2"] {
        let met = run(&folder, &provider, &["resume", id(&caller), "--model", "embedded", "--max-calls", limit]);
        let raised = format!("trefoil resume {} --max-calls ", id(&caller));
        met.exits(1).says(&["BUDGET_EXCEEDED", "call limit reached", &raised]);
        assert!(!met.err.contains("WOULD_REPEAT"), "{}", met.err);
    }
    run(&folder, &provider, &["resume", id(&caller), "--model", "embedded", "--max-calls", "9"]).exits(0);
}
