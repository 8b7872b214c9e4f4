//! The description of the API in OpenAPI 3.1, made of the handlers' own types.

use axum::Json as JsonResponse;
use utoipa::OpenApi;

use super::{event_stream, flows, keys, questions, run_actions, run_forks, run_list, run_start, secrets};

#[derive(OpenApi)]
#[openapi(
    info(title = "Trefoil", description = "Agent workflows in YAML: start, follow, answer and repair their runs."),
    paths(
        flows::list_flows,
        flows::show_flow,
        flows::flow_schema,
        flows::flow_checks,
        flows::flow_plan,
        flows::flow_graph,
        run_list::list_runs,
        run_list::show_run,
        run_list::run_state,
        run_list::run_trace,
        run_start::start_run,
        event_stream::run_events,
        run_actions::answer_question,
        run_actions::cancel_run,
        run_actions::resume_run,
        run_actions::delete_run,
        run_forks::fork_run,
        run_forks::diff_runs,
        questions::list_questions,
        keys::show_rule,
        keys::set_rule,
        keys::add_key,
        keys::list_keys,
        keys::revoke_key,
        secrets::list_secrets,
        secrets::set_secret,
        secrets::remove_secret,
    )
)]
struct ApiDocument;

/// The description of the API.
pub async fn openapi_document() -> JsonResponse<utoipa::openapi::OpenApi> {
    JsonResponse(ApiDocument::openapi())
}
