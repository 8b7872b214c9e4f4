//! Start and end of a session, and invalid messages.

use serde_json::{Value, json};

use super::Client;
use crate::world::Folder;

#[test]
fn a_conversation_from_beginning_to_end() {
    let (client, result) = Client::start(Folder::new());
    assert_eq!(result["capabilities"]["positionEncoding"], "utf-16");
    assert_eq!(result["serverInfo"]["name"], "trefoil");
    assert_eq!(client.finish(), Some(0));
}

#[test]
fn bytes_are_counted_where_the_client_can() {
    let mut client = Client::spawn(Folder::new());
    let capabilities = json!({ "general": { "positionEncodings": ["utf-16", "utf-8"] } });
    let result = client.ask("initialize", json!({ "processId": null, "rootUri": null, "capabilities": capabilities }));
    assert_eq!(result["capabilities"]["positionEncoding"], "utf-8");
}

#[test]
fn an_exit_without_shutdown_is_a_failure() {
    let (mut client, _) = Client::start(Folder::new());
    client.tell("exit", Value::Null);
    assert_eq!(client.exit_code(), Some(1));
    let (mut client, _) = Client::start(Folder::new());
    client.hang_up();
    assert_eq!(client.exit_code(), Some(1));
}

#[test]
fn nothing_is_answered_before_initialize_and_after_shutdown() {
    let code = |result: Result<Value, Value>| result.unwrap_err()["code"].clone();
    let mut client = Client::spawn(Folder::new());
    assert_eq!(code(client.try_ask("textDocument/hover", json!({}))), -32002);
    client.ask("initialize", json!({ "processId": null, "rootUri": null, "capabilities": {} }));
    assert_eq!(code(client.try_ask("initialize", json!({ "capabilities": {} }))), -32600);
    client.ask("shutdown", Value::Null);
    assert_eq!(code(client.try_ask("textDocument/hover", json!({}))), -32600);
}

#[test]
fn messages_that_make_no_sense_are_answered_and_survived() {
    let (mut client, _) = Client::start(Folder::new());
    client.raw("this is no JSON");
    assert_eq!(client.wait(|m| m["id"].is_null() && m.get("error").is_some())["error"]["code"], -32700);
    client.raw(r#"{"jsonrpc": "2.0", "id": {"a": 1}, "method": 3}"#);
    assert_eq!(client.wait(|m| m["id"].is_null() && m.get("error").is_some())["error"]["code"], -32700);
    let code = |result: Result<Value, Value>| result.unwrap_err()["code"].clone();
    assert_eq!(code(client.try_ask("textDocument/nonsense", json!({}))), -32601);
    assert_eq!(code(client.try_ask("textDocument/codeAction", json!({ "textDocument": 3 }))), -32602);
    assert_eq!(code(client.try_ask("textDocument/codeAction", json!([]))), -32602);
    client.tell("textDocument/didChange", json!({ "textDocument": "?" }));
    client.tell("textDocument/didOpen", Value::Null);
    // A file that is not open, and a document without a file.
    for uri in ["file:///nowhere/x.yaml", "untitled:Untitled-1"] {
        let symbols = client.ask("textDocument/documentSymbol", json!({ "textDocument": { "uri": uri } }));
        assert_eq!(symbols, Value::Null);
    }
    assert_eq!(client.finish(), Some(0));
}

#[test]
fn positions_outside_of_the_text_do_no_harm() {
    let folder = Folder::new();
    folder.write("a.yaml", "id: a\nkind: llm\n");
    let (mut client, _) = Client::start(folder);
    client.open("a.yaml");
    let uri = client.uri("a.yaml");
    for (line, character) in [(0u32, 4_000_000_000u32), (4_000_000_000, 0), (2, 0)] {
        let position = json!({ "line": line, "character": character });
        let range = json!({ "start": position, "end": { "line": 0, "character": 0 } });
        let params = json!({ "textDocument": { "uri": uri }, "range": range, "context": { "diagnostics": [] } });
        client.ask("textDocument/codeAction", params);
        let change = json!({
            "textDocument": { "uri": uri, "version": 2 },
            "contentChanges": [{ "range": range, "text": "\n" }],
        });
        client.tell("textDocument/didChange", change);
    }
    assert_eq!(client.finish(), Some(0));
}

#[test]
fn changes_on_disk_are_asked_for_and_looked_at() {
    let folder = Folder::new();
    folder.write("a.yaml", "id: a\nkind: sequential\nsteps:\n  - ref: b\n");
    let mut client = Client::spawn(folder);
    let capabilities = json!({ "workspace": { "didChangeWatchedFiles": { "dynamicRegistration": true } } });
    client.ask("initialize", json!({ "processId": null, "rootUri": client.root(), "capabilities": capabilities }));
    client.tell("initialized", json!({}));
    let asked = client.wait(|m| m["method"] == "client/registerCapability");
    assert_eq!(asked["params"]["registrations"][0]["method"], "workspace/didChangeWatchedFiles");
    client.raw(&json!({ "jsonrpc": "2.0", "id": asked["id"], "result": null }).to_string());
    client.open("a.yaml");
    assert_eq!(super::rules(&client.diagnostics("a.yaml")), ["unknown-reference"]);
    client
        .folder
        .write("b.yaml", "id: b\nkind: llm\nmodel: { provider: openai, name: m }\ninstruction: x\nprompt: y\n");
    let changes = json!([{ "uri": client.uri("b.yaml"), "type": 1 }]);
    client.tell("workspace/didChangeWatchedFiles", json!({ "changes": changes }));
    assert_eq!(super::rules(&client.diagnostics("a.yaml")), [""; 0]);
    assert_eq!(client.finish(), Some(0));
}

#[test]
fn a_length_that_cannot_be_ends_the_conversation_and_no_more() {
    for header in ["Content-Length: 99999999999999\r\n\r\n{}", "Content-Length: -1\r\n\r\n{}", "GET / HTTP/1.1\r\n\r\n"]
    {
        let mut client = Client::spawn(Folder::new());
        client.bytes(header.as_bytes());
        assert_eq!(client.exit_code(), Some(1), "{header:?}");
    }
}

#[test]
fn headers_may_be_written_otherwise() {
    let mut client = Client::spawn(Folder::new());
    let content = r#"{"jsonrpc":"2.0","id":"a","method":"textDocument/hover","params":{}}"#;
    let typed = "Content-Type: application/vscode-jsonrpc; charset=utf-8";
    client.bytes(format!("{typed}\r\ncontent-length:{}\r\n\r\n{content}", content.len()).as_bytes());
    assert_eq!(client.wait(|m| m["id"] == "a")["error"]["code"], -32002);
    // A second message that starts in the same write and arrives in two parts.
    let (head, tail) = content.split_at(20);
    client.bytes(format!("Content-Length: {}\r\n\r\n{head}", content.len()).as_bytes());
    client.bytes(tail.as_bytes());
    assert_eq!(client.wait(|m| m["id"] == "a")["error"]["code"], -32002);
}
