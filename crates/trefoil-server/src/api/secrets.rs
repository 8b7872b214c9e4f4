//! Secrets of the operator: named, set and removed with the scope `admin`, and never shown.

use axum::Extension;
use axum::Json as JsonResponse;
use axum::extract::{Path, State};
use http::StatusCode;
use serde::{Deserialize, Serialize};
use trefoil_project::secrets::{SecretVault, VaultError, is_name};
use utoipa::ToSchema;

use crate::access::{Caller, KeyScope};
use crate::problem::{ApiResult, Problem};
use crate::request_body::JsonBody;
use crate::state::AppState;

/// The names of the secrets in the vault.
#[derive(Debug, Serialize, ToSchema)]
pub struct SecretNames {
    /// The names.
    pub names: Vec<String>,
}

/// The value of a secret.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SecretBody {
    /// The value.
    pub value: String,
}

/// Does something with the vault, which may take a second, beside the other requests.
async fn with_vault<T: Send + 'static>(
    state: &AppState,
    work: impl FnOnce(&SecretVault) -> Result<T, VaultError> + Send + 'static,
) -> ApiResult<T> {
    let refused = |detail: String| Problem::new(StatusCode::CONFLICT, "VAULT_UNAVAILABLE", detail);
    let Some(vault) = state.vault.clone() else {
        return Err(refused("this machine has no folder for secrets".to_owned()));
    };
    let done = tokio::task::spawn_blocking(move || work(&vault));
    match done.await {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) => {
            let problem = refused(error.to_string());
            Err(match error.help_text() {
                Some(help) => problem.with_help(help),
                None => problem,
            })
        }
        Err(_) => Err(refused("the vault cannot be used at the moment".to_owned())),
    }
}

fn check_name(name: &str) -> ApiResult<()> {
    if is_name(name) { Ok(()) } else { Err(Problem::bad_request("this is no name of a secret")) }
}

/// Lists the names of the secrets in the vault.
#[utoipa::path(get, path = "/api/v1/secrets", tag = "secrets", responses((status = 200, body = SecretNames), (status = 409, body = Problem, description = "It does not fit how things stand")))]
pub async fn list_secrets(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
) -> ApiResult<JsonResponse<SecretNames>> {
    caller.require_scope(KeyScope::Admin)?;
    Ok(JsonResponse(SecretNames { names: with_vault(&state, SecretVault::secret_names).await? }))
}

/// Sets a secret. Runs that start from now on have it.
#[utoipa::path(put, path = "/api/v1/secrets/{name}", tag = "secrets", params(("name" = String, Path)), request_body = SecretBody, responses((status = 204, description = "It is set"), (status = 409, body = Problem, description = "It does not fit how things stand")))]
pub async fn set_secret(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
    Path(name): Path<String>,
    JsonBody(body): JsonBody<SecretBody>,
) -> ApiResult<StatusCode> {
    caller.require_scope(KeyScope::Admin)?;
    check_name(&name)?;
    with_vault(&state, move |vault| vault.set_secret(&name, &body.value)).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Removes a secret.
#[utoipa::path(delete, path = "/api/v1/secrets/{name}", tag = "secrets", params(("name" = String, Path)), responses((status = 204, description = "It is removed"), (status = 409, body = Problem, description = "It does not fit how things stand")))]
pub async fn remove_secret(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
    Path(name): Path<String>,
) -> ApiResult<StatusCode> {
    caller.require_scope(KeyScope::Admin)?;
    check_name(&name)?;
    let shown = name.clone();
    if with_vault(&state, move |vault| vault.remove(&name)).await? {
        return Ok(StatusCode::NO_CONTENT);
    }
    Err(Problem::not_found("SECRET_NOT_FOUND", format!("there is no secret `{shown}` in the vault")))
}
