//! Agents with tools, tested with servers that implement the providers' protocols: the tools that a model calls are
//! called, and their results are returned to it.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use serde_json::{Value as Json, json};
use trefoil::models::{Registry, VendorApi};
use trefoil::ports::CollectEvents;
use trefoil::{Engine, Flow};

const BROKEN: &str = "{\"city\": ";

/// Calls a tool twice, the second time with invalid arguments, then reports the result.
fn turn(protocol: &str, asked: &Json) -> Json {
    let first = !asked.to_string().contains("rain in Bergen");
    let good = json!({"city": "Bergen"});
    match (protocol, first) {
        ("chat", true) => {
            let call = |id: &str, text: &str| json!({"id": id, "type": "function", "function": {"name": "forecast", "arguments": text}});
            json!({"choices": [{"message": {"content": null, "tool_calls": [call("c1", &good.to_string()), call("c2", BROKEN)]}, "finish_reason": "tool_calls"}]})
        }
        ("chat", false) => json!({"choices": [{"message": {"content": "It rains."}, "finish_reason": "stop"}]}),
        ("responses", true) => {
            let call = |id: &str, text: &str| json!({"type": "function_call", "call_id": id, "name": "forecast", "arguments": text});
            let thought =
                json!({"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "sealed-thought"});
            json!({"status": "completed", "output": [thought, call("c1", &good.to_string()), call("c2", BROKEN)]})
        }
        ("responses", false) => {
            json!({"status": "completed", "output": [{"type": "message", "content": [{"type": "output_text", "text": "It rains."}]}]})
        }
        (_, true) => {
            let call =
                |id: &str, input: Json| json!({"type": "tool_use", "id": id, "name": "forecast", "input": input});
            let thought = json!({"type": "thinking", "thinking": "hm", "signature": "sealed-thought"});
            json!({"content": [thought, call("c1", good), call("c2", json!(BROKEN))], "stop_reason": "tool_use"})
        }
        (_, false) => json!({"content": [{"type": "text", "text": "It rains."}], "stop_reason": "end_turn"}),
    }
}

fn serve(mut stream: TcpStream, protocol: &str, kept: &Mutex<Vec<Json>>) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let (mut line, mut length) = (String::new(), 0);
    while reader.read_line(&mut line)? > 2 {
        if let Some(n) = line.to_lowercase().strip_prefix("content-length:") {
            length = n.trim().parse().unwrap();
        }
        line.clear();
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let asked: Json = serde_json::from_slice(&body)?;
    let answer = turn(protocol, &asked).to_string();
    kept.lock().unwrap().push(asked);
    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close";
    write!(stream, "{head}\r\ncontent-length: {}\r\n\r\n{answer}", answer.len())
}

/// The requests to a provider with this protocol, and the events of the run.
async fn run(protocol: &'static str) -> (Vec<Json>, String) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let kept = Arc::<Mutex<Vec<Json>>>::default();
    let own = kept.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            serve(stream, protocol, &own).unwrap();
        }
    });
    let provider = if protocol == "messages" { "anthropic" } else { "openai" };
    let env = [format!("{}_API_KEY", provider.to_uppercase()), format!("{}_BASE_URL", provider.to_uppercase())];
    let mut registry = Registry::new(env.into_iter().zip(["k".to_owned(), url]));
    if protocol == "responses" {
        registry = registry.with_api("openai", VendorApi::Responses);
    }
    let agent = format!(
        "id: a\nkind: llm\nmodel: {{ provider: {provider}, name: m }}\ninstruction: I\nprompt: Weather?\n\
         tools:\n  - kind: local\n    tools: [forecast]\n"
    );
    #[derive(serde::Deserialize)]
    struct Place {
        city: String,
    }
    let events = Arc::new(CollectEvents::new());
    let engine = Engine::new()
        .registry(registry)
        .events(events.clone())
        .tool("forecast", async |at: Place| Ok(format!("rain in {}", at.city)));
    let flow = Flow::from_text("a.yaml", agent).unwrap();
    let text: String = engine.start_run(&flow, ()).unwrap().wait_output().await.unwrap();
    assert_eq!(text, "It rains.");
    let told = events.collected_events().iter().map(|event| serde_json::to_string(event).unwrap()).collect();
    let sent = kept.lock().unwrap().clone();
    (sent, told)
}

#[tokio::test]
async fn what_came_of_calls_goes_back_in_each_protocol() {
    for protocol in ["chat", "responses", "messages"] {
        let (sent, told) = run(protocol).await;
        assert_eq!(sent.len(), 2, "{protocol}");
        let last = match protocol {
            "chat" => sent[1]["messages"].as_array().unwrap().iter().rev().take(2).cloned().collect::<Vec<_>>(),
            "responses" => sent[1]["input"].as_array().unwrap().iter().rev().take(2).cloned().collect(),
            _ => sent[1]["messages"][2]["content"].as_array().unwrap().iter().rev().cloned().collect(),
        };
        let (id, text) = match protocol {
            "chat" => ("tool_call_id", "content"),
            "responses" => ("call_id", "output"),
            _ => ("tool_use_id", "content"),
        };
        assert_eq!((&last[1][id], &last[1][text]), (&json!("c1"), &json!("rain in Bergen")), "{protocol}");
        assert_eq!(last[0][id], "c2");
        let error = last[0][text].as_str().unwrap();
        assert!(error.contains("JSON") || error.contains("object"), "{protocol}: the model can try again: {error}");
        // Opaque data is returned only to the provider that sent it.
        assert_eq!(sent[1].to_string().contains("sealed-thought"), protocol != "chat");
        assert!(!told.contains("sealed-thought"), "{protocol}: {told}");
    }
}
