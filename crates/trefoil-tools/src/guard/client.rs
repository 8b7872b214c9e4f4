//! Sends requests and follows redirects.

use std::error::Error as _;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use reqwest::header::{ACCEPT_ENCODING, CONTENT_ENCODING, HeaderMap, HeaderName, HeaderValue, LOCATION};
use reqwest::{Method, StatusCode, redirect};
use trefoil_runtime::connection_faults::innermost_cause;
use url::{Host, Url};

use super::address;
use super::fault::{ADVICE, HttpFault};
use super::lookup::{GuardedResolver, HostNameLookup, NoPublicAddress, SystemLookup};
use super::rules::{self, GuardRules};

/// A request. Redirects are followed within the same scheme, host and port.
#[derive(Debug, Clone)]
pub struct GuardedRequest {
    /// `GET`, `POST`, ...
    pub method: Method,
    /// The complete address.
    pub url: String,
    /// Headers. Those of the connection (`Host`, `Content-Length`, ...) are rejected.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Option<Vec<u8>>,
    /// Its own time limit in the place of the one in the rules, up to the maximum there.
    pub time: Option<Duration>,
}

impl GuardedRequest {
    /// A `GET` request.
    pub fn for_get(url: impl Into<String>) -> Self {
        let (headers, body, time) = Default::default();
        Self { method: Method::GET, url: url.into(), headers, body, time }
    }
}

/// A response with any status.
#[derive(Debug, Clone)]
pub struct HttpAnswer {
    /// The status.
    pub status: StatusCode,
    /// Its headers.
    pub headers: HeaderMap,
    /// The whole body.
    pub body: Vec<u8>,
    /// Whether it is the answer of a GET to which the request itself was redirected, which was probably executed before.
    pub is_of_get_after: bool,
}

/// The client. Cheap to clone; connections are shared.
#[derive(Clone)]
pub struct GuardedClient {
    rules: Arc<GuardRules>,
    lookup: Arc<dyn HostNameLookup>,
    /// For any host: connects only to public addresses.
    public: ConnectionPool,
    /// For hosts that the operator allowed by name.
    trusted: ConnectionPool,
}

/// A pool of connections. It is made for the first request, because it reads all certificates that the system trusts.
type ConnectionPool = Arc<OnceLock<reqwest::Client>>;

/// Which hosts a request may reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HostReach {
    Public,
    Trusted,
}

/// Headers of the connection, or for a proxy.
const CONNECTION: &[&str] = &[
    "host",
    "content-length",
    "transfer-encoding",
    "connection",
    "upgrade",
    "te",
    "trailer",
    "keep-alive",
    "accept-encoding",
    "expect",
    "proxy-authorization",
    "proxy-connection",
];
impl GuardedClient {
    /// A client with these rules.
    pub fn new(rules: GuardRules) -> Self {
        Self::with_lookup(rules, Arc::new(SystemLookup))
    }

    /// A client with another name lookup.
    pub fn with_lookup(rules: GuardRules, lookup: Arc<dyn HostNameLookup>) -> Self {
        Self { rules: Arc::new(rules), lookup, public: ConnectionPool::default(), trusted: ConnectionPool::default() }
    }

    fn connections(&self, reach: HostReach) -> Result<&reqwest::Client, HttpFault> {
        let pool = if reach == HostReach::Trusted { &self.trusted } else { &self.public };
        if let Some(client) = pool.get() {
            return Ok(client);
        }
        let trusted = reach == HostReach::Trusted;
        let checked = GuardedResolver { lookup: self.lookup.clone(), rules: self.rules.clone(), trusted };
        // Fails if a TLS provider is installed already; any provider works.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder()
            .redirect(redirect::Policy::none())
            .no_proxy()
            .referer(false)
            .dns_resolver(Arc::new(checked))
            .connect_timeout(self.rules.limits.connect)
            .user_agent(concat!("trefoil/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|e| HttpFault::Invalid(format!("cannot create an HTTP client: {}", innermost_cause(&e))))?;
        Ok(pool.get_or_init(|| client))
    }

    /// Whether an address may be called, judged by its text. Its name may still resolve to a private address.
    pub fn check_url(&self, url: &str) -> Result<(), HttpFault> {
        self.find_reach(&parse_url(url)?)?;
        Ok(())
    }

    fn allows_host(&self, host: &Host<&str>, port: u16) -> bool {
        self.rules.allow.iter().any(|rule| rule.allows_host(host, port))
    }

    /// Whether the operator has allowed an address by name, so that requests to it may contain secrets.
    pub fn is_allowed_by_name(&self, url: &str) -> bool {
        let Ok(url) = parse_url(url) else { return false };
        let (Some(host), Some(port)) = (url.host(), url.port_or_known_default()) else { return false };
        self.check_restrictions(&host, port).is_ok() && self.allows_host(&host, port)
    }

    /// What is restricted to other hosts may not call this one, even if it is allowed.
    fn check_restrictions(&self, host: &Host<&str>, port: u16) -> Result<(), HttpFault> {
        for restriction in &self.rules.only {
            if !restriction.hosts.iter().any(|rule| rule.allows_host(host, port)) {
                let name = rules::render_host(host, port);
                let why = format!("{} may not call `{name}`", restriction.who);
                return Err(HttpFault::Restricted { why, help: format!("add `{name}` to {}", restriction.setting) });
            }
        }
        Ok(())
    }

    /// Environment values and secrets may be sent only to hosts that the operator has allowed, because addresses in a
    /// manifest are untrusted.
    pub fn may_disclose(&self, url: &str) -> Result<(), HttpFault> {
        if self.is_allowed_by_name(url) {
            return Ok(());
        }
        // Reports a problem of the address itself first.
        self.check_url(url)?;
        let url = parse_url(url)?;
        let host = url.host_str().unwrap_or_default();
        Err(HttpFault::Refused(format!(
            "the request contains secrets or environment values, which `{host}` may not receive{ADVICE}pass `--allow-host {host}`"
        )))
    }

    /// Sends a request and reads the whole response.
    pub async fn send(&self, call: GuardedRequest) -> Result<HttpAnswer, HttpFault> {
        self.within(call.time, async { self.follow(call).await?.read_whole().await }).await
    }

    /// Sends a request and returns when the response starts. The body is read in pieces, without a time limit.
    pub async fn open_response(&self, call: GuardedRequest) -> Result<OpenResponse, HttpFault> {
        self.within(call.time, self.follow(call)).await
    }

    async fn within<T>(
        &self,
        own: Option<Duration>,
        work: impl Future<Output = Result<T, HttpFault>>,
    ) -> Result<T, HttpFault> {
        let limit = match own {
            Some(own) => own.min(self.rules.limits.longest),
            None => self.rules.limits.time,
        };
        match tokio::time::timeout(limit, work).await {
            Ok(answered) => answered,
            Err(_) => Err(HttpFault::Timeout(limit.as_secs().max(1))),
        }
    }

    fn client_for(&self, url: &Url) -> Result<&reqwest::Client, HttpFault> {
        self.connections(self.find_reach(url)?)
    }

    async fn follow(&self, call: GuardedRequest) -> Result<OpenResponse, HttpFault> {
        let mut url = parse_url(&call.url)?;
        let (mut method, mut body, mut headers) = (call.method, call.body, headers(&call.headers)?);
        // Whether the request itself was answered, so that only a GET is left to do.
        let mut is_answered = false;
        // Without this header, servers may compress (RFC 9110, 12.5.3).
        headers.entry(ACCEPT_ENCODING).or_insert(HeaderValue::from_static("identity"));
        for nth in 0..=self.rules.limits.redirects {
            let at = |fault| if nth == 0 { fault } else { redirected(fault, is_answered) };
            let client = self.client_for(&url).map_err(at)?;
            let mut request = client.request(method.clone(), url.clone()).headers(headers.clone());
            if let Some(body) = &body {
                request = request.body(body.clone());
            }
            let response = request.send().await.map_err(|e| at(failure(&url, &e)))?;
            let status = response.status();
            let Some(next) = location(&url, &response) else {
                return self.opened(response, url, is_answered);
            };
            let next = next?;
            // RFC 9110, 15.4: these redirects become a GET without a body; the others repeat the request.
            let to_get = status == StatusCode::SEE_OTHER && method != Method::HEAD
                || matches!(status, StatusCode::MOVED_PERMANENTLY | StatusCode::FOUND) && method == Method::POST;
            if to_get {
                is_answered |= method != Method::GET;
                (method, body) = (Method::GET, None);
                headers.remove(reqwest::header::CONTENT_TYPE);
            }
            let ends = |why| Err(HttpFault::Redirected { why, is_answered });
            if url.scheme() == "https" && next.scheme() == "http" {
                return ends(format!("{} redirects from https to http", host(&url)));
            }
            if rules::url_origin(&url) != rules::url_origin(&next) {
                return ends(format!("{} redirects to {}, which is another origin", host(&url), host(&next)));
            }
            url = next;
        }
        Err(HttpFault::Redirected { why: format!("more than {} redirects", self.rules.limits.redirects), is_answered })
    }

    /// What a request to an address may reach, or why it must not be called.
    fn find_reach(&self, url: &Url) -> Result<HostReach, HttpFault> {
        let refused = |why: String| HttpFault::Refused(why);
        if !matches!(url.scheme(), "http" | "https") {
            return Err(HttpFault::Invalid(format!("`{}` is not `http` or `https`", url.scheme())));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(HttpFault::Invalid("a URL must not contain a user name or password".to_owned()));
        }
        let (Some(host), Some(port)) = (url.host(), url.port_or_known_default()) else {
            return Err(HttpFault::Invalid("a URL must have a host".to_owned()));
        };
        self.check_restrictions(&host, port)?;
        if self.allows_host(&host, port) {
            return Ok(HostReach::Trusted);
        }
        let more_ports = self.rules.ports.contains(&port);
        if !more_ports && self.rules.allow.iter().any(|rule| rule.lacks_port(&host, port)) {
            let why = format!("`{host}` was allowed for ports 80 and 443, not for {port}");
            return Err(refused(format!("{why}{ADVICE}add the port: `--allow-host {host}:{port}`")));
        }
        if self.rules.only_allowed {
            let why = "without a real model, only hosts that are allowed by name are called";
            return Err(refused(format!("{why}{ADVICE}pass `--allow-host {}`", rules::render_host(&host, port))));
        }
        if !rules::is_standard(port) && !more_ports {
            return Err(refused(format!("port {port} is not allowed{ADVICE}pass `--allow-host {host}:{port}`")));
        }
        let inside = match host {
            Host::Ipv4(four) => address::check_public(four.into()),
            Host::Ipv6(six) => address::check_public(six.into()),
            Host::Domain(name) if rules::is_inside(name) => {
                return Err(refused(format!(
                    "`{name}` is the name of an internal host, which is not called, unless with `--allow-host {name}`"
                )));
            }
            Host::Domain(_) => Ok(()),
        };
        match inside {
            Ok(()) => Ok(HostReach::Public),
            Err(why) => Err(refused(why.to_string())),
        }
    }

    fn opened(&self, response: reqwest::Response, url: Url, is_of_get_after: bool) -> Result<OpenResponse, HttpFault> {
        let encoding = response.headers().get(CONTENT_ENCODING);
        if matches!(encoding, Some(encoding) if encoding.as_bytes() != b"identity") {
            return Err(HttpFault::Unusable(format!(
                "{} sent a compressed answer, which was not requested",
                host(&url)
            )));
        }
        let limit = self.rules.limits.body;
        Ok(OpenResponse { response, url, is_of_get_after, left: limit, limit })
    }
}

/// A response whose body is still to be read.
#[derive(Debug)]
pub struct OpenResponse {
    response: reqwest::Response,
    url: Url,
    is_of_get_after: bool,
    left: usize,
    limit: usize,
}

impl OpenResponse {
    /// The status.
    pub fn status(&self) -> StatusCode {
        self.response.status()
    }

    /// Its headers.
    pub fn response_headers(&self) -> &HeaderMap {
        self.response.headers()
    }

    /// The next piece of the body, or `None` at its end.
    pub async fn next_chunk(&mut self) -> Result<Option<bytes::Bytes>, HttpFault> {
        let piece = self.response.chunk().await.map_err(|e| failure(&self.url, &e))?;
        let size = match &piece {
            Some(piece) => piece.len(),
            None => 0,
        };
        self.left = self.left.checked_sub(size).ok_or(HttpFault::TooLarge(self.limit))?;
        Ok(piece)
    }

    /// Reads the whole response.
    pub async fn read_whole(mut self) -> Result<HttpAnswer, HttpFault> {
        let mut body = Vec::new();
        while let Some(piece) = self.next_chunk().await? {
            body.extend_from_slice(&piece);
        }
        let (status, headers) = (self.response.status(), self.response.headers().clone());
        Ok(HttpAnswer { status, headers, body, is_of_get_after: self.is_of_get_after })
    }
}

fn parse_url(url: &str) -> Result<Url, HttpFault> {
    Url::parse(url).map_err(|why| HttpFault::Invalid(format!("invalid URL: {why}")))
}

fn headers(all: &[(String, String)]) -> Result<HeaderMap, HttpFault> {
    let mut map = HeaderMap::new();
    for (name, value) in all {
        let key = HeaderName::from_bytes(name.as_bytes())
            .map_err(|_| HttpFault::Invalid(format!("`{}` is not a valid header name", name.escape_debug())))?;
        if CONNECTION.contains(&key.as_str()) {
            return Err(HttpFault::Invalid(format!("the header `{key}` cannot be set")));
        }
        let mut value = HeaderValue::from_str(value).map_err(|_| {
            HttpFault::Invalid(format!(
                "the value of the header `{key}` contains characters that are not allowed in headers"
            ))
        })?;
        value.set_sensitive(true);
        map.append(key, value);
    }
    Ok(map)
}

/// The target of a redirect.
fn location(from: &Url, response: &reqwest::Response) -> Option<Result<Url, HttpFault>> {
    if !matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
        return None;
    }
    let to = response.headers().get(LOCATION)?;
    if let Ok(to) = to.to_str()
        && let Ok(target) = from.join(to)
    {
        return Some(Ok(target));
    }
    Some(Err(HttpFault::Unusable(format!("{} redirects to an invalid URL", host(from)))))
}

/// The fault of a request after a redirect: the one before it was sent.
fn redirected(fault: HttpFault, is_answered: bool) -> HttpFault {
    match fault {
        HttpFault::Refused(why) | HttpFault::Restricted { why, .. } | HttpFault::Invalid(why) => {
            HttpFault::Redirected { why: format!("it was redirected, and {why}"), is_answered }
        }
        HttpFault::Unreachable(why) => HttpFault::Broken(format!("it was redirected, and {why}")),
        fault => fault,
    }
}

/// Host and port for messages; a path or a query may contain secrets.
fn host(url: &Url) -> String {
    let port = match url.port() {
        Some(port) => format!(":{port}"),
        None => String::new(),
    };
    format!("`{}{port}`", url.host_str().unwrap_or_default())
}

fn failure(url: &Url, error: &reqwest::Error) -> HttpFault {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = error.source();
    while let Some(inner) = cause {
        if let Some(refused) = inner.downcast_ref::<NoPublicAddress>() {
            return HttpFault::Refused(refused.0.clone());
        }
        cause = inner.source();
    }
    if error.is_builder() {
        HttpFault::Invalid(format!("cannot call {}: {}", host(url), innermost_cause(error)))
    } else if error.is_connect() {
        HttpFault::Unreachable(format!("cannot reach {}: {}", host(url), innermost_cause(error)))
    } else {
        let what = innermost_cause(error);
        HttpFault::Broken(format!("{} closed the connection before the answer was complete ({what})", host(url)))
    }
}
