//! What rules see in pipelines of steps that loading does not.

use super::support::{check, line};

/// An agent whose answer is checked, and one whose answer is any text.
const REVIEWER: &str = "id: reviewer\nkind: llm\nmodel: { provider: openai, name: gpt-5.4 }\ninputSchema: { draft: string, tone: { type: string, enum: [formal, plain], default: plain } }\ninstruction: Review in a {{tone}} tone.\nprompt: \"{{draft}}\"\noutputSchema: { verdict: { type: string, enum: [ok, bad] }, score: { type: integer, min: 1 }, note: string }\n";
const WRITER: &str =
    "id: writer\nkind: llm\nmodel: { provider: openai, name: gpt-5.4 }\ninstruction: Write.\nprompt: Write.\n";

#[track_caller]
fn told(rule: &str, pipeline: &str, lines: &[&str]) {
    let files = [("p.yaml", pipeline), ("reviewer.yaml", REVIEWER), ("writer.yaml", WRITER)];
    let (project, all) = check(Some("agntz"), &files);
    let errors: Vec<_> = all.iter().filter(|d| d.severity == trefoil_syntax::Severity::Error).collect();
    assert!(errors.is_empty(), "{errors:#?}");
    let mut found: Vec<String> = all.iter().filter(|d| d.rule == rule).map(|d| line(&project, d)).collect();
    found.sort();
    assert_eq!(found, lines);
}

#[test]
fn what_is_always_there_ends_a_loop_after_one_pass() {
    let until = |until: &str| {
        format!(
            "id: p\nkind: sequential\nuntil: \"{until}\"\nmaxIterations: 3\nsteps:\n  - ref: writer\n  - ref: reviewer\n    input: {{ draft: \"{{{{writer}}}}\", tone: plain }}\n"
        )
    };
    for (condition, message) in [
        ("{{reviewer}}", "warning 3:11 `reviewer` is always true here: it is always there, and never empty"),
        (
            "{{reviewer.verdict}}",
            "warning 3:11 `reviewer.verdict` is always true here: it is always there, and never empty",
        ),
        (
            "{{reviewer.score}}",
            "warning 3:11 `reviewer.score` is always true here: it is always there, and never empty",
        ),
        (
            "{{reviewer}} != null",
            "warning 3:11 this comparison is always true: `reviewer` is always there here, and never null",
        ),
        (
            "{{writer}} != null",
            "warning 3:11 this comparison is always true: `writer` is always there here, and never null",
        ),
        (
            "{{reviewer.note}} == null",
            "warning 3:11 this comparison can never be true: `reviewer.note` is always there here, and never null",
        ),
        (
            "{{reviewer}} && {{reviewer.score}} > 3",
            "warning 3:11 `reviewer` is always true here: it is always there, and never empty",
        ),
    ] {
        told("never-true", &until(condition), &[message]);
    }
    // Text may be empty.
    for condition in ["{{writer}}", "{{reviewer.note}}", "{{reviewer.verdict}} == ok"] {
        told("never-true", &until(condition), &[]);
    }
    // A step that is skipped leaves null; one that comes later has not run in the first pass.
    let skipped = until("{{reviewer}}") + "    when: \"{{writer}}\"\n";
    told("never-true", &skipped, &[]);
    let later =
        until("{{reviewer.verdict}} == ok").replace("- ref: writer\n", "- ref: writer\n    when: \"{{reviewer}}\"\n");
    told("never-true", &later, &[]);
}

#[test]
fn text_around_a_placeholder_is_none_of_the_choices() {
    let tone = |tone: &str| {
        format!(
            "id: p\nkind: sequential\ninputSchema: {{ lang: string }}\nsteps:\n  - ref: reviewer\n    input: {{ draft: \"{{{{lang}}}}\", tone: \"{tone}\" }}\n"
        )
    };
    let found = |why: &str| {
        format!("warning 6:39 `tone` of `reviewer` does not take this: it is one of `formal`, `plain`, and this {why}")
    };
    told("wrong-input-type", &tone("tone: {{lang}}"), &[&found("begins with `tone: `")]);
    told("wrong-input-type", &tone("{{lang}} "), &[&found("ends with ` `")]);
    told("wrong-input-type", &tone("for{{lang}}"), &[]);
    told("wrong-input-type", &tone("{{lang}}in"), &[]);
    told("wrong-input-type", &tone("{{lang}}{{lang}}"), &[]);
    told("wrong-input-type", &tone("{{#if lang}}x{{/if}}plain"), &[]);
}

#[test]
fn an_object_among_other_text_of_an_output_is_printed() {
    let output = |output: &str| {
        format!(
            "id: p\nkind: sequential\nsteps:\n  - ref: reviewer\n    input: {{ draft: Hi, tone: plain }}\noutput: {{ text: \"{output}\" }}\n"
        )
    };
    let found = ["info 6:28 `reviewer` is an object and is printed as JSON"];
    told("object-in-prompt", &output("Result: {{reviewer}}"), &found);
    told("object-in-prompt", &output("{{reviewer}}"), &[]);
    told("object-in-prompt", &output("Result: {{reviewer.verdict}}"), &[]);
}

#[test]
fn a_question_that_asks_nothing_is_told() {
    let flow = "version: '0.1'\nnodes:\n  ok: { type: human, prompt: '  ', writes: output.answer }\n";
    let empty = ["empty-prompt warning 3:30 the question of `ok` is empty"];
    super::support::expect(trefoil_check::Group::Form, "sirenspec", &[("a.yaml", flow)], &empty);
}
