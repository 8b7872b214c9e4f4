//! One mistake is reported once, and a value that certainly exists is not doubted.

use expect_test::{Expect, expect};

use super::support::{check, hold, shown};

/// All findings about the first of several files: rule, place and message.
#[track_caller]
fn says(front: &str, files: &[(&str, &str)], expected: Expect) {
    let (project, all) = check(Some(front), files);
    hold(&expected, &shown(&project, all.iter()));
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
    let says = |flow: String, expected: Expect| {
        let files = files(flow);
        says("aegis", &files.each_ref().map(|(a, b)| (a.as_str(), b.as_str())), expected);
    };
    says(after(title, "blackboard.res.flag == true", ""), expect![""]);
    // After a failure this may hold as well.
    says(
        after(title, "blackboard.res.flag != true", ""),
        expect![[r#"
            17:42 info maybe-undefined: `blackboard.res.sum` has no value if its state has not completed
              | E: { kind: System, command: "echo '{{blackboard.res.sum}} {{res.flag}}'" }
              |                                      ^^^^^^^^^^^^^^^^^^
              help: guard it with `{{#if blackboard.res.sum}}`, or write `{{default blackboard.res.sum "..."}}`
            17:65 info maybe-undefined: `res.flag` has no value if its state has not completed
              | ...ommand: "echo '{{blackboard.res.sum}} {{res.flag}}'" }
              |                                            ^^^^^^^^
              help: guard it with `{{#if res.flag}}`, or write `{{default res.flag "..."}}`
        "#]],
    );
    says(
        after(title, "blackboard.res.flag == true", " {{res.sum}}"),
        expect![[r#"
            18:54 info maybe-undefined: `res.sum` has no value if nothing has written it yet
              | ...: System, command: "echo '{{A.error}} {{res.sum}}'" }
              |                                            ^^^^^^^
              help: guard it with `{{#if res.sum}}`, or write `{{default res.sum "..."}}`
        "#]],
    );
    says(
        after(r#"{"titel": "x"}"#, "blackboard.res.flag == true", ""),
        expect![[r#"
            12:16 warning missing-input: `child` needs `title`, but gets `titel`
              | input: '{"titel": "x"}'
              |          ^^^^^^^
              at child.yaml:6:66: required here
              help: did you mean `title`?
              suggestion: write `title`: 12:17 "title"
        "#]],
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
    let says = |text: &str, expected: Expect| says("aegis", &[("flow.yaml", &reads(text))], expected);
    says("{{#if blackboard.note}}{{note}}{{/if}}", expect![""]);
    says("{{#if B}}{{note}}{{/if}}", expect![""]);
    says(
        "{{#if C}}{{note}}{{/if}}",
        expect![[r#"
            17:51 info maybe-undefined: `note` has no value if its state has not completed
              | ...ind: System, command: "echo '{{#if C}}{{note}}{{/if}}'" }
              |                                            ^^^^
              help: guard it with `{{#if note}}`, or write `{{default note "..."}}`
        "#]],
    );
    says(
        "{{#if blackboard.note}}x{{else}}{{note}}{{/if}}",
        expect![[r#"
            17:74 info maybe-undefined: `note` has no value if its state has not completed
              | ...echo '{{#if blackboard.note}}x{{else}}{{note}}{{/if}}'" }
              |                                            ^^^^
              help: guard it with `{{#if note}}`, or write `{{default note "..."}}`
        "#]],
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
    let says = |when: &str, expected: Expect| says("agntz", &[("flow.yaml", &step(when))], expected);
    says(
        "{{mode}} == a || {{mode}} != a",
        expect![[r#"
            6:11 warning always-true: this condition is always true: in every case, one of its parts is
              | when: "{{mode}} == a || {{mode}} != a"
              |       ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
              help: to exclude several values, join the comparisons with `&&`
        "#]],
    );
    says(
        "{{mode}} == b || {{mode}} != a || {{mode}} == a",
        expect![[r#"
            6:11 warning always-true: this condition is always true: in every case, one of its parts is
              | when: "{{mode}} == b || {{mode}} != a || {{mode}} == a"
              |       ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
              help: to exclude several values, join the comparisons with `&&`
        "#]],
    );
    says(
        "{{mode}} == a || {{mode}} != b",
        expect![[r#"
            8:17 info maybe-undefined: `s` has no value if its step is skipped (it runs only when `{{mode}} == a || {{mode}} != b`)
              | output: { a: "{{s}}" }
              |                 ^
              help: guard it with `{{#if s}}`
        "#]],
    );
}

#[test]
fn states_behind_a_reported_transition_are_not_called_unreachable() {
    let rest = "    B: { kind: System, command: \"echo b\", transitions: [{ condition: always, target: C }] }\n    C: { kind: System, command: \"echo c\" }\n";
    let says = |first: &str, more: &str, expected: Expect| {
        says("aegis", &[("flow.yaml", &workflow(&format!("    A: {first}\n{rest}{more}")))], expected);
    };
    let dead = "    X: { kind: System, command: \"echo x\" }\n";
    says(
        "{ kind: System, command: \"make a\", transitions: [{ condition: always, target: BB }] }",
        dead,
        expect![[r#"
            7:86 error unknown-reference: unknown state `BB`
              | ...nsitions: [{ condition: always, target: BB }] }
              |                                            ^^
              help: did you mean `B`?
              suggestion: write `B`: 7:86 "B"
            10:5 warning unreachable-state: no transition leads to `X`, so it never runs
              | X: { kind: System, co
              | ^
              help: add a transition to it, or remove the state
        "#]],
    );
    says(
        "{ kind: System, command: \"make a\", transitions: [{ condition: always, target: NOWHERE }] }",
        dead,
        expect![[r#"
            7:86 error unknown-reference: unknown state `NOWHERE`
              | ...nsitions: [{ condition: always, target: NOWHERE }] }
              |                                            ^^^^^^^
        "#]],
    );
    says(
        "{ kind: System, command: \"make a\", trasitions: [{ condition: always, target: B }] }",
        dead,
        expect![[r#"
            7:43 error unknown-key: state `A` has no key `trasitions`
              | A: { kind: System, command: "make a", trasitions: [{ condition: alwa
              |                                       ^^^^^^^^^^
              help: did you mean `transitions`? without it no other state runs after this one
              fix: write `transitions`: 7:43 "transitions"
            10:5 warning unreachable-state: no transition leads to `X`, so it never runs
              | X: { kind: System, co
              | ^
              help: add a transition to it, or remove the state
        "#]],
    );
    says(
        "{ kind: System, command: \"make a\" }",
        "",
        expect![[r#"
            8:5 warning unreachable-state: no transition leads to `B`, so it never runs
              | B: { kind: System, co
              | ^
              at 9:5: this state never runs either, because only that one leads to it
              help: add a transition to it, or remove the state
        "#]],
    );
    // States that only lead to each other.
    says(
        "{ kind: System, command: \"echo a\", transitions: [{ condition: always, target: B }] }",
        "    D: { kind: System, command: \"echo d\", transitions: [{ target: E }] }\n    E: { kind: System, command: \"echo e\", transitions: [{ target: D }] }\n",
        expect![[r#"
            10:5 warning unreachable-state: no transition leads to `D`, so it never runs
              | D: { kind: System, co
              | ^
              at 11:5: this state never runs either, because only that one leads to it
              help: add a transition to it, or remove the state
        "#]],
    );
}

#[test]
fn the_result_of_a_state_that_never_ran_before() {
    let says = |first: &str, last: &str, expected: Expect| {
        let states = "    A: { kind: System, command: \"echo FIRST\", transitions: [{ condition: always, target: B }] }\n    B: { kind: System, command: \"echo LAST\" }\n";
        let states = states.replace("FIRST", first).replace("LAST", last);
        says("aegis", &[("flow.yaml", &workflow(&states))], expected);
    };
    says(
        "{{B.output}}",
        "b",
        expect![[r#"
            7:41 warning unordered-read: `B.output` never has a value here, because `B` never runs before `A`
              | A: { kind: System, command: "echo {{B.output}}", transitions: [{
              |                                     ^^^^^^^^
              help: check the transitions, or the name
        "#]],
    );
    says("a", "{{A.output}}", expect![""]);
    // An unknown value is missing, and nothing else is reported about it.
    says(
        "{{C.output}}",
        "{{B.output",
        expect![[r#"
            7:41 warning unresolved-name: unknown state `C`
              | A: { kind: System, command: "echo {{C.output}}", transitions: [{
              |                                     ^^^^^^^^
              help: did you mean `A`?
              suggestion: write `A`: 7:41 "A"
            8:39 error template-unclosed: `{{B.output` has no closing `}}`
              | B: { kind: System, command: "echo {{B.output" }
              |                                   ^^^^^^^^^^
              help: end it with `}}`; write `\{{` for literal braces
              suggestion: close it with `}}`: 8:39 "{{B.output}}"
        "#]],
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
        |inner: &str, step: &str, expected: Expect| says("agntz", &[("flow.yaml", &flow(inner, step))], expected);
    let declared = "inputSchema: { topic: string }, ";
    says(
        "",
        "inputs: { topic: \"{{q}}\" }",
        expect![[r#"
            6:5 warning unknown-key: a step has no key `inputs`
              | inputs: { topic: "{{q}}" }
              | ^^^^^^
              help: did you mean `input`?
              fix: write `input`: 6:5 "input"
        "#]],
    );
    says(
        declared,
        "inputs: { topic: \"{{q}}\" }",
        expect![[r#"
            6:5 warning unknown-key: a step has no key `inputs`
              | inputs: { topic: "{{q}}" }
              | ^^^^^^
              help: did you mean `input`?
              fix: write `input`: 6:5 "input"
        "#]],
    );
    says(
        declared,
        "input: { topci: \"{{q}}\" }",
        expect![[r#"
            6:14 error unknown-input: `w` has no input `topci`
              | input: { topci: "{{q}}" }
              |          ^^^^^
              at 5:91: its inputs
              help: did you mean `topic`? available: `topic`
              fix: write `topic`: 6:14 "topic"
        "#]],
    );
    says(
        declared,
        "input: \"{{q}}\"",
        expect![[r#"
            6:12 error wrong-type: `input` must be a mapping, not text
              | input: "{{q}}"
              |        ^^^^^^^
              help: list the inputs, for example `input: { text: "{{draft}}" }`
        "#]],
    );
    says(
        "",
        "input: \"{{q}}\"",
        expect![[r#"
            6:12 error wrong-type: `input` must be a mapping, not text
              | input: "{{q}}"
              |        ^^^^^^^
              help: list the inputs, for example `input: { text: "{{draft}}" }`
        "#]],
    );
    says(
        declared,
        "input: { topic: 3 }",
        expect![[r#"
            6:21 error wrong-type: `topic` must be text or a template, not a number
              | input: { topic: 3 }
              |                 ^
              help: put it in quotes for text; to keep its type, use the placeholder of an input with this `default`
        "#]],
    );
    says(
        declared,
        "input: { else: \"{{q}}\" }",
        expect![[r#"
            6:5 warning missing-input: `input` lacks `topic` of `w`, which is then null
              | input: { else: "{{q}}" }
              | ^^^^^
              at 5:91: declared here
              help: pass it, or declare a `default` for it
            6:14 error unknown-input: `w` has no input `else`
              | input: { else: "{{q}}" }
              |          ^^^^
              at 5:91: its inputs
              help: available: `topic`
        "#]],
    );
    let tool = r#"id: call
kind: tool
inputSchema: { t: string }
tool: { kind: http, name: fetch, url: "https://api.example.com/{id}/{of}", method: GET, params: { idd: "{{t}}" } }
"#;
    self::says(
        "agntz",
        &[("tool.yaml", tool)],
        expect![[r#"
            4:69 warning missing-input: `{of}` has no value: `params` does not have it
              | ...tch, url: "https://api.example.com/{id}/{of}", method: GET, para
              |                                            ^^^^
              help: add `of` to `params`
            4:99 error unknown-input: `idd` is not a placeholder of the URL
              | ....com/{id}/{of}", method: GET, params: { idd: "{{t}}" } }
              |                                            ^^^
              help: did you mean `id`?
              fix: write `id`: 4:99 "id"
        "#]],
    );
}

#[test]
fn a_list_type_is_no_other_word_for_its_items() {
    let text = "id: a\nkind: llm\nmodel: { provider: openai, name: gpt-5.4 }\ninstruction: hi\nprompt: \"{{t}}\"\ninputSchema: { t: 'string[]' }\n";
    says(
        "agntz",
        &[("a.yaml", text)],
        expect![[r#"
            6:19 error invalid-schema: unknown type `string[]`
              | inputSchema: { t: 'string[]' }
              |                   ^^^^^^^^^^
              help: write a list as `{ type: array, items: { type: string } }`
        "#]],
    );
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
        expect![[r#"
            11:18 warning wrong-default: the default does not match its own schema: `x` is not of type `integer`
              | default: "x"
              |          ^^^
        "#]],
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
    let says = |condition: &str, most: &str, expected: Expect| {
        let flow = workflow(&format!(
            "    A:\n      kind: Agent\n      agent: j\n      input: \"{{{{workflow.task}}}}\"\n      transitions: [{{ {condition}, target: OK }}, {{ condition: always, target: OK }}, {{ condition: on_failure, target: OK }}]\n    OK: {{ kind: System, command: \"echo '{{{{A.status}}}}'\" }}\n"
        ));
        self::says("aegis", &[("flow.yaml", &flow), ("j.yaml", &judge(most))], expected);
    };
    says(
        "condition: score_above, threshold: 1.0",
        ", maximum: 1",
        expect![[r#"
            11:34 warning impossible-transition: `score_above 1` is never true here
              | transitions: [{ condition: score_above, threshold: 1.0, ta
              |                            ^^^^^^^^^^^
              at j.yaml:10:66: declared here
              help: no score is above 1: the highest is 1
        "#]],
    );
    says(
        "condition: score_above, threshold: 1.0",
        "",
        expect![[r#"
            11:34 warning impossible-transition: `score_above 1` is never true here
              | transitions: [{ condition: score_above, threshold: 1.0, ta
              |                            ^^^^^^^^^^^
              at j.yaml:10:66: declared here
              help: no score is above 1: the highest is 1
        "#]],
    );
    says(
        "condition: score_above, threshold: 0.6",
        ", maximum: 0.5",
        expect![[r#"
            11:34 warning impossible-transition: `score_above 0.6` is never true here
              | transitions: [{ condition: score_above, threshold: 0.6, ta
              |                            ^^^^^^^^^^^
              at j.yaml:10:66: declared here
              help: no score is above 0.6: the highest is 0.5
        "#]],
    );
    says(
        "condition: score_below, threshold: 0",
        ", maximum: 1",
        expect![[r#"
            11:34 warning impossible-transition: `score_below 0` is never true here
              | transitions: [{ condition: score_below, threshold: 0, targ
              |                            ^^^^^^^^^^^
              at j.yaml:10:66: declared here
              help: no score is below 0: the lowest is 0
        "#]],
    );
    says("condition: score_above, threshold: 0.9", ", maximum: 1", expect![""]);
}

#[test]
fn a_key_of_a_step_in_its_agent_is_one_mistake() {
    let flow = |agent: &str| {
        format!(
            r#"id: flow
kind: sequential
inputSchema: {{ q: string }}
steps:
  - agent: {{ id: a, kind: llm, model: {{ provider: openai, name: gpt-5.4 }}, instruction: hi, prompt: "{{{{q}}}}" }}
    input: {{ q: "{{{{q}}}}" }}
  - agent: {{ id: b, kind: llm, model: {{ provider: openai, name: gpt-5.4 }}, instruction: "{{{{draft}}}}", {agent} }}
"#
        )
    };
    says(
        "agntz",
        &[("flow.yaml", &flow(r#"input: { draft: "{{a}}" }"#))],
        expect![[r#"
        7:102 warning no-effect: `input` has no effect: it belongs on the step, next to `agent`
          | ...e: gpt-5.4 }, instruction: "{{draft}}", input: { draft: "{{a}}" }
          |                                            ^^^^^
    "#]],
    );
    says(
        "agntz",
        &[(
            "flow.yaml",
            &flow(r#"when: "{{a}} == x", prompt: go, inputSchema: { draft: { type: string, default: x } }"#),
        )],
        expect![[r#"
            7:102 warning no-effect: `when` has no effect: it belongs on the step, next to `agent`
              | ...e: gpt-5.4 }, instruction: "{{draft}}", when: "{{a}} == x", prom
              |                                            ^^^^
        "#]],
    );
    // What is wrong in it is another mistake.
    says(
        "agntz",
        &[("flow.yaml", &flow(r#"input: { draft: "{{nothing}}" }"#))],
        expect![[r#"
        7:102 warning no-effect: `input` has no effect: it belongs on the step, next to `agent`
          | ...e: gpt-5.4 }, instruction: "{{draft}}", input: { draft: "{{nothin
          |                                            ^^^^^
        7:121 error unresolved-name: `nothing` is not defined here
          | ...uction: "{{draft}}", input: { draft: "{{nothing}}" } }
          |                                            ^^^^^^^
          help: available: `q`, `a`
    "#]],
    );
}

#[test]
fn a_url_without_a_scheme_has_no_host_to_choose() {
    let agent = |url: &str| {
        format!(
            "id: a\nkind: llm\ninstruction: hi\nmodel: {{ provider: openai, name: gpt-5.4 }}\ntools:\n  - kind: http\n    name: get\n    description: Reads it.\n    url: \"{url}\"\n"
        )
    };
    says(
        "agntz",
        &[("a.yaml", &agent("{scheme}://example.org/users/{id}"))],
        expect![[r#"
        9:10 error invalid-url: `{scheme}://example.org/users/{id}` is not an HTTP URL
          | url: "{scheme}://example.org/users/{id}"
          |      ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
          help: start it with `https://` and a host
    "#]],
    );
    says(
        "agntz",
        &[("a.yaml", &agent("https://{host}/users/{id}"))],
        expect![[r#"
        9:19 warning untrusted-tool-url: `host` decides which host the tool calls, and the model chooses it
          | url: "https://{host}/users/{id}"
          |               ^^^^^^
          help: use a fixed host or one from the environment, and put the value after it
    "#]],
    );
}

#[test]
fn keys_next_to_the_states_are_read_as_those_of_the_state() {
    let step = "      kind: System\n      command: echo hi\n";
    let next = format!("    B:\n{step}");
    let says = |states: &str, expected: Expect| says("aegis", &[("w.yaml", &workflow(states))], expected);
    says(
        &format!("    A:\n{step}    transitions:\n      - target: B\n{next}"),
        expect![[r#"
        10:5 error wrong-type: `transitions` is next to the states; it belongs in `A`
          | transitions:
          | ^^^^^^^^^^^
          help: indent it like the other keys of the state
    "#]],
    );
    says(
        &format!("    A:\n      kind: System\n    command: echo hi\n    transitions:\n      - target: B\n{next}"),
        expect![[r#"
            9:5 error wrong-type: `command`, `transitions` are next to the states; they belong in `A`
              | command: echo hi
              | ^^^^^^^
              help: indent them like the other keys of the state
        "#]],
    );
    says(
        &format!("    A:\n    kind: System\n    command: echo hi\n    transitions:\n    - target: B\n{next}"),
        expect![[r#"
            8:5 error wrong-type: `kind`, `command`, `transitions` are next to the states; they belong in `A`
              | kind: System
              | ^^^^
              help: indent them like the other keys of the state
        "#]],
    );
}

#[test]
fn a_list_of_nodes_has_the_names_that_it_has() {
    let flow = |nodes: &str| {
        format!(
            "version: \"0.1\"\nagents:\n  a: {{ model: \"openai:gpt-5.4\", system: Hi. }}\nnodes:\n{nodes}edges:\n  - {{ from: x, to: y }}\n"
        )
    };
    let says = |nodes: &str, expected: Expect| says("sirenspec", &[("w.yaml", &flow(nodes))], expected);
    says(
        "  - { id: x, agent: a, writes: working.x }\n  - { id: y, agent: a, writes: output.y }\n",
        expect![[r#"
        5:3 error wrong-type: `nodes` must be a mapping, not a list
          | - { id: x, agent: a, writes: working.x }
          | ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
          help: write each entry as `x:` instead of `- id: x`, with its other keys indented below
    "#]],
    );
    says(
        "  - { id: x, agent: a, writes: working.x }\n  - { id: z, agent: a, writes: output.y }\n",
        expect![[r#"
        5:3 error wrong-type: `nodes` must be a mapping, not a list
          | - { id: x, agent: a, writes: working.x }
          | ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
          help: write each entry as `x:` instead of `- id: x`, with its other keys indented below
        8:20 error unknown-reference: `to` refers to an unknown node `y`
          | - { from: x, to: y }
          |                  ^
          help: did you mean `x`?
          suggestion: write `x`: 8:20 "x"
    "#]],
    );
    // The text of a node is its agent's.
    says(
        "  x: { agent: a, writes: working.x }\n  y: { agent: a, prompt: \"Sum {{ working.x }}\" }\n",
        expect![[r#"
            6:3 error missing-key: node `y` needs `writes`
              | y: { agent: a, prompt
              | ^
            6:18 warning unknown-key: node `y` has no key `prompt`
              | y: { agent: a, prompt: "Sum {{ working.x
              |                ^^^^^^
              help: it belongs in the agent, as `system`
        "#]],
    );
}

#[test]
fn a_tag_of_a_block_without_its_braces_is_one_mistake() {
    let agent = |text: &str| {
        format!(
            "apiVersion: 100monkeys.ai/v1\nkind: Agent\nmetadata: {{ name: a, version: 1.0.0 }}\nspec:\n  runtime: {{ model: smart }}\n  task:\n    instruction: Hi.\n    prompt_template: \"{{{{instruction}}}} {text}\"\n"
        )
    };
    says(
        "aegis",
        &[("a.yaml", &agent("{{#each input.list}{{this}}{{/each}}"))],
        expect![[r#"
        8:39 error template-unclosed: `{{#each input.list}` has no closing `}}`
          | prompt_template: "{{instruction}} {{#each input.list}{{this}}{{/each}}"
          |                                   ^^^^^^^^^^^^^^^^^^^
          help: end it with `}}`; write `\{{` for literal braces
    "#]],
    );
    says(
        "aegis",
        &[("a.yaml", &agent("{{#if input}}{{input}}{{/if}"))],
        expect![[r#"
        8:61 error template-unclosed: `{{/if}` has no closing `}}`
          | ... "{{instruction}} {{#if input}}{{input}}{{/if}"
          |                                            ^^^^^^
          help: end it with `}}`; write `\{{` for literal braces
    "#]],
    );
    says(
        "aegis",
        &[("a.yaml", &agent("{{input}} {{this}}"))],
        expect![[r#"
        8:51 warning loop-variable: `this` is outside a block, so it prints the whole state as JSON
          | ..._template: "{{instruction}} {{input}} {{this}}"
          |                                            ^^^^
          help: write the path of the value; to print the whole state, write `{{json this}}`
    "#]],
    );
}
