//! Flows as tools of the Model Context Protocol, over streamable HTTP at `/mcp`: with sessions (up to 2025-11-25) and without
//! (2026-07-28). The SDK has the transport; which requests may come is checked before it, as for every other route.
//!
//! Which scope a client needs for what says [`callers`]; which session is whose, [`sessions`].

mod callers;
mod sessions;

use std::sync::{Arc, Once};
use std::time::Duration;

use axum::body::Body;
use axum::extract::Request;
use axum::response::{IntoResponse as _, Response};
use axum::routing::any;
use axum::{Extension, Router};
use bytes::Bytes;
use futures_util::StreamExt as _;
use http::{HeaderMap, Method, StatusCode};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use trefoil_host::mcp::{AnswerRoute, McpFlowServer, ServedFlows, ServerCalls};
use trefoil_host::served_folder::ServedFolder;

use self::callers::HttpCallers;
use self::sessions::{SessionBook, SessionUse};
use crate::access::Caller;
use crate::problem::Problem;
use crate::request_body::read_body;
use crate::serving_phase::ServingPhase;
use crate::state::AppState;

/// The header with the id of a session.
const SESSION: &str = "mcp-session-id";
/// A session without any message ends after this time. A call may say nothing for as long.
const SESSION_IDLE: Duration = Duration::from_secs(3_600);
/// How long a run waits for the answer of a client between two calls. The question then stays open.
const ANSWER_WAIT: Duration = Duration::from_secs(30 * 60);

/// The endpoint of the protocol.
struct McpEndpoint {
    service: StreamableHttpService<McpFlowServer, LocalSessionManager>,
    sessions: SessionBook,
    calls: Arc<ServerCalls>,
    state: AppState,
    stop_watch: Once,
}

/// The route of the protocol.
pub fn mcp_routes(state: &AppState) -> Router<AppState> {
    Router::new().route("/mcp", any(answer_mcp)).layer(Extension(Arc::new(McpEndpoint::new(state))))
}

async fn answer_mcp(
    Extension(endpoint): Extension<Arc<McpEndpoint>>,
    Extension(caller): Extension<Caller>,
    request: Request,
) -> Response {
    endpoint.answer(&caller, request).await
}

impl McpEndpoint {
    fn new(state: &AppState) -> Self {
        let catalog = state.catalog.clone();
        let flows = Arc::new(ServedFlows::from_catalog(catalog.last_snapshot(), move || catalog.last_snapshot()));
        let policy = Arc::new(HttpCallers { state: state.clone() });
        let calls = Arc::new(ServerCalls::new(
            AnswerRoute::Requests(ServedFolder::from_path(&state.engines.folder)),
            ANSWER_WAIT,
            policy,
        ));
        let server = McpFlowServer::new(flows, calls.clone());
        let mut sessions = LocalSessionManager::default();
        sessions.session_config.keep_alive = Some(SESSION_IDLE);
        let sessions = Arc::new(sessions);
        // `Host` and `Origin` were checked before.
        let config = StreamableHttpServerConfig::default()
            .disable_allowed_hosts()
            .disable_allowed_origins()
            .with_max_request_body_bytes(state.options.body_limit)
            // Without a session, a result without anything before it needs no stream. Some clients refuse large events of streams.
            .with_json_response(true);
        let service = StreamableHttpService::new(move || Ok(server.clone()), sessions.clone(), config);
        let sessions = SessionBook::new(sessions);
        Self { service, sessions, calls, state: state.clone(), stop_watch: Once::new() }
    }

    async fn answer(&self, caller: &Caller, request: Request) -> Response {
        self.watch_stop();
        match self.pass_on(&id_of(caller), request).await {
            Ok(response) => response,
            Err(problem) => problem.into_response(),
        }
    }

    async fn pass_on(&self, caller: &Arc<str>, request: Request) -> Result<Response, Problem> {
        let named = text_of(request.headers(), SESSION);
        let (mut used, mut begun) = (None, None);
        match &named {
            Some(session) => used = self.sessions.use_session(session, caller)?,
            None if self.may_begin_session(&request) => begun = Some(self.sessions.make_room(caller).await?),
            None => {}
        }
        let (is_end, is_call) = (request.method() == Method::DELETE, request.method() == Method::POST);
        let request = if is_call { self.with_whole_body(request).await? } else { request.map(Body::new) };
        let mut response = self.service.handle(request).await;
        // The SDK says 202, and clients expect that the session has ended.
        if is_end && response.status() == StatusCode::ACCEPTED {
            *response.status_mut() = StatusCode::NO_CONTENT;
        }
        if let Some(begun) = begun
            && let Some(session) = text_of(response.headers(), SESSION)
        {
            used = Some(begun.note_session(session));
        }
        if named.is_some() && response.status() == StatusCode::NOT_FOUND && !is_json(response.headers()) {
            return Err(Problem::not_found("SESSION_NOT_FOUND", "there is no such session"));
        }
        let response = response.map(Body::new);
        Ok(match used {
            Some(used) if is_call && is_stream(response.headers()) => keep_used(response, used),
            _ => response,
        })
    }

    /// A request with its body in memory: the SDK has no words of ours for one that is too large or too slow.
    async fn with_whole_body(&self, request: Request) -> Result<Request, Problem> {
        let (parts, body) = request.into_parts();
        let head = Request::from_parts(parts.clone(), body);
        let bytes: Bytes = read_body(head, &self.state).await?;
        Ok(Request::from_parts(parts, Body::from(bytes)))
    }

    /// Whether a request without a session may begin one. Since 2026-07-28 there are none.
    fn may_begin_session(&self, request: &Request) -> bool {
        match text_of(request.headers(), "mcp-protocol-version") {
            Some(version) => *version < *"2026",
            None => true,
        }
    }

    /// Once the server is told to stop: leaves open questions to others, and ends all streams when the calls have ended.
    fn watch_stop(&self) {
        self.stop_watch.call_once(|| {
            let phase = self.state.phase.clone();
            let (calls, streams) = (self.calls.clone(), self.service.config.cancellation_token.clone());
            tokio::spawn(async move {
                phase.wait_phase(ServingPhase::Draining).await;
                calls.await_stop().await;
                streams.cancel();
            });
        });
    }
}

fn text_of(headers: &HeaderMap, name: &str) -> Option<String> {
    Some(headers.get(name)?.to_str().ok()?.to_owned())
}

/// What tells callers apart.
fn id_of(caller: &Caller) -> Arc<str> {
    caller.key.clone().unwrap_or_else(|| "".into())
}

fn is_stream(headers: &HeaderMap) -> bool {
    text_of(headers, "content-type").is_some_and(|named| named.starts_with("text/event-stream"))
}

fn is_json(headers: &HeaderMap) -> bool {
    text_of(headers, "content-type").is_some_and(|named| named.starts_with("application/json"))
}

/// The session is in use as long as the stream of a response.
fn keep_used(response: Response, used: SessionUse) -> Response {
    response.map(|body| {
        let frames = body.into_data_stream().map(move |frame| {
            let _ = &used;
            frame
        });
        Body::from_stream(frames)
    })
}
