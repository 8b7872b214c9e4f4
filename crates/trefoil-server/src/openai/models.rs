//! Models: the flows that the caller may use.

use axum::Extension;
use axum::Json as JsonResponse;
use axum::extract::{Path, State};
use serde::Serialize;

use super::errors::OpenAiError;
use crate::access::{Caller, KeyScope};
use crate::state::AppState;

/// A flow as a model.
#[derive(Debug, Serialize)]
pub struct ChatModel {
    id: String,
    object: &'static str,
    /// Seconds since 1970-01-01 UTC; 0, because it is not known of a flow.
    created: u64,
    owned_by: &'static str,
}

/// All models.
#[derive(Debug, Serialize)]
pub struct ChatModelList {
    object: &'static str,
    data: Vec<ChatModel>,
}

impl ChatModel {
    fn of_flow(name: &str) -> Self {
        Self { id: name.to_owned(), object: "model", created: 0, owned_by: "trefoil" }
    }
}

/// Lists the models.
pub async fn list_models(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
) -> Result<JsonResponse<ChatModelList>, OpenAiError> {
    caller.require_scope(KeyScope::Read)?;
    let mut data = Vec::new();
    for name in state.flows().flow_names() {
        if caller.may_use_flow(name) {
            data.push(ChatModel::of_flow(name));
        }
    }
    Ok(JsonResponse(ChatModelList { object: "list", data }))
}

/// Shows a model.
pub async fn show_model(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
    Path(model): Path<String>,
) -> Result<JsonResponse<ChatModel>, OpenAiError> {
    caller.require_scope(KeyScope::Read)?;
    let flow = state.find_flow(&caller, &model)?;
    Ok(JsonResponse(ChatModel::of_flow(&flow.name)))
}
