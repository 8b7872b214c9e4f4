//! Loops, limits and ends: what is never reached, and what never ends.

use expect_test::expect;

use super::support::{END, agent, check, check_one, with_goal, workflow, workflow_with_goal};

#[test]
fn a_loop_that_only_a_failure_ends() {
    let asked = |a: &str, b: &str| {
        workflow(&format!(
            "    A: {{ kind: Human, prompt: Well?, transitions: [{{ condition: on_success, target: {a} }}, {{ condition: on_failure, target: END }}] }}
    B: {{ kind: Human, prompt: Well?, transitions: [{{ target: {b} }}, {{ condition: on_failure, target: END }}] }}\n{END}"
        ))
    };
    check_one(
        &asked("A", "END"),
        expect![[r#"
            warning 7:85 endless-loop: unless something fails, the run loops through `A` until a limit ends it (only a failure leads out, so a limit of visits ends the run; lead on from here when all went well)
        "#]],
    );
    check_one(
        &asked("B", "A"),
        expect![[r#"
            warning 8:62 endless-loop: unless something fails, the run loops through `A` until a limit ends it (only a failure leads out, so a limit of visits ends the run; lead on from here when all went well)
        "#]],
    );
    check_one(&asked("B", "END"), expect![""]);
    // The exit code of a command is a result as good as any.
    check_one(
        &workflow(&format!(
            "    A: {{ kind: System, command: make, transitions: [{{ condition: on_success, target: A }}, {{ condition: on_failure, target: END }}] }}\n{END}"
        )),
        expect![""],
    );
}

#[test]
fn feedback_into_a_loop_that_nothing_reads() {
    let looped = |input: &str| {
        format!(
            "    A: {{ kind: Agent, agent: '{{{{input.goal}}}}', input: '{input}', transitions: [{{ condition: on_failure, target: A, feedback: Again. }}, {{ target: END, feedback: Well done. }}] }}\n"
        )
    };
    with_goal(
        &looped("x"),
        expect![[r#"
            info 9:120 no-effect: `A` does not read `state.feedback`, so it repeats without seeing this feedback (write `{{state.feedback}}` in the `input` of `A`)
        "#]],
    );
    with_goal(&looped("x {{state.feedback}}"), expect![""]);
}

#[test]
fn limits_that_no_run_keeps() {
    let limited = |total: u32, visits: u32| {
        workflow_with_goal(&format!(
            "    A: {{ kind: Human, prompt: Well?, max_state_visits: {visits}, transitions: [{{ condition: input_equals_yes, target: B }}, {{ target: A }}] }}
    B: {{ kind: System, command: echo b, transitions: [{{ target: END }}] }}
{END}"
        ))
        .replace("spec:\n", &format!("spec:\n  max_total_transitions: {total}\n"))
    };
    check_one(
        &limited(2, 1),
        expect![[r#"
            warning 7:26 endless-loop: no run can reach an end: the shortest path has 3 states (allow at least that many)
            warning 10:56 endless-loop: transitions lead back to `A`, but its second visit fails the run (allow at least 2 visits)
        "#]],
    );
    check_one(&limited(3, 2), expect![""]);
}

#[test]
fn limits_that_are_never_reached_or_always() {
    check_one(
        &agent("a", "  execution: { iteration_timeout: 60ms }\n"),
        expect![[r#"
            warning 7:35 out-of-range: `iteration_timeout` is 60 ms; hardly any model answers in that time (`s` means seconds, `m` minutes and `ms` milliseconds)
        "#]],
    );
    check_one(
        &agent("a", "  execution: { iteration_timeout: 60m }\n  security: { resources: { timeout: 5m } }\n"),
        expect![[r#"
            warning 7:35 no-effect: `iteration_timeout` is never reached: `security.resources.timeout` ends all iterations after 300 s
        "#]],
    );
    check_one(
        &agent("a", "  execution: { iteration_timeout: 60s, llm_timeout_seconds: 45000 }\n"),
        expect![[r#"
            warning 7:61 no-effect: `llm_timeout_seconds` is never reached: an iteration ends after 60 s [7:35 limited here]
        "#]],
    );
    check_one(&agent("a", "  execution: { iteration_timeout: 60s, llm_timeout_seconds: 45 }\n"), expect![""]);
}

#[test]
fn patterns_that_nothing_is_found_by() {
    let validated = |more: &str| {
        agent("a", &format!("  execution: {{ mode: iterative, validation: [{{ type: regex, {more} }}] }}\n"))
    };
    for (more, expected) in [
        (
            "pattern: done, target: stderr",
            expect![[r#"
                warning 7:70 invalid-regex: `pattern` never matches: a model call has no stderr (write `target: stdout` to match the agent's answer)
            "#]],
        ),
        (
            "pattern: '/^[a-z]+$/i'",
            expect![[r#"
                warning 7:70 invalid-regex: `pattern` never matches: its slashes are literal, and `^` cannot follow one (remove the slashes; write flags at the start, as in `(?i)`)
            "#]],
        ),
        (
            "pattern: '$^[a-z]'",
            expect![[r#"
                warning 7:70 invalid-regex: `pattern` never matches: nothing comes after the end (`^` is the start, `$` is the end)
            "#]],
        ),
        ("pattern: '^$', target: stderr", expect![""]),
        ("pattern: '/usr/bin'", expect![""]),
        ("pattern: '^[a-z]$'", expect![""]),
    ] {
        check_one(&validated(more), expected);
    }
}

#[test]
fn a_failure_that_is_an_outcome_leaves_a_loop() {
    let looped = workflow(&format!(
        "    A: {{ kind: Agent, agent: b, input: x, transitions: [{{ condition: on_failure, target: END }}, {{ target: A }}] }}\n{END}"
    ));
    let found = |more: &str, expected| check(&[("w.yaml", &looped), ("b.yaml", &agent("b", more))], expected);
    found(
        "",
        expect![[r#"
        warning w.yaml 7:107 endless-loop: unless something fails, the run loops through `A` until a limit ends it (only a failure leads out, so a limit of visits ends the run; lead on from here when all went well)
    "#]],
    );
    found("  execution: { mode: iterative, validation: [{ type: regex, pattern: done }] }\n", expect![""]);
}

#[test]
fn feedback_that_another_state_reads_is_gone_by_then() {
    with_goal(
        "    A: { kind: Agent, agent: '{{input.goal}}', input: x, transitions: [{ condition: on_failure, target: A, feedback: Again. }, { target: B }] }
    B: { kind: Agent, agent: '{{input.goal}}', input: '{{state.feedback}}', transitions: [{ condition: on_failure, target: B, feedback: Once more. }, { target: END }] }
",
        expect![[r#"
            info 9:118 no-effect: `A` does not read `state.feedback`, so it repeats without seeing this feedback (write `{{state.feedback}}` in the `input` of `A`)
        "#]],
    );
}
