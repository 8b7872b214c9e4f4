//! The lowering of manifests: source, findings and program text side by side.

use super::support::story;

#[test]
fn a_loop_of_two_agents() {
    insta::assert_snapshot!(story(&[(
        "loop.yaml",
        r#"id: write-review
kind: sequential
inputSchema:
  topic: string
until: "{{reviewer.approved}} == true"
maxIterations: 5
timeoutMs: 60000
tokenBudget: 5000
steps:
  - agent:
      id: writer
      kind: llm
      model: { provider: openai, name: gpt-5.4 }
      instruction: "Write about {{topic}}."
      prompt: "{{#if feedback}}{{feedback}}{{/if}}"
    input:
      topic: "{{topic}}"
      feedback: "{{reviewer.feedback}}"
  - agent:
      id: reviewer
      kind: llm
      model: { provider: openai, name: gpt-5.4 }
      instruction: Review it.
      outputSchema: { approved: boolean, feedback: string }
    input: { draft: "{{writer}}" }
    when: "{{writer}} != ''"
"#
    )]));
}

#[test]
fn branches_with_keys_aliases_and_inner_results() {
    insta::assert_snapshot!(story(&[
        (
            "all.yaml",
            r#"id: all
kind: sequential
steps:
  - agent:
      id: both-sides
      kind: parallel
      branches:
        - ref: look-up
          input: { q: "{{q}}" }
        - ref: look-up
          stateKey: against
          input: { q: "not {{q}}" }
        - ref: look-up@latest
          stateKey: again
    input: { q: "{{userQuery}}" }
  - agent:
      id: join
      kind: llm
      model: { provider: openai, name: m }
      instruction: Join.
    input:
      one: "{{bothSides.lookUp.text}}"
      two: "{{both-sides.look-up}}"
      three: "{{bothSides.against}}{{env.SUFFIX}}"
output:
  deep: { text: "{{join}}" }
  rest: "{{bothSides}}"
"#
        ),
        (
            "look.yaml",
            r#"id: look-up
kind: llm
model: { provider: openai, name: m }
instruction: Look up.
inputSchema:
  q: { type: string, default: everything }
outputSchema: { text: string }
"#
        ),
    ]));
}

#[test]
fn a_model_agent_alone() {
    insta::assert_snapshot!(story(&[(
        "alone.yaml",
        r#"id: alone
kind: llm
timeoutMs: 9000
tokenBudget: 100
model:
  provider: anthropic
  name: claude
  temperature: 0.5
  topP: 0.9
  topK: 5
  maxTokens: 10
  presencePenalty: 0.1
  frequencyPenalty: -0.1
  seed: 7
  stopSequences: [END]
  maxRetries: 2
  providerOptions: { anthropic: { effort: high } }
instruction: Answer.
examples:
  - { input: a, output: b }
"#
    )]));
}

#[test]
fn inputs_in_both_syntaxes() {
    insta::assert_snapshot!(story(&[
        (
            "short.yaml",
            r#"id: short
kind: parallel
inputSchema:
  a: string
  b: { type: integer, min: 1, default: 2 }
  c: { type: string, enum: [x, y] }
branches:
  - ref: canonical
    input: { a: "{{a}}", b: "{{b}}" }
  - ref: query
    input: { userQuery: "{{a}}", lang: "{{c}}" }
"#
        ),
        (
            "canonical.yaml",
            r#"id: canonical
kind: llm
model: { provider: openai, name: m }
instruction: Work.
inputSchema:
  type: object
  properties:
    a: { type: [string, "null"] }
    b: { type: integer, default: 1 }
    c: { anyOf: [{ type: string }, { type: number }] }
  required: [a]
  additionalProperties: false
"#
        ),
        (
            "query.yaml",
            r#"id: query
kind: llm
model: { provider: openai, name: m }
instruction: Work.
inputSchema: { userQuery: string, lang: string }
"#
        ),
    ]));
}

#[test]
fn tool_agents() {
    insta::assert_snapshot!(story(&[
        (
            "tools.yaml",
            r#"id: tools
kind: sequential
inputSchema: { user: string, tags: { type: array } }
steps:
  - ref: request
    input: { user: "{{user}}", tags: "{{tags}}" }
  - agent:
      id: local
      kind: tool
      tool: { kind: local, name: save, params: { id: "{{id}}", note: "for {{id}}", plain: text } }
    input: { id: "{{request.id}}" }
  - agent:
      id: remote
      kind: tool
      tool: { kind: mcp, server: https://mcp.example.com, name: send, params: { id: "{{id}}" } }
    input: { id: "{{request.id}}" }
"#
        ),
        (
            "request.yaml",
            r#"id: request
kind: tool
inputSchema: { user: string, tags: { type: array } }
tool:
  kind: http
  name: create
  url: "https://api.example.com/{user}?v={v?}"
  method: POST
  params: { user: "{{user}}" }
  headers: { Authorization: "Bearer {{secrets.TOKEN}}", X-Host: "{{env.HOST}}" }
  body_type: json
  body: { tags: "{{tags}}", list: ["{{user}}", 5, true], note: "by {{user}}" }
"#
        ),
    ]));
}

#[test]
fn refused_features_still_make_a_program() {
    insta::assert_snapshot!(story(&[(
        "refused.yaml",
        r#"id: refused
kind: sequential
steps:
  - agent:
      id: searcher
      kind: llm
      model: { provider: openai, name: m }
      instruction: "Search for {{what}}."
      prompt: Go.
      tools:
        - { kind: local, tools: [search] }
      skills: [deep-search]
    input: { what: "{{userQuery}}" }
  - agent:
      id: cover
      kind: image
      model: { provider: openai, name: i }
"#
    )]));
}
