//! A provider's rate limit applies to all runs of a process together. It is a limit per minute; that a call is made when the minute is
//! over is tested with a clock that nobody waits for, in the crate of the driver.

use std::io::{BufRead as _, BufReader};
use std::time::Duration;

use crate::durable::{command, until};
use crate::provider::Provider;
use crate::world::{Folder, wait};

/// Two calls use this many tokens, and three are estimated to use it.
const LIMIT: u32 = 4_000;

fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("caller.yaml", "id: caller\nkind: sequential\nsteps:\n  - ref: own\n  - ref: call\n");
    folder
        .write("own.yaml", "id: own\nkind: llm\nmodel: { provider: openai, name: m }\ninstruction: I.\nprompt: own\n");
    folder.write("call.yaml", "id: call\nkind: tool\ntool: { kind: local, name: ship, params: { message: it } }\n");
    let node = |id: &str| format!("  {id}: {{ type: agent, agent: {id}, writes: output.{id} }}\n");
    let agent = |id: &str| format!("  {id}: {{ model: \"openai:m\", system: \"{id} of the called run\" }}\n");
    folder.write(
        "other/ship.yaml",
        format!(
            "version: \"0.1\"\nnodes:\n{}{}agents:\n{}{}edges: [{{ from: a, to: b }}]\ninput: {{ message: it }}\n",
            node("a"),
            node("b"),
            agent("a"),
            agent("b")
        ),
    );
    let limits = format!("[limits.openai]\ntokens_per_minute = {LIMIT}\n[tools.ship]\nflow = \"other/ship.yaml\"\n");
    folder.write("trefoil.toml", limits);
    folder
}

#[test]
fn tokens_a_minute_are_those_of_all_runs_of_a_process() {
    let provider = Provider::with_usage(|_| (1_500, 400));
    let folder = folder();
    let trefoil = |args: &[&str]| {
        let mut command = command(&folder, &provider, args);
        command.env("TREFOIL_CONFIG_DIR", folder.path().join("config"));
        command.spawn().unwrap()
    };
    wait(trefoil(&["trust", "."])).exits(0);
    let mut run = trefoil(&["run", "caller.yaml", "--input", "x"]);
    until("two calls", || provider.asked().len() == 2);
    std::thread::sleep(Duration::from_secs(3));
    assert_eq!(provider.asked().len(), 2, "the third call passes the limit");
    run.kill().unwrap();
    wait(run);
    let runs = wait(trefoil(&["runs", "list", "--output", "json"])).exits(0).json();
    let called = runs["runs"].as_array().unwrap().iter().find(|run| run["flow"] != "caller").unwrap();
    let events = wait(trefoil(&["runs", "events", called["run"].as_str().unwrap()])).exits(0).lines();
    let has = |event: &str| {
        let is = |line: &&serde_json::Value| {
            line["event"] == event && line["key"].as_str().is_some_and(|key| key.contains('b'))
        };
        events.iter().find(is).is_some()
    };
    assert!(has("step_started") && !has("model_finished"), "{events:?}");
}

/// Starts a run with two calls of which the second has to wait, returns the first line of output that contains this
/// text, and ends the run.
fn first_line(args: &[&str], on_stderr: bool, text: &str) -> String {
    let provider = Provider::start();
    let folder = Folder::new();
    folder.write("two.yaml", "id: two\nkind: sequential\nsteps:\n  - ref: a\n  - ref: b\n");
    for id in ["a", "b"] {
        let model = "model: { provider: openai, name: m }";
        folder.write(&format!("{id}.yaml"), format!("id: {id}\nkind: llm\n{model}\ninstruction: I.\nprompt: {id}\n"));
    }
    folder.write("config/config.toml", "[limits.openai]\nrequests_per_minute = 1\n");
    let mut command = command(&folder, &provider, &[&["run", "two.yaml", "--input", "x"], args].concat());
    let mut child = command.env("TREFOIL_CONFIG_DIR", folder.path().join("config")).spawn().unwrap();
    let (out, err) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
    let stream: Box<dyn std::io::Read> = if on_stderr { Box::new(err) } else { Box::new(out) };
    let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
    let line = lines.find(|line| line.contains(text));
    child.kill().unwrap();
    child.wait().unwrap();
    line.unwrap_or_else(|| panic!("no `{text}`"))
}

#[test]
fn a_call_that_waits_for_a_limit_says_so() {
    let line = first_line(&["--events", "jsonl"], false, "model_waiting");
    let event: serde_json::Value = serde_json::from_str(&line).unwrap();
    assert_eq!((&event["provider"], &event["limit"]), (&"openai".into(), &"requests_per_minute".into()));
    assert!(event["delay_ms"].as_u64().is_some_and(|ms| (50_000..=60_000).contains(&ms)), "{line}");
    let line = first_line(&[], true, "waiting for");
    assert!(line.contains("waiting for `[limits.openai]`, about ") && line.ends_with(" s"), "{line}");
}
