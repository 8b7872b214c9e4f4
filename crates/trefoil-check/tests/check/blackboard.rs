//! Types of the Blackboard: constants of the context, keys that states write, outputs that a child declares.

use expect_test::{Expect, expect};

use super::support::{check as found, hold, is_of, shown};

/// A workflow whose first state has these transitions; `more` goes before `spec`, `states` after the first state.
fn workflow(metadata: &str, context: &str, transitions: &str, states: &str) -> String {
    format!(
        "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata: {{ name: w, version: '1'{metadata} }}\nspec:\n  context: {context}\n  initial_state: A\n  states:\n    A:\n      kind: System\n      command: make a\n      transitions:\n{transitions}        - {{ target: END }}\n{states}    END: {{ kind: System, command: echo end }}\n"
    )
}

fn custom(expression: &str) -> String {
    format!("        - {{ condition: custom, expression: \"{expression}\", target: END }}\n")
}

/// The findings about comparisons in files of which the first is checked.
#[track_caller]
fn compared(files: &[(&str, &str)], expected: Expect) {
    let (project, all) = found(Some("aegis"), files);
    let ours = ["never-true", "always-true", "text-as-number", "score-gap", "property-of-text", "unknown-property"];
    hold(&expected, &shown(&project, all.iter().filter(|d| ours.iter().any(|rule| is_of(d, rule)))));
}

const CONTEXT: &str =
    "{ site: north dome, nights: 2, open: true, size: { rooms: 3 }, names: [a, b], code: '7', note: '' }";

#[test]
fn constants_of_the_context_have_types() {
    for expression in [
        "{{workflow.context.site > 10}}",
        "{{workflow.context.nights == 'two'}}",
        "{{workflow.context.site == false}}",
        "{{workflow.context.open}} == 'yes'",
        "blackboard.nights == 'two'",
        "site >= 3",
        "{{workflow.context.size.rooms}} == 'many'",
        "workflow.context.names == 'a'",
    ] {
        let manifest = workflow("", CONTEXT, &custom(expression), "");
        let (_, all) = found(Some("aegis"), &[("w.yaml", &manifest)]);
        let line = |d: &trefoil_syntax::Diagnostic| manifest[..d.span.unwrap().start as usize].lines().count();
        let told = all.iter().filter(|d| ["never-true", "text-as-number"].contains(&d.rule)).map(line);
        assert_eq!(told.collect::<Vec<_>>(), [12], "{expression}: {all:#?}");
    }
    // The kind is known, not the value: a run may start with another one.
    for expression in [
        "{{workflow.context.site == 'south dome'}}",
        "{{workflow.context.nights > 10}}",
        "{{workflow.context.open == false}}",
        "{{workflow.context.code > 3}}",
        "{{workflow.context.note > 3}}",
        "{{workflow.context.size.rooms}} == 4",
    ] {
        compared(&[("w.yaml", &workflow("", CONTEXT, &custom(expression), ""))], expect![""]);
    }
}

#[test]
fn a_constant_that_may_be_overwritten_has_the_types_of_all_writers() {
    let site = custom("workflow.context.site > 10");
    let taken = ", input_schema: { type: object, properties: { site: { type: integer } } }";
    compared(&[("w.yaml", &workflow(taken, CONTEXT, &site, ""))], expect![""]);
    let other = taken.replace("integer", "string");
    compared(
        &[("w.yaml", &workflow(&other, CONTEXT, &site, ""))],
        expect![[r#"
            12:45 warning text-as-number: `workflow.context.site` is declared as text but compared as a number
              | - { condition: custom, expression: "workflow.context.site > 10", target: END
              |                                     ^^^^^^^^^^^^^^^^^^^^^
              help: declare it as a number; text that does not read as a number makes the comparison false
        "#]],
    );
    let written = |value: &str| {
        format!(
            "    SET:\n      kind: System\n      command: update_blackboard\n      env: {{ site: {value} }}\n      transitions: [{{ target: END }}]\n"
        )
    };
    let to_set = site + "        - { condition: on_failure, target: SET }\n";
    for value in ["\"{{A.output}}\"", "12", "'12'"] {
        compared(&[("w.yaml", &workflow("", CONTEXT, &to_set, &written(value)))], expect![""]);
    }
    compared(
        &[("w.yaml", &workflow("", CONTEXT, &to_set, &written("south dome")))],
        expect![[r#"
            12:45 warning text-as-number: `workflow.context.site` is declared as text but compared as a number
              | - { condition: custom, expression: "workflow.context.site > 10", target: END
              |                                     ^^^^^^^^^^^^^^^^^^^^^
              help: declare it as a number; text that does not read as a number makes the comparison false
        "#]],
    );
}

#[test]
fn keys_that_only_states_write_have_types() {
    let states = "    SET:\n      kind: System\n      command: update_blackboard\n      env: { mood: calm, tries: 3 }\n      transitions:\n        - { condition: custom, expression: \"blackboard.mood > 4\", target: END }\n        - { condition: custom, expression: \"{{blackboard.tries}} == 'three'\", target: END }\n        - { condition: custom, expression: \"{{blackboard.tries}} == 4\", target: END }\n        - { target: END }\n";
    let manifest = workflow("", "{ a: 1 }", "        - { condition: on_failure, target: SET }\n", states);
    compared(
        &[("w.yaml", &manifest)],
        expect![[r#"
            19:45 warning text-as-number: `blackboard.mood` never reads as a number, so this can never be true
              | - { condition: custom, expression: "blackboard.mood > 4", target: END }
              |                                     ^^^^^^^^^^^^^^^
              help: compare words with `==`; only numbers, and text that reads as a number, can be ordered
            20:47 warning never-true: this comparison can never be true: `blackboard.tries` is a number, and `three` is text
              | - { condition: custom, expression: "{{blackboard.tries}} == 'three'", targ
              |                                       ^^^^^^^^^^^^^^^^
        "#]],
    );
}

#[test]
fn outputs_that_a_child_declares_have_types() {
    let child = "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata:\n  name: child\n  version: '1'\n  output_schema: { type: object, properties: { total: { type: integer }, mood: { type: string } } }\n  output_template: { total: \"{{COUNT.output}}\", mood: \"{{COUNT.stderr}}\" }\nspec:\n  initial_state: COUNT\n  states:\n    COUNT: { kind: System, command: make count }\n";
    let parent = |expression: &str| {
        let states = format!(
            "    CALL:\n      kind: Subworkflow\n      workflow_id: child\n      result_key: found\n      transitions:\n        - {{ condition: custom, expression: \"{expression}\", target: END }}\n        - {{ target: END }}\n"
        );
        workflow("", "{ a: 1 }", "        - { condition: on_failure, target: CALL }\n", &states)
    };
    for expression in [
        "workflow.context.found.total == 'many'",
        "{{CALL.output.total == 'many'}}",
        "{{CALL.total}} == 'many'",
        "blackboard.found.mood > 3",
        "CALL.output.mood == true",
    ] {
        let files = [("w.yaml", &*parent(expression)), ("child.yaml", child)];
        let (_, all) = found(Some("aegis"), &files);
        let told: Vec<_> = all.iter().filter(|d| ["never-true", "text-as-number"].contains(&d.rule)).collect();
        assert_eq!(told.len(), 1, "{expression}: {all:#?}");
    }
    for expression in ["workflow.context.found.total > 3", "CALL.output.mood == 'calm'"] {
        compared(&[("w.yaml", &*parent(expression)), ("child.yaml", child)], expect![""]);
    }
}

/// An agent whose answer has a `mood`.
const MOODY: &str = "apiVersion: 100monkeys.ai/v1\nkind: Agent\nmetadata: { name: moody, version: '1' }\nspec:\n  runtime: { model: smart }\n  task: { instruction: Answer. }\n  execution:\n    mode: iterative\n    validation:\n      - { type: json_schema, schema: { type: object, required: [mood, list], properties: { mood: { type: string, enum: [calm, wild] }, list: { type: array } } } }\n";

#[test]
fn words_that_steps_write_are_all_that_a_key_may_be() {
    let manifest = |word: &str| {
        format!(
            "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata: {{ name: w }}\nspec:\n  initial_state: START\n  states:\n    START: {{ kind: System, command: update_blackboard, env: {{ mood: calm }}, transitions: [{{ target: ASK }}] }}\n    ASK: {{ kind: Agent, agent: moody, input: x, transitions: [{{ target: NOTE }}] }}\n    NOTE:\n      kind: System\n      command: update_blackboard\n      env: {{ mood: \"{{{{ASK.output.mood}}}}\" }}\n      transitions: [{{ condition: custom, expression: \"{{{{blackboard.mood == '{word}'}}}}\", target: END }}, {{ target: ASK }}]\n    END: {{ kind: System, command: echo end }}\n"
        )
    };
    compared(
        &[("w.yaml", &manifest("sad")), ("moody.yaml", MOODY)],
        expect![[r#"
        13:57 warning never-true: this comparison can never be true: `blackboard.mood` is one of `calm`, `wild`
          | ...s: [{ condition: custom, expression: "{{blackboard.mood == 'sad'}}", target
          |                                            ^^^^^^^^^^^^^^^
    "#]],
    );
    compared(&[("w.yaml", &manifest("wild")), ("moody.yaml", MOODY)], expect![""]);
}

#[test]
fn the_output_of_a_called_workflow_keeps_the_words_and_the_kinds_of_what_it_prints() {
    let child = "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata:\n  name: child\n  output_schema: { type: object, properties: { mood: { type: string }, list: { type: array } } }\n  output_template: { mood: '{{ASK.output.mood}}', list: '{{json ASK.output.list}}' }\nspec:\n  initial_state: ASK\n  states:\n    ASK: { kind: Agent, agent: moody, input: x }\n";
    let calls = |condition: &str| {
        format!(
            "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata: {{ name: w }}\nspec:\n  initial_state: A\n  states:\n    A: {{ kind: Subworkflow, workflow_id: child, mode: blocking, result_key: r, transitions: [{{ condition: custom, expression: \"{{{{{condition}}}}}\", target: END }}, {{ target: END }}] }}\n    END: {{ kind: System, command: echo end }}\n"
        )
    };
    let told = |condition: &str, expected: Expect| {
        compared(&[("w.yaml", &calls(condition)), ("child.yaml", child), ("moody.yaml", MOODY)], expected);
    };
    told(
        "r.mood == 'sad'",
        expect![[r#"
            7:130 warning never-true: this comparison can never be true: `r.mood` is one of `calm`, `wild`, empty text
              | ...s: [{ condition: custom, expression: "{{r.mood == 'sad'}}", target
              |                                            ^^^^^^
        "#]],
    );
    told("r.mood == 'wild'", expect![""]);
    told(
        "r.list > 3",
        expect![[r#"
        7:130 warning never-true: this comparison can never be true: `r.list` is a list, which cannot be ordered
          | ...s: [{ condition: custom, expression: "{{r.list > 3}}", target: END
          |                                            ^^^^^^
    "#]],
    );
    told("(length r.list) > 3", expect![""]);
}

#[test]
fn what_a_container_returns_and_what_echo_prints_is_known() {
    let state = |body: &str, condition: &str| {
        format!(
            "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata: {{ name: w }}\nspec:\n  initial_state: A\n  states:\n    A: {{ kind: {body}, transitions: [{{ condition: custom, expression: \"{{{{{condition}}}}}\", target: END }}, {{ target: END }}] }}\n    END: {{ kind: System, command: echo end }}\n"
        )
    };
    let steps = "ParallelContainerRun, completion: all_succeed, steps: [{ name: one, image: i, command: [c] }]";
    compared(
        &[("w.yaml", &state(steps, "A.output.one.exit_code == 'ok'"))],
        expect![[r#"
        7:161 warning never-true: this comparison can never be true: `A.output.one.exit_code` is a number, and `ok` is text
          | ...s: [{ condition: custom, expression: "{{A.output.one.exit_code == 'ok'}}", target:
          |                                            ^^^^^^^^^^^^^^^^^^^^^^
    "#]],
    );
    compared(&[("w.yaml", &state(steps, "A.output.one.exit_code == 0"))], expect![""]);
    compared(
        &[("w.yaml", &state("System, command: echo done", "A.output.words"))],
        expect![[r#"
        7:103 warning property-of-text: `A.output` is text, so `A.output.words` is always empty
          | ...dition: custom, expression: "{{A.output.words}}", target: END },
          |                                            ^^^^^
          help: remove the rest of the path, or make the value an object
    "#]],
    );
    compared(&[("w.yaml", &state("System, command: ./done", "A.output.words"))], expect![""]);
}
