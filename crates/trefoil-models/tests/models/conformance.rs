//! The requirements for every provider, tested with all of them.

use std::future::Future;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use trefoil_embedded::EmbeddedModel;
use trefoil_ir::ToolKind;
use trefoil_models::Scripted;
use trefoil_runtime::conformance::{ToolSample, check_tools};
use trefoil_runtime::{ModelProvider, ToolRequest};
use trefoil_template::Value;

use crate::program::one_call;
use crate::request::{ask, ask_at, request};

/// The suite. It calls the provider nine times and does not check the text of its answers.
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

    // A call that is dropped, at once or later, has no side effects.
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
    conforms(Arc::new(EmbeddedModel::new(&one_call(), 7))).await;
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
    check_tools(Arc::new(Scripted::parse("s.json", script).unwrap()), &sample).await.unwrap();
}

#[cfg(feature = "http")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_protocol_conforms() {
    use trefoil_runtime::FinishReason;

    use crate::faces::FACES;
    use crate::server::Server;

    for face in FACES {
        let server = Server::start_by(move |asked| face.answer(asked, &["Tea is ", "a drink"])).await;
        let model = face.registry(&server.url, "k").resolve_provider(face.provider(), "m").unwrap();
        conforms(model.clone()).await;
        for stream in [false, true] {
            let mut asked = request("x");
            asked.stream = stream;
            let answer = ask(&*model, &asked).await.0.unwrap();
            let used = answer.usage;
            assert_eq!((&*answer.text, answer.finish), ("Tea is a drink", Some(FinishReason::Stop)), "{face:?}");
            let cached = if face == crate::faces::Face::Ollama { 0 } else { 2 };
            assert_eq!(
                (used.input_tokens, used.cached_tokens, used.output_tokens),
                (5, cached, 3),
                "{face:?} {stream}"
            );
            assert!(used.is_known());
        }
    }
}
