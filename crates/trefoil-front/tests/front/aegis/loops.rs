//! Patterns that never match.

use expect_test::expect;

use super::support::{agent, check_one};

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
