//! Whether the server lives, whether it can take work, and what it counts.

use std::time::Duration;

use axum::Extension;
use axum::Json as JsonResponse;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use http::{StatusCode, header};
use serde_json::{Value as Json, json};
use trefoil_store::Status;

use crate::access::{Caller, KeyScope};
use crate::metrics::StatusCount;
use crate::problem::{ApiResult, Problem};
use crate::state::AppState;

/// How long the store may take to answer.
const STORE_WAIT: Duration = Duration::from_secs(2);

/// The process lives.
pub async fn show_health() -> JsonResponse<Json> {
    JsonResponse(json!({ "status": "ok", "service": "trefoil", "version": env!("CARGO_PKG_VERSION") }))
}

/// The server can take work: the store answers and can be written to, and it is not stopping.
pub async fn show_readiness(State(state): State<AppState>) -> Response {
    if state.phase.is_stopping() {
        return (StatusCode::SERVICE_UNAVAILABLE, JsonResponse(json!({ "status": "stopping" }))).into_response();
    }
    let store = state.store();
    let usable = async {
        store.check_writable().await?;
        store.count_by_status().await
    };
    match tokio::time::timeout(STORE_WAIT, usable).await {
        Ok(Ok(_)) => JsonResponse(json!({ "status": "ready" })).into_response(),
        _ => (StatusCode::SERVICE_UNAVAILABLE, JsonResponse(json!({ "status": "no store" }))).into_response(),
    }
}

/// How many runs there are. `None`: the store does not answer, or not soon. The store itself would wait for a server that
/// restarts, which is longer than those who ask here.
async fn count_runs(state: &AppState) -> Option<Vec<(Status, u64)>> {
    tokio::time::timeout(STORE_WAIT, state.store().count_by_status()).await.ok()?.ok()
}

/// The metrics for Prometheus. If the store does not answer, they say so, and have no figures of it.
///
/// # Errors
///
/// 403 for a caller who sees the runs of some keys only: the figures are of all of them.
pub async fn show_metrics(State(state): State<AppState>, Extension(caller): Extension<Caller>) -> ApiResult<Response> {
    caller.require_scope(KeyScope::Read)?;
    if !caller.sees_all_runs() {
        let detail = format!("the key `{}` sees its own runs only, and the figures are of all runs", caller.name);
        let problem = Problem::new(StatusCode::FORBIDDEN, "SCOPE_MISSING", detail);
        return Err(problem.with_help("make a key for this: `trefoil keys add NAME --scope read --all-runs`"));
    }
    let mut statuses = Vec::new();
    let counts = count_runs(&state).await;
    let store_up = counts.is_some();
    for (status, count) in counts.unwrap_or_default() {
        statuses.push(StatusCount { status: status.name(), count });
    }
    let text = state.metrics.to_text(state.local.count_held(), store_up, &statuses);
    Ok(([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], text).into_response())
}
