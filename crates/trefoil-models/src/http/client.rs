//! The HTTP client: sends requests and reports failures, without credentials or passwords in any text.

use std::time::{Duration, SystemTime};

use reqwest::header::{ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, LOCATION, TRANSFER_ENCODING};
use reqwest::{Url, Version};
use serde_json::Value as Json;
use trefoil_runtime::connection_faults::innermost_cause;
use trefoil_runtime::{ModelAnswer, ModelError, ModelErrorKind, Usage};
use trefoil_template::{json_nodes, limits, read_json_bytes};

use super::breaker::Breakers;
use super::refusal::LONGEST_WAIT_MS;
use super::{ProviderEndpoint, refusal, sse};

/// Time limit for connecting.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(15);
/// Interval of TCP keepalive probes.
const KEEPALIVE: Duration = Duration::from_secs(30);
/// Maximum number of bytes that are read of an error response.
const LARGEST_REFUSAL: usize = 64 << 10;
/// Maximum length of a request id.
const LONGEST_ID: usize = 200;

/// The connection pool, shared by all providers of a registry.
#[derive(Debug, Clone)]
pub struct ModelHttpClient {
    connections: reqwest::Client,
    pub(super) breakers: Breakers,
}

impl ModelHttpClient {
    /// Creates a client without open connections. Installs ring as the process's TLS provider unless there is one
    /// already.
    pub fn new() -> Result<Self, ModelError> {
        Self::with_proxies(Vec::new())
    }

    /// Creates a client that uses these proxies.
    pub fn with_proxies(proxies: Vec<reqwest::Proxy>) -> Result<Self, ModelError> {
        // Fails if a TLS provider is installed already; any provider works.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut builder = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).no_proxy();
        for proxy in proxies {
            builder = builder.proxy(proxy);
        }
        let built = builder
            .referer(false)
            .connect_timeout(CONNECT_TIMEOUT)
            // A model may think for minutes, and routers drop silent connections.
            .tcp_keepalive(KEEPALIVE)
            .user_agent(concat!("trefoil/", env!("CARGO_PKG_VERSION")))
            .build();
        match built {
            Ok(connections) => Ok(Self { connections, breakers: Breakers::default() }),
            Err(error) => {
                let message = format!("cannot create an HTTP client: {}", innermost_cause(&error));
                Err(ModelError::new(ModelErrorKind::Setup, message))
            }
        }
    }

    /// Sends a request with a body. The response has a success status.
    pub(super) async fn send_post(
        &self,
        endpoint: &ProviderEndpoint,
        url: Url,
        body: &Json,
    ) -> Result<ModelHttpResponse, ModelError> {
        let request = self.connections.post(url).header(CONTENT_TYPE, "application/json").body(body.to_string());
        self.send(endpoint, request).await
    }

    /// Sends a free GET request. The response has a success status.
    pub(super) async fn send_get(
        &self,
        endpoint: &ProviderEndpoint,
        url: Url,
    ) -> Result<ModelHttpResponse, ModelError> {
        self.send(endpoint, self.connections.get(url)).await
    }

    async fn send(
        &self,
        endpoint: &ProviderEndpoint,
        request: reqwest::RequestBuilder,
    ) -> Result<ModelHttpResponse, ModelError> {
        let request = request.headers(endpoint.headers.clone());
        // Responses are never decompressed, so a small response cannot become a large one.
        let request = request.header(ACCEPT_ENCODING, "identity");
        let inner = request.send().await.map_err(|e| failure(endpoint, &e))?;
        let mut response = ModelHttpResponse { inner, endpoint: endpoint.clone(), read: 0, idle: None, peeked: None };
        let encoding = response.inner.headers().get(CONTENT_ENCODING);
        let packed = matches!(encoding, Some(kind) if kind.as_bytes() != b"identity");
        let status = response.inner.status();
        if packed && status.is_success() {
            let error =
                endpoint.provider_error(ModelErrorKind::Protocol, "compressed its answer although it was not asked to");
            let help = "check the base URL, and proxies in between".to_owned();
            let came = Some(Box::new(ModelAnswer::new("", Usage::for_unknown_call())));
            return Err(ModelError { help: Some(help), came, ..error });
        }
        if status.is_success() {
            return Ok(response);
        }
        let retry_after_ms = retry_after(response.inner.headers());
        if status.is_redirection() {
            return Err(response.redirected());
        }
        // The status is reported even if the body cannot be read.
        let text = response.read_to(LARGEST_REFUSAL).await.unwrap_or_default();
        let error = refusal::error_of_status(endpoint, status, &text);
        Err(ModelError { retry_after_ms: retry_after_ms.or(error.retry_after_ms), ..error })
    }
}

/// A response whose body is still to be read.
pub(super) struct ModelHttpResponse {
    inner: reqwest::Response,
    endpoint: ProviderEndpoint,
    read: usize,
    /// Maximum time without data.
    idle: Option<Duration>,
    /// Bytes that were read to look at them.
    peeked: Option<Vec<u8>>,
}

impl ModelHttpResponse {
    /// The decoder for streamed events; `None` if the response is not streamed. Some servers ignore the request to
    /// stream, and some proxies change the content type.
    pub(super) async fn event_decoder(&mut self) -> Result<Option<sse::SseDecoder>, ModelError> {
        let kind = self.content_type();
        if kind.starts_with("application/x-ndjson") {
            return Ok(Some(sse::SseDecoder::of_lines()));
        }
        if kind.starts_with("text/event-stream") || sse::looks_like_events(self.peek().await?) {
            return Ok(Some(sse::SseDecoder::default()));
        }
        Ok(None)
    }

    /// The first bytes, enough to recognize events. They are read again with the next chunk.
    async fn peek(&mut self) -> Result<&[u8], ModelError> {
        let mut first = Vec::new();
        while first.len() < sse::ENOUGH
            && let Some(bytes) = self.next_chunk().await?
        {
            first.extend(bytes);
        }
        Ok(self.peeked.insert(first))
    }

    /// Whether the transfer says where the body ends. Otherwise it ends when the connection is closed, whatever the cause.
    pub(super) fn has_own_end(&self) -> bool {
        let is_chunked = |value: &reqwest::header::HeaderValue| matches!(value.to_str(), Ok(value) if value.to_ascii_lowercase().contains("chunked"));
        self.inner.version() >= Version::HTTP_2
            || self.inner.content_length().is_some()
            || self.inner.headers().get_all(TRANSFER_ENCODING).iter().any(is_chunked)
    }

    /// The error for a redirect.
    fn redirected(&self) -> ModelError {
        let status = self.inner.status().as_u16();
        let mut to = String::new();
        if let Some(target) = header_text(self.inner.headers(), LOCATION.as_str())
            && let Ok(url) = self.endpoint.url.join(target)
        {
            to = format!(" to {}", url.origin().ascii_serialization());
        }
        let what = format!("answered with {status}: a redirect{to}, which is not followed");
        let error = self.endpoint.provider_error(ModelErrorKind::Status(status), &what);
        let help = "check the base URL; if you trust the target of the redirect, set it there".to_owned();
        ModelError { help: Some(help), ..error }
    }

    fn content_type(&self) -> String {
        let kind = header_text(self.inner.headers(), CONTENT_TYPE.as_str()).unwrap_or_default();
        kind.trim_start().to_ascii_lowercase()
    }

    /// The provider's id of the request, if its headers have one.
    pub(super) fn request_id(&self) -> Option<String> {
        let headers = self.inner.headers();
        let id = ["x-request-id", "request-id"].iter().find_map(|name| header_text(headers, name))?.trim();
        if id.is_empty() || id.len() > LONGEST_ID { None } else { Some(id.to_owned()) }
    }

    /// Sets the maximum time without data.
    pub(super) fn with_idle_limit(self, idle: Duration) -> Self {
        Self { idle: Some(idle), ..self }
    }

    /// The next bytes, or `None` at the end.
    pub(super) async fn next_chunk(&mut self) -> Result<Option<Vec<u8>>, ModelError> {
        if let Some(bytes) = self.peeked.take()
            && !bytes.is_empty()
        {
            return Ok(Some(bytes));
        }
        let next = self.inner.chunk();
        let next = match self.idle {
            None => next.await,
            Some(idle) => match tokio::time::timeout(idle, next).await {
                Ok(next) => next,
                Err(_) => {
                    let what = format!("sent nothing for {}s", idle.as_secs_f64());
                    return Err(self.endpoint.provider_error(ModelErrorKind::Network, &what));
                }
            },
        };
        let bytes = next.map_err(|e| failure(&self.endpoint, &e))?;
        if let Some(bytes) = &bytes {
            self.read += bytes.len();
        }
        if self.read > limits::ANSWER_BYTES {
            return Err(self.endpoint.provider_error(
                ModelErrorKind::Protocol,
                &format!("sent more than {} MB", limits::ANSWER_BYTES >> 20),
            ));
        }
        Ok(bytes.map(|b| b.to_vec()))
    }

    async fn read_to(&mut self, limit: usize) -> Result<String, ModelError> {
        let mut all = Vec::new();
        while all.len() < limit
            && let Some(bytes) = self.next_chunk().await?
        {
            all.extend(bytes);
        }
        Ok(String::from_utf8_lossy(&all).into_owned())
    }

    /// Reads the whole body as JSON.
    pub(super) async fn read_json(mut self) -> Result<Json, ModelError> {
        let mut all = Vec::new();
        while let Some(bytes) = self.next_chunk().await? {
            all.extend(bytes);
        }
        if all.len() > limits::ANSWER_NODES && json_nodes(&all) > limits::ANSWER_NODES {
            let message = format!("sent an answer with more than {} values", limits::ANSWER_NODES);
            return Err(self.endpoint.provider_error(ModelErrorKind::Protocol, &message));
        }
        read_json_bytes(&all).map_err(|error| self.not_json_error(&error))
    }

    /// The error for a body that is not JSON.
    fn not_json_error(&self, error: &serde_json::Error) -> ModelError {
        let kind = self.content_type();
        let help = Some("check the base URL, and any proxies".to_owned());
        if kind.contains("html") {
            let error = self.endpoint.provider_error(ModelErrorKind::Protocol, "sent a web page instead of an answer");
            return ModelError { help, ..error };
        }
        let (of_kind, help) = match kind.split(';').next().unwrap_or_default().trim() {
            "" | "application/json" => (String::new(), None),
            kind => (format!(" of type `{kind}`"), help),
        };
        let what = format!("sent an answer{of_kind} that is not JSON: {error}");
        ModelError { help, ..self.endpoint.provider_error(ModelErrorKind::Protocol, &what) }
    }
}

/// The text of a header, if it has one.
fn header_text<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    headers.get(name)?.to_str().ok()
}

fn failure(endpoint: &ProviderEndpoint, error: &reqwest::Error) -> ModelError {
    if error.is_builder() {
        endpoint.provider_error(ModelErrorKind::Setup, &format!("cannot be called: {}", innermost_cause(error)))
    } else if error.is_timeout() {
        let what = format!("cannot be reached at {}: timed out", endpoint.origin_text());
        endpoint
            .provider_error(if error.is_connect() { ModelErrorKind::Network } else { ModelErrorKind::Timeout }, &what)
    } else if error.is_connect() {
        let cause = innermost_cause(error);
        endpoint.provider_error(
            ModelErrorKind::Network,
            &format!("cannot be reached at {}: {cause}", endpoint.origin_text()),
        )
    } else {
        // The request was sent, so the outcome is unknown.
        let what = format!("closed the connection before the answer was complete ({})", innermost_cause(error));
        let came = Some(Box::new(ModelAnswer::new("", Usage::for_unknown_call())));
        ModelError { came, ..endpoint.provider_error(ModelErrorKind::Network, &what) }
    }
}

/// Reads `retry-after-ms`, otherwise `retry-after`: seconds, or a date
/// (<https://www.rfc-editor.org/rfc/rfc9110#field.retry-after>).
fn retry_after(headers: &HeaderMap) -> Option<u64> {
    let number = |name: &str| header_text(headers, name)?.trim().parse::<f64>().ok();
    let ms = if let Some(ms) = number("retry-after-ms") {
        ms
    } else if let Some(seconds) = number("retry-after") {
        seconds * 1000.0
    } else {
        let date = header_text(headers, "retry-after")?.trim();
        let until = httpdate::parse_http_date(date).ok()?;
        // A date in the past means no wait.
        until.duration_since(SystemTime::now()).unwrap_or_default().as_millis() as f64
    };
    // The check also excludes NaN.
    if ms >= 0.0 { Some(ms.min(LONGEST_WAIT_MS).ceil() as u64) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_are_read_in_both_units() {
        let headers = |name: &'static str, value: &'static str| {
            let mut map = HeaderMap::new();
            map.insert(name, value.parse().unwrap());
            retry_after(&map)
        };
        assert_eq!(headers("retry-after", "2"), Some(2000));
        assert_eq!(headers("retry-after", "0.25"), Some(250));
        assert_eq!(headers("retry-after-ms", "120"), Some(120));
        assert_eq!(headers("retry-after", "Wed, 21 Oct 2015 07:28:00 GMT"), Some(0), "that time has come");
        assert_eq!(headers("retry-after", "90000"), Some(86_400_000), "longer than any call may wait");
        for nonsense in ["Wed, 21 Oct", "-1", "NaN"] {
            assert_eq!(headers("retry-after", nonsense), None, "{nonsense}");
        }
    }
}
