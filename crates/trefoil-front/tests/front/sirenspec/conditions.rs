//! Conditions on edges: comparisons, and the words and operators of other languages.

use expect_test::{Expect, expect};

use super::support::{check_one, flow, offered};

#[test]
fn conditions_that_compare_by_identity() {
    let edge = |when: &str, expected: Expect| {
        let nodes = "nodes: {n: {agent: a, writes: working.n_text}, m: {agent: a, writes: output.m}}\nedges:\n";
        check_one(&flow("x", &format!("{nodes}  - {{from: n, to: m, when: {when}}}\n")), expected);
    };
    edge(
        "'working.n_text is \"x\"'",
        expect![[r#"
            warning 5:44 misleading-operator: `is` tests identity, and a literal is never identical to a value (use `==` to compare) {fix: "=="}
        "#]],
    );
    edge(
        "'working.n_text is not 3'",
        expect![[r#"
            warning 5:44 misleading-operator: `is` tests identity, and a literal is never identical to a value (use `!=` to compare) {fix: "!="}
        "#]],
    );
    edge("'working.n_text is not None'", expect![""]);
    edge(
        "",
        expect![[r#"
            warning 5:22 no-effect: `when` has no value, so it has no effect
        "#]],
    );
    edge("'working._budget.total_tokens < 5 and _budget.total_tokens < 5'", expect![""]);
    edge(
        "'working._budget.tokens < 5'",
        expect![[r#"
            error 5:45 unknown-property: `working._budget` has no `tokens` (its properties are `total_tokens`, `estimated_usd`)
        "#]],
    );
}

#[test]
fn a_condition_beside_an_edge_without_one() {
    let nodes = "nodes: {n: {agent: a, writes: working.i}, m: {agent: a, writes: output.m}}\nedges:\n";
    let edges = "  - {from: n, to: m}\n  - {from: n, to: m, when: 'working.i == \"x\"'}\n";
    check_one(
        &flow("x", &format!("{nodes}{edges}")),
        expect![[r#"
            warning 6:28 redundant: `when` has no effect: another edge from `n` to `m` has no condition (remove one of them) [5:5 this one is always taken]
        "#]],
    );
}

fn condition(when: &str) -> String {
    flow(
        "s",
        &format!(
            "nodes:\n  n: {{agent: a, writes: working.cat}}\n  m: {{agent: a, writes: output.m}}\nedges:\n  - from: n\n    to: m\n    when: '{when}'\n"
        ),
    )
}

/// The condition after the suggested change.
fn mended(when: &str) -> Vec<String> {
    let all = offered(&condition(when));
    all.iter().filter_map(|(text, _)| text.split("when: '").nth(1)?.split("'\n").next().map(str::to_owned)).collect()
}

#[test]
fn words_for_signs_do_not_run_into_what_stands_beside_them() {
    let one = |when: &str, meant: &str| assert_eq!(mended(when), [meant], "{when}");
    one(r#"working.cat == "a"||working.cat == "b""#, r#"working.cat == "a" or working.cat == "b""#);
    one(r#"working.cat == "a"&&(working.cat == "b")"#, r#"working.cat == "a" and (working.cat == "b")"#);
    one(r#"working.cat == "a" && working.cat != "b""#, r#"working.cat == "a" and working.cat != "b""#);
    one("!working.cat", "not working.cat");
    one("! working.cat", "not working.cat");
    one(r#"(!working.cat) or working.cat == "b""#, r#"(not working.cat) or working.cat == "b""#);
    one(r#"working.cat =! "a""#, r#"working.cat != "a""#);
    one(r#"working.cat = = "a""#, r#"working.cat == "a""#);
}

#[test]
fn signs_that_mean_something_else_are_not_mended() {
    for (when, expected) in [
        (
            r#"working.cat =~ "a""#,
            expect![[r#"
                error 9:24 condition-bad-operator: `=~` is not supported here (patterns are not supported; use `"word" in working.path` to find a word, and `!=` to compare values)
            "#]],
        ),
        (
            r#"working.cat ~= "a""#,
            expect![[r#"
                error 9:24 condition-bad-operator: `~=` is not supported here (patterns are not supported; use `"word" in working.path` to find a word, and `!=` to compare values)
            "#]],
        ),
        (
            r#"working.cat | lower == "a""#,
            expect![[r#"
                error 9:24 condition-bad-operator: `|` is not supported here (filters are not supported; values are compared as they are)
                error 9:26 condition-unknown-name: unknown name `lower` (put text in quotes; write `working.lower` for a value that a node wrote)
            "#]],
        ),
    ] {
        assert!(mended(when).is_empty(), "{when}: {:?}", mended(when));
        check_one(&condition(when), expected);
    }
    assert_eq!(mended(r#"working.cat == "a" | working.cat == "b""#), [r#"working.cat == "a" or working.cat == "b""#]);
}
