//! Text that looks like a placeholder, and placeholders where they have no effect.

use expect_test::{Expect, expect};

use super::support::{check_one, flow, offered, reader};

#[test]
fn text_that_looks_like_a_placeholder() {
    let told = |system: &str, expected: Expect| check_one(&reader(system), expected);
    told(
        "{ d.output }",
        expect![[r#"
            warning 6:14 not-a-placeholder: `{ d.output }` is text, so `d.output` is not read: a placeholder has two braces on both sides {maybe: "{{ d.output }}"}
        "#]],
    );
    told(
        "{inputs.topic}} and {{ d.output }}",
        expect![[r#"
            warning 6:14 not-a-placeholder: `{inputs.topic}}` is text, so `inputs.topic` is not read: a placeholder has two braces on both sides {maybe: "{{ inputs.topic }}"}
        "#]],
    );
    told(
        "${text.long} { { env.X_Y } }",
        expect![[r#"
            warning 6:14 not-a-placeholder: `${text.long}` is text, so `text.long` is not read: a placeholder has two braces on both sides {maybe: "{{ text.long }}"}
            warning 6:27 not-a-placeholder: `{ { env.X_Y } }` is text, so `env.X_Y` is not read: a placeholder has two braces on both sides {maybe: "{{ env.X_Y }}"}
        "#]],
    );
    told(
        "{% if d.output %}x{% endif %}",
        expect![[r#"
            warning 6:14 not-a-placeholder: `{% if d.output %}` is text, so `d.output` is not read (this format has no blocks; use `| default('text')` or `when` on an edge)
        "#]],
    );
    told(
        "[[ working.text.long ]] <%= inputs.message %>",
        expect![[r#"
            warning 6:14 not-a-placeholder: `[[ working.text.long ]]` is text, so `working.text.long` is not read: a placeholder has two braces on both sides {maybe: "{{ working.text.long }}"}
            warning 6:38 not-a-placeholder: `<%= inputs.message %>` is text, so `inputs.message` is not read: a placeholder has two braces on both sides {maybe: "{{ inputs.message }}"}
        "#]],
    );
    told(
        "${{ d.output }}",
        expect![[r#"
            warning 6:14 not-a-placeholder: the `$` is not part of the placeholder: it stays in the text {maybe: remove the `$`: ""}
        "#]],
    );
    // Other braces are not placeholders.
    for fine in [
        r#"Answer as {"d": {"output": 1}} or {d.outputs} {x} {item} {output} { inputs } {} ${HOME}"#,
        "a price: ${{ d.output }} each",
        "[[ d ]] {% raw %} <%= x %>",
    ] {
        told(fine, expect![""]);
    }
}

#[test]
fn more_brackets_of_other_languages() {
    let nodes = "nodes:\n  one: {agent: a, writes: working.one_text}\n  n: {agent: b, writes: output.n}\n";
    let read = |system: &str, expected: Expect| {
        let agents = format!(
            "agents:\n  a: {{model: \"openai:m\", system: s}}\n  b: {{model: \"openai:m\", system: '{system}'}}\n"
        );
        check_one(&format!("version: \"0.1\"\n{agents}{nodes}"), expected);
    };
    for (form, expected) in [
        (
            "<one.output>",
            expect![[r#"
                warning 4:37 not-a-placeholder: `<one.output>` is text, so `one.output` is not read: a placeholder has two braces on both sides {maybe: "{{ one.output }}"}
            "#]],
        ),
        (
            "(( one.output ))",
            expect![[r#"
                warning 4:37 not-a-placeholder: `(( one.output ))` is text, so `one.output` is not read: a placeholder has two braces on both sides {maybe: "{{ one.output }}"}
            "#]],
        ),
    ] {
        read(&format!("x {form}"), expected);
    }
    read(
        "x {one_text}",
        expect![[r#"
            warning 4:37 not-a-placeholder: `{one_text}` is text, so `one_text` is not read: a placeholder has two braces on both sides {maybe: "{{ one_text }}"}
        "#]],
    );
    read("<one_text>{{ one_text }}</one_text> (one.output) <one> {one}", expect![""]);
}

#[test]
fn what_looks_like_a_placeholder() {
    let text = |system: &str| flow(system, "nodes: {n: {agent: a, writes: output.n}}\ninput: {message: m, topic: t}\n");
    let one = |wrong: &str, right: &str| {
        let offered = offered(&text(&format!("About {wrong}, please.")));
        assert_eq!(offered, [(text(&format!("About {right}, please.")), false)], "{wrong}");
    };
    one("{topic}", "{{ inputs.topic }}");
    one("${message}", "{{ inputs.message }}");
    one("{inputs.topic | default('x')}", "{{ inputs.topic | default('x') }}");
    one("$inputs.topic", "{{ inputs.topic }}");
    one("${{ inputs.message }}", "{{ inputs.message }}");
    one("${{ inputs.topic }}", "{{ inputs.topic }}");
    for fine in
        ["{other}", "$topic", "a price of ${{ inputs.topic }}", "$5.00", "{inputs.topic | upper}", "{\\\"topic\\\": 1}"]
    {
        check_one(&text(&format!("About {fine}, please.")), expect![""]);
    }
    check_one(
        &text("{{ inputs.topic | default('{{ inputs.message }}') }}"),
        expect![[r#"
            warning 2:45 not-a-placeholder: the default is literal text, so `{{ inputs.message }}` in it is not read (write both placeholders side by side: a default cannot be another value)
        "#]],
    );
}

#[test]
fn variables_of_a_shell_in_headers() {
    let header = |value: &str| {
        format!(
            "version: \"0.1\"\nnodes:\n  get:\n    type: tool\n    tool: http\n    config:\n      url: https://example.com\n      headers:\n        Authorization: \"{value}\"\n"
        )
    };
    for wrong in ["Bearer $API_TOKEN", "Bearer ${API_TOKEN}", "Bearer ${{ env.API_TOKEN }}"] {
        assert_eq!(offered(&header(wrong)), [(header("Bearer {{ env.API_TOKEN }}"), false)], "{wrong}");
    }
    for fine in ["a$b", "$5", "$ABCd", "${A"] {
        assert!(offered(&header(fine)).is_empty(), "{fine}");
    }
}

#[test]
fn placeholders_in_values_that_are_taken_as_they_are() {
    let nodes = "nodes: {n: {agent: a, writes: output.n}}\n";
    check_one(
        &flow(
            "s",
            &format!(
                "{nodes}state: {{working: {{topic: ['{{{{ inputs.message }}}}']}}}}\ninput: {{message: '{{{{ env.TOPIC }}}}'}}\n"
            ),
        ),
        expect![[r#"
            warning 4:28 no-effect: placeholders have no effect in `state`: it is used as written (placeholders work in `system`, `prompt`, `for_each`, `swarm_size`, `inputs` and tool `config`)
            warning 5:19 no-effect: placeholders have no effect in `input`: it is used as written (placeholders work in `system`, `prompt`, `for_each`, `swarm_size`, `inputs` and tool `config`)
        "#]],
    );
    // Text that is not a placeholder of this format is passed to a model unchanged.
    check_one(
        &flow("s", &format!("{nodes}state: {{working: {{topic: 'a {{{{#if x}}}} b {{{{ ? }}}}'}}}}\n")),
        expect![""],
    );
}

#[test]
fn lists_with_something_around_them() {
    let over = |list: &str, expected: Expect| {
        let text = format!(
            "nodes:\n  m: {{agent: a, writes: working.t}}\n  n: {{type: factory, agent: a, for_each: {list}, writes: output.n}}\n"
        );
        check_one(&flow("x", &text), expected);
    };
    over(
        "'Tasks: {{ m.output }}'",
        expect![[r#"
            error 5:42 bad-fan-out: `for_each` must be a JSON list: this text is not a list (for example `{{ plan.output }}`)
        "#]],
    );
    over(
        "'{{ m.output }} {{ t }}'",
        expect![[r#"
            error 5:42 bad-fan-out: `for_each` must be one placeholder, with nothing around it: this text is not a list (for example `{{ plan.output }}`)
        "#]],
    );
    over("'[\"{{ m.output }}\", 2]'", expect![""]);
    over("\" {{ m.output }}\\n\"", expect![""]);
}

#[test]
fn comments_and_dollars_of_other_languages_are_text() {
    let told = |system: &str, expected: Expect| check_one(&reader(system), expected);
    told(
        "{# short #} {{ d.output }}",
        expect![[r#"
        warning 6:14 not-a-placeholder: this comment is text: it is not removed {maybe: remove it: ""}
    "#]],
    );
    told(
        "Cook ${{ d.output }} now",
        expect![[r#"
        warning 6:19 not-a-placeholder: the `$` is not part of the placeholder: it stays in the text {maybe: remove the `$`: ""}
    "#]],
    );
    told("A sum of ${{ d.output }} each", expect![""]);
}

/// Arguments of a tool and inputs of another workflow keep their types; a body and what decides how often something runs do not.
#[test]
fn a_lone_placeholder_with_something_around_it_is_text() {
    let told = |node: &str, expected: Expect| {
        let nodes = format!(
            "nodes:\n  t:\n    type: tool\n{node}  n: {{agent: a, writes: output.n}}\ninput: {{message: m, k: 3, s: x}}\n"
        );
        check_one(&flow("{{ t.output }}", &nodes), expected);
    };
    let python = |value: &str| {
        format!(
            "    tool: python\n    config:\n      module: m\n      function: f\n      args:\n        all: [ '{{{{ inputs.k }}}} {{{{ inputs.s }}}}' ]\n        k: {value}\n"
        )
    };
    told(
        &python("|\n          {{ inputs.k }}"),
        expect![[r#"
        warning 13:14 schema-mismatch: this value is text, because a line break follows it: only a single placeholder keeps its type (write `"{{ inputs.k }}"` on the line of the key)
    "#]],
    );
    told(
        &python("'{{ inputs.k }} '"),
        expect![[r#"
        warning 12:16 schema-mismatch: this value is text, because there are spaces around it: only a single placeholder keeps its type {maybe: 12:12 "\"{{ inputs.k }}\""}
    "#]],
    );
    told(&python("'{{ inputs.k }}'"), expect![""]);
    told(&python("|-\n          {{ inputs.k }}"), expect![""]);
    told(&python("|\n          {{ inputs.s }}"), expect![""]);
    let http = "    tool: http\n    config:\n      url: https://example.com/{{ inputs.s }}\n      method: POST\n      body: |\n        {{ inputs.k }}\n";
    told(http, expect![""]);
}
