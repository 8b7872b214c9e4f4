//! Diagnostics that a client pulls.

use serde_json::{Value, json};

use super::{AEGIS, AGNTZ, Client, SIRENSPEC, rules};
use crate::world::Folder;

fn pulling(folder: Folder) -> Client {
    let capabilities = json!({
        "textDocument": { "diagnostic": {}, "publishDiagnostics": { "tagSupport": { "valueSet": [1] } } },
        "workspace": { "diagnostics": { "refreshSupport": true } },
    });
    let (client, said) = Client::start_as(folder, capabilities);
    assert_eq!(said["capabilities"]["diagnosticProvider"]["interFileDependencies"], true);
    client
}

fn pull(client: &mut Client, name: &str, known: Option<&str>) -> Value {
    let params = json!({ "textDocument": { "uri": client.uri(name) }, "previousResultId": known });
    client.ask("textDocument/diagnostic", params)
}

#[test]
fn findings_of_an_open_file_are_asked_for() {
    for (text, good, bad, rule) in [
        (AGNTZ, "topic: \"{{subject}}\"", "topic: \"{{sub}}\"", "unresolved-name"),
        (AEGIS, "target: SHOW", "target: SHWO", "unknown-reference"),
        (SIRENSPEC, "agent: planner", "agent: plannr", "unknown-reference"),
    ] {
        let folder = Folder::new();
        folder.write("a.yaml", text);
        let mut client = pulling(folder);
        client.open("a.yaml");
        let first = pull(&mut client, "a.yaml", None);
        assert_eq!(first["kind"], "full");
        let before = first["items"].as_array().unwrap().len();
        client.edit("a.yaml", good, bad);
        let second = pull(&mut client, "a.yaml", first["resultId"].as_str());
        assert!(rules(second["items"].as_array().unwrap()).contains(&rule), "{second}");
        let again = pull(&mut client, "a.yaml", second["resultId"].as_str());
        assert_eq!(again, json!({ "kind": "unchanged", "resultId": second["resultId"] }));
        client.edit("a.yaml", bad, good);
        let third = pull(&mut client, "a.yaml", second["resultId"].as_str());
        assert_eq!(third["items"].as_array().map(Vec::len), Some(before));
    }
}

const CALLER: &str = "id: caller\nkind: sequential\nsteps:\n  - ref: writer\n";
const WRITER: &str = "id: writer\nkind: llm\nmodel: { provider: openai, name: m }\ninstruction: x\nprompt: y\n";

#[test]
fn files_that_are_not_open_are_told_of_and_others_are_asked_for_again() {
    let folder = Folder::new();
    folder.write("caller.yaml", CALLER).write("writer.yaml", WRITER);
    let mut client = pulling(folder);
    client.open("writer.yaml");
    client.edit("writer.yaml", "id: writer", "id: author");
    assert_eq!(rules(&client.diagnostics("caller.yaml")), ["unknown-reference"], "it is not open");
    // After opening, the client pulls them, and the sent ones are withdrawn.
    client.open("caller.yaml");
    assert_eq!(rules(&client.diagnostics("caller.yaml")), [""; 0]);
    let found = pull(&mut client, "caller.yaml", None);
    assert_eq!(rules(found["items"].as_array().unwrap()), ["unknown-reference"]);
    client.edit("writer.yaml", "id: author", "id: writer");
    let asked = client.wait(|m| m["method"] == "workspace/diagnostic/refresh");
    client.raw(&json!({ "jsonrpc": "2.0", "id": asked["id"], "result": null }).to_string());
    assert_eq!(pull(&mut client, "caller.yaml", None)["items"], json!([]));
}

#[test]
fn a_client_that_does_not_ask_is_told() {
    let (client, said) = Client::start(Folder::new());
    assert_eq!(said["capabilities"]["diagnosticProvider"], Value::Null);
    assert_eq!(client.finish(), Some(0));
}

#[test]
fn a_file_that_is_not_open_has_nothing_to_say() {
    let mut client = pulling(Folder::new());
    assert_eq!(pull(&mut client, "nowhere.yaml", None)["items"], json!([]));
}
