//! Conditions that read nothing, in whole or in part, and their fixes.

use expect_test::{Expect, expect};

use super::support::{check, hold, of_rule, shown};

const RULE: &str = "constant-condition";

/// A step of agntz with this condition, in double quotes.
fn step(when: &str) -> String {
    format!(
        r#"id: p
kind: sequential
inputSchema: {{ q: string, n: integer, plan: {{ type: string, enum: [free, team] }}, ok: boolean }}
steps:
  - agent: {{ id: b, kind: llm, model: {{ provider: openai, name: gpt-5.4 }}, instruction: Hi., prompt: Hi. }}
    when: {when}
"#
    )
}

#[test]
fn a_side_without_a_comparison_and_names_without_braces() {
    let when = |when: &str, expected: Expect| {
        of_rule(RULE, "agntz", &[("p.yaml", &step(&format!("\"{when}\"")))], expected);
    };
    when(
        "{{plan}} == free || team",
        expect![[r#"
        6:32 warning constant-condition: `team` is not compared with anything, so it is always true
          | when: "{{plan}} == free || team"
          |                            ^^^^
          help: write `{{plan}} == team`
    "#]],
    );
    when(
        "{{n}} > 3 && 5",
        expect![[r#"
        6:25 warning constant-condition: `5` is not compared with anything, so it is always true
          | when: "{{n}} > 3 && 5"
          |                     ^
          help: write `{{n}} > 5`
    "#]],
    );
    when(
        "{{plan}} == free || ok",
        expect![[r#"
        6:32 warning constant-condition: `ok` is not compared with anything, so it is always true
          | when: "{{plan}} == free || ok"
          |                            ^^
          help: write a name in braces: `{{ok}}`
    "#]],
    );
    when(
        "'{{q}}' == 'hello'",
        expect![[r#"
        6:12 warning constant-condition: `'{{q}}'` is text, because of the quotes: the condition is always the same
          | when: "'{{q}}' == 'hello'"
          |        ^^^^^^^
          help: remove the quotes around `{{q}}`
          fix: write `{{q}}`: 6:12 "{{q}}"
    "#]],
    );
    when(
        "lang != en",
        expect![[r#"
        6:11 warning constant-condition: `lang != en` reads no value, so the step always runs
          | when: "lang != en"
          |       ^^^^^^^^^^^^
          help: write a name in braces: `{{lang}}`
    "#]],
    );
    when(
        "plan == free",
        expect![[r#"
        6:11 warning constant-condition: `plan == free` reads no value, so the step never runs
          | when: "plan == free"
          |       ^^^^^^^^^^^^^^
          help: write a name in braces: `{{plan}}`
          fix: write `{{plan}}`: 6:12 "{{plan}}"
    "#]],
    );
    when(
        "plan == enterprise || {{n}} > 3",
        expect![[r#"
        6:12 warning constant-condition: this comparison reads no value, so it is always false
          | when: "plan == enterprise || {{
          |        ^^^^
          help: write a name in braces: `{{plan}}`
          fix: write `{{plan}}`: 6:12 "{{plan}}"
    "#]],
    );
    when(
        "{{n}} > 3 && enterprise == premium",
        expect![[r#"
        6:25 warning constant-condition: this comparison reads no value, so it is always false
          | when: "{{n}} > 3 && enterprise == premium"
          |                     ^^^^^^^^^^
          help: write a name in braces: `{{enterprise}}`
    "#]],
    );
    when(
        "{{plan}} == free || {{n}} > 3 || {{plan}} == free",
        expect![[r#"
        6:11 warning constant-condition: this part of the condition has no effect: it is a repetition
          | when: "{{plan}} == free || {{n}} > 3 || {{plan}} == free"
          |       ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
          help: compare with another value, or remove one of the two
    "#]],
    );
    for silent in
        ["{{plan}} != free && {{plan}} != team", "{{plan}} == 'free || team'", "{{plan}} == free || {{q}} == free"]
    {
        when(silent, expect![""]);
    }
}

#[test]
fn braces_at_the_start_of_a_scalar_need_quotes() {
    of_rule(
        RULE,
        "agntz",
        &[("p.yaml", &step("plan == free"))],
        expect![[r#"
        6:11 warning constant-condition: `plan == free` reads no value, so the step never runs
          | when: plan == free
          |       ^^^^^^^^^^^^
          help: write a name in braces: `{{plan}}`
          fix: write `{{plan}}`: 6:11 "\"{{plan}} == free\""
    "#]],
    );
    of_rule(
        RULE,
        "agntz",
        &[("p.yaml", &step("'plan == \"free\"'"))],
        expect![[r#"
        6:11 warning constant-condition: `plan == "free"` reads no value, so the step never runs
          | when: 'plan == "free"'
          |       ^^^^^^^^^^^^^^^^
          help: write a name in braces: `{{plan}}`
          fix: write `{{plan}}`: 6:12 "{{plan}}"
    "#]],
    );
    of_rule(
        RULE,
        "agntz",
        &[("p.yaml", &step("plan == \"free\""))],
        expect![[r#"
        6:11 warning constant-condition: `plan == "free"` reads no value, so the step never runs
          | when: plan == "free"
          |       ^^^^^^^^^^^^^^
          help: write a name in braces: `{{plan}}`
    "#]],
    );
    of_rule(
        RULE,
        "agntz",
        &[("p.yaml", &step("\"true\""))],
        expect![[r#"
        6:11 info constant-condition: `true` reads no value, so the step always runs
          | when: "true"
          |       ^^^^^^
          help: remove the condition, or compare a value
    "#]],
    );
    of_rule(
        RULE,
        "agntz",
        &[("p.yaml", &format!("{}until: \"ok == true\"\nmaxIterations: 2\n", step("\"{{ok}}\"")))],
        expect![[r#"
        7:8 warning constant-condition: `ok == true` reads no value, so the loop never ends before its limit
          | until: "ok == true"
          |        ^^^^^^^^^^^^
          help: write a name in braces: `{{ok}}`
          fix: write `{{ok}}`: 7:9 "{{ok}}"
    "#]],
    );
}

#[test]
fn the_step_of_an_agent_that_nobody_has_is_looked_at() {
    let text =
        "id: p\nkind: sequential\ninputSchema: { plan: string }\nsteps:\n  - ref: gone\n    when: \"plan == free\"\n";
    let (project, all) = check(Some("agntz"), &[("p.yaml", text)]);
    hold(
        &expect![[r#"
        5:10 error unknown-reference: no manifest in this folder has the id `gone`
          | - ref: gone
          |        ^^^^
          help: this folder has no other manifest
        6:11 warning constant-condition: `plan == free` reads no value, so the step never runs
          | when: "plan == free"
          |       ^^^^^^^^^^^^^^
          help: write a name in braces: `{{plan}}`
          fix: write `{{plan}}`: 6:12 "{{plan}}"
    "#]],
        &shown(&project, all.iter()),
    );
}

#[test]
fn edges_that_read_nothing_and_parts_that_compare_nothing() {
    let edge = |when: &str, expected: Expect| {
        let text = format!(
            "version: \"0.1\"\nagents: {{ a: {{ system: s, model: \"openai:m\" }} }}\nnodes:\n  s: {{ agent: a, writes: working.i }}\n  x: {{ agent: a, writes: output.x }}\nedges:\n  - {{ from: s, to: x, when: '{when}' }}\n"
        );
        of_rule(RULE, "sirenspec", &[("flow.yaml", &text)], expected);
    };
    edge(
        "1 == 2",
        expect![[r#"
        7:29 warning constant-condition: `1 == 2` reads no value, so the edge is never taken
          | - { from: s, to: x, when: '1 == 2' }
          |                           ^^^^^^^^
          help: compare a value, as in `working.path == "value"`
    "#]],
    );
    edge(
        r#""x""#,
        expect![[r#"
        7:29 warning constant-condition: `"x"` reads no value, so the edge is always taken
          | - { from: s, to: x, when: '"x"' }
          |                           ^^^^^
          help: remove the condition, or compare a value
    "#]],
    );
    edge(
        "true",
        expect![[r#"
        7:29 info constant-condition: `true` reads no value, so the edge is always taken
          | - { from: s, to: x, when: 'true' }
          |                           ^^^^^^
          help: remove the condition, or compare a value
    "#]],
    );
    edge(
        r#"working.i == "high" or "medium""#,
        expect![[r#"
        7:53 warning constant-condition: `medium` is not compared with anything, so it is always true
          | ...s, to: x, when: 'working.i == "high" or "medium"' }
          |                                            ^^^^^^^^
          help: write `working.i in ("high", "medium")`
    "#]],
    );
    edge(
        r#"working.i != "refund" and "x""#,
        expect![[r#"
        7:56 warning constant-condition: `x` is not compared with anything, so it is always true
          | ...to: x, when: 'working.i != "refund" and "x"' }
          |                                            ^^^
          help: write `working.i not in ("refund", "x")`
    "#]],
    );
    edge(
        r#"working.i in ("a",) or ("b",)"#,
        expect![[r#"
        7:54 warning constant-condition: `b` is not compared with anything, so it is always true
          | ..., to: x, when: 'working.i in ("a",) or ("b",)' }
          |                                            ^^^
          help: write `working.i in ("a", "b")`
    "#]],
    );
    edge(
        r#"working.i == "a" or "b" or "c""#,
        expect![[r#"
        7:50 warning constant-condition: `b` is not compared with anything, so it is always true
          | ...m: s, to: x, when: 'working.i == "a" or "b" or "c"' }
          |                                            ^^^
          help: write `working.i in ("a", "b", "c")`
    "#]],
    );
    edge(
        r#"not (working.i == "a") and "b""#,
        expect![[r#"
        7:57 warning constant-condition: `b` is not compared with anything, so it is always true
          | ...o: x, when: 'not (working.i == "a") and "b"' }
          |                                            ^^^
          help: write `working.i not in ("a", "b")`
    "#]],
    );
    edge(
        r#"working.i == "a" or working.i == "a""#,
        expect![[r#"
        7:29 warning constant-condition: this part of the condition has no effect: it is a repetition
          | - { from: s, to: x, when: 'working.i == "a" or working.i == "a"' }
          |                           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
          help: compare with another value, or remove one of the two
    "#]],
    );
    edge(
        r#"working.i == "a" and len(working.i) > 1 and "a" == "b""#,
        expect![[r#"
        7:74 warning constant-condition: this comparison reads no value, so it is always false
          | ...ing.i == "a" and len(working.i) > 1 and "a" == "b"' }
          |                                            ^^^
          help: compare a value
    "#]],
    );
}

#[test]
fn custom_conditions_of_transitions() {
    let transition = |when: &str, expected: Expect| {
        let text = format!(
            r#"apiVersion: 100monkeys.ai/v1
kind: Workflow
metadata: {{ name: w }}
spec:
  initial_state: A
  states:
    A:
      kind: Human
      prompt: "Which?"
      transitions:
        - {{ condition: custom, expression: "{when}", target: END }}
        - {{ condition: always, target: END }}
    END: {{ kind: System, command: "true", transitions: [] }}
"#
        );
        of_rule(RULE, "aegis", &[("w.yaml", &text)], expected);
    };
    transition(
        "A.output.kind == 'a' || 'b'",
        expect![[r#"
        11:69 warning constant-condition: `b` is not compared with anything, so it is always true
          | ...m, expression: "A.output.kind == 'a' || 'b'", target: END }
          |                                            ^^^
          help: write `A.output.kind == 'b'`
    "#]],
    );
    transition(
        "'a' == 'b'",
        expect![[r#"
        11:44 warning constant-condition: `'a' == 'b'` reads no value, so the transition is never taken
          | - { condition: custom, expression: "'a' == 'b'", target: END }
          |                                    ^^^^^^^^^^^^
          help: compare a value, as in `path == "value"`
    "#]],
    );
    transition(
        "A.output.kind != 'a' && !(A.output.kind == 'b' || 'c')",
        expect![[r#"
        11:95 warning constant-condition: `c` is not compared with anything, so it is always true
          | ...ind != 'a' && !(A.output.kind == 'b' || 'c')", target: END }
          |                                            ^^^
          help: write `A.output.kind == 'c'`
    "#]],
    );
}

#[test]
fn literals_of_another_kind_and_words_that_are_not_listed() {
    let flow = r#"id: p
kind: sequential
inputSchema: { n: number, k: { type: string, enum: [x, why] }, b: boolean, s: string }
until: "{{a.ok}} == 'true'"
maxIterations: 2
steps:
  - agent: { id: a, kind: llm, model: { provider: openai, name: m }, instruction: hi, prompt: x, outputSchema: { ok: boolean } }
    when: "{{n}} == '5' || {{k}} == wy && {{b}} != 'false'"
  - agent: { id: c, kind: llm, model: { provider: openai, name: m }, instruction: hi, prompt: x }
    when: "{{a}} == yes || {{s}} == 5 || {{n}} == null"
"#;
    of_rule(
        "never-true",
        "agntz",
        &[("p.yaml", flow)],
        expect![[r#"
            4:11 warning never-true: this comparison can never be true: `a.ok` is true or false, and `true` is text
              | until: "{{a.ok}} == 'true'"
              |           ^^^^
              help: write `true` without quotes
              fix: write `true`: 4:21 "true"
            8:14 warning never-true: this comparison can never be true: `n` is a number, and `5` is text
              | when: "{{n}} == '5' || {{k}} =
              |          ^
              help: write `5` without quotes
              fix: write `5`: 8:21 "5"
            8:30 warning never-true: this comparison can never be true: `k` is one of `x`, `why`
              | when: "{{n}} == '5' || {{k}} == wy && {{b}} !=
              |                          ^
              help: did you mean `why`?
              suggestion: write `why`: 8:37 "why"
            8:45 warning always-true: this comparison is always true: `b` is true or false, and `false` is text
              | when: "{{n}} == '5' || {{k}} == wy && {{b}} != 'false'"
              |                                         ^
              help: write `false` without quotes
              fix: write `false`: 8:52 "false"
            10:14 warning never-true: this comparison can never be true: `a` is an object, and `yes` is text
              | when: "{{a}} == yes || {{s}} =
              |          ^
            10:30 warning never-true: this comparison can never be true: `s` is text, and `5` is a number
              | when: "{{a}} == yes || {{s}} == 5 || {{n}} ==
              |                          ^
              help: write `'5'` in quotes to compare text
              suggestion: write `'5'`: 10:37 "'5'"
        "#]],
    );
}

#[test]
fn the_truth_of_a_value_is_tried_in_other_words() {
    let edge = |when: &str| {
        let flow = format!(
            "version: \"0.1\"\nagents:\n  w: {{ model: \"openai:m\", system: Write. }}\nnodes:\n  a: {{ agent: w, writes: working.n }}\n  \
             b: {{ agent: w, writes: output.b }}\nedges:\n  - {{ from: a, to: b, when: \"{when}\" }}\ninput: {{ message: x }}\n"
        );
        let (_, found) = check(Some("sirenspec"), &[("m.yaml", &flow)]);
        ["never-true", "always-true"].map(|rule| found.iter().any(|d| d.rule == rule))
    };
    assert_eq!(edge("bool(working.n) and not working.n"), [true, false]);
    assert_eq!(edge("bool(working.n) or not working.n"), [false, true]);
    assert_eq!(edge("bool(working.n) or working.n == 'x'"), [false, false]);
}
