//! One mistake is told once, and what surely has a value is not doubted.

use super::support::{check, line};

/// All that is said about the first of some files: rule, place and message.
#[track_caller]
fn says(front: &str, files: &[(&str, &str)], expected: &[&str]) {
    let (project, all) = check(Some(front), files);
    let mut lines: Vec<String> = all.iter().map(|d| format!("{} {}", d.rule, line(&project, d))).collect();
    lines.sort();
    lines.dedup();
    assert_eq!(lines, expected, "\n{}", lines.join("\n"));
}

fn workflow(states: &str) -> String {
    format!(
        "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata: {{ name: flow, version: 1.0.0 }}\nspec:\n  initial_state: A\n  states:\n{states}"
    )
}

const CHILD: &str = r#"apiVersion: 100monkeys.ai/v1
kind: Workflow
metadata:
  name: child
  version: "1.0.0"
  input_schema: { type: object, required: [title], properties: { title: { type: string } } }
  output_schema: { type: object, properties: { sum: { type: string }, flag: { type: boolean } } }
  output_template: { sum: "{{input.title}}", flag: "{{gt 4 3}}" }
spec:
  initial_state: E
  states:
    E: { kind: System, command: "echo hi" }
"#;

#[test]
fn what_a_subworkflow_leaves_is_there_where_it_went_well() {
    let after = |input: &str, condition: &str, failed: &str| {
        workflow(&format!(
            r#"    A:
      kind: Subworkflow
      workflow_id: child
      mode: blocking
      result_key: res
      input: '{input}'
      transitions:
        - {{ condition: custom, expression: "{condition}", target: E }}
        - {{ condition: always, target: E }}
        - {{ condition: on_failure, target: F }}
    E: {{ kind: System, command: "echo '{{{{blackboard.res.sum}}}} {{{{res.flag}}}}'" }}
    F: {{ kind: System, command: "echo '{{{{A.error}}}}{failed}'" }}
"#
        ))
    };
    let title = r#"{"title": "x"}"#;
    let files = |flow: String| [("flow.yaml".to_owned(), flow), ("child.yaml".to_owned(), CHILD.to_owned())];
    let says = |flow: String, expected: &[&str]| {
        let files = files(flow);
        says("aegis", &files.each_ref().map(|(a, b)| (a.as_str(), b.as_str())), expected);
    };
    says(after(title, "blackboard.res.flag == true", ""), &[]);
    // Where it failed this may hold as well.
    says(
        after(title, "blackboard.res.flag != true", ""),
        &[
            "maybe-undefined info 17:42 `blackboard.res.sum` has no value where its state has not run to its end",
            "maybe-undefined info 17:65 `res.flag` has no value where its state has not run to its end",
        ],
    );
    says(
        after(title, "blackboard.res.flag == true", " {{res.sum}}"),
        &["maybe-undefined info 18:54 `res.sum` has no value where nothing has written it yet"],
    );
    says(
        after(r#"{"titel": "x"}"#, "blackboard.res.flag == true", ""),
        &["missing-input warning 12:16 `child` needs `title`, and is given `titel`"],
    );
}

#[test]
fn a_block_that_asks_under_another_name_has_asked() {
    let reads = |text: &str| {
        workflow(&format!(
            r#"    A:
      kind: System
      command: "make a"
      transitions: [{{ condition: exit_code_zero, target: B }}, {{ condition: exit_code_non_zero, target: C }}]
    B:
      kind: System
      command: update_blackboard
      env: {{ note: "{{{{A.stdout}}}}" }}
      transitions: [{{ condition: always, target: D }}]
    C: {{ kind: System, command: "echo '{{{{A.stderr}}}}'", transitions: [{{ condition: always, target: D }}] }}
    D: {{ kind: System, command: "echo '{text}'" }}
"#
        ))
    };
    let says = |text: &str, expected: &[&str]| says("aegis", &[("flow.yaml", &reads(text))], expected);
    says("{{#if blackboard.note}}{{note}}{{/if}}", &[]);
    says("{{#if B}}{{note}}{{/if}}", &[]);
    says(
        "{{#if C}}{{note}}{{/if}}",
        &["maybe-undefined info 17:51 `note` has no value where its state has not run to its end"],
    );
    says(
        "{{#if blackboard.note}}x{{else}}{{note}}{{/if}}",
        &["maybe-undefined info 17:74 `note` has no value where its state has not run to its end"],
    );
}

#[test]
fn a_step_whose_condition_always_holds_is_not_skipped() {
    let step = |when: &str| {
        format!(
            r#"id: flow
kind: sequential
inputSchema: {{ mode: string }}
steps:
  - agent: {{ id: s, kind: llm, model: {{ provider: openai, name: gpt-5.4 }}, instruction: hi, prompt: "{{{{x}}}}" }}
    when: "{when}"
    input: {{ x: "{{{{mode}}}}" }}
output: {{ a: "{{{{s}}}}" }}
"#
        )
    };
    let says = |when: &str, expected: &[&str]| says("agntz", &[("flow.yaml", &step(when))], expected);
    let always = |at: &str| {
        format!("constant-condition warning {at} this condition is always true: `mode` is `a`, or it is not")
    };
    says("{{mode}} == a || {{mode}} != a", &[&always("6:14")]);
    says("{{mode}} == b || {{mode}} != a || {{mode}} == a", &[&always("6:31")]);
    says("{{mode}} == a || {{mode}} != b", &["maybe-undefined info 8:17 `s` is null when its step is skipped"]);
}

#[test]
fn states_behind_a_reported_transition_are_not_called_unreachable() {
    let rest = "    B: { kind: System, command: \"echo b\", transitions: [{ condition: always, target: C }] }\n    C: { kind: System, command: \"echo c\" }\n";
    let says = |first: &str, more: &str, expected: &[&str]| {
        says("aegis", &[("flow.yaml", &workflow(&format!("    A: {first}\n{rest}{more}")))], expected);
    };
    let dead = "    X: { kind: System, command: \"echo x\" }\n";
    says(
        "{ kind: System, command: \"make a\", transitions: [{ condition: always, target: BB }] }",
        dead,
        &[
            "unknown-reference error 7:86 no state is called `BB`",
            "unreachable-state warning 10:5 no transition leads to `X`: it never runs",
        ],
    );
    says(
        "{ kind: System, command: \"make a\", transitions: [{ condition: always, target: NOWHERE }] }",
        dead,
        &["unknown-reference error 7:86 no state is called `NOWHERE`"],
    );
    says(
        "{ kind: System, command: \"make a\", trasitions: [{ condition: always, target: B }] }",
        dead,
        &[
            "unknown-key warning 7:43 state `A` has no key `trasitions`",
            "unreachable-state warning 10:5 no transition leads to `X`: it never runs",
        ],
    );
    says(
        "{ kind: System, command: \"make a\" }",
        "",
        &["unreachable-state warning 8:5 no transition leads to `B`: it never runs"],
    );
}

#[test]
fn a_misspelt_input_is_not_a_missing_one_too() {
    let flow = |inner: &str, step: &str| {
        format!(
            r#"id: flow
kind: sequential
inputSchema: {{ q: string }}
steps:
  - agent: {{ id: w, kind: llm, model: {{ provider: openai, name: gpt-5.4 }}, {inner}instruction: hi, prompt: "{{{{topic}}}}" }}
    {step}
"#
        )
    };
    let says =
        |inner: &str, step: &str, expected: &[&str]| says("agntz", &[("flow.yaml", &flow(inner, step))], expected);
    let declared = "inputSchema: { topic: string }, ";
    says(
        "",
        "inputs: { topic: \"{{q}}\" }",
        &[
            "unknown-key warning 6:5 a step has no key `inputs`",
            "unused-input warning 3:16 nothing in `flow` reads the input `q`",
        ],
    );
    says(
        declared,
        "inputs: { topic: \"{{q}}\" }",
        &[
            "unknown-key warning 6:5 a step has no key `inputs`",
            "unused-input warning 3:16 nothing in `flow` reads the input `q`",
        ],
    );
    says(declared, "input: { topci: \"{{q}}\" }", &["unknown-input error 6:14 `w` takes no `topci`"]);
    says(declared, "input: \"{{q}}\"", &["wrong-type error 6:12 `input` must be a mapping, not text"]);
    says("", "input: \"{{q}}\"", &["wrong-type error 6:12 `input` must be a mapping, not text"]);
    says(declared, "input: { topic: 3 }", &["wrong-type error 6:21 `topic` must be text or a template, not a number"]);
    says(
        declared,
        "input: { else: \"{{q}}\" }",
        &[
            "missing-input warning 6:5 `input` lacks `topic` of `w`: null there",
            "unknown-input error 6:14 `w` takes no `else`",
        ],
    );
    let tool = r#"id: call
kind: tool
inputSchema: { t: string }
tool: { kind: http, name: fetch, url: "https://api.example.com/{id}/{of}", method: GET, params: { idd: "{{t}}" } }
"#;
    self::says(
        "agntz",
        &[("tool.yaml", tool)],
        &[
            "missing-input warning 4:69 nothing fills in `{of}`: `params` does not have it",
            "refused warning 4:27 the http tool `fetch` runs only when a tool of this name is provided",
            "unknown-input error 4:99 `idd` is not a placeholder of the url",
        ],
    );
}

#[test]
fn a_list_type_is_no_other_word_for_its_items() {
    let text = "id: a\nkind: llm\nmodel: { provider: openai, name: gpt-5.4 }\ninstruction: hi\nprompt: \"{{t}}\"\ninputSchema: { t: 'string[]' }\n";
    let (_, all) = check(Some("agntz"), &[("a.yaml", text)]);
    let found: Vec<_> = all.iter().map(|d| (d.rule, d.help.as_deref(), d.fix.is_some())).collect();
    let help = "a list is `{ type: array, items: { type: string } }`";
    assert_eq!(found, [("invalid-schema", Some(help), false)]);
}

#[test]
fn a_default_that_does_not_fit_is_told_once() {
    let text = r#"apiVersion: 100monkeys.ai/v1
kind: Workflow
metadata:
  name: child
  version: "1.0.0"
  input_schema:
    type: object
    properties:
      count:
        type: integer
        default: "x"
spec:
  initial_state: E
  states:
    E: { kind: Human, prompt: "{{input.count}}", timeout: 1h }
"#;
    says(
        "aegis",
        &[("child.yaml", text)],
        &["wrong-default warning 11:18 the default does not fit its own schema: `x` is not of type `integer`"],
    );
}

#[test]
fn a_threshold_that_no_score_passes() {
    let judge = |most: &str| {
        format!(
            r#"apiVersion: 100monkeys.ai/v1
kind: Agent
metadata: {{ name: j, version: "1.0.0" }}
spec:
  runtime: {{ model: smart }}
  task: {{ instruction: Judge. }}
  execution:
    validation:
      - type: json_schema
        schema: {{ type: object, required: [score], properties: {{ score: {{ type: number, minimum: 0{most} }} }} }}
"#
        )
    };
    let says = |condition: &str, most: &str, expected: &[&str]| {
        let flow = workflow(&format!(
            "    A:\n      kind: Agent\n      agent: j\n      input: \"{{{{workflow.task}}}}\"\n      transitions: [{{ {condition}, target: OK }}, {{ condition: always, target: OK }}, {{ condition: on_failure, target: OK }}]\n    OK: {{ kind: System, command: \"echo '{{{{A.status}}}}'\" }}\n"
        ));
        self::says("aegis", &[("flow.yaml", &flow), ("j.yaml", &judge(most))], expected);
    };
    says(
        "condition: score_above, threshold: 1.0",
        ", maximum: 1",
        &["impossible-transition warning 11:34 `score_above 1` can never hold here"],
    );
    says(
        "condition: score_above, threshold: 1.0",
        "",
        &["impossible-transition warning 11:34 `score_above 1` can never hold here"],
    );
    says(
        "condition: score_above, threshold: 0.6",
        ", maximum: 0.5",
        &["impossible-transition warning 11:34 `score_above 0.6` can never hold here"],
    );
    says(
        "condition: score_below, threshold: 0",
        ", maximum: 1",
        &["impossible-transition warning 11:34 `score_below 0` can never hold here"],
    );
    says("condition: score_above, threshold: 0.9", ", maximum: 1", &[]);
}
