//! JSON with a byte order mark or with halves of surrogate pairs, from every kind of tool.
#![cfg(unix)]

use std::sync::Arc;

use serde_json::{Value as Json, json};
use trefoil_ir::ToolKind;
use trefoil_runtime::ports::MapSecrets;
use trefoil_template::Value;
use trefoil_tools::guard::{GuardRules, GuardedClient};
use trefoil_tools::{CommandResult, CommandTool, CommandToolDeclaration, CommandTools, HttpTools};

use crate::commands::declared;
use crate::server::Server;
use crate::site::{call, request};

/// Texts, and the values that they mean.
fn table() -> Vec<(&'static str, Json)> {
    vec![
        ("{\"a\": 1}", json!({"a": 1})),
        ("\u{feff}{\"a\": 1}", json!({"a": 1})),
        ("\u{feff}\n [\"\\ud83c\\udf1e\"]\n", json!(["🌞"])),
        ("{\"a\": \"cut \\ud83c\"}", json!({"a": "cut \u{fffd}"})),
        ("[\"\\udf1e\", \"\\\\ud83c\"]", json!(["\u{fffd}", "\\ud83c"])),
        ("\u{feff}{\"\\ud83c\": {}}", json!({"\u{fffd}": {}})),
    ]
}

async fn over_http(text: &str) -> Value {
    let server = Server::answering("200 OK", "Content-Type: application/json\r\n", text).await;
    let rules = GuardRules { allow: vec![server.address.to_string().parse().unwrap()], ..GuardRules::default() };
    let asked = request(ToolKind::Http, "fetch", json!({"url": server.url("/")}));
    call(&HttpTools::new(GuardedClient::new(rules)), &asked, false).await.unwrap()
}

async fn from_program(text: &str, output: CommandResult) -> Value {
    // Braces are placeholders.
    let text = text.replace('{', "{{").replace('}', "}}");
    let tool =
        CommandTool::new(CommandToolDeclaration { output, ..declared("print", &["printf", "%s", &text]) }).unwrap();
    let host = CommandTools::new([tool], Arc::new(MapSecrets::new()));
    call(&host, &request(ToolKind::Local, "print", json!({})), false).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn marks_and_halves_do_not_turn_json_into_text() {
    for (text, value) in table() {
        assert_eq!(over_http(text).await.to_json(), value, "over HTTP: {text}");
        assert_eq!(from_program(text, CommandResult::Either).await.to_json(), value, "from a program: {text}");
        assert_eq!(from_program(text, CommandResult::Json).await.to_json(), value, "from a program: {text}");
    }
}

#[cfg(feature = "mcp")]
#[tokio::test]
async fn a_message_of_a_server_may_have_half_a_pair() {
    let host = trefoil_tools::McpTools::new(
        [crate::stand_in::server("halves")],
        None,
        Arc::new(MapSecrets::new().with_secret("TOKEN", "canary-17")),
    );
    let asked = request(ToolKind::for_mcp_server("stand-in"), "echo", json!({"said": "tea HALF"}));
    assert_eq!(call(&host, &asked, false).await.unwrap().to_json(), "tea \u{fffd}");
    host.close().await;
}
