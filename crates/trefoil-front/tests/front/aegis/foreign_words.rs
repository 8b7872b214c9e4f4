//! Words of other systems: other names for states, commands, conditions, keys and fields.

use expect_test::{Expect, expect};

use super::support::{END, agent, check, check_one, of_workflow, offered, with_goal, workflow};

#[test]
fn a_word_for_the_end_is_no_state_misspelt() {
    for (word, expected) in [
        (
            "END",
            expect![[r#"
                warning 7:54 missing-key: a transition without `condition` is always taken, so the ones after it never are (add a `condition`, or move it to the end) [7:82 never reached]
                error 7:62 unknown-reference: unknown state `END` (there is no built-in end state; point to a state with `transitions: []`)
            "#]],
        ),
        (
            "end",
            expect![[r#"
                warning 7:54 missing-key: a transition without `condition` is always taken, so the ones after it never are (add a `condition`, or move it to the end) [7:82 never reached]
                error 7:62 unknown-reference: unknown state `end` (there is no built-in end state; point to a state with `transitions: []`)
            "#]],
        ),
        (
            "__end__",
            expect![[r#"
                warning 7:54 missing-key: a transition without `condition` is always taken, so the ones after it never are (add a `condition`, or move it to the end) [7:86 never reached]
                error 7:62 unknown-reference: unknown state `__end__` (there is no built-in end state; point to a state with `transitions: []`)
            "#]],
        ),
        (
            "STOP",
            expect![[r#"
                warning 7:54 missing-key: a transition without `condition` is always taken, so the ones after it never are (add a `condition`, or move it to the end) [7:83 never reached]
                error 7:62 unknown-reference: unknown state `STOP` (there is no built-in end state; point to a state with `transitions: []`)
            "#]],
        ),
        (
            "Done",
            expect![[r#"
                warning 7:54 missing-key: a transition without `condition` is always taken, so the ones after it never are (add a `condition`, or move it to the end) [7:83 never reached]
                error 7:62 unknown-reference: unknown state `Done` (there is no built-in end state; point to a state with `transitions: []`)
            "#]],
        ),
    ] {
        let manifest = workflow(&format!(
            "    A: {{ kind: Human, prompt: Well?, transitions: [{{ target: {word} }}, {{ condition: input_equals_no, target: SEND }}] }}\n    SEND: {{ kind: System, command: echo }}\n"
        ));
        check_one(&manifest, expected);
        assert_eq!(offered(&manifest), [""; 0], "{word}");
    }
    let near = workflow(&format!("    A: {{ kind: Human, prompt: Well?, transitions: [{{ target: end }}] }}\n{END}"));
    assert_eq!(offered(&near), ["END"]);
}

#[test]
fn commands_that_somebody_else_invented_or_no_shell_can_read() {
    let run = |command: &str| workflow(&format!("    A:\n      kind: System\n      command: {command}\n"));
    for (word, expected) in [
        (
            "set_blackboard",
            expect![[r#"
                warning 9:16 unknown-reference: `set_blackboard` is not a built-in command, so the shell will look for a program with this name (did you mean `update_blackboard`?) {maybe: "update_blackboard"}
            "#]],
        ),
        (
            "blackboard_set",
            expect![[r#"
                warning 9:16 unknown-reference: `blackboard_set` is not a built-in command, so the shell will look for a program with this name (did you mean `update_blackboard`?) {maybe: "update_blackboard"}
            "#]],
        ),
        (
            "blackboard.update",
            expect![[r#"
                warning 9:16 unknown-reference: `blackboard.update` is not a built-in command, so the shell will look for a program with this name (did you mean `update_blackboard`?) {maybe: "update_blackboard"}
            "#]],
        ),
        (
            "update_context",
            expect![[r#"
                warning 9:16 unknown-reference: `update_context` is not a built-in command, so the shell will look for a program with this name (did you mean `update_blackboard`?) {maybe: "update_blackboard"}
            "#]],
        ),
    ] {
        check_one(&run(word), expected);
    }
    check_one(&run("blackboard-tool --set"), expect![""]);
    check_one(
        &run("echo 'Dropped"),
        expect![[r#"
            warning 9:16 command-syntax: a `'` is never closed (close it, or write `\` before a literal one; the shell rejects the command)
        "#]],
    );
    check_one(
        &run("'grep \"x file'"),
        expect![[r#"
            warning 9:16 command-syntax: a `"` is never closed (close it, or write `\` before a literal one; the shell rejects the command)
        "#]],
    );
    for fine in ["echo it\\'s # don't", "'grep \"x\" file'", "|\n        cat <<END\n        it's\n        END"] {
        check_one(&run(fine), expect![""]);
    }
}

#[test]
fn a_condition_as_a_key() {
    let manifest = workflow(&format!(
        "    A: {{ kind: Human, prompt: Well?, transitions: [{{ on_success: TELL }}] }}\n    TELL: {{ kind: Human, prompt: Well, transitions: [{{ target: END }}] }}\n{END}"
    ));
    check_one(
        &manifest,
        expect![[r#"
            error 7:54 missing-key: `on_success` is a condition, but it is used as a key (write `condition: on_success` and `target: TELL`)
        "#]],
    );
    assert_eq!(offered(&manifest), [""; 0]);
}

#[test]
fn conditions_that_other_systems_call_otherwise() {
    of_workflow(
        "    A:
      kind: System
      command: make
      transitions: [{ condition: exit_non_zero, target: END }, { condition: error, target: END }, { condition: 5, target: END }]
",
        expect![[r#"
            error 10:34 unknown-value: `condition` cannot be `exit_non_zero` (did you mean `exit_code_non_zero`?) {maybe: "exit_code_non_zero"}
            error 10:77 unknown-value: `condition` cannot be `error` (did you mean `on_failure`?) {maybe: "on_failure"}
            error 10:112 wrong-type: `condition` must be text, not a number (available: `always`, `on_success`, `on_failure`, `exit_code_zero`, `exit_code_non_zero`, `exit_code`, `score_above`, `score_below`, `score_between`, `confidence_above`, `score_and_confidence_above`, `consensus`, `all_approved`, `any_rejected`, `input_equals`, `input_equals_yes`, `input_equals_no`, `approved`, `rejected`, `custom`)
        "#]],
    );
    of_workflow(
        "    A:
      kind: Agent
      agent: x
      transitions:
        - { condition: score_between, min: 0.9, max: 0.1, target: END }
        - { target: END }
        - { condition: exit_code_zero, target: END }
",
        expect![[r#"
            warning 9:14 unknown-reference: no agent in this folder is named `x` (only the embedded model can stand in for it; for any other model, add its manifest to the folder)
            error 11:44 out-of-range: `min` 0.9 is above `max` 0.1 [11:54 the upper bound]
            warning 12:13 missing-key: a transition without `condition` is always taken, so the ones after it never are (add a `condition`, or move it to the end) [13:24 never reached]
            warning 13:24 redundant: for an agent, `exit_code_zero` is the same as `on_success` (write `condition: on_success`)
        "#]],
    );
    of_workflow(
        "    A:
      kind: Human
      prompt: Well?
      default_response: later
      transitions: [{ condition: input_equals_yes, target: END }, { condition: on_failure, target: END }]
",
        expect![""],
    );
}

#[test]
fn names_that_stand_for_others() {
    let asked = |text: &str| {
        workflow(&format!(
            "    A: {{ kind: Agent, agent: a, transitions: [{{ target: DONE }}] }}\n    DONE: {{ kind: Human, prompt: '{text}', transitions: [{{ target: END }}] }}\n{END}"
        ))
        .replace("spec:\n", "spec:\n  context: { colour: red }\n")
    };
    let telling = agent("a", "");
    let of = |text: &str, expected: Expect| check(&[("w.yaml", &asked(text)), ("a.yaml", &telling)], expected);
    for (field, expected) in [
        (
            "text",
            expect![[r#"
                warning w.yaml 9:39 unknown-property: `A` has no `text` (write `A.output` for the answer)
            "#]],
        ),
        (
            "stdout",
            expect![[r#"
                warning w.yaml 9:39 unknown-property: `A` has no `stdout` (write `A.output` for the answer)
            "#]],
        ),
        (
            "result",
            expect![[r#"
                warning w.yaml 9:39 unknown-property: `A` has no `result` (write `A.output` for the answer)
            "#]],
        ),
    ] {
        of(&format!("{{{{A.{field}}}}}"), expected);
    }
    of(
        "{{A.title}}",
        expect![[r#"
            warning w.yaml 9:39 unknown-property: `A` has no `title` (write `A.output.title` for a field of the answer)
        "#]],
    );
    of(
        "{{workflow.context.tone}}",
        expect![[r#"
            warning w.yaml 9:37 unresolved-name: nothing in this manifest defines `tone` (defined: `colour`; if the start input has `tone`, declare it in `input_schema`)
        "#]],
    );
    let prompt = telling.replace(
        "instruction: Work.",
        "instruction: Work., prompt_template: '{{instruction}} {{input}} {{last_error}}'",
    );
    check_one(
        &prompt,
        expect![[r#"
            warning 6:77 unresolved-name: a prompt has no `last_error`, so it is always empty (did you mean `previous_error`?) {maybe: "previous_error"}
        "#]],
    );
}

#[test]
fn names_of_two_words_and_of_one_letter() {
    with_goal(
        "    A: { kind: Human, prompt: '{{execution_id}} {{g}}', transitions: [{ target: END }] }\n",
        expect![[r#"
            warning 9:34 unresolved-name: nothing in this manifest defines `execution_id` (did you mean `execution.id`?) {maybe: "execution.id"}
            warning 9:51 unresolved-name: neither the context, the input nor a state defines `g`
        "#]],
    );
}

#[test]
fn keys_that_are_called_otherwise() {
    check_one(
        &workflow(&format!(
            "    A: {{ kind: System, command: update_blackboard, env: {{ blackboard.k: v }}, transitions: [{{ target: END }}] }}\n{END}"
        )),
        expect![[r#"
            warning 7:59 state-key: this writes a key named `blackboard.k`, not `k` (write `k`: keys of `env` are keys of the Blackboard)
        "#]],
    );
}
