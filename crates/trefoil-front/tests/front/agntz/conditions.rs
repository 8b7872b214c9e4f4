//! Conditions that always come to the same, and what runs under conditions that exclude each other.

use expect_test::expect;

use super::support::{MODEL, changes, check_one, silent, when};

#[test]
fn a_side_of_a_condition_that_reads_nothing_is_always_the_same() {
    check_one(
        &when("{{plan}} == free || team"),
        expect![[r#"
            warning 7:32 constant-condition: `team` by itself is always true (write a comparison on each side: `{{plan}} == team`)
        "#]],
    );
    check_one(
        &when("{{n}} > 3 && 5"),
        expect![[r#"
            warning 7:25 constant-condition: `5` by itself is always true (write a comparison on each side: `{{n}} > 5`)
        "#]],
    );
    check_one(
        &when("{{plan}} == free || ok"),
        expect![[r#"
            warning 7:32 constant-condition: `ok` by itself is always true (write a name in braces: `{{ok}}`)
        "#]],
    );
    check_one(
        &when("{{plan}} != free || {{plan}} != team"),
        expect![[r#"
            warning 7:14 constant-condition: this condition is always true: `plan` is never `free` and `team` at once (use `&&` instead of `||` if it must be neither)
        "#]],
    );
    check_one(
        &when("{{plan}} != free || {{plan}} == free"),
        expect![[r#"
            warning 7:14 constant-condition: this condition is always true: `plan` is `free`, or it is not (remove one of the two)
        "#]],
    );
    for right in
        ["{{plan}} != free && {{plan}} != team", "{{plan}} != free || {{q}} != team", "{{plan}} == 'free || team'"]
    {
        silent(&when(right), "constant-condition");
    }
    check_one(
        &when("'{{q}}' == 'hello'"),
        expect![[r#"
            warning 7:12 constant-condition: `'{{q}}'` is text, because of the quotes: the condition is always the same (remove the quotes around `{{q}}`) {fix: "{{q}}"}
        "#]],
    );
    assert_eq!(changes(&[("p.yaml", &when("'{{q}}' == 'hello'"))]).sure, ["{{q}}"]);
}

#[test]
fn steps_that_exclude_each_other_read_nothing_of_each_other() {
    let two = |second: &str| {
        format!(
            "{}  - agent: {{ id: c, kind: llm, {MODEL}, instruction: Hi., prompt: \"{{{{x}}}}\" }}\n    when: \"{second}\"\n    input: {{ x: \"{{{{b}}}}\" }}\n",
            when("{{plan}} == free")
        )
    };
    check_one(
        &two("{{plan}} != free"),
        expect![[r#"
            warning 10:20 maybe-undefined: `b` is always null here: its step is skipped whenever this one runs (its step runs only if `{{plan}} == free`, and this one only if `{{plan}} != free`)
        "#]],
    );
    check_one(
        &two("{{plan}} == team"),
        expect![[r#"
            warning 10:20 maybe-undefined: `b` is always null here: its step is skipped whenever this one runs (its step runs only if `{{plan}} == free`, and this one only if `{{plan}} == team`)
        "#]],
    );
    check_one(&two("{{q}} != free"), expect![""]);
}

#[test]
fn one_pass_repeats_nothing() {
    let pipeline = |max: u32| {
        format!("id: p\nkind: sequential\nuntil: \"{{{{c}}}} == ok\"\nmaxIterations: {max}\nsteps: [ {{ ref: c }} ]\n")
    };
    check_one(
        &pipeline(1),
        expect![[r#"
            warning 4:16 no-effect: with `maxIterations: 1` the steps run once, and the run fails if `until` is still false
            error 5:17 unknown-reference: no manifest in this folder has the id `c` (this folder has no other manifest)
        "#]],
    );
    silent(&pipeline(2), "no-effect");
}
