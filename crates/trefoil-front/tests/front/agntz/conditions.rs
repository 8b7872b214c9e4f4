//! What runs under conditions that exclude each other, and loops of one pass.

use expect_test::expect;

use super::support::{MODEL, check_one, silent, when};

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
