//! The language server over the real protocol.

mod aegis;
mod agntz;
mod client;
mod create;
mod diagnostics;
mod file_features;
mod first_completions;
mod last_run;
mod lifecycle;
mod origins;
mod outline;
mod pull;
mod signature;
mod sirenspec;
mod values;

use serde_json::{Value, json};

use client::{Client, labels, rules};

/// Sends a request for the place of the bar in `context`, with more parameters.
fn with(client: &mut Client, method: &str, name: &str, context: &str, more: Value) -> Value {
    let mut params = client.at(name, context);
    for (key, value) in more.as_object().unwrap() {
        params[key] = value.clone();
    }
    client.ask(method, params)
}

/// Sends a request for a whole file.
fn whole(client: &mut Client, method: &str, name: &str) -> Value {
    let params = json!({ "textDocument": { "uri": client.uri(name) } });
    client.ask(method, params)
}

/// A small manifest of each dialect, with a multi-line text and the names that the tests use.
const AGNTZ: &str = "# A pipeline
# of two steps.
id: pipeline
kind: sequential
inputSchema: { subject: string }
steps:
  - agent:
      id: writer
      kind: llm
      model: { provider: openai, name: gpt-4o-mini }
      instruction: |
        \u{1f98a} Write about {{topic}}.
        {{#if topic == 'foxes'}}
        With care.
        {{/if}}
      prompt: go
    input: { topic: \"{{subject}}\" }
output: { text: \"{{writer}}\" }
";

const AEGIS: &str = "apiVersion: 100monkeys.ai/v1
kind: Workflow
metadata: { name: review }
spec:
  initial_state: WRITE
  states:
    WRITE:
      kind: System
      command: echo hi
      transitions: [{ condition: always, target: SHOW }]
    SHOW:
      kind: System
      command: |
        echo done
        # \u{1f98a} {{#if (eq WRITE.status 'success')}}
        # {{default WRITE.output 'nothing'}}
        # {{/if}}
";

const SIRENSPEC: &str = "version: \"0.1\"
agents:
  planner:
    model: \"openai:gpt-4o-mini\"
    system: |
      \u{1f98a} Plan for {{ inputs.audience | default('all') }}.
      Be short.
nodes:
  plan:
    agent: planner
    writes: working.outline
  write:
    agent: planner
    writes: output.text
edges:
  - { from: plan, to: write, when: len(working.outline) > 3 }
input: { message: Hello, audience: children }
";

/// A client with one of them open as `a.yaml`.
fn one(text: &str) -> Client {
    let folder = crate::world::Folder::new();
    folder.write("a.yaml", text);
    let (mut client, _) = Client::start(folder);
    client.open("a.yaml");
    client
}
