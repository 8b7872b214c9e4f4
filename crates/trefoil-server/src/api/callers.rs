//! What a client may do here, so that a page shows no button that would be refused.

use axum::Extension;
use axum::Json as JsonResponse;
use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

use crate::access::{Caller, KeyScope};
use crate::problem::ApiResult;
use crate::state::AppState;

/// Who sends a request, and what it may do.
#[derive(Debug, Serialize, ToSchema)]
pub struct CallerRights {
    /// The name of the key, or `local`: the user of this machine, without a key.
    pub name: String,
    /// Whether the server needs a key from this caller.
    pub needs_key: bool,
    /// What it may do. `admin` has all of them.
    pub scopes: Vec<KeyScope>,
    /// The flows that it may use; empty: all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub flows: Vec<String>,
    /// Whether it sees the runs of all keys, and not only its own.
    pub all_runs: bool,
    /// Whether it may write the files of flows (`PUT /files/PATH`).
    pub edit: bool,
}

/// Says who sends the request, and what it may do.
#[utoipa::path(get, path = "/api/v1/me", tag = "keys", responses((status = 200, body = CallerRights)))]
pub async fn show_caller(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
) -> ApiResult<JsonResponse<CallerRights>> {
    let mut scopes = Vec::new();
    for scope in KeyScope::ALL {
        if caller.rights.scopes.allow_scope(scope) {
            scopes.push(scope);
        }
    }
    Ok(JsonResponse(CallerRights {
        name: caller.name.to_string(),
        needs_key: state.options.needs_key,
        scopes,
        flows: caller.rights.flows.clone(),
        all_runs: caller.sees_all_runs(),
        edit: state.options.writes_files
            && caller.rights.scopes.allow_scope(KeyScope::Admin)
            && caller.rights.flows.is_empty(),
    }))
}
