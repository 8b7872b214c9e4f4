//! Tags, placeholders and names without braces: slightly wrong ones, and those of other languages.

use expect_test::{Expect, expect};

use super::support::{END, check_one, offered, with_goal, workflow, workflow_with_goal};

/// The findings about a text shown to a person.
#[track_caller]
fn of_text(text: &str, expected: Expect) -> String {
    let manifest = workflow(&format!(
        "    A:\n      kind: Human\n      prompt: |\n        {text}\n      transitions: [{{ target: END }}]\n{END}"
    ));
    check_one(&manifest, expected);
    manifest
}

#[test]
fn tags_that_are_nearly_right() {
    of_text(
        "{{json input.list[0].name}}",
        expect![[r#"
            error 10:26 template-syntax: a list item needs a dot before it (write `input.list.0.name`)
        "#]],
    );
    let text = of_text(
        "{{#each tag in input.tags}}{{tag}}{{/each}}",
        expect![[r#"
            error 10:12 template-bad-arguments: the list comes first, then the name of its item (write `{{#each input.tags as |tag|}}`) {maybe: "each input.tags as |tag|"}
        "#]],
    );
    assert_eq!(offered(&text), ["each input.tags as |tag|"]);
    let text = of_text(
        "{{if input.vip}}x{{/if}}",
        expect![[r##"
            error 10:11 template-unknown-helper: `if` needs a `#` to open a block (write `{{#if input.vip}}`) {fix: "#if input.vip"}
        "##]],
    );
    assert_eq!(offered(&text), ["#if input.vip"]);
    for (tag, expected) in [
        (
            "{{#else}}",
            expect![[r#"
                error 10:27 template-unknown-block: `else` is not a block (write `{{else}}`) {fix: "{{else}}"}
            "#]],
        ),
        (
            "{{/else}}",
            expect![[r#"
                error 10:27 template-unknown-block: `else` is not a block (write `{{else}}`) {fix: "{{else}}"}
            "#]],
        ),
    ] {
        let text = of_text(&format!("{{{{#if input.vip}}}}x{tag}y{{{{/if}}}}"), expected);
        assert_eq!(offered(&text), ["{{else}}"]);
    }
    for (name, meant) in [
        (
            "uppercase",
            expect![[r#"
                error 10:11 template-unknown-helper: unknown helper `uppercase` (did you mean `upper`?) {maybe: "upper"}
            "#]],
        ),
        (
            "toUpperCase",
            expect![[r#"
                error 10:11 template-unknown-helper: unknown helper `toUpperCase` (did you mean `upper`?) {maybe: "upper"}
            "#]],
        ),
        (
            "size",
            expect![[r#"
                error 10:11 template-unknown-helper: unknown helper `size` (did you mean `length`?) {maybe: "length"}
            "#]],
        ),
        (
            "toJSON",
            expect![[r#"
                error 10:11 template-unknown-helper: unknown helper `toJSON` (did you mean `json`?) {fix: "json"}
            "#]],
        ),
    ] {
        let text = format!("{{{{{name} input.x}}}}");
        of_text(&text, meant);
    }
    of_text(
        "{{#if eq input.vip true}}x{{/if}}",
        expect![[r#"
            error 10:18 template-bad-arguments: `if` needs one value (put the helper in parentheses: `{{#if (eq input.vip true)}}`)
        "#]],
    );
    of_text(
        "{{#each keys as |k|}}{{k}}{{/each}}{{#if len includeZero=true}}x{{/if}}",
        expect![[r#"
            warning 10:17 unresolved-name: `keys` is a helper without an argument, so it is read as the name of a key (write its argument after it)
            warning 10:50 unresolved-name: `len` is a helper without an argument, so it is read as the name of a key (write its argument after it)
        "#]],
    );
}

#[test]
fn tags_of_other_template_languages() {
    with_goal(
        "    A:
      kind: Human
      prompt: |
        {{#if input.goal}}a{{elif input}}b{{/if}}
        {{#if input.goal}}a{{else (eq input 'x')}}b{{/if}}
        {{input.{{input.goal}}}}
        {{#input.goal}}x{{/input.goal}}
        {{input.goal ? a : b}} {{input.goal ?? b}} {{default(input.goal, input)}}
      transitions: [{ target: END }]
",
        expect![[r#"
            error 12:30 template-unknown-helper: unknown tag `elif` (write `{{else if input}}`) {maybe: "else if input"}
            error 13:28 template-bad-arguments: `else` cannot have a condition (write `{{else if (eq input 'x')}}`)
            error 14:9 template-syntax: a tag inside a tag (tags cannot be nested; to look up a property by a value, write `{{lookup input name}}`)
            error 15:9 template-unknown-block: `input.goal` is a path, not a block (write `{{#with input.goal}}`, or for a list `{{#each input.goal}}`)
            error 16:22 template-syntax: unexpected `?` (write `{{#if a}}...{{else}}...{{/if}}`)
            error 16:45 template-syntax: unexpected `?` (write `{{default a "text"}}`)
            error 16:54 template-syntax: `default` is a helper; write its argument after it, without parentheses (write `{{default input.goal input}}`) {maybe: "default input.goal input"}
        "#]],
    );
}

#[test]
fn a_bare_word_for_a_helper_is_a_text_without_quotes() {
    with_goal(
        r#"    A: { kind: Human, prompt: '{{default input.goal none}} {{#if (eq input.goal done)}}x{{/if}}', transitions: [{ target: B }] }
    B: { kind: Human, prompt: "{{default input.goal none}} {{default input.goal workflow.context.goal}}", transitions: [{ target: END }] }
"#,
        expect![[r#"
            warning 9:53 unresolved-name: neither the context, the input nor a state defines `none`
            warning 9:81 unresolved-name: neither the context, the input nor a state defines `done`
            warning 10:53 unresolved-name: neither the context, the input nor a state defines `none`
        "#]],
    );
}

#[test]
fn everything_at_once_and_what_comes_first() {
    let prompt = |text: &str| {
        workflow(&format!("    A: {{ kind: Human, prompt: '{text}', transitions: [{{ target: END }}] }}\n{END}"))
    };
    check_one(
        &prompt("{{this}} {{.}} {{json this}} {{#each input.l}}{{this}}{{.}}{{/each}}"),
        expect![[r#"
            warning 7:34 loop-variable: `this` is outside a block, so it prints the whole state as JSON (write the path of the value; to print the whole state, write `{{json this}}`)
            warning 7:43 loop-variable: `.` is outside a block, so it prints the whole state as JSON (write the path of the value; to print the whole state, write `{{json this}}`)
        "#]],
    );
    check_one(
        &prompt("{{default 10 input.n}} {{default input.n 10}} {{default null input.n}}"),
        expect![[r#"
            warning 7:42 redundant: `default` has no effect: the literal `10` comes first (write the value first, and its fallback after it)
        "#]],
    );
}

#[test]
fn a_text_of_several_lines_without_its_bar() {
    with_goal(
        "    A:
      kind: Human
      prompt:
        {{#if input.goal}}Goal: {{input.goal}}{{/if}}
        Well {{input.goal}}?
      transitions: [{ target: END }]
",
        expect![[r#"
            error 12:9 yaml-unquoted-braces: a multi-line text that starts with `{{` needs `|` after its key {maybe: write `prompt: |`: 11:14 " |"}
        "#]],
    );
}

#[test]
fn placeholders_in_what_is_data() {
    check_one(
        &workflow_with_goal(&format!("    A: {{ kind: Human, prompt: '{{{{workflow.context.hello}}}}', transitions: [{{ target: END }}] }}\n{END}"))
            .replace("spec:\n", "spec:\n  context: { hello: 'Hello {{input.goal}}', example: ['{{your.name}}'] }\n"),
        expect![[r#"
            warning 7:28 not-a-placeholder: `{{input.goal}}` stays as it is: `context` is not a template (write it where the value is used, or set the key in an `update_blackboard` state)
        "#]],
    );
}

#[test]
fn values_that_are_names_without_braces_or_in_quotes() {
    with_goal(
        r#"    A: { kind: Human, prompt: 'Well?', transitions: [{ target: B }] }
    B: { kind: System, command: update_blackboard, env: { a: A.response, b: <A.response>, c: input.goal, d: other.goal, e: goal }, transitions: [{ target: C }] }
    C: { kind: Human, prompt: '{{default "none" input.goal}} {{#if "input.goal"}}x{{/if}} {{default input.goal "none"}}', transitions: [{ condition: custom, expression: '"A.response" == "yes.no"', target: END }, { target: END }] }
"#,
        expect![[r#"
            warning 10:62 not-a-placeholder: `A.response` is text here, so its value is not read {maybe: "\"{{A.response}}\""}
            warning 10:77 not-a-placeholder: `A.response` is text here, so its value is not read {maybe: "\"{{A.response}}\""}
            warning 10:94 not-a-placeholder: `input.goal` is text here, so its value is not read {maybe: "\"{{input.goal}}\""}
            warning 11:42 redundant: `default` has no effect: the literal `none` comes first (write the value first, and its fallback after it)
            warning 11:68 not-a-placeholder: `input.goal` in quotes is text, so its value is not read {maybe: remove the quotes: "input.goal"}
            warning 11:171 not-a-placeholder: `A.response` in quotes is text, so its value is not read {maybe: remove the quotes: "A.response"}
        "#]],
    );
}

#[test]
fn feedback_that_is_a_path_without_braces() {
    check_one(
        &workflow(&format!(
            "    A: {{ kind: Human, prompt: Well?, transitions: [{{ condition: input_equals_yes, target: END }}, {{ target: A, feedback: A.response }}] }}\n{END}"
        ))
        .replace("prompt: Well?", "prompt: 'Well? {{state.feedback}}'"),
        expect![[r#"
            warning 7:142 not-a-placeholder: `A.response` is text here, so its value is not read {maybe: "\"{{A.response}}\""}
        "#]],
    );
}

#[test]
fn text_that_looks_like_a_placeholder_names_something_that_is_there() {
    let states = |input: &str| {
        format!(
            "    A: {{ kind: System, command: make, transitions: [{{ target: B }}] }}\n    B: {{ kind: Agent, agent: x, input: \"{input}\" }}\n"
        )
    };
    check_one(
        &workflow(&states("{A.output} ${A.stdout} {A.output}} {% if A.output %}")),
        expect![[r#"
            warning 8:30 unknown-reference: no agent in this folder is named `x` (only the embedded model can stand in for it; for any other model, add its manifest to the folder)
            warning 8:41 not-a-placeholder: `{A.output}` is text, so `A.output` is not read: a placeholder has two braces on both sides {maybe: "{{A.output}}"}
            warning 8:52 not-a-placeholder: `${A.stdout}` is text, so `A.stdout` is not read: a placeholder has two braces on both sides {maybe: "{{A.stdout}}"}
            warning 8:64 not-a-placeholder: `{A.output}}` is text, so `A.output` is not read: a placeholder has two braces on both sides {maybe: "{{A.output}}"}
            warning 8:76 not-a-placeholder: `{% if A.output %}` is text, so `A.output` is not read (write blocks as `{{#if path}}...{{else}}...{{/if}}` or `{{#each list}}...{{/each}}`)
        "#]],
    );
    check_one(
        &workflow(&states("{{states.A.output}} {{A->output}} {{default A.output “x”}} {{endif}}")),
        expect![[r#"
            warning 8:30 unknown-reference: no agent in this folder is named `x` (only the embedded model can stand in for it; for any other model, add its manifest to the folder)
            warning 8:43 unresolved-name: `states.A` is not defined (write `A`) {maybe: 8:43 "A"}
            error 8:64 template-bad-path: unexpected `->` (write `.`) {fix: "."}
            error 8:94 template-syntax: `“` is not a quote here (use straight quotes, `"` or `'`) {maybe: "'x'"}
        "#]],
    );
    check_one(
        &workflow(&states("{{@index}} {{../x}} {{this.x}} {{json}}")),
        expect![[r#"
            warning 8:30 unknown-reference: no agent in this folder is named `x` (only the embedded model can stand in for it; for any other model, add its manifest to the folder)
            warning 8:43 loop-variable: `@index` is always empty: it has a value only in `{{#each}}`
            warning 8:54 loop-variable: `../x` is always empty: it leaves more blocks than are open
            warning 8:63 loop-variable: `this.x` is outside a block: `this` is an item only in `{{#each}}` (write the whole path)
            warning 8:74 unresolved-name: `json` is a helper without an argument, so it is read as the name of a key (write its argument after it)
        "#]],
    );
    check_one(
        &workflow(&states(
            "{B.name} ${HOME} { } {'a': 1} {other} [[x]] {{#each A.output}}{{@index}}{{this.x}}{{/each}}",
        )),
        expect![[r#"
            warning 8:30 unknown-reference: no agent in this folder is named `x` (only the embedded model can stand in for it; for any other model, add its manifest to the folder)
        "#]],
    );
}

#[test]
fn names_of_the_format_in_the_context_stay_as_they_are() {
    let with = |value: &str| {
        workflow(&format!("    A: {{ kind: System, command: echo a, transitions: [{{ target: END }}] }}\n{END}"))
            .replace("spec:\n", &format!("spec:\n  context: {{ note: '{value}' }}\n"))
    };
    check_one(
        &with("{{workflow.contxt.x}} and {{state.nothing}}"),
        expect![[r#"
            warning 5:21 not-a-placeholder: `{{workflow.contxt.x}}` stays as it is: `context` is not a template (write it where the value is used, or set the key in an `update_blackboard` state)
            warning 5:47 not-a-placeholder: `{{state.nothing}}` stays as it is: `context` is not a template (write it where the value is used, or set the key in an `update_blackboard` state)
        "#]],
    );
    check_one(&with("write {{name}}, or `run {{workflow.id}} now`, or \"in {{workflow.id}}\""), expect![""]);
}

/// Values of the Blackboard keep their types, and JSON in a text becomes an object or a list.
#[test]
fn a_lone_placeholder_with_something_around_it_is_text() {
    let told = |value: &str, expected: Expect| {
        with_goal(
            &format!(
                "    A:\n      kind: System\n      command: ls\n      transitions: [{{ target: B }}]\n    B:\n      kind: System\n      command: update_blackboard\n      env:\n        code: {value}\n      transitions: [{{ target: END }}]\n"
            ),
            expected,
        );
    };
    told(
        "|\n          {{A.output.exit_code}}",
        expect![[r#"
        warning 18:13 schema-mismatch: this value is text, because a line break follows it: only a single placeholder keeps its type (write `"{{A.output.exit_code}}"` on the line of the key)
    "#]],
    );
    told(
        "' {{A.output.exit_code}}'",
        expect![[r#"
        warning 17:19 schema-mismatch: this value is text, because there are spaces around it: only a single placeholder keeps its type {maybe: 17:15 "\"{{A.output.exit_code}}\""}
    "#]],
    );
    told("'{{A.output.exit_code}}'", expect![""]);
    told(
        "|\n          {{A.output}}",
        expect![[r#"
        info 18:13 schema-mismatch: this value is text, because a line break follows it: only a single placeholder keeps its type (write `"{{A.output}}"` on the line of the key)
    "#]],
    );
    told("|\n          {{A.output.stdout}}", expect![""]);
    told("|\n          {{input.goal}}", expect![""]);
}
