//! A client that is not on this machine: it sees the files below one folder, by their paths in it, and nothing else.

use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use trefoil_lsp::server::{MessageSink, ProtocolMessage, serve_folder};
use trefoil_project::folder_files::FolderFiles;

/// Longer than any request takes on a slow machine.
const LIMIT: Duration = Duration::from_secs(60);

const PARENT: &str =
    "id: parent\nkind: sequential\nsteps:\n  - ref: child\n  - ref: helper\noutput:\n  text: \"{{child}}\"\n";
const CHILD: &str = "id: child\nkind: llm\nmodel: { provider: openai, name: gpt-5.4 }\ninstruction: Say {{userQuery}} and {{nobody}}.\n";
const HELPER: &str = "id: helper\nkind: llm\nmodel: { provider: openai, name: gpt-5.4 }\ninstruction: Help.\n";

struct Answers(Sender<String>);

impl MessageSink for Answers {
    fn send_message(&mut self, json: &str) -> bool {
        self.0.send(json.to_owned()).is_ok()
    }
}

struct ForeignClient {
    project: tempfile::TempDir,
    to_server: Sender<ProtocolMessage>,
    answers: Receiver<String>,
    /// Everything that has arrived, as text.
    seen: Vec<String>,
    next: i64,
}

impl ForeignClient {
    /// A client of `flows` in a project that has files beside it.
    fn new() -> Self {
        let project = tempfile::tempdir().unwrap();
        let flows = project.path().join("flows");
        std::fs::create_dir_all(flows.join("agents")).unwrap();
        std::fs::write(project.path().join("trefoil.toml"), "").unwrap();
        std::fs::write(project.path().join("outside.yaml"), HELPER.replace("helper", "outside")).unwrap();
        std::fs::write(flows.join("parent.yaml"), PARENT).unwrap();
        std::fs::write(flows.join("agents/child.yaml"), CHILD).unwrap();
        std::fs::write(flows.join("agents/helper.yaml"), HELPER).unwrap();
        let folder = FolderFiles::below_folder(&flows).unwrap();
        let (to_server, mut incoming) = channel();
        let (outgoing, answers) = channel();
        std::thread::spawn(move || serve_folder(folder, &mut incoming, &mut Answers(outgoing)));
        let mut client = Self { project, to_server, answers, seen: Vec::new(), next: 0 };
        // Whatever a client says about folders, it has no say in them.
        let begun = client.ask(
            "initialize",
            json!({
                "processId": null,
                "rootUri": "file:///etc",
                "workspaceFolders": [{ "uri": "file:///etc", "name": "etc" }],
                "initializationOptions": { "store": "/etc/runs.db" },
                "capabilities": {
                    "workspace": { "workspaceEdit": { "documentChanges": true, "resourceOperations": ["create"] } },
                    "textDocument": { "publishDiagnostics": { "relatedInformation": true } },
                },
            }),
        );
        let capabilities = &begun["result"]["capabilities"];
        assert!(capabilities["hoverProvider"].as_bool().unwrap(), "{begun}");
        for absent in ["codeLensProvider", "executeCommandProvider", "workspace"] {
            assert!(capabilities[absent].is_null(), "{absent}: {begun}");
        }
        client.tell("initialized", json!({}));
        client.tell(
            "workspace/didChangeWorkspaceFolders",
            json!({ "event": {
            "added": [{ "uri": "file:///etc", "name": "etc" }], "removed": [{ "uri": "file:///", "name": "all" }],
        } }),
        );
        client
    }

    fn send(&mut self, message: &Value) {
        self.to_server.send(ProtocolMessage::from_json(message.to_string().as_bytes())).unwrap();
    }

    fn tell(&mut self, method: &str, params: Value) {
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    fn ask(&mut self, method: &str, params: Value) -> Value {
        self.next += 1;
        let id = self.next;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        self.wait_message(|message| message["id"] == id)
    }

    fn wait_message(&mut self, is_wanted: impl Fn(&Value) -> bool) -> Value {
        let until = Instant::now() + LIMIT;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let text = self.answers.recv_timeout(left).expect("no answer in time");
            let message: Value = serde_json::from_str(&text).unwrap();
            self.seen.push(text);
            if is_wanted(&message) {
                return message;
            }
        }
    }

    fn open(&mut self, uri: &str, text: &str) {
        let document = json!({ "uri": uri, "languageId": "yaml", "version": 1, "text": text });
        self.tell("textDocument/didOpen", json!({ "textDocument": document }));
    }

    fn wait_diagnostics(&mut self, uri: &str) -> Value {
        self.wait_message(|message| {
            message["method"] == "textDocument/publishDiagnostics" && message["params"]["uri"] == uri
        })
    }

    /// No text that has arrived shows where the folder is.
    fn assert_hidden(&self) {
        let place = self.project.path().canonicalize().unwrap().display().to_string();
        for shown in [place.as_str(), place.trim_start_matches('/')] {
            for text in &self.seen {
                assert!(!text.contains(shown), "{shown} is in {text}");
            }
        }
    }
}

fn at(uri: &str, line: u32, character: u32) -> Value {
    json!({ "textDocument": { "uri": uri }, "position": { "line": line, "character": character } })
}

#[test]
fn files_are_named_by_their_paths_below_the_folder() {
    let mut client = ForeignClient::new();
    client.open("file:///parent.yaml", PARENT);
    let found = client.wait_diagnostics("file:///agents/child.yaml");
    assert!(found["params"]["diagnostics"].to_string().contains("nobody"), "{found}");
    let definition = client.ask("textDocument/definition", at("file:///parent.yaml", 3, 10));
    assert_eq!(definition["result"][0]["uri"], "file:///agents/child.yaml", "{definition}");
    let references = client.ask("textDocument/references", {
        let mut params = at("file:///parent.yaml", 3, 10);
        params["context"] = json!({ "includeDeclaration": true });
        params
    });
    assert!(references["result"].as_array().unwrap().len() >= 2, "{references}");
    let hover = client.ask("textDocument/hover", at("file:///parent.yaml", 6, 12));
    assert!(hover["result"]["contents"]["value"].as_str().unwrap().contains("child"), "{hover}");
    let completion = client.ask("textDocument/completion", at("file:///parent.yaml", 6, 11));
    assert!(completion["result"]["items"].to_string().contains("child"), "{completion}");
    let mut rename = at("file:///parent.yaml", 3, 10);
    rename["newName"] = json!("kid");
    let rename = client.ask("textDocument/rename", rename);
    let changed: Vec<&String> = rename["result"]["changes"].as_object().unwrap().keys().collect();
    assert!(changed.iter().any(|uri| *uri == "file:///agents/child.yaml"), "{rename}");
    let mut taken = at("file:///parent.yaml", 3, 10);
    taken["newName"] = json!("helper");
    let refused = client.ask("textDocument/rename", taken);
    assert_eq!(refused["error"]["message"], "`helper` is already used in parent.yaml:5", "{refused}");
    for (method, params) in [
        ("textDocument/documentLink", json!({ "textDocument": { "uri": "file:///parent.yaml" } })),
        ("textDocument/documentSymbol", json!({ "textDocument": { "uri": "file:///parent.yaml" } })),
        ("workspace/symbol", json!({ "query": "" })),
        (
            "textDocument/codeAction",
            json!({
                "textDocument": { "uri": "file:///parent.yaml" }, "context": { "diagnostics": [] },
                "range": { "start": { "line": 0, "character": 0 }, "end": { "line": 9, "character": 0 } },
            }),
        ),
    ] {
        let answer = client.ask(method, params);
        assert!(answer["error"].is_null(), "{answer}");
    }
    client.assert_hidden();
}

#[test]
fn nothing_outside_the_folder_is_opened_or_named() {
    let mut client = ForeignClient::new();
    let outside = client.project.path().join("outside.yaml");
    let absolute = format!("file://{}", outside.display());
    #[cfg(unix)]
    std::os::unix::fs::symlink(&outside, client.project.path().join("flows/link.yaml")).unwrap();
    for uri in
        ["file:///../outside.yaml", "file:///%2e%2e/outside.yaml", "file:////etc/passwd", "untitled:a", &absolute]
            .into_iter()
            .chain(if cfg!(unix) { Some("file:///link.yaml") } else { None })
    {
        client.open(uri, CHILD);
        let refused = client.ask("textDocument/hover", at(uri, 0, 0));
        let is_refused = refused["error"]["code"] == -32602;
        // An absolute path is one below the folder, where nothing is.
        let is_empty = uri == absolute && (refused["result"].is_null() && refused["error"].is_null() || is_refused);
        assert!(is_refused || is_empty, "{uri}: {refused}");
    }
    // What a text refers to outside may be checked, but has no URI.
    let far = PARENT.replace("ref: child", "ref: ../outside.yaml");
    client.open("file:///parent.yaml", &far);
    let links = client.ask("textDocument/documentLink", json!({ "textDocument": { "uri": "file:///parent.yaml" } }));
    assert!(links["error"].is_null() && !links.to_string().contains("outside"), "{links}");
    client.ask("textDocument/definition", at("file:///parent.yaml", 3, 12));
    let symbols = client.ask("workspace/symbol", json!({ "query": "" }));
    assert!(symbols["result"].to_string().contains("child"), "{symbols}");
    for command in ["textDocument/codeLens", "workspace/executeCommand"] {
        let params = json!({ "textDocument": { "uri": "file:///parent.yaml" }, "command": "trefoil.run",
            "arguments": ["file:///parent.yaml"] });
        let refused = client.ask(command, params);
        assert_eq!(refused["error"]["code"], -32601, "{refused}");
    }
    for text in &client.seen {
        let is_named =
            ["file:///link.yaml", "file:///outside.yaml", "/etc", "/.."].iter().any(|uri| text.contains(uri));
        assert!(!is_named, "{text}");
    }
    client.assert_hidden();
}

#[test]
fn no_action_creates_a_file_and_the_session_ends_with_its_client() {
    let mut client = ForeignClient::new();
    let text = PARENT.replace("ref: child", "ref: newcomer");
    client.open("file:///parent.yaml", &text);
    let actions = client.ask(
        "textDocument/codeAction",
        json!({
            "textDocument": { "uri": "file:///parent.yaml" }, "context": { "diagnostics": [] },
            "range": { "start": { "line": 3, "character": 9 }, "end": { "line": 3, "character": 17 } },
        }),
    );
    assert!(!actions.to_string().contains("\"create\""), "{actions}");
    client.assert_hidden();
    let malformed = ProtocolMessage::from_json(b"{");
    client.to_server.send(malformed).unwrap();
    let refused = client.wait_message(|message| message["error"]["code"] == -32700);
    assert!(refused["id"].is_null(), "{refused}");
    assert!(!Path::new("newcomer.yaml").exists());
    let ForeignClient { to_server, answers, .. } = client;
    drop(to_server);
    let until = Instant::now() + LIMIT;
    while Instant::now() < until {
        let answer = answers.recv_timeout(Duration::from_millis(100));
        if matches!(answer, Err(RecvTimeoutError::Disconnected)) {
            return;
        }
    }
    panic!("the server goes on without its client");
}
