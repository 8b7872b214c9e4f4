//! The routes, and what every request goes through before its handler: where it may come from, whose it is, and how large.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::{ConnectInfo, DefaultBodyLimit, MatchedPath, Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use tower_http::timeout::RequestBodyDeadlineLayer;
use trefoil_host::served_folder::ServedFolder;
use trefoil_runtime::ports::{Random as _, SystemRandom};
use trefoil_store::StoreError;

use crate::access::{Caller, check_origin, find_sent_key};
use crate::agntz::{agntz_routes, public_routes, shape_agntz_error};
use crate::api::api_routes;
use crate::health::{show_health, show_metrics, show_readiness};
use crate::mcp::mcp_routes;
use crate::openai::{openai_routes, shape_openai_error};
use crate::page::page_routes;
use crate::problem::{ApiResult, Problem, shape_problem};
use crate::request_body::{check_length, discard_body};
use crate::request_log::{RequestRecord, ResponseCode, ResponseRun};
use crate::state::{AppState, is_run_id};

/// The longest query in bytes: longer ones are no filters that a store could look for.
const LONGEST_QUERY: usize = 16_384;
/// How long a look at a run may take whose request has failed.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// Everything that the server answers. Can be nested in another router.
pub fn build_router(state: AppState) -> Router {
    let guarded = Router::new()
        .merge(api_routes())
        .route("/metrics", get(show_metrics))
        .merge(openai_routes())
        .merge(mcp_routes(&state))
        .layer(from_fn_with_state(state.clone(), identify_caller));
    let agntz = agntz_routes().layer(from_fn_with_state(state.clone(), identify_caller)).merge(public_routes());
    Router::new()
        .merge(guarded)
        .merge(agntz)
        .merge(page_routes())
        .route("/health", get(show_health))
        .route("/ready", get(show_readiness))
        .fallback(answer_unknown)
        .method_not_allowed_fallback(refuse_method)
        .layer(DefaultBodyLimit::max(state.options.body_limit))
        .layer(RequestBodyDeadlineLayer::new(state.options.body_timeout))
        .layer(state.options.origins.cors_layer())
        .layer(from_fn_with_state(state.clone(), guard_request))
        .with_state(state)
}

async fn answer_unknown(request: Request) -> Problem {
    let detail = format!("there is nothing at `{}`", request.uri().path());
    discard_body(request).await;
    Problem::not_found("NOT_FOUND", detail)
}

async fn refuse_method(request: Request) -> Problem {
    let detail = format!("`{}` does not take {}", request.uri().path(), request.method());
    discard_body(request).await;
    Problem::new(StatusCode::METHOD_NOT_ALLOWED, "METHOD_NOT_ALLOWED", detail)
}

/// The form of errors of an interface, whoever refuses a request.
#[derive(Clone, Copy)]
enum ErrorForm {
    /// RFC 9457, for whatever its protocol has no form of its own.
    Problem,
    /// That of OpenAI's clients.
    OpenAi,
    /// That of agntz's clients, whose interface has the rest of the paths.
    Agntz,
}

impl ErrorForm {
    fn for_path(path: &str) -> Self {
        let first = path.split('/').nth(1).unwrap_or_default();
        match first {
            "v1" => Self::OpenAi,
            "" | "assets" | "api" | "mcp" | "health" | "ready" | "metrics" => Self::Problem,
            _ => Self::Agntz,
        }
    }

    async fn shape_response(self, state: &AppState, response: Response) -> Response {
        match self {
            Self::Problem => {
                let mut response = shape_problem(response).await;
                match response.extensions_mut().remove::<Problem>() {
                    Some(mut problem) => {
                        problem.hide_folder(&ServedFolder::from_path(&state.engines.folder));
                        problem.into_response()
                    }
                    None => response,
                }
            }
            Self::OpenAi => {
                let response = shape_problem(response).await;
                shape_openai_error(response, &ServedFolder::from_path(&state.engines.folder))
            }
            Self::Agntz => shape_agntz_error(state, response).await,
        }
    }
}

/// What holds for every request, and every response.
async fn guard_request(State(state): State<AppState>, request: Request, next: Next) -> Response {
    let begun = Instant::now();
    let id = format!("{:016x}", SystemRandom.next_number());
    let (method, route) = (request.method().to_string(), route_of(&request));
    let named_run = run_in_path(&route, request.uri().path());
    let form = ErrorForm::for_path(request.uri().path());
    let authority = request.uri().authority().map(|authority| authority.as_str().to_owned());
    let checked = check_origin(request.headers(), authority.as_deref(), &state.options.origins);
    let mut response = match checked {
        Ok(()) => match check_size(&request, state.options.body_limit) {
            Ok(()) => next.run(request).await,
            Err(problem) => {
                let mut refused = problem.into_response();
                // The body is not read, so no other request can follow it. A client that is not told sends one.
                refused.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
                refused
            }
        },
        Err(problem) => {
            state.metrics.refused.fetch_add(1, Ordering::Relaxed);
            problem.into_response()
        }
    };
    let has_failed = response.status().is_server_error() || response.status() == StatusCode::UNPROCESSABLE_ENTITY;
    if has_failed
        && matches!(form, ErrorForm::Problem)
        && let Some(run) = &named_run
        && is_deleted(&state, run).await
    {
        response = Problem::unknown_run(run).into_response();
    }
    let status = response.status().as_u16();
    state.metrics.count_response(status);
    let run = match response.extensions_mut().remove::<ResponseRun>() {
        Some(ResponseRun(run)) => Some(run),
        None => named_run.or_else(|| started_run(response.headers())),
    };
    let code = response.extensions_mut().remove::<ResponseCode>();
    let caller = response.extensions_mut().remove::<Caller>();
    let before = response.headers().clone();
    response = form.shape_response(&state, response).await;
    let headers = response.headers_mut();
    // Whether a page may see it, and whether another request can follow, stay with another body.
    for (name, value) in &before {
        if *name != header::CONTENT_TYPE && *name != header::CONTENT_LENGTH && !headers.contains_key(name) {
            headers.insert(name, value.clone());
        }
    }
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    if let Ok(id) = HeaderValue::from_str(&id) {
        headers.insert("x-request-id", id);
    }
    let mut key = None;
    if let Some(caller) = caller {
        key = caller.key.as_deref().map(str::to_owned);
    }
    state.log.write_record(&RequestRecord {
        request: id,
        method,
        route,
        status,
        ms: u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX),
        run,
        key,
        code: code.map(|ResponseCode(code)| code),
    });
    response
}

/// Refuses what is too large to be looked at.
fn check_size(request: &Request, body_limit: usize) -> ApiResult<()> {
    check_length(request.headers(), body_limit)?;
    if request.uri().query().is_some_and(|query| query.len() > LONGEST_QUERY) {
        let detail = format!("the query of the request is longer than {LONGEST_QUERY} bytes");
        return Err(Problem::bad_request(detail));
    }
    Ok(())
}

/// Whether a run is gone that a request is about. One that is deleted while it is read has a journal that cannot be read.
async fn is_deleted(state: &AppState, run: &str) -> bool {
    let record = tokio::time::timeout(LOOK_AGAIN, state.store().record(run)).await;
    matches!(record, Ok(Err(StoreError::NoRun { .. })))
}

/// The run that a request is about.
fn run_in_path(route: &str, path: &str) -> Option<String> {
    let position = route.split('/').position(|part| part == "{run}")?;
    let run = path.split('/').nth(position)?;
    if is_run_id(run) { Some(run.to_owned()) } else { None }
}

/// The run that a request has started: the last part of where it is.
fn started_run(headers: &HeaderMap) -> Option<String> {
    let location = headers.get(header::LOCATION)?.to_str().ok()?;
    let run = location.rsplit('/').next()?;
    if is_run_id(run) { Some(run.to_owned()) } else { None }
}

/// The route of a request as it is declared, so that no id or name of a client is in the log.
fn route_of(request: &Request) -> String {
    match request.extensions().get::<MatchedPath>() {
        Some(path) => path.as_str().to_owned(),
        None => "-".to_owned(),
    }
}

/// Finds out who sends a request.
async fn identify_caller(State(state): State<AppState>, mut request: Request, next: Next) -> Response {
    let address = match request.extensions().get::<ConnectInfo<SocketAddr>>() {
        Some(ConnectInfo(address)) => address.ip().to_string(),
        None => String::new(),
    };
    let sent_key = find_sent_key(request.headers());
    let admitted = match find_caller(&state, &address, sent_key.as_deref()).await {
        Ok(caller) => state.gate.admit_request(&caller).await.map(|()| caller),
        Err(problem) => Err(problem),
    };
    match admitted {
        Ok(caller) => {
            request.extensions_mut().insert(caller.clone());
            let mut response = next.run(request).await;
            response.extensions_mut().insert(caller);
            response
        }
        Err(problem) => {
            state.metrics.refused.fetch_add(1, Ordering::Relaxed);
            discard_body(request).await;
            problem.into_response()
        }
    }
}

/// Who sends a request. On loopback, where no key is needed, a client that sends one that is known has its rights; any other key is
/// ignored there.
async fn find_caller(state: &AppState, address: &str, bearer: Option<&str>) -> ApiResult<Caller> {
    let known = match bearer {
        Some(sent) => state.keys.find_key(sent).await?,
        None => None,
    };
    if let Some(key) = known {
        let rights = Arc::new(key.rights.clone());
        return Ok(Caller {
            key: Some(key.id.as_str().into()),
            name: key.name.as_str().into(),
            address: address.into(),
            rights,
        });
    }
    if !state.options.needs_key {
        return Ok(Caller::local_user(address));
    }
    let problem = match bearer {
        Some(_) => Problem::new(StatusCode::UNAUTHORIZED, "KEY_UNKNOWN", "the key is unknown or was revoked"),
        None => Problem::new(StatusCode::UNAUTHORIZED, "KEY_MISSING", "this server needs a key"),
    };
    Err(problem.with_help("send it as `Authorization: Bearer KEY`; the operator makes one with `trefoil keys add`"))
}
