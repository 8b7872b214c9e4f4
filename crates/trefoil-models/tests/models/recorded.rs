//! Request bodies, field by field, beside what the providers' official SDKs send for the same request: `sdk_recordings/`, made by
//! `xtask/sdk-recordings/record.py`. What differs on purpose is listed here, each with its reason.

use std::path::Path;
use std::sync::Arc;

use serde_json::{Value as Json, json};
use trefoil_ir::ModelParameters;
use trefoil_models::{Api, Registry};
use trefoil_runtime::{Effects, Message, ModelRequest, Role, ToolSpec, ToolUse};
use trefoil_template::Value;

use crate::request::{ask, message, request, schema};
use crate::server::{Received, Reply, Server};

/// The key of the recordings.
const KEY: &str = "key-of-the-test";

fn weather() -> ToolSpec {
    ToolSpec {
        name: "weather".into(),
        description: "The weather of a city".into(),
        parameters: Value::from_json(
            json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}),
        ),
        effects: Effects::ReadOnly,
    }
}

/// The request of a case.
fn asked(case: &str, protocol: &str) -> ModelRequest {
    let mut asked = request("What is the weather in Bergen and Oslo?");
    asked.model = "m".into();
    asked.messages.insert(0, message(Role::System, "Be brief."));
    if protocol == "messages" {
        // It demands one.
        asked.parameters.max_tokens = Some(64);
    }
    match case {
        "plain" => {
            asked.parameters = ModelParameters {
                temperature: Some(0.5),
                top_p: Some(0.25),
                top_k: (protocol == "messages").then_some(4),
                max_tokens: Some(64),
                seed: Some(7),
                stop: vec!["END".into()],
                presence_penalty: Some(0.5),
                frequency_penalty: Some(0.25),
                ..ModelParameters::default()
            };
        }
        "stream" => asked.stream = true,
        "schema" => {
            let sky = json!({"type": "object", "properties": {"sky": {"type": "string"}}, "required": ["sky"],
                "additionalProperties": false});
            asked.schema = schema("answer", sky);
        }
        "tools" => asked.tools = vec![weather()],
        "results" => {
            asked.tools = vec![weather()];
            let call = |id: &str, city: &str| ToolUse {
                id: id.into(),
                name: "weather".into(),
                arguments: Value::from_json(json!({ "city": city })),
                sealed: None,
            };
            let turn = message(Role::Assistant, "");
            asked.messages.push(Message { calls: vec![call("call_1", "Bergen"), call("call_2", "Oslo")], ..turn });
            for (id, text) in [("call_1", "rain"), ("call_2", "sun")] {
                asked.messages.push(Message { answers: Some(Arc::from(id)), ..message(Role::Tool, text) });
            }
        }
        other => panic!("no such case: {other}"),
    }
    asked
}

/// What is sent for a case.
async fn sent(provider: &str, protocol: &str, case: &str) -> Received {
    let server = Server::start(vec![Reply::Whole(400, vec![], "{}".to_owned())]).await;
    let env = ["OPENAI", "ANTHROPIC", "MISTRAL"].into_iter().flat_map(|name| {
        let base = if name == "ANTHROPIC" { server.url.clone() } else { format!("{}/v1", server.url) };
        [(format!("{name}_API_KEY"), KEY.to_owned()), (format!("{name}_BASE_URL"), base)]
    });
    let mut registry = Registry::new(env);
    if protocol == "responses" {
        registry = registry.with_api(provider, Api::Responses);
    }
    let model = registry.resolve(provider, "m").unwrap();
    ask(&*model, &asked(case, protocol)).await.0.unwrap_err();
    server.request()
}

fn recordings() -> Vec<Json> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/models/sdk_recordings");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files.iter().map(|file| serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap()).collect()
}

/// What the SDK adds that says nothing.
fn without_noise(sdk: &str, body: &mut Json) {
    if sdk != "mistralai" {
        return;
    }
    let body = body.as_object_mut().unwrap();
    if body.get("stream") == Some(&json!(false)) {
        body.remove("stream");
    }
    for message in body["messages"].as_array_mut().unwrap() {
        let message = message.as_object_mut().unwrap();
        // The default.
        message.remove("prefix");
        for call in message.get_mut("tool_calls").and_then(Json::as_array_mut).into_iter().flatten() {
            // All of them have the same.
            call.as_object_mut().unwrap().remove("index");
        }
    }
}

#[tokio::test]
async fn bodies_are_those_of_the_official_sdks() {
    let recordings = recordings();
    assert!(recordings.len() >= 19, "{}", recordings.len());
    for recording in recordings {
        let text = |name: &str| recording[name].as_str().unwrap();
        let (sdk, case) = (text("sdk"), text("case"));
        let (provider, protocol, case) = match (sdk, case.strip_prefix("responses-")) {
            ("openai", Some(case)) => ("openai", "responses", case),
            ("openai", None) => ("openai", "chat", case),
            ("anthropic", _) => ("anthropic", "messages", case),
            ("mistralai", _) => ("mistral", "chat", case),
            other => panic!("{other:?}"),
        };
        let sent = sent(provider, protocol, case).await;
        let mut body = recording["body"].clone();
        without_noise(sdk, &mut body);
        assert_eq!(sent.body, body, "{sdk} {case}");
        assert_eq!(sent.line, format!("POST {} HTTP/1.1", text("path")), "{sdk} {case}");
        assert_eq!(sent.headers["content-type"], "application/json");
        match provider {
            // Its version of 2026-10-21 refuses `temperature`, `top_p` and `top_k`, which manifests set; the one before, which Trefoil
            // speaks, takes the key in `x-api-key`.
            "anthropic" => {
                assert_eq!(recording["headers"]["anthropic-version"], "2026-10-21");
                assert_eq!((&*sent.headers["anthropic-version"], &*sent.headers["x-api-key"]), ("2023-06-01", KEY));
            }
            _ => assert_eq!(sent.headers["authorization"], recording["headers"]["authorization"]),
        }
    }
}
