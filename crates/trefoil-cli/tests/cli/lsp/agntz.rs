//! Names in agntz manifests: placeholders, steps, agents in other files.

use serde_json::{Value, json};

use super::{Client, labels, with};
use crate::world::Folder;

const RESEARCHER: &str = "id: web-researcher
kind: llm
model: { provider: openai, name: gpt-4o-mini }
inputSchema:
  topic: string
instruction: Look into {{topic}}.
prompt: \"{{topic}}\"
outputSchema:
  summary: string
  verdict:
    type: string
    enum: [good, bad]
";

const PIPELINE: &str = "id: pipeline
kind: sequential
inputSchema:
  subject: string
steps:
  - ref: web-researcher
    input: { topic: \"{{subject}}\" }
  - agent:
      id: editor
      kind: llm
      model: { provider: anthropic, name: claude-sonnet-5 }
      instruction: |
        Edit:
        {{notes}}
      prompt: go
    input:
      notes: \"{{webResearcher.summary}}\"
    when: \"{{web-researcher.verdict}} == good\"
output:
  text: \"{{editor}}\"
";

fn client() -> Client {
    let folder = Folder::new();
    folder.write("researcher.yaml", RESEARCHER).write("pipeline.yaml", PIPELINE);
    let (mut client, _) = Client::start(folder);
    client.open("pipeline.yaml");
    // It is skipped for a bad verdict; there are no other findings.
    assert_eq!(super::rules(&client.diagnostics("pipeline.yaml")), ["maybe-undefined"]);
    client
}

fn offered(client: &mut Client, context: &str) -> Vec<String> {
    let params = client.at("pipeline.yaml", context);
    labels(&client.ask("textDocument/completion", params))
}

#[test]
fn names_and_properties_are_completed_in_every_kind_of_scalar() {
    let mut client = client();
    let names = offered(&mut client, "notes: \"{{|webRes");
    assert!(names.contains(&"webResearcher".to_owned()) && names.contains(&"subject".to_owned()), "{names:?}");
    assert_eq!(offered(&mut client, "{{webResearcher.|summary"), ["summary", "verdict"]);
    // An unclosed tag in a plain scalar, which is invalid YAML.
    client.edit("pipeline.yaml", "\"{{editor}}\"", "{{ ed");
    let names = offered(&mut client, "text: {{ ed|");
    assert!(names.contains(&"editor".to_owned()) && names.contains(&"webResearcher".to_owned()), "{names:?}");
    client.edit("pipeline.yaml", "{{ ed", "see {{ editor");
    let names = offered(&mut client, "see {{ ed|itor");
    assert!(names.contains(&"editor".to_owned()), "{names:?}");
    client.edit("pipeline.yaml", "see {{ editor", "'{{webResearcher.'");
    assert_eq!(offered(&mut client, "'{{webResearcher.|'"), ["summary", "verdict"]);
    // In a block scalar, where only the agent's own input is available.
    client.edit("pipeline.yaml", "{{notes}}", "{{no");
    let names = offered(&mut client, "{{no|\n");
    assert!(names.contains(&"notes".to_owned()) && !names.contains(&"editor".to_owned()), "{names:?}");
}

#[test]
fn names_are_completed_in_brackets_that_are_still_open() {
    let mut client = client();
    let mut now = "{ topic: \"{{subject}}\" }".to_owned();
    for (text, context) in [
        ("{ topic: \"{{su\" }", "{ topic: \"{{su|\" }"),
        ("{ topic: \"{{su }", "{ topic: \"{{su| }"),
        ("{ topic: \"{{su", "{ topic: \"{{su|"),
        ("{ topic: {{su", "{ topic: {{su|"),
    ] {
        client.edit("pipeline.yaml", &now, text);
        let names = offered(&mut client, context);
        assert!(names.contains(&"subject".to_owned()), "{text}: {names:?}");
        now = text.to_owned();
    }
}

#[test]
fn an_item_takes_the_place_of_what_is_written() {
    let mut client = client();
    let params = client.at("pipeline.yaml", "{{webResearcher.su|mmary}}");
    let result = client.ask("textDocument/completion", params);
    let item = result["items"].as_array().unwrap().iter().find(|i| i["label"] == "verdict").unwrap().clone();
    let edit = json!({ "changes": { client.uri("pipeline.yaml"): [item["textEdit"]] } });
    assert!(client.applied("pipeline.yaml", &edit).contains("{{webResearcher.verdict}}"), "{item}");
}

#[test]
fn conditions_offer_names_and_the_values_of_an_enum() {
    let mut client = client();
    assert_eq!(offered(&mut client, "when: \"{{web-researcher.|verdict"), ["summary", "verdict"]);
    assert_eq!(offered(&mut client, "verdict}} == |good"), ["good", "bad"]);
}

#[test]
fn ids_keys_values_and_rules_are_completed() {
    let mut client = client();
    let ids = offered(&mut client, "- ref: web|-researcher");
    assert!(ids.contains(&"web-researcher".to_owned()) && ids.contains(&"pipeline".to_owned()), "{ids:?}");
    client.edit("pipeline.yaml", "- ref: web-researcher", "- ref: ");
    let ids = offered(&mut client, "- ref: |\n");
    assert!(ids.contains(&"web-researcher".to_owned()), "{ids:?}");
    client.edit("pipeline.yaml", "- ref: ", "- ref: web-researcher");
    let kinds = offered(&mut client, "kind: seq|uential");
    assert!(kinds.contains(&"parallel".to_owned()), "{kinds:?}");
    client.edit("pipeline.yaml", "output:\n", "max\noutput:\n");
    let keys = offered(&mut client, "max|\n");
    assert!(keys.contains(&"maxIterations".to_owned()) && !keys.contains(&"steps".to_owned()), "{keys:?}");
    client.edit("pipeline.yaml", "max\n", "# trefoil: allow unk\n");
    let rules = offered(&mut client, "allow unk|\n");
    assert!(rules.contains(&"unknown-key".to_owned()), "{rules:?}");
}

#[test]
fn hover_says_what_a_name_is() {
    let mut client = client();
    let text = with(&mut client, "textDocument/hover", "pipeline.yaml", "{{webResearcher.sum|mary}}", json!({}));
    let shown = text["contents"]["value"].as_str().unwrap();
    assert!(shown.contains("text") && shown.contains("always defined"), "{shown}");
    let text = with(&mut client, "textDocument/hover", "pipeline.yaml", "- ref: web|-res", json!({}));
    let shown = text["contents"]["value"].as_str().unwrap();
    assert!(shown.contains("web-researcher") && shown.contains("researcher.yaml:1"), "{shown}");
    let text = with(&mut client, "textDocument/hover", "pipeline.yaml", "kin|d: sequential", json!({}));
    assert!(text["contents"]["value"].as_str().unwrap().contains("sequential"), "{text}");
    client.edit("pipeline.yaml", "kind: sequential", "kind: sequential\nowner: me");
    let text = with(&mut client, "textDocument/hover", "pipeline.yaml", "ow|ner: me", json!({}));
    assert!(text["contents"]["value"].as_str().unwrap().contains("unknown-key"), "{text}");
    assert_eq!(with(&mut client, "textDocument/hover", "pipeline.yaml", "prompt: g|o", json!({})), Value::Null);
}

#[test]
fn definitions_and_references_go_both_ways_and_across_files() {
    let mut client = client();
    let mut to = |context: &str| {
        let found = with(&mut client, "textDocument/definition", "pipeline.yaml", context, json!({}));
        client.places(&found)
    };
    assert_eq!(to("{{webRe|searcher.summary"), ["pipeline.yaml:06 web-researcher"]);
    assert_eq!(to("{{webResearcher.sum|mary"), ["researcher.yaml:09 summary"]);
    assert_eq!(to("- ref: web|-researcher"), ["researcher.yaml:01 web-researcher"]);
    assert_eq!(to("\"{{sub|ject}}"), ["pipeline.yaml:04 subject"]);
    assert_eq!(to("{{edi|tor}}"), ["pipeline.yaml:09 editor"]);
    let context = json!({ "context": { "includeDeclaration": true } });
    let found =
        with(&mut client, "textDocument/references", "pipeline.yaml", "- ref: web|-researcher", context.clone());
    let all = [
        "pipeline.yaml:06 web-researcher",
        "pipeline.yaml:17 webResearcher",
        "pipeline.yaml:18 web-researcher",
        "researcher.yaml:01 web-researcher",
    ];
    assert_eq!(client.places(&found), all);
    client.open("researcher.yaml");
    let found = with(&mut client, "textDocument/references", "researcher.yaml", "id: web|-researcher", context.clone());
    assert_eq!(client.places(&found), all, "from the other end");
    let found = with(&mut client, "textDocument/references", "researcher.yaml", "  sum|mary: string", context);
    assert_eq!(client.places(&found), ["pipeline.yaml:17 summary", "researcher.yaml:09 summary"]);
}

#[test]
fn a_rename_keeps_both_forms_of_an_id_in_all_files() {
    let mut client = client();
    let new = json!({ "newName": "deep-search" });
    let edit = with(&mut client, "textDocument/rename", "pipeline.yaml", "- ref: web|-researcher", new);
    let pipeline = client.applied("pipeline.yaml", &edit);
    let expected = PIPELINE.replace("web-researcher", "deep-search").replace("webResearcher", "deepSearch");
    assert_eq!(pipeline, expected);
    assert_eq!(client.applied("researcher.yaml", &edit), RESEARCHER.replace("web-researcher", "deep-search"));
}

#[test]
fn an_input_is_renamed_where_it_is_read() {
    let mut client = client();
    let new = json!({ "newName": "theme" });
    let edit = with(&mut client, "textDocument/rename", "pipeline.yaml", "  sub|ject: string", new);
    assert_eq!(client.applied("pipeline.yaml", &edit), PIPELINE.replace("subject", "theme"));
}

#[test]
fn names_that_cannot_be_are_refused() {
    let mut client = client();
    let mut refused = |context: &str, new: &str| {
        let mut params = client.at("pipeline.yaml", context);
        params["newName"] = new.into();
        client.try_ask("textDocument/rename", params).unwrap_err()["message"].as_str().unwrap().to_owned()
    };
    for bad in ["two words", "a.b", "", "true", "1st"] {
        refused("- agent:\n      id: edi|tor", bad);
    }
    // The other step's name in both forms, and the input's name.
    for taken in ["web-researcher", "webResearcher", "subject"] {
        refused("- agent:\n      id: edi|tor", taken);
    }
    assert!(refused("prompt: g|o", "x").contains("nothing here"));
}

#[test]
fn what_can_be_renamed_is_shown_first() {
    let mut client = client();
    let found = with(&mut client, "textDocument/prepareRename", "pipeline.yaml", "{{webRe|searcher.summary", json!({}));
    assert_eq!(found["placeholder"], "webResearcher");
    assert_eq!(with(&mut client, "textDocument/prepareRename", "pipeline.yaml", "prompt: g|o", json!({})), Value::Null);
}

#[test]
fn symbols_are_a_tree() {
    let mut client = client();
    let result = with(&mut client, "textDocument/documentSymbol", "pipeline.yaml", "id: pipe|line", json!({}));
    fn names(symbols: &Value) -> Vec<String> {
        let one = |s: &Value| {
            let inner = names(&s["children"]);
            let name = s["name"].as_str().unwrap();
            if inner.is_empty() { name.to_owned() } else { format!("{name}({})", inner.join(" ")) }
        };
        symbols.as_array().map(|all| all.iter().map(one).collect()).unwrap_or_default()
    }
    assert_eq!(names(&result), ["pipeline(subject webResearcher editor(notes) text)"]);
}

#[test]
fn the_model_of_an_agent_stands_beside_its_name() {
    let mut client = client();
    let range = json!({ "start": { "line": 0, "character": 0 }, "end": { "line": 99, "character": 0 } });
    let params = json!({ "textDocument": { "uri": client.uri("pipeline.yaml") }, "range": range });
    let hints = client.ask("textDocument/inlayHint", params);
    assert_eq!(hints[0]["label"], "openai:gpt-4o-mini", "{hints}");
    assert_eq!(hints[0]["position"], json!({ "line": 5, "character": 23 }));
}

#[test]
fn a_property_is_renamed_where_its_schema_names_it_again() {
    let text = "id: a\nkind: llm\nmodel: { provider: openai, name: m }\ninputSchema:\n  type: object\n  required: [repo, \
                number]\n  properties:\n    repo: { type: string }\n    number: { type: integer }\n  examples:\n    - { \
                repo: x, number: 1 }\ninstruction: Look at {{number}} of {{repo}}.\n";
    let folder = Folder::new();
    folder.write("a.yaml", text);
    let (mut client, _) = Client::start(folder);
    client.open("a.yaml");
    let new = json!({ "newName": "pr" });
    let edit = with(&mut client, "textDocument/rename", "a.yaml", "    num|ber: {", new);
    assert_eq!(client.applied("a.yaml", &edit), text.replace("number", "pr"));
}

#[test]
fn a_schema_offers_what_it_speaks_of_itself() {
    let folder = Folder::new();
    let agent = "id: a
kind: llm
model: { provider: openai, name: gpt-4o-mini }
instruction: Go.
inputSchema:
  type: object
  properties:
    tone: { type: string, enum: [plain, \"very formal\"], default: p }
    loud: { type: boolean, default: f }
    long: { type: string }
  required: [tone, l]
outputSchema:
  type: object
  properties: { title: { type: string }, body: { type: string } }
  required:
    - t
";
    folder.write("a.yaml", agent);
    let (mut client, _) = Client::start(folder);
    client.open("a.yaml");
    let mut offered = |context: &str| {
        let params = client.at("a.yaml", context);
        labels(&client.ask("textDocument/completion", params))
    };
    assert_eq!(offered("required: [tone, l|]"), ["loud", "long"]);
    assert_eq!(offered("required:\n    - t|"), ["title", "body"]);
    assert_eq!(offered("default: p|"), ["plain", "very formal"]);
    assert_eq!(offered("default: f|"), ["true", "false"]);
}

#[test]
fn what_a_step_hands_on_keeps_its_properties() {
    let mut client = client();
    client.edit("pipeline.yaml", "notes: \"{{webResearcher.summary}}\"", "notes: \"{{webResearcher}}\"");
    client.edit("pipeline.yaml", "{{notes}}", "{{notes.}}");
    assert_eq!(offered(&mut client, "{{notes.|}}"), ["summary", "verdict"]);
    // With anything besides the placeholder, it is a text.
    client.edit("pipeline.yaml", "notes: \"{{webResearcher}}\"", "notes: \"see {{webResearcher}}\"");
    assert_eq!(offered(&mut client, "{{notes.|}}"), [""; 0]);
}
