//! Names in AEGIS manifests: states, agents in a folder next to the workflow, the Blackboard.

use serde_json::json;

use super::{Client, labels, with};
use crate::world::Folder;

const WRITER: &str = "apiVersion: 100monkeys.ai/v1
kind: Agent
metadata:
  name: draft-writer
  version: \"1.0.0\"
spec:
  runtime:
    model: smart
  task:
    instruction: Write a draft.
";

const WORKFLOW: &str = "apiVersion: 100monkeys.ai/v1
kind: Workflow
metadata:
  name: review
  version: \"1.0.0\"
spec:
  initial_state: WRITE
  states:
    WRITE:
      kind: Agent
      agent: draft-writer
      input: \"{{workflow.task}}\"
      transitions:
        - condition: on_success
          target: POLISH
    POLISH:
      kind: Agent
      agent: draft-writer
      input: |
        Polish this:
        {{WRITE.output}}
      transitions:
        - condition: custom
          expression: WRITE.status == \"failed\"
          target: WRITE
        - target: DONE
    DONE:
      kind: System
      command: echo \"{{POLISH.output}}\"
";

fn client() -> Client {
    let folder = Folder::new();
    folder.write("agents/writer.yaml", WRITER).write("review.yaml", WORKFLOW);
    let (mut client, _) = Client::start(folder);
    client.open("review.yaml");
    client
}

fn offered(client: &mut Client, context: &str) -> Vec<String> {
    let params = client.at("review.yaml", context);
    labels(&client.ask("textDocument/completion", params))
}

#[test]
fn states_agents_and_names_are_completed() {
    let mut client = client();
    let states = offered(&mut client, "target: POL|ISH");
    assert_eq!(states, ["WRITE", "POLISH", "DONE"]);
    assert_eq!(offered(&mut client, "agent: draft|-writer\n      input: \"{{w"), ["draft-writer"]);
    let names = offered(&mut client, "{{WR|ITE.output}}");
    assert!(names.contains(&"WRITE".to_owned()), "{names:?}");
    let after = offered(&mut client, "{{WRITE.|output}}");
    assert!(after.contains(&"output".to_owned()) && after.contains(&"status".to_owned()), "{after:?}");
    // A condition without braces.
    let after = offered(&mut client, "expression: WRITE.|status");
    assert!(after.contains(&"status".to_owned()), "{after:?}");
}

#[test]
fn definitions_reach_states_and_agents() {
    let mut client = client();
    let mut to = |context: &str| {
        let found = with(&mut client, "textDocument/definition", "review.yaml", context, json!({}));
        client.places(&found)
    };
    assert_eq!(to("{{WR|ITE.output}}"), ["review.yaml:09 WRITE"]);
    assert_eq!(to("target: POL|ISH"), ["review.yaml:16 POLISH"]);
    assert_eq!(to("agent: draft|-writer"), ["agents/writer.yaml:04 draft-writer"]);
    assert_eq!(to("expression: WR|ITE.status"), ["review.yaml:09 WRITE"]);
}

#[test]
fn a_state_is_renamed_in_transitions_templates_and_conditions() {
    let mut client = client();
    let edit = with(&mut client, "textDocument/rename", "review.yaml", "    WR|ITE:", json!({ "newName": "DRAFT" }));
    assert_eq!(client.applied("review.yaml", &edit), WORKFLOW.replace("WRITE", "DRAFT"));
    let mut params = client.at("review.yaml", "    WR|ITE:");
    params["newName"] = "POLISH".into();
    client.try_ask("textDocument/rename", params).unwrap_err();
}

#[test]
fn an_agent_is_renamed_from_its_own_file() {
    let mut client = client();
    client.open("agents/writer.yaml");
    let new = json!({ "newName": "author" });
    let edit = with(&mut client, "textDocument/rename", "agents/writer.yaml", "name: draft|-writer", new);
    assert_eq!(client.applied("review.yaml", &edit), WORKFLOW.replace("draft-writer", "author"));
    assert_eq!(client.applied("agents/writer.yaml", &edit), WRITER.replace("draft-writer", "author"));
}

const CRITIC: &str = "apiVersion: 100monkeys.ai/v1
kind: Agent
metadata: { name: critic, version: \"1.0.0\" }
spec:
  runtime: { model: judge }
  task: { instruction: Judge. }
  execution:
    validation:
      - type: json_schema
        schema:
          type: object
          required: [score, reasoning]
          properties:
            score: { type: number }
            reasoning: { type: string }
            summary:
              type: object
              properties:
                verdict: { enum: [good, bad] }
";

const CHILD: &str = "apiVersion: 100monkeys.ai/v1
kind: Workflow
metadata:
  name: child
  output_schema:
    type: object
    properties:
      article: { type: string }
  output_template:
    article: \"{{A.output}}\"
spec:
  states:
    - { name: A, kind: Agent, agent: critic }
";

const PARENT: &str = "apiVersion: 100monkeys.ai/v1
kind: Workflow
metadata: { name: parent }
spec:
  initial_state: REVIEW
  states:
    REVIEW:
      kind: Agent
      agent: critic
      input: x
      transitions:
        - condition: custom
          expression: state_output.output.score > 1
          target: PANEL
        - target: PANEL
    PANEL:
      kind: ParallelAgents
      agents: [{ agent: critic, input: x }]
      consensus: { strategy: majority }
      transitions: [{ target: ARTICLE }]
    ARTICLE:
      kind: Subworkflow
      workflow_id: child
      result_key: made
      transitions: [{ target: LAST }]
    LAST:
      kind: Agent
      agent: critic
      input: |
        {{REVIEW.output.reasoning}} {{REVIEW.output.summary.verdict}} {{PANEL.consensus.score}}
        {{PANEL.agents.0.output.reasoning}} {{ARTICLE.article}} {{blackboard.made.article}}
";

#[test]
fn what_a_state_answers_is_known_from_the_file_that_declares_it() {
    let folder = Folder::new();
    folder.write("agents/critic.yaml", CRITIC).write("child.yaml", CHILD).write("parent.yaml", PARENT);
    let (mut client, _) = Client::start(folder);
    client.open("parent.yaml");
    let mut offered = |context: &str| {
        let params = client.at("parent.yaml", context);
        labels(&client.ask("textDocument/completion", params))
    };
    assert_eq!(offered("{{REVIEW.output.|reasoning"), ["score", "reasoning", "summary"]);
    assert_eq!(offered("{{REVIEW.output.summary.|verdict"), ["verdict"]);
    let of_consensus = ["score", "confidence", "strategy", "binary_valid", "metadata"];
    assert_eq!(offered("{{PANEL.consensus.|score"), of_consensus);
    assert_eq!(offered("{{PANEL.agents.0.output.|reasoning"), ["score", "reasoning", "summary"]);
    assert_eq!(offered("{{ARTICLE.|article"), ["status", "error", "output", "article"]);
    assert_eq!(offered("{{blackboard.made.|article"), ["article"]);
    assert_eq!(offered("state_output.output.|score"), ["score", "reasoning", "summary"]);

    let mut to = |context: &str| {
        let found = with(&mut client, "textDocument/definition", "parent.yaml", context, json!({}));
        client.places(&found)
    };
    assert_eq!(to("{{REVIEW.output.reas|oning"), ["agents/critic.yaml:15 reasoning"]);
    assert_eq!(to("{{REVIEW.output.summary.ver|dict"), ["agents/critic.yaml:19 verdict"]);
    assert_eq!(to("{{PANEL.agents.0.output.reas|oning"), ["agents/critic.yaml:15 reasoning"]);
    assert_eq!(to("{{ARTICLE.art|icle"), ["child.yaml:08 article"]);
    assert_eq!(to("{{blackboard.made.art|icle"), ["child.yaml:08 article"]);
    let hover = with(&mut client, "textDocument/hover", "parent.yaml", "{{REVIEW.output.summary.ver|dict", json!({}));
    let text = hover["contents"]["value"].as_str().unwrap();
    assert!(text.contains("property") && text.contains("good") && text.contains("critic.yaml:19"), "{text}");
}

const LISTER: &str = "apiVersion: 100monkeys.ai/v1
kind: Agent
metadata: { name: lister, version: \"1.0.0\" }
spec:
  runtime: { model: smart }
  task: { instruction: List. }
  execution:
    validation:
      - type: json_schema
        schema:
          type: object
          properties:
            issues:
              type: array
              items:
                type: object
                properties:
                  severity: { type: string }
                  where: { type: object, properties: { line: { type: integer } } }
                  tags: { type: array, items: { type: object, properties: { label: { type: string } } } }
";

const LOOPS: &str = "apiVersion: 100monkeys.ai/v1
kind: Workflow
metadata: { name: loops }
spec:
  initial_state: LIST
  states:
    LIST:
      kind: Agent
      agent: lister
      input: x
      transitions: [{ target: LAST }]
    LAST:
      kind: Agent
      agent: lister
      input: |
        \u{1f98a} {{#each LIST.output.issues as |issue|}}
        - {{this.severity}} {{where.line}} {{issue.severity}} {{../LIST.output}}
        {{#with this.where}}{{line}}{{/with}}{{#each tags}}{{this.label}}{{/each}}
        {{/each}}
";

fn loops() -> Client {
    let folder = Folder::new();
    folder.write("lister.yaml", LISTER).write("loops.yaml", LOOPS);
    let (mut client, _) = Client::start(folder);
    client.open("loops.yaml");
    assert_eq!(super::rules(&client.diagnostics("loops.yaml")), [""; 0]);
    client
}

#[test]
fn members_of_an_item_are_completed_in_loops() {
    let mut client = loops();
    let offered = |client: &mut Client, context: &str| {
        let params = client.at("loops.yaml", context);
        labels(&client.ask("textDocument/completion", params))
    };
    let members = ["severity", "where", "tags"];
    assert_eq!(offered(&mut client, "{{this.‸severity}}"), members);
    assert_eq!(offered(&mut client, "{{issue.‸severity}}"), members);
    assert_eq!(offered(&mut client, "{{where.‸line}}"), ["line"]);
    assert_eq!(offered(&mut client, "{{‸where.line}}")[..3], members);
    assert_eq!(offered(&mut client, "this.where}}{{‸line}}")[..1], ["line"]);
    assert_eq!(offered(&mut client, "{{this.‸label}}"), ["label"]);
    let outside = offered(&mut client, "{{../‸LIST.output}}");
    assert!(outside.contains(&"LIST".to_owned()) && !outside.contains(&"severity".to_owned()), "{outside:?}");
    client.edit("loops.yaml", "{{issue.severity}}", "{{@i}}");
    assert_eq!(offered(&mut client, "{{@i‸}}"), ["@index", "@key", "@first", "@last", "@root"]);
    client.edit("loops.yaml", "{{@i}}", "{{issue.severity}}");
    // While it is being typed: first the tag is open, then the loop as well.
    client.edit("loops.yaml", "{{issue.severity}}", "{{issue.");
    assert_eq!(offered(&mut client, "{{issue.‸ {{../"), members);
    client.edit("loops.yaml", "{{issue.", "{{");
    assert_eq!(offered(&mut client, "{{‸ {{../")[..3], members);
    client.edit("loops.yaml", "{{ {{../LIST.output}}", "{{this.");
    assert_eq!(offered(&mut client, "{{where.line}} {{this.‸\n"), members);
    let rest = "{{#with this.where}}{{line}}{{/with}}{{#each tags}}{{this.label}}{{/each}}\n        {{/each}}\n";
    client.edit("loops.yaml", rest, "");
    assert_eq!(offered(&mut client, "{{where.line}} {{this.‸\n"), members);
}

#[test]
fn members_of_an_item_are_followed_and_renamed() {
    let mut client = loops();
    let mut to = |context: &str| {
        let found = with(&mut client, "textDocument/definition", "loops.yaml", context, json!({}));
        client.places(&found)
    };
    assert_eq!(to("{{this.sever‸ity}}"), ["lister.yaml:18 severity"]);
    assert_eq!(to("{{wh‸ere.line}}"), ["lister.yaml:19 where"]);
    assert_eq!(to("{{where.li‸ne}}"), ["lister.yaml:19 line"]);
    assert_eq!(to("where}}{{li‸ne}}"), ["lister.yaml:19 line"]);
    assert_eq!(to("{{this.lab‸el}}"), ["lister.yaml:20 label"]);
    let hover = with(&mut client, "textDocument/hover", "loops.yaml", "{{this.sever‸ity}}", json!({}));
    let text = hover["contents"]["value"].as_str().unwrap();
    assert!(text.contains("property") && text.contains("text") && text.contains("lister.yaml:18"), "{text}");
    let new = json!({ "newName": "weight" });
    let edit = with(&mut client, "textDocument/rename", "loops.yaml", "{{issue.sever‸ity}}", new);
    assert_eq!(client.applied("loops.yaml", &edit), LOOPS.replace("severity", "weight"));
    assert_eq!(client.applied("lister.yaml", &edit), LISTER.replace("severity", "weight"));
}

#[test]
fn words_of_templates_say_what_they_do() {
    let mut client = loops();
    let mut said = |context: &str| {
        let found = with(&mut client, "textDocument/hover", "loops.yaml", context, json!({}));
        (client.slice("loops.yaml", &found["range"]), found["contents"]["value"].as_str().unwrap().to_owned())
    };
    let (range, text) = said("{{#ea‸ch LIST");
    assert!(range.contains("each") && text.contains("once for every item"), "{range}: {text}");
    let (range, text) = said("{{th‸is.severity}}");
    assert!(range == "this" && text.contains("loop") && text.contains("severity"), "{range}: {text}");
}
