//! A provider's address, and what all of its requests have in common.

use std::fmt;
use std::sync::Arc;

use reqwest::Url;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use serde_json::Value as Json;
use trefoil_runtime::{ModelError, ModelErrorKind, ModelRequest};

use super::stream::StreamTable;
use super::tools::ToolWireNames;
use super::{PartialAnswer, PartialCall};
use crate::address::ProviderAddress;
use crate::credential::ProviderCredential;

/// Receives the pieces of a streamed answer's text.
pub(super) type TextSink<'d> = dyn for<'t> FnMut(&'t str) + Send + 'd;

/// One event of a streamed answer.
pub(super) struct StreamEvent<'e> {
    pub endpoint: &'e ProviderEndpoint,
    /// Its type.
    pub kind: &'e str,
    pub json: &'e Json,
}

/// A protocol. Each has a folder beside this file, and a line in the list of protocols.
pub(super) trait ProviderProtocol: ProtocolRequests + ProtocolAnswers {}

impl<P: ProtocolRequests + ProtocolAnswers> ProviderProtocol for P {}

/// The addresses and the requests of a protocol.
pub(super) trait ProtocolRequests: Send + Sync {
    /// The path for calls, from that of a base URL without a `/` at its end.
    fn call_path(&self, base: &str) -> String;
    /// The URL for a call of this request's model, from that for calls.
    fn call_url(&self, url: &Url, _request: &ModelRequest) -> Url {
        url.clone()
    }
    /// The path and the query of the model list, beside the path for calls.
    fn models_path(&self) -> (&'static str, Option<(&'static str, &'static str)>) {
        ("/models", None)
    }
    /// The header with the key.
    fn key_header(&self, key: &str) -> (HeaderName, String) {
        (AUTHORIZATION, format!("Bearer {key}"))
    }
    /// A header of every request.
    fn version_header(&self) -> Option<(&'static str, &'static str)> {
        None
    }
    /// The body of a request.
    fn request_body(
        &self,
        endpoint: &ProviderEndpoint,
        request: &ModelRequest,
        names: &ToolWireNames,
    ) -> Result<Json, ModelError>;
}

/// The answers of a protocol, and the events of its streams.
pub(super) trait ProtocolAnswers: Send + Sync {
    /// Reads an answer that is not streamed.
    fn read_answer(&self, endpoint: &ProviderEndpoint, json: &Json) -> Result<PartialAnswer, ModelError>;
    /// Reads one event of a streamed answer.
    fn read_event(
        &self,
        event: StreamEvent<'_>,
        partial: &mut PartialCall,
        delta: &mut TextSink<'_>,
    ) -> Result<(), ModelError>;
    /// How its streams end.
    fn stream_table(&self) -> &'static StreamTable;
    /// Whether it says of each call that it is whole, and of each answer in which state it is. In the others, a finish reason says it
    /// of all.
    fn has_states(&self) -> bool {
        false
    }
}

/// The path for calls of an API in OpenAI's form. `path`: appended to a base URL without a path. Azure's SDKs take an address without
/// the version.
pub(super) fn openai_path(base: &str, path: &str, call: &str) -> String {
    match path.strip_suffix("/v1") {
        _ if base.is_empty() => format!("{path}/{call}"),
        Some(short) if !short.is_empty() && base.ends_with(short) => format!("{base}/v1/{call}"),
        _ => format!("{base}/{call}"),
    }
}

/// The address and the protocol of a provider.
#[derive(Clone)]
pub struct ProviderEndpoint {
    /// Its name in manifests.
    pub(super) provider: &'static str,
    pub(super) protocol: Arc<dyn ProviderProtocol>,
    pub(super) url: Url,
    /// A header with the credential is marked as sensitive.
    pub(super) headers: HeaderMap,
    credential: Option<ProviderCredential>,
}

impl ProviderEndpoint {
    /// Creates the endpoint of a provider from a base URL (`https://host/v1`).
    pub(super) fn new(
        provider: &'static str,
        protocol: Arc<dyn ProviderProtocol>,
        base_url: &str,
        credential: Option<ProviderCredential>,
    ) -> Result<Self, ModelError> {
        let setup = |message: String| ModelError::new(ModelErrorKind::Setup, message);
        let address =
            ProviderAddress::parse(base_url).map_err(|why| setup(format!("the base URL of `{provider}` {why}")))?;
        let mut url = address.as_url().clone();
        let base = url.path().trim_end_matches('/').to_owned();
        let path = protocol.call_path(&base);
        url.set_path(&path);

        let mut headers = HeaderMap::new();
        let secret = |text: String| {
            let mut value = HeaderValue::from_str(&text)
                .map_err(|_| setup(format!("the key of `{provider}` contains invalid characters")))?;
            value.set_sensitive(true);
            Ok(value)
        };
        if let Some((name, value)) = protocol.version_header() {
            headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        if let Some(key) = &credential {
            let (name, value) = protocol.key_header(key.expose_key());
            headers.insert(name, secret(value)?);
        }
        Ok(Self { provider, protocol, url, headers, credential })
    }

    /// The URL for its requests.
    pub fn base_url(&self) -> &Url {
        &self.url
    }

    /// The URL for a call of this request's model.
    pub(super) fn call_url(&self, request: &ModelRequest) -> Url {
        self.protocol.call_url(&self.url, request)
    }

    /// The URL of its model list. All protocols have one next to the URL for calls.
    pub(super) fn models_url(&self) -> Url {
        let mut url = self.url.clone();
        let path = url.path();
        let base = ["/chat/completions", "/responses", "/messages", "/v2/chat", "/chat", "/models"]
            .iter()
            .find_map(|call| path.strip_suffix(call))
            .unwrap_or(path);
        let (list, query) = self.protocol.models_path();
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
    pub(super) fn origin_text(&self) -> String {
        self.url.origin().ascii_serialization()
    }

    /// A one-line description of a request.
    pub(super) fn describe_request(&self, request: &ModelRequest) -> String {
        let count = |n: usize, what: &str| if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") };
        let url = self.call_url(request);
        let mut sent = format!(
            "POST {}{} with model `{}`, {}, {}",
            self.origin_text(),
            url.path(),
            request.model,
            count(request.messages.len(), "message"),
            count(usize::try_from(request.prompt_size()).unwrap_or(usize::MAX), "byte"),
        );
        if !request.tools.is_empty() {
            sent += &format!(", {}", count(request.tools.len(), "tool"));
        }
        self.mask_credential(&sent)
    }

    /// An error with this provider's name and without the credential.
    pub(super) fn provider_error(&self, kind: ModelErrorKind, what: &str) -> ModelError {
        let message = format!("`{}` {what}", self.provider);
        let message = self.mask_credential(&message);
        ModelError::new(kind, message)
    }

    /// Masks the credential in a server's text. Must be called before the text is cut, because a part of a key is
    /// secret, too.
    pub(super) fn mask_credential(&self, text: &str) -> String {
        match &self.credential {
            Some(credential) => credential.mask_key(text),
            None => text.to_owned(),
        }
    }
}

/// Omits headers, and the user and password of the address.
impl fmt::Debug for ProviderEndpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Endpoint({} at {}{})", self.provider, self.origin_text(), self.url.path())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::create_endpoint;
    use crate::vendors::{VendorProtocol, find_vendor};

    fn url(provider: &str, base: &str) -> String {
        let vendor = find_vendor(provider).unwrap();
        let protocol = vendor.protocol.for_address(&ProviderAddress::parse(base).unwrap());
        create_endpoint(vendor.name, protocol, base, None).unwrap().url.to_string()
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
            let vendor = find_vendor(provider).unwrap();
            let protocol = vendor.protocol.for_address(&ProviderAddress::parse(base).unwrap());
            create_endpoint(vendor.name, protocol, base, None).unwrap().models_url().to_string()
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
        let key = ProviderCredential::new("sk-very-secret");
        let endpoint = create_endpoint("anthropic", VendorProtocol::Messages, "https://h?k=pw", key).unwrap();
        assert_eq!(format!("{endpoint:?}"), "Endpoint(anthropic at https://h/v1/messages)");
        assert_eq!(endpoint.origin_text(), "https://h");
        let error = endpoint.provider_error(ModelErrorKind::Status(401), "answered 401: no key sk-very-secret");
        assert_eq!(error.message, "`anthropic` answered 401: no key ***");
    }

    #[test]
    fn other_schemes_are_refused_without_repeating_them() {
        for base in ["file:///etc/passwd", "not a url", "unix:secret"] {
            let error = create_endpoint("openai", VendorProtocol::Messages, base, None).unwrap_err();
            assert_eq!(error.kind, ModelErrorKind::Setup);
            assert!(!error.message.contains("secret"), "{}", error.message);
        }
    }
}
