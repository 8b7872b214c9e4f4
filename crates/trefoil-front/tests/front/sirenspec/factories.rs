//! Factories, swarms and agents whose results are not used.

use expect_test::expect;

use super::support::{check_one, flow};

#[test]
fn a_factory_whose_instances_are_all_the_same() {
    let factory = |keys: &str, system: &str| {
        flow(system, &format!("nodes:\n  n: {{type: factory, for_each: '[1, 2]', writes: output.n, {keys}}}\n"))
    };
    check_one(
        &factory("agent: a, inputs: {task: item}", "s"),
        expect![[r#"
            warning 4:85 not-a-placeholder: `item` is text, so every instance gets this word {maybe: "\"{{ item }}\""}
        "#]],
    );
    check_one(
        &factory("agent: a, inputs: {task: go}", "s"),
        expect![[r#"
            warning 4:32 unused: every instance does the same work: nothing reads `item` (pass it to them: `inputs: {task: "{{ item }}"}`)
        "#]],
    );
    check_one(
        &factory("swrm: {agents: [{id: c, provider: openai, prompt: p}]}", "s")
            .replace("agents: {a: {model: \"openai:m\", system: \"s\"}}\n", "\n"),
        expect![[r#"
            warning 4:32 unused: every instance does the same work: nothing reads `item` (write `{{ item }}` in the prompts of its agents)
        "#]],
    );
    check_one(&factory("agent: a", "s"), expect![""]);
    check_one(&factory("agent: a, inputs: {task: go}", "Number {{ index }}"), expect![""]);
    let made = factory("agent: a, inputs: {task: go}", "Number {{ index }}").replace("'[1, 2]'", "'{{ inputs.list }}'");
    check_one(
        &format!("{made}input: {{message: m, list: [1]}}\n"),
        expect![[r#"
            warning 4:32 unused: the items of the list have no effect: nothing reads `item` (pass it to them: `inputs: {task: "{{ item }}"}`)
        "#]],
    );
    check_one(&factory("agent: a, inputs: {task: '{{ item }}'}", "s"), expect![""]);
}

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
fn answers_of_a_swarm_that_its_synthesis_does_not_get() {
    let swarm = |prompt: &str, last: &str| {
        flow(
            last,
            &format!(
                "nodes:\n  f:\n    type: swrm\n    agents:\n      - {{id: c, provider: openai, prompt: p}}\n      - {{id: d, provider: openai, prompt: p}}\n    synthesis: {{provider: openai, prompt: '{prompt}'}}\n  n: {{agent: a, writes: output.n}}\n"
            ),
        )
    };
    check_one(
        &swarm("Combine what the agents say", "s"),
        expect![[r#"
            warning 7:14 unused: the answer of `c` has no effect: nothing reads `f.agents.c.output` (write `{{ f.agents.c.output }}` in the prompt of the synthesis) [9:43 the synthesis gets only this]
            warning 8:14 unused: the answer of `d` has no effect: nothing reads `f.agents.d.output` (write `{{ f.agents.d.output }}` in the prompt of the synthesis) [9:43 the synthesis gets only this]
        "#]],
    );
    check_one(
        &swarm("Combine {{ f.agents.c.output }}", "s"),
        expect![[r#"
            warning 8:14 unused: the answer of `d` has no effect: nothing reads `f.agents.d.output` (write `{{ f.agents.d.output }}` in the prompt of the synthesis) [9:43 the synthesis gets only this]
        "#]],
    );
    check_one(&swarm("Combine {{ f.agents.c.output }}", "{{ f.agents.d.output }}"), expect![""]);
    check_one(&swarm("Combine {{ f.agents }}", "s"), expect![""]);
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
