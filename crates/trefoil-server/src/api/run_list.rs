//! Lists of runs, and single runs: how they stand, what they wait for, what came of them.

use axum::Extension;
use axum::Json as JsonResponse;
use axum::extract::{Path, State};
use serde::{Deserialize, Serialize};
use serde_json::Map;
use trefoil_host::durable::{read_outcome, with_called_usage};
use trefoil_host::stored_runs::{parse_moment, waiting_steps};
use trefoil_store::{Content, Record, RunCursor, RunFilter, Status};
use trefoil_view::run_view::OpenWait;
use utoipa::{IntoParams, ToSchema};

use super::types::{RunDetail, RunSummary};
use super::url_query::{LabelParam, LabelledQuery};
use crate::access::{Caller, KeyScope};
use crate::problem::{ApiResult, Problem};
use crate::state::{AppState, KEY_LABEL};

/// The most runs in one page.
const MOST: usize = 1_000;

/// Which runs to list.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct RunListQuery {
    /// Only runs with one of these statuses, separated by commas; `error` is `failed`.
    pub status: Option<String>,
    /// Only runs of this flow.
    pub flow: Option<String>,
    /// Only runs that started at this time or later (RFC 3339).
    pub since: Option<String>,
    /// Only runs that started before this time (RFC 3339).
    pub until: Option<String>,
    /// Only runs with this text in their id, flow, error or labels.
    pub text: Option<String>,
    /// Only runs that this run has called.
    pub parent: Option<String>,
    /// The most runs (default 50, at most 1,000).
    pub limit: Option<usize>,
    /// Where an earlier page ended.
    pub after: Option<String>,
}

/// A page of runs, newest first.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct RunList {
    /// The runs.
    pub runs: Vec<RunSummary>,
    /// What `after` of the next page is; absent on the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// The statuses in a list.
fn parse_statuses(text: &str) -> ApiResult<Vec<Status>> {
    let mut all = Vec::new();
    for name in text.split(',') {
        all.push(name.trim().parse().map_err(|why: String| Problem::bad_request(why))?);
    }
    Ok(all)
}

/// A time of a query.
pub fn parse_time(name: &str, text: &str) -> ApiResult<u64> {
    let refused =
        || Problem::bad_request(format!("`{name}` is no time: `{text}`")).with_help("write it as 2026-11-01T09:05:00Z");
    parse_moment(text).ok_or_else(refused)
}

impl RunListQuery {
    fn to_filter(&self, caller: &Caller, labels: Vec<(String, String)>) -> ApiResult<RunFilter> {
        let mut filter = RunFilter { flow: self.flow.clone(), text: self.text.clone(), ..RunFilter::default() };
        filter.parent.clone_from(&self.parent);
        if let Some(status) = &self.status {
            filter.status = parse_statuses(status)?;
        }
        if let Some(since) = &self.since {
            filter.since = Some(parse_time("since", since)?);
        }
        if let Some(until) = &self.until {
            filter.until = Some(parse_time("until", until)?);
        }
        filter.labels = labels;
        limit_to_caller(&mut filter, caller);
        Ok(filter)
    }
}

/// Only runs that the caller has started, unless it may see those of others.
pub fn limit_to_caller(filter: &mut RunFilter, caller: &Caller) {
    if let (false, Some(key)) = (caller.sees_all_runs(), &caller.key) {
        filter.labels.push((KEY_LABEL.to_owned(), key.to_string()));
    }
}

/// Lists runs that the caller may see, newest first.
#[utoipa::path(get, path = "/api/v1/runs", tag = "runs", params(RunListQuery, LabelParam), responses((status = 200, body = RunList)))]
pub async fn list_runs(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
    LabelledQuery { query, labels }: LabelledQuery<RunListQuery>,
) -> ApiResult<JsonResponse<RunList>> {
    caller.require_scope(KeyScope::Read)?;
    let filter = query.to_filter(&caller, labels)?;
    let after = query.after.as_deref().map(RunCursor::parse).transpose()?;
    let limit = query.limit.unwrap_or(50).clamp(1, MOST);
    let page = state.store().list_runs(&filter, after, limit).await?;
    let mut runs = Vec::new();
    for record in page.runs {
        if caller.may_use_flow(&record.flow) {
            let record = with_called_usage(&**state.store(), record).await?;
            runs.push(RunSummary::from(&record));
        }
    }
    Ok(JsonResponse(RunList { runs, next: page.next.map(|cursor| cursor.to_string()) }))
}

/// A run with what it waits for and what came of it.
pub async fn run_detail(state: &AppState, record: Record) -> ApiResult<RunDetail> {
    let mut wait = Map::new();
    if !record.status.is_end() && record.status != Status::Pending {
        let waiting = waiting_steps(state.store(), &record).await.map_err(trefoil_project::Error::from)?;
        let stopped = trefoil_host::durable::suspension_reason(&**state.store(), &record).await?;
        OpenWait { waiting, stopped }.add_to(&mut wait);
    }
    let mut summary = RunSummary::from(&record);
    if !record.status.is_end() && wait.is_empty() {
        summary.wake_at = None;
    }
    let mut result = None;
    if record.status == Status::Completed && record.content != Content::Removed {
        let outcome = read_outcome(&**state.store(), record).await?;
        result = outcome.result.ok().map(|output| output.to_json());
    }
    Ok(RunDetail { summary, result, wait })
}

/// Shows a run.
#[utoipa::path(get, path = "/api/v1/runs/{run}", tag = "runs", params(("run" = String, Path)), responses((status = 200, body = RunDetail), (status = 410, body = Problem, description = "The store has removed the content of the run")))]
pub async fn show_run(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
    Path(run): Path<String>,
) -> ApiResult<JsonResponse<RunDetail>> {
    caller.require_scope(KeyScope::Read)?;
    let record = state.find_run(&caller, &run).await?;
    Ok(JsonResponse(run_detail(&state, record).await?))
}
