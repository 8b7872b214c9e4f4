//! Many runs: those of one flow with its versions, and what the steps of all flows cost.

use axum::Extension;
use axum::Json as JsonResponse;
use axum::extract::{Path, Query, State};
use serde::{Deserialize, Serialize};
use trefoil_host::flow_history::{HistoryLimits, RecentRuns, list_versions, read_history};
use trefoil_store::{Record, RunFilter};
use utoipa::{IntoParams, ToSchema};

use super::history_types::{
    FlowCost, FlowVersionSummary, HistoryReading, HistoryRun, StepCost, StepPromptHistory, flow_costs, step_costs,
};
use super::run_list::{limit_to_caller, parse_time};
use crate::access::{Caller, KeyScope};
use crate::problem::ApiResult;
use crate::state::AppState;

/// Which runs count.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct HistoryQuery {
    /// Only runs that started at this time or later (RFC 3339).
    pub since: Option<String>,
}

/// A flow over many runs.
#[derive(Debug, Serialize, ToSchema)]
pub struct FlowHistory {
    /// The flow.
    pub flow: String,
    /// Its runs, newest first.
    pub runs: Vec<HistoryRun>,
    /// The versions of the flow that they had, newest first.
    pub versions: Vec<FlowVersionSummary>,
    /// The versions of its prompts.
    pub prompts: Vec<StepPromptHistory>,
    /// What its steps cost, the most expensive first.
    pub steps: Vec<StepCost>,
    /// How much was read for these numbers.
    pub read: HistoryReading,
}

/// What runs cost.
#[derive(Debug, Serialize, ToSchema)]
pub struct CostReport {
    /// By flow, the most expensive first.
    pub flows: Vec<FlowCost>,
    /// By step, the most expensive first.
    pub steps: Vec<StepCost>,
    /// How much was read for these numbers.
    pub read: HistoryReading,
}

/// Reads runs that the caller may see, as a list of runs has them.
async fn read_visible(
    state: &AppState,
    caller: &Caller,
    flow: Option<&str>,
    query: &HistoryQuery,
) -> ApiResult<RecentRuns> {
    let since = query.since.as_deref().map(|since| parse_time("since", since)).transpose()?;
    let mut filter = RunFilter { flow: flow.map(str::to_owned), since, ..RunFilter::default() };
    limit_to_caller(&mut filter, caller);
    let (store, caller, of_one_flow) = (state.store().clone(), caller.clone(), flow.is_some());
    let work = move || async move {
        let accepts = |record: &Record| caller.may_use_flow(&record.flow);
        read_history(&*store, &filter, &accepts, HistoryLimits::default(), of_one_flow).await
    };
    Ok(state.local.blocking_work().perform_reading(work).await??)
}

/// Shows a flow over many runs: cost, duration and failures of the newest runs, by version of the flow, and which version of which prompt
/// ran when. Journals are read up to a limit; `read` says how many.
#[utoipa::path(get, path = "/api/v1/flows/{flow}/history", tag = "flows", params(("flow" = String, Path), HistoryQuery), responses((status = 200, body = FlowHistory)))]
pub async fn flow_history(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
    Path(flow): Path<String>,
    Query(query): Query<HistoryQuery>,
) -> ApiResult<JsonResponse<FlowHistory>> {
    caller.require_scope(KeyScope::Read)?;
    if !caller.may_use_flow(&flow) {
        state.find_flow(&caller, &flow)?;
    }
    let history = read_visible(&state, &caller, Some(&flow), &query).await?;
    if history.records.is_empty() {
        // A flow that is not served any more has its history as long as it has runs.
        state.find_flow(&caller, &flow)?;
    }
    Ok(JsonResponse(FlowHistory {
        runs: history.records.iter().map(HistoryRun::from).collect(),
        versions: list_versions(&history.records).iter().map(FlowVersionSummary::from).collect(),
        prompts: history.prompts.iter().map(StepPromptHistory::from).collect(),
        steps: step_costs(&history),
        read: (&history).into(),
        flow,
    }))
}

/// What the runs that the caller may see have cost, by flow and by step. Journals are read up to a limit; `read` says how many.
#[utoipa::path(get, path = "/api/v1/costs", tag = "runs", params(HistoryQuery), responses((status = 200, body = CostReport)))]
pub async fn list_costs(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
    Query(query): Query<HistoryQuery>,
) -> ApiResult<JsonResponse<CostReport>> {
    caller.require_scope(KeyScope::Read)?;
    let history = read_visible(&state, &caller, None, &query).await?;
    let flows = flow_costs(&history.records);
    Ok(JsonResponse(CostReport { flows, steps: step_costs(&history), read: (&history).into() }))
}
