//! Values in completion and hover.

use serde_json::{Value, json};

use super::{AEGIS, AGNTZ, Client, SIRENSPEC, labels, one, with};
use crate::world::Folder;

fn offered(client: &mut Client, context: &str) -> Vec<String> {
    let params = client.at("a.yaml", context);
    labels(&client.ask("textDocument/completion", params))
}

fn said(client: &mut Client, context: &str) -> String {
    let found = with(client, "textDocument/hover", "a.yaml", context, json!({}));
    found["contents"]["value"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn models_of_the_folder_come_first() {
    let folder = Folder::new();
    let other = "id: other\nkind: llm\nmodel: { provider: openai, name: gpt-of-ours }\ninstruction: x\nprompt: y\n";
    folder.write("a.yaml", AGNTZ).write("other.yaml", other);
    let (mut client, _) = Client::start(folder);
    client.open("a.yaml");
    let names = offered(&mut client, "name: gpt-4o‸-mini }");
    assert_eq!(names[..2], ["gpt-4o-mini", "gpt-of-ours"]);
    assert!(!names.iter().any(|n| n.starts_with("claude")), "of this provider only: {names:?}");
    // While it is being typed, with open braces.
    client.edit("a.yaml", "name: gpt-4o-mini }", "name: ");
    assert_eq!(offered(&mut client, "provider: openai, name: ‸")[0], "gpt-of-ours");

    let mut client = one(SIRENSPEC);
    let names = offered(&mut client, "model: \"openai:gpt‸-4o-mini");
    assert!(names[0] == "openai:gpt-4o-mini" && names.iter().any(|n| n.starts_with("anthropic:")), "{names:?}");
    assert_eq!(offered(&mut client, "model: \"‸openai"), names, "at its beginning too");
    let params = client.at("a.yaml", "model: \"open‸ai:");
    let result = client.ask("textDocument/completion", params);
    let range = &result["items"][0]["textEdit"]["range"];
    assert_eq!(client.slice("a.yaml", range), "openai:gpt-4o-mini", "all of it is replaced");

    let agent = "apiVersion: 100monkeys.ai/v1\nkind: Agent\nmetadata: { name: a, version: \"1.0.0\" }\nspec:\n  runtime: { model:  }\n  task: { instruction: x }\n";
    let names = offered(&mut one(agent), "model: ‸ }");
    assert!(names[0] == "default" && names.contains(&"openai:gpt-5.4".to_owned()), "{names:?}");
}

#[test]
fn an_input_offers_what_it_can_be() {
    let folder = Folder::new();
    let writer = "id: writer\nkind: llm\nmodel: { provider: openai, name: m }\ninputSchema: { tone: { type: string, enum: [plain, formal] }, loud: { type: boolean } }\ninstruction: \"{{tone}} {{loud}}\"\nprompt: go\n";
    folder.write("writer.yaml", writer);
    folder.write(
        "a.yaml",
        "id: a\nkind: sequential\nsteps:\n  - ref: writer\n    input:\n      tone: pl\n      loud: t\n",
    );
    let (mut client, _) = Client::start(folder);
    client.open("a.yaml");
    assert_eq!(offered(&mut client, "tone: pl‸"), ["plain", "formal"]);
    assert_eq!(offered(&mut client, "loud: t‸"), ["true", "false"]);
    client.edit("a.yaml", "    input:\n      tone: pl\n      loud: t\n", "    input: { tone: ");
    assert_eq!(offered(&mut client, "{ tone: ‸"), ["plain", "formal"], "in braces that are open");
}

#[test]
fn a_comparison_offers_the_words_that_others_have() {
    let states = AEGIS.replace(
        "[{ condition: always, target: SHOW }]",
        "[{ condition: custom, expression: 'WRITE.kind == \"refund\"', target: SHOW }, { condition: custom, expression: 'WRITE.kind == \"\"', target: SHOW }, { condition: custom, expression: 'WRITE.status == ', target: SHOW }, { target: SHOW }]",
    );
    let mut client = one(&states);
    assert_eq!(offered(&mut client, "WRITE.kind == \"‸\"'"), ["refund"]);
    assert_eq!(offered(&mut client, "WRITE.status == ‸'"), ["\"success\"", "\"failed\""]);

    let flow = SIRENSPEC
        .replace("len(working.outline) > 3", "\"working.outline == 'refund'\"")
        .replace("to: write, when", "to: write, when: working.outline == }\n  - { from: plan, to: write, when");
    let mut client = one(&flow);
    assert_eq!(offered(&mut client, "working.outline == ‸}"), ["'refund'"]);

    let steps = AGNTZ.replace(
        "{ topic: \"{{subject}}\" }\n",
        "{ topic: \"{{subject}}\" }\n    when: \"{{subject}} == foxes && {{subject}} != \"\n",
    );
    let mut client = one(&steps);
    assert_eq!(offered(&mut client, "{{subject}} != ‸\""), ["foxes"]);
}

#[test]
fn members_that_nobody_declares_are_those_that_are_read() {
    let flow = SIRENSPEC.replace("Be short.", "{{ env.KEY }} {{ env. }} {{ _budget. }}").replace(
        "    agent: planner\n    writes: output.text\n",
        "    type: factory\n    agent: worker\n    for_each: \"{{ plan.output }}\"\n    writes: output.text\n",
    );
    let flow = flow.replace(
        "nodes:\n",
        "  worker: { model: \"openai:m\", system: \"\u{1f98a} {{ item.title }} {{ item. }} {{ i\" }\nnodes:\n",
    );
    let mut client = one(&flow);
    assert_eq!(offered(&mut client, "{{ env.‸ }}"), ["KEY"]);
    assert_eq!(offered(&mut client, "{{ _budget.‸ }}"), ["total_tokens", "estimated_usd"]);
    assert_eq!(offered(&mut client, "{{ item.‸ }}"), ["title"]);
    let names = offered(&mut client, "{{ i‸\" }");
    assert!(names.contains(&"item".to_owned()) && names.contains(&"_budget".to_owned()), "{names:?}");
    let folder = Folder::new();
    folder
        .write("b.yaml", AGNTZ.replace("{{topic}}.", "{{env.FROM_B}}"))
        .write("a.yaml", AGNTZ.replace("{{topic}}.", "{{env.}}"));
    let (mut client, _) = Client::start(folder);
    client.open("a.yaml");
    assert_eq!(offered(&mut client, "{{env.‸}}"), ["FROM_B"], "of the whole folder");
}

#[test]
fn hovering_a_value_says_what_it_means() {
    let mut client = one(AGNTZ);
    let text = said(&mut client, "kind: seq‸uential");
    assert!(text.starts_with("**sequential** · value of `kind`") && text.contains("`parallel`"), "{text}");
    let text = said(&mut client, "name: gpt-4o‸-mini");
    assert!(text.contains("model of `openai`") && text.contains("`OPENAI_API_KEY`"), "{text}");
    assert_eq!(said(&mut client, "prompt: g‸o"), "");
    let text = said(&mut one(AEGIS), "condition: alw‸ays");
    assert!(text.starts_with("**always** · value of `condition`"), "{text}");
    let mut client = one(SIRENSPEC);
    let text = said(&mut client, "\"openai:gpt‸-4o-mini");
    assert!(text.contains("model of `openai`"), "{text}");
    client.edit("a.yaml", "openai:gpt-4o-mini", "google:gemini");
    assert!(said(&mut client, "google:gem‸ini").contains("`GOOGLE_GENERATIVE_AI_API_KEY`"));
}

#[test]
fn hovering_a_name_says_what_its_schema_tells() {
    let schema = "inputSchema:\n  type: object\n  properties:\n    subject: { type: string, default: foxes, maxLength: 9, examples: [owls] }\n";
    let mut client = one(&AGNTZ.replace("inputSchema: { subject: string }\n", schema));
    for context in ["\"{{sub‸ject}}\"", "    sub‸ject: {"] {
        let text = said(&mut client, context);
        for part in ["default: `\"foxes\"`", "example: `\"owls\"`", "maxLength `9`"] {
            assert_eq!(text.matches(part).count(), 1, "{part}: {text}");
        }
    }
    let flow = SIRENSPEC.replace("Be short.", "{{ _budget.total_tokens }}");
    let text = said(&mut one(&flow), "{{ _bud‸get");
    assert!(text.contains("the run's usage so far"), "{text}");
    let text = with(&mut one(&flow), "textDocument/hover", "a.yaml", "Plan f‸or", json!({}));
    assert_eq!(text, Value::Null);
}
