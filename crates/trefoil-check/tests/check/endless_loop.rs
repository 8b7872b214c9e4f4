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
    let found = folder.check("w.yaml", &trefoil_check::RunCostLimits::default());
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

/// A chain of states, each with a way to an end after the first one.
fn chain(limit: &str, length: usize) -> String {
    let states: String = (0..length)
        .map(|at| {
            let last = at + 1 == length;
            let next = if last {
                String::new()
            } else {
                format!(", transitions: [{{ condition: exit_code_non_zero, target: STOP }}, {{ target: S{} }}]", at + 1)
            };
            format!("    S{at}: {{ kind: System, command: make{next} }}\n")
        })
        .collect();
    format!(
        "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata: {{ name: w, version: '1' }}\nspec:\n  initial_state: S0\n{limit}  states:\n{states}    STOP: {{ kind: System, command: echo }}\n"
    )
}

#[test]
fn a_state_beyond_the_limit_never_runs() {
    check(
        &chain("  max_total_transitions: 3\n", 5),
        expect![[r#"
        6:26 warning endless-loop: `S3` never runs: the shortest path to it has 4 states, the limit is 3
          | max_total_transitions: 3
          |                        ^
          at 11:5: this state
          at 12:5: nor does this one run
          help: set `max_total_transitions` to at least 5
    "#]],
    );
    check(&chain("  max_total_transitions: 5\n", 5), expect![""]);
    check(&chain("", 50), expect![""]);
    check(
        &chain("", 52),
        expect![[r#"
        57:5 warning endless-loop: `S50` never runs: the shortest path to it has 51 states, the default limit is 50
          | S50: { kind: System, co
          | ^^^
          at 58:5: nor does this one run
          help: set `max_total_transitions` to at least 52
    "#]],
    );
    check(
        &chain("", 102),
        expect![[r#"
        57:5 warning endless-loop: `S50` never runs: the shortest path to it has 51 states, the default limit is 50
          | S50: { kind: System, co
          | ^^^
          at 58:5: nor does this one run
          at 59:5: nor does this one run
          at 60:5: nor does this one run
          at 61:5: nor does this one run
          help: the highest `max_total_transitions` is 100: move some of the states to another workflow
    "#]],
    );
}

#[test]
fn a_visit_that_the_limits_exclude_is_never_counted() {
    let looped = |limit: &str, expression: &str| {
        workflow(&format!(
            "    A: {{ kind: System, command: make, {limit}transitions: [{{ condition: custom, expression: '{expression}', target: END }}, {{ target: B }}] }}\n    B: {{ kind: System, command: make, transitions: [{{ target: A }}] }}\n{END}"
        ))
    };
    let visits = |manifest: &str, expected: Expect| {
        let (project, all) = super::support::check(Some("aegis"), &[("w.yaml", manifest)]);
        let ours = all.iter().filter(|d| ["never-true", "always-true"].contains(&d.rule));
        hold(&expected, &super::support::shown(&project, ours));
    };
    visits(
        &looped("max_state_visits: 3, ", "iteration_number > 3"),
        expect![[r#"
        7:108 warning never-true: this comparison can never be true: `iteration_number` is from 1 to 3
          | ...ons: [{ condition: custom, expression: 'iteration_number > 3', target: END }
          |                                            ^^^^^^^^^^^^^^^^
          at 7:57: the limit
          help: compare with a number that is reached, or raise `max_state_visits`
    "#]],
    );
    visits(&looped("max_state_visits: 3, ", "iteration_number >= 3"), expect![""]);
    visits(
        &looped("", "{{iteration_number}} == 6"),
        expect![[r#"
        7:89 warning never-true: this comparison can never be true: `iteration_number` is from 1 to 5
          | ...s: [{ condition: custom, expression: '{{iteration_number}} == 6', target: EN
          |                                            ^^^^^^^^^^^^^^^^
          help: a run enters this state at most 5 times: see `max_state_visits` and `max_total_transitions`
    "#]],
    );
    visits(&looped("", "{{iteration_number}} == 5"), expect![""]);
    visits(
        &looped("max_state_visits: 20, ", "iteration_number < 21"),
        expect![[r#"
        7:109 warning always-true: this comparison is always true: `iteration_number` is from 1 to 6
          | ...ons: [{ condition: custom, expression: 'iteration_number < 21', target: END
          |                                            ^^^^^^^^^^^^^^^^
          help: a run enters this state at most 6 times: see `max_state_visits` and `max_total_transitions`
    "#]],
    );
    // The total limit decides: two states in each round.
    let total = looped("max_state_visits: 20, ", "iteration_number >= 8")
        .replace("spec:\n", "spec:\n  max_total_transitions: 10\n");
    visits(
        &total,
        expect![[r#"
        8:109 warning never-true: this comparison can never be true: `iteration_number` is from 1 to 5
          | ...ons: [{ condition: custom, expression: 'iteration_number >= 8', target: END
          |                                            ^^^^^^^^^^^^^^^^
          help: a run enters this state at most 5 times: see `max_state_visits` and `max_total_transitions`
    "#]],
    );
    visits(&total.replace(">= 8", ">= 5"), expect![""]);
    // Nothing leads back.
    let once = looped("", "iteration_number >= 2").replace("[{ target: A }]", "[{ target: END }]");
    visits(
        &once,
        expect![[r#"
        7:87 warning never-true: this comparison can never be true: `iteration_number` is always 1
          | ...ons: [{ condition: custom, expression: 'iteration_number >= 2', target: END
          |                                            ^^^^^^^^^^^^^^^^
          help: no transition leads back to this state, so it is entered only once
    "#]],
    );
}
