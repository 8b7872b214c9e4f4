//! Inputs and their defaults.

use expect_test::{Expect, expect};

use super::support::{check, check_one, flow};

#[test]
fn a_word_for_a_default_is_the_default() {
    let input = |input: &str, expected: Expect| {
        check_one(
            &flow(
                "{{ inputs.x }}",
                &format!("nodes: {{n: {{agent: a, writes: output.n}}}}\ninput: {{message: m, {input}}}\n"),
            ),
            expected,
        );
    };
    for (word, expected) in [
        (
            "string",
            expect![[r#"
                warning 4:24 wrong-default: the default of `x` is the text `string` (write a default value, or `x:` for a required field)
            "#]],
        ),
        (
            "integer",
            expect![[r#"
                warning 4:24 wrong-default: the default of `x` is the text `integer` (write a default value, or `x:` for a required field)
            "#]],
        ),
        (
            "required",
            expect![[r#"
                warning 4:24 wrong-default: the default of `x` is the text `required` (write a default value, or `x:` for a required field)
            "#]],
        ),
        (
            "TODO",
            expect![[r#"
                warning 4:24 wrong-default: the default of `x` is the text `TODO` (write a default value, or `x:` for a required field)
            "#]],
        ),
        (
            "<your name>",
            expect![[r#"
                warning 4:24 wrong-default: the default of `x` is the text `<your name>` (write a default value, or `x:` for a required field)
            "#]],
        ),
        (
            "...",
            expect![[r#"
                warning 4:24 wrong-default: the default of `x` is the text `...` (write a default value, or `x:` for a required field)
            "#]],
        ),
    ] {
        input(&format!("x: {word}"), expected);
    }
    for fine in ["x: text", "x: a string", "x: <b>", "x:"] {
        input(fine, expect![""]);
    }
    check_one(
        &flow(
            "{{ inputs.data_type }}",
            "nodes: {n: {agent: a, writes: output.n}}\ninput: {message: m, data_type: string}\n",
        ),
        expect![""],
    );
}

#[test]
fn a_path_into_a_default() {
    let read = |path: &str, expected: Expect| {
        let body = "nodes: {n: {agent: a, writes: output.n}}\ninput: {message: m, user: {name: x, more: {}}, rows: [{name: x}]}\n";
        check_one(&flow(&format!("{{{{ {path} }}}}"), body), expected);
    };
    read(
        "inputs.user.nmae",
        expect![[r#"
            warning 2:45 unresolved-name: `inputs.user` has no `nmae` by its default, so a run without that input fails (did you mean `name`?) {maybe: 2:57 "name"}
        "#]],
    );
    read(
        "inputs.rows.4",
        expect![[r#"
            warning 2:45 unresolved-name: `inputs.rows` has no `4` by its default, so a run without that input fails
        "#]],
    );
    for fine in ["inputs.user.name", "inputs.user.more.x", "inputs.rows.0.name", "inputs.user.nmae | default('x')"] {
        read(fine, expect![""]);
    }
    let factory = |path: &str, expected: Expect| {
        let body = format!(
            "nodes: {{n: {{type: factory, agent: a, for_each: '{{{{ inputs.rows }}}}', writes: output.n, inputs: {{k: '{{{{ {path} }}}}'}}}}}}\ninput: {{message: m, rows: [{{name: x}}, {{name: y, of: z}}]}}\n"
        );
        check_one(&flow("s {{ inputs.k }}", &body), expected);
    };
    factory(
        "item.nmae",
        expect![[r#"
            warning 3:103 unresolved-name: no item of `inputs.rows` has `nmae` by its default, so a run without that input fails (did you mean `name`?) {maybe: 3:108 "name"}
        "#]],
    );
    factory("item.of", expect![""]);
}

#[test]
fn a_type_in_the_place_of_a_default() {
    let input = |field: &str| {
        flow(
            "{{ inputs.who.x }}",
            &format!("nodes: {{n: {{agent: a, writes: output.n}}}}\ninput: {{message: m, who: {field}}}\n"),
        )
    };
    for (field, expected) in [
        (
            "{type: string, default: children}",
            expect![[r#"
                warning 2:45 unresolved-name: `inputs.who` has no `x` by its default, so a run without that input fails (available: `type`, `default`)
                warning 4:21 no-effect: the default of `who` is this whole mapping (write only the default: `who: children`)
            "#]],
        ),
        (
            "{type: list, description: x}",
            expect![[r#"
                warning 2:45 unresolved-name: `inputs.who` has no `x` by its default, so a run without that input fails (available: `type`, `description`)
                warning 4:21 no-effect: the default of `who` is this whole mapping (write only the default, or `who:` for a required field)
            "#]],
        ),
        (
            "{type: object, properties: {x: {type: string}}}",
            expect![[r#"
                warning 2:45 unresolved-name: `inputs.who` has no `x` by its default, so a run without that input fails (available: `type`, `properties`)
            "#]],
        ),
        ("{type: dog, x: 1}", expect![""]),
        ("{type: string, x: 1}", expect![""]),
        ("{x: children}", expect![""]),
    ] {
        check_one(&input(field), expected);
    }
}

#[test]
fn an_input_that_is_no_list_by_its_default() {
    let over = |default: &str| {
        let nodes = "nodes:\n  n: {type: factory, agent: a, for_each: '{{ inputs.langs }}', writes: output.n}\n";
        flow("{{ item }}", &format!("{nodes}input: {{message: m, langs: {default}}}\n"))
    };
    check_one(
        &over("german"),
        expect![[r#"
            warning 4:46 bad-fan-out: the default of `inputs.langs` is not a JSON list, so a run without this input fails (write the default as a list, or as the text of one: `'["a", "b"]'`) [5:21 the default]
        "#]],
    );
    check_one(&over("[de, fr]"), expect![""]);
    check_one(&over("'[\"de\"]'"), expect![""]);
}

#[test]
fn an_input_that_the_caller_leaves_out() {
    let parent = "version: \"0.1\"\nnodes:\n  n: {type: workflow, ref: ./child.yaml, inputs: {other: x}}\n";
    let child = |read: &str| {
        format!(
            "version: \"0.1\"\nagents: {{a: {{model: \"openai:m\", system: \"{read}\"}}}}\nnodes: {{c: {{agent: a, writes: output.c}}}}\n"
        )
    };
    check(
        &[("parent.yaml", parent), ("child.yaml", &child("{{ inputs.other }} {{ inputs.topic }}"))],
        expect![[r#"
            error parent.yaml 3:28 missing-input: `./child.yaml` reads `inputs.topic`, which is neither passed here nor declared there (pass it: `inputs: {topic: ...}`)
            error child.yaml 2:64 unresolved-name: `inputs.topic` is not defined: `inputs` has no `topic` (declare it: `input: {topic: ...}`)
        "#]],
    );
    check(
        &[("parent.yaml", parent), ("child.yaml", &child("{{ inputs.othr }}"))],
        expect![[r#"
            warning parent.yaml 3:51 unknown-input: `other` has no effect: `./child.yaml` does not read it (write `{{ inputs.other }}` where it should be read)
            error child.yaml 2:45 unresolved-name: `inputs.othr` is not defined: `inputs` has no `othr` (did you mean `inputs.other`?) {fix: child.yaml 2:52 "other"}
        "#]],
    );
    let reads = format!(
        "{parent}  m: {{type: swrm, agents: [{{id: x, provider: openai, prompt: \"{{{{ output.n.d }}}}\"}}]}}\n"
    );
    check(
        &[("parent.yaml", &reads), ("child.yaml", &child("{{ inputs.other }}"))],
        expect![[r#"
            error parent.yaml 4:66 unresolved-name: `output.n.d` is not defined: `output.n` has no `d` (did you mean `output.n.c`?) {maybe: parent.yaml 4:75 "c"}
        "#]],
    );
}

#[test]
fn an_input_of_a_sub_workflow_that_is_misspelt() {
    let parent = |inputs: &str| {
        format!("version: \"0.1\"\nnodes:\n  n: {{type: workflow, ref: ./child.yaml, inputs: {{{inputs}}}}}\n")
    };
    let child = "version: \"0.1\"\nagents: {a: {model: \"openai:m\", system: \"{{ inputs.summary }} {{ inputs.level }}\"}}\nnodes: {c: {agent: a, writes: output.c}}\ninput: {summary: , level: 3}\n";
    let told =
        |inputs: &str, expected: Expect| check(&[("flow.yaml", &parent(inputs)), ("child.yaml", child)], expected);
    told(
        "sumary: x",
        expect![[r#"
            error flow.yaml 3:51 unknown-input: `./child.yaml` has no input `sumary`, but needs `summary` (did you mean `summary`?) [child.yaml 4:9 declared here] {fix: "summary"}
        "#]],
    );
    told(
        "summary: x, levl: 4",
        expect![[r#"
            warning flow.yaml 3:63 unknown-input: `./child.yaml` has no input `levl` (did you mean `level`?) [child.yaml 4:20 declared here] {fix: "level"}
        "#]],
    );
}

#[test]
fn numbers_that_do_not_fit() {
    let retry = |delays: &str| {
        flow("s", &format!("nodes: {{n: {{agent: a, writes: output.n, retry: {{max_attempts: 2, {delays}}}}}}}\n"))
    };
    check_one(
        &retry("base_delay: 60, max_delay: 5"),
        expect![[r#"
            warning 3:93 no-effect: `max_delay` is below `base_delay`, so every delay is `max_delay` (both are in seconds; `max_delay` is the upper bound)
        "#]],
    );
    check_one(&retry("base_delay: 5, max_delay: 5"), expect![""]);
}
