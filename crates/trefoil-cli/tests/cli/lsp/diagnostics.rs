//! Diagnostics while typing, over the whole folder.

use serde_json::json;

use super::{Client, rules};
use crate::world::Folder;

const WRITER: &str = "id: writer\nkind: llm\nmodel: { provider: openai, name: gpt-4o-mini }\ninstruction: Write.\nprompt: \"{{userQuery}}\"\n";
const PIPELINE: &str =
    "id: pipeline\nkind: sequential\nsteps:\n  - ref: writer\n    input: { userQuery: \"{{userQuery}}\" }\n";

fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("writer.yaml", WRITER).write("pipeline.yaml", PIPELINE);
    folder
}

#[test]
fn a_mistake_is_shown_while_it_is_there() {
    let (mut client, _) = Client::start(folder());
    client.open("pipeline.yaml");
    assert_eq!(rules(&client.diagnostics("pipeline.yaml")), [""; 0]);
    client.edit("pipeline.yaml", "ref: writer", "ref: wirter");
    let found = client.diagnostics("pipeline.yaml");
    assert_eq!(rules(&found), ["unknown-reference"]);
    assert_eq!(found[0]["severity"], 1);
    assert_eq!(client.slice("pipeline.yaml", &found[0]["range"]), "wirter");
    assert!(found[0]["message"].as_str().unwrap().contains("did you mean `writer`"), "{found:?}");
    client.edit("pipeline.yaml", "ref: wirter", "ref: writer");
    assert_eq!(rules(&client.diagnostics("pipeline.yaml")), [""; 0]);
}

#[test]
fn an_unsaved_change_shows_in_other_files() {
    let (mut client, _) = Client::start(folder());
    client.open("writer.yaml");
    assert_eq!(rules(&client.diagnostics("writer.yaml")), [""; 0]);
    client.edit("writer.yaml", "id: writer", "id: author");
    assert_eq!(rules(&client.diagnostics("pipeline.yaml")), ["unknown-reference"]);
    client.edit("writer.yaml", "id: author", "id: writer");
    assert_eq!(rules(&client.diagnostics("pipeline.yaml")), [""; 0]);
}

#[test]
fn a_closed_folder_has_no_findings_any_more() {
    let folder = folder();
    folder.write("pipeline.yaml", PIPELINE.replace("ref: writer", "ref: nobody"));
    let (mut client, _) = Client::start(folder);
    client.open("writer.yaml");
    assert_eq!(rules(&client.diagnostics("pipeline.yaml")), ["unknown-reference"]);
    client.tell("textDocument/didClose", json!({ "textDocument": { "uri": client.uri("writer.yaml") } }));
    assert_eq!(rules(&client.diagnostics("pipeline.yaml")), [""; 0]);
}

#[test]
fn columns_are_those_of_the_client() {
    let folder = Folder::new();
    folder.write(
        "a.yaml",
        "# \u{1f98a}\nid: a\nkind: llm\nmodel: { provider: openai, name: m }\ninstruction: \"\u{1f98a} {{#if }}\"\n",
    );
    let (mut client, _) = Client::start(folder);
    client.open("a.yaml");
    let found = client.diagnostics("a.yaml");
    let template = found.iter().find(|d| d["code"].as_str().unwrap().starts_with("template-")).unwrap();
    // `instruction: "` has 14 units, the fox two, the space one.
    assert!(template["range"]["start"]["character"].as_u64().unwrap() >= 17, "{template}");
    assert!(client.slice("a.yaml", &template["range"]).is_ascii());
}

#[test]
fn broken_yaml_is_shown_and_mended() {
    let (mut client, _) = Client::start(folder());
    client.open("writer.yaml");
    client.diagnostics("writer.yaml");
    client.edit("writer.yaml", "instruction: Write.", "instruction: [Write.");
    let found = client.diagnostics("writer.yaml");
    assert!(rules(&found).iter().any(|r| r.starts_with("yaml-")), "{found:?}");
    client.edit("writer.yaml", "instruction: [Write.", "instruction: Write.");
    assert_eq!(rules(&client.diagnostics("writer.yaml")), [""; 0]);
}

#[test]
fn the_folder_is_the_highest_with_manifests() {
    let folder = Folder::new();
    folder.write("agents/writer.yaml", WRITER).write("pipeline.yaml", PIPELINE);
    let (mut client, _) = Client::start(folder);
    client.open("agents/writer.yaml");
    client.diagnostics("writer.yaml");
    client.edit("agents/writer.yaml", "id: writer", "id: author");
    assert_eq!(rules(&client.diagnostics("pipeline.yaml")), ["unknown-reference"]);
}

#[test]
fn a_file_that_was_never_saved_counts() {
    let folder = Folder::new();
    folder.write("pipeline.yaml", PIPELINE);
    let (mut client, _) = Client::start(folder);
    client.open("pipeline.yaml");
    assert_eq!(rules(&client.diagnostics("pipeline.yaml")), ["unknown-reference"]);
    let document = json!({ "uri": client.uri("writer.yaml"), "languageId": "yaml", "version": 1, "text": WRITER });
    client.tell("textDocument/didOpen", json!({ "textDocument": document }));
    assert_eq!(rules(&client.diagnostics("pipeline.yaml")), [""; 0]);
}

#[test]
fn a_text_without_a_file_is_checked_alone() {
    let (mut client, _) = Client::start(folder());
    let open = |uri: &str, language: &str, text: &str| json!({ "textDocument": { "uri": uri, "languageId": language, "version": 1, "text": text } });
    client.tell("textDocument/didOpen", open("untitled:Untitled-2", "json", "{"));
    client.tell(
        "textDocument/didOpen",
        open("untitled:Untitled-1", "yaml", &WRITER.replace("instruction", "instrction")),
    );
    let told = client.wait(|m| m["method"] == "textDocument/publishDiagnostics");
    assert_eq!(told["params"]["uri"], "untitled:Untitled-1");
    let found = told["params"]["diagnostics"].as_array().unwrap().clone();
    assert!(rules(&found).contains(&"unknown-key"), "{found:?}");
    let change = json!({ "textDocument": { "uri": "untitled:Untitled-1", "version": 2 }, "contentChanges": [{ "text": WRITER }] });
    client.tell("textDocument/didChange", change);
    let told = client.wait(|m| m["method"] == "textDocument/publishDiagnostics");
    assert_eq!((&told["params"]["uri"], &told["params"]["diagnostics"]), (&json!("untitled:Untitled-1"), &json!([])));
}

#[test]
#[cfg(unix)]
fn a_folder_that_is_a_link_keeps_its_name() {
    let folder = Folder::new();
    folder.write(
        "real/a.yaml",
        "id: a\nkind: sequential\nsteps:\n  - ref: b\n    input: { userQuery: x }\noutput: { b: \"{{b}}\" }\n",
    );
    folder
        .write("real/b.yaml", "id: b\nkind: llm\nmodel: { provider: openai, name: m }\ninstruction: x\ncolour: red\n");
    std::os::unix::fs::symlink(folder.path().join("real"), folder.path().join("link")).unwrap();
    let mut client = Client::spawn(folder);
    let root = format!("{}/link", client.root());
    client.ask("initialize", json!({ "processId": null, "rootUri": root, "capabilities": {} }));
    client.tell("initialized", json!({}));
    client.open("link/a.yaml");
    let published = client.wait(|m| m["params"]["uri"].as_str().is_some_and(|uri| uri.ends_with("b.yaml")));
    assert_eq!(published["params"]["uri"], format!("{root}/b.yaml"), "it is not open, and yet in the client's folder");
    let params = client.at("link/a.yaml", "ref: ‸b");
    let found = client.ask("textDocument/definition", params);
    assert_eq!(client.places(&found), ["link/b.yaml:01 b"]);
}

#[test]
#[cfg(unix)]
fn paths_in_a_manifest_behind_a_link_stay_in_its_own_project() {
    let folder = Folder::new();
    let refers = "version: \"0.1\"\nnodes:\n  call: { type: workflow, ref: ../child.yaml }\nedges: []\n";
    folder.write("v/trefoil.toml", "").write("v/vendored/.git/HEAD", "").write("v/vendored/main.yaml", refers);
    folder.write("v/child.yaml", refers.replace("../child.yaml", "none.yaml")).write("v/flows/own.yaml", refers);
    std::os::unix::fs::symlink("../vendored/main.yaml", folder.path().join("v/flows/link.yaml")).unwrap();
    let (mut client, _) = Client::start(folder);
    for (file, outside) in [("own.yaml", false), ("link.yaml", true)] {
        client.open(&format!("v/flows/{file}"));
        let found = client.diagnostics(file);
        assert_eq!(rules(&found).contains(&"outside-project"), outside, "{file}: {found:?}");
    }
}

#[test]
fn other_yaml_gets_no_diagnostics() {
    let folder = folder();
    folder.write("compose.yaml", "services: {}\n").write("empty.yaml", "");
    folder.write("chart.yaml", "apiVersion: v1\nkind: Service\nname: {{ .Values.name }}\n---\nkind: Secret\n");
    let (mut client, _) = Client::start(folder);
    for name in ["compose.yaml", "empty.yaml", "chart.yaml"] {
        client.open(name);
        assert_eq!(rules(&client.diagnostics(name)), [""; 0], "{name}");
    }
    let document =
        json!({ "uri": "untitled:Untitled-1", "languageId": "yaml", "version": 1, "text": "services: {}\n" });
    client.tell("textDocument/didOpen", json!({ "textDocument": document }));
    let told = client.wait(|m| m["params"]["uri"] == "untitled:Untitled-1");
    assert_eq!(told["params"]["diagnostics"], json!([]));
}

/// A file that is being typed: its YAML is invalid, and earlier findings stay at their places.
#[test]
fn findings_stay_while_the_yaml_is_broken() {
    for (text, start, typed, rule) in [
        (
            super::AGNTZ.replace("{{writer}}", "{{wroter}}"),
            "    input: { topic",
            "    input: {{ topic",
            "unresolved-name",
        ),
        (super::AEGIS.replace("target: SHOW", "target: SHWO"), "    WRITE:\n", "    WRITE: {\n", "unknown-reference"),
        (super::SIRENSPEC.replace("to: write", "to: wrote"), "\"openai:gpt", "\"\"openai:gpt", "unknown-reference"),
    ] {
        let folder = Folder::new();
        folder.write("a.yaml", &text);
        let (mut client, _) = Client::start(folder);
        client.open("a.yaml");
        let before = client.diagnostics("a.yaml");
        let place = |client: &Client, all: &[serde_json::Value]| {
            let one = all.iter().find(|d| d["code"] == rule).unwrap_or_else(|| panic!("{all:#?}")).clone();
            (client.slice("a.yaml", &one["range"]), one["message"].clone())
        };
        let known = place(&client, &before);
        // A line is inserted above it, so that the findings must move.
        client.edit("a.yaml", start, &format!("# typing\n{typed}"));
        let broken = client.diagnostics("a.yaml");
        assert!(rules(&broken).iter().any(|r| r.starts_with("yaml-")), "{broken:#?}");
        let other: Vec<&str> = rules(&broken).into_iter().filter(|r| !r.starts_with("yaml-")).collect();
        assert_eq!(other, rules(&before), "nothing new, and nothing gone");
        assert_eq!(place(&client, &broken), known);
        client.edit("a.yaml", &format!("# typing\n{typed}"), start);
        assert_eq!(client.diagnostics("a.yaml").len(), before.len());
    }
}

#[test]
fn other_files_do_not_flicker_while_one_is_broken() {
    let (mut client, _) = Client::start(folder());
    client.open("writer.yaml");
    client.open("pipeline.yaml");
    assert_eq!(rules(&client.diagnostics("pipeline.yaml")), [""; 0]);
    assert_eq!(rules(&client.diagnostics("writer.yaml")), [""; 0]);
    client.edit("writer.yaml", "id: writer\n", "id: [wri\n");
    assert!(!client.diagnostics("writer.yaml").is_empty());
    assert_eq!(client.heard("pipeline.yaml"), 0, "nothing has changed there");
    client.edit("writer.yaml", "id: [wri\n", "id: author\n");
    assert_eq!(rules(&client.diagnostics("pipeline.yaml")), ["unknown-reference"]);
    client.edit("writer.yaml", "id: author\n", "id: writer\n");
    assert_eq!(rules(&client.diagnostics("pipeline.yaml")), [""; 0]);
    // Changes in another file are analysed meanwhile.
    client.edit("writer.yaml", "instruction: Write.", "instruction: [Write.");
    client.edit("pipeline.yaml", "ref: writer", "ref: nobody");
    assert_eq!(rules(&client.diagnostics("pipeline.yaml")), ["unknown-reference"]);
}
