//! States that only lead to each other, and limits that end a run too early.

use expect_test::{Expect, expect};

use super::support::{hold, of_rule};

const END: &str = "    END: { kind: System, command: echo }\n";

/// A workflow with these states, from `A` on.
fn workflow(states: &str) -> String {
    format!(
        "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata: {{ name: w, version: '1' }}\nspec:\n  initial_state: A\n  states:\n{states}"
    )
}

#[track_caller]
fn check(manifest: &str, expected: Expect) {
    of_rule("endless-loop", "aegis", &[("w.yaml", manifest)], expected);
}

#[test]
fn loops_are_welcome_but_one_without_an_end_is_a_warning() {
    let looped = workflow(
        "    A: { kind: System, command: echo, transitions: [{ target: B }] }
    B: { kind: System, command: echo, transitions: [{ target: A }] }\n",
    );
    check(
        &looped,
        expect![[r#"
        7:5 warning endless-loop: no transition leads from `A` to an end
          | A: { kind: System, co
          | ^
          at 8:5: nor from here
          help: the run fails when it reaches a visit limit; add a transition that leads out
    "#]],
    );
    let with_exit = looped
        .replace("[{ target: A }]", "[{ condition: custom, expression: input.stop, target: END }, { target: A }]");
    check(&(with_exit + END), expect![""]);
    // If there is only one state, its transition is the mistake.
    let own = workflow("    A: { kind: System, command: echo, transitions: [{ target: A }] }\n");
    check(
        &own,
        expect![[r#"
        7:63 warning endless-loop: no transition leads from `A` to an end
          | ... command: echo, transitions: [{ target: A }] }
          |                                            ^
          help: the run fails when it reaches a visit limit; add a transition that leads out
    "#]],
    );
}

#[test]
fn what_was_meant_to_lead_out_does() {
    // The target is a separate error, and the intended state is unknown.
    let lost = workflow(
        "    A: { kind: System, command: echo, transitions: [{ target: FINISHED }, { target: B }] }
    B: { kind: System, command: echo, transitions: [{ target: A }] }\n",
    );
    let folder = super::support::Folder::new(Some("aegis"), &[("w.yaml", &lost)]);
    let found = folder.check("w.yaml", &trefoil_check::Limits::default());
    assert!(found.iter().any(|d| d.rule == "unknown-reference"), "{found:#?}");
    hold(&expect![""], &super::support::shown(&folder.project, found.iter().filter(|d| d.rule == "endless-loop")));
}

#[test]
fn a_loop_that_only_a_failure_ends() {
    let asked = |a: &str, b: &str| {
        workflow(&format!(
            "    A: {{ kind: Human, prompt: Well?, transitions: [{{ condition: on_success, target: {a} }}, {{ condition: on_failure, target: END }}] }}
    B: {{ kind: Human, prompt: Well?, transitions: [{{ target: {b} }}, {{ condition: on_failure, target: END }}] }}\n{END}"
        ))
    };
    check(
        &asked("A", "END"),
        expect![[r#"
        7:85 warning endless-loop: unless something fails, the run loops through `A` until a limit ends it
          | ...ions: [{ condition: on_success, target: A }, { condition: on_
          |                                            ^
          help: only a failure leads out, so a visit limit ends the run; add a transition for success that leads out
    "#]],
    );
    check(
        &asked("B", "A"),
        expect![[r#"
        8:62 warning endless-loop: unless something fails, the run loops through `A` until a limit ends it
          | ... prompt: Well?, transitions: [{ target: A }, { condition: on_
          |                                            ^
          help: only a failure leads out, so a visit limit ends the run; add a transition for success that leads out
    "#]],
    );
    check(&asked("B", "END"), expect![""]);
    // The exit code of a command is a result like any other.
    check(
        &workflow(&format!(
            "    A: {{ kind: System, command: make, transitions: [{{ condition: on_success, target: A }}, {{ condition: on_failure, target: END }}] }}\n{END}"
        )),
        expect![""],
    );
    // The timeout of a person may be the intended end.
    let timed = asked("B", "A").replace("prompt: Well?,", "prompt: Well?, timeout: 60s,");
    check(&timed, expect![""]);
}

#[test]
fn a_failure_that_is_an_outcome_leaves_a_loop() {
    let looped = workflow(&format!(
        "    A: {{ kind: Agent, agent: b, input: x, transitions: [{{ condition: on_failure, target: END }}, {{ target: A }}] }}\n{END}"
    ));
    let found = |more: &str, expected| {
        let agent = format!(
            "apiVersion: 100monkeys.ai/v1\nkind: Agent\nmetadata: {{ name: b, version: '1' }}\nspec:\n  runtime: {{ model: smart }}\n  task: {{ instruction: Work. }}\n{more}"
        );
        of_rule("endless-loop", "aegis", &[("w.yaml", &looped), ("b.yaml", &agent)], expected);
    };
    found(
        "",
        expect![[r#"
        7:107 warning endless-loop: unless something fails, the run loops through `A` until a limit ends it
          | ...n: on_failure, target: END }, { target: A }] }
          |                                            ^
          help: only a failure leads out, so a visit limit ends the run; add a transition for success that leads out
    "#]],
    );
    found("  execution: { mode: iterative, validation: [{ type: regex, pattern: done }] }\n", expect![""]);
}

#[test]
fn limits_that_no_run_keeps() {
    let limited = |total: u32, visits: u32| {
        workflow(&format!(
            "    A: {{ kind: Human, prompt: Well?, max_state_visits: {visits}, transitions: [{{ condition: input_equals_yes, target: B }}, {{ target: A }}] }}
    B: {{ kind: System, command: echo b, transitions: [{{ target: END }}] }}
{END}"
        ))
        .replace("spec:\n", &format!("spec:\n  max_total_transitions: {total}\n"))
    };
    check(
        &limited(2, 1),
        expect![[r#"
        5:26 warning endless-loop: no run can reach an end: the shortest path has 3 states
          | max_total_transitions: 2
          |                        ^
          help: allow at least that many
        8:56 warning endless-loop: transitions lead back to `A`, but its second visit fails the run
          | ...Human, prompt: Well?, max_state_visits: 1, transitions: [{ co
          |                                            ^
          help: allow at least 2 visits
    "#]],
    );
    check(&limited(3, 2), expect![""]);
    // The number of states in a pipeline is fixed.
    let straight = "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata: { name: w, version: '1' }\nspec:\n  initial_state: A\n  max_total_transitions: 1\n  states:\n    - { name: A, kind: System, command: echo a }\n    - { name: B, kind: System, command: echo b }\n";
    check(
        straight,
        expect![[r#"
        6:26 warning endless-loop: no run can reach an end: the shortest path has 2 states
          | max_total_transitions: 1
          |                        ^
          help: allow at least that many
    "#]],
    );
}
