//! Flows as tools of other flows: in the same format as `spawnable`, and in any format with `[tools.NAME] flow`.

use crate::durable::priced;
use crate::provider::Provider;
use crate::world::{Folder, Ran, finish};

const BOSS: &str = "id: boss\nkind: llm\nmodel: { provider: openai, name: gpt-x }\ninstruction: Ask others.\nspawnable:\n  - { kind: ref, agentId: helper }\n  - kind: inline\n    definition: { id: poet, kind: llm, description: Writes verse, model: { provider: openai, name: gpt-x }, instruction: Verse. }\n";
const HELPER: &str = "id: helper\nkind: llm\ninputSchema: { topic: string }\nmodel: { provider: openai, name: gpt-x }\ninstruction: \"About {{topic}}.\"\n";
const CALLER: &str =
    "id: caller\nkind: tool\ntool: { kind: local, name: ship, params: { message: \"{{userQuery}}\" } }\n";
const SHIP: &str = "version: \"0.1\"\nnodes:\n  ok: { type: human, prompt: \"Ship {{ inputs.message }}?\", writes: working.said }\n  say: { type: agent, agent: writer, writes: output.text }\nagents:\n  writer: { model: \"openai:gpt-x\", system: \"{{ ok.output }}\" }\nedges: [{ from: ok, to: say }]\ninput: { message: it }\n";

/// A folder with a caller and the flow that it calls. The user trusts it.
fn shipping(flow: &str) -> Folder {
    let folder = Folder::new();
    folder.write("flows/caller.yaml", CALLER).write("other/ship.yaml", SHIP);
    folder.write("flows/trefoil.toml", format!("[tools.ship]\nflow = \"{flow}\"\n"));
    folder
        .write("script.yaml", "answers:\n  writer: { text: shipped, usage: { input_tokens: 3, output_tokens: 2 } }\n");
    run(&folder, &["trust", "flows"]).exits(0);
    folder
}

fn run(folder: &Folder, args: &[&str]) -> Ran {
    let mut command = folder.command(args);
    command.env_remove("TREFOIL_EPHEMERAL").env("TREFOIL_CONFIG_DIR", folder.path().join("config"));
    finish(command)
}

#[test]
fn a_model_spawns_agents_and_reads_what_they_answer() {
    let folder = Folder::new();
    folder.write("boss.yaml", BOSS).write("helper.yaml", HELPER);
    folder.write(
        "script.yaml",
        "answers:\n  boss:\n    - calls:\n        - { name: spawn_agent, arguments: { agent_id: helper, input: { topic: otters } } }\n        - { name: spawn_agent, arguments: { agent_id: poet, input: the sea } }\n        - { name: spawn_agent, arguments: { agent_id: nobody, input: x } }\n    - All done.\n  helper: Otters float.\n  poet: Waves.\n",
    );
    folder.trefoil(&["check", "boss.yaml"]).exits(0);
    let ran =
        folder.trefoil(&["run", "boss.yaml", "--model", "scripted=script.yaml", "--input", "go", "--trace", "t.json"]);
    assert_eq!(ran.exits(0).out, "All done.\n");
    let trace = std::fs::read_to_string(folder.path().join("t.json")).unwrap();
    for part in ["Otters float.", "Waves.", "is not one of", "About otters."] {
        assert!(trace.contains(part), "{part}: {trace}");
    }
    let plan = folder.trefoil(&["plan", "boss.yaml"]);
    assert!(plan.out.contains("helper") && plan.out.contains("poet"), "{}", plan.out);
}

#[test]
fn a_flow_of_another_format_is_a_tool_whose_run_outlives_its_caller() {
    let folder = shipping("../other/ship.yaml");
    let args = ["run", "flows/caller.yaml", "--model", "scripted=script.yaml", "--input", "tea", "--store", "runs.db"];
    let waits = run(&folder, &args);
    let runs = run(&folder, &["runs", "list", "--output", "json", "--store", "runs.db"]).json();
    let id = |flow: &str| {
        let all = runs["runs"].as_array().unwrap();
        all.iter().find(|run| run["flow"] == flow).unwrap()["run"].as_str().unwrap().to_owned()
    };
    let (caller, ship) = (id("caller"), id("ship"));
    waits.exits(75).says(&[
        &format!("waiting: `ok` (run {ship}, called by `caller`) asks: Ship tea?\n  trefoil runs answer {ship} ok "),
        &format!("then: trefoil resume {caller}"),
    ]);
    let shown = run(&folder, &["runs", "show", &caller, "--store", "runs.db"]);
    for part in [
        "status   waiting\n",
        &format!("called   {ship} ship waiting: 0 calls"),
        &format!("waiting  `ok` (run {ship}, called by `caller`) asks: Ship tea?\n"),
    ] {
        assert!(shown.out.contains(part), "no `{part}` in {}", shown.out);
    }
    // Nothing has changed, so it waits as before, however often it is resumed.
    for _ in 0..12 {
        run(&folder, &["resume", &caller, "--store", "runs.db"]).exits(75);
    }
    let answered = run(&folder, &["runs", "answer", &ship, "ok", "yes", "--store", "runs.db"]);
    answered.exits(0).says(&[&format!("to continue: trefoil resume {caller}")]);
    let shown = run(&folder, &["runs", "show", &caller, "--store", "runs.db"]);
    assert!(shown.out.contains(", from command line: yes)\n"), "{}", shown.out);
    run(&folder, &["runs", "answer", &caller, "ok", "no", "--store", "runs.db"]).exits(2).says(&["already answered"]);
    let again = run(&folder, &["resume", &caller, "--store", "runs.db", "--output", "json"]);
    assert_eq!(again.exits(0).json()["text"], "shipped");
    // The flow's usage is part of its caller's usage.
    assert!(again.err.contains("3 tokens in, 2 out"), "{}", again.err);
    let runs = run(&folder, &["runs", "list", "--output", "json", "--store", "runs.db"]).json();
    assert_eq!(runs["runs"].as_array().unwrap().len(), 2, "it was one run: {runs}");
}

#[test]
fn answers_given_beforehand_are_for_the_steps_of_called_flows_too() {
    let folder = shipping("../other/ship.yaml");
    let args = |name: &'static str| {
        [
            "run",
            "flows/caller.yaml",
            "--model",
            "scripted=script.yaml",
            "--input",
            "tea",
            "--ephemeral",
            "--answer",
            name,
        ]
    };
    let ran = run(&folder, &args("ok=yes"));
    assert_eq!(ran.exits(0).json()["text"], "shipped");
    run(&folder, &args("okay=yes")).exits(2).says(&["unknown-answer", "unknown human step `okay`"]);
}

#[test]
fn a_step_of_a_called_flow_is_also_named_by_the_step_that_calls_it() {
    let folder = shipping("../other/ship.yaml");
    let call = |id: &str| {
        format!(
            "  - agent: {{ id: {id}, kind: tool, tool: {{ kind: local, name: ship, params: {{ message: {id} }} }} }}\n"
        )
    };
    folder.write("flows/two.yaml", format!("id: two\nkind: sequential\nsteps:\n{}{}", call("one"), call("other")));
    let start = ["run", "flows/two.yaml", "--model", "scripted=script.yaml", "--store", "runs.db"];
    run(&folder, &[&start[..], &["--answer", "none/ok=yes"]].concat()).exits(2).says(&["unknown human step `none/ok`"]);
    // The answer is for one of the two calls.
    run(&folder, &[&start[..], &["--answer", "one/ok=yes"]].concat()).exits(75).says(&["asks: Ship other?"]);
    run(&folder, &["runs", "answer", "last", "one/ok", "yes", "--store", "runs.db"]).exits(2);
    let caller = run(&folder, &["runs", "list", "--output", "json", "--store", "runs.db"]).json();
    let caller = caller["runs"].as_array().unwrap().iter().find(|run| run["flow"] == "two").unwrap()["run"].clone();
    let caller = caller.as_str().unwrap();
    run(&folder, &["runs", "answer", caller, "one/ok", "yes", "--store", "runs.db"]).exits(2);
    run(&folder, &["runs", "answer", caller, "other/ok", "yes", "--store", "runs.db"]).exits(0);
    run(&folder, &["resume", caller, "--store", "runs.db"]).exits(0);
}

/// A flow that calls another one twice with the same input, in a structure with a name.
pub fn calling_twice() -> Folder {
    let folder = shipping("../other/ship.yaml");
    let call = |id: &str| {
        format!(
            "        - agent: {{ id: {id}, kind: tool, tool: {{ kind: local, name: ship, params: {{ message: tea }} }} }}\n"
        )
    };
    let branches = [call("one"), call("other")].concat();
    let both = "id: two\nkind: sequential\nsteps:\n  - agent:\n      id: both\n      kind: parallel\n      branches:\n";
    folder.write("flows/two.yaml", format!("{both}{branches}"));
    folder
}

#[test]
fn what_is_around_a_call_may_be_left_out_of_the_name_of_a_step() {
    let folder = calling_twice();
    let start = ["run", "flows/two.yaml", "--model", "scripted=script.yaml", "--store", "runs.db"];
    for (one, other) in [("one/ok=yes", "other/ok=yes"), ("both/one/ok=yes", "both/other/ok=yes")] {
        run(&folder, &[&start[..], &["--answer", one, "--answer", other]].concat()).exits(0);
    }
    run(&folder, &[&start[..], &["--answer", "both/ok=yes"]].concat()).exits(2).says(&["unknown human step `both/ok`"]);
    let waits = run(&folder, &[&start[..], &["--answer", "one/ok=yes"]].concat());
    waits.exits(75).says(&["called by `both/other`"]);
    assert!(!waits.err.contains("called by `both/one`"), "{}", waits.err);
}

#[test]
fn equal_questions_of_two_calls_say_which_call_asks() {
    let folder = calling_twice();
    let waits = run(&folder, &["run", "flows/two.yaml", "--model", "scripted=script.yaml", "--store", "runs.db"]);
    waits.exits(75).says(&["called by `both/one`) asks: Ship tea?", "called by `both/other`) asks: Ship tea?"]);
    let stored = |args: &[&str]| run(&folder, &[args, &["--store", "runs.db"]].concat());
    let runs = stored(&["runs", "list", "--output", "json"]).json();
    let caller = runs["runs"].as_array().unwrap().iter().find(|run| run["flow"] == "two").unwrap()["run"].clone();
    let caller = caller.as_str().unwrap();
    for views in [&["runs", "show", caller, "--output", "json"][..], &["trace", caller, "--json"]] {
        let waiting = stored(views).json()["waiting"].clone();
        let mut calls: Vec<String> = waiting.as_array().unwrap().iter().map(|one| one["calls"].to_string()).collect();
        calls.sort();
        assert_eq!(calls, [r#"["both/one"]"#, r#"["both/other"]"#], "{waiting}");
    }
    let trace = stored(&["trace", caller]);
    assert!(
        trace.out.contains("called by `both/one`") && trace.out.contains("called by `both/other`"),
        "{}",
        trace.out
    );
    let refused = stored(&["runs", "answer", caller, "ok", "yes"]);
    refused.exits(2).says(&["several steps are named `ok`", "`both/one/ok`", "`both/other/ok`"]);
    // Without what is around the call, and as the refusal printed it.
    stored(&["runs", "answer", caller, "one/ok", "yes"]).exits(0);
    stored(&["runs", "answer", caller, "one/ok", "no"]).exits(2).says(&["already answered with `yes`"]);
    stored(&["runs", "answer", caller, "both/other/ok", "yes"]).exits(0);
    stored(&["resume", caller]).exits(0);
}

#[test]
fn a_flow_that_does_not_load_stops_its_callers_before_they_start() {
    let folder = shipping("../other/gone.yaml");
    let args = ["run", "flows/caller.yaml", "--model", "scripted=script.yaml", "--input", "tea", "--ephemeral"];
    let ran = run(&folder, &args);
    ran.exits(2).says(&["missing-tool", "caller.yaml:3", "its flow", "gone.yaml` does not exist"]);
}

#[test]
fn flows_that_call_each_other_come_to_an_end() {
    let folder = shipping("caller.yaml");
    folder.write("flows/caller.yaml", CALLER.replace("message:", "input:"));
    let ran =
        run(&folder, &["run", "flows/caller.yaml", "--model", "scripted=script.yaml", "--input", "tea", "--ephemeral"]);
    ran.exits(1).says(&["more than 5 levels deep"]);
}

/// An agent that a provider answers, and that may call the flow `ship`.
const ASKER: &str = "id: main\nkind: sequential\nsteps:\n  - { ref: a, stateKey: x }\n";
const OFFERED: &str = "id: a\nkind: llm\nmodel: { provider: openai, name: m }\ninstruction: I.\nmaxSteps: 2\ntools: [{ kind: local, tools: [ship] }]\n";
const TELLS: &str = "id: tells\nkind: tool\ntool: { kind: local, name: post, params: { input: \"{{userQuery}}\" } }\n";
const POSTS: &str =
    "id: posts\nkind: sequential\nsteps:\n  - { ref: sends, stateKey: sent }\n  - { ref: words, stateKey: said }\n";
const SENDS: &str = "id: sends\nkind: tool\ntool: { kind: http, name: sends, url: \"https://example.com/\", method: POST, headers: { key: \"{{secrets.POST_KEY}}\" }, params: {} }\n";
const WORDS: &str =
    "id: words\nkind: llm\nmodel: { provider: mistral, name: mistral-unheard-of }\ninstruction: Words.\n";

fn offering(more: &[(&str, &str)]) -> (Folder, Provider) {
    let folder = Folder::new();
    folder.write("main.yaml", ASKER).write("a.yaml", OFFERED).write("tells/tells.yaml", TELLS);
    folder.write("posts/posts.yaml", POSTS).write("posts/sends.yaml", SENDS).write("posts/words.yaml", WORDS);
    folder.write(
        "trefoil.toml",
        "[tools.ship]\nflow = \"tells/tells.yaml\"\n[tools.post]\nflow = \"posts/posts.yaml\"\n",
    );
    folder.write("config/config.toml", "[prices]\n\"openai:m\" = { input = 1, output = 2 }\n");
    for (name, text) in more {
        folder.write(name, text);
    }
    let provider = Provider::start();
    finish(priced(&folder, &provider, &["trust", "."])).exits(0);
    (folder, provider)
}

#[test]
fn what_flows_lack_that_a_model_may_call_is_reported_before_anything_is_paid_for() {
    let (folder, provider) = offering(&[]);
    let ran = finish(priced(&folder, &provider, &["run", "main.yaml", "--input", "x", "--no-check"]));
    ran.exits(2).says(&[
        "missing-secret",
        "the secret `POST_KEY` is not set (in the flow of the tool `post`)",
        "posts/sends.yaml:3",
        "missing-model",
        "MISTRAL_API_KEY",
        "posts/words.yaml:3",
        "tells/tells.yaml:3",
        "`post` is called here",
    ]);
    assert_eq!(ran.err.matches("POST_KEY` is not set").count(), 1, "{}", ran.err);
    assert!(provider.asked().is_empty(), "{:?}", provider.asked());
    // A run with all of it starts.
    let run = ["run", "main.yaml", "--input", "x", "--no-check", "--allow-host", "example.com"];
    let mut command = priced(&folder, &provider, &run);
    command.env("TREFOIL_SECRET_POST_KEY", "4711").env("MISTRAL_API_KEY", "k");
    let ran = finish(command);
    assert!(!provider.asked().is_empty(), "{}", ran.err);
}

#[test]
fn a_cost_limit_needs_the_prices_of_the_flows_that_are_tools() {
    let (folder, provider) = offering(&[]);
    let run = ["run", "main.yaml", "--input", "x", "--no-check", "--max-cost", "5", "--allow-host", "example.com"];
    let mut command = priced(&folder, &provider, &run);
    command.env("TREFOIL_SECRET_POST_KEY", "4711").env("MISTRAL_API_KEY", "k");
    let unpriced = ["unknown-price", "`mistral:mistral-unheard-of` is unknown (in the flow of the tool `post`)"];
    finish(command).exits(2).says(&unpriced);
    assert!(provider.asked().is_empty(), "{:?}", provider.asked());
}

#[test]
fn a_flow_that_calls_itself_says_once_what_it_lacks() {
    let (folder, provider) = offering(&[("trefoil.toml", "[tools.post]\nflow = \"tells/tells.yaml\"\n")]);
    folder.write("tells/tells.yaml", TELLS.replace("{{userQuery}}", "{{secrets.POST_KEY}}"));
    let ran = finish(priced(&folder, &provider, &["run", "tells/tells.yaml", "--input", "x", "--no-check"]));
    ran.exits(2).says(&["the secret `POST_KEY` is not set"]);
    assert_eq!(ran.err.matches("POST_KEY` is not set").count(), 1, "{}", ran.err);
}

/// What is printed about a state of a called flow names its visit.
#[test]
fn a_state_of_a_called_flow_is_allowed_to_run_again_by_the_key_of_its_visit() {
    let folder = Folder::new();
    let sub = |command: &str| {
        format!(
            "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata: {{ name: sub, version: \"1.0.0\" }}\nspec:\n  initial_state: B\n  \
             states:\n    B: {{ kind: System, command: \"{command}\", transitions: [] }}\n"
        )
    };
    folder.write("sub.yaml", sub("echo one >> done"));
    folder.write("call.yaml", "id: call\nkind: tool\ntool: { kind: local, name: sub, params: { input: x } }\n");
    folder.write("config/config.toml", format!("[tools.sub]\nflow = \"{}/sub.yaml\"\n", folder.path().display()));
    let ran = |args: &[&str]| run(&folder, &[args, &["--store", "runs.db"]].concat());
    ran(&["run", "call.yaml", "--allow-command"]).exits(0);
    let first = ran(&["runs", "list", "--flow", "call", "--output", "json"]).json()["runs"][0]["run"].clone();
    folder.write("sub.yaml", sub("echo two >> done"));
    ran(&["resume", first.as_str().unwrap(), "--with", "call.yaml", "--allow-command"]).exits(75);
    let next = ran(&["runs", "list", "--flow", "call", "--output", "json"]).json()["runs"][0]["run"].clone();
    ran(&["resume", next.as_str().unwrap(), "--rerun", "call/B@1", "--allow-command"]).exits(0);
    assert_eq!(std::fs::read_to_string(folder.path().join("done")).unwrap(), "one\ntwo\n");
}

#[test]
fn a_called_flow_that_refuses_its_arguments_needs_an_edit_before_the_run_is_continued() {
    let folder = shipping("../other/ship.yaml");
    let caller = CALLER.replace("{{userQuery}}", "{{env.PLACE}}");
    folder.write("flows/caller.yaml", caller);
    let mut command =
        folder.command(&["run", "flows/caller.yaml", "--model", "scripted=script.yaml", "--store", "runs.db"]);
    command.env_remove("TREFOIL_EPHEMERAL").env("TREFOIL_CONFIG_DIR", folder.path().join("config"));
    command.env("PLACE", "sk-a-key-of-some-provider").env("OPENAI_API_KEY", "sk-a-key-of-some-provider");
    let ran = finish(command);
    ran.exits(1).says(&["invalid arguments: the input `message` contains", "ship.yaml:8:10", "use another input"]);
    let at = |purpose: &str| ran.err.find(purpose).unwrap_or_else(|| panic!("{purpose}: {}", ran.err));
    assert!(at("after an edit: trefoil resume ") < at("unchanged: trefoil resume "), "{}", ran.err);
    assert!(!ran.err.contains("to continue:") && !ran.err.contains("did not start"), "{}", ran.err);
}
