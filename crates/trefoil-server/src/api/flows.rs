//! Flows: what is served, with schema, findings, plan and graph.

use axum::Extension;
use axum::Json as JsonResponse;
use axum::extract::{Path, Query, State};
use axum::response::{IntoResponse as _, Response};
use http::{StatusCode, header};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};
use trefoil_host::catalog::CatalogFlow;
use trefoil_host::served_folder::ServedFolder;
use trefoil_project::FoundErrors;
use trefoil_view::graph::FORMATS;
use utoipa::ToSchema;

use super::published_schemas::{Finding, FlowPlan};
use crate::access::{Caller, KeyScope};
use crate::agntz::remove_manifest;
use crate::problem::{ApiResult, Problem, findings_json, hide_folder};
use crate::state::AppState;

/// A flow.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct FlowSummary {
    /// Its name.
    pub name: String,
    /// The format of its manifest: `agntz`, `aegis`, `sirenspec`.
    pub dialect: String,
    /// Its purpose.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Where it comes from.
    pub target: String,
    /// Whether no other manifest uses it.
    pub root: bool,
    /// `ready`; `stale`: an edit does not load, and the last version runs; `blocked`: it cannot run now.
    pub state: FlowState,
    /// What prevents its runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blocked_by: Option<String>,
}

/// How a flow stands.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum FlowState {
    /// It runs as its files say.
    Ready,
    /// Its files were edited and do not load. The last version runs.
    Stale,
    /// It cannot run now.
    Blocked,
}

/// A manifest that does not load.
#[derive(Debug, Serialize, ToSchema)]
pub struct BrokenFlow {
    /// Where it is.
    pub target: String,
    /// What is wrong.
    #[schema(value_type = Vec<Finding>)]
    pub findings: Vec<Json>,
}

/// The flows that are served.
#[derive(Debug, Serialize, ToSchema)]
pub struct FlowList {
    /// The flows.
    pub flows: Vec<FlowSummary>,
    /// Manifests that do not load, and have no earlier version: with their findings.
    pub broken: Vec<BrokenFlow>,
}

fn summary(offered: &CatalogFlow) -> FlowSummary {
    let state = match (&offered.broken_edit, &offered.prevented) {
        (Some(_), _) => FlowState::Stale,
        (None, Some(_)) => FlowState::Blocked,
        (None, None) => FlowState::Ready,
    };
    FlowSummary {
        name: offered.name.clone(),
        dialect: offered.flow.dialect().to_owned(),
        description: offered.flow.manifest_description().map(str::to_owned),
        target: offered.target.to_string(),
        root: offered.is_root,
        state,
        blocked_by: offered.prevented.clone(),
    }
}

/// Lists the flows that the caller may use.
#[utoipa::path(get, path = "/api/v1/flows", tag = "flows", responses((status = 200, body = FlowList)))]
pub async fn list_flows(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
) -> ApiResult<JsonResponse<FlowList>> {
    caller.require_scope(KeyScope::Read)?;
    let snapshot = state.flows();
    let mut flows = Vec::new();
    for offered in snapshot.offered_flows() {
        if caller.may_use_flow(&offered.name) {
            flows.push(summary(offered));
        }
    }
    let mut broken = Vec::new();
    if caller.rights.flows.is_empty() {
        for one in snapshot.broken_targets() {
            broken.push(BrokenFlow { target: one.target.to_string(), findings: findings_json(&one.findings) });
        }
    }
    Ok(JsonResponse(FlowList { flows, broken }))
}

/// A flow with its schemas.
#[derive(Debug, Serialize, ToSchema)]
pub struct FlowDetail {
    /// The flow.
    #[serde(flatten)]
    pub summary: FlowSummary,
    /// The JSON Schema of its input.
    #[schema(value_type = Object)]
    pub input_schema: Map<String, Json>,
    /// The JSON Schema of its result, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Object)]
    pub output_schema: Option<Map<String, Json>>,
}

/// Shows a flow.
#[utoipa::path(get, path = "/api/v1/flows/{flow}", tag = "flows", params(("flow" = String, Path)), responses((status = 200, body = FlowDetail)))]
pub async fn show_flow(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
    Path(flow): Path<String>,
) -> ApiResult<JsonResponse<FlowDetail>> {
    caller.require_scope(KeyScope::Read)?;
    let offered = state.find_flow(&caller, &flow)?;
    let tool = offered.flow.as_tool();
    Ok(JsonResponse(FlowDetail {
        summary: summary(&offered),
        input_schema: tool.parameters,
        output_schema: tool.result,
    }))
}

/// Removes a flow that was imported (`POST /agents/import`). Its runs go on with it.
#[utoipa::path(delete, path = "/api/v1/flows/{flow}", tag = "flows", params(("flow" = String, Path)), responses((status = 204, description = "It is not offered any more"), (status = 409, body = Problem, description = "It is the flow of a file")))]
pub async fn remove_flow(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
    Path(flow): Path<String>,
) -> ApiResult<StatusCode> {
    caller.require_scope(KeyScope::Admin)?;
    remove_manifest(&state, &flow).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// The JSON Schema of the input of a flow.
#[utoipa::path(get, path = "/api/v1/flows/{flow}/schema", tag = "flows", params(("flow" = String, Path)), responses((status = 200, body = Object)))]
pub async fn flow_schema(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
    Path(flow): Path<String>,
) -> ApiResult<JsonResponse<Map<String, Json>>> {
    caller.require_scope(KeyScope::Read)?;
    Ok(JsonResponse(state.find_flow(&caller, &flow)?.flow.as_tool().parameters))
}

/// The findings in a flow, and those of an edit that does not load.
#[derive(Debug, Serialize, ToSchema)]
pub struct FlowChecks {
    /// Those of the version that runs.
    #[schema(value_type = Vec<Finding>)]
    pub findings: Vec<Json>,
    /// Those of the files as they are now, if they do not load.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Vec<Finding>)]
    pub edit: Option<Vec<Json>>,
}

/// The findings in a flow.
#[utoipa::path(get, path = "/api/v1/flows/{flow}/checks", tag = "flows", params(("flow" = String, Path)), responses((status = 200, body = FlowChecks)))]
pub async fn flow_checks(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
    Path(flow): Path<String>,
) -> ApiResult<JsonResponse<FlowChecks>> {
    caller.require_scope(KeyScope::Read)?;
    let offered = state.find_flow(&caller, &flow)?;
    let folder = ServedFolder::from_path(&state.engines.folder);
    let list = move || FlowChecks::from_flow(&offered, &folder);
    Ok(JsonResponse(state.local.blocking_work().perform_work(list).await?))
}

impl FlowChecks {
    /// Those of a flow, with paths as clients may see them.
    pub fn from_flow(offered: &CatalogFlow, folder: &ServedFolder) -> Self {
        let show = |found: &FoundErrors| {
            let mut findings = findings_json(found);
            findings.iter_mut().for_each(|finding| hide_folder(finding, folder));
            findings
        };
        Self { findings: show(offered.flow.load_warnings()), edit: offered.broken_edit.as_ref().map(show) }
    }
}

/// The plan of a flow: inputs, steps, models, the most calls and what they cost.
#[utoipa::path(get, path = "/api/v1/flows/{flow}/plan", tag = "flows", params(("flow" = String, Path)), responses((status = 200, body = FlowPlan)))]
pub async fn flow_plan(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
    Path(flow): Path<String>,
) -> ApiResult<JsonResponse<Json>> {
    caller.require_scope(KeyScope::Read)?;
    let offered = state.find_flow(&caller, &flow)?;
    let plan = move || offered.engine.plan_flow(&offered.flow).to_json();
    Ok(JsonResponse(state.local.blocking_work().perform_work(plan).await?))
}

/// The format of a graph.
#[derive(Debug, Deserialize)]
pub struct GraphQuery {
    format: Option<String>,
}

/// The graph of a flow.
#[utoipa::path(get, path = "/api/v1/flows/{flow}/graph", tag = "flows", params(("flow" = String, Path), ("format" = Option<String>, Query, description = "`svg` (the default), `mermaid`, `dot`, `json`: with positions, as in a trace")), responses((status = 200, content((String = "image/svg+xml"), (String = "text/plain")))))]
pub async fn flow_graph(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
    Path(flow): Path<String>,
    Query(query): Query<GraphQuery>,
) -> ApiResult<Response> {
    caller.require_scope(KeyScope::Read)?;
    let offered = state.find_flow(&caller, &flow)?;
    let wanted = query.format.as_deref().unwrap_or("svg");
    let Some((_, write)) = FORMATS.iter().find(|(name, _)| *name == wanted) else {
        let known: Vec<&str> = FORMATS.iter().map(|(name, _)| *name).collect();
        let problem = Problem::bad_request(format!("there is no format `{wanted}`"));
        return Err(problem.with_help(format!("the formats are `{}`", known.join("`, `"))));
    };
    let is_placed = ["svg", "json"].contains(&wanted);
    let draw = move || {
        let picture = offered.flow.draw_graph();
        if is_placed && let Err(why) = picture.check_size() {
            return Err(Problem::bad_request(format!("the graph has {why}"))
                .with_help("the formats `mermaid` and `dot` have no limit"));
        }
        Ok(write(&picture))
    };
    let text = state.local.blocking_work().perform_work(draw).await??;
    let content_type = match wanted {
        "svg" => "image/svg+xml",
        "json" => "application/json",
        _ => "text/plain; charset=utf-8",
    };
    Ok(([(header::CONTENT_TYPE, content_type)], text).into_response())
}
