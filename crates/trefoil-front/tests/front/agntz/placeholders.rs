//! Text that looks like a placeholder, and placeholders with mistakes around them.

use expect_test::{Expect, expect};

use super::support::{MODEL, changes, check, check_one, says, silent};

#[test]
fn a_name_in_other_brackets_is_no_placeholder() {
    says(
        "instruction: \"About {topic}, ${topic} and {% if topic %}.\"\n",
        expect![[r#"
            warning 5:21 not-a-placeholder: `{topic}` is text, so `topic` is not read: a placeholder has two braces on both sides {maybe: "{{topic}}"}
            warning 5:30 not-a-placeholder: `${topic}` is text, so `topic` is not read: a placeholder has two braces on both sides {maybe: "{{topic}}"}
            warning 5:43 not-a-placeholder: `{% if topic %}` is text, so `topic` is not read (the only block is `{{#if path}}...{{/if}}`, with two braces)
        "#]],
    );
    says(
        "instruction: \"Fill in {name}, ${HOME}, {price: 3} and [topic].\"\nprompt: \"{{topic}}{{kind}}{{price}}\"\n",
        expect![""],
    );
}

#[test]
fn a_whole_value_in_the_signs_of_another_language_is_text() {
    let pipeline = |x: &str| {
        format!(
            "id: p\nkind: sequential\ninputSchema: {{ body: string }}\nsteps:\n  - agent: {{ id: b, kind: llm, {MODEL}, instruction: Hi., prompt: \"{{{{x}}}}\" }}\n    input: {{ x: \"{x}\" }}\noutput: {{ b: \"{{{{b}}}}\", body: \"{{{{body}}}}\" }}\n"
        )
    };
    for (value, expected) in [
        (
            "$body",
            expect![[r#"
                warning 6:17 not-a-placeholder: `$body` is text here, so its value is not read {maybe: "\"{{body}}\""}
            "#]],
        ),
        (
            "%body%",
            expect![[r#"
                warning 6:17 not-a-placeholder: `%body%` is text here, so its value is not read {maybe: "\"{{body}}\""}
            "#]],
        ),
        (
            "｛｛body｝｝",
            expect![[r#"
                warning 6:17 not-a-placeholder: `｛｛body｝｝` is text here, so its value is not read {maybe: "\"{{body}}\""}
            "#]],
        ),
        (
            "｛body｝",
            expect![[r#"
                warning 6:17 not-a-placeholder: `｛body｝` is text here, so its value is not read {maybe: "\"{{body}}\""}
            "#]],
        ),
    ] {
        check_one(&pipeline(value), expected);
    }
    for value in ["$.body", "<body>", "<other>", "$5", "%d%", "50%"] {
        silent(&pipeline(value), "not-a-placeholder");
    }
    check_one(
        "id: t\nkind: tool\ninputSchema: { message: string }\ntool: { kind: http, name: t, url: \"https://example.com\", method: POST, body: { text: \"$message\" } }\n",
        expect![[r#"
            warning 4:86 not-a-placeholder: `$message` is text here, so its value is not read {maybe: "\"{{message}}\""}
        "#]],
    );
}

#[test]
fn a_sign_before_a_whole_placeholder_is_of_another_system_unless_it_is_a_currency() {
    let pipeline = |input: &str| {
        format!(
            "id: p\nkind: sequential\ninputSchema: {{ topic: string, unitPrice: number }}\nsteps:\n  - agent: {{ id: b, kind: llm, model: {{ provider: openai, name: gpt-5.4 }}, instruction: Hi., prompt: \"{{{{x}}}}\" }}\n    input: {{ x: {input} }}\n"
        )
    };
    check(
        &[("agent.yaml", &pipeline("\"${{topic}}\""))],
        expect![[r#"
            warning 6:18 not-a-placeholder: the `$` is not part of the placeholder: it stays in the text {maybe: remove the `$`: ""}
        "#]],
    );
    check(&[("agent.yaml", &pipeline("\"${{unitPrice}}\""))], expect![""]);
    check(
        &[("agent.yaml", &pipeline("topic"))],
        expect![[r#"
            warning 6:17 not-a-placeholder: `topic` is text here, so its value is not read {maybe: "\"{{topic}}\""}
        "#]],
    );
    check(&[("agent.yaml", &pipeline("some topic"))], expect![""]);
}

#[test]
fn a_comparison_stands_in_its_tag() {
    says(
        "instruction: \"{{#if kind}} == 'a'}}x{{/if}}\"\nprompt: \"{{#if topic}}= x{{/if}}\"\n",
        expect![[r#"
            warning 5:28 not-a-placeholder: `==` after the tag is text, so nothing is compared (put the comparison in the tag: `{{#if path == literal}}`)
        "#]],
    );
}

#[test]
fn a_block_is_only_opened_anew_where_its_end_is_right() {
    let agent =
        |text: &str| format!("id: a\nkind: llm\ninputSchema: {{ q: string }}\n{MODEL}\ninstruction: \"{text}\"\n");
    for (text, count) in [("{{if q}}x{{/if}}", 1), ("{{if q}}x{{end}}", 0), ("{{#IF q}}x{{/IF}}", 0)] {
        assert_eq!(changes(&[("a.yaml", &agent(text))]).sure.len(), count, "{text}");
    }
}

#[test]
fn requests_are_looked_at_like_other_texts_but_for_their_address() {
    let tool = |rest: &str| {
        format!(
            "id: t\nkind: tool\ninputSchema: {{ query: string }}\ntool:\n  kind: http\n  name: t\n  method: POST\n  url: \"https://example.org/{{query}}\"\n  params: {{ query: \"{{{{query}}}}\" }}\n{rest}"
        )
    };
    for (value, expected) in [
        (
            "$TOKEN",
            expect![[r#"
                warning 10:30 not-a-placeholder: `$TOKEN` is text, so the environment is not read {maybe: "{{env.TOKEN}}"}
            "#]],
        ),
        (
            "Bearer ${TOKEN}",
            expect![[r#"
                warning 10:37 not-a-placeholder: `${TOKEN}` is text, so the environment is not read {maybe: "{{env.TOKEN}}"}
            "#]],
        ),
        (
            "%TOKEN%",
            expect![[r#"
                warning 10:30 not-a-placeholder: `%TOKEN%` is text, so the environment is not read {maybe: "{{env.TOKEN}}"}
            "#]],
        ),
        (
            "${env.TOKEN}",
            expect![[r#"
                warning 10:30 not-a-placeholder: `${env.TOKEN}` is text, so `env.TOKEN` is not read: a placeholder has two braces on both sides {maybe: "{{env.TOKEN}}"}
            "#]],
        ),
        (
            "{env.TOKEN}",
            expect![[r#"
                warning 10:30 not-a-placeholder: `{env.TOKEN}` is text, so `env.TOKEN` is not read: a placeholder has two braces on both sides {maybe: "{{env.TOKEN}}"}
            "#]],
        ),
        (
            "env.TOKEN",
            expect![[r#"
                warning 10:29 not-a-placeholder: `env.TOKEN` is text here, so its value is not read {maybe: "\"{{env.TOKEN}}\""}
            "#]],
        ),
        (
            "Bearer ${{ env.TOKEN }}",
            expect![[r#"
                warning 10:37 not-a-placeholder: the `$` is not part of the placeholder: it stays in the text {maybe: remove the `$`: ""}
            "#]],
        ),
    ] {
        check_one(&tool(&format!("  headers: {{ Authorization: \"{value}\" }}\n")), expected);
    }
    for (value, expected) in [
        (
            "{query}",
            expect![[r#"
                warning 10:15 not-a-placeholder: `{query}` is text, so `query` is not read: a placeholder has two braces on both sides {maybe: "{{query}}"}
            "#]],
        ),
        (
            "${query}",
            expect![[r#"
                warning 10:15 not-a-placeholder: `${query}` is text, so `query` is not read: a placeholder has two braces on both sides {maybe: "{{query}}"}
            "#]],
        ),
        (
            "[[query]]",
            expect![[r#"
                warning 10:15 not-a-placeholder: `[[query]]` is text, so `query` is not read: a placeholder has two braces on both sides {maybe: "{{query}}"}
            "#]],
        ),
        (
            "query}}",
            expect![[r#"
                warning 10:15 not-a-placeholder: `query}}` is text, so `query` is not read: a placeholder has two braces on both sides {maybe: "{{query}}"}
            "#]],
        ),
    ] {
        check_one(&tool(&format!("  body: {{ q: \"{value}\" }}\n")), expected);
    }
    silent(
        &tool(
            "  headers: { A: \"Bearer {{env.TOKEN}}\", B: \"$5 for 100%\" }\n  body: { q: \"{{query}}\", kind: query }\n",
        ),
        "not-a-placeholder",
    );
}

#[test]
fn tools_of_an_agent_have_placeholders_as_everything_else_has() {
    let agent = |tool: &str| {
        format!(
            "id: a\nkind: llm\ninputSchema: {{ userId: string }}\n{MODEL}\ninstruction: \"{{{{userId}}}}\"\ntools:\n  - kind: http\n    name: find\n    url: https://example.com/{{k}}?key={{userId}}\n{tool}"
        )
    };
    for (tool, expected) in [
        (
            "    params: { k: \"{env.KEY}\" }\n",
            expect![[r#"
                warning 10:19 not-a-placeholder: `{env.KEY}` is text, so `env.KEY` is not read: a placeholder has two braces on both sides {maybe: "{{env.KEY}}"}
            "#]],
        ),
        (
            "    headers: { Authorization: \"Bearer ${TOKEN}\" }\n",
            expect![[r#"
                warning 10:39 not-a-placeholder: `${TOKEN}` is text, so the environment is not read {maybe: "{{env.TOKEN}}"}
            "#]],
        ),
        (
            "    headers: { Authorization: \"$TOKEN\" }\n",
            expect![[r#"
                warning 10:32 not-a-placeholder: `$TOKEN` is text, so the environment is not read {maybe: "{{env.TOKEN}}"}
            "#]],
        ),
        (
            "    method: POST\n    body: { user: \"{userId}\" }\n",
            expect![[r#"
                warning 11:20 not-a-placeholder: `{userId}` is text, so `userId` is not read: a placeholder has two braces on both sides {maybe: "{{userId}}"}
            "#]],
        ),
        (
            "    method: POST\n    body: { user: userId }\n",
            expect![[r#"
                warning 11:19 not-a-placeholder: `userId` is text here, so its value is not read {maybe: "\"{{userId}}\""}
            "#]],
        ),
    ] {
        check_one(&agent(tool), expected);
    }
    silent(
        &agent("    params: { k: \"{{userId}}\" }\n    headers: { A: \"Bearer {{env.TOKEN}}\" }\n"),
        "not-a-placeholder",
    );
}

#[test]
fn an_output_is_no_schema() {
    let sum =
        format!("id: sum\nkind: llm\n{MODEL}\ninstruction: Hi.\nprompt: Hi.\noutputSchema: {{ summary: string }}\n");
    let pipeline = |output: &str| format!("id: p\nkind: sequential\nsteps:\n  - ref: sum\noutput: {output}\n");
    let look = |output: &str, expected: Expect| check(&[("p.yaml", &pipeline(output)), ("sum.yaml", &sum)], expected);
    look(
        "{ summary: string, score: number, all: \"{{sum}}\" }",
        expect![[r#"
            warning p.yaml 5:20 not-a-placeholder: `string` is text here, not a type, so the result is this word {maybe: "\"{{sum.summary}}\""}
            warning p.yaml 5:35 not-a-placeholder: `number` is text here, not a type, so the result is this word (write a template for each entry of `output`, such as `"{{step.property}}"`)
        "#]],
    );
    look(
        "{ summary: { type: string } }",
        expect![[r#"
            warning p.yaml 5:28 not-a-placeholder: `string` is text here, not a type, so the result is this word (write a template for each entry of `output`, such as `"{{step.property}}"`)
        "#]],
    );
    look("{ summary: \"{{sum.summary}}\", kind: string, note: \"string\" }", expect![""]);
    look("{ column: { type: number, value: \"{{sum.summary}}\" } }", expect![""]);
    let offered = changes(&[("p.yaml", &pipeline("{ summary: string }")), ("sum.yaml", &sum)]);
    assert_eq!([offered.sure, offered.perhaps].concat(), ["\"{{sum.summary}}\""]);
}

#[test]
fn a_word_that_is_a_name_too_is_a_text() {
    let pipeline = |language: &str, when: &str| {
        format!(
            "id: p\nkind: sequential\ninputSchema: {{ language: {language}, other: string }}\nsteps: [ {{ ref: c, when: \"{when}\" }} ]\n"
        )
    };
    check_one(
        &pipeline("string", "{{language}} == other"),
        expect![[r#"
            error 4:17 unknown-reference: no manifest in this folder has the id `c` (this folder has no other manifest)
        "#]],
    );
    for when in ["{{language}} == 'other'", "{{language}} == en", "{{language}} == {{other}}"] {
        silent(&pipeline("string", when), "not-a-placeholder");
    }
    silent(&pipeline("{ type: string, enum: [en, other] }", "{{language}} == other"), "not-a-placeholder");
}

#[test]
fn small_slips_are_told() {
    let agent = |schema: &str, text: &str| {
        format!("id: a\nkind: llm\n{MODEL}\ninputSchema: {{ subject: {schema} }}\ninstruction: '{text}'\n")
    };
    check_one(
        &agent("string", "On {{ subject }}}."),
        expect![[r#"
            warning 5:31 not-a-placeholder: this `}` is text: a placeholder ends with two braces {maybe: remove it: ""}
        "#]],
    );
    silent(&agent("string", "{\"a\": {{ subject }}} and {\"b\": {\"c\": {{subject}}}}"), "not-a-placeholder");
    check_one(
        &agent("{ type: string, enum: [outage, Outage] }", "{{subject}}"),
        expect![[r#"
            info 4:56 invalid-schema: `outage` and `Outage` differ only in case [4:48 the other one]
        "#]],
    );
}

#[test]
fn comments_and_dollars_of_other_languages_are_text() {
    says(
        "instruction: \"{# short #} Cook {{topic}}.\"\n",
        expect![[r#"
        warning 5:15 not-a-placeholder: this comment is text: it is not removed {maybe: remove it: ""}
    "#]],
    );
    says(
        "instruction: \"Cook ${{topic}} now.\"\n",
        expect![[r#"
        warning 5:20 not-a-placeholder: the `$` is not part of the placeholder: it stays in the text {maybe: remove the `$`: ""}
    "#]],
    );
    says("instruction: \"Cook for ${{price}} now.\"\nprompt: \"{{topic}}{{kind}}\"\n", expect![""]);
}

#[test]
fn a_lone_placeholder_with_something_around_it_is_text() {
    let pipeline = |output: &str| {
        format!(
            "id: p\nkind: sequential\ninputSchema: {{ n: number, t: string }}\nsteps:\n  - agent: {{ id: b, kind: llm, {MODEL}, inputSchema: {{ n: number, t: string }}, instruction: Hi., prompt: \"{{{{n}}}} {{{{t}}}}\" }}\n    input: {{ n: \"{{{{n}}}}\", t: \"{{{{t}}}}\" }}\noutput:\n  b: \"{{{{b}}}}\"\n  v: {output}\n"
        )
    };
    for (output, expected) in [
        (
            "|\n    {{n}}",
            expect![[r#"
            warning 10:7 schema-mismatch: this value is text, because a line break follows it: only a single placeholder keeps its type (write `"{{n}}"` on the line of the key)
        "#]],
        ),
        (
            ">\n    {{n}}",
            expect![[r#"
            warning 10:7 schema-mismatch: this value is text, because a line break follows it: only a single placeholder keeps its type (write `"{{n}}"` on the line of the key)
        "#]],
        ),
        (
            "' {{n}}'",
            expect![[r#"
            warning 9:10 schema-mismatch: this value is text, because there are spaces around it: only a single placeholder keeps its type {maybe: 9:6 "\"{{n}}\""}
        "#]],
        ),
        ("|-\n    {{n}}", expect![""]),
        ("|\n    {{t}}", expect![""]),
        ("|\n    {{n}} of {{t}}", expect![""]),
        ("\"{{n}}\"", expect![""]),
    ] {
        check_one(&pipeline(output), expected);
    }
}

#[test]
fn a_template_in_a_url_instead_of_its_placeholder() {
    check_one(
        "id: a\nkind: tool\ninputSchema: { city: string }\ntool: { kind: http, name: x, method: GET, url: \"https://api.example.com/?town={{town}}\", params: { town: \"{{city}}\" } }\n",
        expect![[r#"
            error 4:81 unresolved-name: `town` is not defined here (available: `city`)
            error 4:100 unknown-input: `town` is not a placeholder of the URL (write `{town}` instead of `{{town}}` in the URL: its placeholders have one brace)
        "#]],
    );
}
