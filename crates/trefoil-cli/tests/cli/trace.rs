//! Traces: the content of the file, its permissions, and `trefoil trace`.

use serde_json::Value;

use crate::world::{Folder, Ran};

const LOOP: &str = "id: main\nkind: sequential\ninputSchema:\n  topic: string\n  tone: { type: string, default: calm }\nuntil: '{{review.ok}} == true'\nmaxIterations: 3\nsteps:\n  - ref: writer\n    input: { topic: 'about {{topic}}', tone: '{{tone}}', notes: '{{review.notes}}' }\n  - ref: review\n    input: { text: '{{writer}}' }\n";
const WRITER: &str = "id: writer\nkind: llm\nmodel: { provider: openai, name: m, temperature: 0.5 }\ninputSchema: { topic: string, tone: string, notes: string }\ninstruction: |\n  You write äöü.\n  Be {{tone}}.\nprompt: \"Write {{topic}}.{{#if notes}} Mind: {{notes}}{{/if}} Key {{env.TOKEN}}.\"\n";
const REVIEW: &str = "id: review\nkind: llm\nmodel: { provider: openai, name: m }\ninputSchema: { text: string }\ninstruction: Judge.\nprompt: 'Judge: {{text}}'\noutputSchema: { ok: boolean, notes: string }\n";
const SCRIPT: &str = r#"{"answers": {"writer": ["first draft", "second draft"], "review": ["{\"ok\": false, \"notes\": \"shorter\"}", "{\"ok\": true, \"notes\": \"\"}"]}}"#;

fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("main.yaml", LOOP).write("writer.yaml", WRITER).write("review.yaml", REVIEW).write("s.json", SCRIPT);
    folder
}

fn run(folder: &Folder) -> Ran {
    let mut command =
        folder.command(&["run", "#main", "-i", "topic=tides", "--model", "scripted=s.json", "--trace", "t.json"]);
    command.env("TOKEN", "a-value-nobody-may-see");
    crate::world::finish(command)
}

fn trace(folder: &Folder) -> Value {
    serde_json::from_str(&std::fs::read_to_string(folder.path().join("t.json")).unwrap()).unwrap()
}

fn messages(trace: &Value) -> Vec<(&str, &Value)> {
    let steps = trace["steps"].as_array().unwrap();
    let calls =
        steps.iter().flat_map(|s| s["calls"].as_array().unwrap().iter().map(|c| (s["key"].as_str().unwrap(), c)));
    calls.flat_map(|(key, c)| c["messages"].as_array().into_iter().flatten().map(move |m| (key, m))).collect()
}

/// The text of a span.
fn part(message: &Value, span: &Value) -> String {
    let (start, end) = (span["start"].as_u64().unwrap() as usize, span["end"].as_u64().unwrap() as usize);
    message["content"].as_str().unwrap().chars().skip(start).take(end - start).collect()
}

#[test]
fn every_part_of_every_prompt_says_where_it_came_from() {
    let folder = folder();
    run(&folder).exits(0);
    let trace = trace(&folder);
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    for (key, message) in messages(&trace) {
        let mut at = 0;
        for span in message["spans"].as_array().unwrap_or_else(|| panic!("{key}: {message:#}")) {
            assert_eq!(span["start"], at, "{key}: {message:#}");
            at = span["end"].as_u64().unwrap();
            assert_ne!(span["from"], "other", "{key}: {span:#}");
            if span["from"] == "literal" {
                let file = std::fs::read_to_string(folder.path().join(span["file"].as_str().unwrap())).unwrap();
                let number = |k: &str| span[k].as_u64().unwrap() as usize;
                let lines: Vec<&str> = file.split('\n').collect();
                let range = &lines[number("line") - 1..number("end_line")];
                let mut text = range.join("\n");
                let last = range.last().unwrap().chars().count() - (number("end_column") - 1);
                text = text.chars().take(text.chars().count() - last).skip(number("column") - 1).collect();
                assert_eq!(words(&text), words(&part(message, span)), "{span:#}");
            }
        }
        assert_eq!(
            at as usize,
            message["content"].as_str().unwrap().chars().count(),
            "{key}: the spans cover the text"
        );
    }
}

#[test]
fn a_prompt_names_the_pass_that_wrote_what_it_shows() {
    let folder = folder();
    run(&folder).exits(0);
    let trace = trace(&folder);
    let all = messages(&trace);
    let user = |key: &str| all.iter().find(|(k, m)| *k == key && m["role"] == "user").unwrap().1;
    let span = |key: &str, text: &str| {
        let message = user(key);
        let spans = message["spans"].as_array().unwrap();
        spans.iter().find(|s| part(message, s) == text).unwrap_or_else(|| panic!("`{text}` in {message:#}")).clone()
    };
    let draft = span("@2/review", "second draft");
    assert_eq!((&draft["from"], &draft["step"]), (&"step".into(), &"@2/writer".into()));
    assert_eq!((&draft["file"], &draft["line"], &draft["path"]), (&"./main.yaml".into(), &12.into(), &"writer".into()));
    assert_eq!(draft["via"][0]["file"], "./review.yaml");
    let notes = span("@2/writer", "shorter");
    assert_eq!(
        (&notes["from"], &notes["step"], &notes["member"]),
        (&"step".into(), &"@1/review".into(), &"notes".into())
    );
    // Passed on inside a text: its literal part and its input part stay separate.
    assert_eq!(span("@1/writer", "tides")["from"], "input");
    assert_eq!(span("@1/writer", "tides")["member"], "topic");
    let about = span("@1/writer", "about ");
    assert_eq!((&about["from"], &about["file"]), (&"literal".into(), &"./main.yaml".into()));
    let token = span("@1/writer", "***");
    assert_eq!((&token["from"], &token["name"]), (&"env".into(), &"TOKEN".into()));
    assert!(!trace.to_string().contains("nobody-may-see"));
}

#[test]
fn the_file_says_what_was_run_and_follows_its_schema() {
    let folder = folder();
    run(&folder).exits(0);
    let trace = trace(&folder);
    let schema = folder.trefoil(&["schema", "trace-output"]).json();
    let validator = jsonschema::draft202012::new(&schema).unwrap();
    let wrong: Vec<String> = validator.iter_errors(&trace).map(|e| format!("{}: {e}", e.instance_path())).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert_eq!(trace["effective_input"], serde_json::json!({"topic": "tides", "tone": "calm"}));
    assert_eq!(trace["steps"][0]["calls"][0]["parameters"]["temperature"], 0.5);
    let sources: Vec<&str> = trace["sources"].as_array().unwrap().iter().map(|s| s["file"].as_str().unwrap()).collect();
    assert!(["./main.yaml", "./writer.yaml", "./review.yaml"].iter().all(|f| sources.contains(f)), "{sources:?}");
    assert!(trace["started_at"].as_str().unwrap().ends_with('Z'));
    // Each step that did something is in the picture.
    for step in trace["steps"].as_array().unwrap() {
        assert!(step["node"].is_string() || step["frame"].is_string(), "{step:#}");
    }
}

#[cfg(unix)]
#[test]
fn the_file_is_its_owners_and_replaces_a_link_instead_of_following_it() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = folder();
    folder.write("strangers.txt", "keep me");
    std::os::unix::fs::symlink(folder.path().join("strangers.txt"), folder.path().join("t.json")).unwrap();
    run(&folder).exits(0);
    let there = std::fs::symlink_metadata(folder.path().join("t.json")).unwrap();
    assert!(there.is_file());
    assert_eq!(there.permissions().mode() & 0o777, 0o600);
    assert_eq!(std::fs::read_to_string(folder.path().join("strangers.txt")).unwrap(), "keep me");
    let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|f| f.unwrap().file_name()).collect();
    assert!(left.iter().all(|f| !f.to_string_lossy().ends_with(".tmp")), "{left:?}");
}

/// A snapshot without figures that differ between runs.
fn steady(name: &str, text: &str) {
    let filters =
        [(r"\b\d+(\.\d)? m?s\b", "TIME"), (r"started \S+, (answers: [^,]*), run \w+", "started WHEN, $1, run ID")];
    insta::with_settings!({ filters => filters }, { insta::assert_snapshot!(name, text) });
}

#[test]
fn a_loop_is_shown_as_a_tree_and_its_prompts_with_their_writers() {
    let folder = folder();
    run(&folder).exits(0);
    steady("trace_loop", &folder.trefoil(&["trace", "t.json"]).exits(0).out);
    let step = folder.trefoil(&["trace", "t.json", "--step", "@2/writer"]);
    steady("trace_loop_step", &step.exits(0).out);
}

#[test]
fn a_failed_run_is_shown_with_its_failure() {
    let folder = folder();
    folder.write("s.json", r#"{"answers": {"writer": ["a draft"], "review": ["not json", "not json", "not json"]}}"#);
    run(&folder).exits(1);
    let shown = folder.trefoil(&["trace", "t.json"]).exits(0).out.clone();
    assert!(shown.contains("STRUCTURED_OUTPUT_INVALID") && shown.contains("✗ review"), "{shown}");
}

#[test]
fn what_is_not_there_or_no_trace_is_said_with_what_to_do() {
    let folder = folder();
    run(&folder).exits(0);
    folder
        .trefoil(&["trace", "t.json", "--step", "wirter"])
        .silent(2)
        .says(&["no step `wirter`", "did you mean `writer`?"]);
    folder.trefoil(&["trace", "gone.json"]).silent(2).says(&["cannot read `gone.json`"]);
    folder.trefoil(&["trace", "main.yaml"]).silent(2).says(&["`main.yaml` is not a trace", "--trace FILE"]);
    folder.write("other.json", "{\"steps\": 3}");
    folder.trefoil(&["trace", "other.json"]).silent(2).says(&["`other.json` is not a trace"]);
}

#[test]
fn a_strangers_trace_moves_no_cursor_and_an_older_one_is_shown() {
    let folder = Folder::new();
    let hostile = "\\u001b[2J\\u009b1m\\u202e";
    folder.write(
        "old.json",
        format!(
            r#"{{"version": 1, "flow": "f{hostile}", "status": "done", "steps": [{{"key": "a{hostile}", "label": "l{hostile}", "status": "done",
               "output": "o{hostile}", "calls": [{{"effect": "model", "messages": [{{"role": "user", "content": "p{hostile}"}}], "answer": "x{hostile}"}}],
               "notes": [{{"at_ms": 1, "text": "n{hostile}"}}]}}]}}"#
        ),
    );
    for args in [&["trace", "old.json"][..], &["trace", "old.json", "--step", "l\u{1b}[2J\u{9b}1m\u{202e}"]] {
        let shown = folder.trefoil(args);
        shown.exits(0).says(&["version 1"]);
        assert!(!shown.out.contains(['\u{1b}', '\u{9b}', '\u{202e}']), "{:?}", shown.out);
        assert!(shown.out.contains("\\u{1b}"), "{:?}", shown.out);
    }
}

#[test]
fn a_page_is_written_beside_the_trace() {
    let folder = folder();
    run(&folder).exits(0);
    folder.trefoil(&["trace", "t.json", "--html", "t.html"]).silent(0);
    let page = std::fs::read_to_string(folder.path().join("t.html")).unwrap();
    assert!(page.contains("application/json") && page.contains("second draft"));
}

const FAN: &str = "version: \"0.1\"\nagents:\n  one: { model: \"openai:m\", system: 'Say {{ item.word }} ({{ index }} of {{ total }})' }\n  sum: { model: \"openai:m\", system: Sum up }\nnodes:\n  each:\n    type: factory\n    for_each: '{{ inputs.message }}'\n    on_failure: continue\n    agent: one\n    inputs: { word: '{{ item.word }}' }\n    writes: working.said\n  all: { agent: sum, writes: output.sum }\n";

#[test]
fn a_fan_out_with_a_failed_item_says_so_and_its_items_know_the_list() {
    let folder = Folder::new();
    folder.write("fan.yaml", FAN);
    folder.write("s.json", r#"{"answers": {"one": ["ONE", {"error": {"status": 400}}, "THREE"], "sum": ["all"]}}"#);
    let words = r#"[{"word": "x"}, {"word": "y"}, {"word": "z"}]"#;
    let args = ["run", "fan.yaml", "-i", words, "--model", "scripted=s.json", "--no-check", "--trace", "t.json"];
    folder.trefoil(&args).exits(0);
    steady("trace_fan", &folder.trefoil(&["trace", "t.json"]).exits(0).out);
    let trace = trace(&folder);
    assert_eq!(trace["steps"][0]["items"], serde_json::json!({"total": 3, "failed": 1}));
    let all = messages(&trace);
    let spans: Vec<(String, &Value)> =
        all.iter().flat_map(|(_, m)| m["spans"].as_array().unwrap().iter().map(|s| (part(m, s), &s["from"]))).collect();
    assert!(spans.contains(&("x".to_owned(), &"item".into())), "{spans:?}");
    assert!(spans.contains(&("1".to_owned(), &"index".into())), "{spans:?}");
}

const STATES: &str = "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata: { name: gate, version: 1.0.0 }\nspec:\n  initial_state: ASK\n  states:\n    ASK:\n      kind: Human\n      prompt: 'Ship {{workflow.context.what}}?'\n      transitions:\n        - { condition: input_equals_yes, target: SHIP }\n        - { condition: input_equals_no, target: STOP }\n    SHIP: { kind: System, command: 'true' }\n    STOP: { kind: System, command: 'false' }\n  context: { what: it }\n";

#[test]
fn a_state_machine_with_a_person_is_shown() {
    let folder = Folder::new();
    folder.write("gate.yaml", STATES);
    let args = [
        "run",
        "gate.yaml",
        "--answer",
        "ASK=yes",
        "--model",
        "embedded",
        "--allow-command",
        "--no-check",
        "--trace",
        "t.json",
    ];
    let ran = folder.trefoil(&args);
    assert!(folder.path().join("t.json").exists(), "{}", ran.err);
    steady("trace_states", &folder.trefoil(&["trace", "t.json"]).exits(0).out);
}

#[test]
fn a_step_is_found_by_whatever_the_tool_calls_it() {
    let folder = Folder::new();
    folder.write("fan.yaml", FAN);
    folder.write("s.json", r#"{"answers": {"one": ["ONE", {"error": {"status": 400}}, "THREE"], "sum": ["all"]}}"#);
    let words = r#"[{"word": "x"}, {"word": "y"}, {"word": "z"}]"#;
    let args = ["run", "fan.yaml", "-i", words, "--model", "scripted=s.json", "--no-check", "--trace", "t.json"];
    let ran = folder.trefoil(&args);
    ran.exits(0).says(&["✗ each 2/3 y"]);
    let step = |name: &str| folder.trefoil(&["trace", "t.json", "--step", name]).exits(0).out.clone();
    for name in ["each[1]/one", "each[1]", "one item 2/3 y", "One (item 2/3 y)"] {
        let shown = step(name);
        assert!(shown.starts_with("one item 2/3 y  failed"), "{name}: {shown}");
        // The call has already shown it.
        assert_eq!(shown.matches("MODEL_ERROR").count(), 1, "{shown}");
        assert!(shown.contains("help: ") && !shown.contains("handled as"), "{shown}");
    }
    let shown = folder.trefoil(&["trace", "t.json", "--step", "something quite different"]);
    shown.silent(2).says(&["its steps are `each`, `one`, `all`"]);
    let shown = folder.trefoil(&["trace", "t.json", "--step", "each[7]"]);
    shown.silent(2).says(&["it has `each[0]`, `each[1]`, `each[2]`"]);

    let folder = self::folder();
    run(&folder).exits(0);
    for name in ["writer (pass 2)", "writer pass 2", "@2/writer"] {
        let shown = folder.trefoil(&["trace", "t.json", "--step", name]).exits(0).out.clone();
        assert!(shown.starts_with("writer pass 2  done"), "{name}: {shown}");
    }
}

/// agntz: "the id is what the trace span is named after".
#[test]
fn the_steps_of_one_agent_have_its_name_and_other_keys() {
    let folder = Folder::new();
    folder.write("w.yaml", "id: w\nkind: llm\nmodel: { provider: openai, name: m }\ninstruction: I.\nprompt: x\n");
    let steps =
        "[ { ref: w }, { ref: w, stateKey: third }, { ref: w }, { ref: w, stateKey: last, when: '{{third}} == 7' } ]";
    folder.write("p.yaml", format!("id: p\nkind: sequential\nsteps: {steps}\n"));
    let ran = folder.trefoil(&["run", "p.yaml", "--model", "embedded", "--trace", "t.json"]);
    ran.exits(0);
    let trace = trace(&folder);
    let named = |step: &Value| (step["key"].as_str().unwrap().to_owned(), step["label"].as_str().unwrap().to_owned());
    let all: Vec<_> = trace["steps"].as_array().unwrap().iter().map(named).collect();
    assert_eq!(all, ["w", "third", "w-2", "last"].map(|key| (key.to_owned(), "w".to_owned())));
    // People see which one it is, and can name it.
    ran.says(&["✓ w  ", "✓ w (third)", "✓ w (w-2)", "– w (last)"]);
    let shown = folder.trefoil(&["trace", "t.json"]);
    shown.exits(0);
    for name in ["✓ w  ", "✓ w third", "✓ w w-2", "– w last"] {
        assert!(shown.out.contains(name), "{name}: {}", shown.out);
    }
    let step = folder.trefoil(&["trace", "t.json", "--step", "third"]).exits(0).out.clone();
    assert!(step.starts_with("w third"), "{step}");
    // A whole key means one step, and the others of this name are told.
    let step = folder.trefoil(&["trace", "t.json", "--step", "w"]).exits(0).out.clone();
    assert!(step.starts_with("w  done") && step.ends_with("other steps named `w`: `third`, `w-2`, `last`\n"), "{step}");
}

#[test]
fn tries_stand_between_the_calls_that_they_are_about() {
    let folder = Folder::new();
    folder.write("a.yaml", crate::world::AGENT);
    let busy = r#"{"error": {"status": 429, "retry_after_ms": 1}}"#;
    folder.write("s.json", format!(r#"{{"answers": {{"*": [{busy}, "yes"]}}}}"#));
    let ran =
        folder.trefoil(&["run", "a.yaml", "-i", "x", "--model", "scripted=s.json", "--no-check", "--trace", "t.json"]);
    ran.exits(0);
    let trace = trace(&folder);
    assert_eq!(trace["steps"][0]["tries"], 2, "{trace:#}");
    let name = trace["steps"][0]["label"].as_str().unwrap();
    let shown = folder.trefoil(&["trace", "t.json", "--step", name]).exits(0).out.clone();
    let at = |text: &str| shown.find(text).unwrap_or_else(|| panic!("`{text}` is not in {shown}"));
    assert!(at("call 1 of 2") < at("try 2 in") && at("try 2 in") < at("call 2 of 2"), "{shown}");
    assert_eq!(shown.matches("MODEL_ERROR").count(), 1, "{shown}");
}

#[test]
fn a_trace_whose_name_says_so_is_a_page() {
    let folder = crate::world::Folder::new();
    folder.write("one.yaml", "id: one\nkind: llm\nmodel: { provider: openai, name: m }\ninstruction: I.\n");
    let input = "<script>alert(1)</script>";
    let ran = folder.trefoil(&["run", "one.yaml", "--model", "embedded", "--input", input, "--trace", "t.html"]);
    ran.exits(0);
    assert!(!ran.err.contains("trefoil trace t.html"), "{}", ran.err);
    let page = std::fs::read_to_string(folder.path().join("t.html")).unwrap();
    assert!(page.to_lowercase().starts_with("<!doctype html>") && !page.contains(input), "{}", &page[..200]);
}

#[test]
fn a_stored_run_is_shown_without_a_file_and_without_a_call() {
    let folder = crate::world::Folder::new();
    let step = |id: &str| {
        format!("  - agent: {{ id: {id}, kind: llm, model: {{ provider: openai, name: m }}, instruction: Be {id}. }}\n")
    };
    folder.write("two.yaml", format!("id: two\nkind: sequential\nsteps:\n{}{}", step("one"), step("last")));
    folder.write("s.json", r#"{"answers": {"one": ["first answer"], "last": [{"error": "broken"}]}}"#);
    let store = ["--store", "runs.db"];
    let with = |args: &[&str]| {
        let mut command = folder.command(&[args, &store].concat());
        command.env_remove("TREFOIL_EPHEMERAL");
        crate::world::finish(command)
    };
    let ran = with(&["run", "two.yaml", "--model", "scripted=s.json", "--input", "x"]);
    ran.exits(1);
    let command = ran.err.lines().find_map(|line| line.trim().strip_prefix("trefoil trace ")).unwrap_or_default();
    let run = command.split(' ').next().unwrap();
    assert!(command.contains("--store runs.db  every prompt and answer"), "{}", ran.err);
    assert!(!ran.err.contains("run it again"), "{}", ran.err);
    let shown = with(&["runs", "show", run]).exits(0).out.clone();
    assert!(shown.contains(&format!("prompts  trefoil trace {run} --store runs.db")), "{shown}");
    let tree = with(&["trace", run]).exits(0).out.clone();
    assert!(tree.contains("one") && tree.contains("last"), "{tree}");
    assert!(tree.contains(&format!("`trefoil trace {run} --step last --store runs.db`")), "{tree}");
    let step = with(&["trace", &run[..8], "--step", "one"]).exits(0).out.clone();
    assert!(step.contains("Be one.") && step.contains("first answer"), "{step}");
    let json = with(&["trace", run, "--json"]).json();
    assert_eq!((&json["status"], &json["run"]), (&"failed".into(), &run.into()));
    with(&["trace", run, "--html", "t.html"]).exits(0);
    let page = std::fs::read_to_string(folder.path().join("t.html")).unwrap();
    assert!(page.contains("first answer"));
    with(&["trace", "0123"]).silent(2).says(&["unknown run `0123`"]);
    folder.trefoil(&["trace", "no/such.json"]).silent(2).says(&["cannot read `no/such.json`"]);
    // Without a store, the only way is another run.
    let ran = folder.trefoil(&["run", "two.yaml", "--model", "scripted=s.json", "--input", "x", "--ephemeral"]);
    ran.exits(1).says(&["run it again and record it", "trefoil trace trace.json"]);
}

const ASKS: &str = "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata: { name: gate, version: \"1.0.0\" }\nspec:\n  \
    initial_state: ASK\n  states:\n    ASK: { kind: Human, prompt: \"Open it?\", transitions: [ { condition: input_equals_yes, target: DO } ] }\n    \
    DO: { kind: System, command: \"touch began; test -e go || sleep 600\", transitions: [] }\n";

pub fn stored(folder: &Folder, args: &[&str]) -> Ran {
    let mut command = folder.command(&[args, &["--store", "runs.db"]].concat());
    command.env_remove("TREFOIL_EPHEMERAL");
    crate::world::finish(command)
}

/// A stored run as it is shown: the text of its trace, its JSON, and `runs show`. Every place has the same status, question and commands.
pub fn views(folder: &Folder) -> (String, Value, Value) {
    let text = stored(folder, &["trace", "last"]).exits(0).out.clone();
    let json = stored(folder, &["trace", "last", "--json"]).json();
    stored(folder, &["trace", "last", "--html", "t.html"]).exits(0);
    let page = std::fs::read_to_string(folder.path().join("t.html")).unwrap();
    let status = format!("\"status\":{}", json["status"]);
    assert!(page.replace(": ", ":").contains(&status), "the page does not have {status}");
    let shown = stored(folder, &["runs", "show", "last", "--output", "json"]).json();
    for member in ["run", "status", "waiting", "stopped", "next", "items", "base"] {
        assert_eq!(shown.get(member), json.get(member), "{member}");
    }
    let is_running = |step: &Value| step["status"] == "running";
    let only_waits = json["status"] == "waiting";
    assert!(!only_waits || !json["steps"].as_array().unwrap().iter().any(is_running), "a step runs: {json}");
    let (run, word) = (json["run"].as_str().unwrap(), json["status"].as_str().unwrap());
    let head = text.lines().next().unwrap_or_default();
    assert!(head.contains(&format!(" {word}")), "{text}");
    let show = stored(folder, &["runs", "show", "last"]).exits(0).out.clone();
    let failed = json.get("items").map(|items| format!(", {} of {} items failed", items["failed"], items["total"]));
    let standing = format!("{word}{}", failed.unwrap_or_default());
    assert!(
        show.contains(&format!("\nstatus   {standing}\n")) && head.contains(&format!(" {standing} ")),
        "{show}{text}"
    );
    let questions = json["waiting"].as_array().into_iter().flatten().filter_map(|one| one["prompt"].as_str());
    questions.for_each(|question| assert!(show.contains(question), "{show}"));
    // What was called decides about an unknown outcome, and what the run stopped before is what it waits for.
    let calls = json["waiting"].as_array().into_iter().flatten().filter_map(|one| one["called_with"].as_str());
    let calls: Vec<String> = calls.map(|call| format!("it was called with {call}\n")).collect();
    let stopped: Vec<&str> = json["stopped"]["text"].as_str().into_iter().collect();
    for said in [&text, &show] {
        assert!(
            calls.iter().all(|call| said.contains(call)) && stopped.iter().all(|text| said.contains(text)),
            "{said}"
        );
    }
    if !stopped.is_empty() {
        assert_eq!(json["error"], Value::Null, "a run that waits has not failed");
        assert!(text.contains("? ") && !text.contains('⊘'), "{text}");
    }
    let commands = json["next"].as_array().into_iter().flatten().filter_map(|next| next["command"].as_str());
    commands.for_each(|command| assert!(show.contains(command), "{command}: {show}"));
    let list = stored(folder, &["runs", "list", "--status", word]).exits(0).out.clone();
    assert!(list.lines().any(|line| line.starts_with(run) && line.contains(word)), "{list}");
    let listed = stored(folder, &["runs", "list", "--output", "json"]).json();
    assert_eq!(listed["runs"][0]["status"], json["status"]);
    (text, json, shown)
}

#[cfg(unix)]
#[test]
fn a_stored_run_is_shown_as_it_stands_with_what_it_waits_for_and_when_it_began() {
    let folder = Folder::new();
    folder.write("gate.yaml", ASKS);
    stored(&folder, &["run", "gate.yaml", "-i", "x", "--detach"]).exits(0);
    let (text, json, _) = views(&folder);
    assert!(text.contains("gate  pending") && json["next"][0]["purpose"] == "to continue", "{text}");
    let live = ["run", "gate.yaml", "-i", "x", "--allow-command", "--trace", "live.json"];
    stored(&folder, &live).exits(75);
    let (text, json, shown) = views(&folder);
    let run = shown["run"].as_str().unwrap();
    assert!(text.contains("gate  waiting") && text.contains("? ASK"), "{text}");
    assert!(text.contains("waiting: `ASK` asks: Open it?") && !text.contains("? calls"), "{text}");
    let resume = format!("trefoil resume {run} --store runs.db --allow-command");
    assert!(text.contains(&format!("to answer: trefoil runs answer {run} ASK yes --store runs.db")), "{text}");
    assert!(text.contains(&format!("to continue: {resume}")), "{text}");
    assert_eq!((&json["status"], &json["waiting"][0]["prompt"]), (&"waiting".into(), &"Open it?".into()), "{json:#}");
    assert_eq!((&json["steps"][0]["status"], json["next"][1]["command"].as_str()), (&"waiting".into(), Some(&*resume)));
    // The trace that the run wrote itself says the same.
    let live: Value = serde_json::from_str(&std::fs::read_to_string(folder.path().join("live.json")).unwrap()).unwrap();
    for member in ["status", "started_at", "waiting", "next"] {
        assert_eq!(live[member], json[member], "{member}");
    }
    let began = json["started_at"].clone();
    assert_eq!(began, shown["started"]);

    // Killed.
    stored(&folder, &["runs", "answer", "last", "ASK", "yes"]).exits(0);
    let mut command = folder.command(&["resume", "last", "--allow-command", "--store", "runs.db"]);
    let child = command.env_remove("TREFOIL_EPHEMERAL").spawn().unwrap();
    crate::durable::until("the command", || folder.path().join("began").exists());
    crate::durable::signal(&child, "-KILL");
    crate::world::wait(child);
    let (text, json, shown) = views(&folder);
    assert!(text.contains("gate  interrupted") && text.contains(&format!("to continue: {resume}")), "{text}");
    assert!(text.contains("runs answer") && text.contains("DO retry"), "{text}");
    assert_eq!((&json["status"], &json["started_at"], &shown["started"]), (&"interrupted".into(), &began, &began));

    folder.write("go", "");
    stored(&folder, &["resume", "last", "--allow-command", "--unknown", "retry"]).exits(0);
    let (text, json, shown) = views(&folder);
    assert!(text.contains("gate  completed") && json.get("next").is_none() && json.get("waiting").is_none(), "{text}");
    assert_eq!((&json["status"], &json["started_at"], &shown["started"]), (&"completed".into(), &began, &began));
}

#[test]
fn a_branch_stopped_by_its_sibling_is_cancelled_in_every_view() {
    let folder = Folder::new();
    let agent = |id: &str, more: &str| {
        format!(
            "  - agent: {{ id: {id}, kind: llm, model: {{ provider: openai, name: m{more} }}, instruction: I., prompt: x }}\n"
        )
    };
    let branches = agent("bad", ", maxRetries: 0") + &agent("slow", "");
    folder.write("p.yaml", format!("id: p\nkind: parallel\nbranches:\n{branches}"));
    folder.write(
        "s.yaml",
        "answers:\n  bad: { error: { status: 400, message: no } }\n  slow: { text: late, delay_ms: 4000 }\n",
    );
    stored(&folder, &["run", "p.yaml", "--model", "scripted=s.yaml", "--trace", "t.json"]).exits(1);
    let status = |json: &Value| {
        let steps = json["steps"].as_array().unwrap().iter();
        let slow = steps.filter(|step| step["label"] == "slow").map(|step| step["status"].clone());
        slow.collect::<Vec<_>>()
    };
    let (text, json, shown) = views(&folder);
    assert!(text.lines().any(|line| line.contains("⊘ slow")), "{text}");
    for json in [&json, &trace(&folder), &shown] {
        assert_eq!(status(json), ["cancelled"], "{json:#}");
    }
}

#[test]
fn what_a_run_warns_of_is_in_its_events_and_its_trace() {
    let folder = Folder::new();
    folder.write("b.yaml", "id: b\nkind: llm\nmodel: { provider: openai, name: m }\ninstruction: I.\nprompt: \"About {{q}}\"\ninputSchema: { q: string }\n");
    let run = ["run", "b.yaml", "--model", "embedded", "--trace", "t.json"];
    let ran = stored(&folder, &run);
    ran.exits(0).says(&["the input `q` is not set"]);
    assert_eq!(ran.err.matches("the input `q` is not set").count(), 1, "{}", ran.err);
    let (_, json, _) = views(&folder);
    let quiet = stored(&folder, &[&run[..], &["-q", "--events", "jsonl"]].concat());
    let told = quiet.lines().into_iter().find(|event| event["event"] == "warning").unwrap();
    let said = told["message"].as_str().unwrap().to_owned();
    assert!(ran.err.contains(&said), "{said}");
    for json in [&json, &trace(&folder)] {
        assert_eq!(json["warnings"], Value::from(vec![said.clone()]));
    }
}

#[test]
fn a_command_that_fails_has_its_exit_code_and_its_error_output_on_its_row() {
    let folder = Folder::new();
    folder.write(
        "c.yaml",
        "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata: { name: c, version: \"1.0.0\" }\nspec:\n  initial_state: A\n  \
         states:\n    A: { kind: System, command: \"echo no such thing >&2; exit 3\", transitions: [ { condition: \
         exit_code_non_zero, target: B } ] }\n    B: { kind: System, command: \"echo ok\", transitions: [] }\n",
    );
    let ran = stored(&folder, &["run", "c.yaml", "-i", "x", "--allow-command"]);
    let (text, ..) = views(&folder);
    for said in [&ran.exits(0).err, &text] {
        let row = said.lines().find(|line| line.contains("! A")).unwrap_or_else(|| panic!("{said}"));
        assert!(row.contains("exit 3: no such thing"), "{row}");
    }
}

#[test]
fn a_fan_out_over_an_empty_list_says_that_it_has_no_items() {
    let folder = Folder::new();
    folder.write(
        "f.yaml",
        "version: \"0.1\"\nagents: { a: { model: \"openai:m\", system: \"S {{ inputs.t }}\" } }\nnodes:\n  f: { type: factory, agent: a, \
         for_each: \"{{ inputs.message }}\", inputs: { t: \"{{ item }}\" }, writes: output.o }\nedges: []\ninput: { message: \"[]\" }\n",
    );
    let ran = stored(&folder, &["run", "f.yaml", "--model", "embedded"]);
    let (text, json, _) = views(&folder);
    let show = stored(&folder, &["runs", "show", "last"]);
    for said in [&ran.exits(0).err, &text, &show.out] {
        let row = said.lines().find(|line| line.contains("✓ f")).unwrap_or_else(|| panic!("{said}"));
        assert!(row.contains("0 items"), "{row}");
    }
    assert_eq!(json["steps"][0]["items"], serde_json::json!({ "total": 0, "failed": 0 }));
}

#[test]
fn warnings_about_a_script_are_in_the_trace() {
    let folder = Folder::new();
    folder.write("a.yaml", crate::world::AGENT).write("s.yaml", "answers: { helper: fine, nobody: x }\n");
    let ran = folder.trefoil(&["run", "a.yaml", "-i", "x", "--model", "scripted=s.yaml", "--trace", "t.json"]);
    let said = ran.exits(0).err.lines().filter_map(|line| line.strip_prefix("warning: "));
    let said: Vec<&str> = said.filter(|warning| warning.contains("`nobody`")).collect();
    assert_eq!(said.len(), 2, "{}", ran.err);
    let trace: Value = serde_json::from_str(&std::fs::read_to_string(folder.path().join("t.json")).unwrap()).unwrap();
    assert_eq!(trace["warnings"], serde_json::json!(said));
}
