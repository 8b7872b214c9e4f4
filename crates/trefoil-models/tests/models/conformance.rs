//! What every provider promises, asked of all of them.

use std::future::Future;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use trefoil_embedded::Embedded;
use trefoil_ir::ToolKind;
use trefoil_models::Scripted;
use trefoil_runtime::conformance::{ToolSample, tools};
use trefoil_runtime::{ModelProvider, ToolRequest};
use trefoil_template::Value;

use crate::program::one_call;
use crate::request::{ask, ask_at, request};

/// The suite. Calls the provider nine times; the text of its answers is its own business.
async fn conforms(provider: Arc<dyn ModelProvider>) {
    let asked = request("Say something about tea, please");
    let label = provider.label(&asked);
    assert!(!label.is_empty());
    assert_eq!(provider.label(&asked), label, "the label is the same every time");

    let (answer, heard) = ask(&*provider, &asked).await;
    let answer = answer.unwrap();
    assert!(!answer.text.is_empty());
    assert!(heard.is_empty(), "nothing is shown of a call that does not stream");
    assert!(answer.usage.input_tokens > 0 && answer.usage.output_tokens > 0, "the call is counted");
    assert!(answer.usage.cached_tokens <= answer.usage.input_tokens);

    let mut streamed = asked.clone();
    streamed.stream = true;
    let (answer, heard) = ask(&*provider, &streamed).await;
    assert_eq!(heard.concat(), answer.unwrap().text, "what was shown is the answer");
    assert!(!heard.is_empty() && heard.iter().all(|h| !h.is_empty()));

    // A call that is dropped, at once or later, leaves nothing behind.
    for polls in 0..2 {
        let mut call = Box::pin(ask(&*provider, &streamed));
        for _ in 0..polls {
            let polled = call.as_mut().poll(&mut Context::from_waker(Waker::noop()));
            assert!(matches!(polled, Poll::Pending | Poll::Ready((Ok(_), _))));
        }
    }

    let calls: Vec<_> = (0..4)
        .map(|n| {
            let (provider, asked) = (provider.clone(), asked.clone());
            let call =
                async move { ask_at(&*provider, &format!("flow/fan[{n}]/writer"), &["fan", "writer"], &asked).await.0 };
            tokio::spawn(call)
        })
        .collect();
    for call in calls {
        call.await.unwrap().expect("several calls at the same time");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_embedded_model_conforms() {
    conforms(Arc::new(Embedded::new(&one_call(), 7))).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_script_conforms() {
    let script = r#"{"answers": {"writer": {"text": "Tea is a drink", "delay_ms": 5}}}"#;
    conforms(Arc::new(Scripted::parse("s.json", script).unwrap())).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tools_of_a_script_conform() {
    let script = r#"{"tools": {"echo": {"value": {"said": "tea"}, "delay_ms": 2}, "broken": {"error": "no tea"}}}"#;
    let request = |name: &str| ToolRequest { name: name.into(), kind: ToolKind::Local, arguments: Value::Null };
    let sample = ToolSample {
        works: Some((request("echo"), [("said", Value::from("tea"))].into_iter().collect())),
        fails: Some(request("broken")),
        unknown: request("none"),
        lists: vec!["echo", "broken"],
    };
    tools(Arc::new(Scripted::parse("s.json", script).unwrap()), &sample).await.unwrap();
}

#[cfg(feature = "http")]
mod http {
    use serde_json::json;

    use super::*;
    use crate::server::{Reply, Server};

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn chat_completions_conform() {
        let usage = json!({"prompt_tokens": 5, "completion_tokens": 3});
        let whole = json!({"choices": [{"message": {"content": "Tea is a drink"}}], "usage": usage});
        let delta = |text: &str| format!("data: {}\n\n", json!({"choices": [{"delta": {"content": text}}]}));
        let stream = format!("{}{}data: [DONE]\n\n", delta("Tea is "), delta("a drink"));
        let server = Server::start_with(move |body| match body["stream"] == true {
            true => Reply::stream(&[&stream]),
            false => Reply::json(whole.clone()),
        })
        .await;
        let registry = server.registry(&[("OPENAI_API_KEY", "k"), ("OPENAI_BASE_URL", "{url}")]);
        conforms(registry.resolve("openai", "m").unwrap()).await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn responses_conform() {
        let usage = json!({"input_tokens": 5, "output_tokens": 3});
        let text = json!({"type": "message", "content": [{"type": "output_text", "text": "Tea is a drink"}]});
        let whole = json!({"status": "completed", "output": [text], "usage": usage});
        let delta = |text: &str| json!({"type": "response.output_text.delta", "delta": text});
        let end = json!({"type": "response.completed", "response": whole});
        let stream: String =
            [delta("Tea is "), delta("a drink"), end].iter().map(|e| format!("data: {e}\n\n")).collect();
        let server = Server::start_with(move |body| match body["stream"] == true {
            true => Reply::stream(&[&stream]),
            false => Reply::json(whole.clone()),
        })
        .await;
        let registry = server.registry(&[("OPENAI_API_KEY", "k"), ("OPENAI_BASE_URL", "{url}/v1")]);
        conforms(registry.with_api("openai", trefoil_models::Api::Responses).resolve("openai", "m").unwrap()).await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn messages_conform() {
        let usage = json!({"input_tokens": 5, "output_tokens": 3});
        let whole = json!({"content": [{"type": "text", "text": "Tea is a drink"}], "usage": usage});
        let delta = |text: &str| json!({"type": "content_block_delta", "delta": {"type": "text_delta", "text": text}});
        let stream: String = [
            json!({"type": "message_start", "message": {"usage": usage}}),
            delta("Tea is "),
            delta("a drink"),
            json!({"type": "message_stop"}),
        ]
        .iter()
        .map(|e| format!("data: {e}\n\n"))
        .collect();
        let server = Server::start_with(move |body| match body["stream"] == true {
            true => Reply::stream(&[&stream]),
            false => Reply::json(whole.clone()),
        })
        .await;
        let registry = server.registry(&[("ANTHROPIC_API_KEY", "k"), ("ANTHROPIC_BASE_URL", "{url}")]);
        conforms(registry.resolve("anthropic", "m").unwrap()).await;
    }
}
