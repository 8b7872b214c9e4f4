//! Keys, and what the operator says of flows: for the scope `admin`.

use axum::Extension;
use axum::Json as JsonResponse;
use axum::extract::{Path, State};
use axum::response::{IntoResponse as _, Response};
use http::StatusCode;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::access::{Caller, FlowRule, KeyError, KeyRecord, KeyRights, KeyScope};
use crate::problem::{ApiResult, Problem};
use crate::request_body::JsonBody;
use crate::state::AppState;

/// A key to make.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewKeyBody {
    /// Who or what uses it.
    pub name: String,
    /// What it may be used for.
    pub rights: KeyRights,
}

/// A key that was made.
#[derive(Debug, Serialize, ToSchema)]
pub struct NewKey {
    /// The key. It is not shown again.
    pub key: String,
    /// What is kept of it.
    pub record: KeyRecord,
}

/// All keys.
#[derive(Debug, Serialize, ToSchema)]
pub struct KeyList {
    /// The keys, by id.
    pub keys: Vec<KeyRecord>,
}

impl From<KeyError> for Problem {
    fn from(error: KeyError) -> Self {
        match error {
            KeyError::Store(error) => error.into(),
            KeyError::Name => Self::bad_request(error.to_string()),
            KeyError::SameName(_) => {
                Self::new_conflict("KEY_NOT_UNIQUE", error.to_string()).with_help("name the key by its id")
            }
            KeyError::NoRandom => Self::new(StatusCode::INTERNAL_SERVER_ERROR, "INTERNAL", error.to_string()),
        }
    }
}

/// Makes a key.
#[utoipa::path(post, path = "/api/v1/keys", tag = "keys", request_body = NewKeyBody, responses((status = 201, body = NewKey)))]
pub async fn add_key(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
    JsonBody(body): JsonBody<NewKeyBody>,
) -> ApiResult<Response> {
    caller.require_scope(KeyScope::Admin)?;
    let (key, record) = state.keys.add_key(&body.name, body.rights).await?;
    Ok((StatusCode::CREATED, JsonResponse(NewKey { key, record })).into_response())
}

/// Lists the keys.
#[utoipa::path(get, path = "/api/v1/keys", tag = "keys", responses((status = 200, body = KeyList)))]
pub async fn list_keys(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
) -> ApiResult<JsonResponse<KeyList>> {
    caller.require_scope(KeyScope::Admin)?;
    Ok(JsonResponse(KeyList { keys: state.keys.list_keys().await? }))
}

/// Revokes a key, by its id, or by its name if no other key has it.
#[utoipa::path(delete, path = "/api/v1/keys/{key}", tag = "keys", params(("key" = String, Path)), responses((status = 204, description = "It is refused from now on"), (status = 409, body = Problem, description = "Several keys have this name: none is revoked")))]
pub async fn revoke_key(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
    Path(key): Path<String>,
) -> ApiResult<StatusCode> {
    caller.require_scope(KeyScope::Admin)?;
    if state.keys.revoke_key(&key).await?.is_none() {
        return Err(Problem::not_found("KEY_NOT_FOUND", format!("there is no key `{key}`")));
    }
    Ok(StatusCode::NO_CONTENT)
}

/// What the operator says of a flow: whether its runs may start, and what they may cost in a day.
#[utoipa::path(get, path = "/api/v1/flows/{flow}/rule", tag = "flows", params(("flow" = String, Path)), responses((status = 200, body = FlowRule)))]
pub async fn show_rule(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
    Path(flow): Path<String>,
) -> ApiResult<JsonResponse<FlowRule>> {
    caller.require_scope(KeyScope::Read)?;
    let offered = state.find_flow(&caller, &flow)?;
    Ok(JsonResponse(state.gate.read_rule(&offered.name).await?.unwrap_or_default()))
}

/// Stops a flow, lets it start again, or sets what its runs may cost in a day. Holds at once on all servers of the store.
#[utoipa::path(put, path = "/api/v1/flows/{flow}/rule", tag = "flows", params(("flow" = String, Path)), request_body = FlowRule, responses((status = 200, body = FlowRule)))]
pub async fn set_rule(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
    Path(flow): Path<String>,
    JsonBody(rule): JsonBody<FlowRule>,
) -> ApiResult<JsonResponse<FlowRule>> {
    caller.require_scope(KeyScope::Admin)?;
    let offered = state.find_flow(&caller, &flow)?;
    state.gate.write_rule(&offered.name, &rule).await?;
    Ok(JsonResponse(rule))
}
