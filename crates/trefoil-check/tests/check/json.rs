//! Handwritten JSON.

use expect_test::{Expect, expect};

use super::support::of_rule;

#[track_caller]
fn input(json: &str, expected: Expect) {
    let flow = format!(
        "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata: {{ name: w, version: '1' }}\nspec:\n  initial_state: A\n  states:\n    \
         A: {{ kind: System, command: cat x, transitions: [{{ target: B }}] }}\n    \
         B: {{ kind: Subworkflow, workflow_id: c, mode: blocking, result_key: r, input: '{json}' }}\n"
    );
    let child = "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata: { name: c, version: '1' }\nspec:\n  initial_state: A\n  states:\n    A: { kind: System, command: \"echo '{{input.text}}'\" }\n";
    of_rule("json-by-hand", "aegis", &[("w.yaml", &flow), ("c.yaml", child)], expected);
}

#[test]
fn values_that_break_an_object_around_them_are_found() {
    input(
        r#"{"text": "{{A.output}}"}"#,
        expect![[r#"
        8:96 info json-by-hand: a quotation mark or a line break in `A.output` would break this JSON
          | ...ing, result_key: r, input: '{"text": "{{A.output}}"}' }
          |                                            ^^^^^^^^
          help: write `{{{json A.output}}}` instead of the placeholder and its quotes
    "#]],
    );
    input(
        r#"{"n": 1, "text": {{A.stdout}}}"#,
        expect![[r#"
        8:103 info json-by-hand: text in `A.stdout` would break this JSON, because it has no quotes
          | ...sult_key: r, input: '{"n": 1, "text": {{A.stdout}}}' }
          |                                            ^^^^^^^^
          help: write `{{{json A.stdout}}}`
    "#]],
    );
    input(r#"{"text": {{{json A.output}}}}"#, expect![""]);
    input(r#"{"code": {{A.exit_code}}, "of": "{{A.exit_code}}"}"#, expect![""]);
    input("{{A.output}}", expect![""]);
    input("About {{A.output}} (in {braces})", expect![""]);
}

#[test]
fn so_are_those_in_the_body_of_a_request() {
    let body = |body: &str| {
        format!(
            "version: \"0.1\"\nagents: {{ a: {{ model: \"openai:m\", system: x }} }}\nnodes:\n  a: {{ agent: a, writes: output.x }}\n  \
             f: {{ type: tool, tool: http, config: {{ url: \"https://example.org/x\", method: POST, body: '{body}' }} }}\n\
             edges: [{{ from: a, to: f }}]\ninput: {{ message: hi, n: 3 }}\n"
        )
    };
    of_rule(
        "json-by-hand",
        "sirenspec",
        &[("m.yaml", &body(r#"{"q": "{{ a.output }}"}"#))],
        expect![[r#"
        5:103 warning json-by-hand: a quotation mark in `a.output` could add properties to this request, and it comes from a model's answer
          | ....org/x", method: POST, body: '{"q": "{{ a.output }}"}' } }
          |                                            ^^^^^^^^
          at 4:3: comes from here
          help: have a step answer with the whole JSON, and pass only that answer
    "#]],
    );
    of_rule("json-by-hand", "sirenspec", &[("m.yaml", &body("q={{ a.output }}"))], expect![""]);
}
