//! Tool calls in every protocol: reading calls, complete and in pieces, and sending back their results.

use std::sync::Arc;

use serde_json::{Value as Json, json};
use trefoil_models::Registry;
use trefoil_runtime::{
    Effects, FinishReason, MessageRole, ModelAnswer, ModelMessage, ModelRequest, ModelToolCall, ToolSpec,
};
use trefoil_template::Value;

use crate::faces::{FACES, Face};
use crate::request::{ask, message, request};
use crate::server::{Reply, Server};

fn tool(name: &str) -> ToolSpec {
    ToolSpec {
        name: name.into(),
        description: "".into(),
        parameters: Value::from_json(json!({"type": "object"})),
        effects: Effects::Writes,
    }
}

fn with_tools(names: &[&str]) -> ModelRequest {
    let mut asked = request("x");
    asked.tools = names.iter().map(|name| tool(name)).collect();
    asked
}

/// Gemini and DeepSeek through chat completions.
fn compatible(url: &str) -> Registry {
    let bases = [("GOOGLE_GENERATIVE_AI", "/v1beta/openai"), ("DEEPSEEK", "/v1"), ("OPENAI", "/v1")];
    Registry::new(bases.into_iter().flat_map(|(name, path)| {
        [(format!("{name}_API_KEY"), "k".to_owned()), (format!("{name}_BASE_URL"), format!("{url}{path}"))]
    }))
}

fn events(all: &[Json]) -> String {
    all.iter().map(|event| format!("data: {event}\n\n")).collect()
}

/// An answer with two calls, whole and as a stream whose arguments arrive in pieces.
fn two_calls(face: Face, second: &str) -> (Json, Vec<Json>) {
    let (a, b) = (r#"{"city":"Bergen"}"#, second);
    let input = |text: &str| serde_json::from_str(text).unwrap_or_else(|_| json!(text));
    match face {
        Face::Chat => {
            let call = |id: &str, text: &str| json!({"id": id, "type": "function", "function": {"name": "weather", "arguments": text}});
            let message =
                json!({"role": "assistant", "content": "Let me look.", "tool_calls": [call("c1", a), call("c2", b)]});
            let piece = |calls: Json| json!({"choices": [{"delta": {"tool_calls": calls}}]});
            let part = |index: u64, text: &str| json!({"index": index, "function": {"arguments": text}});
            let begun = |index: u64, id: &str| json!({"index": index, "id": id, "type": "function", "function": {"name": "weather", "arguments": ""}});
            let stream = vec![
                json!({"choices": [{"delta": {"role": "assistant", "content": "Let me look."}}]}),
                piece(json!([begun(0, "c1")])),
                piece(json!([part(0, &a[..5])])),
                piece(json!([begun(1, "c2"), part(0, &a[5..])])),
                piece(json!([part(1, &b[..1])])),
                piece(json!([part(1, &b[1..])])),
                json!({"choices": [{"delta": {}, "finish_reason": "tool_calls"}]}),
            ];
            (json!({"choices": [{"message": message, "finish_reason": "tool_calls"}]}), stream)
        }
        Face::Responses => {
            let call = |id: &str, text: &str| json!({"type": "function_call", "id": "x", "call_id": id, "name": "weather", "arguments": text});
            let said = json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Let me look."}]});
            let output = json!([said, call("c1", a), call("c2", b)]);
            let done = |index: u64, item: &Json| json!({"type": "response.output_item.done", "output_index": index, "item": item});
            let stream = vec![
                json!({"type": "response.created", "response": {"id": "r", "status": "in_progress", "model": "m"}}),
                json!({"type": "response.output_text.delta", "delta": "Let me "}),
                json!({"type": "response.output_text.delta", "delta": "look."}),
                json!({"type": "response.function_call_arguments.delta", "output_index": 1, "delta": "{"}),
                done(1, &output[1]),
                done(2, &output[2]),
                json!({"type": "response.completed", "response": {"status": "completed", "output": output}}),
            ];
            (json!({"status": "completed", "output": output}), stream)
        }
        Face::Messages => {
            let text = json!({"type": "text", "text": "Let me look."});
            let block =
                |id: &str, input: Json| json!({"type": "tool_use", "id": id, "name": "weather", "input": input});
            let begun = |index: u64, block: Json| json!({"type": "content_block_start", "index": index, "content_block": block});
            let part = |index: u64, text: &str| json!({"type": "content_block_delta", "index": index, "delta": {"type": "input_json_delta", "partial_json": text}});
            let stream = vec![
                json!({"type": "message_start", "message": {}}),
                begun(0, text.clone()),
                begun(1, block("c1", json!({}))),
                part(1, &a[..5]),
                part(1, &a[5..]),
                begun(2, block("c2", json!({}))),
                part(2, &b[..1]),
                part(2, &b[1..]),
                json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}}),
                json!({"type": "message_stop"}),
            ];
            let content = json!([text, block("c1", input(a)), block("c2", input(b))]);
            (json!({"content": content, "stop_reason": "tool_use"}), stream)
        }
        Face::Gemini => {
            let call =
                |id: &str, text: &str| json!({"functionCall": {"id": id, "name": "weather", "args": input(text)}});
            let some = |parts: Json| json!({"candidates": [{"content": {"role": "model", "parts": parts}}]});
            let said = json!({"text": "Let me look."});
            let thought = json!({"text": "The user wants to know about rain.", "thought": true});
            let mut whole = some(json!([thought, said, call("c1", a), call("c2", b)]));
            whole["candidates"][0]["finishReason"] = "STOP".into();
            let end = json!({"candidates": [{"content": {"parts": []}, "finishReason": "STOP"}]});
            let stream =
                vec![some(json!([thought])), some(json!([said])), some(json!([call("c1", a), call("c2", b)])), end];
            (whole, stream)
        }
        Face::Cohere => {
            let call = |id: &str, text: &str| json!({"id": id, "type": "function", "function": {"name": "weather", "arguments": text}});
            let content = json!([{"type": "text", "text": "Let me look."}]);
            let message =
                json!({"role": "assistant", "content": content, "tool_calls": [call("c1", a), call("c2", b)]});
            let begun = |index: u64, call: Json| json!({"type": "tool-call-start", "index": index, "delta": {"message": {"tool_calls": call}}});
            let part = |index: u64, text: &str| json!({"type": "tool-call-delta", "index": index, "delta": {"message": {"tool_calls": {"function": {"arguments": text}}}}});
            let stream = vec![
                json!({"type": "message-start", "id": "x", "delta": {"message": {"role": "assistant", "content": []}}}),
                face.piece("Let me look."),
                begun(0, call("c1", "")),
                part(0, &a[..5]),
                part(0, &a[5..]),
                json!({"type": "tool-call-end", "index": 0}),
                begun(1, call("c2", "")),
                part(1, &b[..1]),
                part(1, &b[1..]),
                json!({"type": "message-end", "delta": {"finish_reason": "TOOL_CALL"}}),
            ];
            (json!({"message": message, "finish_reason": "TOOL_CALL"}), stream)
        }
        Face::Ollama => {
            let call = |text: &str| json!({"function": {"name": "weather", "arguments": input(text)}});
            let some = |message: Json, done: bool| json!({"model": "m", "message": message, "done": done});
            let calls = json!([call(a), call(b)]);
            let whole = some(json!({"role": "assistant", "content": "Let me look.", "tool_calls": calls}), true);
            let stream = vec![
                face.piece("Let me look."),
                some(json!({"role": "assistant", "content": "", "tool_calls": calls}), false),
                some(json!({"role": "assistant", "content": ""}), true),
            ];
            (whole, stream)
        }
    }
}

async fn answers(face: Face, second: &str, asked: &ModelRequest) -> [ModelAnswer; 2] {
    let (whole, stream) = two_calls(face, second);
    let server = Server::start_by(move |asked| match face.streams(asked) {
        true => face.streamed(&stream),
        false => Reply::json(whole.clone()),
    })
    .await;
    let model = face.registry(&server.url, "k").resolve_provider(face.provider(), "m").unwrap();
    let whole = ask(&*model, asked).await.0.unwrap();
    let (streamed, heard) = ask(&*model, &ModelRequest { stream: true, ..asked.clone() }).await;
    assert_eq!(heard.concat(), "Let me look.", "{face:?}: calls are not shown as text");
    [whole, streamed.unwrap()]
}

#[tokio::test]
async fn calls_arrive_whole_and_in_pieces() {
    for face in FACES {
        for answer in answers(face, r#"{"city":"Oslo"}"#, &with_tools(&["weather"])).await {
            let calls: Vec<_> = answer.calls.iter().map(|c| (&*c.id, &*c.name, c.arguments.to_json())).collect();
            let city = |city: &str| json!({ "city": city });
            // Ollama's calls have no ids.
            let [first, second] = if face == Face::Ollama { ["call_1", "call_2"] } else { ["c1", "c2"] };
            assert_eq!(calls, [(first, "weather", city("Bergen")), (second, "weather", city("Oslo"))], "{face:?}");
            assert_eq!((&*answer.text, answer.finish), ("Let me look.", Some(FinishReason::Tools)), "{face:?}");
        }
    }
}

#[tokio::test]
async fn arguments_that_cannot_be_read_are_handed_on_as_text() {
    for face in FACES {
        for text in [r#"{"city":"#, "[1,2]", "?!"] {
            // Some protocols send arguments as JSON instead of text, always or in complete answers.
            let answers = answers(face, text, &with_tools(&["weather"])).await;
            let [whole, streamed] = answers.map(|answer| answer.calls[1].arguments.clone());
            match face {
                Face::Chat | Face::Responses | Face::Cohere => assert_eq!([&whole, &streamed], [&Value::from(text); 2]),
                Face::Messages => assert_eq!(streamed, Value::from(text)),
                Face::Gemini | Face::Ollama => assert!(matches!(whole, Value::Str(_)) && whole == streamed),
            }
        }
    }
}

#[tokio::test]
async fn names_go_out_as_providers_take_them_and_come_back_as_they_were() {
    let long = format!("server.tool/{}", "x".repeat(80));
    let names = ["a.b", "a b", long.as_str()];
    let server = Server::start_with(|body| {
        let offered = body["tools"].as_array().unwrap().iter().map(|tool| tool["function"]["name"].clone());
        let call = |name: Json| json!({"id": name, "function": {"name": name, "arguments": {"x": 1}}});
        Reply::json(json!({"choices": [{"message": {"tool_calls": offered.map(call).collect::<Vec<_>>()}}]}))
    })
    .await;
    let registry = Face::Chat.registry(&server.url, "k");
    let answer = ask(&*registry.resolve_provider("openai", "m").unwrap(), &with_tools(&names)).await.0.unwrap();
    let back: Vec<&str> = answer.calls.iter().map(|call| &*call.name).collect();
    assert_eq!(back, names);
    assert!(answer.calls.iter().all(|call| call.arguments.to_json() == json!({"x": 1})), "an object instead of text");
    for (at, tool) in server.request().body["tools"].as_array().unwrap().iter().enumerate() {
        let name = tool["function"]["name"].as_str().unwrap();
        assert_eq!(name, ["a_b", "a_b_2"].get(at).copied().unwrap_or(&long.replace(['.', '/'], "_")[..64]));
    }
}

/// A turn with a tool call, and its result.
fn called(call: ModelToolCall) -> ModelRequest {
    let mut asked = with_tools(&["weather"]);
    let answers = Some(call.id.clone());
    asked.messages.push(ModelMessage { calls: vec![call], ..message(MessageRole::Assistant, "") });
    asked.messages.push(ModelMessage { answers, ..message(MessageRole::Tool, "rain") });
    asked
}

#[tokio::test]
async fn what_a_provider_signed_goes_back_to_it_and_to_nobody_else() {
    let thought = json!({"type": "thinking", "thinking": "hm", "signature": "signed"});
    let content = json!([thought, {"type": "tool_use", "id": "c1", "name": "weather", "input": {}}]);
    let stream = events(&[
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": "", "signature": ""}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "hm"}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "signed"}}),
        json!({"type": "content_block_start", "index": 1, "content_block": {"type": "tool_use", "id": "c1", "name": "weather", "input": {}}}),
        json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}}),
        json!({"type": "message_stop"}),
    ]);
    for streams in [false, true] {
        let replies = vec![
            if streams { Reply::stream(&[&stream]) } else { Reply::json(json!({"content": content})) },
            Reply::json(json!({"content": []})),
            Reply::json(json!({"choices": [{"message": {"content": ""}}]})),
        ];
        let server = Server::start(replies).await;
        let registry = Face::Messages.registry(&server.url, "k");
        let anthropic = registry.resolve_provider("anthropic", "m").unwrap();
        let first = ModelRequest { stream: streams, ..with_tools(&["weather"]) };
        let answer = ask(&*anthropic, &first).await.0.unwrap();
        let asked = called(answer.calls[0].clone());
        ask(&*anthropic, &asked).await.0.unwrap();
        ask(&*registry.resolve_provider("openai", "m").unwrap(), &asked).await.0.unwrap();
        let all = server.requests();
        assert_eq!(all[1].body["messages"][1]["content"][0], thought, "streamed: {streams}");
        assert!(!all[2].body.to_string().contains("signed"));
    }
}

#[tokio::test]
async fn signatures_of_gemini_and_thoughts_of_deepseek_go_back() {
    let extra = json!({"google": {"thought_signature": "s"}});
    let call = json!({"id": "c1", "function": {"name": "weather", "arguments": "{}"}, "extra_content": extra});
    let whole =
        json!({"choices": [{"message": {"role": "assistant", "reasoning_content": "hm", "tool_calls": [call]}}]});
    for provider in ["google", "deepseek", "openai"] {
        let server = Server::start_with({
            let whole = whole.clone();
            move |_| Reply::json(whole.clone())
        })
        .await;
        let registry = compatible(&server.url);
        let model = registry.resolve_provider(provider, "m").unwrap();
        let answer = ask(&*model, &with_tools(&["weather"])).await.0.unwrap();
        ask(&*model, &called(answer.calls[0].clone())).await.0.unwrap();
        let turn = server.requests()[1].body["messages"][1].clone();
        assert_eq!(turn.get("reasoning_content").is_some(), provider == "deepseek", "{turn}");
        assert_eq!(turn["tool_calls"][0]["extra_content"], extra, "{provider}");
    }
    // A call made by another model has no signature, and Gemini rejects calls without one.
    let server = Server::start(vec![Reply::json(json!({"choices": [{"message": {"content": ""}}]}))]).await;
    let registry = compatible(&server.url);
    let call = ModelToolCall { id: "c1".into(), name: "weather".into(), arguments: "{\"".into(), sealed: None };
    ask(&*registry.resolve_provider("google", "m").unwrap(), &called(call)).await.0.unwrap();
    let sent = server.request().body["messages"][1]["tool_calls"][0].clone();
    assert_eq!(sent["extra_content"]["google"]["thought_signature"], "skip_thought_signature_validator");
    assert_eq!(sent["function"]["arguments"], "{\"", "what cannot be read goes back as it came");
}

#[tokio::test]
async fn what_came_beside_calls_goes_back_through_interfaces_of_their_own() {
    let signed = json!({"functionCall": {"name": "weather", "args": {}}, "thoughtSignature": "s"});
    let gemini = json!({"candidates": [{"content": {"parts": [signed]}, "finishReason": "STOP"}]});
    let call = json!({"id": "c1", "type": "function", "function": {"name": "weather", "arguments": "{}"}});
    let cohere = json!({"message": {"tool_plan": "I look it up.", "tool_calls": [call]}, "finish_reason": "TOOL_CALL"});
    let named = json!({"function": {"name": "weather", "arguments": {}}});
    let ollama = json!({"message": {"content": "", "thinking": "hm", "tool_calls": [named]}, "done": true});
    for (face, whole) in [(Face::Gemini, gemini), (Face::Cohere, cohere), (Face::Ollama, ollama)] {
        let server = Server::start_by(move |_| Reply::json(whole.clone())).await;
        let model = face.registry(&server.url, "k").resolve_provider(face.provider(), "m").unwrap();
        let answer = ask(&*model, &with_tools(&["weather"])).await.0.unwrap();
        ask(&*model, &called(answer.calls[0].clone())).await.0.unwrap();
        let sent = server.requests()[1].body.clone();
        match face {
            Face::Gemini => {
                assert_eq!(sent["contents"][1]["parts"][0]["thoughtSignature"], "s", "{sent}");
                assert_eq!(sent["contents"][2]["parts"][0]["functionResponse"]["name"], "weather");
            }
            Face::Cohere => assert_eq!(sent["messages"][1]["tool_plan"], "I look it up.", "{sent}"),
            _ => {
                assert_eq!(sent["messages"][1]["thinking"], "hm", "{sent}");
                assert_eq!(sent["messages"][2], json!({"role": "tool", "tool_name": "weather", "content": "rain"}));
            }
        }
    }
}

#[tokio::test]
async fn anthropic_gets_objects_and_ids_that_it_takes() {
    let server = Server::start(vec![Reply::json(json!({"content": []}))]).await;
    let registry = Face::Messages.registry(&server.url, "k");
    let id: Arc<str> = "functions.weather:0".into();
    let call = ModelToolCall { id, name: "weather".into(), arguments: "{\"".into(), sealed: None };
    ask(&*registry.resolve_provider("anthropic", "m").unwrap(), &called(call)).await.0.unwrap();
    let messages = server.request().body["messages"].clone();
    assert_eq!(
        messages[1]["content"],
        json!([{"type": "tool_use", "id": "functions_weather_0", "name": "weather", "input": {"INVALID_JSON": "{\""}}])
    );
    assert_eq!(messages[2]["content"][0]["tool_use_id"], "functions_weather_0");
}
