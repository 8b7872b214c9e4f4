//! Slips of people who know other systems, told where they are; and what looks like one and is none.

use super::support::expect;

fn agent(rest: &str) -> String {
    format!(
        "id: a\nkind: llm\ninputSchema: {{ topic: string, kind: string, price: number }}\nmodel: {{ provider: openai, name: gpt-5.4 }}\n{rest}"
    )
}

#[track_caller]
fn says(rest: &str, expected: &str) {
    expect(&[("agent.yaml", &agent(rest))], expected);
}

#[test]
fn a_name_in_other_brackets_is_no_placeholder() {
    says(
        "instruction: \"About {topic}, ${topic} and {% if topic %}.\"\n",
        r#"
            warning 5:21 not-a-placeholder: `{topic}` is text, and `topic` is not read: a placeholder has two braces on both sides
            warning 5:30 not-a-placeholder: `${topic}` is text, and `topic` is not read: a placeholder has two braces on both sides
            warning 5:43 not-a-placeholder: `{% if topic %}` is text, and `topic` is not read (the only block is `{{#if path}}...{{/if}}`, with two braces)
        "#,
    );
    says(
        "instruction: \"Fill in {name}, ${HOME}, {price: 3} and [topic].\"\nprompt: \"{{topic}}{{kind}}{{price}}\"\n",
        "",
    );
}

#[test]
fn a_comparison_stands_in_its_tag() {
    says(
        "instruction: \"{{#if kind}} == 'a'}}x{{/if}}\"\nprompt: \"{{#if topic}}= x{{/if}}\"\n",
        "warning 5:28 not-a-placeholder: `==` after the tag is text, and compares nothing (put the comparison into the tag: `{{#if path == literal}}`)",
    );
}

#[test]
fn a_sign_before_a_whole_placeholder_is_of_another_system_unless_it_is_a_currency() {
    let pipeline = |input: &str| {
        format!(
            "id: p\nkind: sequential\ninputSchema: {{ topic: string, unitPrice: number }}\nsteps:\n  - agent: {{ id: b, kind: llm, model: {{ provider: openai, name: gpt-5.4 }}, instruction: Hi., prompt: \"{{{{x}}}}\" }}\n    input: {{ x: {input} }}\n"
        )
    };
    expect(
        &[("agent.yaml", &pipeline("\"${{topic}}\""))],
        "warning 6:18 not-a-placeholder: the `$` is no part of the placeholder: it stays in the text",
    );
    expect(&[("agent.yaml", &pipeline("\"${{unitPrice}}\""))], "");
    expect(
        &[("agent.yaml", &pipeline("topic"))],
        "warning 6:17 not-a-placeholder: `topic` is text here, and its value is not read",
    );
    expect(&[("agent.yaml", &pipeline("some topic"))], "");
}

#[test]
fn names_have_nothing_before_them() {
    says(
        "instruction: \"{{input.topic}} {{process.env.X}} {{environment.X}}\"\n",
        r#"
            error 5:17 unresolved-name: `input` is not defined here (write `topic` instead of `input.topic`: names have no prefix here)
            error 5:33 unresolved-name: `process` is not defined here (write `env` instead of `process.env`: names have no prefix here)
            error 5:51 unresolved-name: `environment` is not defined here (write `env` instead of `environment`: names have no prefix here)
        "#,
    );
}

#[test]
fn an_agent_with_the_keys_of_another_kind_has_the_wrong_kind() {
    expect(
        &[("agent.yaml", "id: a\nkind: sequential\nmodel: { provider: openai, name: gpt-5.4 }\ninstruction: Hi.\n")],
        r#"
            error 2:7 missing-key: `kind: sequential` needs `steps`, and this has `instruction` (write `kind: llm`, or `steps` instead of `instruction`) [4:1 `kind: llm` has this]
            warning 4:1 no-effect: `instruction` has no effect: it is a key of `kind: llm`
        "#,
    );
}

#[test]
fn a_model_has_one_maker() {
    let model = |provider: &str, name: &str| {
        format!("id: a\nkind: llm\ninstruction: Hi.\nmodel:\n  provider: {provider}\n  name: {name}\n")
    };
    for (provider, name, says) in [
        (
            "anthropic",
            "gpt-5.4",
            "warning 5:13 bad-model: `gpt-5.4` is a model of `openai`, not of `anthropic` (write `provider: openai`, or the name of one of its own models) [6:9 the model]",
        ),
        (
            "openai",
            "openai/gpt-5.4",
            "warning 6:9 bad-model: `name` is the name alone, without `openai`: the provider goes in `provider`",
        ),
        ("openai", "\"gpt 5.4\"", "warning 6:9 bad-model: `gpt 5.4` has a blank in it, and no model's name has"),
        (
            "openai",
            "\"{{m}}\"",
            "warning 6:9 bad-model: `{{m}}` is no template here: the model is fixed (write the model's name; a run can call another one with `--model`)",
        ),
        ("openrouter", "anthropic/claude-sonnet-5", ""),
        ("mistral", "codestral-latest", ""),
        (
            "azure",
            "gpt-5.4",
            "warning 5:13 unknown-provider: this version cannot call `azure` (choose another model when you run it (`--model provider:name`), or in the manifest)",
        ),
    ] {
        expect(&[("agent.yaml", &model(provider, name))], says);
    }
}
