//! Third-party MCP implementations: the official conformance tool with our client and our server, and the Python SDK's
//! client with our server. Scenarios for unsupported features are omitted: for a client, OAuth logins and requests from
//! servers; for a server, resources, prompts, completion, sampling, logs and content other than text.
//!
//! `TREFOIL_MCP_SERVERS` is the folder in which `.ci/mcp-servers` has installed them.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::world::{Folder, finish};

/// Calls the server at the address that it gets as its last argument, with `trefoil run`.
const CLIENT: &str = "#!/bin/sh\nfor address; do :; done\nprintf 'id: flow\\nkind: tool\\ntool: { kind: mcp, server: \"%s\", name: %s, params: PARAMS }\\n' \"$address\" TOOL > flow.yaml\n\"TREFOIL\" run flow.yaml --allow-host 'localhost:*' --ephemeral --input x EITHER\n";

const PYTHON: &str = r#"
import asyncio, json, sys
from mcp import ClientSession, StdioServerParameters, types
from mcp.client.stdio import stdio_client

async def main():
    told = []
    asked = []
    async def elicit(context, params):
        asked.append(params.message)
        return types.ElicitResult(action="accept", content={"answer": "yes"})
    async def progress(done, total, message):
        told.append(message)
    server = StdioServerParameters(command=sys.argv[1], args=sys.argv[2:], env={"TREFOIL_CONFIG_DIR": "config"})
    async with stdio_client(server) as (read, write):
        async with ClientSession(read, write, elicitation_callback=elicit) as session:
            await session.initialize()
            tools = [tool.name for tool in (await session.list_tools()).tools]
            result = await session.call_tool("asks", {"message": "it"}, progress_callback=progress)
            said = result.model_dump(by_alias=True)
            print(json.dumps({"tools": tools, "said": said["structuredContent"], "asked": asked, "told": told}))

asyncio.run(main())
"#;

/// The conformance tool uses HTTP, and our server uses standard streams: this bridge passes messages on unchanged.
const BRIDGE: &str = r#"
import json, subprocess, sys, threading, queue
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

# One server over standard streams for each session, as it is: each message of a client goes in as a line, and what comes out
# until the answer goes back as events.
class Session:
    def __init__(self):
        self.process = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.waiting, self.lock = {}, threading.Lock()
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            message = json.loads(line)
            answers = 'method' not in message
            with self.lock:
                to = [self.waiting.pop(message['id'], None)] if answers else list(self.waiting.values())[-1:]
            for one in filter(None, to):
                one.put((message, answers))

    def send(self, message):
        self.process.stdin.write(json.dumps(message) + '\n')
        self.process.stdin.flush()

SESSIONS = {}

class Handler(BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    def log_message(self, *_): pass
    def plain(self, status):
        self.send_response(status); self.send_header('Content-Length', '0'); self.end_headers()
    def do_GET(self): self.plain(405)
    def do_DELETE(self): self.plain(200)
    def do_POST(self):
        message = json.loads(self.rfile.read(int(self.headers['Content-Length'])))
        name = self.headers.get('Mcp-Session-Id')
        if message.get('method') == 'initialize':
            name = f's{len(SESSIONS)}'
            SESSIONS[name] = Session()
        session = SESSIONS.get(name)
        if session is None:
            return self.plain(404)
        if 'method' not in message or 'id' not in message:
            session.send(message)
            return self.plain(202)
        mine = queue.Queue()
        with session.lock:
            session.waiting[message['id']] = mine
        session.send(message)
        self.send_response(200)
        self.send_header('Content-Type', 'text/event-stream')
        self.send_header('Mcp-Session-Id', name)
        self.send_header('Connection', 'close')
        self.end_headers()
        while True:
            said, last = mine.get(timeout=60)
            self.wfile.write(f'event: message\ndata: {json.dumps(said)}\n\n'.encode())
            self.wfile.flush()
            if last:
                self.close_connection = True
                return

server = ThreadingHTTPServer(('127.0.0.1', 0), Handler)
print(server.server_address[1], flush=True)
server.serve_forever()
"#;

/// The folder with the implementations; prints a line if it is not set. If the variable is set, all of them must be
/// installed.
fn others() -> Option<PathBuf> {
    let Some(folder) = std::env::var_os("TREFOIL_MCP_SERVERS").map(PathBuf::from) else {
        untested::skipped("TREFOIL_MCP_SERVERS is not set (run `.ci/mcp-servers FOLDER`, and set it to that folder)");
        return None;
    };
    assert!(folder.join("node_modules/.bin").is_dir(), "{} has no servers", folder.display());
    Some(folder)
}

/// Runs a scenario of the conformance tool. `fails`: the call itself must fail, because the scenario's server has no
/// tools.
fn conforms(scenario: &str, tool: &str, params: &str, fails: bool) {
    let Some(others) = others() else { return };
    let folder = Folder::new();
    let client =
        CLIENT.replace("TREFOIL", env!("CARGO_BIN_EXE_trefoil")).replace("TOOL", tool).replace("PARAMS", params);
    folder.write("client.sh", client.replace("EITHER", if fails { "; true" } else { "" }));
    let modules = others.join("node_modules");
    let mut command = Command::new(modules.join(".bin/node"));
    crate::world::bare(&mut command);
    command.current_dir(folder.path()).arg(modules.join("@modelcontextprotocol/conformance/dist/index.js"));
    command.args(["client", "--command", "sh client.sh", "--scenario", scenario]);
    let ran = finish(command);
    let said = format!("{}{}", ran.out, ran.err);
    assert!(said.contains("OVERALL: PASSED"), "{scenario}: {said}");
}

#[test]
fn a_client_begins_as_the_conformance_tool_wants() {
    conforms("initialize", "any", "{}", true);
}

#[test]
fn a_client_calls_tools_as_the_conformance_tool_wants() {
    conforms("tools_call", "add_numbers", "{ a: \"5\", b: \"3\" }", false);
}

#[test]
fn a_client_comes_back_to_a_stream_as_the_conformance_tool_wants() {
    conforms("sse-retry", "test_reconnection", "{}", false);
}

/// Of a server's features, ours has only tools: its flows, with the names that the conformance tool expects.
#[test]
fn a_server_answers_as_the_conformance_tool_wants() {
    let Some(others) = others() else { return };
    let folder = Folder::new();
    // The conformance tool passes no arguments, so none of the flows needs a text.
    let agent = |id: &str| {
        format!(
            "id: {id}\nkind: llm\nmodel: {{ provider: openai, name: m }}\ninstruction: \"{id}\"\ninputSchema:\n  note: {{ type: string, default: none }}\n"
        )
    };
    folder.write("bridge.py", BRIDGE);
    folder.write("flows/test_simple_text.yaml", agent("test_simple_text"));
    folder.write("flows/test_error_handling.yaml", agent("test_error_handling"));
    folder.write(
        "flows/test_tool_with_progress.yaml",
        "version: \"0.1\"\nnodes:\n  one: { type: agent, agent: a, writes: output.one }\n  two: { type: agent, agent: a, writes: output.two }\n  three: { type: agent, agent: a, writes: output.three }\nagents:\n  a: { model: \"openai:m\", system: Go. }\nedges: [{ from: one, to: two }, { from: two, to: three }]\ninput: { message: it }\n",
    );
    folder.write(
        "flows/test_elicitation.yaml",
        "version: \"0.1\"\nnodes:\n  ask: { type: human, prompt: \"{{ inputs.message }}\", writes: output.said }\nedges: []\nagents: {}\ninput: { message: it }\n",
    );
    folder.write(
        "script.yaml",
        "answers:\n  test_simple_text: This is a simple text response for testing.\n  test_error_handling: { error: { status: 400, message: This tool intentionally returns an error for testing } }\n  \"*\": done\n",
    );
    let mut bridge = Command::new(others.join("py/bin/python"));
    bridge.current_dir(folder.path()).arg("bridge.py").arg(env!("CARGO_BIN_EXE_trefoil"));
    bridge.args(["mcp", "flows", "--model", "scripted=script.yaml", "--ephemeral"]).env("TREFOIL_CONFIG_DIR", "config");
    let mut bridge = bridge.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut port = String::new();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(bridge.stdout.as_mut().unwrap()), &mut port).unwrap();
    let url = format!("http://127.0.0.1:{}/mcp", port.trim());
    let mut failed = Vec::new();
    for scenario in [
        "server-initialize",
        "ping",
        "tools-list",
        "tools-call-simple-text",
        "tools-call-error",
        "tools-call-with-progress",
        "tools-call-elicitation",
    ] {
        let modules = others.join("node_modules");
        let mut command = Command::new(modules.join(".bin/node"));
        crate::world::bare(&mut command);
        command.current_dir(folder.path()).arg(modules.join("@modelcontextprotocol/conformance/dist/index.js"));
        let ran = finish({
            command.args(["server", "--url", &url, "--scenario", scenario]);
            command
        });
        if !ran.out.contains("0 failed, 0 warnings") {
            failed.push(format!("{scenario}: {}{}", ran.out, ran.err));
        }
    }
    let _ = bridge.kill();
    let _ = bridge.wait();
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

#[test]
fn the_client_of_the_python_sdk_calls_flows() {
    let Some(others) = others() else { return };
    let folder = crate::mcp::flows();
    folder.write("client.py", PYTHON);
    let mut command = Command::new(others.join("py/bin/python"));
    command.current_dir(folder.path()).arg("client.py").arg(env!("CARGO_BIN_EXE_trefoil"));
    command.args(["mcp", "flows", "--model", "scripted=script.yaml", "--ephemeral"]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let ran = finish(command);
    let said: Value = ran.exits(0).json();
    assert_eq!(said["tools"], json!(["asks", "broken", "outer", "sleeper", "writer"]));
    assert_eq!((&said["said"], &said["asked"]), (&json!({ "text": "A verse." }), &json!(["Ship it?"])));
    assert_eq!(said["told"], json!(["ok started", "ok ended", "say started", "say ended"]));
}
