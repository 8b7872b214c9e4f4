//! The rest of the surface of agntz: known, and not built yet.

use axum::Router;
use axum::extract::Request;
use axum::routing::{any, get, post, put};
use http::StatusCode;

use super::errors::AgntzFailure;
use crate::request_body::discard_body;
use crate::state::AppState;

/// Groups of routes that are not built, with everything below them.
const GROUPS: [&str; 12] = [
    "/artifacts",
    "/batch-runs",
    "/batches",
    "/dataset-imports",
    "/datasets",
    "/eval-runs",
    "/eval-scores",
    "/evals",
    "/memory",
    "/run/block",
    "/scopes",
    "/webhook-secrets",
];

/// Routes that need a key.
pub fn guarded_routes() -> Router<AppState> {
    let mut routes = Router::new()
        .route("/agents/{id}/versions", get(refuse_request))
        .route("/agents/{id}/versions/{*rest}", any(refuse_request))
        .route("/agents/{id}/aliases/{alias}", put(refuse_request).delete(refuse_request))
        .route("/edit-agent", post(refuse_request))
        .route("/sessions/import", post(refuse_request));
    for group in GROUPS {
        routes = routes.route(group, any(refuse_request)).route(&format!("{group}/{{*rest}}"), any(refuse_request));
    }
    routes
}

/// Routes that anybody may call.
pub fn public_routes() -> Router<AppState> {
    Router::new().route("/artifact-download/{id}", get(refuse_request)).route("/build-agent", post(refuse_request))
}

/// Refuses a request for what is not built.
pub async fn refuse_request(request: Request) -> AgntzFailure {
    let error = format!("{} {} is not implemented here", request.method(), request.uri().path());
    discard_body(request).await;
    AgntzFailure::new(StatusCode::NOT_IMPLEMENTED, "NOT_IMPLEMENTED", error)
}
