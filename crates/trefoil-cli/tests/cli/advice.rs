//! What is told after each kind of failure in each format: how the run can be continued, and what an edit can help with. Every place
//! tells the same: stderr, the trace of the run, that of the stored run, its page, and `runs show`.
#![cfg(unix)]

use serde_json::{Value, json};

use crate::durable::{signal, until};
use crate::trace::{stored, views};
use crate::world::{Folder, wait};

const CONTINUE: &str = "to continue";
const UNCHANGED: &str = "unchanged";
const EDIT: &str = "after an edit";
const MODEL: &str = "with another model";
const FORK: &str = "to run the failed items again";
const ANSWER: &str = "to answer";

/// A kind of failure in a format.
struct Case {
    kind: &'static str,
    dialect: &'static str,
    /// The manifest; its format is named by the file.
    text: String,
    args: &'static [&'static str],
    script: Value,
    code: i32,
    /// The code of the error; empty if there is none.
    error: &'static str,
    /// The purposes of the commands that are told, in their order.
    told: &'static [&'static str],
}

fn agntz(rest: &str) -> String {
    format!(
        "id: a\nkind: llm\nmodel: {{ provider: openai, name: m }}\ninputSchema: {{ q: string }}\ninstruction: I.\nprompt: \"{{{{q}}}}\"\n{rest}"
    )
}

fn aegis_agent(rest: &str) -> String {
    format!(
        "apiVersion: 100monkeys.ai/v1\nkind: Agent\nmetadata: {{ name: a, version: \"1.0.0\" }}\nspec:\n  runtime: {{ model: \"openai:m\" }}\n  \
         task: {{ instruction: \"Do it.\", prompt_template: \"{{{{instruction}}}} {{{{input}}}}\" }}\n{rest}"
    )
}

fn aegis(states: &str) -> String {
    format!(
        "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata: {{ name: w, version: \"1.0.0\" }}\nspec:\n  initial_state: A\n  states:\n{states}"
    )
}

fn sirenspec(agent: &str, nodes: &str, rest: &str) -> String {
    format!(
        "version: \"0.1\"\nagents: {{ a: {{ model: \"openai:m\", system: \"S {{{{ inputs.message }}}}\"{agent} }} }}\nnodes:\n{nodes}\n{rest}input: {{ message: hi }}\n"
    )
}

const NODE: &str = "  n: { agent: a, writes: output.x }";
const ITEMS: &str = "  n: { agent: a, writes: working.x }\n  f: { type: factory, agent: b, for_each: \"{{ n.output }}\", inputs: { t: \"{{ item.x }}\" }, writes: output.o";

fn items(policy: &str) -> String {
    let text = sirenspec("", &format!("{ITEMS}{policy} }}"), "edges: [ { from: n, to: f } ]\n");
    text.replace("agents: {", "agents: { b: { model: \"openai:m\", system: \"B {{ inputs.t }}\" },")
}

fn every(answer: Value) -> Value {
    json!({ "answers": { "*": answer } })
}

fn cases() -> Vec<Case> {
    let (agent, input) = (&["-i", "q=x"][..], &["-i", "input=x"][..]);
    let commands = &["-i", "x", "--allow-command"][..];
    let both = &[CONTINUE, EDIT][..];
    let mut all = Vec::new();
    let mut add = |kind, dialect, text: String, args, script, error, told| {
        let code = match error {
            "" if told == [FORK] => 0,
            "" => 75,
            _ => 1,
        };
        all.push(Case { kind, dialect, text, args, script, code, error, told });
    };
    // What the provider may say, tried once where the format can say so.
    for (kind, status) in [("provider error", 503), ("bad key", 401), ("bad request", 400), ("no such model", 404)] {
        let script = every(json!({ "error": { "status": status } }));
        // The same request would fail again.
        let told = if matches!(status, 400 | 404) { [EDIT, MODEL, UNCHANGED] } else { [CONTINUE, EDIT, MODEL] };
        let told: &[&str] = Vec::leak(told.to_vec());
        add(kind, "agntz", agntz("maxRetries: 0\n"), agent, script.clone(), "MODEL_ERROR", told);
        add(kind, "aegis", aegis_agent(""), input, script.clone(), "MODEL_ERROR", told);
        let node = sirenspec("", NODE, "edges: []\ndefaults: { retry: { max_attempts: 1 } }\n");
        add(kind, "sirenspec", node, &[], script, "MODEL_ERROR", told);
    }
    // Answers that the format cannot use. Where the answer is a result that stands, only an edit helps.
    let words = every(json!("in words"));
    let schema = agntz("outputSchema: { n: number }\n");
    add("wrong JSON", "agntz", schema, agent, words.clone(), "STRUCTURED_OUTPUT_INVALID", both);
    let checked = "  execution:\n    mode: iterative\n    max_iterations: 2\n    validation:\n      - { type: json_schema, schema: { type: object, required: [n] } }\n";
    add("wrong JSON", "aegis", aegis_agent(checked), input, words.clone(), "MAX_ITERATIONS_EXCEEDED", &[EDIT]);
    add("wrong JSON", "sirenspec", items(""), &[], words.clone(), "INTERPOLATION_ERROR", &[EDIT]);
    // Templates. Those of AEGIS and agntz give empty text instead of failing.
    let bare = every(json!("[1]"));
    add("template error", "sirenspec", items(""), &[], bare, "INTERPOLATION_ERROR", &[EDIT]);
    // Limits of the manifest.
    let calls = json!({ "answers": { "*": { "calls": [ { "name": "t", "arguments": {} } ] } }, "tools": { "t": { "value": 1 } } });
    let tools = agntz("tools: [ { kind: local, tools: [ t ] } ]\nmaxSteps: 2\n");
    add("limit reached", "agntz", tools, agent, calls, "MAX_STEPS_EXCEEDED", both);
    let circle = aegis(
        "    A: { kind: System, command: \"true\", transitions: [ { condition: always, target: A } ] }\n    B: { kind: System, command: \"true\" }\n",
    );
    let circle = circle.replace(
        "{ kind: System, command: \"true\", transitions",
        "{ kind: System, command: \"true\", max_state_visits: 2, transitions",
    );
    add("limit reached", "aegis", circle, commands, words.clone(), "MAX_STATE_VISITS_EXCEEDED", &[EDIT]);
    let two = "  n: { agent: a, writes: working.x }\n  m: { agent: a, writes: output.y }";
    let limited = sirenspec("", two, "edges: [ { from: n, to: m } ]\nbudget: { max_calls: 1, on_exceeded: abort }\n");
    add("limit reached", "sirenspec", limited, &[], words.clone(), "BUDGET_EXCEEDED", &[EDIT]);
    // Tools and commands.
    let broken = json!({ "answers": {}, "tools": { "t": { "error": "it is broken" } } });
    let tool = "id: a\nkind: tool\ntool: { kind: local, name: t, params: {} }\n".to_owned();
    add("tool failure", "agntz", tool, &[], broken, "TOOL_ERROR", both);
    let python =
        "  t: { type: tool, tool: python, config: { module: os, function: no_such_thing, args: {} }, output_key: d }";
    let python = sirenspec("", python, "edges: []\n");
    add("tool failure", "sirenspec", python, &["--allow-command"], words.clone(), "TOOL_ERROR", both);
    let failing = "    A: { kind: System, command: \"exit 4\", transitions: [ { condition: on_success, target: B } ] }\n    B: { kind: System, command: \"true\" }\n";
    add("command failure", "aegis", aegis(failing), commands, words.clone(), "NO_TRANSITION", both);
    // Time limits.
    let slow = every(json!({ "text": "late", "delay_ms": 20_000 }));
    add("timeout", "agntz", agntz("timeoutMs: 200\nmaxRetries: 0\n"), agent, slow, "TIMEOUT", both);
    let sleeps = failing.replace("command: \"exit 4\"", "command: \"sleep 20\", timeout: 1s");
    add("timeout", "aegis", aegis(&sleeps), commands, words.clone(), "TIMEOUT", both);
    // Guardrails.
    let guarded =
        sirenspec(", guardrails: [ { name: schema, config: { schema: { type: object } } } ]", NODE, "edges: []\n");
    add("guardrail refused", "sirenspec", guarded, &[], words.clone(), "GUARDRAIL_VIOLATION", both);
    let refused = checked.replace(
        "type: json_schema, schema: { type: object, required: [n] }",
        "type: regex, target: stdout, pattern: \"^ok\"",
    );
    add("guardrail refused", "aegis", aegis_agent(&refused), input, words.clone(), "MAX_ITERATIONS_EXCEEDED", &[EDIT]);
    // Some items.
    let some = json!({ "answers": { "n": "[{\"x\": 1}, {\"x\": 2}]", "f[1]/b": { "error": { "status": 400 } }, "*": "fine" } });
    add("partial for_each", "sirenspec", items(", on_failure: continue"), &[], some, "", &[FORK]);
    // A tool that the model does not call.
    let needs = aegis_agent("  tools: [ t ]\n  execution: { require_tool_call: true }\n");
    let fine = json!({ "answers": { "*": "fine" }, "tools": { "t": { "value": 1 } } });
    add("no needed tool", "aegis", needs, input, fine, "TOOL_CALL_MISSING", both);
    // People.
    let asks = "    A: { kind: Human, prompt: \"Open?\", transitions: [ { condition: always, target: B } ] }\n    B: { kind: System, command: \"true\" }\n";
    add("waiting", "aegis", aegis(asks), commands, words.clone(), "", &[ANSWER, CONTINUE]);
    let asks = "  h: { type: human, prompt: \"Open?\", writes: output.h }";
    add("waiting", "sirenspec", sirenspec("", asks, "edges: []\n"), &[], words, "", &[ANSWER, CONTINUE]);
    all
}

/// What takes long: `.ci/hunt` runs it, the gate does not.
mod hunt {
    use super::*;

    #[test]
    fn every_failure_in_every_format_says_in_all_places_how_to_go_on() {
        let cases = cases();
        for Case { kind, dialect, text, args, script, code, error, told } in &cases {
            let what = format!("{kind} in {dialect}");
            let folder = Folder::new();
            let file = format!("{dialect}.yaml");
            folder.write(&file, text).write("s.json", script.to_string());
            let run =
                [&["run", &file, "--model", "scripted=s.json", "--no-check", "--trace", "live.json"], *args].concat();
            let ran = stored(&folder, &run);
            assert_eq!(ran.code, *code, "{what}: {ran:?}");
            assert!(ran.err.contains(error), "{what}: {ran:?}");
            let live: Value =
                serde_json::from_str(&std::fs::read_to_string(folder.path().join("live.json")).unwrap()).unwrap();
            let (text, later, _) = views(&folder);
            assert_eq!(live["next"], later["next"], "{what}");
            assert_eq!(live["status"], later["status"], "{what}");
            let next = live["next"].as_array().cloned().unwrap_or_default();
            let purposes: Vec<&str> = next.iter().map(|one| one["purpose"].as_str().unwrap()).collect();
            assert_eq!(purposes, *told, "{what}: {ran:?}");
            for one in &next {
                let command = one["command"].as_str().unwrap();
                assert!(ran.err.contains(command) && text.contains(command), "{what}: {command}\n{}\n{text}", ran.err);
            }
            // A run that would only fail again is not offered as one that continues.
            let is_open = told.contains(&CONTINUE) || told.contains(&UNCHANGED);
            assert_eq!(ran.err.contains("trefoil resume ") && !is_open, told.contains(&EDIT) && !is_open, "{what}");
            if *code == 1 {
                let again = stored(&folder, &["resume", "last", "--quiet", "--allow-command"]);
                assert_eq!(again.err.contains("WOULD_REPEAT"), !is_open, "{what}: {again:?}");
            }
        }
        assert_eq!(cases.len(), 30);
    }

    #[test]
    fn a_run_that_was_stopped_says_in_all_places_how_to_go_on() {
        let slow = every(json!({ "text": "late", "delay_ms": 60_000 }));
        let inputs = [("agntz", agntz(""), "q=x"), ("aegis", aegis_agent(""), "input=x")];
        for (dialect, text, input) in
            inputs.into_iter().chain([("sirenspec", sirenspec("", NODE, "edges: []\n"), "message=x")])
        {
            for (name, code) in [("-INT", 130), ("-KILL", -1)] {
                let folder = Folder::new();
                let file = format!("{dialect}.yaml");
                folder.write(&file, &text).write("s.json", slow.to_string());
                let run = ["run", &file, "-i", input, "--model", "scripted=s.json", "--store", "runs.db"];
                let mut command = folder.command(&run);
                let events = std::fs::File::create(folder.path().join("said")).unwrap();
                command.env_remove("TREFOIL_EPHEMERAL").stderr(events);
                let child = command.spawn().unwrap();
                let said = || std::fs::read_to_string(folder.path().join("said")).unwrap();
                until("the call", || said().contains('…'));
                signal(&child, name);
                let ran = wait(child);
                assert_eq!(ran.code, code, "{dialect} {name}");
                let (text, json, _) = views(&folder);
                assert_eq!(json["status"], "interrupted", "{dialect} {name}");
                let show = stored(&folder, &["runs", "show", "last"]).out;
                for said in [&text, &show] {
                    let row = said.lines().find(|line| line.contains('⊘')).unwrap_or_else(|| panic!("{said}"));
                    assert!(row.contains("interrupted") && !row.contains(" ms"), "{row}");
                }
                let next = json["next"].as_array().unwrap();
                assert_eq!((next.len(), &next[0]["purpose"]), (1, &json!(CONTINUE)), "{dialect} {name}");
                let command = next[0]["command"].as_str().unwrap();
                assert_eq!(said().contains(command), code == 130, "{dialect} {name}: {}", said());
            }
        }
    }
}
