//! Keys, operators and prefixes of other systems: the finding says what they are called here, and they are only changed
//! automatically if nothing else can be meant.

use expect_test::expect;

use super::support::{MODEL, changes, check, check_one, says, silent, step, when};

#[test]
fn a_key_of_another_system_is_told_its_name_and_not_changed_unasked() {
    for (keys, expected) in [
        (
            "    with: { q: \"{{q}}\" }\n",
            expect![[r#"
                warning 6:5 unknown-key: a step has no key `with` (did you mean `input`?) {maybe: "input"}
            "#]],
        ),
        (
            "    input: { q: \"{{q}}\" }\n    if: \"{{ok}}\"\n",
            expect![[r#"
                error 7:5 unknown-key: a step has no key `if` (did you mean `when`? without it the step always runs) {maybe: "when"}
            "#]],
        ),
        (
            "    input: { q: \"{{q}}\" }\n    saveAs: x\n",
            expect![[r#"
                warning 7:5 unknown-key: a step has no key `saveAs` (did you mean `stateKey`?) {maybe: "stateKey"}
            "#]],
        ),
        (
            "    input: { q: \"{{q}}\" }\n    name: x\n",
            expect![[r#"
                warning 7:5 unknown-key: a step has no key `name` (did you mean `stateKey`?) {maybe: "stateKey"}
            "#]],
        ),
    ] {
        check_one(&step(keys), expected);
    }
    silent(&step("    with: { q: \"{{q}}\" }\n"), "missing-input");
    let by_id = "id: p\nkind: sequential\nsteps:\n  - agentId: w\n";
    check_one(
        by_id,
        expect![[r#"
            error 4:5 missing-key: a step needs `ref` or `agent` (write `ref: ID` to call another manifest, or `agent:` to define one here)
            warning 4:5 unknown-key: a step has no key `agentId` (did you mean `ref`?) {maybe: "ref"}
        "#]],
    );
    assert_eq!(changes(&[("p.yaml", by_id)]).sure, [""; 0]);
    let agent = |rest: &str| format!("id: a\nkind: llm\n{MODEL}\ninstruction: Hi.\n{rest}\n");
    for (rest, expected) in [
        (
            "inputs: { q: string }",
            expect![[r#"
                warning 5:1 unknown-key: an agent has no key `inputs` (did you mean `inputSchema`?) {maybe: "inputSchema"}
            "#]],
        ),
        (
            "response_format: { q: string }",
            expect![[r#"
                warning 5:1 unknown-key: an agent has no key `response_format` (did you mean `outputSchema`?) {maybe: "outputSchema"}
            "#]],
        ),
        (
            "user_prompt: Hi.",
            expect![[r#"
                warning 5:1 unknown-key: an agent has no key `user_prompt` (did you mean `prompt`?) {maybe: "prompt"}
            "#]],
        ),
        (
            "timeout_seconds: 30",
            expect![[r#"
                warning 5:1 unknown-key: an agent has no key `timeout_seconds` (it belongs here as `timeoutMs`, in milliseconds)
            "#]],
        ),
        (
            "temperature: 1",
            expect![[r#"
                warning 5:1 unknown-key: an agent has no key `temperature` (it belongs under `model`)
            "#]],
        ),
        (
            "$schema: { q: string }",
            expect![[r#"
                warning 5:1 no-effect: `$schema` has no effect: only editors use it (declare inputs in `inputSchema` and outputs in `outputSchema`)
            "#]],
        ),
    ] {
        check_one(&agent(rest), expected);
        assert_eq!(changes(&[("a.yaml", &agent(rest))]).sure, [""; 0], "{rest}");
    }
    check_one(&agent("$schema: https://example.org/agent.json"), expect![""]);
    assert_eq!(changes(&[("a.yaml", &agent("promt: Hi."))]).sure, ["prompt"]);
}

#[test]
fn operators_of_other_languages_are_one_mistake() {
    for (condition, expected) in [
        (
            "{{q}} == x AND {{ok}} == true",
            expect![[r#"
                error 7:23 condition-bad-operator: unknown operator `AND` (write `&&`) {maybe: "&&"}
            "#]],
        ),
        (
            "{{ok}} OR {{q}}",
            expect![[r#"
                error 7:19 condition-bad-operator: unknown operator `OR` (write `||`) {maybe: "||"}
            "#]],
        ),
        (
            "{{q}} contains x",
            expect![[r#"
                error 7:18 condition-bad-operator: unknown operator `contains` (the operators are `==`, `!=`, `<`, `>`, `<=`, `>=`; for anything else, let an agent decide and compare its answer)
            "#]],
        ),
        (
            "{{n}} = > 8",
            expect![[r#"
                error 7:18 condition-bad-operator: unknown operator `= >` (write `>=`) {fix: ">="}
            "#]],
        ),
        (
            "{{n}} ≥ 8",
            expect![[r#"
                error 7:18 condition-bad-operator: unknown operator `≥` (write `>=`) {fix: ">="}
            "#]],
        ),
        (
            "{{q}} ~= x",
            expect![[r#"
                error 7:18 condition-bad-operator: unknown operator `~=` (patterns are not supported; compare whole values with `==` or `!=`)
            "#]],
        ),
    ] {
        check_one(&when(condition), expected);
    }
    assert_eq!(changes(&[("p.yaml", &when("{{q}} ~= x"))]).sure, [""; 0]);
    assert_eq!(changes(&[("p.yaml", &when("{{n}} = > 8"))]).sure, [">="]);
    check_one(&when("{{q}} == ≥ 5"), expect![""]);
    check_one(&when("{{q}} == Research AND Development"), expect![""]);
}

#[test]
fn a_value_is_not_computed() {
    let output = |text: &str| format!("{}output: {{ x: \"{text}\" }}\n", step("    input: { q: \"{{q}}\" }\n"));
    for (text, expected) in [
        (
            "{{n}} >= 80",
            expect![[r#"
                warning 7:14 not-computed: `{{n}} >= 80` is text here: nothing is compared (compare in `when` or `until`, or declare it in an agent's `outputSchema`)
            "#]],
        ),
        (
            "{{ok}} || {{q}}",
            expect![[r#"
                warning 7:14 not-computed: `{{ok}} || {{q}}` is text here: nothing is compared (compare in `when` or `until`, or declare it in an agent's `outputSchema`)
            "#]],
        ),
        (
            "{{n}} > 3 ? yes : no",
            expect![[r#"
                warning 7:14 not-computed: `{{n}} > 3 ? yes : no` is text here: nothing is compared (compare in `when` or `until`, or declare it in an agent's `outputSchema`)
            "#]],
        ),
        (
            "{{ok}} == true",
            expect![[r#"
                warning 7:14 not-computed: `{{ok}} == true` is text here: nothing is compared (compare in `when` or `until`, or declare it in an agent's `outputSchema`)
            "#]],
        ),
    ] {
        check_one(&output(text), expected);
    }
    for text in ["{{q}} > {{b}}", "{{q}}", "a & b {{q}}", "{{q}} <b@c.d>", "{{q}} || nothing", "{{q}} -> {{b}}"] {
        silent(&output(text), "not-computed");
    }
}

#[test]
fn what_another_system_computes_is_text_here() {
    let tool = |filter: &str| {
        format!(
            "id: t\nkind: tool\ninputSchema: {{ q: string, n: number }}\ntool: {{ kind: http, name: t, method: POST, url: \"https://example.org\", body: {{ filter: \"{filter}\", q: \"{{{{q}}}}\", n: \"{{{{n}}}}\" }} }}\n"
        )
    };
    check_one(
        &tool("{{n}} == true"),
        expect![[r#"
            warning 4:88 not-computed: `{{n}} == true` is text here: nothing is compared (compare in `when` or `until`, or declare it in an agent's `outputSchema`)
        "#]],
    );
    for filter in ["age >= {{n}}", "{{q}} == {{n}}", "{{q}} && {{n}}", "name == {{q}} && age > 3"] {
        silent(&tool(filter), "not-computed");
    }
}

#[test]
fn numbers_come_from_placeholders() {
    check_one(
        &step("    input: { q: 300 }\n"),
        expect![[r#"
            error 6:17 wrong-type: `q` must be text or a template, not a number (put it in quotes for text; to keep its type, use the placeholder of an input with this `default`)
        "#]],
    );
    let number = "id: p\nkind: sequential\nsteps:\n  - ref: c\n    input: { n: \"300\" }\n";
    let child =
        format!("id: c\nkind: llm\n{MODEL}\ninstruction: Hi.\ninputSchema: {{ n: integer }}\nprompt: \"{{{{n}}}}\"\n");
    check(
        &[("p.yaml", number), ("c.yaml", &child)],
        expect![[r#"
            error p.yaml 5:17 schema-mismatch: `n` of `c` is a number, but this is text (only a single placeholder keeps its type: write a placeholder of an input with this `default`) [c.yaml 5:16 declared here]
        "#]],
    );
}

#[test]
fn names_have_nothing_before_them() {
    says(
        "instruction: \"{{input.topic}} {{process.env.X}} {{environment.X}}\"\n",
        expect![[r#"
            error 5:17 unresolved-name: `input` is not defined here (write `topic` instead of `input.topic`: names have no prefix here) {maybe: "topic"}
            error 5:33 unresolved-name: `process` is not defined here (write `env` instead of `process.env`) {maybe: "env"}
            error 5:51 unresolved-name: `environment` is not defined here (write `env` instead of `environment`) {maybe: "env"}
        "#]],
    );
}

#[test]
fn an_agent_with_the_keys_of_another_kind_has_the_wrong_kind() {
    check(
        &[("agent.yaml", "id: a\nkind: sequential\nmodel: { provider: openai, name: gpt-5.4 }\ninstruction: Hi.\n")],
        expect![[r#"
            error 2:7 missing-key: `kind: sequential` needs `steps`, but this has `instruction` (write `kind: llm`, or `steps` instead of `instruction`) [4:1 only for `kind: llm`] {maybe: "llm"}
            warning 4:1 no-effect: `instruction` has no effect: it is a key of `kind: llm`
        "#]],
    );
}
