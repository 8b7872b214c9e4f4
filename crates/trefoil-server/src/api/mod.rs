//! The API of Trefoil: `/api/v1`.

mod arriving_text;
mod callers;
mod event_stream;
mod file_save;
mod flow_files;
mod flow_history;
mod flows;
mod history_types;
mod keyed_request;
mod keys;
mod openapi;
mod published_schemas;
mod questions;
mod run_actions;
mod run_forks;
mod run_list;
mod run_prompts;
mod run_start;
mod run_traces;
mod secrets;
mod trace_parts;
mod trace_stream;
mod types;
mod url_query;

use axum::Router;
use axum::handler::Handler;
use axum::routing::{MethodFilter, on};
use http::Method;

use crate::language_server::open_language_server;
use crate::state::AppState;

pub use event_stream::RunEventList;
pub use openapi::describe_api;
pub use published_schemas::Finding;
pub use run_actions::{CancelResult, delete_with_called, end_run};
pub use run_forks::{ForkPreview, StepPreview};
pub use run_list::{RunList, parse_time};
pub use run_start::{has_idempotency_key, idempotency_key};
pub use types::{CostAmount, CostCompleteness, ItemSummary, RunDetail, RunErrorSummary, RunSummary, TokenCounts};

/// Where the API is.
const PREFIX: &str = "/api/v1";

/// Routes, and a list of them, which can be compared with the description.
#[derive(Default)]
struct ListedRoutes {
    router: Router<AppState>,
    listed: Vec<(Method, String)>,
}

impl ListedRoutes {
    fn add<H, T>(mut self, method: Method, path: &str, handler: H) -> Self
    where
        H: Handler<T, AppState>,
        T: 'static,
    {
        if let Ok(filter) = MethodFilter::try_from(method.clone()) {
            self.router = self.router.route(path, on(filter, handler));
            // The description has no sign for the rest of a path.
            self.listed.push((method, format!("{PREFIX}{}", path.replace("{*", "{"))));
        }
        self
    }

    fn list_all() -> Self {
        const GET: Method = Method::GET;
        const PUT: Method = Method::PUT;
        const POST: Method = Method::POST;
        const DELETE: Method = Method::DELETE;
        Self::default()
            .add(GET, "/openapi.json", openapi::openapi_document)
            .add(GET, "/me", callers::show_caller)
            .add(GET, "/flows", flows::list_flows)
            .add(GET, "/flows/{flow}", flows::show_flow)
            .add(DELETE, "/flows/{flow}", flows::remove_flow)
            .add(GET, "/flows/{flow}/schema", flows::flow_schema)
            .add(GET, "/flows/{flow}/checks", flows::flow_checks)
            .add(GET, "/flows/{flow}/plan", flows::flow_plan)
            .add(GET, "/flows/{flow}/graph", flows::flow_graph)
            .add(GET, "/flows/{flow}/files", flow_files::flow_files)
            .add(GET, "/flows/{flow}/rule", keys::show_rule)
            .add(PUT, "/flows/{flow}/rule", keys::set_rule)
            .add(PUT, "/files/{*path}", file_save::save_file)
            .add(GET, "/language-server", open_language_server)
            .add(GET, "/flows/{flow}/history", flow_history::flow_history)
            .add(GET, "/costs", flow_history::list_costs)
            .add(GET, "/secrets", secrets::list_secrets)
            .add(PUT, "/secrets/{name}", secrets::set_secret)
            .add(DELETE, "/secrets/{name}", secrets::remove_secret)
            .add(GET, "/keys", keys::list_keys)
            .add(POST, "/keys", keys::add_key)
            .add(DELETE, "/keys/{key}", keys::revoke_key)
            .add(GET, "/runs", run_list::list_runs)
            .add(POST, "/runs", run_start::start_run)
            .add(GET, "/runs/{run}", run_list::show_run)
            .add(DELETE, "/runs/{run}", run_actions::delete_run)
            .add(GET, "/runs/{run}/files", flow_files::run_files)
            .add(GET, "/runs/{run}/state", run_traces::run_state)
            .add(GET, "/runs/{run}/trace", run_traces::run_trace)
            .add(GET, "/runs/{run}/events", event_stream::run_events)
            .add(POST, "/runs/{run}/answers", run_actions::answer_question)
            .add(POST, "/runs/{run}/cancel", run_actions::cancel_run)
            .add(POST, "/runs/{run}/resume", run_actions::resume_run)
            .add(POST, "/runs/{run}/fork", run_forks::fork_run)
            .add(POST, "/runs/{run}/prompts", run_prompts::run_prompts)
            .add(GET, "/runs/{run}/diff", run_forks::diff_runs)
            .add(GET, "/questions", questions::list_questions)
    }
}

/// The routes of the API.
pub fn api_routes() -> Router<AppState> {
    Router::new().nest(PREFIX, ListedRoutes::list_all().router)
}

/// The methods and paths of the API, as its router has them.
pub fn list_api_routes() -> Vec<(Method, String)> {
    ListedRoutes::list_all().listed
}
