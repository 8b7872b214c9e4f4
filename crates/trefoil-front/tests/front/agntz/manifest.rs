//! The contents of one manifest, key by key.

use expect_test::expect;

use super::support::check_one;

#[test]
fn a_minimal_agent_loads() {
    check_one(
        r#"id: chatbot
kind: llm
model: { provider: openai, name: gpt-5.4 }
instruction: You are a friendly assistant.
"#,
        expect![""],
    );
}

#[test]
fn an_agent_is_a_mapping_with_id_and_kind() {
    check_one(
        r#"instruction: hi
"#,
        expect![[r#"
            error 1:1 missing-key: an agent needs `kind` (available: `llm`, `tool`, `sequential`, `parallel`, `transcription`, `image`)
            error 1:1 missing-key: an agent needs `id`
        "#]],
    );
}

#[test]
fn a_list_is_no_agent() {
    check_one(
        r#"- id: a
"#,
        expect![[r#"
            error 1:1 wrong-type: an agent must be a mapping, not a list
        "#]],
    );
}

#[test]
fn an_unknown_kind_gets_the_nearest() {
    check_one(
        r#"id: 5
kind: lmm
"#,
        expect![[r#"
            error 1:5 wrong-type: `id` must be text, not a number {fix: "\"5\""}
            error 2:7 unknown-value: `kind` cannot be `lmm` (did you mean `llm`? available: `llm`, `tool`, `sequential`, `parallel`, `transcription`, `image`) {fix: "llm"}
        "#]],
    );
}

#[test]
fn llm_needs_model_and_instruction() {
    check_one(
        r#"id: a
kind: llm
prompt: "{{userQuery}}"
"#,
        expect![[r#"
            error 1:1 missing-key: an agent needs `model`
            error 1:1 missing-key: an agent needs `instruction`
        "#]],
    );
}

#[test]
fn a_bare_model_name_gets_the_long_form() {
    check_one(
        r#"id: a
kind: llm
model: gpt-5
instruction: hi
"#,
        expect![[r#"
            error 3:8 wrong-type: `model` must be a mapping, not text (write `model: { provider: openai, name: gpt-5 }`)
        "#]],
    );
}

#[test]
fn model_parameters_are_checked_one_by_one() {
    check_one(
        r#"id: a
kind: llm
instruction: hi
model:
  provider: opneai
  name: gpt-5.4
  temperature: 3
  topP: 1.5
  topK: 2.5
  maxTokens: 0
  maxRetries: -1
  presencePenalty: high
  stopSequences: [a, 5]
  seed: 1.5
  temprature: 1
"#,
        expect![[r#"
            warning 5:13 unknown-provider: unknown provider `opneai` (did you mean `openai`?) {fix: "openai"}
            error 7:16 out-of-range: `temperature` must be from 0 to 2, not 3: every provider rejects it
            error 8:9 out-of-range: `topP` must be from 0 to 1, not 1.5: every provider rejects it
            error 9:9 wrong-type: `topK` must be a whole number, not 2.5
            error 10:14 out-of-range: `maxTokens` must be at least 1, not 0
            error 11:15 out-of-range: `maxRetries` must be at least 0, not -1
            error 12:20 wrong-type: `presencePenalty` must be a number, not text
            error 13:22 wrong-type: `stopSequences` must be text, not a number {fix: "\"5\""}
            error 14:9 wrong-type: `seed` must be a whole number, not 1.5
            warning 15:3 unknown-key: model has no key `temprature` (did you mean `temperature`?)
        "#]],
    );
}

#[test]
fn provider_options_hold_only_the_selected_provider_and_no_credentials() {
    check_one(
        r#"id: a
kind: llm
instruction: hi
model:
  provider: openai
  name: gpt-5.4
  providerOptions:
    anthropic: { x: 1 }
    openai: { nested: [{ apiKey: x }] }
  options: { a: 1 }
"#,
        expect![[r#"
            error 8:5 unknown-value: `anthropic` is not the provider of `model` (write the options under `openai`)
            error 9:26 unknown-key: `apiKey` can be set only by the host, not by a manifest
            warning 10:3 deprecated: `options` is an old key and has no effect (use `providerOptions`, with one entry for each provider)
        "#]],
    );
}

#[test]
fn unknown_and_foreign_keys_are_said() {
    check_one(
        r#"id: a
kind: llm
model: { provider: openai, name: gpt-5.4 }
instruction: hi
promt: hi
steps: []
until: "{{x}}"
output: { a: "{{x}}" }
stateKey: b
when: "{{x}}"
maxSteps: 3
defaultDataset: { id: d }
"#,
        expect![[r#"
            warning 5:1 unknown-key: an agent has no key `promt` (did you mean `prompt`?) {fix: "prompt"}
            warning 6:1 no-effect: `steps` has no effect: it is a key of `kind: sequential`
            warning 7:1 no-effect: `until` has no effect: it is a key of `kind: sequential`
            warning 8:1 no-effect: `output` has no effect: it is a key of `kind: sequential` and `kind: parallel`
            warning 9:1 no-effect: `stateKey` has no effect: it works only on a step, or on an agent inside a step
            warning 10:1 no-effect: `when` has no effect: it belongs on a step of a pipeline
            warning 11:1 no-effect: `maxSteps` has no effect: an agent without tools makes one model call
            warning 12:1 no-effect: `defaultDataset` has no effect: batch runs are not supported yet; the agent runs on its own input
        "#]],
    );
}

#[test]
fn empty_texts_are_no_texts() {
    check_one(
        r#"id: ""
kind: llm
model: { provider: "", name: gpt-5.4 }
instruction: "  "
"#,
        expect![[r#"
            error 1:5 wrong-type: `id` must not be empty
            error 3:20 wrong-type: `provider` must not be empty
            error 4:14 wrong-type: `instruction` must not be empty
        "#]],
    );
}

#[test]
fn limits_and_retention_have_ranges() {
    check_one(
        r#"id: a
kind: llm
model: { provider: openai, name: gpt-5.4 }
instruction: hi
timeoutMs: 0
tokenBudget: 1.5
retention: { mode: sometimes, ttlSeconds: 5 }
"#,
        expect![[r#"
            error 5:12 out-of-range: `timeoutMs` must be at least 1, not 0
            error 6:14 wrong-type: `tokenBudget` must be a whole number, not 1.5
            warning 7:1 no-effect: `retention` has no effect: sessions and artifacts are not kept
            error 7:20 unknown-value: `mode` cannot be `sometimes` (available: `none`, `result`, `session`)
            error 7:43 out-of-range: `ttlSeconds` must be at least 60, not 5
        "#]],
    );
}

#[test]
fn reply_has_no_effect() {
    check_one(
        r#"id: a
kind: llm
model: { provider: openai, name: gpt-5.4 }
instruction: hi
reply: { maxPerRun: 1.5 }
"#,
        expect![[r#"
            warning 5:1 no-effect: `reply` has no effect: interim replies are not supported yet
            error 5:21 wrong-type: `maxPerRun` must be a whole number, not 1.5
        "#]],
    );
}

#[test]
fn reply_false_is_silent() {
    check_one(
        r#"id: a
kind: llm
model: { provider: openai, name: gpt-5.4 }
instruction: hi
reply: false
"#,
        expect![""],
    );
}

#[test]
fn examples_are_pairs_of_texts_and_fit_the_schema() {
    check_one(
        r#"id: a
kind: llm
model: { provider: openai, name: gpt-5.4 }
instruction: hi
outputSchema:
  sentiment: { type: string, enum: [positive, negative] }
examples:
  - input: good
    output: '{"sentiment": "positive"}'
  - input: so so
    output: '{"sentiment": "neutral"}'
  - input: bad
    output: negative
  - input: "{{x}}"
    output: '{"sentiment": "positive"}'
  - input: empty
    output: ""
  - only text
  - inptu: x
    output: y
"#,
        expect![[r#"
            warning 11:13 schema-mismatch: this example does not match the schema: `neutral` is not one of `positive` or `negative` (at `/sentiment`) [5:1 answers must match this schema]
            warning 13:13 schema-mismatch: this example is not JSON [5:1 answers must match this schema]
            warning 14:12 no-effect: placeholders in an example are sent as written
            error 17:13 wrong-type: `output` must not be empty
            error 18:5 wrong-type: an example must be a mapping, not text
            error 19:5 unknown-key: an example has no key `inptu`, and lacks `input` (did you mean `input`?) {fix: "input"}
        "#]],
    );
}

#[test]
fn examples_are_a_list() {
    check_one(
        r#"id: a
kind: llm
model: { provider: openai, name: gpt-5.4 }
instruction: hi
examples: 5
"#,
        expect![[r#"
            error 5:11 wrong-type: `examples` must be a list, not a number (write `examples: [{ input: a question, output: an answer }]`)
        "#]],
    );
}

#[test]
fn template_mistakes_are_found_at_their_column() {
    check_one(
        r#"id: a
kind: llm
model: { provider: openai, name: gpt-5.4 }
instruction: |
  Hello {{userQuery}}.
    Bye {{ }}
prompt: "tab\t{{#each x}}"
"#,
        expect![[r#"
            error 6:9 template-empty: empty placeholder (a literal `{{` cannot be escaped here; pass such text in as a value)
            error 7:15 template-unknown-block: unknown block `{{#each}}` (loops are not supported; `{{path}}` prints a list as JSON)
        "#]],
    );
}

#[test]
fn transcription_and_image_are_checked_and_refused() {
    check_one(
        r#"id: a
kind: transcription
model: { provider: openai, name: t }
settings: { language: en, temperature: 2, timestampGranularities: [words] }
prompt: no
"#,
        expect![[r#"
            warning 2:7 refused: `kind: transcription` is not supported yet: a run that can reach it does not start (transcribe before the run, and pass the text as input)
            error 4:40 out-of-range: `temperature` must be from 0 to 1, not 2
            error 4:68 unknown-value: `timestampGranularities` cannot be `words` (did you mean `word`? available: `word`, `segment`) {fix: "word"}
            warning 5:1 no-effect: `prompt` has no effect: it is a key of `kind: llm` and `kind: image`
        "#]],
    );
}

#[test]
fn image_settings_have_forms() {
    check_one(
        r#"id: a
kind: image
model: { provider: openai, name: i }
prompt: "A cover"
settings: { n: 11, size: big, aspectRatio: "16:9" }
"#,
        expect![[r#"
            warning 2:7 refused: `kind: image` is not supported yet: a run that can reach it does not start (create images outside the workflow)
            error 5:16 out-of-range: `n` must be from 1 to 10, not 11
            error 5:26 unknown-value: `size` cannot be `big`: write `WIDTHxHEIGHT`
        "#]],
    );
}

#[test]
fn skills_spawnable_and_resources_are_refused() {
    check_one(
        r#"id: a
kind: llm
model: { provider: openai, name: gpt-5.4 }
instruction: hi
skills: [research, Bad_Name]
resources:
  memory: { mode: write, autoScan: true }
  9docs: { kind: rag, namespace: [a, 5] }
spawnable:
  - kind: ref
    agentId: a
  - kind: inline
    definition: { id: a, kind: llm, model: { provider: openai, name: m }, instruction: "{{x}}" }
  - kind: weird
"#,
        expect![[r#"
            warning 5:1 refused: `skills` is not supported yet: a run that can reach it does not start (write the text of the skill into `instruction`)
            error 5:20 invalid-name: `Bad_Name` cannot be a skill (start with a lower-case letter, then use letters, digits and `-`)
            warning 6:1 refused: `resources` is not supported yet: a run that can reach it does not start (pass what the agent should know as input)
            error 7:19 unknown-value: `mode` cannot be `write` (available: `read`, `read-write`)
            error 8:3 invalid-name: `9docs` cannot be a resource (start with a letter, then use letters, digits, `_` and `-`)
            error 8:38 wrong-type: `namespace` must be text, not a number {fix: "\"5\""}
            error 11:14 reference-cycle: `a` calls itself (remove this call; to repeat steps, use `until` and `maxIterations`)
            error 13:23 duplicate-id: `a` is the id of its parent [1:5 the parent]
            error 13:88 unresolved-name: the `instruction` of a spawned agent cannot contain placeholders
            error 14:11 unknown-value: `kind` cannot be `weird` (available: `ref`, `inline`)
        "#]],
    );
}

#[test]
fn numbers_in_another_notation_are_fixed() {
    let agent = |key: &str, value: &str| {
        format!(
            "id: a\nkind: llm\nmodel:\n  provider: openai\n  name: gpt-5.4\n  maxTokens: {}\n  temperature: {}\ntimeoutMs: {}\ninstruction: x\nprompt: y\n",
            if key == "maxTokens" { value } else { "900" },
            if key == "temperature" { value } else { "1" },
            if key == "timeoutMs" { value } else { "60000" }
        )
    };
    for (key, value, expected) in [
        (
            "maxTokens",
            "4_096",
            expect![[r#"
                error 6:14 wrong-type: `maxTokens` must be a whole number, not text {fix: "4096"}
            "#]],
        ),
        (
            "timeoutMs",
            "30s",
            expect![[r#"
            error 8:12 wrong-type: `timeoutMs` must be a whole number, not text {fix: "30000"}
        "#]],
        ),
        (
            "timeoutMs",
            "500ms",
            expect![[r#"
            error 8:12 wrong-type: `timeoutMs` must be a whole number, not text {fix: "500"}
        "#]],
        ),
        (
            "temperature",
            "0,7",
            expect![[r#"
                error 7:16 wrong-type: `temperature` must be a number, not text {fix: "0.7"}
            "#]],
        ),
        (
            "maxTokens",
            "4k",
            expect![[r#"
                error 6:14 wrong-type: `maxTokens` must be a whole number, not text {fix: "4000"}
            "#]],
        ),
        (
            "maxTokens",
            "4_09",
            expect![[r#"
                error 6:14 wrong-type: `maxTokens` must be a whole number, not text
            "#]],
        ),
        (
            "maxTokens",
            "30s",
            expect![[r#"
                error 6:14 wrong-type: `maxTokens` must be a whole number, not text
            "#]],
        ),
    ] {
        check_one(&agent(key, value), expected);
    }
}
