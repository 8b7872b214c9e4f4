//! The API of Trefoil: `/api/v1`.

mod event_stream;
mod flows;
mod keys;
mod openapi;
mod questions;
mod run_actions;
mod run_forks;
mod run_list;
mod run_start;
mod secrets;
mod types;

use axum::Router;
use axum::routing::{delete, get, post, put};

use crate::state::AppState;

pub use event_stream::RunEventList;
pub use run_actions::{CancelResult, delete_with_called, end_run};
pub use run_forks::{ForkPreview, StepPreview};
pub use run_list::{RunList, parse_time};
pub use run_start::idempotency_key;
pub use types::{CostAmount, CostCompleteness, ItemSummary, RunDetail, RunErrorSummary, RunSummary, TokenCounts};

/// The routes of the API.
pub fn api_routes() -> Router<AppState> {
    Router::new()
        .route("/openapi.json", get(openapi::openapi_document))
        .route("/flows", get(flows::list_flows))
        .route("/flows/{flow}", get(flows::show_flow))
        .route("/flows/{flow}/schema", get(flows::flow_schema))
        .route("/flows/{flow}/checks", get(flows::flow_checks))
        .route("/flows/{flow}/plan", get(flows::flow_plan))
        .route("/flows/{flow}/graph", get(flows::flow_graph))
        .route("/flows/{flow}/rule", get(keys::show_rule).put(keys::set_rule))
        .route("/secrets", get(secrets::list_secrets))
        .route("/secrets/{name}", put(secrets::set_secret).delete(secrets::remove_secret))
        .route("/keys", get(keys::list_keys).post(keys::add_key))
        .route("/keys/{key}", delete(keys::revoke_key))
        .route("/runs", get(run_list::list_runs).post(run_start::start_run))
        .route("/runs/{run}", get(run_list::show_run).delete(run_actions::delete_run))
        .route("/runs/{run}/state", get(run_list::run_state))
        .route("/runs/{run}/trace", get(run_list::run_trace))
        .route("/runs/{run}/events", get(event_stream::run_events))
        .route("/runs/{run}/answers", post(run_actions::answer_question))
        .route("/runs/{run}/cancel", post(run_actions::cancel_run))
        .route("/runs/{run}/resume", post(run_actions::resume_run))
        .route("/runs/{run}/fork", post(run_forks::fork_run))
        .route("/runs/{run}/diff", get(run_forks::diff_runs))
        .route("/questions", get(questions::list_questions))
}
