//! Names in templates: which are defined in which places.

use expect_test::expect;

use super::support::{check, check_one};

#[test]
fn without_input_schema_any_name_is_a_warning_once() {
    check_one(
        r#"id: a
kind: llm
model: { provider: openai, name: gpt-5.4 }
instruction: "{{topic}} {{topic}} {{userQuery}}"
"#,
        expect![[r#"
            warning 4:17 unresolved-name: `topic` is not declared: it is null unless the input has it (declare it under `inputSchema`; available: `userQuery`)
        "#]],
    );
}

#[test]
fn with_input_schema_unknown_names_are_errors() {
    check_one(
        r#"id: a
kind: llm
model: { provider: openai, name: gpt-5.4 }
instruction: |
  {{topic}} {{topc}}
  {{userQuery}}
prompt: "{{#if tone == plain}}{{topic.x}}{{/if}}"
inputSchema: { topic: string }
"#,
        expect![[r#"
            error 5:15 unresolved-name: `topc` is not defined here (did you mean `topic`? available: `topic`) [8:16 `topic` is declared here] {fix: "topic"}
            error 6:5 unresolved-name: `userQuery` is not defined here (available: `topic`)
            error 7:16 unresolved-name: `tone` is not defined here (available: `topic`)
            error 7:39 property-of-text: `topic` is text, so `topic.x` is always empty (remove the rest of the path, or make the value an object)
        "#]],
    );
}

#[test]
fn paths_are_followed_through_schemas() {
    check_one(
        r#"id: a
kind: llm
model: { provider: openai, name: gpt-5.4 }
instruction: "{{user.name}} {{user.nam}} {{blob.any.thing}} {{tags.0}} {{tags.first}} {{n.x}} {{open.x}}"
inputSchema:
  user: { type: object, properties: { name: string } }
  blob: object
  tags: { type: array, items: string }
  n: { type: number }
  open: { type: object, properties: { a: string }, additionalProperties: true }
"#,
        expect![[r#"
            error 4:36 unknown-property: `user` has no `nam` (did you mean `name`? its properties are `name`) [6:39 `name` is declared here] {fix: "name"}
            error 4:79 property-of-text: `tags` is a list, so `tags.first` is always empty (remove the rest of the path, or make the value an object)
            error 4:91 property-of-text: `n` is a number, so `n.x` is always empty (remove the rest of the path, or make the value an object)
            warning 4:102 unknown-property: the schema of `open` declares no `x` (did you mean `a`?) {maybe: "a"}
        "#]],
    );
}

#[test]
fn namespaces() {
    check_one(
        r#"id: a
kind: llm
model: { provider: openai, name: gpt-5.4 }
instruction: "{{env.HOME}} {{env}} {{env.A.b}}"
prompt: "{{secrets.KEY}}"
inputSchema: { env: string }
"#,
        expect![[r#"
            error 4:30 unresolved-name: `env` needs a name after it (write `{{env.NAME}}`)
            error 4:44 property-of-text: `env.A` is text, so `env.A.b` is always empty (remove the rest of the path, or make the value an object)
            error 5:12 secret-in-prompt: the secret `KEY` would be sent to the model (remove it: a prompt must not contain secrets)
            warning 6:16 state-key: the input `env` is hidden by the namespace `env`
        "#]],
    );
}

#[test]
fn a_step_sees_the_steps_before_it() {
    let manifests = [
        (
            "agent.yaml",
            r#"id: p
kind: sequential
inputSchema: { topic: string }
steps:
  - ref: web-researcher
    input: { q: "{{topic}} {{web-researcher}} {{writing}} {{writer}}" }
  - ref: writer
    stateKey: writing
    input: { q: "{{webResearcher.body}} {{web-researcher.body}} {{webResearcher.bdy}} {{wbResearcher}}" }
output:
  text: "{{writing}}"
  deep: "{{writing.x}}"
  old: "{{writer}}"
"#,
        ),
        (
            "web.yaml",
            r#"id: web-researcher
kind: llm
model: { provider: openai, name: gpt-5.4 }
instruction: "{{q}}"
inputSchema: { q: string }
outputSchema: { body: string }
"#,
        ),
        (
            "writer.yaml",
            r#"id: writer
kind: llm
model: { provider: openai, name: gpt-5.4 }
instruction: "{{q}}"
inputSchema: { q: string }
"#,
        ),
    ];
    check(
        &manifests,
        expect![[r#"
            error agent.yaml 6:30 unordered-read: `web-researcher` is the output of the step that reads it, which has no value before it has run (read the output of a step that ends before it)
            error agent.yaml 6:49 unordered-read: `writing` has not run yet here, so `writing` is always empty (a step sees only the steps before it; with `until` it sees the others from the second iteration on)
            error agent.yaml 6:61 unresolved-name: `writer` is not defined here (write `writing`, where the output of `writer` is) {maybe: "writing"}
            error agent.yaml 9:81 unknown-property: `webResearcher` has no `bdy` (did you mean `body`? its properties are `body`) [web.yaml 6:17 `body` is declared here] {fix: "body"}
            error agent.yaml 9:89 unresolved-name: `wbResearcher` is not defined here (did you mean `webResearcher`? available: `topic`, `webResearcher`) [agent.yaml 5:10 `webResearcher` is declared here] {fix: "webResearcher"}
            warning agent.yaml 12:20 property-of-text: `writing` is text, so `writing.x` is always empty (add an `outputSchema` to the agent to get an object, or remove the rest of the path)
            error agent.yaml 13:11 unresolved-name: `writer` is not defined here (write `writing`, where the output of `writer` is) {fix: "writing"}
        "#]],
    );
}

#[test]
fn in_a_loop_a_step_sees_all_steps() {
    check_one(
        r#"id: p
kind: sequential
inputSchema: { topic: string }
until: "{{b.ok}} == true"
maxIterations: 3
steps:
  - agent: { id: a, kind: llm, model: { provider: openai, name: m }, instruction: hi, prompt: "{{#if note}}{{note}}{{/if}}" }
    input: { note: "{{b.note}}", own: "{{a}}" }
    when: "{{b.ok}} != true"
  - agent: { id: b, kind: llm, model: { provider: openai, name: m }, instruction: hi, prompt: x, outputSchema: { ok: boolean, note: string } }
"#,
        expect![""],
    );
}

#[test]
fn branches_do_not_see_each_other() {
    check_one(
        r#"id: p
kind: parallel
inputSchema: { topic: string }
branches:
  - agent: { id: a, kind: llm, model: { provider: openai, name: m }, instruction: hi, prompt: "{{x}}" }
    input: { x: "{{b}} {{a}} {{topic}}" }
  - agent: { id: b, kind: llm, model: { provider: openai, name: m }, instruction: hi, prompt: "{{x}}" }
    input: { x: "{{topic}}" }
output: { both: "{{a}} {{b}}" }
"#,
        expect![[r#"
            error 6:20 unordered-read: `b` runs in parallel with this branch, so `b` is always empty (branches see the state as it was before them; use a sequential pipeline)
            error 6:26 unordered-read: `a` is the output of the step that reads it, which has no value before it has run (read the output of a step that ends before it)
        "#]],
    );
}

#[test]
fn what_a_skipped_step_leaves_is_an_info() {
    check_one(
        r#"id: p
kind: sequential
inputSchema: { lang: string }
steps:
  - agent: { id: a, kind: llm, model: { provider: openai, name: m }, instruction: hi, prompt: x }
    when: "{{lang}} != en"
  - agent: { id: b, kind: llm, model: { provider: openai, name: m }, instruction: hi, prompt: "{{t}}" }
    input: { t: "{{a}}" }
    when: "{{lang}} != en"
  - agent: { id: c, kind: llm, model: { provider: openai, name: m }, instruction: hi, prompt: "{{t}}" }
    input: { t: "{{#if a}}{{a}}{{/if}}{{b}}" }
    when: "{{a}}"
"#,
        expect![""],
    );
}

#[test]
fn an_agent_inside_a_step_does_not_see_the_state_around_it() {
    check_one(
        r#"id: p
kind: sequential
inputSchema: { topic: string, tone: string }
steps:
  - agent: { id: a, kind: llm, model: { provider: openai, name: m }, instruction: "{{topic}}", prompt: "{{userQuery}}" }
  - agent: { id: b, kind: llm, model: { provider: openai, name: m }, instruction: "{{topic}} {{tone}}", prompt: "{{userQuery}}" }
    input: { topic: "{{topic}}" }
"#,
        expect![[r#"
            warning 5:86 unresolved-name: `topic` is always null: the step has no `input` (an agent does not see the state of its pipeline: pass it with `input: { topic: "{{topic}}" }`)
            warning 5:107 unresolved-name: `userQuery` is always null: the step has no `input` (add `input: { ... }` to the step: earlier results are not passed on automatically)
            warning 6:96 unresolved-name: `tone` is always null: the step's `input` does not have it (an agent does not see the state of its pipeline: pass it with `input: { tone: "{{tone}}" }`)
        "#]],
    );
}

#[test]
fn a_nested_pipeline_shows_its_steps_beneath_its_output() {
    let manifests = [
        (
            "agent.yaml",
            r#"id: p
kind: sequential
inputSchema: { topic: string }
steps:
  - ref: write-it
    stateKey: writing
    input: { topic: "{{topic}}" }
output:
  member: "{{writing.o.draft}}"
  step: "{{writing.bC.draft}}"
  alias: "{{writing.b-c.draft}}"
  wrong: "{{writing.b-c.drft}}"
  nothing: "{{writing.zz}}"
"#,
        ),
        (
            "write.yaml",
            r#"id: write-it
kind: sequential
inputSchema: { topic: string }
steps:
  - agent: { id: b-c, kind: llm, model: { provider: openai, name: m }, instruction: hi, prompt: "{{t}}", outputSchema: { draft: string } }
    input: { t: "{{topic}}" }
output: { o: "{{bC}}" }
"#,
        ),
    ];
    check(
        &manifests,
        expect![[r#"
            error agent.yaml 12:25 unknown-property: `writing.b-c` has no `drft` (did you mean `draft`? its properties are `draft`) [write.yaml 5:122 `draft` is declared here] {fix: "draft"}
            error agent.yaml 13:23 unknown-property: `writing` has no `zz` (its properties are `o`, `bC`) [write.yaml 7:11 its properties are declared here]
        "#]],
    );
}

#[test]
fn state_keys_collide() {
    let manifests = [
        (
            "agent.yaml",
            r#"id: p
kind: sequential
inputSchema: { topic: string }
steps:
  - ref: w
    stateKey: topic
  - ref: w
  - ref: w
  - ref: w
    stateKey: env
  - ref: w
    stateKey: my key
"#,
        ),
        (
            "w.yaml",
            r#"id: w
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
            error agent.yaml 6:15 shadowed-name: the output would hide the input `topic` (write another `stateKey` for the step) [agent.yaml 3:16 the input]
            warning agent.yaml 8:5 state-key: this step overwrites `w` (write another `stateKey` for the step) [agent.yaml 7:5 written here too]
            warning agent.yaml 10:15 state-key: no template can name `env` (write another `stateKey` for the step)
            warning agent.yaml 12:15 state-key: no template can name `my key` (write another `stateKey` for the step)
        "#]],
    );
}

#[test]
fn two_branches_on_one_key() {
    let manifests = [
        (
            "agent.yaml",
            r#"id: p
kind: parallel
branches:
  - ref: w
  - ref: w
  - ref: w
    stateKey: userQuery
"#,
        ),
        (
            "w.yaml",
            r#"id: w
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
            error agent.yaml 5:10 write-conflict: two branches write `w` (write another `stateKey` for the step) [agent.yaml 4:10 written here too]
            error agent.yaml 7:15 shadowed-name: the output would hide the input `userQuery` (write another `stateKey` for the step)
        "#]],
    );
}

#[test]
fn secrets_reach_tools_and_never_models() {
    check_one(
        r#"id: p
kind: sequential
steps:
  - agent:
      id: inner
      kind: sequential
      steps:
        - agent: { id: t, kind: tool, tool: { kind: local, name: f, params: { a: "{{token}}" } } }
          input: { token: "{{k}}" }
        - agent: { id: m, kind: llm, model: { provider: openai, name: m }, instruction: hi, prompt: "{{x}}" }
          input: { x: "{{k}}", unused: "{{k2}}" }
    input: { k: "{{secrets.A}}", k2: "{{secrets.B}}" }
  - agent: { id: n, kind: llm, model: { provider: openai, name: m }, instruction: hi }
    input: { x: "{{secrets.C}}" }
"#,
        expect![[r#"
            error 12:20 secret-in-prompt: the secret `A` would be sent to the model (remove it: a prompt must not contain secrets) [10:104 inserted into the prompt here]
            error 14:20 secret-in-prompt: the secret `C` would be sent to the model (remove it: a prompt must not contain secrets)
        "#]],
    );
}

#[test]
fn names_beside_a_malformed_placeholder_are_checked_too() {
    check_one(
        r#"id: a
kind: sequential
inputSchema: { topic: string }
steps:
  - agent:
      id: writer
      kind: llm
      model: { provider: openai, name: gpt-5.4 }
      inputSchema: { topic: string }
      instruction: "{{ }} {{topc}} {{#each list}}{{this.x}}{{/each}} {{tone}} {{"
    input: { topic: "{{topi}} {{a b}}" }
    when: "{{topi}} === 1"
"#,
        expect![[r#"
            error 10:21 template-empty: empty placeholder (a literal `{{` cannot be escaped here; pass such text in as a value)
            error 10:29 unresolved-name: `topc` is not defined here (did you mean `topic`? available: `topic`) [9:22 `topic` is declared here] {fix: "topic"}
            error 10:36 template-unknown-block: unknown block `{{#each}}` (loops are not supported; `{{path}}` prints a list as JSON)
            error 10:72 unresolved-name: `tone` is not defined here (available: `topic`)
            error 10:79 template-unclosed: `{{` has no closing `}}` (end it with `}}`; a literal `{{` cannot be escaped here; pass such text in as a value)
            error 11:24 unresolved-name: `topi` is not defined here (did you mean `topic`? available: `topic`) [3:16 `topic` is declared here] {fix: "topic"}
            error 11:34 template-bad-path: the path `a b` contains a space (a literal `{{` cannot be escaped here; pass such text in as a value)
            error 12:14 unresolved-name: `topi` is not defined here (did you mean `topic`? available: `topic`) [3:16 `topic` is declared here] {fix: "topic"}
            error 12:21 condition-bad-operator: unknown operator `===` (write `==`) {fix: "=="}
        "#]],
    );
}
