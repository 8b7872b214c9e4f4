//! Providers that the operator declares.

use serde_json::json;
use trefoil_models::{ModelOverride, ProviderAvailability, Registry, VendorApi};

use crate::request::{ask, request};
use crate::server::{Reply, Server};

/// The environment has the keys of known providers.
fn registry(more: &[(&str, &str)]) -> Registry {
    let known = [("OPENAI_API_KEY", "sk-ambient"), ("OPENAI_COMPATIBLE_API_KEY", "sk-ambient")];
    Registry::new(known.iter().chain(more).map(|(k, v)| ((*k).to_owned(), (*v).to_owned())))
}

async fn server() -> Server {
    Server::start_with(|body| match body.get("input") {
        Some(_) => {
            Reply::json(json!({"output": [{"type": "message", "content": [{"type": "output_text", "text": "new"}]}]}))
        }
        None => Reply::json(json!({"choices": [{"message": {"content": "old"}}]})),
    })
    .await
}

#[tokio::test]
async fn each_is_called_at_its_own_address_and_gets_no_key_but_its_own() {
    let (one, other) = (server().await, server().await);
    let registry = registry(&[("MY_KEY", "sk-mine")])
        .with_provider("myvllm", &format!("{}/v1", one.url), None, "config.toml")
        .with_provider("llama.cpp", &other.url, Some("MY_KEY"), "config.toml")
        .with_api("llama.cpp", VendorApi::Responses);
    let call =
        async |provider: &str| ask(&*registry.resolve_provider(provider, "m").unwrap(), &request("x")).await.0.unwrap();
    assert_eq!((call("myvllm").await.text, call("llama.cpp").await.text), ("old".to_owned(), "new".to_owned()));
    let (one, other) = (one.request(), other.request());
    assert_eq!((&*one.line, one.headers.get("authorization")), ("POST /v1/chat/completions HTTP/1.1", None));
    assert_eq!((&*other.line, &*other.headers["authorization"]), ("POST /responses HTTP/1.1", "Bearer sk-mine"));
    // They are shown before the first call.
    let shown = registry.non_default_address("myvllm").unwrap().to_string();
    assert!(shown.starts_with("`myvllm` is called at http://127.0.0.1:") && shown.contains("`config.toml`"), "{shown}");
}

#[test]
fn one_without_its_key_is_not_called() {
    let registry = registry(&[]).with_provider("mine", "https://h/v1", Some("OTHER_KEY"), "config.toml");
    assert_eq!(registry.provider_availability("mine"), ProviderAvailability::NoKey { variable: "OTHER_KEY", or: None });
    let listed = registry.list_configurations();
    let mine = listed.iter().find(|one| one.provider == "mine").unwrap();
    assert_eq!((mine.key_variable, mine.has_key, mine.encrypted), (Some("OTHER_KEY"), false, true));
    let known = registry.clone().with_provider("openai", "https://evil.test", None, "config.toml");
    assert_eq!(known.non_default_address("openai"), None, "a known provider cannot be declared");
    let read = Registry::to_read().with_provider("mine", "https://h/v1", Some("OTHER_KEY"), "config.toml");
    assert_eq!(read.provider_availability("mine"), ProviderAvailability::Ready);
}

#[test]
fn only_a_certain_misspelling_is_reported_before_the_settings_are_read() {
    let unknown = |text: &str| text.parse::<ModelOverride>().unwrap().unknown_provider();
    assert!(unknown("opneai:m").is_some_and(|message| message.contains("did you mean `openai`")));
    assert!(unknown("smart=opneai:m").is_some());
    assert_eq!((unknown("myvllm:m"), unknown("openai:m"), unknown("openai-compatible:m")), (None, None, None));
}
