//! Flows as tools of the Model Context Protocol, over streamable HTTP at `/mcp`: with sessions (up to 2025-11-25) and without
//! (2026-07-28). The SDK has the transport; which requests may come is checked before it, as for every other route.
//!
//! A call needs the scope `run`; the questions of its flow go to the client if its key has the scope `answer`. A session is of use to
//! the key that has begun it, and to nobody else.

use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, Once};
use std::time::Duration;

use async_trait::async_trait;
use axum::body::Body;
use axum::extract::Request;
use axum::response::{IntoResponse as _, Response};
use axum::routing::any;
use axum::{Extension, Router};
use http::request::Parts;
use http::{HeaderMap, Method, StatusCode};
use rmcp::model::Extensions;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::Value as Json;
use trefoil_host::engine::Engine;
use trefoil_host::mcp::{AnswerRoute, CallerPolicy, HeldCall, McpFlowServer, OfferedFlow, ServedFlows, ServerCalls};
use trefoil_host::served_folder::ServedFolder;
use trefoil_runtime::locks::lock;

use crate::access::{Caller, KeyScope};
use crate::problem::Problem;
use crate::start::{LabelledStart, StartDecision};
use crate::state::AppState;

/// The header with the id of a session.
const SESSION: &str = "mcp-session-id";
/// A session without any message ends after this time. A call may say nothing for as long.
const SESSION_IDLE: Duration = Duration::from_secs(3_600);
/// The most sessions at a time.
const MOST_SESSIONS: usize = 10_000;
/// How long a run waits for the answer of a client between two calls. The question then stays open.
const ANSWER_WAIT: Duration = Duration::from_secs(30 * 60);

/// The endpoint of the protocol.
struct McpEndpoint {
    service: StreamableHttpService<McpFlowServer, LocalSessionManager>,
    sessions: Arc<LocalSessionManager>,
    /// Who has begun each session.
    callers: Mutex<HashMap<String, Arc<str>>>,
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
        Self { service, sessions, callers: Mutex::default(), calls, state: state.clone(), stop_watch: Once::new() }
    }

    async fn answer(&self, caller: &Caller, request: Request) -> Response {
        self.watch_stop();
        let named = text_of(request.headers(), SESSION);
        match &named {
            Some(session) => {
                let known = lock(&self.callers).get(session).cloned();
                if matches!(known, Some(begun_by) if begun_by != id_of(caller)) {
                    return Problem::not_found("SESSION_NOT_FOUND", "there is no such session").into_response();
                }
            }
            None if self.may_begin_session(&request) && self.sessions.sessions.read().await.len() >= MOST_SESSIONS => {
                let problem =
                    Problem::new(StatusCode::SERVICE_UNAVAILABLE, "TOO_MANY_SESSIONS", "too many sessions are open");
                return problem.with_retry_after(60).into_response();
            }
            None => {}
        }
        let is_end = request.method() == Method::DELETE;
        let mut response = self.service.handle(request).await;
        // The SDK says 202, and clients expect that the session has ended.
        if is_end && response.status() == StatusCode::ACCEPTED {
            *response.status_mut() = StatusCode::NO_CONTENT;
        }
        if named.is_none()
            && let Some(session) = text_of(response.headers(), SESSION)
        {
            self.note_session(session, id_of(caller)).await;
        }
        response.map(Body::new)
    }

    /// Whether a request without a session may begin one. Since 2026-07-28 there are none.
    fn may_begin_session(&self, request: &Request) -> bool {
        match text_of(request.headers(), "mcp-protocol-version") {
            Some(version) => *version < *"2026",
            None => true,
        }
    }

    /// Remembers who has begun a session, and now and then forgets the sessions that have ended.
    async fn note_session(&self, session: String, caller: Arc<str>) {
        let count = lock(&self.callers).len();
        if count >= 64 && count.is_power_of_two() {
            let open = self.sessions.sessions.read().await;
            lock(&self.callers).retain(|session, _| open.contains_key(session.as_str()));
        }
        lock(&self.callers).insert(session, caller);
    }

    /// Once the server is told to stop: leaves open questions to others, and ends all streams when the calls have ended.
    fn watch_stop(&self) {
        self.stop_watch.call_once(|| {
            let mut stopping = self.state.stopping.clone();
            let (calls, streams) = (self.calls.clone(), self.service.config.cancellation_token.clone());
            tokio::spawn(async move {
                let _ = stopping.wait_for(|stopping| *stopping).await;
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

/// The callers of the server, by the keys of their requests.
struct HttpCallers {
    state: AppState,
}

/// Who sends a request; `identify_caller` has found out.
fn caller_of(request: &Extensions) -> Option<&Caller> {
    request.get::<Parts>()?.extensions.get::<Caller>()
}

#[async_trait]
impl CallerPolicy for HttpCallers {
    fn caller_id(&self, request: &Extensions) -> Arc<str> {
        caller_of(request).map_or_else(|| "".into(), id_of)
    }

    fn may_use_flow(&self, request: &Extensions, flow: &str) -> bool {
        caller_of(request).is_some_and(|caller| caller.may_use_flow(flow))
    }

    fn may_answer(&self, request: &Extensions) -> bool {
        caller_of(request).is_some_and(|caller| caller.rights.scopes.allow_scope(KeyScope::Answer))
    }

    async fn start_call(
        &self,
        request: &Extensions,
        engine: Engine,
        flow: &OfferedFlow,
        input: Json,
    ) -> Result<HeldCall, String> {
        let folder = ServedFolder::from_path(&self.state.engines.folder);
        let error_text = |error: trefoil_project::Error| folder.hide_folder(&error.to_string());
        let Some(caller) = caller_of(request) else {
            return Err("it is not known who sends this request".to_owned());
        };
        caller.require_scope(KeyScope::Run).map_err(|problem| problem_text(&problem))?;
        let decided = LabelledStart::default().prepare_start(&self.state, caller, flow.flow.name()).await;
        let prepared = match decided.map_err(|problem| problem_text(&problem))? {
            StartDecision::New(prepared) => prepared,
            // Only a request with an idempotency key is known.
            StartDecision::Known(started) => return Err(format!("the run {} was started before", started.run)),
        };
        let ready = prepared.limit_engine(engine).prepare_run(&flow.flow).map_err(error_text)?;
        let held = self.state.local.hold_run(prepared.apply_to(ready), input).await;
        let (run, held) = held.map_err(error_text)?;
        self.state.metrics.runs_started.fetch_add(1, Ordering::Relaxed);
        Ok(HeldCall { run, held: Box::new(held), starting: Box::new(prepared) })
    }
}

fn problem_text(problem: &Problem) -> String {
    match &problem.help {
        Some(help) => format!("{}: {help}", problem.detail),
        None => problem.detail.clone(),
    }
}
