//! `trefoil run`: output streams, exit codes, models, people, events, traces.

use expect_test::expect;
use serde_json::{Value, json};

use crate::world::{AGENT, Folder, finish};

const PIPELINE: &str = "id: main\nkind: sequential\ninputSchema:\n  topic: string\nsteps:\n  - ref: helper\n    \
                        input: { text: \"{{topic}}\" }\n  - ref: second\n    input: { text: \"{{helper}}\" }\n";
const PART: &str = "kind: llm\nmodel: { provider: openai, name: gpt-x }\ninputSchema: { text: string }\n\
                    instruction: You help.\nprompt: \"Say {{text}}\"\n";

fn pipeline() -> Folder {
    let folder = Folder::new();
    folder
        .write("main.yaml", PIPELINE)
        .write("helper.yaml", format!("id: helper\n{PART}"))
        .write("second.yaml", format!("id: second\n{}", PART.replace("openai", "anthropic")))
        .write("script.yaml", "answers:\n  helper: one\n  second: two\n");
    folder
}

#[test]
fn the_result_and_nothing_else_is_on_stdout() {
    let folder = pipeline();
    let ran = folder.trefoil(&["run", ".#main", "--input", "topic=tea", "--model", "scripted=script.yaml"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "two\n"));
    ran.says(&["✓ helper", "✓ second", "2 calls"]);
    let quiet =
        folder.trefoil(&["run", ".#main", "--input", "topic=tea", "--model", "scripted=script.yaml", "--quiet"]);
    assert_eq!((quiet.code, quiet.out.as_str(), quiet.err.as_str()), (0, "two\n", ""));
    let json = folder.trefoil(&["run", ".", "-i", "topic=tea", "--model", "scripted=script.yaml", "--output", "json"]);
    assert_eq!(json.out, "\"two\"\n");
}

#[test]
fn the_embedded_model_says_so() {
    let folder = pipeline();
    let run = |args: &[&str]| {
        let mut all = vec!["run", "--model", "embedded", ".#main", "--input", "topic=tea"];
        all.extend(args);
        folder.trefoil(&all)
    };
    run(&[]).exits(0).says(&["embedded model"]);
    run(&["--quiet"]).exits(0).says(&["embedded model"]);
    let quiet = run(&["--quiet", "--output", "json"]);
    assert_eq!(quiet.err.lines().count(), 1, "{}", quiet.err);
    quiet.says(&["note: ", "embedded model"]);
    let events = run(&["--events", "jsonl"]).lines();
    let models: Vec<_> = events.iter().filter(|e| e["event"] == "model_started").map(|e| e["model"].clone()).collect();
    assert_eq!(models, [json!("embedded"), json!("embedded")]);
    assert_eq!(run(&["-q", "--seed", "3"]).out, run(&["-q", "--seed", "3"]).out);
}

#[test]
fn some_keys_are_not_enough_and_nothing_is_called() {
    let folder = pipeline();
    let mut command = folder.command(&["run", ".#main", "--input", "topic=tea", "--events", "jsonl"]);
    command.env("OPENAI_API_KEY", "sk-none").env("OPENAI_BASE_URL", "http://127.0.0.1:9");
    let ran = finish(command);
    ran.silent(2).says(&["missing-model", "`ANTHROPIC_API_KEY` is not set: `second` (1 agent)"]);
    assert!(!ran.err.contains("sk-none"));
    let mut command = folder.command(&["run", ".#main", "-i", "topic=tea", "--model", "openai:gpt-x"]);
    command.env("OPENAI_API_KEY", "sk-none").env("OPENAI_BASE_URL", "http://127.0.0.1:9");
    let ran = finish(command);
    ran.silent(1).says(&["MODEL_ERROR", "helper"]);
    assert!(!ran.err.contains("sk-none"));
}

#[test]
fn a_failed_run_says_what_where_and_why() {
    let folder = pipeline();
    folder.write(
        "fails.yaml",
        "answers:\n  helper: one\n  second: {error: {status: 500, message: the server is down}}\n",
    );
    let ran = folder.trefoil(&["run", ".#main", "--input", "topic=tea", "--model", "scripted=fails.yaml"]);
    ran.silent(1).says(&["MODEL_ERROR in `second", "the server is down", "./second.yaml:1:", "status 500", "✗ second"]);
}

#[test]
fn events_are_lines_and_the_last_one_has_the_output() {
    let folder = pipeline();
    let ran = folder.trefoil(&["run", ".", "-i", "topic=tea", "--model", "scripted=script.yaml", "--events", "jsonl"]);
    ran.exits(0);
    let events = ran.lines();
    assert_eq!(events.first().unwrap()["event"], "run_started");
    let last = events.last().unwrap();
    assert_eq!((&last["event"], &last["output"]), (&json!("run_finished"), &json!("two")));
    let numbered = events.iter().filter(|e| e["event"] != "text_delta");
    let numbers: Vec<u64> = numbered.map(|e| e["seq"].as_u64().unwrap()).collect();
    assert_eq!(numbers, (0..numbers.len() as u64).collect::<Vec<_>>());
    let step = events.iter().find(|e| e["event"] == "step_started" && e["label"] == "second").unwrap();
    assert_eq!((&step["file"], &step["line"]), (&json!("./main.yaml"), &json!(8)));

    folder.write("fails.yaml", "answers:\n  helper: {error: {status: 400}}\n");
    let ran = folder.trefoil(&["run", ".", "-i", "topic=tea", "--model", "scripted=fails.yaml", "--events", "jsonl"]);
    ran.exits(1);
    assert_eq!(ran.lines().last().unwrap()["error"]["code"], "MODEL_ERROR");
}

#[test]
fn the_trace_has_every_step() {
    let folder = pipeline();
    let script = "answers:\n  helper: {text: one, usage: {input_tokens: 7, output_tokens: 2}}\n  second: two\n";
    folder.write("script.yaml", script);
    let args = ["run", ".#main", "-i", "topic=tea", "--model", "scripted=script.yaml", "--trace", "trace.json", "-q"];
    folder.trefoil(&args).exits(0);
    let trace: Value = serde_json::from_slice(&std::fs::read(folder.path().join("trace.json")).unwrap()).unwrap();
    assert_eq!((&trace["status"], &trace["output"], &trace["calls"]), (&json!("completed"), &json!("two"), &json!(2)));
    let steps = trace["steps"].as_array().unwrap();
    assert_eq!(steps.iter().map(|s| s["label"].clone()).collect::<Vec<_>>(), [json!("helper"), json!("second")]);
    let first = &steps[0];
    assert_eq!((&first["key"], &first["file"], &first["line"]), (&json!("helper"), &json!("./main.yaml"), &json!(6)));
    let call = &first["calls"][0];
    let said = |at: usize| (call["messages"][at]["role"].clone(), call["messages"][at]["content"].clone());
    assert_eq!((said(0), said(1)), ((json!("system"), json!("You help.")), (json!("user"), json!("Say tea"))));
    assert_eq!((&call["answer"], &call["usage"]["input_tokens"]), (&json!("one"), &json!(7)));
    assert!(call["duration_ms"].is_u64() && first["duration_ms"].is_u64() && first["started_ms"].is_u64());
}

#[test]
fn text_and_json_results() {
    let folder = Folder::new();
    folder.write("a.yaml", format!("{AGENT}outputSchema: {{ ok: boolean, n: number }}\n"));
    folder.write("s.yaml", "answers:\n  helper: {json: {ok: true, n: 3}}\n");
    let run =
        |output: &str| folder.trefoil(&["run", "a.yaml", "-q", "--model", "scripted=s.yaml", "--output", output]).out;
    assert_eq!(run("json"), "{\"ok\":true,\"n\":3}\n");
    assert_eq!(run("text"), "{\n  \"ok\": true,\n  \"n\": 3\n}\n");
}

#[test]
fn a_tool_runs_only_where_somebody_offers_it() {
    let folder = Folder::new();
    folder.write(
        "a.yaml",
        "id: a\nkind: tool\ninputSchema: { q: string }\ntool: { kind: local, name: lookup, params: { q: \"{{q}}\" } }\n",
    );
    let ran = folder.trefoil(&["run", "--model", "embedded", "a.yaml", "--input", "q=x"]);
    ran.silent(2).says(&["missing-tool", "`lookup`", "a.yaml:"]);
    folder.write("s.yaml", "tools:\n  lookup: {value: {hits: 2}}\n");
    let ran =
        folder.trefoil(&["run", "a.yaml", "--input", "q=x", "-q", "--model", "scripted=s.yaml", "--output", "json"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "{\"hits\":2}\n"), "{}", ran.err);
}

#[cfg(target_os = "linux")]
#[test]
fn what_cannot_be_written_is_no_success() {
    let folder = pipeline();
    let full = |args: &[&str]| {
        let mut command = folder.command(args);
        command.stdout(std::fs::File::options().write(true).open("/dev/full").unwrap());
        finish(command)
    };
    let run = ["run", ".#main", "-i", "topic=tea", "--model", "scripted=script.yaml"];
    full(&run).exits(1).says(&["cannot write"]);
    full(&[&run[..], &["--events", "jsonl"]].concat()).exits(1).says(&["cannot write"]);
    for command in ["check", "plan", "graph", "ir"] {
        full(&[command, "main.yaml"]).exits(1).says(&["cannot write"]);
    }
    let traced = folder.trefoil(&[&run[..], &["--trace", "/dev/full"]].concat());
    assert_eq!((traced.code, traced.out.as_str()), (1, "two\n"));
    traced.says(&["cannot write the trace"]);
    folder.trefoil(&[&run[..], &["--trace", "nowhere/t.json"]].concat()).silent(2).says(&["nowhere/t.json"]);
}

#[test]
fn places_are_files_lines_and_columns() {
    let folder = pipeline();
    folder.write("fails.yaml", "answers:\n  helper: {error: {status: 400}}\n");
    let args =
        ["run", ".", "-i", "topic=tea", "--model", "scripted=fails.yaml", "--events", "jsonl", "--trace", "t.json"];
    let ran = folder.trefoil(&args);
    let failed = ran.exits(1).lines().into_iter().find(|e| e["event"] == "step_failed").unwrap();
    let at = json!({"file": "./helper.yaml", "line": 1, "column": 5});
    assert_eq!((&failed["error"]["location"], &failed["column"]), (&at, &json!(5)));
    assert_eq!(ran.lines().last().unwrap()["error"]["location"], at);
    let trace: Value = serde_json::from_slice(&std::fs::read(folder.path().join("t.json")).unwrap()).unwrap();
    assert_eq!((&trace["error"]["location"], &trace["steps"][0]["error"]["location"]), (&at, &at));
    assert!(!trace.to_string().contains("\"span\""), "{trace}");
}

#[test]
fn two_people_of_one_name_are_told_apart() {
    let folder = Folder::new();
    let human = |prompt: &str| format!("  h: {{type: human, prompt: {prompt}, writes: output.t}}\n");
    folder
        .write("sub/h.yaml", format!("version: \"0.1\"\nnodes:\n{}", human("inner")))
        .write("a.yaml", format!("version: \"0.1\"\nnodes:\n  c: {{type: workflow, ref: sub/h.yaml}}\n{}", human("top")))
        .write(
            "b.yaml",
            "version: \"0.1\"\nnodes:\n  c: {type: workflow, ref: sub/h.yaml}\n  d: {type: workflow, ref: sub/g.yaml}\n",
        )
        .write("sub/g.yaml", format!("version: \"0.1\"\nnodes:\n{}", human("other")));
    folder
        .trefoil(&["run", "--model", "embedded", "a.yaml", "-i", "x"])
        .silent(2)
        .says(&["--answer h=VALUE", "--answer c/h=VALUE"]);
    folder
        .trefoil(&["run", "--model", "embedded", "a.yaml", "-i", "x", "--answer", "h=1"])
        .silent(2)
        .says(&["--answer c/h=VALUE"]);
    let ran = folder.trefoil(&[
        "run", "--model", "embedded", "a.yaml", "-i", "x", "--answer", "h=1", "--answer", "c/h=2", "--events", "jsonl",
    ]);
    let ended: Vec<_> = ran.exits(0).lines().into_iter().filter(|e| e["event"] == "step_finished").collect();
    let output = |key: &str| ended.iter().find(|e| e["key"] == key).unwrap()["output"]["output"].clone();
    assert_eq!((output("h"), output("c/h")), (json!("1"), json!("2")));
    folder
        .trefoil(&["run", "--model", "embedded", "b.yaml", "-i", "x", "--answer", "h=1"])
        .silent(2)
        .says(&["ambiguous-answer", "`c/h`, `d/h`"]);
    folder
        .trefoil(&["run", "--model", "embedded", "b.yaml", "-i", "x", "--answer", "c/h=1", "--answer", "d/h=1"])
        .exits(0);
}

#[test]
fn what_is_refused_stops_the_run_before_its_first_call() {
    let folder = Folder::new();
    folder
        .write(
            "main.yaml",
            "id: main\nkind: sequential\nsteps:\n  - ref: helper\n    input: { userQuery: a }\n  - ref: pic\n",
        )
        .write("helper.yaml", AGENT)
        .write("pic.yaml", "id: pic\nkind: image\nmodel: { provider: openai, name: i }\nprompt: a tree\n")
        .write("s.yaml", "answers:\n  helper: {error: must not be called}\n");
    folder.trefoil(&["check", "main.yaml"]).exits(0);
    let ran = folder.trefoil(&["run", "main.yaml", "--model", "scripted=s.yaml", "--events", "jsonl"]);
    ran.silent(2).says(&["refused", "image", "pic.yaml:"]);
}

const APPROVAL: &str = "version: \"0.1\"\nagents:\n  writer: { model: \"openai:gpt-x\", system: \"Write.\" }\nnodes:\n  \
    draft: { agent: writer, writes: working.text }\n  approve: { type: human, prompt: \"Publish {{ draft.output }}?\", writes: output.approved }\n  \
    publish: { agent: writer, writes: output.published }\n";

#[test]
fn a_question_needs_somebody_to_answer_it() {
    let folder = Folder::new();
    folder.write("a.yaml", APPROVAL).write("s.yaml", "answers:\n  draft: The text\n  publish: Done\n");
    let run = |args: &[&str]| {
        let mut all = vec!["run", "a.yaml", "--model", "scripted=s.yaml", "--input", "x"];
        all.extend(args);
        folder.trefoil(&all)
    };
    run(&["--events", "jsonl"]).silent(2).says(&["nobody-to-ask", "--answer approve=VALUE", "a.yaml:6:"]);
    run(&["--answer", "aprove=yes"]).silent(2).says(&["did you mean `approve`?"]);
    let ran = run(&["--answer", "approve=yes", "--trace", "t.json"]);
    ran.exits(0);
    let trace: Value = serde_json::from_slice(&std::fs::read(folder.path().join("t.json")).unwrap()).unwrap();
    let approve = &trace["steps"].as_array().unwrap().iter().find(|s| s["label"] == "approve").unwrap();
    assert_eq!(approve["output"], json!({"output": "yes"}));
    let asked = &approve["calls"][0];
    assert_eq!((&asked["effect"], &asked["answer"]), (&json!("human"), &json!("yes")), "{approve}");
    assert!(asked["detail"].as_str().unwrap().contains("Publish The text?"), "{approve}");
}

#[test]
fn the_environment_is_masked_wherever_it_shows() {
    let folder = Folder::new();
    folder
        .write(
            "a.yaml",
            "version: \"0.1\"\nenv_file: vars.env\nagents:\n  a: { model: \"openai:gpt-x\", system: \"At {{ env.PLACE }} and {{ env.OTHER }}, \
             {{ env.NONE | default('nowhere') }}\" }\nnodes:\n  n: { agent: a, writes: output.n }\n",
        )
        .write("vars.env", "OTHER=from-the-file\n");
    let mut command = folder
        .command(&["run", "--model", "embedded", "a.yaml", "--input", "x", "--events", "jsonl", "--trace", "t.json"]);
    command.env("PLACE", "hidden-place-1234");
    let ran = finish(command);
    ran.exits(0);
    let trace = std::fs::read_to_string(folder.path().join("t.json")).unwrap();
    for shown in [&ran.out, &ran.err, &trace] {
        assert!(!shown.contains("hidden-place") && !shown.contains("from-the-file"), "{shown}");
    }
    assert!(trace.contains("At *** and ***, nowhere"), "{trace}");
    std::fs::remove_file(folder.path().join("vars.env")).unwrap();
    folder.trefoil(&["run", "--model", "embedded", "a.yaml", "--input", "x"]).silent(2).says(&[
        "missing-env-file",
        "vars.env",
        "a.yaml:2:11",
    ]);
    let checked = folder.trefoil(&["check", "a.yaml", "--format", "json"]).exits(1).json();
    assert_eq!(
        (&checked["diagnostics"][0]["rule"], &checked["diagnostics"][0]["line"]),
        (&json!("missing-env-file"), &json!(2))
    );
}

#[test]
fn what_an_aegis_agent_gets_from_its_host() {
    let folder = Folder::new();
    folder
        .write(
            "a.yaml",
            "apiVersion: 100monkeys.ai/v1\nkind: Agent\nmetadata: { name: a, version: \"1.0.0\" }\nspec:\n  runtime: { language: python, version: \"3.11\" }\n  \
             task:\n    instruction: Do it.\n    prompt_template: \"<{{context}}|{{agentskills}}|{{input}}>\"\n",
        )
        .write("context.txt", "the context")
        .write("skills.md", "the skills");
    let args = [
        "run",
        "--model",
        "embedded",
        "a.yaml",
        "-i",
        "go",
        "--context",
        "context.txt",
        "--skills",
        "skills.md",
        "--trace",
        "t.json",
    ];
    folder.trefoil(&args).exits(0);
    let trace = std::fs::read_to_string(folder.path().join("t.json")).unwrap();
    assert!(trace.contains("<the context|the skills|go>"), "{trace}");
}

#[test]
fn outputs_of_null_and_nothing() {
    let folder = Folder::new();
    folder
        .write(
            "main.yaml",
            "id: main\nkind: sequential\nsteps:\n  - ref: helper\n    when: \"{{userQuery}} == never\"\n",
        )
        .write("helper.yaml", AGENT);
    let ran = folder.trefoil(&["run", "--model", "embedded", "main.yaml", "-q", "--input", "x", "--output", "json"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "null\n"));
}

#[test]
fn a_run_survives_a_reader_that_goes_away() {
    let folder = pipeline();
    let args = [
        "run",
        ".#main",
        "-i",
        "topic=tea",
        "--model",
        "scripted=script.yaml",
        "--events",
        "jsonl",
        "--trace",
        "t.json",
    ];
    let mut child = folder.command(&args).spawn().unwrap();
    drop(child.stdout.take());
    drop(child.stderr.take());
    let ran = crate::world::wait(child);
    ran.exits(0);
    let trace: Value = serde_json::from_slice(&std::fs::read(folder.path().join("t.json")).unwrap()).unwrap();
    assert_eq!(trace["status"], "completed");
}

#[test]
fn completions_are_scripts() {
    let folder = Folder::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let ran = folder.trefoil(&["completions", shell]);
        ran.exits(0);
        assert!(ran.out.contains("trefoil") && ran.out.len() > 1000, "{shell}");
    }
}

#[test]
fn what_the_project_denies_does_not_run() {
    let folder = Folder::new();
    folder.write("a.yaml", format!("{AGENT}colour: blue\n"));
    let args = ["run", "a.yaml", "--model", "embedded", "--input", "hi"];
    let said = folder.trefoil(&args);
    said.exits(0).says(&["check: 1 warning (run `trefoil check a.yaml` to see it)"]);
    assert!(!said.err.contains("unknown-key"), "what the warnings say is for `check` to tell: {}", said.err);
    folder.write("trefoil.toml", "[rules]\nunknown-key = \"deny\"\n");
    let refused = ["error[unknown-key]", "the run did not start", "--no-check"];
    folder.trefoil(&args).silent(2).says(&refused);
    folder.trefoil(&[&args[..], &["--no-check"]].concat()).exits(0);
    folder.trefoil(&["plan", "a.yaml"]).silent(2).says(&["error[unknown-key]"]);
    folder.trefoil(&["plan", "a.yaml", "--no-check"]).exits(0);
    folder.write("a.yaml", AGENT.replace("kind: llm", "kind: llmm"));
    let help = ["the file cannot be loaded"];
    folder.trefoil(&[&args[..], &["--no-check"]].concat()).silent(2).says(&help);
}

#[test]
fn notes_of_the_checker_are_not_said_by_a_run() {
    let folder = Folder::new();
    let gated = "id: main\nkind: sequential\nsteps:\n  - ref: helper\n    when: \"{{userQuery}} == yes\"\n    \
                 input: { userQuery: x }\noutput: { said: \"{{helper}}\" }\n";
    folder.write("helper.yaml", AGENT).write("main.yaml", gated);
    let args = ["run", "main.yaml", "--model", "embedded", "--input", "no"];
    let said = |args: &[&str]| {
        let ran = folder.trefoil(args);
        ran.exits(0);
        ran.err.lines().filter(|l| l.starts_with("check")).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(said(&args), [""; 0]);
    expect!["checks skipped (`--no-check`)"].assert_eq(&said(&[&args[..], &["--no-check"]].concat()).join("\n"));
}

const GATE: &str = "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata: { name: gate, version: \"1.0.0\" }\nspec:\n  \
    initial_state: APPROVE\n  states:\n    APPROVE:\n      kind: Human\n      prompt: Ship it?\n      transitions:\n        \
    - { condition: input_equals_yes, target: DONE }\n        - { condition: input_equals_no, target: DONE }\n    DONE:\n      \
    kind: System\n      command: echo shipped\n      transitions: []\n";

#[test]
fn a_wrong_answer_is_asked_for_again_and_fails_where_nobody_is_left_to_ask() {
    let folder = Folder::new();
    folder.write("gate.yaml", GATE);
    let run = |answers: &[&str]| {
        let mut all = vec!["run", "gate.yaml", "--allow-command", "--model", "embedded", "--events", "jsonl"];
        all.extend(answers.iter().flat_map(|a| ["--answer", a]));
        folder.trefoil(&all)
    };
    let (condition, open) =
        ("condition: input_equals_yes", "condition: custom, expression: \"APPROVE.response == workflow.task\"");
    folder.write("gate.yaml", GATE.replace(condition, open));
    let ran = run(&["APPROVE=maybe", "APPROVE=no"]);
    let asked: Vec<Value> = ran.exits(0).lines().into_iter().filter(|e| e["event"] == "signal_wanted").collect();
    assert_eq!(asked.len(), 2);
    assert_eq!((&asked[0]["accepts"], &asked[0]["refused"]), (&json!(["no"]), &Value::Null));
    assert_eq!((&asked[1]["key"], &asked[1]["refused"]), (&json!("APPROVE@1!2"), &json!("maybe")));
    let ran = run(&["APPROVE=maybe"]);
    let failed = ran.exits(1).lines().into_iter().find(|e| e["event"] == "step_failed").unwrap();
    assert_eq!((&failed["key"], &failed["error"]["code"]), (&json!("APPROVE@1"), &json!("NO_TRANSITION")));
    ran.says(&["NO_TRANSITION", "is maybe", "✗ APPROVE", "spent: ", "next:\n", "`--answer APPROVE=VALUE`"]);
    assert!(!ran.err.contains("✓ APPROVE") && !ran.err.contains("add a transition"), "{}", ran.err);
}

#[test]
fn a_try_that_nobody_asked_for_is_told_from_a_call() {
    let folder = pipeline();
    let script = "answers:\n  helper: [{error: {status: 500, message: busy}}, one]\n  second: two\n";
    folder.write("busy.yaml", script);
    let args = ["run", ".#main", "-i", "topic=tea", "--model", "scripted=busy.yaml", "--events", "jsonl"];
    let events = folder.trefoil(&args).exits(0).lines();
    let started: Vec<&Value> = events.iter().filter(|e| e["event"] == "model_started").collect();
    assert_eq!((started.len(), &started[1]["again"]), (3, &json!(true)), "{started:?}");
    assert_eq!(started.iter().filter(|e| e["again"].is_null()).count(), 2);
    assert_eq!(events.last().unwrap()["calls"], 2);
}

#[test]
fn an_answer_that_a_question_does_not_take_is_found_before_anything_runs() {
    let folder = Folder::new();
    folder.write("gate.yaml", GATE);
    let run = |answer: &str| {
        folder.trefoil(&["run", "gate.yaml", "--allow-command", "--model", "embedded", "-i", "x", "--answer", answer])
    };
    run("APPROVE=maybe").silent(2).says(&["wrong-answer", "`maybe`", "`APPROVE`", "`yes`, `no`"]);
    run("APPROVE=").silent(2).says(&["is empty", "`APPROVE`", "`yes`, `no`"]);
    for right in ["APPROVE=yes", "APPROVE= Approved ", "APPROVE=0"] {
        run(right).exits(0);
    }
}

#[test]
fn what_is_required_and_not_set_is_one_error_where_nobody_can_be_asked() {
    let folder = Folder::new();
    let schema = "inputSchema: { type: object, required: [topic, tone], properties: { topic: { type: string }, \
                  tone: { type: string }, words: { type: integer } } }\ninstruction: \"{{topic}} {{tone}} {{words}}\"\n";
    folder.write("a.yaml", format!("id: a\nkind: llm\nmodel: {{ provider: openai, name: m }}\n{schema}"));
    let ran = folder.trefoil(&["run", "a.yaml", "--model", "embedded"]);
    ran.silent(2)
        .says(&["the inputs `topic`, `tone` are required and not set", "`--input topic=... --input tone=...`"]);
    assert!(ran.err.matches("error").count() == 1 && !ran.err.contains("warning"), "{}", ran.err);
}

#[test]
fn a_key_that_is_not_set_is_one_error_for_all_agents_and_says_that_nothing_was_sent() {
    let folder = pipeline();
    folder.write("second.yaml", format!("id: second\n{PART}"));
    let args = ["run", ".#main", "-i", "topic=tea"];
    let ran = folder.trefoil(&args);
    ran.silent(2).says(&["`OPENAI_API_KEY` is not set: `helper`, `second` (2 agents)", "nothing was sent"]);
    ran.says(&["`--model embedded`", "without a terminal"]);
    assert_eq!(ran.err.matches("error[").count(), 1, "{}", ran.err);
    let mut command = folder.command(&args);
    command.env("CI", "true");
    finish(command).silent(2).says(&["`--model embedded`", "`CI`"]);
    let plan = folder.trefoil(&["plan", ".#main"]);
    assert_eq!(plan.exits(0).out.matches("is not set").count(), 1, "{}", plan.out);
    let typo = folder.trefoil(&[&args[..], &["--model", "opnai:gpt-4o"]].concat());
    typo.silent(2).says(&["'opnai:gpt-4o' for '--model", "did you mean `openai`?"]);
    assert!(!typo.err.contains("-->"), "{}", typo.err);
}

#[test]
fn the_nearest_command_is_the_short_one() {
    let ran = Folder::new().trefoil(&["rn", "a.yaml"]);
    ran.silent(2).says(&["'run'"]);
    assert!(!ran.err.contains("render"), "{}", ran.err);
}

#[test]
fn an_input_that_is_left_out_is_a_warning_where_nobody_can_be_asked() {
    let folder = Folder::new();
    folder.write("a.yaml", format!("id: a\n{PART}")).write("s.yaml", "answers: { a: fine }\n");
    let args = ["run", "a.yaml", "--model", "scripted=s.yaml"];
    let ran = folder.trefoil(&args);
    ran.exits(0).says(&["the input `text` is not set", "pass `--input text=...`"]);
    for given in [["--input", "text=tea"], ["--input", "text="]] {
        let ran = folder.trefoil(&[&args[..], &given[..]].concat());
        assert!(!ran.exits(0).err.contains("is not set"), "{}", ran.err);
    }
    assert_eq!(folder.trefoil(&[&args[..], &["--quiet"]].concat()).exits(0).err, "");
    // A missing text is reported where it is read.
    let (agent, workflow) = (
        "kind: Agent\nmetadata: { name: w, version: \"1.0.0\" }\nspec: { runtime: {}, task: { instruction: Write. } }\n",
        GATE.replace("Ship it?", "\"Ship {{workflow.task}}?\""),
    );
    folder.write("agents/w.yaml", format!("apiVersion: 100monkeys.ai/v1\n{agent}")).write("gate.yaml", workflow);
    let told = |args: &[&str]| folder.trefoil(&[&["run", "--model", "embedded"], args].concat()).exits(0).err.clone();
    let gate = ["gate.yaml", "--allow-command", "--answer", "APPROVE=yes"];
    assert!(told(&gate).contains("the input `task` is not set") && told(&gate).contains("`--input task=...`"));
    assert!(told(&["agents/w.yaml"]).contains("the input `input` is not set"));
    assert!(told(&["agents/w.yaml"]).contains("pass `--input TEXT`"));
    for given in [[&gate[..], &["-i", "tea"]].concat(), vec!["agents/w.yaml", "-i", "tea"]] {
        assert!(!told(&given).contains("is not set"), "{given:?}");
    }
}

#[test]
fn an_item_that_fails_shows_in_the_row_and_in_the_last_line() {
    let folder = Folder::new();
    let each = "version: \"0.1\"\nagents: { a: { system: s, model: \"openai:m\" } }\nnodes:\n  f: { type: factory, agent: a, \
                for_each: \"{{ inputs.list }}\", on_failure: continue, writes: output.f }\ninput: { message: hi, list: [tea, rum] }\n";
    folder.write("a.yaml", each);
    folder.write("s.yaml", "answers:\n  f: [fine, {error: {status: 400, message: no}}]\n");
    let ran = folder.trefoil(&["run", "a.yaml", "--model", "scripted=s.yaml"]);
    ran.exits(0).says(&["✓ f 1/2 tea", "✗ f 2/2 rum", "! f  ", "1 of 2 failed", " · f: 1 of 2 failed"]);
    let about = |item: &str| ran.err.lines().filter(|l| l.contains(item) && !l.contains('…')).count();
    // Once when it ended, and once more with all that failed.
    assert_eq!((about("1/2 tea"), about("2/2 rum")), (1, 2), "{}", ran.err);
    assert!(!ran.err.contains("! item"), "{}", ran.err);
    let quiet = folder.trefoil(&["run", "a.yaml", "--model", "scripted=s.yaml", "--quiet"]);
    assert_eq!(quiet.exits(0).err, "f: 1 of 2 failed\n");
    let events = folder.trefoil(&["run", "a.yaml", "--model", "scripted=s.yaml", "--events", "jsonl"]).lines();
    let ended = events.iter().find(|e| e["event"] == "step_finished" && e["key"] == "f").unwrap();
    assert_eq!(ended["items"], json!({"total": 2, "failed": 1}));
}

#[test]
fn a_run_that_may_need_more_calls_than_allowed_does_not_start() {
    let folder = Folder::new();
    let twice = "id: main\nkind: sequential\nsteps:\n  - ref: helper\n    input: { userQuery: x }\n  - ref: helper\n    \
                 stateKey: again\n    input: { userQuery: x }\noutput: { a: \"{{helper}}\", b: \"{{again}}\" }\n";
    folder.write("helper.yaml", AGENT).write("main.yaml", twice);
    let run = |max: &'static str| {
        folder.trefoil(&["run", "main.yaml", "--model", "embedded", "--input", "no", "--max-calls", max])
    };
    run("1").silent(2).says(&["may need 2 model calls", "`--max-calls`"]);
    run("2").exits(0);
    let open = "version: \"0.1\"\nagents: { a: { system: s, model: \"openai:m\" } }\nnodes:\n  f: { type: factory, agent: a, \
                for_each: \"{{ inputs.list }}\", writes: output.f }\ninput: { message: hi, list: [a, b, c] }\n";
    folder.write("open.yaml", open);
    let run = |max: &'static str| folder.trefoil(&["run", "open.yaml", "--model", "embedded", "--max-calls", max]);
    run("3").exits(0);
    run("2").exits(1).says(&["BUDGET_EXCEEDED"]);
    folder.write("open.yaml", open.replace("agents:", "budget: { max_calls: 20 }\nagents:"));
    run("20").exits(0);
    run("19").silent(2).says(&["may need 20 model calls", "only 19"]);
}

#[test]
fn a_failed_run_says_how_to_go_on_by_its_cause() {
    let folder = Folder::new();
    folder.write("a.yaml", crate::world::AGENT);
    for (status, help) in [(401, "rejects the key"), (404, "model's name"), (422, "fix the request")] {
        folder.write("s.json", format!(r#"{{"answers": {{"*": [{{"error": {{"status": {status}}}}}]}}}}"#));
        let ran = folder.trefoil(&["run", "a.yaml", "-i", "x", "--model", "scripted=s.json", "--no-check"]);
        ran.silent(1).says(&["MODEL_ERROR", "help: ", help, "trefoil explain MODEL_ERROR"]);
    }
}

#[test]
fn an_answer_that_is_no_json_is_shown_once_and_told_without_the_words_of_a_parser() {
    let folder = Folder::new();
    folder.write("a.yaml", format!("{}outputSchema: {{ n: number }}\n", crate::world::AGENT));
    for (answer, why) in [("{\"n\": tr", "incomplete"), ("In words.", "text, not JSON")] {
        folder.write("s.json", json!({"answers": {"*": answer}}).to_string());
        let ran = folder.trefoil(&["run", "a.yaml", "-i", "x", "--model", "scripted=s.json", "--no-check"]);
        ran.silent(1).says(&["STRUCTURED_OUTPUT_INVALID in `helper`", why, "answer: "]);
        let end = ran.err.split("error[").nth(1).unwrap();
        assert_eq!(end.matches(answer).count(), 1, "{end}");
        assert!(!end.contains("EOF"), "{end}");
    }
}

const PANEL: &str = "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata: { name: panel, version: \"1.0.0\" }\nspec:\n  initial_state: PANEL\n  states:\n    PANEL:\n      kind: ParallelAgents\n      agents:\n        - { agent: strict, input: \"a {{workflow.task}}\" }\n        - { agent: strict, input: \"b {{workflow.task}}\" }\n      consensus: { strategy: majority, threshold: 0.7, min_judges_required: 2 }\n      transitions:\n        - { condition: consensus, threshold: 0.7, target: END }\n        - { condition: always, target: END }\n    END: { kind: System, command: \"true\" }\n";
const STRICT: &str = "apiVersion: 100monkeys.ai/v1\nkind: Agent\nmetadata: { name: strict, version: \"1.0.0\" }\nspec:\n  runtime: { model: judge }\n  task: { instruction: Judge. }\n  execution:\n    validation:\n      - type: json_schema\n        schema: { type: object, required: [score], properties: { score: { type: number } } }\n";

#[test]
fn a_consensus_that_cannot_be_reached_names_who_gave_no_verdict_and_why() {
    let folder = Folder::new();
    folder
        .write("panel.yaml", PANEL)
        .write("strict.yaml", STRICT)
        .write("s.json", r#"{"answers": {"*": "In words."}}"#);
    let args = [
        "run",
        "panel.yaml",
        "-i",
        "x",
        "--model",
        "scripted=s.json",
        "--no-check",
        "--allow-command",
        "--trace",
        "t.json",
    ];
    let ran = folder.trefoil(&args);
    let why = "`strict` (2 times): `json_schema` did not pass";
    ran.exits(1).says(&[
        "CONSENSUS_FAILED in `PANEL@1`: only 0 of 2 required verdicts arrived",
        why,
        "help: tell the judges",
    ]);
    assert!(!ran.err.contains("✓ agents.0"), "{}", ran.err);
    let trace: Value = serde_json::from_slice(&std::fs::read(folder.path().join("t.json")).unwrap()).unwrap();
    let judge = trace["steps"].as_array().unwrap().iter().find(|s| s["label"] == "agents.0").unwrap();
    assert_eq!((&judge["status"], &judge["handled_as"]), (&json!("failed"), &json!("skip")), "{judge:#}");
}
