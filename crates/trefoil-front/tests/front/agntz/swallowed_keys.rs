//! Keys that are indented too far and became part of another value.

use expect_test::expect;

use super::support::{MODEL, check_one, silent};

#[test]
fn a_key_inside_of_a_block_of_text_is_text() {
    let agent = |line: &str| {
        format!("id: a\nkind: llm\ninputSchema: {{ t: string }}\n{MODEL}\ninstruction: |\n  Judge.\n  {line}\n")
    };
    for (line, expected) in [
        (
            "prompt: \"{{t}}\"",
            expect![[r#"
                warning 7:3 swallowed-key: this line is part of the text of `instruction`, not a key (align `prompt:` with `instruction:` to make it a key) [5:1 the block starts here]
            "#]],
        ),
        (
            "outputSchema:\n    score: number",
            expect![[r#"
                warning 7:3 swallowed-key: this line is part of the text of `instruction`, not a key (align `outputSchema:` with `instruction:` to make it a key) [5:1 the block starts here]
            "#]],
        ),
        (
            "examples:\n    - input: a\n      output: b",
            expect![[r#"
                warning 7:3 swallowed-key: this line is part of the text of `instruction`, not a key (align `examples:` with `instruction:` to make it a key) [5:1 the block starts here]
            "#]],
        ),
        (
            "maxSteps: 8",
            expect![[r#"
                warning 7:3 swallowed-key: this line is part of the text of `instruction`, not a key (align `maxSteps:` with `instruction:` to make it a key) [5:1 the block starts here]
            "#]],
        ),
    ] {
        check_one(&agent(line), expected);
    }
    for line in
        ["examples: good and bad ones", "prompt: what was asked. {{t}}", "name: \"{{t}}\"", "outputSchema: as said."]
    {
        silent(&agent(line), "swallowed-key");
    }
}

#[test]
fn a_last_line_that_is_written_like_a_key_was_indented_too_far() {
    let agent = |line: &str| {
        format!("id: a\nkind: llm\ninputSchema: {{ news: string }}\n{MODEL}\ninstruction: |\n  You judge.\n  {line}\n")
    };
    for (line, expected) in [
        (
            "prompt: News {{news}}",
            expect![[r#"
                warning 7:3 swallowed-key: this line is part of the text of `instruction`, not a key (align `prompt:` with `instruction:` to make it a key) [5:1 the block starts here]
            "#]],
        ),
        (
            "prompt: \"News: {{news}}\"",
            expect![[r#"
                warning 7:3 swallowed-key: this line is part of the text of `instruction`, not a key (align `prompt:` with `instruction:` to make it a key) [5:1 the block starts here]
            "#]],
        ),
        (
            "skills: [search, read-page]",
            expect![[r#"
                warning 7:3 swallowed-key: this line is part of the text of `instruction`, not a key (align `skills:` with `instruction:` to make it a key) [5:1 the block starts here]
            "#]],
        ),
        (
            "tools:\n    - kind: local\n      tools: [a]",
            expect![[r#"
                warning 7:3 swallowed-key: this line is part of the text of `instruction`, not a key (align `tools:` with `instruction:` to make it a key) [5:1 the block starts here]
            "#]],
        ),
        (
            "tools:\n    - { kind: local, tools: [a] }",
            expect![[r#"
                warning 7:3 swallowed-key: this line is part of the text of `instruction`, not a key (align `tools:` with `instruction:` to make it a key) [5:1 the block starts here]
            "#]],
        ),
    ] {
        check_one(&agent(line), expected);
    }
    for line in [
        "prompt: News {{news}}\n  Then answer.",
        "topic: x\n  prompt: News {{news}}",
        "prompt: {{news}}",
        "skills: [what they can do, and how]",
        "tools:\n    - a hammer",
        "input: { text: \"{{news}}\" }",
    ] {
        silent(&agent(line), "swallowed-key");
    }
    let step = |line: &str| {
        format!(
            "id: p\nkind: sequential\ninputSchema: {{ news: string }}\nsteps:\n  - agent:\n      id: a\n      kind: llm\n      {MODEL}\n      instruction: Hi.\n      prompt: |\n        Judge {{{{text}}}}\n        {line}\n"
        )
    };
    for (line, expected) in [
        (
            "stateKey: verdict",
            expect![[r#"
                warning 11:17 unresolved-name: `text` is always null: the step has no `input` (add `input: { text: ... }` to the step; available: `userQuery`)
                warning 12:9 swallowed-key: this line is part of the text of `prompt`, not a key (align `stateKey:` with `prompt:` to make it a key) [10:7 the block starts here]
            "#]],
        ),
        (
            "input:\n          text: \"{{news}}\"",
            expect![[r#"
                warning 11:17 unresolved-name: `text` is always null: the step has no `input` (add `input: { text: ... }` to the step; available: `userQuery`)
                warning 12:9 swallowed-key: this line is part of the text of `prompt`, not a key (align `input:` with `agent:` to make it a key) [10:7 the block starts here]
                warning 13:20 unresolved-name: `news` is always null: the step has no `input` (an agent does not see the state of its pipeline: pass it with `input: { news: "{{news}}" }`)
            "#]],
        ),
        (
            "input: { text: \"{{news}}\" }",
            expect![[r#"
                warning 11:17 unresolved-name: `text` is always null: the step has no `input` (add `input: { text: ... }` to the step; available: `userQuery`)
                warning 12:9 swallowed-key: this line is part of the text of `prompt`, not a key (align `input:` with `agent:` to make it a key) [10:7 the block starts here]
                warning 12:27 unresolved-name: `news` is always null: the step has no `input` (an agent does not see the state of its pipeline: pass it with `input: { news: "{{news}}" }`)
            "#]],
        ),
    ] {
        check_one(&step(line), expected);
    }
    for line in ["stateKey: of the state", "input: {\"text\": \"{{news}}\"}", "input:\n          {{news}}"] {
        silent(&step(line), "swallowed-key");
    }
}

#[test]
fn keys_of_a_request_stand_in_it() {
    let tool = |rest: &str| {
        format!(
            "id: t\nkind: tool\ninputSchema: {{ a: string }}\ntool:\n  kind: http\n  name: t\n  url: https://example.com\n{rest}"
        )
    };
    check_one(
        &tool("  headers: { Accept: x, method: POST }\n"),
        expect![[r#"
            warning 8:25 swallowed-key: `method` is nested under `headers`, so it is not a key of the request (align it with `headers:` to make it a key of the request) [8:3 `headers` starts here]
        "#]],
    );
    check_one(
        &tool("  method: POST\n  body: { a: \"{{a}}\", body_type: form }\n"),
        expect![[r#"
            warning 9:23 swallowed-key: `body_type` is nested under `body`, so it is not a key of the request (align it with `body:` to make it a key of the request) [9:3 `body` starts here]
        "#]],
    );
    check_one(
        &tool("  method: POST\n  body: { a: \"{{a}}\", headers: { Authorization: x } }\n"),
        expect![[r#"
            info 9:23 swallowed-key: `headers` is nested under `body`, so it is not a key of the request (align it with `body:` to make it a key of the request) [9:3 `body` starts here]
        "#]],
    );
    check_one(
        &tool("  method: POST\n  body:\n    a:\"{{a}}\"\n"),
        expect![[r#"
            warning 10:5 swallowed-key: `body` is read as one text: a key needs a space after `:` (write `a: "{{a}}"`)
        "#]],
    );
    check_one(
        &tool("  headers: { Authorisation: x }\n"),
        expect![[r#"
            warning 8:14 unknown-key: unknown header `Authorisation` (did you mean `Authorization`?) {maybe: "Authorization"}
        "#]],
    );
    let sound = tool(
        "  method: POST\n  headers: { Accept: x }\n  body_type: json\n  body: { method: card, headers: { a: b }, body_type: slim }\n",
    );
    silent(&sound, "swallowed-key");
}

#[test]
fn a_kind_at_the_end_of_a_text_is_part_of_the_text() {
    let agent = |line: &str| format!("id: a\n{MODEL}\ninstruction: |\n  You judge.\n  {line}\n");
    check_one(
        &agent("kind: llm"),
        expect![[r#"
            error 1:1 missing-key: an agent needs `kind` (available: `llm`, `tool`, `sequential`, `parallel`, `transcription`, `image`)
            warning 5:3 swallowed-key: this line is part of the text of `instruction`, not a key (align `kind:` with `instruction:` to make it a key) [3:1 the block starts here]
        "#]],
    );
    silent(&agent("kind: one of many."), "swallowed-key");
}
