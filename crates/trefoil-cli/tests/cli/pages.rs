//! Tests statements of the formats' documentation with the binary.

use serde_json::{Value, json};

use crate::world::{AGENT, Folder, Ran, finish};

const SIREN: &str = "version: \"0.1\"\nagents:\n  a: {model: \"openai:m\", system: S}\ninput: {message: M}\nnodes:\n";

/// Runs a file with the embedded model and these variables; the trace is in `t.json`.
fn run(folder: &Folder, file: &str, env: &[(&str, &str)]) -> Ran {
    let mut command = folder.command(&["run", file, "--model", "embedded", "--trace", "t.json", "--output", "json"]);
    command.envs(env.iter().copied());
    finish(command)
}

fn trace(folder: &Folder) -> Value {
    serde_json::from_slice(&std::fs::read(folder.path().join("t.json")).unwrap()).unwrap()
}

/// The number of model calls in a trace.
fn model_calls(trace: &Value) -> usize {
    let steps = trace["steps"].as_array().unwrap().iter();
    let calls = steps.flat_map(|s| s["calls"].as_array().cloned().unwrap_or_default());
    calls.filter(|c| c["effect"] == "model").count()
}

const UNSET: &str = "InterpolationError in '{{ env.REGION }}' [env]: Environment variable 'REGION' is not set";

#[test]
fn an_unset_variable_in_the_inputs_of_a_node_fails_it() {
    let folder = Folder::new();
    folder.write("child.yaml", "version: \"0.1\"\nagents:\n  b: {model: \"openai:m\", system: \"In {{ inputs.region | default('nowhere') }}\"}\nnodes:\n  say: {agent: b, writes: output.said}\n");
    folder.write(
        "flow.yaml",
        format!("{SIREN}  c: {{type: workflow, ref: child.yaml, inputs: {{region: \"{{{{ env.REGION }}}}\"}}}}\n"),
    );
    let swarm = "  f:\n    type: factory\n    for_each: '[1, 2]'\n    inputs: {region: \"{{ env.REGION }}\"}\n    writes: output.f\n    swrm:\n      agents:\n        - {id: x, provider: openai, model: m, prompt: \"{{ inputs.region | default('nowhere') }}\"}\n      synthesis: {provider: openai, model: m, prompt: done}\n";
    folder.write("swarm.yaml", format!("{SIREN}{swarm}"));
    // The first one certainly runs; the list of the second one could be empty.
    run(&folder, "flow.yaml", &[]).exits(2).says(&["missing-env", "`REGION` is not set; `c` needs it"]);
    run(&folder, "swarm.yaml", &[]).exits(1).says(&[UNSET]);
    assert_eq!(model_calls(&trace(&folder)), 0);
    for file in ["flow.yaml", "swarm.yaml"] {
        run(&folder, file, &[("REGION", "north")]).exits(0);
    }
}

#[test]
fn an_unset_variable_in_a_prompt_that_may_not_be_needed_fails_before_the_call_at_its_place() {
    let folder = Folder::new();
    let agents = "system: \"You are in {{ env.REGION }}.\"}\n  b: {model: \"openai:m\", system: S";
    let nodes = "  one: {agent: b, writes: working.one}\n  n: {agent: a, writes: output.n}\n";
    let edges = "edges:\n  - {from: one, to: n, when: \"_budget.total_tokens > 0\"}\n";
    folder.write("flow.yaml", SIREN.replace("system: S", agents) + nodes + edges);
    let events = folder.trefoil(&["run", "flow.yaml", "--model", "embedded", "--events", "jsonl", "--trace", "t.json"]);
    events.exits(1);
    let told =
        json!({"expression": "env.REGION", "namespace": "env", "reason": "Environment variable 'REGION' is not set"});
    let place = json!({"file": "flow.yaml", "line": 3, "column": 49});
    let last = events.lines().last().unwrap().clone();
    assert_eq!((&last["calls"], &last["error"]["interpolation"]), (&json!(1), &told));
    assert_eq!(events.out.matches("model_started").count(), 1, "{}", events.out);
    let trace = trace(&folder);
    assert_eq!((&trace["error"]["interpolation"], &trace["error"]["location"]), (&told, &place));
    assert_eq!((&trace["calls"], model_calls(&trace)), (&json!(1), 1));
}

#[test]
fn a_variable_in_the_output_of_agntz_is_there_and_an_unset_one_is_nothing() {
    let folder = Folder::new();
    folder.write("main.yaml", "id: main\nkind: sequential\nsteps:\n  - ref: helper\n    input: { topic: hi }\noutput:\n  alone: \"{{env.REGION}}\"\n  within: \"in {{env.REGION}}!\"\n");
    folder.write("helper.yaml", AGENT);
    assert_eq!(run(&folder, "main.yaml", &[]).exits(0).json(), json!({"alone": null, "within": "in !"}));
    let set = run(&folder, "main.yaml", &[("REGION", "north")]);
    assert_eq!(set.exits(0).json(), json!({"alone": "north", "within": "in north!"}));
}

#[test]
fn an_item_that_does_not_render_fails_alone_where_the_factory_continues() {
    let folder = Folder::new();
    let items = "[{\"t\": \"one\"}, {\"u\": \"two\"}, {\"t\": \"three\"}]";
    let factory = |inputs: &str, prompt: &str| {
        format!(
            "version: \"0.1\"\nagents:\n  w: {{model: \"openai:m\", system: \"{prompt}\"}}\ninput: {{message: M}}\nnodes:\n  f: {{type: factory, agent: w, for_each: '{items}', {inputs} on_failure: continue, writes: output.f}}\n"
        )
    };
    folder.write("inputs.yaml", factory("inputs: {task: \"{{ item.t }}\"},", "Work."));
    folder.write("prompt.yaml", factory("", "Do {{ item.t }}."));
    for file in ["inputs.yaml", "prompt.yaml"] {
        run(&folder, file, &[]).exits(0);
        let trace = trace(&folder);
        assert_eq!(model_calls(&trace), 2, "{file}: {trace:#}");
        assert!(trace.to_string().contains("item 2 failed: INTERPOLATION_ERROR"), "{file}: {trace:#}");
    }
}

#[test]
fn the_names_that_the_pages_have_for_rules_are_names_of_rules() {
    let folder = Folder::new();
    for (theirs, ours) in [("circular_ref", "circular-ref"), ("working_dot_node_id", "working-dot-node-id")] {
        let explained = folder.trefoil(&["explain", theirs]);
        assert!(explained.out.contains(ours) && explained.out.contains(theirs), "{}", explained.out);
        assert_eq!(
            (explained.code, folder.trefoil(&["check", "--allow", theirs, "."]).err.contains("no rule")),
            (0, false)
        );
    }
    let circle = "version: \"0.1\"\nagents:\n  x: {model: \"openai:m\", system: \"{{ two.output }}\"}\n  y: {model: \"openai:m\", system: \"{{ one.output }}\"}\nnodes:\n  one: {agent: x, writes: working.a}\n  two: {agent: y, writes: working.b}\n";
    folder.write("circle.yaml", circle);
    let checked = folder.trefoil(&["check", "circle.yaml"]);
    assert_eq!(checked.code, 1);
    let said = format!("{}{}", checked.out, checked.err);
    assert!(said.contains("circular-ref") && said.contains("InterpolationError [circular_ref]"), "{said}");
    folder.write(
        "dot.yaml",
        format!(
            "{}  n: {{agent: a, writes: output.n}}\n",
            SIREN.replace("system: S", "system: \"{{ working.n.output }}\"")
        ),
    );
    let checked = folder.trefoil(&["check", "dot.yaml"]);
    let said = format!("{}{}", checked.out, checked.err);
    assert!(said.contains("working-dot-node-id") && said.contains("working_dot_node_id"), "{said}");
}

#[test]
fn a_pair_for_an_agent_that_takes_plain_text_is_told() {
    let folder = Folder::new();
    folder.write("a.yaml", AGENT);
    folder.trefoil(&["run", "a.yaml", "-i", "x=3", "--model", "embedded"]).silent(2).says(&[
        "plain text",
        "`x`",
        "--input-json '\"x=3\"'",
    ]);
    folder.trefoil(&["run", "a.yaml", "--input-json", "\"x=3\"", "--model", "embedded"]).exits(0);
    // An agent that reads the name gets an object.
    folder.write("b.yaml", AGENT.replace("You help.", "You help with {{topic}}.").replace("id: helper", "id: b"));
    folder.trefoil(&["run", "b.yaml", "-i", "topic=tea", "--model", "embedded"]).exits(0);
    folder
        .trefoil(&["run", "b.yaml", "-i", "topik=tea", "--model", "embedded"])
        .silent(2)
        .says(&["did you mean `topic`"]);
    folder.write(
        "c.yaml",
        format!(
            "{}inputSchema: {{ name: string }}\nprompt: \"<{{{{name}}}}>\"\n",
            AGENT.replace("id: helper", "id: c")
        ),
    );
    folder.trefoil(&["run", "c.yaml", "-i", "name=null", "--model", "embedded", "--trace", "t.json"]).exits(0);
    assert!(trace(&folder).to_string().contains("<null>"));
}

#[test]
fn json_prints_numbers_as_templates_do() {
    let folder = Folder::new();
    folder.write("a.yaml", format!("{AGENT}outputSchema: {{ n: number, m: number }}\n"));
    folder.write("s.yaml", "answers:\n  helper: '{\"n\": 2.0, \"m\": 2.5}'\n");
    let ran = folder.trefoil(&["run", "a.yaml", "-i", "x", "--model", "scripted=s.yaml", "--output", "json"]);
    assert_eq!(ran.exits(0).out, "{\"n\":2,\"m\":2.5}\n");
}

#[test]
fn a_condition_may_compare_with_an_object() {
    let folder = Folder::new();
    let flow = |when: &str| {
        format!(
            "version: \"0.1\"\nagents:\n  a: {{model: \"openai:m\", system: S}}\ninput: {{message: M}}\nstate: {{working: {{x: {{k: 1, l: [a, {{m: true}}]}}}}}}\nnodes:\n  one: {{agent: a, writes: working.y}}\n  two: {{agent: a, writes: output.two}}\nedges:\n  - {{from: one, to: two, when: '{when}'}}\n"
        )
    };
    for (when, taken) in [
        (r#"working.x == {"l": ["a", {"m": True}], "k": 1}"#, true),
        (r#"working.x != {"l": ["a", {"m": True}], "k": 1}"#, false),
        (r#"working.x.l == ["a", {"m": true}]"#, true),
        (r#""k" in {"k": {"deep": {}}}"#, true),
        (r#"working.x == {}"#, false),
    ] {
        folder.write("flow.yaml", flow(when));
        run(&folder, "flow.yaml", &[]).exits(0);
        assert_eq!(model_calls(&trace(&folder)), if taken { 2 } else { 1 }, "{when}");
    }
    for (when, said) in [
        (r#"working.x == {"k": working.y}"#, "literals"),
        (r#"working.x == {k: 1}"#, "quoted key"),
        (r#"working.x == {"k" 1}"#, "missing `:`"),
    ] {
        folder.write("flow.yaml", flow(when));
        let checked = folder.trefoil(&["check", "flow.yaml"]);
        assert!(format!("{}{}", checked.out, checked.err).contains(said), "{when}: {checked:?}");
    }
}

#[test]
fn memory_is_told_once() {
    let folder = Folder::new();
    folder.write("flow.yaml", format!("{SIREN}  n: {{agent: a, writes: output.n}}\nmemory: {{backend: sqlite}}\n"));
    let checked = folder.trefoil(&["check", "flow.yaml"]);
    let said = format!("{}{}", checked.out, checked.err);
    assert!(said.contains("`memory` has no effect") && !said.contains("refused"), "{said}");
    run(&folder, "flow.yaml", &[]).exits(0);
}

#[test]
fn a_state_with_transitions_for_failures_alone_ends_the_run_when_it_succeeds() {
    let folder = Folder::new();
    let flow = |command: &str, transitions: &str| {
        format!(
            "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata: {{ name: w, version: '1' }}\nspec:\n  initial_state: TEST\n  states:\n    TEST: {{ kind: System, command: '{command}', transitions: [{transitions}] }}\n    REPORT: {{ kind: System, command: echo reported }}\n"
        )
    };
    let ran = |command: &str, transitions: &str| {
        folder.write("w.yaml", flow(command, transitions));
        folder.trefoil(&["run", "w.yaml", "--allow-command", "--model", "embedded", "-q"])
    };
    let failing = "{ condition: exit_code_non_zero, target: REPORT }";
    assert!(ran("printf fine", failing).exits(0).out.contains("fine"));
    assert!(ran("sh -c \"exit 3\"", failing).exits(0).out.contains("reported"));
    let three = "{ condition: exit_code, value: 3, target: REPORT }";
    ran("sh -c \"exit 4\"", three).exits(1).says(&["NO_TRANSITION", "is 4"]);
    assert!(ran("printf fine", three).exits(0).out.contains("fine"));
    // A condition for success that does not match.
    let other = "{ condition: custom, expression: \"TEST.output == 'x'\", target: REPORT }";
    ran("printf fine", other).exits(1).says(&["NO_TRANSITION", "fine"]);
    folder.write("w.yaml", flow("make test", failing));
    let checked = folder.trefoil(&["check", "w.yaml"]);
    let said = format!("{}{}", checked.out, checked.err);
    assert!(said.contains("info[implicit-end]") && !said.contains("missing-transition"), "{said}");
}
