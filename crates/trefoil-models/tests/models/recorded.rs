//! Compares request bodies, field by field, with those of the providers' official SDKs: `sdk_recordings/`, made by
//! `xtask/sdk-recordings/record.py`. Deliberate differences are listed in [`DIFFERENCES`] with their reasons.

use std::path::Path;
use std::sync::Arc;

use serde_json::{Map, Value as Json, json};
use trefoil_ir::ModelParameters;
use trefoil_models::{Registry, VendorApi};
use trefoil_runtime::{Effects, MessageRole, ModelMessage, ModelRequest, ModelToolCall, ToolSpec};
use trefoil_template::Value;

use crate::request::{ask, message, request, schema};
use crate::server::{Received, Reply, Server};

/// The key in the recordings.
const KEY: &str = "key-of-the-test";

/// The API of a recording.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Face {
    provider: &'static str,
    api: Option<VendorApi>,
    /// Path after the server's address.
    base: &'static str,
}

impl Face {
    fn is(self, provider: &str) -> bool {
        self.provider == provider
    }
}

/// The API of a recording, and the case.
fn face<'c>(sdk: &str, case: &'c str) -> (Face, &'c str) {
    let of = |provider, base| Face { provider, api: None, base };
    match (sdk, case.split_once('-')) {
        ("openai", Some(("responses", case))) => {
            (Face { api: Some(VendorApi::Responses), ..of("openai", "/v1") }, case)
        }
        ("openai", Some(("azure", case))) => (of("azure", ""), case),
        ("openai", _) => (of("openai", "/v1"), case),
        ("anthropic", _) => (of("anthropic", ""), case),
        ("mistralai", _) => (of("mistral", "/v1"), case),
        ("google-genai", _) => (of("google", "/v1"), case),
        ("ollama", _) => (of("ollama", ""), case),
        ("cohere", _) => (of("cohere", ""), case),
        other => panic!("{other:?}"),
    }
}

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

/// Text, images and audio, as far as the API accepts them.
fn blocks(face: Face) -> Json {
    let inline = json!({"type": "image", "base64": "aW1hZ2U=", "mediaType": "image/png"});
    let mut address = json!({"type": "image", "url": "https://example.com/sky.png", "detail": "low"});
    if face.is("google") {
        address["mediaType"] = "image/png".into();
    }
    let sound = json!({"type": "audio", "url": "data:audio/wav;base64,c291bmQ="});
    let text = json!({"type": "text", "text": "What is the weather in Bergen and Oslo?"});
    match face.provider {
        "ollama" => json!([text, inline]),
        "anthropic" | "cohere" => json!([text, inline, address]),
        "openai" if face.api.is_some() => json!([text, inline, address]),
        _ => json!([text, inline, address, sound]),
    }
}

/// The request of a case.
fn asked(case: &str, face: Face) -> ModelRequest {
    let mut asked = request("What is the weather in Bergen and Oslo?");
    asked.model = if face.is("anthropic") && case == "schema" { "claude-sonnet-4-5" } else { "m" }.into();
    asked.messages.insert(0, message(MessageRole::System, "Be brief."));
    if face.is("anthropic") {
        // Anthropic requires a limit.
        asked.parameters.max_tokens = Some(64);
    }
    match case {
        "plain" => {
            let few = ["anthropic", "google", "ollama", "cohere"].contains(&face.provider);
            asked.parameters = ModelParameters {
                temperature: Some(0.5),
                top_p: Some(0.25),
                top_k: few.then_some(4),
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
        "blocks" => asked.messages[1].content = Value::from_json(blocks(face)),
        "results" => {
            asked.tools = vec![weather()];
            let call = |id: &str, city: &str| ModelToolCall {
                id: id.into(),
                name: "weather".into(),
                arguments: Value::from_json(json!({ "city": city })),
                sealed: None,
            };
            let turn = message(MessageRole::Assistant, "");
            asked.messages.push(ModelMessage { calls: vec![call("call_1", "Bergen"), call("call_2", "Oslo")], ..turn });
            for (id, text) in [("call_1", "rain"), ("call_2", "sun")] {
                asked.messages.push(ModelMessage { answers: Some(Arc::from(id)), ..message(MessageRole::Tool, text) });
            }
        }
        other => panic!("no such case: {other}"),
    }
    asked
}

/// The request that is sent for a case.
async fn sent(face: Face, case: &str) -> Received {
    let server = Server::start(vec![Reply::Whole(400, vec![], "{}".to_owned())]).await;
    let vendor = trefoil_models::vendors::find_vendor(face.provider).unwrap();
    let base = format!("{}{}", server.url, face.base);
    let env = [(vendor.base_url_variable.to_owned(), base), (vendor.key_variable.to_owned(), KEY.to_owned())];
    let mut registry = Registry::new(env.into_iter().filter(|(name, _)| name != "OLLAMA_API_KEY"));
    if let Some(api) = face.api {
        registry = registry.with_api(face.provider, api);
    }
    let asked = asked(case, face);
    let model = registry.resolve_provider(face.provider, &asked.model).unwrap();
    ask(&*model, &asked).await.0.unwrap_err();
    server.request()
}

fn recordings() -> Vec<Json> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/models/sdk_recordings");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files.iter().map(|file| serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap()).collect()
}

/// A deliberate difference from the SDK's body.
struct Difference {
    sdk: &'static str,
    /// The reason.
    reason: &'static str,
    /// Changes the SDK's body into ours; false if there was nothing to change.
    apply: fn(body: &mut Json, case: &str) -> bool,
}

const DIFFERENCES: &[Difference] = &[
    Difference {
        sdk: "mistralai",
        reason: "the SDK says `stream: false`, `prefix: false` and the same `index` for all calls, which are defaults",
        apply: |body, _| {
            let mut changed = remove(body, "stream", &json!(false));
            for message in body["messages"].as_array_mut().unwrap() {
                changed |= message.as_object_mut().unwrap().remove("prefix").is_some();
                for call in message.get_mut("tool_calls").and_then(Json::as_array_mut).into_iter().flatten() {
                    changed |= call.as_object_mut().unwrap().remove("index").is_some();
                }
            }
            changed
        },
    },
    Difference {
        sdk: "anthropic",
        reason: "only models from 4.5 on can be held to a schema, so ours has to be a name of one",
        apply: |body, case| {
            if case == "schema" {
                body["model"] = "claude-sonnet-4-5".into();
            }
            case == "schema"
        },
    },
    Difference {
        sdk: "google-genai",
        reason: "the SDK writes some names in snake case and an empty configuration; the documented names are in camel case",
        apply: |body, _| {
            let before = body.clone();
            for (snake, camel) in
                [("mime_type", "mimeType"), ("file_uri", "fileUri"), ("parameters_json_schema", "parametersJsonSchema")]
            {
                rename(body, snake, camel);
            }
            remove(body, "generationConfig", &json!({}));
            *body != before
        },
    },
    Difference {
        sdk: "google-genai",
        reason: "the SDK writes 4 as 4.0",
        apply: |body, _| match body.pointer_mut("/generationConfig/topK") {
            Some(number) => {
                *number = json!(4);
                true
            }
            None => false,
        },
    },
    Difference {
        sdk: "google-genai",
        reason: "Gemini refuses a call that nobody signed, such as one that another model made",
        apply: |body, case| {
            if case == "results" {
                body["contents"][1]["parts"][0]["thoughtSignature"] = "skip_thought_signature_validator".into();
            }
            case == "results"
        },
    },
    Difference {
        sdk: "ollama",
        reason: "the SDK sends an empty list of tools",
        apply: |body, _| remove(body, "tools", &json!([])),
    },
];

fn remove(body: &mut Json, name: &str, value: &Json) -> bool {
    body.get(name) == Some(value) && body.as_object_mut().unwrap().remove(name).is_some()
}

fn rename(json: &mut Json, from: &str, to: &str) {
    match json {
        Json::Object(members) => {
            *members = std::mem::take(members)
                .into_iter()
                .map(|(name, mut value)| {
                    rename(&mut value, from, to);
                    (if name == from { to.to_owned() } else { name }, value)
                })
                .collect::<Map<_, _>>();
        }
        Json::Array(items) => items.iter_mut().for_each(|item| rename(item, from, to)),
        _ => {}
    }
}

#[tokio::test]
async fn bodies_are_those_of_the_official_sdks() {
    let recordings = recordings();
    assert!(recordings.len() >= 43, "{}", recordings.len());
    let mut used = vec![false; DIFFERENCES.len()];
    for recording in recordings {
        let text = |name: &str| recording[name].as_str().unwrap();
        let (sdk, full) = (text("sdk"), text("case"));
        let (face, case) = face(sdk, full);
        let sent = sent(face, case).await;
        let mut body = recording["body"].clone();
        for (used, difference) in used.iter_mut().zip(DIFFERENCES) {
            *used |= difference.sdk == sdk && (difference.apply)(&mut body, case);
        }
        assert_eq!(sent.body, body, "{sdk} {full}\nours: {:#}\ntheirs: {body:#}", sent.body);
        assert_eq!(sent.line, format!("POST {} HTTP/1.1", text("path")), "{sdk} {full}");
        assert_eq!(sent.headers["content-type"], "application/json");
        for name in ["authorization", "x-api-key", "x-goog-api-key", "api-key"] {
            let (ours, theirs) = (sent.headers.get(name), recording["headers"][name].as_str());
            if face.is("anthropic") {
                continue;
            }
            assert_eq!(ours.map(|ours| &**ours), theirs, "{sdk} {full} {name}");
        }
        if face.is("anthropic") {
            // The SDK's version, 2026-10-21, rejects `temperature`, `top_p` and `top_k`, which manifests may set.
            // Trefoil uses the version before it, which accepts the key in `x-api-key`.
            assert_eq!(recording["headers"]["anthropic-version"], "2026-10-21");
            assert_eq!((&*sent.headers["anthropic-version"], &*sent.headers["x-api-key"]), ("2023-06-01", KEY));
        }
    }
    for (used, Difference { sdk, reason, .. }) in used.into_iter().zip(DIFFERENCES) {
        assert!(used, "this difference is none any more: {sdk}: {reason}");
    }
}

#[tokio::test]
async fn what_an_interface_does_not_take_is_refused_before_anything_is_sent() {
    let sound = json!([{"type": "audio", "base64": "c291bmQ=", "mediaType": "audio/wav"}]);
    let address = json!([{"type": "image", "url": "https://example.com/a.png"}]);
    let sealed = json!([{"type": "image", "url": "https://example.com/a.png", "headers": {"Authorization": "x"}}]);
    let artifact = json!([{"type": "image", "artifactId": "art_1"}]);
    let nameless = json!([{"type": "image", "base64": "aW1hZ2U="}]);
    let mut told = String::new();
    for (provider, blocks) in [
        ("anthropic", &sound),
        ("cohere", &sound),
        ("ollama", &address),
        ("openai", &sealed),
        ("google", &artifact),
        ("openai", &nameless),
    ] {
        let server = Server::start(vec![]).await;
        let vendor = trefoil_models::vendors::find_vendor(provider).unwrap();
        let registry = server.registry(&[(vendor.base_url_variable, "{url}"), (vendor.key_variable, KEY)]);
        let mut asked = request("");
        asked.messages[0].content = Value::from_json(blocks.clone());
        let error = ask(&*registry.resolve_provider(provider, "m").unwrap(), &asked).await.0.unwrap_err();
        assert!(server.requests().is_empty());
        told += &format!("{:?}: {} -> {}\n", error.kind, error.message, error.help.unwrap());
    }
    expect_test::expect![[r#"
        Setup: `anthropic` does not accept audio through this API -> choose a model of another provider for this step
        Setup: `cohere` does not accept audio through this API -> choose a model of another provider for this step
        Setup: `ollama` does not read images from a URL -> pass the bytes as `base64`, with `mediaType`
        Setup: `openai` fetches images from URLs itself and cannot send `headers` -> pass the bytes as `base64`, with `mediaType`
        Setup: `google` cannot read images by `artifactId`, because artifacts belong to the hosted agntz -> pass the bytes as `base64`, with `mediaType`
        Setup: `openai` needs the `mediaType` of images passed as bytes -> add `mediaType` to the block, such as `image/png`
    "#]].assert_eq(&told);
}
