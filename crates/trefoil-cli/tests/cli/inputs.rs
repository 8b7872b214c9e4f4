//! Inputs of a run, and how they are processed before the first call.

use serde_json::Value;

use crate::world::Folder;

const LLM: &str = "kind: llm\nmodel: { provider: openai, name: gpt-x }\ninstruction: hi\n";

/// The user messages of a run, from its trace.
fn messages(folder: &Folder, args: &[&str]) -> Vec<String> {
    let mut all = vec!["run"];
    all.extend(args);
    all.extend(["--model", "embedded", "--trace", "t.json"]);
    folder.trefoil(&all).exits(0);
    let trace: Value = serde_json::from_slice(&std::fs::read(folder.path().join("t.json")).unwrap()).unwrap();
    let steps = trace["steps"].as_array().unwrap().iter();
    let calls = steps.flat_map(|s| s["calls"].as_array().cloned().unwrap_or_default());
    let said = calls.flat_map(|c| c["messages"].as_array().cloned().unwrap_or_default());
    said.filter(|m| m["role"] == "user").map(|m| m["content"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn properties_that_a_json_schema_does_not_declare_are_refused() {
    let folder = Folder::new();
    let schema = "inputSchema: { type: object, properties: { topic: { type: string } } }\nprompt: \"{{topic}}\"\n";
    folder.write("a.yaml", format!("id: a\n{LLM}{schema}"));
    let open = schema.replace("properties:", "additionalProperties: true, properties:");
    folder.write("b.yaml", format!("id: b\n{LLM}{open}"));
    let given = ["--input-json", r#"{"topic": "tea", "other": 1}"#, "--model", "embedded"];
    folder.trefoil(&[&["run", "a.yaml"], &given[..]].concat()).silent(2).says(&["no input property `other`"]);
    folder.trefoil(&[&["run", "b.yaml"], &given[..]].concat()).exits(0);
    folder
        .trefoil(&["run", "--model", "embedded", "a.yaml", "-i", "topic=tea", "-i", "x=1"])
        .exits(2)
        .says(&["input-invalid", "`x`"]);
}

#[test]
fn aegis_inputs_are_what_the_schema_declares_and_the_intent() {
    let folder = Folder::new();
    folder.write(
        "a.yaml",
        "apiVersion: 100monkeys.ai/v1\nkind: Agent\nmetadata: { name: a, version: '1' }\nspec:\n  runtime: {}\n  \
         input_schema: { type: object, properties: { topic: { type: string } } }\n  task:\n    \
         instruction: hi\n    prompt_template: \"{{input.topic}} {{intent}}\"\n",
    );
    let given = |json| folder.trefoil(&["run", "a.yaml", "--input-json", json, "--model", "embedded"]);
    given(r#"{"topic": "tea", "intent": "brew"}"#).exits(0);
    given(r#"{"topic": "tea", "other": 1}"#).silent(2).says(&["no input property `other`"]);
}

#[test]
fn a_workflow_without_a_schema_passes_on_what_it_got() {
    let folder = Folder::new();
    folder.write(
        "agents/a.yaml",
        "apiVersion: 100monkeys.ai/v1\nkind: Agent\nmetadata: { name: a, version: '1' }\nspec:\n  runtime: {}\n  \
         input_schema: { type: object, properties: { topic: { type: string } } }\n  task: { instruction: hi }\n",
    );
    folder.write(
        "w.yaml",
        "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata: { name: w, version: '1' }\nspec:\n  \
         initial_state: ONE\n  states:\n    ONE: { kind: Agent, agent: a, transitions: [] }\n",
    );
    let given = ["--input-json", r#"{"topic": "tea", "other": 1}"#, "--model", "embedded"];
    folder.trefoil(&[&["run", ".#w"], &given[..]].concat()).exits(0);
}

#[test]
fn a_run_that_would_read_secrets_does_not_start() {
    let folder = Folder::new();
    folder
        .write("a.yaml", "id: a\nkind: tool\ntool: { kind: local, name: f, params: { token: \"{{secrets.KEY}}\" } }\n");
    folder.write("script.yaml", "tools:\n  f: done\n");
    folder.trefoil(&["run", "a.yaml"]).silent(2).says(&["the secret `KEY` is not set"]);
    // A run with a script needs none.
    folder.trefoil(&["run", "a.yaml", "--model", "scripted=script.yaml"]).exits(0);
    folder.trefoil(&["check", "a.yaml"]).exits(0);
}

#[test]
fn without_a_prompt_the_input_is_sent_as_it_came() {
    let folder = Folder::new();
    let schema = "inputSchema: { topic: string, tone: { type: string, default: dry } }\n";
    folder.write("a.yaml", format!("id: a\n{LLM}{schema}"));
    let sent = messages(&folder, &["a.yaml", "--input-json", r#"{"topic": "tea"}"#]);
    assert_eq!(sent, [r#"{"topic":"tea"}"#], "no default is filled in");
}

#[test]
fn a_factory_sends_null_as_a_word() {
    let folder = Folder::new();
    folder.write(
        "f.yaml",
        "version: \"0.1\"\nagents:\n  b: {model: \"openai:m\", system: B}\ninput: {message: M}\nnodes:\n  \
         f: {type: factory, agent: b, for_each: '[null, true, 1.0, \"x\"]', writes: output.f}\n",
    );
    let mut sent = messages(&folder, &["f.yaml"]);
    sent.sort();
    assert_eq!(sent, ["1", "null", "true", "x"]);
}
