//! Folders of manifests: the project's examples, and small ones for features that the examples do not use.

/// Joins files with their names into one text.
macro_rules! folder {
    ($folder:literal: $($name:literal),+) => {
        concat!($("=== ", $name, "\n", include_str!(concat!("../../../../examples/", $folder, "/", $name)), "\n"),+)
    };
}

/// agntz.
pub(crate) const AGNTZ: &[&str] = &[
    folder!("agntz": "write-review-loop.yaml", "writer.yaml", "reviewer.yaml"),
    folder!("agntz": "article-pipeline.yaml", "researcher.yaml", "writer.yaml"),
    folder!("agntz": "text-analysis.yaml", "entity-extractor.yaml", "sentiment-analyzer.yaml"),
    folder!("agntz": "support-triage.yaml"),
    folder!("agntz": "sentiment-analyzer.yaml"),
    folder!("agntz": "translated-summary.yaml", "translator.yaml"),
    folder!("agntz": "answer-question.yaml", "math-tutor.yaml"),
    SMALL_AGNTZ,
    TOOL_AGNTZ,
];

/// AEGIS.
pub(crate) const AEGIS: &[&str] = &[
    folder!("aegis": "refine-loop.yaml", "agents/article-writer.yaml", "agents/article-reviewer.yaml"),
    folder!("aegis": "panel.yaml", "agents/proposal-judge.yaml"),
    folder!("aegis": "approval.yaml", "agents/draft-writer.yaml"),
    folder!("aegis": "code-review.yaml", "agents/code-analyst.yaml", "agents/report-writer.yaml"),
    folder!("aegis": "newsletter.yaml", "draft-review.yaml", "agents/draft-writer.yaml", "agents/draft-reviewer.yaml"),
    folder!("aegis": "agents/summariser.yaml", "agents/summary-judge.yaml"),
    SMALL_AEGIS,
    SYSTEM_AEGIS,
];

/// SirenSpec.
pub(crate) const SIRENSPEC: &[&str] = &[
    folder!("sirenspec": "resilient.yaml"),
    folder!("sirenspec": "plan-execute-aggregate.yaml"),
    folder!("sirenspec": "triage.yaml"),
    folder!("sirenspec": "review-with-policy.yaml", "parts/policy-check.yaml"),
    folder!("sirenspec": "panel.yaml"),
    folder!("sirenspec": "brainstorm.yaml"),
    folder!("sirenspec": "grade-essays.yaml"),
    folder!("sirenspec": "approval.yaml"),
    folder!("sirenspec": "environment.yaml"),
    SMALL_SIRENSPEC,
];

const SMALL_AGNTZ: &str = r#"=== main.yaml
id: small
kind: sequential
steps:
  - agent:
      id: one
      kind: parallel
      branches:
        - agent: { id: a, kind: llm, model: { provider: openai, name: m }, instruction: hi, prompt: "{{userQuery}}" }
        - agent: { id: b-b, kind: llm, model: { provider: openai, name: m }, instruction: "{{x}}", prompt: x, outputSchema: { n: number } }
          when: "{{flag}} == true"
          input: { x: "{{userQuery}}", userQuery: "q" }
    input: "{{userQuery}}"
    stateKey: both
  - ref: two
    input: { n: "{{both.bB.n}}", list: ["{{both}}", "{{one}}"] }
until: "{{two}} != ''"
maxIterations: 3
output: "{{two}}"
=== two.yaml
id: two
kind: llm
model: { provider: openai, name: m }
inputSchema:
  type: object
  properties:
    n: { type: number, default: 1 }
    list: { type: array, items: {} }
  required: [n]
instruction: "{{#if n == 3}}three {{env.HOME}}{{/if}}"
prompt: "{{list.0}} {{list}}"
examples:
  - { input: { n: 1 }, output: "x" }
"#;

const TOOL_AGNTZ: &str = r#"=== main.yaml
id: with-tools
kind: llm
model: { provider: openai, name: m, temperature: 0.5, maxTokens: 10 }
tokenBudget: { maxPerRun: 1000 }
tools:
  - kind: local
    tools: [search, fetch]
  - kind: mcp
    server: "https://example.org/mcp"
    headers: { authorization: "Bearer {{secrets.TOKEN}}" }
    tools:
      - { tool: lookup, name: find, params: { user: "{{user.id}}", q: "x{{userQuery}}" } }
  - kind: http
    name: post
    url: "https://{{env.HOST}}/v1/{{id}}"
    method: POST
    body: { a: "{{a}}" }
  - kind: agent
    agent: other
instruction: |
  {{#if user}}You talk to {{user.name}}.{{/if}}
prompt: "{{userQuery}}"
=== other.yaml
id: other
kind: tool
tool: { kind: local, name: search, params: { q: "{{userQuery}}" } }
"#;

const SMALL_AEGIS: &str = r#"=== main.yaml
apiVersion: 100monkeys.ai/v1
kind: Workflow
metadata: { name: small, version: "1.0.0" }
spec:
  context: { limit: 3, words: [a, b] }
  states:
    - name: first
      kind: Agent
      agent_id: helper
      input_template: "{{#each workflow.context.words}}{{this}}{{#unless @last}}, {{/unless}}{{/each}} {{intent}}"
    - name: ask
      kind: Human
      prompt: "{{first.output}}?"
      timeout: 5m
    - name: sub
      kind: Subworkflow
      workflow_id: other
      input: "{{ask.response}}"
      mode: blocking
      result_key: result
      transitions:
        - { condition: custom, expression: "{{len result.x}} > 2 && !(sub.output == \"y\")", target: first, feedback: "{{previous_error}}" }
        - { condition: always, target: ask }
      max_state_visits: 2
=== other.yaml
apiVersion: 100monkeys.ai/v1
kind: Workflow
metadata: { name: other, version: "1.0.0" }
spec:
  initial_state: ONLY
  states:
    ONLY:
      kind: ParallelAgents
      agents: [{ agent: helper, input: "{{input}}" }, { agent: nobody, input: "{{workflow.task}}" }]
      consensus: { strategy: majority, threshold: 0.5 }
      transitions:
        - { condition: consensus, threshold: 0.5, agreement: 0.1, target: ONLY }
=== helper.yaml
apiVersion: 100monkeys.ai/v1
kind: Agent
metadata: { name: helper, version: "1.0.0" }
spec:
  runtime: { language: python, version: "3.11", model: openai:m }
  task:
    instruction: Help.
    prompt_template: |
      {{#if instruction}}{{instruction}}{{/if}} {{input.x}} {{iteration_number}} {{previous_error}} {{context}}
    input_data: { x: 1 }
  context:
    - { type: text, content: "some text", description: d }
    - { type: file, path: ./notes.txt }
  execution:
    mode: iterative
    max_iterations: 3
    iteration_timeout: 10s
    validation:
      - { type: exit_code, expected: 0 }
      - { type: regex, pattern: "^[a-z]+$", target: output }
      - { type: json_schema, schema: { type: object, properties: { a: { type: string } } } }
      - { type: semantic, judge_agent: judge, criteria: good, threshold: 0.5 }
=== notes.txt
Some notes.
"#;

const SYSTEM_AEGIS: &str = r#"=== main.yaml
apiVersion: 100monkeys.ai/v1
kind: Workflow
metadata: { name: system, version: "1.0.0" }
spec:
  initial_state: RUN
  states:
    RUN:
      kind: System
      command: |
        set -e
        cat "$FILE" | grep '{{blackboard.word}}' > /tmp/x && echo "{{input.a}} $(date)" `id` || exit 3
      env: { FILE: "{{input.path}}", N: "{{json input}}" }
      workdir: "/{{input.dir}}"
      timeout: 1h30m
      transitions:
        - { condition: exit_code, value: 3, target: SET }
        - { condition: exit_code_non_zero, target: END }
    SET:
      kind: System
      command: update_blackboard
      env: { word: "{{RUN.output.stdout}}", list: '["{{RUN.exit_code}}"]' }
      transitions:
        - { condition: always, target: RUN }
      max_state_visits: 3
    END:
      kind: System
      command: "echo -n '{{RUN.stderr}}' \"{{word}}\" {{SET.status}}"
"#;

const SMALL_SIRENSPEC: &str = r#"=== main.yaml
version: "0.1"
env_file: .env
state: { count: 0, working: { seeded: [1, 2] } }
agents:
  a: { model: "openai:m", system: "{{ inputs.message }} {{ env.HOME | default('x') }} {{ seeded | json_or_default('[]') }}" }
  b: { model: "openai:m", system: "{{ first.output }} {{ item.name }} {{ index }}" }
nodes:
  first: { agent: a, writes: working.first.text }
  many:
    type: factory
    agent: b
    for_each: "{{ first.output | json_or_default('[{\"name\": 1}]') }}"
    on_failure: abort
  crowd:
    type: swrm
    agents: [a, a]
    synthesis: { agent: b, prompt: "{{ crowd.agents.0 }}" }
  best: { type: factory, agent: b, swarm_size: 3, best_of_n: { judge: a } }
  ask: { type: human, prompt: "{{ crowd.output }}?", timeout: 60, on_timeout: default, default: "no" }
  call: { type: tool, kind: http, url: "https://{{ env.HOST }}/x", method: GET }
edges:
  - { from: first, to: many, when: "len(working.first.text) > 3 and 'x' in working.first.text" }
  - { from: first, to: crowd }
  - { from: many, to: ask }
  - { from: crowd, to: ask, when: "_budget.total_tokens < 1000 or output.x[0] is None" }
input: { message: "hello", n: 3 }
"#;
