//! Requests to a server: with its key, limits, and an idempotency key where one is needed, so that a request that is sent again
//! after a lost connection pays for nothing twice.

use std::time::Duration;

use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use reqwest::{Method, RequestBuilder, Response, StatusCode, Url};
use serde::de::DeserializeOwned;
use serde_json::Value as Json;
use trefoil_host::command::{RunOptions, option_text};
use trefoil_runtime::connection_faults::{innermost_cause, is_other_protocol};
use trefoil_runtime::ports::{Random as _, SystemRandom};
use trefoil_template::{limits, read_json_bytes};

use super::failure::{RemoteFailure, ServerProblem};
use crate::output;

/// The variable with the key of a server. It is never on the command line, where other users of the machine see it.
const KEY: &str = "TREFOIL_API_KEY";
/// Time limit for connecting.
const CONNECT: Duration = Duration::from_secs(15);
/// Time limit for a request.
const REQUEST: Duration = Duration::from_secs(120);
/// Interval of TCP keepalive probes.
const KEEPALIVE: Duration = Duration::from_secs(30);
/// The largest error response that is read.
const LARGEST_PROBLEM: usize = 4 << 20;
/// How often a request with an idempotency key is sent.
const ATTEMPTS: u32 = 6;

/// The key of a server. It has no text form.
struct ServerKey(HeaderValue);

/// A server, and how it is called.
pub struct ServerClient {
    http: reqwest::Client,
    base: Url,
    key: Option<ServerKey>,
    options: RunOptions,
}

impl ServerClient {
    /// A client for the server at this address, with the key of the environment. Nothing is sent.
    ///
    /// # Errors
    ///
    /// The exit code, after the address or the key was refused.
    pub fn for_address(address: &str) -> Result<Self, u8> {
        let base = parse_address(address)?;
        let key = read_key()?;
        // Fails if a TLS provider is installed already; any provider works.
        let _ = rustls::crypto::ring::default_provider().install_default();
        // A redirect is not followed: the key is for this server only.
        let builder = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).no_proxy().referer(false);
        let built = builder
            .connect_timeout(CONNECT)
            .tcp_keepalive(KEEPALIVE)
            .user_agent(concat!("trefoil/", env!("CARGO_PKG_VERSION")))
            .build();
        let http = built.map_err(|error| {
            output::report_not_started(&format!("cannot create an HTTP client: {}", innermost_cause(&error)), None)
        })?;
        if key.is_some() && base.scheme() == "http" && !is_loopback(&base) {
            output::print_warning("the key is sent without encryption; use an `https` address");
        }
        let options = RunOptions::of_store(option_text("--server", address));
        Ok(Self { http, base, key, options })
    }

    /// The address of the server.
    pub fn server_address(&self) -> &str {
        self.base.as_str().trim_end_matches('/')
    }

    /// The options of commands about runs of this server.
    pub fn run_options(&self) -> &RunOptions {
        &self.options
    }

    /// Prints why a request failed. Returns the exit code.
    pub fn report_failure(&self, failure: &RemoteFailure) -> u8 {
        failure.print_failure(self.server_address(), &self.options)
    }

    /// Reads something.
    ///
    /// # Errors
    ///
    /// Why the request failed.
    pub async fn get_json<T: DeserializeOwned>(
        &self,
        path: &[&str],
        query: &[(&str, String)],
    ) -> Result<T, RemoteFailure> {
        let sent = self.send_request(self.request(Method::GET, path, query).timeout(REQUEST)).await;
        let read = match sent {
            Ok(response) => read_body(response).await,
            Err(failure) => Err(failure),
        };
        // Nothing can have happened.
        read.map_err(|failure| match failure {
            RemoteFailure::Lost(why) => RemoteFailure::Unreachable(why),
            other => other,
        })
    }

    /// Sends something, once.
    ///
    /// # Errors
    ///
    /// Why the request failed.
    pub async fn post_json<T: DeserializeOwned>(&self, path: &[&str], body: &Json) -> Result<T, RemoteFailure> {
        let request = self.request(Method::POST, path, &[]).timeout(REQUEST);
        let request = request.header(CONTENT_TYPE, "application/json").body(body.to_string());
        read_body(self.send_request(request).await?).await
    }

    /// Starts something: sent again if the connection is lost or the server is busy, with the same idempotency key, so that it starts
    /// once. Each wait is said, unless `quiet`.
    ///
    /// # Errors
    ///
    /// Why the last request failed.
    pub async fn post_start<T: DeserializeOwned>(
        &self,
        path: &[&str],
        body: &Json,
        quiet: bool,
    ) -> Result<T, RemoteFailure> {
        let key = format!("{:016x}{:016x}", SystemRandom.next_number(), SystemRandom.next_number());
        let body = body.to_string();
        let mut attempt = 1;
        loop {
            let request = self.request(Method::POST, path, &[]).timeout(REQUEST).header("idempotency-key", &key);
            let sent = self.send_request(request.header(CONTENT_TYPE, "application/json").body(body.clone())).await;
            let read = match sent {
                Ok(response) => read_body(response).await,
                Err(failure) => Err(failure),
            };
            let failure = match read {
                Ok(read) => return Ok(read),
                Err(failure) => failure,
            };
            // A server that was never reached is probably not there.
            let is_absent = attempt == 1 && matches!(failure, RemoteFailure::Unreachable(_));
            if is_absent || attempt == ATTEMPTS || !failure.is_passing() {
                return Err(failure);
            }
            let pause = Duration::from_millis(250_u64 << attempt);
            let wanted = failure.retry_after().map(Duration::from_secs).unwrap_or_default();
            let pause = pause.max(wanted);
            if !quiet {
                let seconds = pause.as_millis().div_ceil(1_000);
                output::print_note(format!("{}; trying again in {seconds} s", failure.short_reason()));
            }
            tokio::time::sleep(pause).await;
            attempt += 1;
        }
    }

    /// Deletes something.
    ///
    /// # Errors
    ///
    /// Why the request failed.
    pub async fn send_delete(&self, path: &[&str]) -> Result<(), RemoteFailure> {
        self.send_request(self.request(Method::DELETE, path, &[]).timeout(REQUEST)).await?;
        Ok(())
    }

    /// Opens the stream of the events of a run. `after`: the id of the last event that was seen. `None`: there are no more.
    ///
    /// # Errors
    ///
    /// Why the request failed.
    pub async fn open_events(&self, run: &str, after: Option<&str>) -> Result<Option<Response>, RemoteFailure> {
        let mut request = self.request(Method::GET, &["runs", run, "events"], &[]).header(ACCEPT, "text/event-stream");
        if let Some(after) = after {
            request = request.header("last-event-id", after);
        }
        let sent = tokio::time::timeout(REQUEST, self.send_request(request)).await;
        let response = sent.map_err(|_| RemoteFailure::Lost("timed out".to_owned()))??;
        Ok(if response.status() == StatusCode::NO_CONTENT { None } else { Some(response) })
    }

    fn request(&self, method: Method, path: &[&str], query: &[(&str, String)]) -> RequestBuilder {
        let mut url = self.base.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(["api", "v1"]).extend(path);
        }
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        let request = self.http.request(method, url);
        match &self.key {
            Some(ServerKey(key)) => request.header(AUTHORIZATION, key.clone()),
            None => request,
        }
    }

    /// Sends a request. The response has a success status.
    async fn send_request(&self, request: RequestBuilder) -> Result<Response, RemoteFailure> {
        let response = request.send().await.map_err(|error| failure_of(&error))?;
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        if status.is_redirection() {
            let why = format!("answered with {}: a redirect, which is not followed", status.as_u16());
            return Err(RemoteFailure::Unreadable(why));
        }
        let bytes = read_bytes(response, LARGEST_PROBLEM).await.unwrap_or_default();
        let mut problem: ServerProblem = read_json_bytes(&bytes).unwrap_or_default();
        if problem.code.is_empty() && problem.detail.is_empty() {
            problem.detail = format!("the server {} answered with status {}", self.server_address(), status.as_u16());
            problem.help = Some("check whether the address is that of `trefoil serve`".to_owned());
        }
        problem.status = status.as_u16();
        Err(RemoteFailure::Refused(Box::new(problem)))
    }
}

async fn read_body<T: DeserializeOwned>(response: Response) -> Result<T, RemoteFailure> {
    let bytes = read_bytes(response, limits::ANSWER_BYTES).await?;
    read_json_bytes(&bytes)
        .map_err(|error| RemoteFailure::Unreadable(format!("sent an answer that cannot be read: {error}")))
}

async fn read_bytes(mut response: Response, limit: usize) -> Result<Vec<u8>, RemoteFailure> {
    let mut all = Vec::new();
    while let Some(bytes) = response.chunk().await.map_err(|error| failure_of(&error))? {
        all.extend_from_slice(&bytes);
        if all.len() > limit {
            return Err(RemoteFailure::Unreadable(format!("sent more than {} MB", limit >> 20)));
        }
    }
    Ok(all)
}

/// Why a request failed, without its address, which the message about it names.
pub fn failure_of(error: &reqwest::Error) -> RemoteFailure {
    let why = match error.is_timeout() {
        true => "timed out".to_owned(),
        false => innermost_cause(error),
    };
    let is_unheard = error.is_connect() || error.is_builder() || is_other_protocol(&why);
    if is_unheard { RemoteFailure::Unreachable(why) } else { RemoteFailure::Lost(why) }
}

fn parse_address(address: &str) -> Result<Url, u8> {
    let help = "write `https://HOST`, or `http://127.0.0.1:8080` for a server on this machine";
    let refuse = |why: &str| output::report_not_started(why, Some(help));
    let Ok(mut base) = Url::parse(address) else {
        return Err(refuse(&format!("`{address}` is not the address of a server")));
    };
    if !base.username().is_empty() || base.password().is_some() {
        return Err(output::report_not_started(
            "the address of the server contains a user or a password",
            Some("set `TREFOIL_API_KEY` to the key of the server instead"),
        ));
    }
    if !matches!(base.scheme(), "http" | "https") || base.host().is_none() {
        return Err(refuse(&format!("`{address}` is not the address of a server")));
    }
    if base.query().is_some() || base.fragment().is_some() {
        return Err(refuse("the address of a server has no query"));
    }
    // The address of its API means the server.
    let path = base.path().trim_end_matches('/');
    let path = path.strip_suffix("/api/v1").unwrap_or(path).to_owned();
    base.set_path(&path);
    Ok(base)
}

fn read_key() -> Result<Option<ServerKey>, u8> {
    let Some(key) = std::env::var_os(KEY) else { return Ok(None) };
    if key.is_empty() {
        return Ok(None);
    }
    let value = match key.to_str() {
        Some(key) => HeaderValue::from_str(&format!("Bearer {}", key.trim())).ok(),
        None => None,
    };
    let Some(mut value) = value else {
        return Err(output::report_not_started(
            &format!("`{KEY}` has characters that no key has"),
            Some("set it to the key as `trefoil keys add` printed it"),
        ));
    };
    value.set_sensitive(true);
    Ok(Some(ServerKey(value)))
}

/// Whether nothing leaves this machine.
fn is_loopback(base: &Url) -> bool {
    match base.host_str() {
        Some("localhost") => true,
        Some(host) => {
            let address = host.trim_start_matches('[').trim_end_matches(']').parse::<std::net::IpAddr>();
            matches!(address, Ok(address) if address.is_loopback())
        }
        None => false,
    }
}
