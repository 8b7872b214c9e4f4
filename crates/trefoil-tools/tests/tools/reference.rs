//! Third-party servers: the reference servers of npm and PyPI, in both generations of the protocol, over both
//! transports.
//!
//! `TREFOIL_MCP_SERVERS` is the folder in which `.ci/mcp-servers` has installed them.

use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;
use trefoil_ir::ToolKind;
use trefoil_runtime::ToolError;
use trefoil_runtime::ports::MapSecrets;
use trefoil_tools::process::{OperatorProgram, ProcessEnvironment};
use trefoil_tools::{IdempotentTools, McpServer, McpTools, McpTransport};

use crate::site::{call, list, request};

const FASTMCP: &str = "import sys\nfrom fastmcp import FastMCP\n\nserver = FastMCP('kitchen')\n\n@server.tool\ndef brew(kind: str, minutes: int = 3) -> dict:\n    \"\"\"Brews tea\"\"\"\n    if kind == 'coffee':\n        raise ValueError('only tea here')\n    return {'kind': kind, 'minutes': minutes}\n\nif len(sys.argv) > 1:\n    server.run(transport='http', host='127.0.0.1', port=int(sys.argv[1]), show_banner=False)\nelse:\n    server.run(show_banner=False)\n";

/// The folder with the servers; prints a line if it is not set. If the variable is set, all servers must be installed.
fn servers() -> Option<PathBuf> {
    let Some(folder) = std::env::var_os("TREFOIL_MCP_SERVERS").map(PathBuf::from) else {
        untested::skipped("TREFOIL_MCP_SERVERS is not set (run `.ci/mcp-servers FOLDER`, and set it to that folder)");
        return None;
    };
    assert!(folder.join("node_modules/.bin").is_dir(), "{} has no servers", folder.display());
    Some(folder)
}

fn node(folder: &Path, script: &str) -> Vec<String> {
    let modules = folder.join("node_modules");
    [modules.join(".bin/node"), modules.join("@modelcontextprotocol").join(script).join("dist/index.js")]
        .map(|path| path.display().to_string())
        .to_vec()
}

fn python(folder: &Path) -> String {
    folder.join("py/bin/python").display().to_string()
}

fn server(transport: McpTransport) -> McpServer {
    let time = Duration::from_secs(60);
    McpServer {
        name: "one".to_owned(),
        transport,
        tools: None,
        idempotent: IdempotentTools::These(Vec::new()),
        time,
        start: Some(Duration::from_secs(180)),
    }
}

fn process(command: Vec<String>) -> McpServer {
    server(McpTransport::Process(OperatorProgram { command, folder: None, environment: ProcessEnvironment::default() }))
}

fn host(server: McpServer) -> McpTools {
    McpTools::new([server], None, Arc::new(MapSecrets::new()))
}

fn kind() -> ToolKind {
    ToolKind::for_mcp_server("one")
}

async fn said(host: &McpTools, tool: &str, arguments: serde_json::Value) -> Result<serde_json::Value, ToolError> {
    call(host, &request(kind(), tool, arguments), false).await.map(|value| value.to_json())
}

/// A server over HTTP. Dropping this ends it.
struct Listening(Child, String);

impl Drop for Listening {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts a server, and waits until it accepts connections.
fn listening(command: &mut Command, port: u16, path: &str) -> Listening {
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let stderr = child.stderr.take().unwrap();
    std::thread::spawn(move || BufReader::new(stderr).lines().for_each(drop));
    let listening = Listening(child, format!("http://127.0.0.1:{port}{path}"));
    let began = Instant::now();
    while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
        assert!(began.elapsed() < Duration::from_secs(60), "nobody listens at {port}");
        std::thread::sleep(Duration::from_millis(20));
    }
    listening
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

async fn everything(host: McpTools) {
    let tools = list(&host, &kind()).await.unwrap();
    for tool in ["echo", "get-sum", "get-structured-content", "get-tiny-image", "trigger-long-running-operation"] {
        assert!(tools.iter().any(|known| &**known == tool), "{tool}: {tools:?}");
    }
    assert_eq!(said(&host, "echo", json!({ "message": "tea" })).await.unwrap(), "Echo: tea");
    assert_eq!(said(&host, "get-sum", json!({ "a": 2, "b": 3 })).await.unwrap(), "The sum of 2 and 3 is 5.");
    let weather = said(&host, "get-structured-content", json!({ "location": "Chicago" })).await.unwrap();
    assert!(weather["temperature"].is_number() && weather["conditions"].is_string(), "{weather}");
    let image = said(&host, "get-tiny-image", json!({})).await.unwrap();
    assert!(image.as_array().unwrap().iter().any(|part| part["type"] == "image"), "{image}");
    let wrong = said(&host, "get-sum", json!({ "a": "two" })).await.unwrap_err();
    assert!(matches!(&wrong, ToolError::Advised { why, .. } if why.contains('a')), "{wrong:?}");
    host.close().await;
}

#[tokio::test]
async fn everything_over_standard_streams_and_over_http() {
    let Some(folder) = servers() else { return };
    everything(host(process(node(&folder, "server-everything")))).await;
    let port = free_port();
    let words = node(&folder, "server-everything");
    let mut command = Command::new(&words[0]);
    let listening = listening(command.arg(&words[1]).arg("streamableHttp").env("PORT", port.to_string()), port, "/mcp");
    everything(host(server(McpTransport::Http { url: listening.1.clone(), headers: Vec::new() }))).await;
}

#[tokio::test]
async fn a_call_that_takes_too_long_is_a_timeout_and_the_server_can_still_be_called() {
    let Some(folder) = servers() else { return };
    let slow = host(McpServer { time: Duration::from_secs(5), ..process(node(&folder, "server-everything")) });
    assert_eq!(said(&slow, "echo", json!({ "message": "a" })).await.unwrap(), "Echo: a");
    let late = said(&slow, "trigger-long-running-operation", json!({ "duration": 60, "steps": 60 })).await;
    assert_eq!(late, Err(ToolError::Timeout));
    assert_eq!(said(&slow, "echo", json!({ "message": "b" })).await.unwrap(), "Echo: b");
    slow.close().await;
}

#[tokio::test]
async fn files_are_read_where_the_server_may_and_by_tools_that_are_listed() {
    let Some(folder) = servers() else { return };
    let notes = tempfile::tempdir().unwrap();
    std::fs::write(notes.path().join("a.txt"), "tea at four").unwrap();
    let mut command = node(&folder, "server-filesystem");
    command.push(notes.path().canonicalize().unwrap().display().to_string());
    let only = Some(vec!["read_text_file".to_owned()]);
    let files = host(McpServer { tools: only, ..process(command) });
    let path = |name: &str| json!({ "path": notes.path().canonicalize().unwrap().join(name) });
    let read = said(&files, "read_text_file", path("a.txt")).await.unwrap();
    assert!(read.to_string().contains("tea at four"), "{read}");
    let outside = said(&files, "read_text_file", json!({ "path": "/etc/passwd" })).await.unwrap_err();
    assert!(
        matches!(&outside, ToolError::Advised { why, .. } if why.contains("outside allowed directories")),
        "{outside:?}"
    );
    let unlisted = said(&files, "write_file", json!({ "path": "x", "content": "y" })).await.unwrap_err();
    assert!(matches!(&unlisted, ToolError::Advised { why, .. } if why.contains("allowed tools")), "{unlisted:?}");
    assert_eq!(list(&files, &kind()).await.unwrap(), ["read_text_file"]);
    files.close().await;
}

#[tokio::test]
async fn the_time_is_told() {
    let Some(folder) = servers() else { return };
    let clock = host(process(vec![python(&folder), "-m".to_owned(), "mcp_server_time".to_owned()]));
    let now = said(&clock, "get_current_time", json!({ "timezone": "Europe/Oslo" })).await.unwrap();
    assert_eq!(now["timezone"], "Europe/Oslo", "{now}");
    let wrong = said(&clock, "get_current_time", json!({ "timezone": "Atlantis" })).await.unwrap_err();
    assert!(matches!(&wrong, ToolError::Advised { why, .. } if why.contains("Atlantis")), "{wrong:?}");
    clock.close().await;
}

async fn kitchen(host: McpTools) {
    let tea = said(&host, "brew", json!({ "kind": "green" })).await.unwrap();
    assert_eq!(tea, json!({ "kind": "green", "minutes": 3 }));
    let coffee = said(&host, "brew", json!({ "kind": "coffee" })).await.unwrap_err();
    assert!(matches!(&coffee, ToolError::Advised { why, .. } if why.contains("only tea here")), "{coffee:?}");
    host.close().await;
}

#[tokio::test]
async fn fastmcp_over_standard_streams_and_over_http() {
    let Some(folder) = servers() else { return };
    let own = tempfile::tempdir().unwrap();
    let script = own.path().join("kitchen.py");
    std::fs::write(&script, FASTMCP).unwrap();
    kitchen(host(process(vec![python(&folder), script.display().to_string()]))).await;
    let port = free_port();
    let mut command = Command::new(python(&folder));
    let listening = listening(command.arg(&script).arg(port.to_string()), port, "/mcp");
    kitchen(host(server(McpTransport::Http { url: listening.1.clone(), headers: Vec::new() }))).await;
}
