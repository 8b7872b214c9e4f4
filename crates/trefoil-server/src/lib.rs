//! Flows over HTTP. Parses requests, authorizes callers and prints what the [host](trefoil_host) says; it decides nothing about
//! runs.
//!
//! ```text
//! problem, access, request_body, sse <- state <- start <- api (ours), agntz, openai, mcp <- router <- connection
//! ```
//!
//! [`build_router`] makes a router that can be nested in another one; [`serve_connections`] serves it on a socket.

#![allow(clippy::result_large_err, reason = "a problem is a whole response, of which a request has at most one")]

mod access;
mod agntz;
mod api;
mod client_tool_board;
mod connection;
mod editor_slots;
mod health;
mod language_server;
mod mcp;
mod metrics;
mod open_stream;
mod openai;
mod page;
mod problem;
mod repeated_keys;
mod request_body;
mod request_log;
mod router;
mod run_log;
mod serving_phase;
mod sse;
mod start;
mod state;
mod stored_manifests;
mod tls;

pub use access::{
    AllowedOrigins, Caller, KeyError, KeyRecord, KeyRights, KeyRing, KeyScope, KeyScopes, UsageGate, parse_host_name,
    parse_page_origin,
};
pub use agntz::watch_manifests;
pub use api::{
    CancelResult, CostAmount, CostCompleteness, ForkPreview, ItemSummary, RunDetail, RunErrorSummary, RunEventList,
    RunList, RunSummary, StepPreview, TokenCounts, describe_api, list_api_routes,
};
pub use client_tool_board::ClientToolBoard;
pub use connection::serve_connections;
pub use editor_slots::EditorSlots;
pub use metrics::ServerMetrics;
pub use problem::Problem;
pub use request_log::{RequestLog, RequestRecord, RunRecord};
pub use router::build_router;
pub use run_log::RunLog;
pub use serving_phase::{PhaseSwitch, PhaseWatch, ServingPhase, serving_phases};
pub use state::{AppState, ServerState, ServingOptions};
pub use stored_manifests::StoredManifests;
pub use tls::TlsFiles;
pub use tokio_rustls::TlsAcceptor;
