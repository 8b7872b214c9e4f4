//! The origins of names without a declaration.

use serde_json::json;

use super::{Client, with};
use crate::world::Folder;

const HELPER: &str = "apiVersion: 100monkeys.ai/v1
kind: Agent
metadata: { name: helper, version: \"1.0.0\" }
spec:
  runtime: { model: smart }
  context:
    - { type: text, content: hello }
  task:
    instruction: Do it.
    prompt_template: \"\u{1f98a} {{instruction}} {{input}} {{context}} {{previous_error}}\"
  execution:
    max_iterations: 3
";

const REVIEW: &str = "apiVersion: 100monkeys.ai/v1
kind: Workflow
metadata: { name: review }
spec:
  context: { tone: plain }
  initial_state: ASK
  states:
    ASK:
      kind: Human
      prompt: ok?
      transitions:
        - { condition: input_equals, value: yes, target: WRITE, feedback: \"well done\" }
        - { condition: always, target: END, feedback: bad }
    WRITE:
      kind: Agent
      agent: helper
      input: \"{{state.feedback}} {{ASK.response}} {{workflow.context}} {{human.feedback}}\"
      transitions:
        - condition: custom
          expression: state_output.status == \"failed\"
          target: WRITE
        - { target: END }
    END:
      kind: System
      command: echo {{WRITE.output}} {{WRITE.status}}
";

fn to(client: &mut Client, name: &str, context: &str) -> Vec<String> {
    let found = with(client, "textDocument/definition", name, context, json!({}));
    client.places(&found)
}

#[test]
fn results_and_feedback_of_states_are_followed() {
    let folder = Folder::new();
    folder.write("helper.yaml", HELPER).write("review.yaml", REVIEW);
    let (mut client, _) = Client::start(folder);
    client.open("review.yaml");
    let mut to = |context: &str| to(&mut client, "review.yaml", context);
    // What produces the result of a state.
    assert_eq!(to("{{WRITE.out‸put"), ["helper.yaml:03 helper"]);
    assert_eq!(to("{{WRITE.sta‸tus"), ["helper.yaml:03 helper"]);
    assert_eq!(to("{{ASK.resp‸onse"), ["review.yaml:10 prompt"]);
    assert_eq!(to("state_output.sta‸tus =="), ["helper.yaml:03 helper"]);
    // The feedback on the way into this state, and on no other.
    assert_eq!(to("{{state.feed‸back"), ["review.yaml:12 feedback"]);
    assert_eq!(to("{{sta‸te.feedback"), ["review.yaml:14 WRITE"]);
    assert_eq!(to("{{human.feed‸back"), ["review.yaml:08 ASK"]);
    assert_eq!(to("workflow.con‸text"), ["review.yaml:05 context"]);
}

#[test]
fn names_of_an_agents_prompt_lead_to_its_keys() {
    let folder = Folder::new();
    folder.write("helper.yaml", HELPER).write("review.yaml", REVIEW);
    let (mut client, _) = Client::start(folder);
    client.open("helper.yaml");
    assert_eq!(to(&mut client, "helper.yaml", "{{instr‸uction}}"), ["helper.yaml:09 instruction"]);
    assert_eq!(to(&mut client, "helper.yaml", "{{con‸text}}"), ["helper.yaml:06 context"]);
    assert_eq!(to(&mut client, "helper.yaml", "{{previous‸_error}}"), ["helper.yaml:11 execution"]);
    // Nothing describes its input, so the origin is the state that passes it.
    assert_eq!(to(&mut client, "helper.yaml", "{{in‸put}}"), ["review.yaml:17 input"]);
    client.edit(
        "helper.yaml",
        "  task:\n",
        "  input_schema: { type: object, properties: { a: { type: string } } }\n  task:\n",
    );
    assert_eq!(to(&mut client, "helper.yaml", "{{in‸put}}"), ["helper.yaml:08 input_schema"]);
    // A tag that is being typed has no reference yet, so there is no origin.
    client.edit("helper.yaml", "{{instruction}}", "{{instruction");
    assert_eq!(to(&mut client, "helper.yaml", "\u{1f98a} {{instr‸uction"), [""; 0]);
}

#[test]
fn loops_inputs_and_answers_of_nodes_are_followed() {
    let folder = Folder::new();
    let flow = "version: \"0.1\"
env_file: .env
agents:
  worker: { model: \"openai:m\", system: \"\u{1f98a} Do {{ item.title }} {{ index }} {{ env.KEY }}\" }
  planner: { model: \"openai:m\", system: Plan. }
nodes:
  plan: { agent: planner, writes: working.rows }
  each:
    type: factory
    agent: worker
    for_each: \"{{ plan.output | json_or_default('[]') }}\"
    writes: output.all
edges:
  - { from: plan, to: each }
input: { message: hi }
";
    folder.write("a.yaml", flow).write(".env", "KEY=x\n");
    let (mut client, _) = Client::start(folder);
    client.open("a.yaml");
    let mut to = |context: &str| to(&mut client, "a.yaml", context);
    assert_eq!(to("{{ it‸em.title"), ["a.yaml:11 for_each"]);
    assert_eq!(to("{{ item.ti‸tle"), ["a.yaml:11 for_each"]);
    assert_eq!(to("{{ ind‸ex"), ["a.yaml:11 for_each"]);
    assert_eq!(to("{{ env.K‸EY"), ["a.yaml:02 env_file"]);
    assert_eq!(to("{{ plan.out‸put"), ["a.yaml:05 planner"]);
}

#[test]
fn the_input_of_an_agent_leads_to_who_gives_it() {
    let folder = Folder::new();
    folder.write(
        "a.yaml",
        "id: a\nkind: llm\nmodel: { provider: openai, name: m }\ninstruction: x\nprompt: \"{{userQuery}}\"\n",
    );
    folder.write("b.yaml", "id: b\nkind: sequential\nsteps:\n  - ref: a\n    input: { userQuery: hi }\n");
    let (mut client, _) = Client::start(folder);
    client.open("a.yaml");
    assert_eq!(to(&mut client, "a.yaml", "{{user‸Query}}"), ["b.yaml:05 input"]);
}
