//! Sessions, of which there are none yet: lists are empty, and a deletion finds everything deleted.

use axum::Extension;
use axum::Json as JsonResponse;
use axum::extract::Path;
use http::StatusCode;
use serde_json::{Value as Json, json};

use super::errors::AgntzResult;
use crate::access::{Caller, KeyScope};

/// Lists sessions.
pub async fn list_sessions(Extension(caller): Extension<Caller>) -> AgntzResult<JsonResponse<Json>> {
    caller.require_scope(KeyScope::Read)?;
    Ok(JsonResponse(json!({ "sessions": [] })))
}

/// Shows a session.
pub async fn show_session(
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
) -> AgntzResult<JsonResponse<Json>> {
    caller.require_scope(KeyScope::Read)?;
    Ok(JsonResponse(json!({ "sessionId": id, "messages": [] })))
}

/// Deletes a session. The id of a run names none, so no run is deleted.
pub async fn delete_session(Extension(caller): Extension<Caller>) -> AgntzResult<StatusCode> {
    caller.require_scope(KeyScope::Run)?;
    Ok(StatusCode::NO_CONTENT)
}
