//! What an editor shows in and next to a file: symbols, tokens, actions.

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
fn tokens_of_a_part_and_what_has_changed() {
    for (text, old, new) in [
        (super::AGNTZ, "{{topic}}.", "{{topic}} {{topic}}."),
        (super::AEGIS, "{{default WRITE.output 'nothing'}}", "{{WRITE.output}}"),
        (super::SIRENSPEC, "{{ inputs.audience | default('all') }}", "{{ inputs.audience }} {{ in"),
    ] {
        let mut client = one("a.yaml", text);
        let numbers =
            |data: &Value| -> Vec<u64> { data.as_array().unwrap().iter().map(|n| n.as_u64().unwrap()).collect() };
        let first = client.ask("textDocument/semanticTokens/full", document(&client, "a.yaml"));
        let mut known = numbers(&first["data"]);
        client.edit("a.yaml", old, new);
        let mut params = document(&client, "a.yaml");
        params["previousResultId"] = first["resultId"].clone();
        let delta = client.ask("textDocument/semanticTokens/full/delta", params.clone());
        for edit in delta["edits"].as_array().unwrap() {
            let start = edit["start"].as_u64().unwrap() as usize;
            let end = start + edit["deleteCount"].as_u64().unwrap() as usize;
            known.splice(start..end, numbers(&edit["data"]));
        }
        let all = client.ask("textDocument/semanticTokens/full", document(&client, "a.yaml"));
        assert_eq!(known, numbers(&all["data"]));
        assert!(delta["edits"][0]["data"].as_array().unwrap().len() < known.len(), "not all of them again");
        // If the client refers to unknown tokens, all tokens are sent.
        let again = client.ask("textDocument/semanticTokens/full/delta", params);
        assert_eq!(numbers(&again["data"]), known);
        // The tokens of a range.
        let line = client.at("a.yaml", &format!("‸{new}"))["position"]["line"].clone();
        let mut part = document(&client, "a.yaml");
        part["range"] = json!({ "start": { "line": line, "character": 0 }, "end": { "line": line, "character": 999 } });
        let part = client.ask("textDocument/semanticTokens/range", part);
        let part = numbers(&part["data"]);
        assert!(!part.is_empty() && part.len() < known.len() && part[0] == line.as_u64().unwrap(), "{part:?}");
    }
}

/// `line text` of every highlight, with `=` for a write and `*` for plain text.
fn highlighted(client: &mut Client, context: &str) -> Vec<String> {
    let params = client.at("a.yaml", context);
    let found = client.ask("textDocument/documentHighlight", params);
    let one = |h: &Value| {
        let mark = ["", "*", "", "="][h["kind"].as_u64().unwrap() as usize];
        let line = h["range"]["start"]["line"].as_u64().unwrap() + 1;
        format!("{line} {}{mark}", client.slice("a.yaml", &h["range"]))
    };
    found.as_array().unwrap().iter().map(one).collect()
}

#[test]
fn every_place_of_a_name_is_highlighted() {
    let mut client = one("a.yaml", super::AGNTZ);
    assert_eq!(highlighted(&mut client, "input: { top‸ic:"), ["12 topic", "13 topic", "17 topic="]);
    assert_eq!(highlighted(&mut client, "{{#i‸f topic"), ["13 #if*", "15 /if*"]);
    assert_eq!(highlighted(&mut client, "{{wri‸ter}}"), ["8 writer=", "18 writer"]);
    let mut client = one("a.yaml", super::AEGIS);
    assert_eq!(highlighted(&mut client, "    WRI‸TE:"), ["5 WRITE", "7 WRITE=", "15 WRITE", "16 WRITE"]);
    assert_eq!(highlighted(&mut client, "WRITE.sta‸tus"), ["15 status"]);
    let mut client = one("a.yaml", super::SIRENSPEC);
    assert_eq!(highlighted(&mut client, "len(working.out‸line)"), ["11 outline=", "16 outline"]);
    assert_eq!(highlighted(&mut client, "agent: pla‸nner"), ["3 planner=", "10 planner", "13 planner"]);
    assert_eq!(highlighted(&mut client, "Be sh‸ort"), [""; 0]);
    // A name without a declaration is highlighted as well.
    client.edit("a.yaml", "Be short.", "{{ env.KEY }} {{ env.KEY }} {{ env.OTHER }}");
    assert_eq!(highlighted(&mut client, "{{ env.K‸EY }} {{ env.KEY"), ["7 KEY", "7 KEY"]);
}

#[test]
fn what_is_unused_or_old_is_marked_where_the_client_shows_that() {
    let agntz = super::AGNTZ.replace("{ subject: string }", "{ subject: string, other: string }");
    let aegis = super::AEGIS.replace("kind: Workflow", "kind: Agent");
    let aegis = aegis.split("spec:").next().unwrap().replace("kind: Agent", "kind: AgentManifest");
    let aegis = format!("{aegis}spec: {{ runtime: {{ model: smart }}, task: {{ instruction: x }} }}\n");
    let siren = super::SIRENSPEC.replace("nodes:\n", "  nobody:\n    model: \"openai:m\"\n    system: x\nnodes:\n");
    for (text, tag) in [(agntz, 1), (aegis, 2), (siren, 1)] {
        for (marks, shown) in [(json!({ "valueSet": [1, 2] }), true), (json!({ "valueSet": [] }), false)] {
            let folder = Folder::new();
            folder.write("a.yaml", &text);
            let capabilities = json!({ "textDocument": { "publishDiagnostics": { "tagSupport": marks } } });
            let (mut client, _) = Client::start_as(folder, capabilities);
            client.open("a.yaml");
            let found = client.diagnostics("a.yaml");
            let marked = found.iter().any(|d| d["tags"] == json!([tag]));
            assert_eq!(marked, shown, "{found:#?}");
        }
    }
}

#[test]
fn a_fix_is_a_quick_fix_and_part_of_fixing_all() {
    let text = "id: a\nkind: llm\nmodel: { provider: openai, name: m }\ninstruction: Write.\ndescripton: Writes.\n";
    let mut client = one("a.yaml", text);
    let mut params = document(&client, "a.yaml");
    params["range"] = json!({ "start": { "line": 4, "character": 2 }, "end": { "line": 4, "character": 2 } });
    params["context"] = json!({ "diagnostics": [] });
    let actions = client.ask("textDocument/codeAction", params.clone());
    let titles: Vec<&str> = actions.as_array().unwrap().iter().map(|a| a["title"].as_str().unwrap()).collect();
    let find = |kind: &str| actions.as_array().unwrap().iter().find(|a| a["kind"] == kind && a["isPreferred"] == true);
    let fix = find("quickfix").unwrap_or_else(|| panic!("{titles:?}"));
    assert!(client.applied("a.yaml", &fix["edit"]).contains("\ndescription: Writes."), "{fix}");
    let allow =
        actions.as_array().unwrap().iter().find(|a| a["title"].as_str().unwrap().starts_with("allow `unknown-key`"));
    let allowed = client.applied("a.yaml", &allow.unwrap_or_else(|| panic!("{titles:?}"))["edit"]);
    assert!(allowed.contains("# trefoil: allow unknown-key\ndescripton: Writes."), "{allowed}");
    params["context"] = json!({ "diagnostics": [], "only": ["source.fixAll"] });
    let only = client.ask("textDocument/codeAction", params);
    assert!(only.as_array().unwrap().iter().all(|a| a["kind"] == "source.fixAll"), "{only}");
}

/// Findings that follow from a mistake are not fixed together with it, because that would only move the mistake.
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
