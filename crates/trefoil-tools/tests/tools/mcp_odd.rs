//! Servers that do not do quite what the protocol says: what can be understood is used, and the rest is said at once.

use std::time::{Duration, Instant};

use expect_test::expect;
use serde_json::json;
use trefoil_ir::ToolKind;
use trefoil_runtime::ports::{MapSecrets, Meter};
use trefoil_runtime::{ToolError, ToolHost as _};
use trefoil_template::Value;
use trefoil_tools::{McpServer, McpTools, McpTransport};

use crate::server::{Reply, Server};
use crate::site::{call, key, request, site};
use crate::stand_in::server;

fn host(server: McpServer) -> McpTools {
    McpTools::new([server], None, std::sync::Arc::new(MapSecrets::new().with_secret("TOKEN", "canary-17")))
}

/// The result of a call, and what was said about it.
async fn told(host: &McpTools, tool: &str) -> (Result<Value, ToolError>, Vec<String>) {
    let asked = request(ToolKind::for_mcp_server("stand-in"), tool, json!({"said": "tea"}));
    let meter = Meter::default();
    let found = host.call_tool(site(&key(), &meter, false), &asked).await;
    (found, meter.take_warnings())
}

#[tokio::test]
async fn an_answer_that_cannot_be_read_ends_the_call_at_once() {
    let host = host(server("good"));
    call(&host, &request(ToolKind::for_mcp_server("stand-in"), "echo", json!({})), false).await.unwrap();
    let table = [
        ("nan", expect![[r#"Ok(Object({"mean": Null}))"#]]),
        ("bare", expect![[r#"Ok(Str("tea"))"#]]),
        (
            "texterror",
            expect![[
                r#"Err(Advised { why: "disk full", help: "fix the arguments as the server says; if they are right, read the log of the server" })"#
            ]],
        ),
        (
            "cut",
            expect![[
                r#"Err(Unusable("the server sent a message that cannot be read: it is not JSON: EOF while parsing a string at column 64"))"#
            ]],
        ),
        (
            "empty",
            expect![[
                r#"Err(Unusable("the server sent a message that cannot be read: it has neither `result` nor `error` nor `method`"))"#
            ]],
        ),
        (
            "nameless",
            expect![[
                r#"Err(Unusable("the server sent a message that cannot be read: it is not JSON: expected value at column 43"))"#
            ]],
        ),
        ("listed", expect![[r#"Err(Unusable("the result of `listed` from `stand-in` is not an object"))"#]]),
    ];
    for (tool, expected) in table {
        let began = Instant::now();
        let (found, _) = told(&host, tool).await;
        expected.assert_eq(&format!("{found:?}"));
        assert!(began.elapsed() < Duration::from_secs(5), "{tool}: {:?}", began.elapsed());
        assert_eq!(told(&host, "echo").await.0.unwrap().to_json(), "tea", "after {tool}");
    }
}

#[tokio::test]
async fn a_bad_entry_of_the_list_takes_no_other_tool_away() {
    let unusable = [
        (r#"{"name": "time", "inputSchema": null}"#, "time"),
        (r#"{"name": "time"}"#, "time"),
        (r#"{"name": "time", "inputSchema": []}"#, "time"),
        (r#"{"name": "time", "inputSchema": "object"}"#, "time"),
        (r#"{"name": 5, "inputSchema": {"type": "object"}}"#, "tool 2"),
        (r#"{"inputSchema": {"type": "object"}}"#, "tool 2"),
    ];
    for (entry, name) in unusable {
        for tools in [None, Some(vec!["echo".to_owned()])] {
            let host = host(McpServer { tools: tools.clone(), ..server(entry) });
            let (found, warnings) = told(&host, "echo").await;
            assert_eq!((found.unwrap().to_json(), warnings), (json!("tea"), vec![]), "{entry}");
            let (offered, skipped) = offered(&host).await;
            assert_eq!(offered, ["echo"], "{entry}");
            // Whether a tool without a name is allowed is unknown.
            let named = tools.is_none() || name == "tool 2";
            assert_eq!(skipped.len(), usize::from(named), "{entry}: {skipped:?}");
            if tools.is_none() {
                let why = told(&host, name).await.0.unwrap_err().to_string();
                assert!(why.contains(&format!("describes its tool `{name}` incorrectly: ")), "{entry}: {why}");
            }
        }
    }
}

#[tokio::test]
async fn a_bad_optional_field_is_dropped_and_said() {
    let table = [
        (
            r#"{"name": "time", "description": 5, "inputSchema": {"type": "object"}}"#,
            expect![
                "the MCP server `stand-in` describes its tool `time` incorrectly: its description is not a text, so it has none"
            ],
        ),
        (
            r#"{"name": "time", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": "true"}}"#,
            expect![[""]],
        ),
        (
            r#"{"name": "time", "inputSchema": {"type": "object"}, "annotations": 7, "icons": "x", "title": []}"#,
            expect![[""]],
        ),
        (
            r#"{"name": "time", "inputSchema": {"type": "object"}, "outputSchema": "text"}"#,
            expect![
                "the MCP server `stand-in` describes its tool `time` incorrectly: it is not a JSON Schema in the schema of its results, which allows anything there"
            ],
        ),
        (
            r#"{"name": "time", "inputSchema": {"properties": {"said": {"type": "any"}}}}"#,
            expect![[
                r#"the MCP server `stand-in` describes its tool `time` incorrectly: `/properties/said/type` is "any" in the schema of its arguments, which allows anything there"#
            ]],
        ),
        (
            r#"{"name": "time", "inputSchema": {"type": ["object"], "properties": null}}"#,
            expect![
                "the MCP server `stand-in` describes its tool `time` incorrectly: `/properties` is null in the schema of its arguments, which allows anything there"
            ],
        ),
        (
            r#"{"name": "time", "inputSchema": {"$schema": "http://json-schema.org/draft-04/schema#", "properties": {"said": {"minimum": 0, "exclusiveMinimum": true}}}}"#,
            expect![[""]],
        ),
    ];
    for (entry, expected) in table {
        let host = host(server(entry));
        let (found, warnings) = told(&host, "time").await;
        // The server knows no such tool, so the call has arrived.
        assert_eq!(found.unwrap_err().to_string(), "unknown tool", "{entry}");
        expected.assert_eq(&warnings.join("\n"));
        assert_eq!(told(&host, "time").await.1, Vec::<String>::new(), "said once: {entry}");
        assert_eq!(offered(&host).await.0, ["echo", "time"], "{entry}");
    }
}

#[tokio::test]
async fn a_list_ends_with_the_page_that_brings_nothing_new() {
    let table = [("same page", "echo"), ("circle", "other"), ("many pages", "t99")];
    let mut said = Vec::new();
    for (mode, last) in table {
        let host = host(server(mode));
        let (found, warnings) = told(&host, "echo").await;
        assert_eq!(found.unwrap().to_json(), "tea", "{mode}");
        said.extend(warnings);
        assert!(offered(&host).await.0.iter().any(|name| name == last), "{mode}");
    }
    expect![[r#"
        the MCP server `stand-in` announces another page of tools, but sends no new ones
        the MCP server `stand-in` announces another page of tools, but sends no new ones
        the MCP server `stand-in` has more than 100 pages of tools, and the rest is not read"#]]
    .assert_eq(&said.join("\n"));
}

#[tokio::test]
async fn a_server_that_names_another_version_gets_it() {
    for version in ["2024-11-05", "2025-03-26", "2025-06-18"] {
        assert_eq!(told(&host(server(version)), "echo").await.0.unwrap().to_json(), "tea", "{version}");
        let http = accepting(version).await;
        let transport = McpTransport::Http { url: http.url("/mcp"), headers: Vec::new() };
        let found = told(&host(McpServer { transport, ..server("good") }), "echo").await.0;
        assert_eq!(found.unwrap().to_json(), "tea", "over HTTP: {version}");
    }
    let none = told(&host(server("1999-12-31")), "echo").await.0;
    expect![[r#"Err(Advised { why: "the server rejected the request: Unsupported protocol version ({\"supported\":[\"1999-12-31\"]})", help: "check the settings of the server, and its version" })"#]].assert_eq(&format!("{none:?}"));
}

/// A server over HTTP that refuses other versions with a text.
async fn accepting(version: &'static str) -> Server {
    Server::new(move |_, asked| {
        let message: serde_json::Value =
            asked.split_once("\r\n\r\n").and_then(|(_, body)| serde_json::from_str(body).ok()).unwrap_or_default();
        let answer = |status: &str, body: String| {
            let head = format!("HTTP/1.1 {status}\r\nConnection: close\r\nContent-Type: application/json\r\n");
            Reply::Bytes(format!("{head}Content-Length: {}\r\n\r\n{body}", body.len()).into_bytes())
        };
        let wanted = message["params"]["protocolVersion"].as_str();
        let result = match message["method"].as_str() {
            Some("initialize") if wanted == Some(version) => json!({
                "protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"},
            }),
            Some("initialize" | "server/discover") => {
                let why = format!("Bad Request: Unsupported protocol version (supported versions: {version})");
                return answer("400 Bad Request", why);
            }
            Some("tools/list") => json!({"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]}),
            Some("tools/call") => json!({"content": [{"type": "text", "text": "tea"}]}),
            _ => return answer("202 Accepted", String::new()),
        };
        answer("200 OK", json!({"jsonrpc": "2.0", "id": message["id"], "result": result}).to_string())
    })
    .await
}

/// The names of the tools that a model is offered, and of those that it is not.
async fn offered(host: &McpTools) -> (Vec<String>, Vec<String>) {
    let meter = Meter::default();
    let listed = host.list_tools(site(&key(), &meter, false), &ToolKind::for_mcp_server("stand-in")).await;
    let skipped = meter.take_skipped().into_iter().map(|skipped| skipped.name).collect();
    (listed.unwrap().into_iter().map(|tool| tool.name.to_string()).collect(), skipped)
}
