//! Fallback models.

use std::sync::Arc;
use std::time::Duration;

use expect_test::expect;
use serde_json::{Value as Json, json};
use trefoil_ir::StepId;
use trefoil_models::{ModelName, Registry, StepFallbacks};
use trefoil_runtime::ports::{CallSite, SubstituteModel};
use trefoil_runtime::{Key, Meter, ModelAnswer, ModelError, ModelErrorKind, ModelProvider, ModelRequest, Usage};

use crate::request::{ask, request};
use crate::server::{Piece, Reply, Server};

fn fine() -> Reply {
    Reply::json(json!({"content": [{"type": "text", "text": "from the other"}],
        "usage": {"input_tokens": 2, "output_tokens": 3}}))
}

/// OpenAI's model first, then Anthropic's, at these addresses. An empty `key` means no key.
fn provider(openai: &str, anthropic: &str, key: &str) -> Arc<dyn ModelProvider> {
    let env = [
        ("OPENAI_API_KEY", key),
        ("OPENAI_BASE_URL", openai),
        ("ANTHROPIC_API_KEY", "k"),
        ("ANTHROPIC_BASE_URL", anthropic),
    ];
    let other = ModelName { provider: "anthropic".into(), model: "other".into() };
    let others = StepFallbacks::from([(StepId(0), Arc::from([other]))]);
    Registry::new(env.map(|(k, v)| (k.to_owned(), v.to_owned()))).by_step(others)
}

fn asked() -> ModelRequest {
    ModelRequest { provider: Some("openai".into()), ..request("x") }
}

/// The models before, with what they used.
fn used(instead: &SubstituteModel) -> Vec<(&str, Option<Usage>)> {
    instead.before.iter().map(|one| (&*one.model, one.usage)).collect()
}

fn status(status: u16, wait: Option<&'static str>) -> Reply {
    let headers = wait.map(|wait| ("retry-after", wait)).into_iter().collect();
    Reply::Whole(status, headers, json!({"error": {"message": "no"}}).to_string())
}

async fn after(first: Reply, asked: &ModelRequest) -> (Result<ModelAnswer, ModelError>, Json) {
    let (one, other) = (Server::start(vec![first]).await, Server::start_with(|_| fine()).await);
    let answer = ask(&*provider(&one.url, &other.url, "k"), asked).await.0;
    (answer, other.requests().first().map_or(Json::Null, |received| received.body["model"].clone()))
}

#[tokio::test]
async fn the_next_one_answers_where_the_first_is_overloaded_or_at_a_limit() {
    for code in [429, 500, 503, 529] {
        let (answer, asked) = after(status(code, None), &asked()).await;
        let answer = answer.unwrap();
        assert_eq!((&*answer.text, &asked), ("from the other", &json!("other")));
        let instead = answer.instead.unwrap();
        assert_eq!(instead.by, "anthropic:other");
        assert_eq!(instead.failure_reasons(), format!("`openai` answered with {code}: no"));
        assert_eq!(answer.usage, Usage { input_tokens: 2, output_tokens: 3, ..Usage::default() });
    }
}

#[tokio::test]
async fn the_next_one_answers_where_the_first_cannot_be_reached_or_has_no_key() {
    let other = Server::start_with(|_| fine()).await;
    let mut told = Vec::new();
    for (address, key) in [("http://127.0.0.1:1", "k"), ("http://127.0.0.1:1", "")] {
        let answer = ask(&*provider(address, &other.url, key), &asked()).await.0.unwrap();
        told.push(answer.instead.unwrap().failure_reasons());
    }
    expect![[r#"
        `openai` cannot be reached at http://127.0.0.1:1: Connection refused (os error 111)
        `openai` needs `OPENAI_API_KEY` in the environment"#]]
    .assert_eq(&told.join("\n"));
}

#[tokio::test]
async fn what_would_be_no_different_elsewhere_is_not_tried_there() {
    for code in [400, 401, 403, 404, 413] {
        let (answer, other) = after(status(code, None), &asked()).await;
        assert_eq!((answer.unwrap_err().kind, other), (ModelErrorKind::Status(code), Json::Null));
    }
    let refusal = json!({"choices": [{"message": {"content": null, "refusal": "I cannot"}}]});
    let (answer, other) = after(Reply::json(refusal), &asked()).await;
    assert_eq!((answer.unwrap().text, other), ("I cannot".to_owned(), Json::Null));
    let (answer, other) = after(Reply::json(json!({})), &asked()).await;
    assert_eq!((answer.unwrap_err().kind, other), (ModelErrorKind::Protocol, Json::Null));
}

#[tokio::test]
async fn text_that_was_shown_is_not_answered_a_second_time() {
    let half = format!("data: {}\n\n", json!({"choices": [{"delta": {"content": "half"}}]})).into_bytes();
    let streaming = ModelRequest { stream: true, ..asked() };
    let (answer, other) = after(Reply::Stream(vec![Piece::Bytes(half), Piece::Cut]), &streaming).await;
    assert_eq!((answer.unwrap_err().came.unwrap().text, other), ("half".to_owned(), Json::Null));
    // No text of this answer was shown, but the call may have a cost.
    let (answer, _) = after(Reply::Stream(vec![Piece::Bytes(b": hi\n\n".to_vec()), Piece::Cut]), &streaming).await;
    let answer = answer.unwrap();
    assert_eq!(answer.usage.unknown_calls, 0);
    assert_eq!(used(&answer.instead.unwrap()), [("openai:model-x", Some(Usage::for_unknown_call()))]);
}

#[tokio::test]
async fn where_none_can_answer_all_are_named_and_the_shortest_wait_counts() {
    let one = Server::start(vec![status(429, Some("9"))]).await;
    let other = Server::start(vec![status(529, Some("2"))]).await;
    let error = ask(&*provider(&one.url, &other.url, "k"), &asked()).await.0.unwrap_err();
    expect!["`anthropic` answered with 529: no; before that, `openai` answered with 429: no"].assert_eq(&error.message);
    assert_eq!((error.kind, error.retry_after_ms), (ModelErrorKind::Status(529), Some(2000)));
}

#[tokio::test]
async fn what_each_one_used_before_it_broke_off_is_told_under_its_name() {
    let cut = || Reply::Stream(vec![Piece::Bytes(b": hi\n\n".to_vec()), Piece::Cut]);
    let (one, other) = (Server::start(vec![cut()]).await, Server::start(vec![cut()]).await);
    let streaming = ModelRequest { stream: true, ..asked() };
    let error = ask(&*provider(&one.url, &other.url, "k"), &streaming).await.0.unwrap_err();
    let came = error.came.unwrap();
    let instead = came.instead.unwrap();
    assert_eq!((came.usage, &*instead.by), (Usage::for_unknown_call(), "anthropic:other"));
    assert_eq!(used(&instead), [("openai:model-x", Some(Usage::for_unknown_call()))]);
}

/// Whoever stops the call knows which model is being asked, and what to pay for.
#[tokio::test]
async fn a_call_in_progress_says_which_model_is_asked() {
    let (one, other) = (Server::start(vec![status(500, None)]).await, Server::start(vec![Reply::Silence]).await);
    let (provider, meter, key) = (provider(&one.url, &other.url, "k"), Meter::default(), Key("a".into()));
    let at = CallSite {
        run: "run",
        execution: 0,
        key: &key,
        step: StepId(0),
        labels: &[],
        meter: &meter,
        discloses: false,
        limit_ms: None,
    };
    let (asked, mut shown) = (asked(), |_: &str| {});
    let call = provider.call_model(at, &asked, &mut shown);
    let arrives = async {
        while other.requests().is_empty() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    tokio::select! {
        _ = call => panic!("the other one is silent"),
        () = arrives => {}
    }
    let instead = meter.substitute_model().unwrap();
    assert_eq!((&*instead.by, used(&instead)), ("anthropic:other", vec![("openai:model-x", None)]));
}

/// Calls often enough, and over a time that is long enough, to open a circuit breaker.
async fn keep_asking(provider: &dyn ModelProvider, asked: &ModelRequest) {
    for _ in 0..4 {
        let _ = ask(provider, asked).await;
    }
    tokio::time::sleep(Duration::from_millis(10_100)).await;
    let _ = ask(provider, asked).await;
}

#[tokio::test]
async fn a_model_that_keeps_failing_admits_one_call_at_a_time() {
    let server = Server::start_with(|_| status(503, None)).await;
    let registry = server.registry(&[("OPENAI_API_KEY", "k"), ("OPENAI_BASE_URL", "{url}")]);
    let model = registry.resolve_provider("openai", "m").unwrap();
    keep_asking(&*model, &asked()).await;
    let pause = model.call_pause(StepId(0), &asked()).unwrap();
    assert!(pause.wait.is_some_and(|wait| wait <= Duration::from_secs(1)));
    expect!["`openai` answered with 503: no"].assert_eq(&pause.why);
    let told = std::sync::Mutex::new(Vec::new());
    let admission = model.admit_call(StepId(0), &asked(), &|pause| told.lock().unwrap().push(pause.why)).await;
    assert_eq!(told.into_inner().unwrap(), [pause.why]);
    // The next one waits for what comes of it, and a call that fails leaves nothing to wait for but time.
    let request = asked();
    let next = model.admit_call(StepId(0), &request, &|_| ());
    assert!(tokio::time::timeout(Duration::from_millis(50), next).await.is_err());
    ask(&*model, &asked()).await.0.unwrap_err();
    drop(admission);
    assert!(
        model.call_pause(StepId(0), &asked()).unwrap().wait.is_some_and(|wait| wait > Duration::from_millis(1_500))
    );
    assert_eq!(server.requests().len(), 6);
}

/// One gateway in front of several providers: the path says which.
async fn gateway(bad: u16) -> Server {
    Server::start_by(move |received| match received.line.contains("/good/") || received.body["model"] == "small" {
        true => Reply::json(json!({
            "choices": [{"message": {"content": "fine"}}],
            "content": [{"type": "text", "text": "fine"}],
        })),
        false => status(bad, None),
    })
    .await
}

#[tokio::test]
async fn a_host_that_cannot_be_reached_is_left_alone_for_all_of_its_models() {
    let env = [
        ("OPENAI_API_KEY", "k"),
        ("OPENAI_BASE_URL", "http://127.0.0.1:1/v1"),
        ("MISTRAL_API_KEY", "k"),
        ("MISTRAL_BASE_URL", "http://127.0.0.1:1/v1"),
    ];
    let registry = Registry::new(env.map(|(k, v)| (k.to_owned(), v.to_owned())));
    for model in ["a", "b", "c", "d"] {
        ask(&*registry.resolve_provider("openai", model).unwrap(), &asked()).await.0.unwrap_err();
    }
    tokio::time::sleep(Duration::from_millis(10_100)).await;
    ask(&*registry.resolve_provider("openai", "e").unwrap(), &asked()).await.0.unwrap_err();
    let pause = registry.resolve_provider("mistral", "m").unwrap().call_pause(StepId(0), &asked()).unwrap();
    expect!["`openai` cannot be reached at http://127.0.0.1:1: Connection refused (os error 111)"]
        .assert_eq(&pause.why);
}

/// What takes long: `.ci/hunt` runs it, the gate does not.
mod hunt {
    use super::*;

    #[tokio::test]
    async fn a_model_that_fails_again_and_again_does_not_stop_the_others_on_its_host() {
        let server = gateway(503).await;
        let registry = server.registry(&[
            ("OPENAI_API_KEY", "k"),
            ("OPENAI_BASE_URL", "{url}/bad/v1"),
            ("MISTRAL_API_KEY", "k"),
            ("MISTRAL_BASE_URL", "{url}/good/v1"),
        ]);
        let other = ModelName { provider: "mistral".into(), model: "m".into() };
        let others = StepFallbacks::from([(StepId(0), Arc::from([other]))]);
        let provider = registry.by_step(others);
        keep_asking(&*provider, &asked()).await;
        let last = ask(&*provider, &asked()).await.0.unwrap();
        let called = |path: &str| server.requests().iter().filter(|one| one.line.contains(path)).count();
        assert_eq!((called("/bad/"), called("/good/")), (5, 6), "only the one that fails is passed over");
        let why = last.instead.unwrap().failure_reasons();
        expect!["`openai:model-x` is not called for another 1s, because most of its calls failed; the last one: `openai` answered with 503: no"].assert_eq(&why);
        assert!(provider.call_pause(StepId(0), &asked()).is_none(), "the other one answers");
        // The same for two models of one provider.
        let server = gateway(529).await;
        let registry = server.registry(&[("ANTHROPIC_API_KEY", "k"), ("ANTHROPIC_BASE_URL", "{url}")]);
        let other = ModelName { provider: "anthropic".into(), model: "small".into() };
        let provider = registry.by_step(StepFallbacks::from([(StepId(0), Arc::from([other]))]));
        let big = ModelRequest { provider: Some("anthropic".into()), model: "big".into(), ..request("x") };
        keep_asking(&*provider, &big).await;
        assert_eq!(ask(&*provider, &big).await.0.unwrap().text, "fine");
    }
}
