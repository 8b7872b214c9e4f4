//! MCP with what others wrote: the official conformance tool against our client, and the Python SDK's client against our server.
//!
//! `TREFOIL_MCP_SERVERS` is the folder in which `.ci/mcp-servers` has installed them.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::world::{Folder, finish};

/// Calls the server whose address it is given, as `trefoil run` does.
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

/// Where the others are; a line says so where they are not. Whoever sets the variable has installed them all.
fn others() -> Option<PathBuf> {
    let Some(folder) = std::env::var_os("TREFOIL_MCP_SERVERS").map(PathBuf::from) else {
        eprintln!("skipped: TREFOIL_MCP_SERVERS is not set (run `.ci/mcp-servers FOLDER`, and set it to that folder)");
        return None;
    };
    assert!(folder.join("node_modules/.bin").is_dir(), "{} has no servers", folder.display());
    Some(folder)
}

/// A scenario of the conformance tool. `fails`: the call itself is to fail, because the scenario's server has no tools.
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
    conforms("tools_call", "add_numbers", "{ a: 5, b: 3 }", false);
}

#[test]
fn a_client_comes_back_to_a_stream_as_the_conformance_tool_wants() {
    conforms("sse-retry", "test_reconnection", "{}", false);
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
    assert_eq!(said["told"], json!(["ok began", "ok ended", "say began", "say ended"]));
}
