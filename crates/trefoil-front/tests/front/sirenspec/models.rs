//! Models and their makers, and times in another unit.

use expect_test::{Expect, expect};

use super::support::{check_one, flow};

#[test]
fn models_with_something_in_their_names() {
    check_one(
        "version: \"0.1\"\nagents: {a: {model: \"openai: gpt-4o\", system: x}}\nnodes: {n: {agent: a, writes: output.n}}\n",
        expect![[r#"
            warning 2:21 bad-model: a model name cannot contain spaces or quotes: `openai: gpt-4o` {maybe: 2:22 "openai:gpt-4o"}
        "#]],
    );
    check_one(
        "version: \"0.1\"\nagents: {a: {model: \"openai:gpt-4o,\", system: x}}\nnodes: {n: {agent: a, writes: output.n}}\n",
        expect![[r#"
            warning 2:21 bad-model: a model name cannot end with a comma or semicolon: `openai:gpt-4o,` {maybe: 2:22 "openai:gpt-4o"}
        "#]],
    );
    let swarm = |model: &str| {
        format!(
            "version: \"0.1\"\nnodes: {{n: {{type: swrm, agents: [{{id: x, provider: ollama, model: \"{model}\", prompt: p}}]}}}}\n"
        )
    };
    check_one(
        &swarm("ollama:llama3.2"),
        expect![[r#"
            warning 2:67 bad-model: `model` must not contain the provider `ollama`: it goes in `provider` (write `llama3.2`) {fix: 2:68 "llama3.2"}
        "#]],
    );
    check_one(
        &swarm("openai:gpt-4o"),
        expect![[r#"
            warning 2:67 bad-model: `model` must not contain the provider `openai`: it goes in `provider` (write `gpt-4o`) {fix: 2:68 "gpt-4o"}
        "#]],
    );
    check_one(&swarm("llama3.2:1b"), expect![""]);
    check_one(&swarm("meta/llama"), expect![""]);
}

#[test]
fn models_of_another_maker() {
    let agent = |model: &str| {
        format!(
            "version: \"0.1\"\nagents: {{a: {{model: \"{model}\", system: x}}}}\nnodes: {{n: {{agent: a, writes: output.n}}}}\n"
        )
    };
    check_one(
        &agent("anthropic:gpt-4o"),
        expect![[r#"
            warning 2:21 bad-model: `gpt-4o` is a model of `openai`, not of `anthropic` (write `openai:gpt-4o`) {maybe: 2:22 "openai:gpt-4o"}
        "#]],
    );
    check_one(
        &agent("openai:openai:gpt-4o"),
        expect![[r#"
            warning 2:21 bad-model: `openai:openai:gpt-4o` names the provider twice {fix: 2:22 "openai:gpt-4o"}
        "#]],
    );
    check_one(&agent("openai:o3-mini"), expect![""]);
}

#[track_caller]
fn swarm(agent: &str, expected: Expect) {
    let body = format!(
        "nodes:\n  n: {{type: swrm, agents: [{{id: x, {agent}, prompt: p}}]}}\n  m: {{agent: a, writes: output.m}}\n"
    );
    check_one(&flow("s", &body), expected);
}

#[test]
fn a_swarm_s_model_of_another_maker() {
    swarm(
        "provider: anthropic, model: gpt-4o-mini",
        expect![[r#"
            warning 4:64 bad-model: `gpt-4o-mini` is a model of `openai`, not of `anthropic` (write `provider: openai`) [4:46 the provider] {maybe: 4:46 "openai"}
        "#]],
    );
    swarm(
        "provider: \"openai:gpt-4o\"",
        expect![[r#"
            error 4:46 unknown-provider: `provider` must be the name of the provider, without a model (write two keys: `provider: openai` and `model: gpt-4o`)
        "#]],
    );
    swarm("provider: openai, model: gpt-4o", expect![""]);
    swarm("provider: ollama, model: gpt-oss", expect![""]);
}
