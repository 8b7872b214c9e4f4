//! Keys of factories, and agents that are not used.

use expect_test::expect;

use super::support::{check_one, flow};

#[test]
fn keys_of_a_factory_among_its_inputs() {
    let factory = |inputs: &str, more: &str| {
        flow(
            "s",
            &format!(
                "nodes:\n  n: {{type: factory, agent: a, for_each: '[1]', writes: output.n, inputs: {{task: '{{{{ item }}}}', {inputs}}}{more}}}\n"
            ),
        )
    };
    check_one(
        &factory("concurrency: 3", ""),
        expect![[r#"
            warning 4:96 no-effect: `concurrency` under `inputs` is an input of every instance, and the factory has no `concurrency` (align `concurrency` with `inputs` to make it a key of the factory)
        "#]],
    );
    check_one(&factory("concurrency: 3", ", concurrency: 2"), expect![""]);
    check_one(&factory("concurrency: high", ""), expect![""]);
}

#[test]
fn an_agent_that_nobody_uses() {
    let spare = |reads: &str, inputs: &str| {
        format!(
            "version: \"0.1\"\nagents: {{a: {{model: \"openai:m\", system: s}}, b: {{model: \"openai:m\", system: \"{reads}\"}}}}\nnodes:\n  n: {{type: factory, agent: a, for_each: '[1]', {inputs}writes: output.n}}\n"
        )
    };
    check_one(
        &spare("{{ inputs.anything }}", ""),
        expect![[r#"
            warning 2:45 unused: agent `b` is never used
        "#]],
    );
    check_one(
        &spare("{{ inputs.mesage }}", "inputs: {mesage: x}, "),
        expect![[r#"
            warning 2:45 unused: agent `b` is never used
        "#]],
    );
    check_one(
        &spare("{{ inputs.mesage }}", ""),
        expect![[r#"
            warning 2:45 unused: agent `b` is never used
            error 2:80 unresolved-name: `inputs.mesage` is not defined: `inputs` has no `mesage` (did you mean `inputs.message`?) {fix: 2:87 "message"}
        "#]],
    );
}
