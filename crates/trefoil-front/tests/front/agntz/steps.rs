//! Steps: what they call, what they pass, when they run.

use expect_test::expect;

use super::support::{MODEL, check, check_one, silent};

#[test]
fn a_step_calls_exactly_one_agent() {
    check_one(
        r#"id: p
kind: sequential
steps:
  - input: { x: "y" }
  - ref: a
    agent: { id: b }
  - agent: writer
  - just text
"#,
        expect![[r#"
            error 4:5 missing-key: a step needs `ref` or `agent` (write `ref: ID` to call another manifest, or `agent:` to define one here)
            error 6:5 ambiguous-step: a step cannot have both `ref` and `agent` (add `- ` to make it a separate step) [5:5 `ref` is here]
            error 7:12 wrong-type: `agent` must be a mapping, not text (to call another manifest write `ref: writer`) {maybe: 7:5 "ref"}
            error 8:5 wrong-type: a step must be a mapping, not text
        "#]],
    );
}

#[test]
fn pipelines_need_steps() {
    check_one(
        r#"id: p
kind: sequential
steps: []
"#,
        expect![[r#"
            error 3:1 wrong-type: `steps` needs at least one step
        "#]],
    );
}

#[test]
fn parallel_needs_branches() {
    check_one(
        r#"id: p
kind: parallel
steps:
  - ref: x
until: "{{x}}"
"#,
        expect![[r#"
            error 2:7 missing-key: `kind: parallel` needs `branches`, but this has `steps` (write `kind: sequential`, or `branches` instead of `steps`) [3:1 only for `kind: sequential`] {maybe: "sequential"}
            warning 3:1 no-effect: `steps` has no effect: it is a key of `kind: sequential`
            error 4:10 unknown-reference: no manifest in this folder has the id `x` (this folder has no other manifest)
            error 5:1 missing-key: a loop needs `maxIterations` (`until` repeats the steps; limit them, for example with `maxIterations: 5`) {maybe: add `maxIterations: 10`: 5:1 "maxIterations: 10\n"}
        "#]],
    );
}

#[test]
fn step_keys_have_shapes() {
    check_one(
        r#"id: p
kind: sequential
steps:
  - agent: { id: a, kind: llm, model: { provider: openai, name: m }, instruction: hi, prompt: x, when: "{{x}}" }
    input: "{{x}}"
    when: true
    stateKey: ""
    until: "{{x}}"
    retry: 3
    foo: 1
"#,
        expect![[r#"
            warning 4:98 no-effect: `when` has no effect: it belongs on the step, next to `agent`
            warning 4:107 unresolved-name: `x` is not declared: it is null unless the input has it (declare it under `inputSchema`; available: `userQuery`)
            error 5:12 wrong-type: `input` must be a mapping, not text (list the inputs, for example `input: { text: "{{draft}}" }`)
            error 6:11 wrong-type: `when` must be a condition in quotes, not a boolean (compare something, for example `"{{reviewer.approved}} == true"`)
            error 7:15 wrong-type: `stateKey` must not be empty
            warning 8:5 no-effect: `until` has no effect: a loop is declared on the pipeline, not on a step
            warning 9:5 no-effect: `retry` has no effect: a failing step fails its pipeline
            warning 10:5 unknown-key: a step has no key `foo` (it is ignored; available: `ref`, `maxIterations`, `onError`)
        "#]],
    );
}

#[test]
fn output_is_a_map_of_templates() {
    check_one(
        r#"id: p
kind: sequential
steps:
  - agent: { id: a, kind: llm, model: { provider: openai, name: m }, instruction: hi, prompt: x }
output:
  n: 42
  l: [1]
  z: ~
  m: { deep: "{{a}}" }
"#,
        expect![[r#"
            error 6:6 wrong-type: `n` must be text or a template, not a number (put it in quotes for text; to keep its type, use the placeholder of an input with this `default`)
            error 7:6 wrong-type: `l` must be text or a template, not a list
            error 8:6 wrong-type: `z` must be text or a template, not null
        "#]],
    );
}

#[test]
fn output_is_no_text() {
    check_one(
        r#"id: p
kind: sequential
steps:
  - agent: { id: a, kind: llm, model: { provider: openai, name: m }, instruction: hi, prompt: x }
output: "{{a}}"
"#,
        expect![[r#"
            error 5:9 wrong-type: `output` must be a mapping, not text (list what the pipeline returns, for example `output: { article: "{{writer}}" }`)
        "#]],
    );
}

#[test]
fn a_loop_has_a_limit() {
    check_one(
        r#"id: p
kind: sequential
until: "{{a}}"
steps:
  - agent: { id: a, kind: llm, model: { provider: openai, name: m }, instruction: hi, prompt: x }
"#,
        expect![[r#"
            error 3:1 missing-key: a loop needs `maxIterations` (`until` repeats the steps; limit them, for example with `maxIterations: 5`) {maybe: add `maxIterations: 10`: 3:1 "maxIterations: 10\n"}
        "#]],
    );
}

#[test]
fn a_limit_is_a_positive_number() {
    check_one(
        r#"id: p
kind: sequential
until: true
maxIterations: 0
steps:
  - agent: { id: a, kind: llm, model: { provider: openai, name: m }, instruction: hi, prompt: x }
"#,
        expect![[r#"
            error 3:8 wrong-type: `until` must be a condition in quotes, not a boolean (compare something, for example `"{{reviewer.approved}} == true"`)
            error 4:16 out-of-range: `maxIterations` must be at least 1, not 0
        "#]],
    );
}

#[test]
fn a_limit_without_a_loop_has_no_effect() {
    check_one(
        r#"id: p
kind: sequential
maxIterations: 5
steps:
  - agent: { id: a, kind: llm, model: { provider: openai, name: m }, instruction: hi, prompt: x }
"#,
        expect![[r#"
            warning 3:1 no-effect: `maxIterations` has no effect: without `until` the steps run once
        "#]],
    );
}

#[test]
fn unknown_references_get_the_nearest() {
    let manifests = [
        (
            "agent.yaml",
            r#"id: p
kind: sequential
steps:
  - ref: writter
  - ref: nobody
  - ref: "a b"
  - ref: writer@latest
  - ref: writer@-bad
"#,
        ),
        (
            "writer.yaml",
            r#"id: writer
kind: llm
model: { provider: openai, name: m }
instruction: hi
prompt: x
"#,
        ),
    ];
    check(
        &manifests,
        expect![[r#"
            error agent.yaml 4:10 unknown-reference: no manifest in this folder has the id `writter` (did you mean `writer`?) {fix: "writer"}
            error agent.yaml 5:10 unknown-reference: no manifest in this folder has the id `nobody` (available: `writer`)
            error agent.yaml 6:10 invalid-reference: `a b` is not a reference to an agent: a reference cannot contain spaces
            info agent.yaml 7:10 reference-version: the version `latest` is ignored: `writer` is the manifest in this folder
            error agent.yaml 8:10 invalid-reference: `writer@-bad` is not a reference to an agent: `-bad` is not `latest`, an alias that starts with a letter or digit, or a timestamp that ends in `Z`
        "#]],
    );
}

#[test]
fn cycles_are_named() {
    let manifests = [
        (
            "agent.yaml",
            r#"id: a
kind: sequential
steps:
  - agent:
      id: inner
      kind: parallel
      branches:
        - ref: b
"#,
        ),
        (
            "b.yaml",
            r#"id: b
kind: sequential
steps:
  - ref: a
"#,
        ),
    ];
    check(
        &manifests,
        expect![[r#"
            error b.yaml 4:10 reference-cycle: circular references: a -> b -> a (remove this call; to repeat steps, use `until` and `maxIterations`) [agent.yaml 8:16 called by `a`]
        "#]],
    );
}

#[test]
fn a_pipeline_may_not_call_itself() {
    check_one(
        r#"id: a
kind: sequential
steps:
  - ref: a
"#,
        expect![[r#"
            error 4:10 reference-cycle: `a` calls itself (remove this call; to repeat steps, use `until` and `maxIterations`)
        "#]],
    );
}

#[test]
fn two_files_with_one_id_matter_only_when_it_is_referenced() {
    let manifests = [
        (
            "agent.yaml",
            r#"id: p
kind: sequential
steps:
  - ref: one
  - ref: two
"#,
        ),
        (
            "one.yaml",
            r#"id: one
kind: llm
model: { provider: openai, name: m }
instruction: hi
prompt: x
"#,
        ),
        (
            "two.yaml",
            r#"id: two
kind: llm
model: { provider: openai, name: m }
instruction: hi
prompt: x
"#,
        ),
        (
            "two again.yaml",
            r#"id: two
kind: llm
model: { provider: openai, name: m }
instruction: hi
prompt: x
"#,
        ),
        (
            "three.yaml",
            r#"id: three
kind: llm
"#,
        ),
        (
            "three again.yaml",
            r#"id: three
kind: llm
"#,
        ),
    ];
    check(
        &manifests,
        expect![[r#"
            error agent.yaml 5:10 ambiguous-reference: several manifests have the id `two` [two.yaml 1:5 declared here] [two again.yaml 1:5 declared here]
        "#]],
    );
}

#[test]
fn mistakes_in_a_called_manifest_are_reported_in_its_file() {
    let manifests = [
        (
            "agent.yaml",
            r#"id: p
kind: sequential
steps:
  - ref: w
"#,
        ),
        (
            "w.yaml",
            r#"id: w
kind: llm
model: { provider: openai, name: m }
instruction: "{{nope}}"
prompt: x
inputSchema: { a: { type: string, default: x } }
"#,
        ),
    ];
    check(
        &manifests,
        expect![[r#"
            error w.yaml 4:17 unresolved-name: `nope` is not defined here (available: `a`)
        "#]],
    );
}

#[test]
fn a_step_without_input_gives_nothing() {
    let manifests = [
        (
            "agent.yaml",
            r#"id: p
kind: sequential
steps:
  - ref: needs
  - ref: defaults
  - ref: silent
  - ref: reads
  - ref: optional
"#,
        ),
        (
            "needs.yaml",
            r#"id: needs
kind: llm
model: { provider: openai, name: m }
instruction: hi
inputSchema: { a: string, b: { type: string, default: x }, c: number }
"#,
        ),
        (
            "defaults.yaml",
            r#"id: defaults
kind: llm
model: { provider: openai, name: m }
instruction: hi
inputSchema: { b: { type: string, default: x } }
"#,
        ),
        (
            "silent.yaml",
            r#"id: silent
kind: llm
model: { provider: openai, name: m }
instruction: hi
"#,
        ),
        (
            "reads.yaml",
            r#"id: reads
kind: llm
model: { provider: openai, name: m }
instruction: hi
prompt: "{{userQuery}}"
"#,
        ),
        (
            "optional.yaml",
            r#"id: optional
kind: llm
model: { provider: openai, name: m }
instruction: hi
inputSchema: { type: object, properties: { a: { type: string } } }
"#,
        ),
    ];
    check(
        &manifests,
        expect![[r#"
            error agent.yaml 4:5 missing-input: `needs` requires `a`, `c`, but the step has no `input` (add `input: { a: "{{...}}" }` to the step) [needs.yaml 5:16 declared here] [needs.yaml 5:60 declared here]
            warning agent.yaml 6:5 empty-message: `silent` gets an empty user message: the step has no `input`, and the agent no `prompt` (add `input` to the step, or `prompt` to the agent: earlier results are not passed on automatically)
            warning agent.yaml 7:5 missing-input: `reads` reads its input, but the step has no `input`, so it is null (add `input` to the step: earlier results are not passed on automatically)
        "#]],
    );
}

#[test]
fn an_input_map_fits_the_child() {
    let manifests = [
        (
            "agent.yaml",
            r#"id: p
kind: sequential
inputSchema: { n: number }
steps:
  - ref: c
    input: { topci: "x", number: "5", choice: "z", list: "{{n}} {{n}}" }
  - ref: c
    stateKey: second
    input: { topic: "{{n}}", number: "{{c}}", choice: "{{n}}", list: "{{n}}" }
  - ref: strict
    input: { b: "x" }
  - ref: open
    input: { a: "x", more: "y" }
"#,
        ),
        (
            "c.yaml",
            r#"id: c
kind: llm
model: { provider: openai, name: m }
instruction: hi
inputSchema:
  topic: string
  number: number
  choice: { type: string, enum: [x, y] }
  list: { type: array, default: [] }
"#,
        ),
        (
            "strict.yaml",
            r#"id: strict
kind: llm
model: { provider: openai, name: m }
instruction: hi
inputSchema: { type: object, properties: { a: { type: string }, b: { type: string } }, required: [a], additionalProperties: false }
"#,
        ),
        (
            "open.yaml",
            r#"id: open
kind: llm
model: { provider: openai, name: m }
instruction: hi
inputSchema: { type: object, additionalProperties: true, properties: { a: { type: string } }, required: [a] }
"#,
        ),
    ];
    check(
        &manifests,
        expect![[r#"
            error agent.yaml 6:14 unknown-input: `c` has no input `topci` (did you mean `topic`? available: `topic`, `number`, `choice`, `list`) [c.yaml 6:3 its inputs] {fix: "topic"}
            error agent.yaml 6:34 schema-mismatch: `number` of `c` is a number, but this is text (only a single placeholder keeps its type: write a placeholder of an input with this `default`) [c.yaml 7:3 declared here]
            error agent.yaml 6:47 schema-mismatch: `choice` of `c` cannot be `z` (did you mean `x`? available: `x`, `y`) [c.yaml 8:3 declared here] {maybe: agent.yaml 6:48 "x"}
            error agent.yaml 6:58 schema-mismatch: `list` of `c` is a list, but this is text (only a single placeholder keeps its type; anything else is text) [c.yaml 9:3 declared here]
            error agent.yaml 9:21 schema-mismatch: `topic` of `c` is text, but this is a number [c.yaml 6:3 declared here]
            error agent.yaml 9:38 schema-mismatch: `number` of `c` is a number, but this is text (add an `outputSchema` to the agent that this comes from) [c.yaml 7:3 declared here]
            error agent.yaml 9:55 schema-mismatch: `choice` of `c` is text, but this is a number [c.yaml 8:3 declared here]
            error agent.yaml 9:70 schema-mismatch: `list` of `c` is a list, but this is a number [c.yaml 9:3 declared here]
            error agent.yaml 11:5 missing-input: `input` lacks `a`, which `strict` requires [strict.yaml 5:44 declared here]
        "#]],
    );
}

#[test]
fn conditions_have_a_small_grammar() {
    check_one(
        r#"id: p
kind: sequential
inputSchema: { n: number, b: boolean }
steps:
  - agent: { id: a, kind: llm, model: { provider: openai, name: m }, instruction: hi, prompt: x }
    when: "({{n}} > 5) and !{{b}}"
  - agent: { id: c, kind: llm, model: { provider: openai, name: m }, instruction: hi, prompt: x }
    when: "{{nn}} > 5"
"#,
        expect![[r#"
            error 6:12 condition-syntax: parentheses are not supported here (`&&` binds tighter than `||`; write out the alternatives)
            error 6:24 condition-bad-operator: `and` is not an operator here (write `&&`, or put the text in quotes)
            error 6:28 condition-bad-operator: unknown operator `!` (`!` is not supported; write `== false`, `== null` or `!=`)
            error 8:14 unresolved-name: `nn` is not defined here (did you mean `n`? available: `n`, `b`, `a`) [3:16 `n` is declared here] {maybe: "n"}
        "#]],
    );
}

#[test]
fn agents_in_steps_are_told_apart() {
    let step = |rest: &str| format!("  - agent: {{ id: a, kind: llm, {}, instruction: Hi., prompt: Hi.{rest}\n", MODEL);
    let pipeline = |second: &str| {
        format!("id: p\nkind: sequential\nsteps:\n{}{second}output: {{ x: \"{{{{a}}}}\" }}\n", step(" }"))
    };
    check_one(
        &pipeline(&step(", stateKey: b }")),
        expect![[r#"
            warning 5:18 duplicate-id: two agents of this pipeline have the id `a` (rename one of them) [4:18 the other one]
        "#]],
    );
    silent(&pipeline(&step(" }")), "duplicate-id");
    check_one(
        &pipeline(&step(", stateKey: b }\n    stateKey: c")),
        expect![[r#"
            warning 5:18 duplicate-id: two agents of this pipeline have the id `a` (rename one of them) [4:18 the other one]
            warning 5:117 redundant: `stateKey` has no effect here: the one of the step is used [6:15 the output is written here]
        "#]],
    );
    silent(&pipeline(&step(" }\n    stateKey: c")), "no-effect");
}
