//! Failures of calls, the same for both protocols.

use expect_test::expect;
use std::time::Duration;

use serde_json::json;
use tokio::net::TcpListener;
use trefoil_models::{ModelTimeLimits, Registry};
use trefoil_runtime::{ModelError, ModelErrorKind, ModelRequest};

use crate::request::{ask, request};
use crate::server::{Piece, Reply, Server};

/// Both protocols, at this address.
fn both(url: &str) -> Registry {
    let env = [
        ("OPENAI_API_KEY", "sk-very-secret"),
        ("OPENAI_BASE_URL", url),
        ("ANTHROPIC_API_KEY", "sk-very-secret"),
        ("ANTHROPIC_BASE_URL", url),
    ];
    Registry::new(env.into_iter().map(|(k, v)| (k.to_owned(), v.to_owned())))
}

const PROVIDERS: [&str; 2] = ["openai", "anthropic"];

async fn failure(registry: &Registry, provider: &str, asked: &ModelRequest) -> ModelError {
    let (answer, _) = ask(&*registry.resolve_provider(provider, "m").unwrap(), asked).await;
    let error = answer.unwrap_err();
    assert!(!error.message.contains("sk-very-secret"), "{}", error.message);
    assert!(error.message.starts_with(&format!("`{provider}` ")), "{}", error.message);
    error
}

#[tokio::test]
async fn a_refusal_has_its_status_and_the_wait_asked_for() {
    let body = json!({"error": {"message": "Rate limit reached for key sk-very-secret"}}).to_string();
    for provider in PROVIDERS {
        for stream in [false, true] {
            let server = Server::start(vec![Reply::Whole(429, vec![("retry-after", "2")], body.clone())]).await;
            let mut asked = request("x");
            asked.stream = stream;
            let error = failure(&both(&server.url), provider, &asked).await;
            assert_eq!(error.kind, ModelErrorKind::Status(429));
            assert_eq!(error.retry_after_ms, Some(2000));
            assert!(
                error.message.contains(&format!("`{provider}`")) && error.message.ends_with("key ***"),
                "{}",
                error.message
            );
            server.request();
        }
    }
}

#[tokio::test]
async fn an_account_without_credit_is_no_rate_limit() {
    let error = json!({"error": {
        "message": "You exceeded your current quota, please check your plan and billing details.",
        "type": "insufficient_quota", "param": null, "code": "insufficient_quota",
    }});
    // With the status of a rate limit, with a success status, and within a stream.
    let event = format!("data: {error}\n\n").into_bytes();
    let replies = || {
        [
            Reply::Whole(429, vec![("retry-after", "2")], error.to_string()),
            Reply::json(error.clone()),
            Reply::Stream(vec![Piece::Bytes(event.clone())]),
        ]
    };
    for reply in replies() {
        let server = Server::start(vec![reply]).await;
        let mut asked = request("x");
        asked.stream = true;
        let error = failure(&both(&server.url), "openai", &asked).await;
        assert_eq!(error.kind, ModelErrorKind::Credit, "{}", error.message);
        assert_eq!(
            error.help.as_deref(),
            Some("the account of this key has no credit left; check it with the provider")
        );
    }
}

#[tokio::test]
async fn a_broken_server_is_a_status_whatever_its_body() {
    for provider in PROVIDERS {
        let page = "<html><body>Internal Server Error</body></html>".to_owned();
        let server = Server::start(vec![Reply::Whole(500, vec![("content-type", "text/html")], page)]).await;
        let error = failure(&both(&server.url), provider, &request("x")).await;
        assert_eq!(error.kind, ModelErrorKind::Status(500));
        assert!(
            error.message.contains(&format!("`{provider}`")) && error.message.ends_with(": Internal Server Error"),
            "{}",
            error.message
        );
        assert_eq!(error.retry_after_ms, None);
    }
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    for provider in PROVIDERS {
        let elsewhere = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let to = format!("http://{}/v1/chat/completions", elsewhere.local_addr().unwrap());
        let location: &'static str = Box::leak(to.into_boxed_str());
        let server = Server::start(vec![Reply::Whole(307, vec![("location", location)], String::new())]).await;
        let error = failure(&both(&server.url), provider, &request("x")).await;
        assert_eq!(error.kind, ModelErrorKind::Status(307));
        let call = tokio::time::timeout(Duration::from_millis(50), elsewhere.accept()).await;
        assert!(call.is_err(), "the key went elsewhere");
    }
}

#[tokio::test]
async fn what_is_not_the_protocol_is_said_to_be_so() {
    let bodies = ["{\"choices\": [", "{}", "[]", "\"hello\""];
    for provider in PROVIDERS {
        for body in bodies {
            let json = vec![("content-type", "application/json")];
            let server = Server::start(vec![Reply::Whole(200, json, body.to_owned())]).await;
            let error = failure(&both(&server.url), provider, &request("x")).await;
            assert_eq!(error.kind, ModelErrorKind::Protocol, "{provider} {body}");
        }
        let mut asked = request("x");
        asked.stream = true;
        let server = Server::start(vec![Reply::stream(&["data: {\"cho\n\n"])]).await;
        assert_eq!(failure(&both(&server.url), provider, &asked).await.kind, ModelErrorKind::Protocol);
    }
}

#[tokio::test]
async fn a_server_that_stalls_is_left_in_time() {
    for provider in PROVIDERS {
        for stalling in [Reply::Silence, Reply::Stream(vec![Piece::Bytes(b": hi\n\n".to_vec()), Piece::Silence])] {
            let server = Server::start(vec![stalling]).await;
            let mut asked = request("x");
            asked.stream = true;
            let registry =
                both(&server.url).with_limits(ModelTimeLimits { call_ms: Some(150), ..ModelTimeLimits::default() });
            let error = failure(&registry, provider, &asked).await;
            assert_eq!(error.kind, ModelErrorKind::Timeout);
            assert!(
                error.message.contains(&format!("`{provider}`")) && error.message.contains("0.15s"),
                "{}",
                error.message
            );
            server.client_gone().await;
        }
    }
}

#[tokio::test]
async fn nobody_there_is_a_network_error() {
    let free = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/?key=password", free.local_addr().unwrap());
    drop(free);
    for provider in PROVIDERS {
        let error = failure(&both(&url), provider, &request("x")).await;
        assert_eq!(error.kind, ModelErrorKind::Network);
        assert!(error.message.contains("cannot be reached at http://127.0.0.1:"), "{}", error.message);
        assert!(error.message.contains("refused"), "{}", error.message);
        assert!(!error.message.contains("password"), "{}", error.message);
    }
}

#[tokio::test]
async fn a_stream_that_is_cut_is_not_an_answer() {
    let pieces = |provider: &str| match provider {
        "openai" => json!({"choices": [{"delta": {"content": "half"}}]}),
        _ => json!({"type": "content_block_delta", "delta": {"type": "text_delta", "text": "half"}}),
    };
    for provider in PROVIDERS {
        let half = format!("data: {}\n\n", pieces(provider)).into_bytes();
        // The transfer is cut, or it ends correctly but too early.
        for end in [vec![Piece::Cut], vec![]] {
            let mut all = vec![Piece::Bytes(half.clone())];
            all.extend(end);
            let server = Server::start(vec![Reply::Stream(all)]).await;
            let mut asked = request("x");
            asked.stream = true;
            let error = failure(&both(&server.url), provider, &asked).await;
            assert_eq!(error.kind, ModelErrorKind::Network, "{}", error.message);
        }
    }
}

#[tokio::test]
async fn a_stream_that_falls_silent_is_left_and_what_had_come_is_kept() {
    let text = format!("data: {}\n\n", json!({"choices": [{"delta": {"content": "half"}}]}));
    let server = Server::start(vec![Reply::Stream(vec![Piece::Bytes(text.into_bytes()), Piece::Silence])]).await;
    let registry = both(&server.url).with_limits(ModelTimeLimits { idle_ms: 200, ..ModelTimeLimits::default() });
    let mut asked = request("x");
    asked.stream = true;
    let error = failure(&registry, "openai", &asked).await;
    assert_eq!(error.kind, ModelErrorKind::Network);
    expect!["`openai` sent nothing for 0.2s"].assert_eq(&error.message);
    assert_eq!(error.came.unwrap().text, "half");
    server.client_gone().await;
}

#[tokio::test]
async fn the_operators_time_limit_holds_where_the_manifest_has_a_longer_one() {
    let server = Server::start(vec![Reply::Silence]).await;
    let registry = both(&server.url).with_limits(ModelTimeLimits { call_ms: Some(150), ..ModelTimeLimits::default() });
    let mut asked = request("x");
    asked.parameters.timeout_ms = Some(60_000);
    let error = failure(&registry, "openai", &asked).await;
    expect!["`openai` did not complete its answer within 0.15s (`--timeout 0.15`)"].assert_eq(&error.message);
    assert!(error.help.unwrap().contains("`--timeout`"));
}

#[tokio::test]
async fn the_proxy_of_the_environment_is_used_except_where_it_says_not_to() {
    let registry = |proxy: &str, except: &str| {
        let env = [
            ("OPENAI_API_KEY", "k"),
            ("OPENAI_BASE_URL", "http://models.invalid/v1"),
            ("http_proxy", proxy),
            ("NO_PROXY", except),
        ];
        Registry::new(env.map(|(k, v)| (k.to_owned(), v.to_owned())))
    };
    let server = Server::start_with(|_| Reply::Whole(400, vec![], String::new())).await;
    let asked = request("x");
    failure(&registry(&server.url, ""), "openai", &asked).await;
    assert_eq!(server.request().line, "POST http://models.invalid/v1/chat/completions HTTP/1.1");
    let error = failure(&registry("http://127.0.0.1:1", "models.invalid"), "openai", &asked).await;
    assert!(error.message.contains("cannot be reached at http://models.invalid"), "{}", error.message);
    let wrong = registry("socks5://user:password@h", "").resolve_provider("openai", "m").err().unwrap();
    expect!["`http_proxy` is not the http or https URL of a proxy"].assert_eq(&wrong.message);
}

#[tokio::test]
async fn dropping_a_call_closes_its_connection() {
    for provider in PROVIDERS {
        let server = Server::start(vec![Reply::Silence]).await;
        let model = both(&server.url).resolve_provider(provider, "m").unwrap();
        let asked = request("x");
        let call = ask(&*model, &asked);
        let outcome = tokio::time::timeout(Duration::from_millis(150), call).await;
        assert!(outcome.is_err(), "the server never answers");
        server.client_gone().await;
    }
}

#[tokio::test]
async fn a_key_that_no_header_can_carry_is_a_setup_error() {
    let env = [("OPENAI_API_KEY", "sk-very\nsecret")];
    let registry = Registry::new(env.into_iter().map(|(k, v)| (k.to_owned(), v.to_owned())));
    let error = registry.resolve_provider("openai", "m").err().unwrap();
    assert_eq!(error.kind, ModelErrorKind::Setup);
    expect!["the key of `openai` contains invalid characters"].assert_eq(&error.message);
}

#[tokio::test]
async fn an_alias_cannot_be_called_by_name() {
    let error = ask(&*both("http://127.0.0.1:1").by_name(), &request("x")).await.0.unwrap_err();
    assert_eq!(error.kind, ModelErrorKind::Setup);
    expect!["`model-x` is an alias without a provider"].assert_eq(&error.message);
}
