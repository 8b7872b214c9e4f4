//! The official conformance tool of MCP against the server. `TREFOIL_MCP_SERVERS` is the folder in which `.ci/mcp-servers` has
//! installed it. Left out are the scenarios for what flows are not: resources, prompts, completion, sampling, logs, content other than
//! text, schemas of forms that a flow does not ask for, and a stream that the tool itself closes.

use std::path::PathBuf;

use tokio::process::Command;

use crate::test_server::TestServer;

/// What applies to a server whose tools are flows.
const SCENARIOS: [&str; 9] = [
    "server-initialize",
    "ping",
    "tools-list",
    "tools-call-simple-text",
    "tools-call-error",
    "tools-call-with-progress",
    "tools-call-elicitation",
    "server-sse-multiple-streams",
    "dns-rebinding-protection",
];

/// The names that the tool calls. It passes no arguments, so none of the flows needs a text.
const PROGRESS: &str = "version: \"0.1\"\nnodes:\n  one: { type: agent, agent: a, writes: output.one }\n  two: { type: agent, agent: a, writes: output.two }\n  three: { type: agent, agent: a, writes: output.three }\nagents:\n  a: { model: \"openai:m\", system: Go. }\nedges: [{ from: one, to: two }, { from: two, to: three }]\ninput: { message: it }\n";
const ELICITATION: &str = "version: \"0.1\"\nnodes:\n  ask: { type: human, prompt: \"{{ inputs.message }}\", writes: output.said }\nedges: []\nagents: {}\ninput: { message: it }\n";
const SCRIPT: &str = "answers:\n  test_simple_text: This is a simple text response for testing.\n  test_error_handling: { error: { status: 400, message: This tool intentionally returns an error for testing } }\n  \"*\": done\n";

fn agent(id: &str) -> String {
    format!(
        "id: {id}\nkind: llm\nmodel: {{ provider: openai, name: m }}\ninstruction: \"{id}\"\ninputSchema:\n  note: {{ type: string, default: none }}\n"
    )
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[allow(clippy::disallowed_methods, reason = "whoever runs the tests says where it is")]
async fn the_server_answers_as_the_conformance_tool_wants() {
    let Some(others) = std::env::var_os("TREFOIL_MCP_SERVERS").map(PathBuf::from) else {
        untested::skipped("TREFOIL_MCP_SERVERS is not set (run `.ci/mcp-servers FOLDER`, and set it to that folder)");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let (flows, script) = (folder.path().join("flows"), folder.path().join("script.yaml"));
    std::fs::create_dir(&flows).unwrap();
    for id in ["test_simple_text", "test_error_handling"] {
        std::fs::write(flows.join(format!("{id}.yaml")), agent(id)).unwrap();
    }
    std::fs::write(flows.join("test_tool_with_progress.yaml"), PROGRESS).unwrap();
    std::fs::write(flows.join("test_elicitation.yaml"), ELICITATION).unwrap();
    std::fs::write(&script, SCRIPT).unwrap();
    let server = TestServer::start_with(&flows, &script).await;
    let modules = others.join("node_modules");
    let mut failed = Vec::new();
    for scenario in SCENARIOS {
        let mut command = Command::new(modules.join(".bin/node"));
        command.current_dir(folder.path()).arg(modules.join("@modelcontextprotocol/conformance/dist/index.js"));
        command.args(["server", "--url", &format!("{}/mcp", server.url), "--scenario", scenario]);
        let ran = command.output().await.unwrap();
        let printed = String::from_utf8_lossy(&ran.stdout);
        if !printed.contains("0 failed, 0 warnings") {
            failed.push(format!("{scenario}: {printed}{}", String::from_utf8_lossy(&ran.stderr)));
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}
