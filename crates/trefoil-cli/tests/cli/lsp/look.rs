//! What an editor shows in and beside a file: symbols, tokens, actions.

use serde_json::{Value, json};

use super::Client;
use crate::world::Folder;

fn one(name: &str, text: &str) -> Client {
    let folder = Folder::new();
    folder.write(name, text);
    let (mut client, _) = Client::start(folder);
    client.open(name);
    client
}

fn document(client: &Client, name: &str) -> Value {
    json!({ "textDocument": { "uri": client.uri(name) } })
}

/// `text:kind` of every token.
fn tokens(client: &mut Client, name: &str) -> Vec<String> {
    let legend = ["op", "key", "var", "prop", "fn", "str", "num", "comment"];
    let result = client.ask("textDocument/semanticTokens/full", document(client, name));
    let data: Vec<u64> = result["data"].as_array().unwrap().iter().map(|n| n.as_u64().unwrap()).collect();
    let (mut line, mut start) = (0, 0);
    let mut out = Vec::new();
    for token in data.chunks(5) {
        start = if token[0] == 0 { start + token[1] } else { token[1] };
        line += token[0];
        let at = |character| json!({ "line": line, "character": character });
        let text = client.slice(name, &json!({ "start": at(start), "end": at(start + token[2]) }));
        out.push(format!("{text}:{}", legend[token[3] as usize]));
    }
    out
}

#[test]
fn placeholders_have_tokens_in_every_kind_of_scalar() {
    let text = "id: a\nkind: llm\nmodel: { provider: openai, name: m }\n\
        instruction: |\n  \u{1f98a} {{userQuery}}\n\n  {{#if userQuery == 'x'}}y{{/if}}\n\
        prompt: \"a \\\"{{userQuery}}\\\"\"\n";
    let mut client = one("a.yaml", text);
    assert_eq!(
        tokens(&mut client, "a.yaml").join(" "),
        "{{:op userQuery:var }}:op {{:op #if:key userQuery:var =:op =:op 'x':str }}:op {{:op /if:key }}:op {{:op \
         userQuery:var }}:op"
    );
}

#[test]
fn a_fix_is_a_quick_fix_and_part_of_fixing_all() {
    let text = "id: a\nkind: llm\nmodel: { provider: openai, name: m }\ninstrution: Write.\n";
    let mut client = one("a.yaml", text);
    let mut params = document(&client, "a.yaml");
    params["range"] = json!({ "start": { "line": 3, "character": 2 }, "end": { "line": 3, "character": 2 } });
    params["context"] = json!({ "diagnostics": [] });
    let actions = client.ask("textDocument/codeAction", params.clone());
    let titles: Vec<&str> = actions.as_array().unwrap().iter().map(|a| a["title"].as_str().unwrap()).collect();
    let find = |kind: &str| actions.as_array().unwrap().iter().find(|a| a["kind"] == kind && a["isPreferred"] == true);
    if let Some(fix) = find("quickfix") {
        assert!(client.applied("a.yaml", &fix["edit"]).contains("\ninstruction: Write."), "{fix}");
    }
    let allow =
        actions.as_array().unwrap().iter().find(|a| a["title"].as_str().unwrap().starts_with("allow `unknown-key`"));
    let allowed = client.applied("a.yaml", &allow.unwrap_or_else(|| panic!("{titles:?}"))["edit"]);
    assert!(allowed.contains("# trefoil: allow unknown-key\ninstrution: Write."), "{allowed}");
    params["context"] = json!({ "diagnostics": [], "only": ["source.fixAll"] });
    let only = client.ask("textDocument/codeAction", params);
    assert!(only.as_array().unwrap().iter().all(|a| a["kind"] == "source.fixAll"), "{only}");
}

/// What follows from a mistake is not mended along with it: that would only move the mistake.
#[test]
fn fixing_all_leaves_no_new_finding() {
    let folder = Folder::new();
    let pipeline = "id: main\nkind: sequential\nsteps:\n  - ref: writter\noutput: { text: \"{{writer.draft}}\" }\n";
    folder.write("main.yaml", pipeline).write(
        "writer.yaml",
        "id: writer\nkind: llm\nmodel: { provider: openai, name: m }\ninstruction: Write.\nprompt: Go.\n\
         outputSchema: { draft: string }\n",
    );
    let (mut client, _) = Client::start(folder);
    client.open("main.yaml");
    let mut params = document(&client, "main.yaml");
    params["range"] = json!({ "start": { "line": 0, "character": 0 }, "end": { "line": 0, "character": 0 } });
    params["context"] = json!({ "diagnostics": [], "only": ["source.fixAll"] });
    let actions = client.ask("textDocument/codeAction", params);
    assert_eq!(actions.as_array().map(Vec::len), Some(1), "{actions}");
    assert_eq!(client.applied("main.yaml", &actions[0]["edit"]), pipeline.replace("writter", "writer"));
}
