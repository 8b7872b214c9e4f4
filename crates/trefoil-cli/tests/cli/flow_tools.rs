//! Flows as tools of other flows: in the same format as `spawnable`, and in any format by `[tools.NAME] flow`.

use crate::world::{Folder, Ran};

const BOSS: &str = "id: boss\nkind: llm\nmodel: { provider: openai, name: gpt-x }\ninstruction: Ask others.\nspawnable:\n  - { kind: ref, agentId: helper }\n  - kind: inline\n    definition: { id: poet, kind: llm, description: Writes verse, model: { provider: openai, name: gpt-x }, instruction: Verse. }\n";
const HELPER: &str = "id: helper\nkind: llm\ninputSchema: { topic: string }\nmodel: { provider: openai, name: gpt-x }\ninstruction: \"About {{topic}}.\"\n";
const CALLER: &str =
    "id: caller\nkind: tool\ntool: { kind: local, name: ship, params: { message: \"{{userQuery}}\" } }\n";
const SHIP: &str = "version: \"0.1\"\nnodes:\n  ok: { type: human, prompt: \"Ship {{ inputs.message }}?\", writes: working.said }\n  say: { type: agent, agent: writer, writes: output.text }\nagents:\n  writer: { model: \"openai:gpt-x\", system: \"{{ ok.output }}\" }\nedges: [{ from: ok, to: say }]\ninput: { message: it }\n";

/// A folder with a caller and the flow that it calls, which the user trusts.
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
    crate::world::finish(command)
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
    waits.exits(1).says(&["TOOL_ERROR", "`ship` failed: its run", "is waiting for a person"]);
    let runs = run(&folder, &["runs", "list", "--output", "json", "--store", "runs.db"]).json();
    let id = |flow: &str| {
        let all = runs["runs"].as_array().unwrap();
        all.iter().find(|run| run["flow"] == flow).unwrap()["run"].as_str().unwrap().to_owned()
    };
    let (caller, ship) = (id("caller"), id("ship"));
    run(&folder, &["runs", "answer", &ship, "ok", "yes", "--store", "runs.db"]).exits(0);
    let again = run(&folder, &["resume", &caller, "--store", "runs.db", "--output", "json"]);
    assert_eq!(again.exits(0).json()["text"], "shipped");
    // What the flow used is what its caller used.
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
