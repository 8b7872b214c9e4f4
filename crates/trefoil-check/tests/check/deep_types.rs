//! Types below the top level: items of lists, values of objects, keys of objects.

use expect_test::expect;

use super::support::of_rule;

fn pass(held: &str, wanted: &str) -> String {
    format!(
        "id: a\nkind: sequential\ninputSchema: {{ type: object, properties: {{ given: {held} }}, required: [given] }}\n\
         steps:\n  - agent:\n      id: q\n      kind: llm\n      model: {{ provider: openai, name: m }}\n      \
         inputSchema: {{ type: object, properties: {{ taken: {wanted} }}, required: [taken] }}\n      \
         instruction: Use {{{{taken}}}}.\n    input: {{ taken: \"{{{{given}}}}\" }}\noutput: {{ r: \"{{{{q}}}}\" }}\n"
    )
}

#[test]
fn what_a_list_or_object_holds_is_compared_with_what_the_callee_takes() {
    const PERSON: &str = "{ type: object, properties: { name: { type: string } }, required: [name] }";
    let list = |of: &str| format!("{{ type: array, items: {of} }}");
    let text = "{ type: string }";
    let manifest = pass(&list(text), &list(PERSON));
    of_rule(
        "wrong-input-type",
        "agntz",
        &[("m.yaml", &manifest)],
        expect![[r#"
        11:24 warning wrong-input-type: `taken` of `q` does not accept this value: an item must be an object, not text
          | input: { taken: "{{given}}" }
          |                    ^^^^^
          at 9:50: declared here
    "#]],
    );
    let manifest = pass(&list(&list("{ type: number }")), &list(&list(text)));
    of_rule(
        "wrong-input-type",
        "agntz",
        &[("m.yaml", &manifest)],
        expect![[r#"
        11:24 warning wrong-input-type: `taken` of `q` does not accept this value: an item of an item must be text, not a number
          | input: { taken: "{{given}}" }
          |                    ^^^^^
          at 9:50: declared here
    "#]],
    );
    let closed = "{ type: object, properties: { title: { type: string } }, additionalProperties: false }";
    let manifest = pass(closed, PERSON);
    of_rule(
        "wrong-input-type",
        "agntz",
        &[("m.yaml", &manifest)],
        expect![[r#"
        11:24 warning wrong-input-type: `taken` of `q` does not accept this value: it has no `name`, which is required
          | input: { taken: "{{given}}" }
          |                    ^^^^^
          at 9:50: declared here
    "#]],
    );
    // An undeclared type may match.
    for (held, wanted) in [
        ("{ type: array }", list(text)),
        (&*list("{ type: string, enum: [a, b] }"), list(text)),
        (&*list("{ type: [string, \"null\"] }"), list(text)),
        ("{ type: object, properties: { title: { type: string } } }", PERSON.to_owned()),
        (&*list("{ type: integer }"), list("{ type: number }")),
    ] {
        let manifest = pass(held, &wanted);
        of_rule("wrong-input-type", "agntz", &[("m.yaml", &manifest)], expect![""]);
    }
}

#[test]
fn the_items_of_a_loop_over_an_object_are_its_values() {
    let manifest = r#"apiVersion: 100monkeys.ai/v1
kind: Workflow
metadata:
  name: w
  version: "1.0.0"
  input_schema:
    type: object
    required: [notes, named, mixed]
    properties:
      notes: { type: object, additionalProperties: { type: string } }
      named: { type: object, properties: { a: { type: string }, b: { type: string } } }
      mixed: { type: object, properties: { a: { type: string }, b: { type: object } } }
spec:
  initial_state: B
  states:
    B:
      kind: Human
      prompt: |
        {{#each input.notes}}{{this.title}}{{/each}}
        {{#each input.named as |value key|}}{{key}} {{value.title}}{{/each}}
        {{#each input.mixed}}{{this.title}}{{/each}}
"#;
    of_rule(
        "unknown-property",
        "aegis",
        &[("m.yaml", manifest)],
        expect![[r#"
        19:37 warning unknown-property: the item is text, so it has no `title`
          | {{#each input.notes}}{{this.title}}{{/each}}
          |                             ^^^^^
        20:61 warning unknown-property: the item is text, so it has no `title`
          | ...t.named as |value key|}}{{key}} {{value.title}}{{/each}}
          |                                            ^^^^^
    "#]],
    );
}

#[test]
fn a_key_that_an_object_never_has_is_not_in_it() {
    let manifest = r#"version: "0.1"
agents:
  w: { model: "openai:m", system: Write. }
nodes:
  d: { agent: w, writes: working.plan }
  b: { agent: w, writes: output.x }
  c: { agent: w, writes: output.y }
  e: { agent: w, writes: output.z }
edges:
  - { from: d, to: b, when: "'plna' in working" }
  - { from: d, to: c, when: "'outptu' not in working.d" }
  - { from: d, to: e, when: "'plan' in working and 'word' in working.plan" }
input: { message: x }
"#;
    of_rule(
        "never-true",
        "sirenspec",
        &[("m.yaml", manifest)],
        expect![[r#"
            10:40 warning never-true: this comparison can never be true: `working` has no key `plna`
              | - { from: d, to: b, when: "'plna' in working" }
              |                                      ^^^^^^^
              help: did you mean `plan`? its keys are `d`, `plan`
              suggestion: write `plan`: 10:30 "'plan'"
            11:46 warning always-true: this comparison is always true: `working.d` has no key `outptu`
              | ... from: d, to: c, when: "'outptu' not in working.d" }
              |                                            ^^^^^^^^^
              help: did you mean `output`? its keys are `output`
              suggestion: write `output`: 11:30 "'output'"
        "#]],
    );
}

#[test]
fn the_answer_that_nobody_gives_is_tried_on_every_transition() {
    let manifest = |answer: &str, expression: &str| {
        format!(
            "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata: {{ name: w, version: \"1.0.0\" }}\nspec:\n  \
             initial_state: ASK\n  states:\n    ASK:\n      kind: Human\n      prompt: Well?\n      timeout: 10s\n      \
             default_response: {answer}\n      transitions:\n        - {{ condition: input_equals_yes, target: END }}\n        \
             - {{ condition: custom, expression: \"{expression}\", target: END }}\n    END:\n      kind: System\n      \
             command: \"echo done\"\n"
        )
    };
    let wrong = manifest("later", "{{ASK.response == 'no'}}");
    of_rule(
        "unknown-value",
        "aegis",
        &[("m.yaml", &wrong)],
        expect![[r#"
            11:25 warning unmatched-default: no transition of `ASK` matches `later`, so the run fails if nobody answers in time
              | default_response: later
              |                   ^^^^^
              help: add a transition for it, or one with `condition: always`
        "#]],
    );
    for (answer, expression) in [
        ("later", "{{ASK.response == 'later'}}"),
        ("later", "{{input.force == true}}"),
        ("yes", "{{ASK.response == 'no'}}"),
        ("later", "{{lower ASK.output}} != 'never'"),
    ] {
        of_rule("unknown-value", "aegis", &[("m.yaml", &manifest(answer, expression))], expect![""]);
    }
}
