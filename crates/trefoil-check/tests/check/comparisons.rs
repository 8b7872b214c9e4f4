//! Comparisons whose result follows from types, and those that only seem so.

use expect_test::{Expect, expect};

use super::support::of_rule;

/// A value from the environment is text, and a number if it has the form of one.
#[test]
fn a_variable_of_the_environment_may_read_as_a_number() {
    let flow = |inputs: &str, path: &str| {
        format!(
            "id: p\nkind: sequential\ninputSchema: {{ {inputs} }}\nsteps:\n  - agent: {{ id: b, kind: llm, model: {{ provider: openai, name: gpt-5.4 }}, instruction: Hi., prompt: Hi. }}\n    when: \"{{{{{path}}}}} >= 3\"\n"
        )
    };
    of_rule("text-as-number", "agntz", &[("p.yaml", &flow("q: string", "env.LEVEL"))], expect![""]);
    of_rule(
        "text-as-number",
        "agntz",
        &[("p.yaml", &flow("q: string", "q"))],
        expect![[r#"
            6:14 warning text-as-number: `q` is declared as text but compared as a number
              | when: "{{q}} >= 3"
              |          ^
              help: declare it as a number; text that does not read as a number makes the comparison false
        "#]],
    );
}

#[test]
fn text_has_no_order_with_a_number_under_strict_rules() {
    let flow = |when: &str| {
        format!(
            r#"version: "0.1"
agents:
  rater: {{ model: "openai:gpt-4o-mini", system: "Rate it." }}
nodes:
  rate: {{ agent: rater, writes: working.score }}
  publish: {{ agent: rater, writes: output.text }}
edges:
  - from: rate
    to: publish
    when: "{when}"
input:
  message: "A text."
"#
        )
    };
    let read = flow("float(working.score) > 3");
    of_rule("text-as-number", "sirenspec", &[("flow.yaml", &read)], expect![""]);
    let wrong = flow("working.score > 3");
    of_rule(
        "text-as-number",
        "sirenspec",
        &[("flow.yaml", &wrong)],
        expect![[r#"
            10:12 warning text-as-number: `working.score` is text and cannot be compared with a number, so the condition is false
              | when: "working.score > 3"
              |        ^^^^^^^^^^^^^
              help: convert it to a number with `float(...)`
        "#]],
    );
    let word = flow("working.score == 3");
    of_rule(
        "never-true",
        "sirenspec",
        &[("flow.yaml", &word)],
        expect![[r#"
            10:12 warning never-true: this comparison can never be true: `working.score` is text, and `3` is a number
              | when: "working.score == 3"
              |        ^^^^^^^^^^^^^
              help: write `'3'` in quotes to compare text
              suggestion: write `'3'`: 10:29 "'3'"
        "#]],
    );
}

#[test]
fn a_length_is_never_below_zero_and_nothing_differs_from_itself() {
    let edge = |when: &str, expected: Expect| {
        let text = format!(
            "version: \"0.1\"\nagents: {{ a: {{ system: s, model: \"openai:m\" }} }}\nnodes:\n  s: {{ agent: a, writes: working.s }}\n  x: {{ agent: a, writes: output.x }}\nedges:\n  - {{ from: s, to: x, when: \"{when}\" }}\n"
        );
        of_rule("never-true", "sirenspec", &[("flow.yaml", &text)], expected);
    };
    edge(
        "len(working.s) < 0",
        expect![[r#"
            7:34 warning never-true: this comparison can never be true: `len(working.s)` is at least 0
              | - { from: s, to: x, when: "len(working.s) < 0" }
              |                                ^^^^^^^^^
        "#]],
    );
    edge("len(working.s) > 0", expect![""]);
    edge(
        "len(working.s) >= 0",
        expect![[r#"
            7:34 warning always-true: this comparison is always true: `len(working.s)` is at least 0
              | - { from: s, to: x, when: "len(working.s) >= 0" }
              |                                ^^^^^^^^^
        "#]],
    );
    edge(
        "len(working.s) > -1",
        expect![[r#"
            7:34 warning always-true: this comparison is always true: `len(working.s)` is at least 0
              | - { from: s, to: x, when: "len(working.s) > -1" }
              |                                ^^^^^^^^^
        "#]],
    );
    edge(
        "_budget.total_tokens < 0",
        expect![[r#"
            7:30 warning never-true: this comparison can never be true: `_budget.total_tokens` is at least 0
              | - { from: s, to: x, when: "_budget.total_tokens < 0" }
              |                            ^^^^^^^^^^^^^^^^^^^^
        "#]],
    );
    edge("_budget.total_tokens > 0", expect![""]);
    edge("int(working.s) >= 7", expect![""]);
    edge(
        "working.s == working.s",
        expect![[r#"
            7:30 warning always-true: this comparison is always true: `working.s` is compared with itself
              | - { from: s, to: x, when: "working.s == working.s" }
              |                            ^^^^^^^^^
        "#]],
    );
    edge("working.s == 'a'", expect![""]);
}

#[test]
fn a_node_is_no_number_and_texts_have_the_order_of_their_letters() {
    let edge = |when: &str, rule: &str, expected: Expect| {
        let text = format!(
            "version: \"0.1\"\nagents: {{ a: {{ system: s, model: \"openai:m\" }} }}\nnodes:\n  s: {{ agent: a, writes: working.k }}\n  x: {{ agent: a, writes: output.x }}\nedges:\n  - {{ from: s, to: x, when: '{when}' }}\n"
        );
        of_rule(rule, "sirenspec", &[("flow.yaml", &text)], expected);
    };
    edge(
        "int(working.s) >= 7",
        "never-true",
        expect![[r#"
            7:34 warning never-true: this comparison can never be true: `working.s` is an object, which cannot be ordered
              | - { from: s, to: x, when: 'int(working.s) >= 7' }
              |                                ^^^^^^^^^
        "#]],
    );
    edge("int(working.k) >= 7", "never-true", expect![""]);
    edge(
        "working.k >= \"10\"",
        "text-as-number",
        expect![[r#"
            7:30 warning text-as-number: `working.k` and `10` are compared as text, character by character, so `9` is greater than `10`
              | - { from: s, to: x, when: 'working.k >= "10"' }
              |                            ^^^^^^^^^
              help: convert it to a number with `float(...)`, and remove the quotes
        "#]],
    );
    edge("working.k >= \"m\"", "text-as-number", expect![""]);
    edge(
        "working.k[0] == \"refund\"",
        "never-true",
        expect![[r#"
            7:30 warning never-true: this comparison can never be true: `working.k[...]` is one character of a text
              | - { from: s, to: x, when: 'working.k[0] == "refund"' }
              |                            ^^^^^^^^^
              help: compare the whole text, or test for a part with `"..." in`
        "#]],
    );
    edge("working.k[0] == \"r\"", "never-true", expect![""]);
}

#[test]
fn the_parts_of_a_condition_rule_each_other_out_or_leave_nothing_out() {
    let edge = |when: &str, expected: Expect| {
        let text = format!(
            "version: \"0.1\"\nagents: {{ a: {{ system: s, model: \"openai:m\" }} }}\nnodes:\n  s: {{ agent: a, writes: working.s_text.long }}\n  x: {{ agent: a, writes: output.x }}\nedges:\n  - {{ from: s, to: x, when: \"{when}\" }}\n"
        );
        of_rule("never-true", "sirenspec", &[("flow.yaml", &text)], expected);
    };
    let text = "working.s_text.long";
    edge(
        &format!("{text} == 'a' and {text} == 'b'"),
        expect![[r#"
            7:29 warning never-true: this condition can never be true: its parts exclude each other
              | - { from: s, to: x, when: "working.s_text.long == 'a' and working.s_text.long == 'b'" }
              |                           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
              help: if either one is enough, join them with `or`
        "#]],
    );
    edge(
        &format!("{text} == 'a' and len({text}) > 3 and {text} == 'b'"),
        expect![[r#"
            7:29 warning never-true: this condition can never be true: its parts exclude each other
              | - { from: s, to: x, when: "working.s_text.long == 'a' and len(working.s_text.long) > 3 and working.s_text.long == 'b'" }
              |                           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
              help: if either one is enough, join them with `or`
        "#]],
    );
    edge(
        &format!("{text} != 'a' or {text} != 'b'"),
        expect![[r#"
            7:29 warning always-true: this condition is always true: in every case, one of its parts is
              | - { from: s, to: x, when: "working.s_text.long != 'a' or working.s_text.long != 'b'" }
              |                           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
              help: to exclude several values, join the comparisons with `and`
        "#]],
    );
    edge(
        &format!("{text} == 'c' or {text} == 'a' and {text} == 'b'"),
        expect![[r#"
            7:29 warning never-true: alternative 2 of 2 in this condition can never be true: its parts exclude each other
              | - { from: s, to: x, when: "working.s_text.long == 'c' or working.s_text.long == 'a' and working.s_text.long == 'b'" }
              |                           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
              help: join its parts with `or`, or remove it
        "#]],
    );
    edge(
        &format!("len({text}) > 9 or float({text}) > 5 and float({text}) < 3"),
        expect![[r#"
            7:29 warning never-true: alternative 2 of 2 in this condition can never be true: its parts exclude each other
              | - { from: s, to: x, when: "len(working.s_text.long) > 9 or float(working.s_text.long) > 5 and float(working.s_text.long) < 3" }
              |                           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
              help: join its parts with `or`, or remove it
        "#]],
    );
    edge(
        &format!("{text} == 'c' or len({text}) > 2 and ({text} != 'a' or {text} != 'b')"),
        expect![[r#"
            7:29 warning always-true: a part of this condition is always true, so it has no effect
              | - { from: s, to: x, when: "working.s_text.long == 'c' or len(working.s_text.long) > 2 and (working.s_text.long != 'a' or working.s_text.long != 'b')" }
              |                           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
              help: join its parts with `and`, or remove it
        "#]],
    );
    edge(&format!("{text} == 'c' or float({text}) > 3 and float({text}) < 5"), expect![""]);
    edge(&format!("{text} == 'a' or {text} != 'a' and len({text}) > 3"), expect![""]);
    edge(&format!("{text} == 'a' or {text} == 'b'"), expect![""]);
    edge(&format!("{text} != 'a' and len({text}) > 3"), expect![""]);
    edge(
        &format!("{text} is None"),
        expect![[r#"
            7:30 warning never-true: this comparison can never be true: `working.s_text.long` is text, never null
              | - { from: s, to: x, when: "working.s_text.long is None" }
              |                            ^^^^^^^^^^^^^^^^^^^
              help: to test for empty text, compare with `""`
        "#]],
    );
    edge(&format!("{text} is not None"), expect![""]);
    edge(
        "working.s_text == 'a'",
        expect![[r#"
        7:30 warning never-true: this comparison can never be true: `working.s_text` is an object, and `a` is text
          | - { from: s, to: x, when: "working.s_text == 'a'" }
          |                            ^^^^^^^^^^^^^^
    "#]],
    );
}

#[test]
fn numbers_have_no_other_values_than_numbers_and_integers_no_others_between_them() {
    let pipeline = |when: &str| {
        format!(
            "id: p\nkind: sequential\nsteps:\n  - agent: {{ id: tide, kind: llm, model: {{ provider: openai, name: m }}, instruction: I., prompt: x, outputSchema: {{ type: object, required: [metres, level], properties: {{ metres: {{ type: number }}, level: {{ type: integer }}, wind: {{ type: number }} }} }} }}\n  - when: \"{when}\"\n    agent: {{ id: warn, kind: llm, model: {{ provider: openai, name: m }}, instruction: I., prompt: y }}\noutput: {{ warn: \"{{{{warn}}}}\" }}\n"
        )
    };
    let holds = |when: &str, expected: Expect| {
        let (project, all) = super::support::check(Some("agntz"), &[("p.yaml", &pipeline(when))]);
        let ours = all.iter().filter(|d| ["never-true", "always-true"].contains(&d.rule));
        super::support::hold(&expected, &super::support::shown(&project, ours));
    };
    holds(
        "{{tide.metres}} >= 2 || {{tide.metres}} < 3",
        expect![[r#"
        5:11 warning always-true: this condition is always true: in every case, one of its parts is
          | - when: "{{tide.metres}} >= 2 || {{tide.metres}} < 3"
          |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
          help: to exclude several values, join the comparisons with `&&`
    "#]],
    );
    holds(
        "{{tide.level}} > 4 && {{tide.level}} < 5",
        expect![[r#"
        5:11 warning never-true: this condition can never be true: its parts exclude each other
          | - when: "{{tide.level}} > 4 && {{tide.level}} < 5"
          |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
          help: if either one is enough, join them with `||`
    "#]],
    );
    holds("{{tide.metres}} > 4 && {{tide.metres}} < 5", expect![""]);
    holds("{{tide.level}} > 4 && {{tide.level}} < 6", expect![""]);
    // A value that may be missing is in neither range.
    holds("{{tide.wind}} >= 2 || {{tide.wind}} < 3", expect![""]);
}
