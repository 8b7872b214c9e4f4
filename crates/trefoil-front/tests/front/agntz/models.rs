//! Models: names, makers and timeouts.

use expect_test::expect;

use super::support::{MODEL, check, check_one, silent};

#[test]
fn a_model_has_one_maker() {
    let model = |provider: &str, name: &str| {
        format!("id: a\nkind: llm\ninstruction: Hi.\nmodel:\n  provider: {provider}\n  name: {name}\n")
    };
    for (provider, name, says) in [
        (
            "anthropic",
            "gpt-5.4",
            expect![[r#"
                warning 5:13 bad-model: `gpt-5.4` is a model of `openai`, not of `anthropic` (write `provider: openai`, or choose a model of this provider) [6:9 the model] {maybe: "openai"}
            "#]],
        ),
        (
            "openai",
            "openai/gpt-5.4",
            expect![[r#"
                warning 6:9 bad-model: `name` must not contain the provider `openai`: it goes in `provider` {maybe: "gpt-5.4"}
            "#]],
        ),
        (
            "openai",
            "\"gpt 5.4\"",
            expect![[r#"
                warning 6:9 bad-model: a model name cannot contain spaces: `gpt 5.4`
            "#]],
        ),
        (
            "openai",
            "\"{{m}}\"",
            expect![[r#"
                warning 6:9 bad-model: `{{m}}` is not a model name: templates have no effect in `model` (write the name of a model; use `--model` to choose another one for a run)
            "#]],
        ),
        ("openrouter", "anthropic/claude-sonnet-5", expect![""]),
        ("mistral", "codestral-latest", expect![""]),
        ("azure", "gpt-5.4", expect![""]),
    ] {
        check(&[("agent.yaml", &model(provider, name))], says);
    }
}

#[test]
fn a_model_is_one_that_answers() {
    let agent = |provider: &str, name: &str| {
        format!("id: a\nkind: llm\nmodel: {{ provider: {provider}, name: {name} }}\ninstruction: Hi.\nprompt: Hi.\n")
    };
    for (provider, name, expected) in [
        (
            "openai",
            "text-embedding-3-small",
            expect![[r#"
                warning 3:34 bad-model: `text-embedding-3-small` is an embedding model and cannot answer prompts (`kind: llm` needs a text model)
            "#]],
        ),
        (
            "openai",
            "gpt-image-1",
            expect![[r#"
                warning 3:34 bad-model: `gpt-image-1` is an image model and cannot answer prompts (`kind: llm` needs a text model)
            "#]],
        ),
        (
            "openai",
            "gpt-4o-transcribe",
            expect![[r#"
                warning 3:34 bad-model: `gpt-4o-transcribe` is a speech-to-text model and cannot answer prompts (`kind: llm` needs a text model)
            "#]],
        ),
        (
            "openai",
            "whisper-1",
            expect![[r#"
                warning 3:34 bad-model: `whisper-1` is a speech-to-text model and cannot answer prompts (`kind: llm` needs a text model)
            "#]],
        ),
        (
            "openai",
            "your-model-here",
            expect![[r#"
                warning 3:34 bad-model: `your-model-here` is a placeholder, not a model name (write the name of the model to call)
            "#]],
        ),
        (
            "openai",
            "gtp-5.4",
            expect![[r#"
                warning 3:34 bad-model: `gtp-5.4` does not look like a model of `openai` (did you mean `gpt-5.4`?) {maybe: "gpt-5.4"}
            "#]],
        ),
        (
            "anthropic",
            "claude-sonet-5",
            expect![[r#"
                warning 3:37 bad-model: `claude-sonet-5` does not look like a model of `anthropic` (did you mean `claude-sonnet-5`?) {maybe: "claude-sonnet-5"}
            "#]],
        ),
        (
            "anthropic",
            "cluade-sonnet-5",
            expect![[r#"
                warning 3:37 bad-model: `cluade-sonnet-5` does not look like a model of `anthropic` (did you mean `claude-sonnet-5`?) {maybe: "claude-sonnet-5"}
            "#]],
        ),
    ] {
        check_one(&agent(provider, name), expected);
    }
    for (provider, name) in [
        ("ollama", "gpt-5.4:my-finetune"),
        ("azure", "whisper-notes"),
        ("openai", "gpt-5.4"),
        ("openai", "o3-mini"),
        ("openai", "codex-mini-latest"),
        ("openai", "chatgpt-4o-latest"),
        ("anthropic", "claude-3-5-sonnet-20241022"),
        ("anthropic", "claude-instant-1"),
        ("google", "gemma-3-27b"),
        ("mistral", "ministral-8b-latest"),
        ("mistral", "codestral-latest"),
        ("ollama", "gpt-oss:20b"),
        ("ollama", "llama3"),
    ] {
        silent(&agent(provider, name), "bad-model");
    }
    check_one(
        "id: i\nkind: image\nmodel: { provider: openai, name: gpt-5.4 }\nprompt: A cat.\n",
        expect![[r#"
            warning 2:7 refused: `kind: image` is not supported yet: a run that can reach it does not start (create images outside the workflow)
            warning 3:34 bad-model: `gpt-5.4` is a text model; `kind: image` needs another kind of model
        "#]],
    );
    check_one(
        "id: i\nkind: image\nmodel: { provider: openai, name: gpt-image-1 }\nprompt: A cat.\n",
        expect![[r#"
            warning 2:7 refused: `kind: image` is not supported yet: a run that can reach it does not start (create images outside the workflow)
        "#]],
    );
}

#[test]
fn steps_of_the_model_are_spoken_of_by_what_the_agent_is() {
    check_one(
        "id: p\nkind: sequential\nmaxSteps: 8\nsteps: [ { ref: c } ]\n",
        expect![[r#"
            warning 3:1 no-effect: `maxSteps` has no effect: it is a key of `kind: llm`
            error 4:17 unknown-reference: no manifest in this folder has the id `c` (this folder has no other manifest)
        "#]],
    );
    check_one(
        &format!("id: a\nkind: llm\n{MODEL}\ninstruction: Hi.\nmaxSteps: 8\n"),
        expect![[r#"
            warning 5:1 no-effect: `maxSteps` has no effect: an agent without tools makes one model call
        "#]],
    );
    check_one(
        &format!(
            "id: a\nkind: llm\n{MODEL}\ninstruction: Hi.\nmaxSteps: 8\ntools: [ {{ kind: local, tools: [x] }} ]\n"
        ),
        expect![""],
    );
}

#[test]
fn what_ended_the_line_elsewhere_is_no_part_of_a_name() {
    let model =
        |name: &str| format!("id: a\nkind: llm\ninstruction: Hi.\nmodel:\n  provider: openai\n  name: {name}\n");
    check_one(
        &model("\"gpt-5.4 \""),
        expect![[r#"
            warning 6:9 bad-model: a model name cannot contain spaces: `gpt-5.4 ` {maybe: 6:10 "gpt-5.4"}
        "#]],
    );
    check_one(
        &model("gpt-5.4,"),
        expect![[r#"
            warning 6:9 bad-model: a model name cannot end with a comma or semicolon: `gpt-5.4,` {maybe: "gpt-5.4"}
        "#]],
    );
    check_one(&model("gpt-5.4-mini"), expect![""]);
}

#[test]
fn what_every_provider_rejects_is_an_error() {
    let model = |temperature: &str| {
        format!(
            "id: a\nkind: llm\ninstruction: Hi.\nmodel: {{ provider: openai, name: gpt-5.4, temperature: {temperature} }}\n"
        )
    };
    check_one(
        &model("7"),
        expect![[r#"
        error 4:56 out-of-range: `temperature` must be from 0 to 2, not 7: every provider rejects it
    "#]],
    );
    check_one(&model("2"), expect![""]);
}

#[test]
fn an_empty_prompt_is_none() {
    let agent = |prompt: &str| format!("id: a\nkind: llm\n{MODEL}\ninstruction: Hi.\n{prompt}");
    check_one(
        &agent("prompt: \"\"\n"),
        expect![[r#"
        warning 5:9 no-effect: `prompt` has no effect: it is empty (write the prompt, or remove the key to send the input as it is)
    "#]],
    );
    check_one(&agent(""), expect![""]);
}
