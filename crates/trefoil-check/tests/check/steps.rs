//! Findings of rules in pipelines of steps that loading does not have.

use expect_test::{Expect, expect};

use super::support::{check, hold, is_of, shown};

/// An agent whose answer is checked, and one whose answer is any text.
const REVIEWER: &str = "id: reviewer\nkind: llm\nmodel: { provider: openai, name: gpt-5.4 }\ninputSchema: { draft: string, tone: { type: string, enum: [formal, plain], default: plain } }\ninstruction: Review in a {{tone}} tone.\nprompt: \"{{draft}}\"\noutputSchema: { verdict: { type: string, enum: [ok, bad] }, score: { type: integer, min: 1 }, note: string }\n";
const WRITER: &str =
    "id: writer\nkind: llm\nmodel: { provider: openai, name: gpt-5.4 }\ninstruction: Write.\nprompt: Write.\n";

#[track_caller]
fn told(rule: &str, pipeline: &str, lines: Expect) {
    let files = [("p.yaml", pipeline), ("reviewer.yaml", REVIEWER), ("writer.yaml", WRITER)];
    let (project, all) = check(Some("agntz"), &files);
    let errors: Vec<_> = all.iter().filter(|d| d.severity == trefoil_syntax::FindingSeverity::Error).collect();
    assert!(errors.is_empty(), "{errors:#?}");
    hold(&lines, &shown(&project, all.iter().filter(|d| is_of(d, rule))));
}

#[test]
fn what_is_always_there_ends_a_loop_after_one_pass() {
    let until = |until: &str| {
        format!(
            "id: p\nkind: sequential\nuntil: \"{until}\"\nmaxIterations: 3\nsteps:\n  - ref: writer\n  - ref: reviewer\n    input: {{ draft: \"{{{{writer}}}}\", tone: plain }}\n"
        )
    };
    told(
        "never-true",
        &until("{{reviewer}}"),
        expect![[r#"
            3:11 warning always-true: `reviewer` is always true here, because it always has a value and is never empty
              | until: "{{reviewer}}"
              |           ^^^^^^^^
              help: the loop ends after its first iteration: compare it with a value
        "#]],
    );
    told(
        "never-true",
        &until("{{reviewer.verdict}}"),
        expect![[r#"
            3:11 warning always-true: `reviewer.verdict` is always true here, because it always has a value and is never empty
              | until: "{{reviewer.verdict}}"
              |           ^^^^^^^^^^^^^^^^
              help: the loop ends after its first iteration: compare it with a value
        "#]],
    );
    told(
        "never-true",
        &until("{{reviewer.score}}"),
        expect![[r#"
            3:11 warning always-true: `reviewer.score` is always true here, because it always has a value and is never empty
              | until: "{{reviewer.score}}"
              |           ^^^^^^^^^^^^^^
              help: the loop ends after its first iteration: compare it with a value
        "#]],
    );
    told(
        "never-true",
        &until("{{reviewer}} != null"),
        expect![[r#"
            3:11 warning always-true: this comparison is always true: `reviewer` always has a value here and is never null
              | until: "{{reviewer}} != null"
              |           ^^^^^^^^
              help: the loop ends after its first iteration: compare it with a value
        "#]],
    );
    told(
        "never-true",
        &until("{{writer}} != null"),
        expect![[r#"
            3:11 warning always-true: this comparison is always true: `writer` always has a value here and is never null
              | until: "{{writer}} != null"
              |           ^^^^^^
              help: the loop ends after its first iteration: compare it with a value
        "#]],
    );
    told(
        "never-true",
        &until("{{reviewer.note}} == null"),
        expect![[r#"
            3:11 warning never-true: this comparison can never be true: `reviewer.note` always has a value here and is never null
              | until: "{{reviewer.note}} == null"
              |           ^^^^^^^^^^^^^
              help: compare it with a value
        "#]],
    );
    told(
        "never-true",
        &until("{{reviewer}} && {{reviewer.score}} > 3"),
        expect![[r#"
            3:11 warning always-true: `reviewer` is always true here, because it always has a value and is never empty
              | until: "{{reviewer}} && {{reviewer.sco
              |           ^^^^^^^^
              help: this part of the condition has no effect: compare it with a value
        "#]],
    );
    // Text may be empty.
    for condition in ["{{writer}}", "{{reviewer.note}}", "{{reviewer.verdict}} == ok"] {
        told("never-true", &until(condition), expect![""]);
    }
    // A skipped step results in null; a later one has not run in the first pass.
    let skipped = until("{{reviewer}}") + "    when: \"{{writer}}\"\n";
    told("never-true", &skipped, expect![""]);
    let later =
        until("{{reviewer.verdict}} == ok").replace("- ref: writer\n", "- ref: writer\n    when: \"{{reviewer}}\"\n");
    told("never-true", &later, expect![""]);
}

#[test]
fn text_around_a_placeholder_is_none_of_the_choices() {
    let tone = |tone: &str| {
        format!(
            "id: p\nkind: sequential\ninputSchema: {{ lang: string }}\nsteps:\n  - ref: reviewer\n    input: {{ draft: \"{{{{lang}}}}\", tone: \"{tone}\" }}\n"
        )
    };
    told(
        "wrong-input-type",
        &tone("tone: {{lang}}"),
        expect![[r#"
            6:39 warning wrong-input-type: `tone` of `reviewer` does not accept this value: it must be one of `formal`, `plain`, but this begins with `tone: `
              | input: { draft: "{{lang}}", tone: "tone: {{lang}}" }
              |                                   ^^^^^^^^^^^^^^^^
              at reviewer.yaml:4:31: declared here
        "#]],
    );
    told(
        "wrong-input-type",
        &tone("{{lang}} "),
        expect![[r#"
            6:39 warning wrong-input-type: `tone` of `reviewer` does not accept this value: it must be one of `formal`, `plain`, but this ends with ` `
              | input: { draft: "{{lang}}", tone: "{{lang}} " }
              |                                   ^^^^^^^^^^^
              at reviewer.yaml:4:31: declared here
        "#]],
    );
    told("wrong-input-type", &tone("for{{lang}}"), expect![""]);
    told("wrong-input-type", &tone("{{lang}}in"), expect![""]);
    told("wrong-input-type", &tone("{{lang}}{{lang}}"), expect![""]);
    told("wrong-input-type", &tone("{{#if lang}}x{{/if}}plain"), expect![""]);
}

#[test]
fn an_object_among_other_text_of_an_output_is_printed() {
    let output = |output: &str| {
        format!(
            "id: p\nkind: sequential\nsteps:\n  - ref: reviewer\n    input: {{ draft: Hi, tone: plain }}\noutput: {{ text: \"{output}\" }}\n"
        )
    };
    told(
        "object-in-prompt",
        &output("Result: {{reviewer}}"),
        expect![[r#"
            6:28 info object-in-prompt: `reviewer` is an object, so it is printed as JSON
              | output: { text: "Result: {{reviewer}}" }
              |                            ^^^^^^^^
              help: its fields are `reviewer.verdict`, `reviewer.score`, `reviewer.note`
        "#]],
    );
    told("object-in-prompt", &output("{{reviewer}}"), expect![""]);
    told("object-in-prompt", &output("Result: {{reviewer.verdict}}"), expect![""]);
}

#[test]
fn a_question_that_asks_nothing_is_told() {
    let flow = "version: '0.1'\nnodes:\n  ok: { type: human, prompt: '  ', writes: output.answer }\n";
    super::support::expect(
        trefoil_check::RuleGroup::Form,
        "sirenspec",
        &[("a.yaml", flow)],
        expect![[r#"
            3:30 warning empty-prompt: `ok` asks an empty question
              | ok: { type: human, prompt: '  ', writes: output.ans
              |                            ^^^^
              help: write the question
        "#]],
    );
}

#[test]
fn a_step_that_is_skipped_whenever_its_reader_runs() {
    let two = |when: &str, own: &str| {
        format!(
            "id: p\nkind: sequential\ninputSchema: {{ plan: string, team: string }}\nsteps:\n  - ref: writer\n    when: \"{when}\"\n  - ref: reviewer\n    when: \"{own}\"\n    input: {{ draft: \"{{{{writer}}}}\" }}\n"
        )
    };
    told(
        "maybe-undefined",
        &two("{{plan}} == free", "{{plan}} != free"),
        expect![[r#"
        9:24 warning maybe-undefined: `writer` is always null here: its step is skipped whenever this one runs
          | input: { draft: "{{writer}}" }
          |                    ^^^^^^
          help: its step runs only if `{{plan}} == free`, and this one only if `{{plan}} != free`
    "#]],
    );
    told(
        "maybe-undefined",
        &two("{{plan}} == free", "{{plan}} == team && {{team}} != a"),
        expect![[r#"
        9:24 warning maybe-undefined: `writer` is always null here: its step is skipped whenever this one runs
          | input: { draft: "{{writer}}" }
          |                    ^^^^^^
          help: its step runs only if `{{plan}} == free`, and this one only if `{{plan}} == team && {{team}} != a`
    "#]],
    );
    // Another input implies nothing about it.
    told(
        "maybe-undefined",
        &two("{{plan}} == free", "{{team}} != free"),
        expect![[r#"
        9:24 info maybe-undefined: `writer` has no value if its step is skipped (it runs only when `{{plan}} == free`)
          | input: { draft: "{{writer}}" }
          |                    ^^^^^^
          help: guard it with `{{#if writer}}`
    "#]],
    );
}
