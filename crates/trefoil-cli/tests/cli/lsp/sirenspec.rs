//! Names in SirenSpec workflows: nodes, agents, inputs, written paths.

use serde_json::json;

use super::{Client, labels, with};
use crate::world::Folder;

const FLOW: &str = "version: \"0.1\"
agents:
  planner:
    model: \"openai:gpt-4o-mini\"
    system: \"Plan for {{ inputs.audience }}.\"
  writer:
    model: \"anthropic:claude-sonnet-4-6\"
    system: |
      Write from this plan:
      {{ plan.output | default('none') }}
nodes:
  plan:
    agent: planner
    writes: working.outline
  write:
    agent: writer
    writes: output.text
edges:
  - from: plan
    to: write
    when: len(working.outline) > 3
input:
  message: Hello
  audience: children
";

fn client() -> Client {
    let folder = Folder::new();
    folder.write("flow.yaml", FLOW);
    let (mut client, _) = Client::start(folder);
    client.open("flow.yaml");
    assert_eq!(super::rules(&client.diagnostics("flow.yaml")), [""; 0]);
    client
}

fn offered(client: &mut Client, context: &str) -> Vec<String> {
    let params = client.at("flow.yaml", context);
    labels(&client.ask("textDocument/completion", params))
}

#[test]
fn nodes_agents_inputs_and_filters_are_completed() {
    let mut client = client();
    assert_eq!(offered(&mut client, "agent: pla|nner"), ["planner", "writer"]);
    assert_eq!(offered(&mut client, "from: pl|an"), ["plan", "write"]);
    let inputs = offered(&mut client, "{{ inputs.|audience }}");
    assert!(inputs.contains(&"audience".to_owned()) && inputs.contains(&"message".to_owned()), "{inputs:?}");
    let names = offered(&mut client, "{{ pl|an.output");
    assert!(names.contains(&"plan".to_owned()), "{names:?}");
    assert_eq!(offered(&mut client, "plan.output | ‸default"), ["default('')", "json_or_default('[]')"]);
    let working = offered(&mut client, "len(working.|outline)");
    assert!(working.contains(&"outline".to_owned()), "{working:?}");
}

#[test]
fn definitions_reach_nodes_agents_and_inputs() {
    let mut client = client();
    let mut to = |context: &str| {
        let found = with(&mut client, "textDocument/definition", "flow.yaml", context, json!({}));
        client.places(&found)
    };
    assert_eq!(to("{{ pl|an.output"), ["flow.yaml:12 plan"]);
    assert_eq!(to("agent: pla|nner"), ["flow.yaml:03 planner"]);
    assert_eq!(to("to: wr|ite"), ["flow.yaml:15 write"]);
    assert_eq!(to("inputs.aud|ience"), ["flow.yaml:24 audience"]);
}

#[test]
fn what_several_nodes_write_is_defined_in_each() {
    let folder = Folder::new();
    let flow = "version: \"0.1\"
agents:
  a: { model: \"openai:m\", system: Go. }
  b: { model: \"openai:m\", system: \"Polish: {{ output.reply }}\" }
nodes:
  sort: { agent: a, writes: working.kind }
  refund: { agent: a, writes: output.reply }
  other: { agent: a, writes: output.reply }
  polish: { agent: b, writes: output.text }
edges:
  - { from: sort, to: refund, when: 'working.kind == \"refund\"' }
  - { from: sort, to: other, when: 'working.kind != \"refund\"' }
  - { from: refund, to: polish }
  - { from: other, to: polish }
input: { message: hi }
";
    folder.write("flow.yaml", flow);
    let (mut client, _) = Client::start(folder);
    client.open("flow.yaml");
    let found = with(&mut client, "textDocument/definition", "flow.yaml", "{{ output.re|ply", json!({}));
    assert_eq!(client.places(&found), ["flow.yaml:07 reply", "flow.yaml:08 reply"]);
}

#[test]
fn nodes_and_agents_are_renamed() {
    let mut client = client();
    let edit = with(&mut client, "textDocument/rename", "flow.yaml", "{{ pl|an.output", json!({ "newName": "sketch" }));
    let expected =
        FLOW.replace("  plan:", "  sketch:").replace("{{ plan.", "{{ sketch.").replace("from: plan", "from: sketch");
    assert_eq!(client.applied("flow.yaml", &edit), expected);
    let edit = with(&mut client, "textDocument/rename", "flow.yaml", "  pla|nner:", json!({ "newName": "thinker" }));
    assert_eq!(client.applied("flow.yaml", &edit), FLOW.replace("planner", "thinker"));
    let mut params = client.at("flow.yaml", "  pl|an:");
    params["newName"] = "write".into();
    client.try_ask("textDocument/rename", params).unwrap_err();
}

#[test]
fn the_model_of_an_agent_stands_beside_its_name() {
    let mut client = client();
    let range = json!({ "start": { "line": 0, "character": 0 }, "end": { "line": 99, "character": 0 } });
    let params = json!({ "textDocument": { "uri": client.uri("flow.yaml") }, "range": range });
    let hints = client.ask("textDocument/inlayHint", params);
    let labels: Vec<_> = hints.as_array().unwrap().iter().map(|h| h["label"].as_str().unwrap()).collect();
    assert_eq!(labels, ["openai:gpt-4o-mini", "anthropic:claude-sonnet-4-6"]);
}

#[test]
fn paths_to_write_to_are_completed() {
    let mut client = client();
    // First paths that are read but not written, then the node's own name, then paths that other nodes write.
    client.edit("flow.yaml", "{{ plan.output | default('none') }}", "{{ working.notes.short }}");
    let paths = offered(&mut client, "writes: working.out|line");
    let first = ["working.notes.short", "working.plan", "output.plan", "output.text", "working.outline"];
    assert_eq!(paths, first);
    client.edit("flow.yaml", "writes: working.outline", "writes: ");
    let paths = offered(&mut client, "agent: planner\n    writes: |\n");
    assert_eq!(paths[..3], ["working.notes.short", "working.outline", "working.plan"], "the edge reads it");
    client.edit("flow.yaml", "writes: \n", "writes: working.notes.short\n");
    // Parts of shared state can also be read by their own names.
    client.edit("flow.yaml", "{{ working.notes.short }}", "{{ notes. }}");
    assert_eq!(offered(&mut client, "{{ notes.| }}"), ["short"]);
}

#[test]
fn switches_are_true_or_false() {
    let mut client = client();
    client.edit("flow.yaml", "    writes: output.text\n", "    writes: output.text\n    streaming: t\n");
    assert_eq!(offered(&mut client, "streaming: t|")[..2], ["true", "false"]);
}

#[test]
fn an_agent_may_be_called_like_a_node() {
    let mut client = client();
    let new = json!({ "newName": "plan" });
    let edit = with(&mut client, "textDocument/rename", "flow.yaml", "  plan|ner:", new);
    assert_eq!(client.applied("flow.yaml", &edit), FLOW.replace("planner", "plan"));
    let mut taken = client.at("flow.yaml", "  plan|ner:");
    taken["newName"] = "writer".into();
    client.try_ask("textDocument/rename", taken).unwrap_err();
}

#[test]
fn an_input_with_a_meaning_of_its_own_keeps_its_name() {
    let mut client = client();
    let mut params = client.at("flow.yaml", "  mess|age: Hello");
    params["newName"] = "question".into();
    let refused = client.try_ask("textDocument/rename", params).unwrap_err();
    assert!(refused["message"].as_str().unwrap().contains("the check would"), "{refused}");
}
