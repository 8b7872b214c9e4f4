//! Misspelt names: what is suggested, and what is fixed automatically.

use expect_test::expect;

use super::support::{MODEL, changes, check_one};

#[test]
fn a_right_reader_stays_as_long_as_its_reference_is_wrong() {
    let pipeline = "id: p\nkind: sequential\nsteps:\n  - ref: kb_serch\noutput: { r: \"{{kbSearch}}\" }\n";
    let child = format!("id: kb-search\nkind: llm\n{MODEL}\ninstruction: Hi.\nprompt: Hi.\n");
    let sure = changes(&[("p.yaml", pipeline), ("k.yaml", &child)]).sure;
    assert!(!sure.iter().any(|text| text.contains("kb_serch")), "{sure:?}");
}

#[test]
fn steps_without_a_name_are_not_offered() {
    let manifest = "id: p\nkind: sequential\ninputSchema: { q: string }\nsteps:\n  - agent: kb-search\noutput: { r: \"{{kbSearch}}\" }\n";
    // There is a `q`, but no `step 1`.
    check_one(
        manifest,
        expect![[r#"
            error 5:12 wrong-type: `agent` must be a mapping, not text (to call another manifest write `ref: kb-search`) {maybe: 5:5 "ref"}
            error 6:17 unresolved-name: `kbSearch` is not defined here (available: `q`)
        "#]],
    );
}

#[test]
fn a_name_that_stands_nowhere_else_is_not_spread() {
    let agent = |schema: &str, rest: &str| {
        format!("id: a\nkind: llm\n{MODEL}\ninputSchema: {schema}\ninstruction: Hi.\nprompt: \"{rest}\"\n")
    };
    assert_eq!(changes(&[("a.yaml", &agent("{ tir: string }", "{{tier}}"))]).sure, [""; 0]);
    assert_eq!(changes(&[("a.yaml", &agent("{ ticket: string }", "{{ticket}} and {{tickt}}"))]).sure, ["ticket"]);
    assert_eq!(changes(&[("a.yaml", &agent("{ ticket: string }", "The ticket: {{tickt}}"))]).sure, ["ticket"]);
    let schema = |required: &str, rest: &str| {
        format!(
            "{{ type: object, properties: {{ advce: {{ type: string }} }}, required: [{required}] }}\noutputSchema: {{ x: {rest} }}"
        )
    };
    let agent = |schema: &str| format!("id: a\nkind: llm\n{MODEL}\ninstruction: Hi.\ninputSchema: {schema}\n");
    assert_eq!(changes(&[("a.yaml", &agent(&schema("advice", "string")))]).sure, [""; 0]);
}

#[test]
fn a_part_of_an_answer_is_named_with_its_step() {
    let pipeline = format!(
        "id: p\nkind: parallel\ninputSchema: {{ text: string }}\nbranches:\n  - agent: {{ id: scan, kind: llm, {MODEL}, instruction: Hi., prompt: \"{{{{userQuery}}}}\", outputSchema: {{ risks: string }} }}\n    input: {{ userQuery: \"{{{{text}}}}\" }}\noutput: {{ risks: \"{{{{risks}}}}\" }}\n"
    );
    check_one(
        &pipeline,
        expect![[r#"
            error 7:21 unresolved-name: `risks` is not defined here (did you mean `scan.risks`? available: `text`, `scan`) {maybe: "scan.risks"}
        "#]],
    );
    let offered = changes(&[("p.yaml", &pipeline)]);
    assert_eq!(offered.sure, [""; 0]);
    assert_eq!(offered.perhaps, ["scan.risks"]);
}
