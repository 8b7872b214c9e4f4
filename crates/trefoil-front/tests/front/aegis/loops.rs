//! Limits that are always reached, patterns that never match, and feedback that nothing reads.

use expect_test::expect;

use super::support::{agent, check_one, with_goal};

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
            info 9:120 unused: `A` does not read `state.feedback`, so it repeats without seeing this feedback (write `{{state.feedback}}` in the `input` of `A`)
        "#]],
    );
    with_goal(&looped("x {{state.feedback}}"), expect![""]);
}

#[test]
fn limits_that_are_always_reached() {
    check_one(
        &agent("a", "  execution: { iteration_timeout: 60ms }\n"),
        expect![[r#"
            warning 7:35 unlikely-timeout: `iteration_timeout` is 60 ms; hardly any model answers in that time (`s` means seconds, `m` minutes and `ms` milliseconds)
        "#]],
    );
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
                warning 7:70 invalid-regex: `pattern` never matches: `^` follows `$` (`^` is the start, `$` is the end)
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
fn feedback_that_another_state_reads_is_gone_by_then() {
    with_goal(
        "    A: { kind: Agent, agent: '{{input.goal}}', input: x, transitions: [{ condition: on_failure, target: A, feedback: Again. }, { target: B }] }
    B: { kind: Agent, agent: '{{input.goal}}', input: '{{state.feedback}}', transitions: [{ condition: on_failure, target: B, feedback: Once more. }, { target: END }] }
",
        expect![[r#"
            info 9:118 unused: `A` does not read `state.feedback`, so it repeats without seeing this feedback (write `{{state.feedback}}` in the `input` of `A`)
        "#]],
    );
}
