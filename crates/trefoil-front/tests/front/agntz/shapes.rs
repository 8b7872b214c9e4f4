//! Advice for values of the wrong form, keys in the wrong place, and paths instead of ids.

use expect_test::expect;

use super::support::{MODEL, check, check_one};

#[test]
fn a_value_of_another_form_is_shown_in_the_right_one() {
    check_one(
        &format!(
            "id: a\nkind: llm\n{MODEL}\ninstruction: Go.\ntools: search\noutputSchema: [title, body]\nexamples: hi\n"
        ),
        expect![[r#"
            error 5:8 wrong-type: `tools` must be a list, not text (write `tools: [search]`)
            error 6:15 wrong-type: `outputSchema` must be a mapping, not a list (write `outputSchema: { title: string }`, with every name that it lists)
            error 7:11 wrong-type: `examples` must be a list, not text (write `examples: [{ input: a question, output: an answer }]`)
        "#]],
    );
    check_one(
        "id: a\nkind: sequential\nsteps:\n  ref: b\n",
        expect![[r#"
            error 4:3 wrong-type: `steps` must be a list, not a mapping (start each entry with a dash (`- ref: ...`), and align its other keys with `ref`)
        "#]],
    );
    check_one(
        "id: a\nkind: llm\nmodel: anthropic:claude-x\ninstruction: Go.\n",
        expect![[r#"
        error 3:8 wrong-type: `model` must be a mapping, not text (write `model: { provider: anthropic, name: claude-x }`)
    "#]],
    );
}

#[test]
fn an_unknown_key_lists_what_there_is() {
    check_one(
        "id: a\nkind: llm\nmodel: { provider: openai, name: m, mood: good }\ninstruction: Go.\n",
        expect![[r#"
        warning 3:37 unknown-key: model has no key `mood` (it is ignored; available: `temperature`, `topP`, `topK`, `maxTokens`, `presencePenalty`, `frequencyPenalty`, `seed`, `stopSequences`, `providerOptions`, `maxRetries`, `options`)
    "#]],
    );
    check_one(
        "id: a\nkind: llm\nmodel: { provider: openai, name: m, temperature: 0,7 }\ninstruction: Go.\n",
        expect![[r#"
            warning 3:50 unknown-key: `temperature` is 0, because a comma ends the value here (write `temperature: 0.7`) {fix: "0.7"}
        "#]],
    );
    check_one(
        &format!("id: a\nkind: llm\n{MODEL}\n\u{a0}instruction: Go.\n"),
        expect![[r#"
        error 1:1 missing-key: an agent needs `instruction`
        warning 4:1 unknown-key: `instruction` starts with a character that only looks like a space (U+00A0) (indent the line with ordinary spaces)
    "#]],
    );
}

#[test]
fn what_reads_a_step_with_a_path_instead_of_an_id_is_no_second_mistake() {
    let writer = format!("id: writer\nkind: llm\n{MODEL}\ninstruction: Write.\nprompt: Go.\n");
    let flow = "id: a\nkind: sequential\nsteps:\n  - ref: ./writer.yaml\noutput:\n  text: \"{{writer}}\"\n";
    check(
        &[("a.yaml", flow), ("writer.yaml", &writer)],
        expect![[r#"
        error a.yaml 4:10 unknown-reference: no manifest in this folder has the id `./writer.yaml` (`ref` is the `id` of an agent, not a path; write `ref: writer`) {fix: "writer"}
    "#]],
    );
}

#[test]
fn a_path_instead_of_an_id_says_what_a_ref_is() {
    let writer = format!("id: writer\nkind: llm\n{MODEL}\ninstruction: Write.\nprompt: Go.\n");
    for (path, expected) in [
        (
            "./writer.yaml",
            expect![[r#"
            error a.yaml 4:10 unknown-reference: no manifest in this folder has the id `./writer.yaml` (`ref` is the `id` of an agent, not a path; write `ref: writer`) {fix: "writer"}
        "#]],
        ),
        (
            "agents/writer",
            expect![[r#"
            error a.yaml 4:10 unknown-reference: no manifest in this folder has the id `agents/writer` (`ref` is the `id` of an agent, not a path; write `ref: writer`) {fix: "writer"}
        "#]],
        ),
        (
            "writer.yml",
            expect![[r#"
            error a.yaml 4:10 unknown-reference: no manifest in this folder has the id `writer.yml` (`ref` is the `id` of an agent, not a path; write `ref: writer`) {fix: "writer"}
        "#]],
        ),
        (
            "other.yaml",
            expect![[r#"
            error a.yaml 4:10 unknown-reference: no manifest in this folder has the id `other.yaml` (`ref` is the `id` of an agent, not a path; available: `writer`)
        "#]],
        ),
    ] {
        let main = format!("id: a\nkind: sequential\nsteps:\n  - ref: {path}\n");
        check(&[("a.yaml", &main), ("writer.yaml", &writer)], expected);
    }
}

#[test]
fn a_key_of_a_step_in_its_input_is_not_passed_on_silently() {
    let main = |child: &str, input: &str| {
        format!(
            "id: a\nkind: sequential\ninputSchema: {{ t: string }}\nsteps:\n  - agent:\n      id: b\n      kind: llm\n      \
             {MODEL}\n      instruction: Go.\n      prompt: \"{{{{t}}}}\"\n{child}    input:\n      t: \"{{{{t}}}}\"\n      {input}\n"
        )
    };
    let closed = "      inputSchema: { t: string }\n";
    check_one(
        &main(closed, "stateKey: draft"),
        expect![[r#"
        error 14:7 unknown-input: `stateKey` is a key of the step, but here it is passed to `b`, so the output has another name (align it with `input`) [12:5 in this map]
    "#]],
    );
    check_one(
        &main("", "when: \"{{t}} != ''\""),
        expect![[r#"
        error 13:7 unknown-input: `when` is a key of the step, but here it is passed to `b`, so the step always runs (align it with `input`) [11:5 in this map]
        warning 13:13 not-computed: `{{t}} != ''` is text here: nothing is compared (compare in `when` or `until`, or declare it in an agent's `outputSchema`)
    "#]],
    );
    // If the agent declares it, it is the agent's own input.
    check_one(
        &main("      inputSchema: { t: string, when: string }\n", "when: \"{{t}} != ''\""),
        expect![[r#"
        warning 14:13 not-computed: `{{t}} != ''` is text here: nothing is compared (compare in `when` or `until`, or declare it in an agent's `outputSchema`)
    "#]],
    );
}
