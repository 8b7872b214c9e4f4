//! A provider's address, and what all of its requests have in common.

use std::fmt;

use reqwest::Url;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use trefoil_runtime::{Finish, ModelError, ModelErrorKind, ModelRequest};

use super::finish::FinishWord;
use super::stream::StreamTable;
use super::tools::Names;
use super::{Partial, PartialAnswer, chat_completions, cohere, finish, gemini, messages, ollama, refusal, responses};
use crate::address::Address;
use crate::credential::Credential;
use crate::vendors::{ChatQuirks, Own, Protocol};

/// The supported version of Anthropic's protocol.
const ANTHROPIC_VERSION: &str = "2023-06-01";

/// The address and the protocol of a provider.
#[derive(Clone)]
pub struct Endpoint {
    /// Its name in manifests.
    pub(super) provider: &'static str,
    pub(super) protocol: Protocol,
    pub(super) url: Url,
    /// A header with the credential is marked as sensitive.
    pub(super) headers: HeaderMap,
    credential: Option<Credential>,
}

impl Endpoint {
    /// Creates the endpoint of a provider from a base URL (`https://host/v1`).
    pub fn new(
        provider: &'static str,
        protocol: Protocol,
        base_url: &str,
        credential: Option<Credential>,
    ) -> Result<Self, ModelError> {
        let setup = |message: String| ModelError::new(ModelErrorKind::Setup, message);
        let address = Address::parse(base_url).map_err(|why| setup(format!("the base URL of `{provider}` {why}")))?;
        let mut url = address.url().clone();
        let base = url.path().trim_end_matches('/').to_owned();
        let base = match protocol {
            // Azure's SDKs take an address without the version.
            Protocol::ChatCompletions(ChatQuirks { path, .. }) | Protocol::Responses { path }
                if path.strip_suffix("/v1").is_some_and(|short| !short.is_empty() && base.ends_with(short)) =>
            {
                format!("{base}/v1")
            }
            _ => base,
        };
        let path = match protocol {
            Protocol::ChatCompletions(quirks) if base.is_empty() => format!("{}/chat/completions", quirks.path),
            Protocol::ChatCompletions(_) => format!("{base}/chat/completions"),
            Protocol::Responses { path } if base.is_empty() => format!("{path}/responses"),
            Protocol::Responses { .. } => format!("{base}/responses"),
            Protocol::Messages if base.ends_with("/v1") => format!("{base}/messages"),
            Protocol::Messages => format!("{base}/v1/messages"),
            // The model and the method are added for each request.
            Protocol::Own(Own::Gemini, _) if base.is_empty() => "/v1beta/models".to_owned(),
            Protocol::Own(Own::Gemini, _) => format!("{base}/models"),
            Protocol::Own(Own::Cohere, _) if base.ends_with("/v2") => format!("{base}/chat"),
            Protocol::Own(Own::Cohere, _) => format!("{base}/v2/chat"),
            Protocol::Own(Own::Ollama, _) if base.ends_with("/api") => format!("{base}/chat"),
            Protocol::Own(Own::Ollama, _) => format!("{base}/api/chat"),
        };
        url.set_path(&path);

        let mut headers = HeaderMap::new();
        let secret = |text: String| {
            let mut value = HeaderValue::from_str(&text)
                .map_err(|_| setup(format!("the key of `{provider}` contains invalid characters")))?;
            value.set_sensitive(true);
            Ok(value)
        };
        match (protocol, &credential) {
            (Protocol::Messages, key) => {
                headers.insert("anthropic-version", HeaderValue::from_static(ANTHROPIC_VERSION));
                if let Some(key) = key {
                    headers.insert(HeaderName::from_static("x-api-key"), secret(key.expose().to_owned())?);
                }
            }
            (Protocol::Own(Own::Gemini, _), Some(key)) => {
                headers.insert(HeaderName::from_static("x-goog-api-key"), secret(key.expose().to_owned())?);
            }
            (_, Some(key)) => {
                headers.insert(AUTHORIZATION, secret(format!("Bearer {}", key.expose()))?);
            }
            (_, None) => {}
        }
        Ok(Self { provider, protocol, url, headers, credential })
    }

    /// The URL for its requests.
    pub fn url(&self) -> &Url {
        &self.url
    }

    /// The URL for a call of this request's model.
    pub(super) fn call_url(&self, request: &ModelRequest) -> Url {
        match self.protocol {
            Protocol::Own(Own::Gemini, _) => gemini::call_url(&self.url, request),
            _ => self.url.clone(),
        }
    }

    /// The URL of its model list. All protocols have one next to the URL for calls.
    pub(super) fn models_url(&self) -> Url {
        let mut url = self.url.clone();
        let path = url.path();
        let base = ["/chat/completions", "/responses", "/messages", "/v2/chat", "/chat", "/models"]
            .iter()
            .find_map(|call| path.strip_suffix(call))
            .unwrap_or(path);
        let (list, query) = match self.protocol {
            Protocol::ChatCompletions(_) | Protocol::Responses { .. } => ("/models", None),
            Protocol::Messages => ("/models", Some(("limit", "1000"))),
            Protocol::Own(Own::Gemini, _) => ("/models", Some(("pageSize", "1000"))),
            Protocol::Own(Own::Cohere, _) => ("/v1/models", Some(("page_size", "1000"))),
            Protocol::Own(Own::Ollama, _) => ("/tags", None),
        };
        let path = format!("{base}{list}");
        url.set_path(&path);
        if let Some((name, value)) = query {
            url.query_pairs_mut().append_pair(name, value);
        }
        url
    }

    /// Whether it serves OpenAI's own models, which use newer parameter names.
    pub(super) fn is_openai(&self) -> bool {
        self.provider == "azure" || self.url.host_str() == Some("api.openai.com")
    }

    /// Scheme, host and port.
    pub(super) fn address(&self) -> String {
        self.url.origin().ascii_serialization()
    }

    /// A one-line description of a request.
    pub(super) fn sent(&self, request: &ModelRequest) -> String {
        let count = |n: usize, what: &str| if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") };
        let url = self.call_url(request);
        let mut sent = format!(
            "POST {}{} with model `{}`, {}, {}",
            self.address(),
            url.path(),
            request.model,
            count(request.messages.len(), "message"),
            count(usize::try_from(request.bytes()).unwrap_or(usize::MAX), "byte"),
        );
        if !request.tools.is_empty() {
            sent += &format!(", {}", count(request.tools.len(), "tool"));
        }
        self.scrub(&sent)
    }

    /// An error with this provider's name and without the credential.
    pub(super) fn error(&self, kind: ModelErrorKind, what: &str) -> ModelError {
        let message = format!("`{}` {what}", self.provider);
        let message = self.scrub(&message);
        ModelError::new(kind, message)
    }

    /// Masks the credential in a server's text. Must be called before the text is cut, because a part of a key is
    /// secret, too.
    pub(super) fn scrub(&self, text: &str) -> String {
        self.credential.as_ref().map_or_else(|| text.to_owned(), |c| c.scrub(text))
    }

    /// Builds the body of a request.
    pub(super) fn body(&self, request: &ModelRequest, names: &Names) -> Result<serde_json::Value, ModelError> {
        match self.protocol {
            Protocol::ChatCompletions(quirks) => chat_completions::body(self, request, names, &quirks),
            Protocol::Responses { .. } => responses::body(self, request, names),
            Protocol::Messages => messages::body(self, request, names),
            Protocol::Own(Own::Gemini, _) => gemini::body(self, request, names),
            Protocol::Own(Own::Cohere, _) => cohere::body(self, request, names),
            Protocol::Own(Own::Ollama, _) => ollama::body(self, request, names),
        }
    }

    pub(super) fn read_answer(&self, json: &serde_json::Value) -> Result<PartialAnswer, ModelError> {
        refusal::check(self, "", json)?;
        let mut answer = match self.protocol {
            Protocol::Messages => messages::answer(self, json),
            Protocol::Responses { .. } => responses::answer(self, json),
            Protocol::ChatCompletions(_) => chat_completions::answer(self, json),
            Protocol::Own(Own::Gemini, _) => gemini::answer(self, json),
            Protocol::Own(Own::Cohere, _) => cohere::answer(self, json),
            Protocol::Own(Own::Ollama, _) => ollama::answer(self, json),
        }?;
        answer.calls.end_all();
        if !matches!(self.protocol, Protocol::Responses { .. }) {
            answer.conclude(self.read_state(json)?);
        }
        Ok(answer)
    }

    /// What an answer or an event of another protocol than Responses says of its state, if something is wrong with it.
    fn read_state(&self, json: &serde_json::Value) -> Result<Option<FinishWord>, ModelError> {
        let is_bad = |word: &FinishWord| {
            !matches!(word, FinishWord::Known(Finish::Stop | Finish::Tools) | FinishWord::Unknown(_))
        };
        Ok(finish::read_status(self, json)?.filter(is_bad))
    }

    /// Whether the protocol says of each call that it is whole. In the others, a finish reason says it of all.
    pub(super) fn ends_each_call(&self) -> bool {
        matches!(self.protocol, Protocol::Responses { .. })
    }

    /// How this protocol's streams end.
    pub(super) fn stream_table(&self) -> &'static StreamTable {
        StreamTable::of(&self.protocol)
    }

    /// Reads one event of a streamed answer. `kind` is its type.
    pub(super) fn read_event(
        &self,
        kind: &str,
        json: &serde_json::Value,
        partial: &mut Partial,
        delta: &mut (dyn for<'d> FnMut(&'d str) + Send),
    ) -> Result<(), ModelError> {
        match self.protocol {
            Protocol::Messages => messages::event(self, kind, json, partial, delta),
            Protocol::Responses { .. } => responses::event(self, kind, json, partial, delta),
            Protocol::ChatCompletions(_) => chat_completions::event(self, json, partial, delta),
            Protocol::Own(Own::Gemini, _) => gemini::event(self, json, partial, delta),
            Protocol::Own(Own::Cohere, _) => cohere::event(self, kind, json, partial, delta),
            Protocol::Own(Own::Ollama, _) => ollama::event(self, json, partial, delta),
        }?;
        if !matches!(self.protocol, Protocol::Responses { .. }) {
            // That an answer is not over yet is true of each piece.
            let state = self.read_state(json)?.filter(|word| !word.is_ongoing());
            partial.news.word = FinishWord::worse(partial.news.word.take(), state);
        }
        Ok(())
    }
}

/// Omits headers, and the user and password of the address.
impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Endpoint({} at {}{})", self.provider, self.address(), self.url.path())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vendors::vendor;

    fn url(provider: &str, base: &str) -> String {
        let vendor = vendor(provider).unwrap();
        let protocol = vendor.protocol.at(&Address::parse(base).unwrap());
        Endpoint::new(vendor.name, protocol, base, None).unwrap().url.to_string()
    }

    #[test]
    fn paths_follow_each_providers_custom() {
        assert_eq!(url("openai", "https://api.openai.com/v1/"), "https://api.openai.com/v1/chat/completions");
        assert_eq!(url("openai", "http://h:1/x?api-version=2"), "http://h:1/x/chat/completions?api-version=2");
        assert_eq!(url("ollama", "http://localhost:11434"), "http://localhost:11434/api/chat");
        assert_eq!(url("ollama", "http://localhost:11434/v1"), "http://localhost:11434/v1/chat/completions");
        for azure in
            ["https://r.openai.azure.com", "https://r.openai.azure.com/openai", "https://r.openai.azure.com/openai/v1/"]
        {
            assert_eq!(url("azure", azure), "https://r.openai.azure.com/openai/v1/chat/completions");
        }
        assert_eq!(url("anthropic", "https://api.anthropic.com"), "https://api.anthropic.com/v1/messages");
        assert_eq!(url("anthropic", "http://h/proxy/v1/"), "http://h/proxy/v1/messages");
        assert_eq!(url("google", "http://h"), "http://h/v1beta/models");
        assert_eq!(url("google", "http://h/v1"), "http://h/v1/models");
        assert_eq!(url("google", "http://h/v1beta/openai/"), "http://h/v1beta/openai/chat/completions");
        assert_eq!(url("cohere", "http://h"), "http://h/v2/chat");
        assert_eq!(url("cohere", "http://h/v2"), "http://h/v2/chat");
        assert_eq!(url("cohere", "http://h/compatibility/v1"), "http://h/compatibility/v1/chat/completions");
    }

    #[test]
    fn lists_of_models_are_beside_the_calls() {
        let list = |provider: &str, base: &str| {
            let vendor = vendor(provider).unwrap();
            let protocol = vendor.protocol.at(&Address::parse(base).unwrap());
            Endpoint::new(vendor.name, protocol, base, None).unwrap().models_url().to_string()
        };
        assert_eq!(list("openai", "http://h/v1"), "http://h/v1/models");
        assert_eq!(list("anthropic", "http://h"), "http://h/v1/models?limit=1000");
        assert_eq!(list("google", "http://h"), "http://h/v1beta/models?pageSize=1000");
        assert_eq!(list("cohere", "http://h"), "http://h/v1/models?page_size=1000");
        assert_eq!(list("cohere", "http://h/v2"), "http://h/v1/models?page_size=1000");
        assert_eq!(list("ollama", "http://h:1"), "http://h:1/api/tags");
        assert_eq!(list("ollama", "http://h:1/v1"), "http://h:1/v1/models");
    }

    #[test]
    fn neither_debug_nor_errors_show_the_key() {
        let key = Credential::new("sk-very-secret");
        let endpoint = Endpoint::new("anthropic", Protocol::Messages, "https://h?k=pw", key).unwrap();
        assert_eq!(format!("{endpoint:?}"), "Endpoint(anthropic at https://h/v1/messages)");
        assert_eq!(endpoint.address(), "https://h");
        let error = endpoint.error(ModelErrorKind::Status(401), "answered 401: no key sk-very-secret");
        assert_eq!(error.message, "`anthropic` answered 401: no key ***");
    }

    #[test]
    fn other_schemes_are_refused_without_repeating_them() {
        for base in ["file:///etc/passwd", "not a url", "unix:secret"] {
            let error = Endpoint::new("openai", Protocol::Messages, base, None).unwrap_err();
            assert_eq!(error.kind, ModelErrorKind::Setup);
            assert!(!error.message.contains("secret"), "{}", error.message);
        }
    }
}
