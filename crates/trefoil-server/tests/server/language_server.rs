//! The language server over a websocket, as a page uses it.

use std::path::Path;
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value as Json, json};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};
use trefoil_server::{KeyRights, KeyScope, KeyScopes, ServingPhase};

use crate::test_server::{BODY_LIMIT, TestServer};

/// Longer than any request takes on a slow machine.
const LIMIT: Duration = Duration::from_secs(60);
/// The most sessions of a key.
const MOST: usize = 8;

const PARENT: &str = "id: parent\nkind: sequential\nsteps:\n  - ref: child\noutput:\n  text: \"{{child}}\"\n";
const CHILD: &str =
    "id: child\nkind: llm\nmodel: { provider: openai, name: gpt-5.4 }\ninstruction: Say {{userQuery}}, {{nobody}}.\n";

struct EditorSocket(WebSocketStream<MaybeTlsStream<TcpStream>>);

/// What the server answers instead of a socket.
#[derive(Debug)]
struct Refusal {
    status: u16,
    body: Json,
}

fn key_protocol(key: &str) -> String {
    let key = key.strip_prefix("Bearer ").unwrap_or(key);
    format!("trefoil.lsp, trefoil.key.{}", BASE64_URL_SAFE_NO_PAD.encode(key))
}

async fn connect(server: &TestServer, headers: &[(&'static str, &str)]) -> Result<EditorSocket, Refusal> {
    let url = format!("{}/api/v1/language-server", server.url.replace("http://", "ws://"));
    let mut request = url.into_client_request().unwrap();
    for (name, value) in headers {
        request.headers_mut().insert(*name, value.parse().unwrap());
    }
    match connect_async(request).await {
        Ok((socket, response)) => {
            assert_eq!(response.headers()["sec-websocket-protocol"], "trefoil.lsp");
            Ok(EditorSocket(socket))
        }
        Err(Error::Http(response)) => {
            let body = response.body().clone().unwrap_or_default();
            Err(Refusal { status: response.status().as_u16(), body: serde_json::from_slice(&body).unwrap_or_default() })
        }
        Err(error) => panic!("{error}"),
    }
}

async fn open_socket(server: &TestServer) -> EditorSocket {
    connect(server, &[("sec-websocket-protocol", "trefoil.lsp")]).await.unwrap()
}

impl EditorSocket {
    async fn send(&mut self, message: Json) {
        self.0.send(Message::text(message.to_string())).await.unwrap();
    }

    async fn wait_message(&mut self, is_wanted: impl Fn(&Json) -> bool) -> Json {
        let wait = async {
            loop {
                let Message::Text(text) = self.0.next().await.expect("the socket was closed").unwrap() else {
                    continue;
                };
                let message: Json = serde_json::from_str(&text).unwrap();
                if is_wanted(&message) {
                    return message;
                }
            }
        };
        tokio::time::timeout(LIMIT, wait).await.expect("no answer in time")
    }

    async fn ask(&mut self, id: i64, method: &str, params: Json) -> Json {
        self.send(json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })).await;
        self.wait_message(|message| message["id"] == id).await
    }

    async fn initialize(&mut self) {
        let begun = self.ask(0, "initialize", json!({ "processId": null, "rootUri": null, "capabilities": {} })).await;
        assert_eq!(begun["result"]["serverInfo"]["name"], "trefoil", "{begun}");
        self.send(json!({ "jsonrpc": "2.0", "method": "initialized", "params": {} })).await;
    }

    async fn open_text(&mut self, uri: &str, text: &str) {
        let document = json!({ "uri": uri, "languageId": "yaml", "version": 1, "text": text });
        let params = json!({ "textDocument": document });
        self.send(json!({ "jsonrpc": "2.0", "method": "textDocument/didOpen", "params": params })).await;
    }

    /// Why the server closes the socket.
    async fn wait_closed(&mut self) -> String {
        let wait = async {
            loop {
                match self.0.next().await {
                    Some(Ok(Message::Close(Some(frame)))) => {
                        return format!("{} {}", u16::from(frame.code), frame.reason);
                    }
                    Some(Ok(_)) => {}
                    None | Some(Err(_)) => return "cut".to_owned(),
                }
            }
        };
        tokio::time::timeout(LIMIT, wait).await.expect("the socket stays open")
    }
}

fn new_project() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("parent.yaml"), PARENT).unwrap();
    std::fs::write(folder.path().join("child.yaml"), CHILD).unwrap();
    folder
}

fn at(line: u32, character: u32) -> Json {
    json!({ "textDocument": { "uri": "file:///parent.yaml" }, "position": { "line": line, "character": character } })
}

async fn refused_keyed(server: &TestServer, key: &str) -> Refusal {
    let refused = connect(server, &[("sec-websocket-protocol", &key_protocol(key))]).await;
    refused.err().expect("the socket is open")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_gets_diagnostics_completion_and_hover() {
    let folder = new_project();
    let server = TestServer::start_editable(folder.path(), false).await;
    let mut socket = open_socket(&server).await;
    socket.initialize().await;
    socket.open_text("file:///parent.yaml", PARENT).await;
    let is_of_child = |message: &Json| message["params"]["uri"] == "file:///child.yaml";
    let found = socket.wait_message(is_of_child).await;
    assert!(found["params"]["diagnostics"].to_string().contains("nobody"), "{found}");
    let completion = socket.ask(1, "textDocument/completion", at(5, 11)).await;
    assert!(completion["result"]["items"].to_string().contains("\"child\""), "{completion}");
    let hover = socket.ask(2, "textDocument/hover", at(5, 12)).await;
    assert!(hover["result"]["contents"]["value"].as_str().unwrap().contains("child"), "{hover}");
    let definition = socket.ask(3, "textDocument/definition", at(3, 10)).await;
    assert_eq!(definition["result"][0]["uri"], "file:///child.yaml", "{definition}");
    assert!(!found.to_string().contains(&folder.path().display().to_string()), "{found}");

    // The page need not say that it has saved another file.
    let file = server.api("GET", "/flows/child/files").await.json()["files"][0].clone();
    let body = json!({ "text": CHILD.replace(", {{nobody}}", ""), "version": file["version"] });
    let saved = server.send(server.request("PUT", "/api/v1/files/child.yaml").body(body.to_string())).await;
    assert_eq!(saved.status, 200, "{}", saved.text);
    let found = socket.wait_message(is_of_child).await;
    assert!(!found["params"]["diagnostics"].to_string().contains("nobody"), "{found}");

    let outside = json!({ "textDocument": { "uri": "file:///../x.yaml" }, "position": { "line": 0, "character": 0 } });
    let refused = socket.ask(4, "textDocument/hover", outside).await;
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
    socket.0.send(Message::text("{")).await.unwrap();
    socket.wait_message(|message| message["error"]["code"] == -32700).await;
    assert!(socket.ask(5, "shutdown", Json::Null).await["error"].is_null());
    socket.send(json!({ "jsonrpc": "2.0", "method": "exit" })).await;
    assert!(socket.wait_closed().await.starts_with("1000"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pages_of_other_sites_and_what_is_no_such_socket_are_refused() {
    let server = TestServer::start().await;
    let protocol = ("sec-websocket-protocol", "trefoil.lsp");
    let foreign = connect(&server, &[protocol, ("origin", "https://evil.example")]).await.err().unwrap();
    assert_eq!((foreign.status, &foreign.body["code"]), (403, &json!("ORIGIN_NOT_ALLOWED")));
    let own = server.url.clone();
    assert!(connect(&server, &[protocol, ("origin", &own)]).await.is_ok(), "a page of the server itself");
    let other = connect(&server, &[("sec-websocket-protocol", "graphql")]).await.err().unwrap();
    assert_eq!(other.status, 400, "{other:?}");
    assert!(other.body["help"].as_str().unwrap().contains("trefoil.lsp"), "{other:?}");
    let plain = server.api("GET", "/language-server").await;
    assert_eq!((plain.status, &plain.json()["code"]), (400, &json!("BAD_REQUEST")), "{}", plain.text);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_comes_as_a_subprotocol_and_must_be_that_of_an_admin() {
    let server = TestServer::start_with_keys().await;
    let missing = connect(&server, &[("sec-websocket-protocol", "trefoil.lsp")]).await.err().unwrap();
    assert_eq!((missing.status, &missing.body["code"]), (401, &json!("KEY_MISSING")));
    let unknown = refused_keyed(&server, "trefoil_000000000000_x").await;
    assert_eq!((unknown.status, &unknown.body["code"]), (401, &json!("KEY_UNKNOWN")));
    let reader = server.add_key(&[KeyScope::Read, KeyScope::Run, KeyScope::Answer], &[]).await;
    let refused = refused_keyed(&server, &reader).await;
    assert_eq!((refused.status, &refused.body["code"]), (403, &json!("SCOPE_MISSING")));
    let of_one = server.add_key(&[KeyScope::Admin], &["echo"]).await;
    let refused = refused_keyed(&server, &of_one).await;
    assert_eq!((refused.status, &refused.body["code"]), (403, &json!("KEY_RESTRICTED")));

    let key = server.add_key(&[KeyScope::Admin], &[]).await;
    let mut socket = connect(&server, &[("sec-websocket-protocol", &key_protocol(&key))]).await.unwrap();
    socket.initialize().await;
    assert!(connect(&server, &[("sec-websocket-protocol", "trefoil.lsp"), ("authorization", &key)]).await.is_ok());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_has_a_few_editors_at_a_time_and_each_ends_with_its_client() {
    let folder = new_project();
    let server = TestServer::start_editable(folder.path(), false).await;
    let mut open = Vec::new();
    for _ in 0..MOST {
        let mut socket = open_socket(&server).await;
        socket.initialize().await;
        open.push(socket);
    }
    let protocol = [("sec-websocket-protocol", "trefoil.lsp")];
    let refused = connect(&server, &protocol).await.err().unwrap();
    assert_eq!((refused.status, &refused.body["code"]), (429, &json!("TOO_MANY_SESSIONS")), "{refused:?}");
    drop(open.pop());
    // The room is free when the thread of the server has ended.
    let again = async {
        while connect(&server, &protocol).await.is_err() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(LIMIT, again).await.expect("the thread stays");

    let long = json!({ "jsonrpc": "2.0", "method": "x", "params": "x".repeat(BODY_LIMIT) });
    open[0].send(long).await;
    let closed = open[0].wait_closed().await;
    assert!(closed.starts_with("1009") || closed == "cut", "{closed}");
    open[1].0.send(Message::binary(vec![1])).await.unwrap();
    assert!(open[1].wait_closed().await.starts_with("1003"));

    server.enter_phase(ServingPhase::Draining);
    assert_eq!(open[2].wait_closed().await, "1012 the server is stopping");
    let stopping = connect(&server, &protocol).await.err().unwrap();
    assert_eq!((stopping.status, &stopping.body["code"]), (503, &json!("STOPPING")));
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_link_out_of_the_folder_is_not_followed() {
    let (folder, outside) = (new_project(), tempfile::tempdir().unwrap());
    std::fs::write(outside.path().join("child.yaml"), CHILD).unwrap();
    let link = |name: &str, to: &Path| std::os::unix::fs::symlink(to, folder.path().join(name)).unwrap();
    link("link.yaml", &outside.path().join("child.yaml"));
    link("room", outside.path());
    let server = TestServer::start_editable(folder.path(), false).await;
    let mut socket = open_socket(&server).await;
    socket.initialize().await;
    for (id, uri) in [(1, "file:///link.yaml"), (2, "file:///room/child.yaml"), (3, "file:///room/new.yaml")] {
        socket.open_text(uri, CHILD).await;
        let place = json!({ "textDocument": { "uri": uri }, "position": { "line": 0, "character": 0 } });
        let refused = socket.ask(id, "textDocument/hover", place).await;
        assert_eq!(refused["error"]["code"], -32602, "{uri}: {refused}");
    }
}

/// The key of an open socket is looked at every five seconds.
mod hunt {
    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_session_ends_with_its_key() {
        let server = TestServer::start_with_keys().await;
        let rights = KeyRights { scopes: KeyScopes(vec![KeyScope::Admin]), ..KeyRights::default() };
        let (key, record) = server.state.keys.add_key("admin", rights).await.unwrap();
        let mut socket = connect(&server, &[("sec-websocket-protocol", &key_protocol(&key))]).await.unwrap();
        socket.initialize().await;
        server.state.keys.revoke_key(&record.id).await.unwrap();
        assert_eq!(socket.wait_closed().await, "1008 the key was revoked");
    }
}
