//! Loops with one pass.

use expect_test::expect;

use super::support::{check_one, silent};

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
