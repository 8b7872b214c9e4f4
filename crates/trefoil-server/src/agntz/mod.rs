//! The hosted API of agntz, for its clients as they are.
//!
//! ```text
//! errors, references <- run_request <- runs, run_list, run_stream, feed
//! flow_shape <- run_fold <- run_shapes <- attached_run
//! ```

mod agents;
mod attached_run;
mod client_tools;
mod errors;
mod feed;
mod flow_shape;
mod imports;
mod invoke_result;
mod manifests;
mod not_implemented;
mod references;
mod run_fold;
mod run_list;
mod run_part;
mod run_request;
mod run_shapes;
mod run_stream;
mod runs;
mod sessions;
mod trace_spans;
mod traces;

use axum::Router;
use axum::routing::{get, post};

use crate::state::AppState;

pub use errors::shape_agntz_error;
pub use manifests::{remove_manifest, watch_manifests};
use not_implemented::refuse_request;

/// The routes that need a key.
pub fn agntz_routes() -> Router<AppState> {
    Router::new()
        .route("/run", post(runs::run_agent))
        .route("/run/stream", post(run_stream::stream_agent))
        .route("/runs", get(run_list::list_runs).post(runs::start_agent))
        .route("/runs/{run}", get(runs::show_run))
        .route("/runs/{run}/cancel", post(runs::cancel_run))
        .route("/runs/{run}/stream", get(feed::stream_feed))
        .route("/runs/{run}/client-tool-requests/{request}/result", post(client_tools::take_result))
        .route("/agents", get(agents::list_agents).post(refuse_request))
        .route("/agents/import", post(imports::import_agents))
        .route("/agents/{id}", get(agents::show_agent).delete(agents::delete_agent).put(refuse_request))
        .route("/validate", post(agents::validate_manifest))
        .route("/traces", get(traces::list_traces))
        .route("/traces/{run}", get(traces::show_trace).delete(traces::delete_trace))
        .route("/traces/{run}/stream", get(traces::stream_trace))
        .route("/sessions", get(sessions::list_sessions))
        .route("/sessions/{id}", get(sessions::show_session).delete(sessions::delete_session))
        .merge(not_implemented::guarded_routes())
}

/// The routes that anybody may call.
pub fn public_routes() -> Router<AppState> {
    not_implemented::public_routes()
}
