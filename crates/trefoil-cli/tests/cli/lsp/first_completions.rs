//! Completion in a new file: no dialect yet, unclosed braces.

use super::{Client, labels};
use crate::world::Folder;

const OTHER: &str = "id: other\nkind: llm\nmodel: { provider: openai, name: m }\ninstruction: x\ninputSchema: { q: string }\nprompt: \"{{q}}\"\n";

/// The completions at the bar of a text, in a folder with another manifest or in an empty one.
fn offered(text: &str, alone: bool) -> Vec<String> {
    let folder = Folder::new();
    if !alone {
        folder.write("other.yaml", OTHER);
    }
    folder.write("new.yaml", text.replace('‸', ""));
    let (mut client, _) = Client::start(folder);
    client.open("new.yaml");
    let params = client.at("new.yaml", text);
    labels(&client.ask("textDocument/completion", params))
}

fn has(text: &str, alone: bool, wanted: &[&str]) {
    let found = offered(text, alone);
    assert!(wanted.iter().all(|w| found.iter().any(|f| f == w)), "{text:?}: {found:?}");
}

#[test]
fn a_new_file_begins_with_what_a_format_needs() {
    has("‸", true, &["id", "kind", "apiVersion", "nodes"]);
    has("ki‸", true, &["kind"]);
    // Next to other manifests, the file probably has the same format.
    let beside = offered("‸", false);
    assert!(beside.contains(&"id".to_owned()) && !beside.contains(&"apiVersion".to_owned()), "{beside:?}");
    has("id: a\nki‸", true, &["kind"]);
    has("apiVersion: ‸", true, &["100monkeys.ai/v1"]);
    has("version: \"0.1\"\n‸", false, &["nodes", "agents"]);
    assert_eq!(offered("services: {}\n‸", false), [""; 0], "somebody else's");
}

#[test]
fn braces_need_not_be_closed_to_be_helped() {
    has("id: a\nkind: llm\nmodel: { ‸\ninstruction: x\n", false, &["provider", "name"]);
    has("id: a\nkind: llm\nmodel: { provider: ‸\ninstruction: x\n", false, &["openai"]);
    has("id: a\nkind: sequential\nsteps:\n  - ref: other\n    input: { ‸\n", false, &["q"]);
    has("id: a\nkind: llm\ninputSchema: { q: { type: s‸\n", false, &["string"]);
    has("id: a\nkind: llm\ninputSchema: { q: { type: s‸ } }\n", false, &["string"]);
    let edges = "version: \"0.1\"\nagents: { w: { model: \"x:y\" } }\nnodes: { a: { agent: w }, b: { agent: w } }\nedges:\n  - { from: a, to: ‸\n";
    assert_eq!(offered(edges, true), ["a", "b"]);
}

#[test]
fn a_condition_offers_names_before_anything_is_written() {
    let edge = "version: \"0.1\"\nagents: { w: { model: \"x:y\" } }\nnodes: { a: { agent: w, writes: working.plan }, b: { agent: w } }\nedges:\n  - from: a\n    to: b\n    when: ‸\n";
    has(edge, true, &["working.plan"]);
}

#[test]
fn a_comment_offers_what_it_can_ask_for() {
    assert_eq!(offered(&format!("# trefoil: ‸\n{OTHER}"), true), ["allow", "allow-file"]);
    assert_eq!(offered(&format!("# trefoil: allow-‸\n{OTHER}"), true), ["allow-file"]);
    has(&format!("# trefoil: allow unk‸\n{OTHER}"), true, &["unknown-key"]);
}
