//! New runs made of earlier ones, and the comparison of two runs. The earlier run never changes.

use std::collections::BTreeMap;

use axum::Extension;
use axum::Json as JsonResponse;
use axum::extract::{Path, Query, State};
use axum::response::{IntoResponse as _, Response};
use http::{HeaderMap, StatusCode, header};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use trefoil_host::durable::{StoredRun, compare_runs, diff_json, reason_json};
use trefoil_host::reuse::{EditPreview, ReuseRequest, preview_edit, preview_fork};
use trefoil_project::Flow;
use trefoil_project::bundle::load_edited_program;
use trefoil_template::Value;
use trefoil_view::change_reasons::{ActivityDecision, ReuseDecision};
use trefoil_view::plan::Plan;
use utoipa::{IntoParams, ToSchema};

use super::published_schemas::{FlowPlanCost, RunComparison, RunComparisonReason};
use super::run_start::idempotency_key;
use super::types::RunSummary;
use crate::access::{Caller, KeyScope};
use crate::problem::{ApiResult, Problem};
use crate::request_body::JsonBody;
use crate::start::{LabelledStart, RunLimitsRequest, StartDecision};
use crate::state::AppState;

/// A new run that reuses the results of an earlier one.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ForkBody {
    /// Repeat this step, with everything that started after it.
    #[serde(default)]
    pub from: Option<String>,
    /// With `from`: run only this step, on the results that the earlier run has, and end there. For trying a prompt.
    #[serde(default)]
    pub only: bool,
    /// Allow the tools and commands of these steps to run again even if that may not be safe; `*`: of all steps.
    #[serde(default)]
    pub rerun: Vec<String>,
    /// Other texts for some of the files with which the earlier run started, by path. Only what they change runs again.
    #[serde(default)]
    pub files: BTreeMap<String, String>,
    /// Another input.
    #[serde(default)]
    #[schema(value_type = Option<Value>)]
    pub input: Option<Json>,
    /// Only say what would be kept and what would run again. Nothing is called.
    #[serde(default)]
    pub dry_run: bool,
    /// Labels of the new run.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    /// The most model calls of the new run.
    #[serde(default)]
    pub max_calls: Option<u64>,
    /// The most that the new run may cost, in US dollars.
    #[serde(default)]
    pub max_cost: Option<f64>,
}

/// What a fork would do.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct ForkPreview {
    /// How many results would be kept.
    pub kept: usize,
    /// The steps, in order, as far as the run comes before its first call.
    pub steps: Vec<StepPreview>,
    /// Steps of the earlier run of which the decision depends on calls that come first.
    pub later: Vec<StepPreview>,
    /// Results of the earlier run that would not be used.
    pub unused: Vec<StepPreview>,
    /// Why the run would fail there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Whether nothing would be called.
    pub up_to_date: bool,
    /// What a whole run of the flow costs at most, which what runs again does not exceed: as in the plan.
    #[schema(value_type = Option<FlowPlanCost>)]
    pub cost: Json,
}

/// What would become of a step.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct StepPreview {
    /// Its key.
    pub key: String,
    /// `kept`, `new`, `again`, `stopped`, `unused`, `later`.
    pub decision: String,
    /// Why it would run again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<RunComparisonReason>)]
    pub reasons: Vec<Json>,
}

fn step_preview(decision: &ActivityDecision) -> StepPreview {
    let word = match &decision.fate {
        ReuseDecision::Kept { .. } => "kept",
        ReuseDecision::New => "new",
        ReuseDecision::Again => "again",
        ReuseDecision::Stopped => "stopped",
        ReuseDecision::Unused => "unused",
        ReuseDecision::Later => "later",
    };
    let reasons = decision.reasons.iter().map(reason_json).collect();
    StepPreview { key: decision.key.to_string(), decision: word.to_owned(), reasons }
}

fn fork_preview(preview: &EditPreview, plan: &Plan) -> ForkPreview {
    let previews = |all: &[ActivityDecision]| all.iter().map(step_preview).collect();
    let mut plan = plan.to_json();
    ForkPreview {
        kept: preview.lines.iter().filter(|line| line.fate.is_kept()).count(),
        steps: previews(&preview.lines),
        later: previews(&preview.later),
        unused: previews(&preview.unused),
        error: preview.error.as_ref().map(ToString::to_string),
        up_to_date: preview.is_up_to_date(),
        cost: plan.get_mut("cost").map(Json::take).unwrap_or_default(),
    }
}

/// Starts a new run from an earlier one: from a step, with edited files, or with another input. Completed steps that nothing
/// changes are kept. With `dry_run`, only says so.
#[utoipa::path(post, path = "/api/v1/runs/{run}/fork", tag = "runs", request_body = ForkBody,
    params(("run" = String, Path), ("Idempotency-Key" = Option<String>, Header, description = "The same key and body again: the same run, paid once")),
    responses((status = 201, description = "The new run has started", body = RunSummary), (status = 200, description = "What it would do", body = ForkPreview), (status = 409, body = Problem, description = "It does not fit how things stand"), (status = 410, body = Problem, description = "The store has removed the content of the run"), (status = 422, body = Problem, description = "It cannot run, or is not accepted")))]
pub async fn fork_run(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
    Path(run): Path<String>,
    headers: HeaderMap,
    JsonBody(body): JsonBody<ForkBody>,
) -> ApiResult<Response> {
    caller.require_scope(KeyScope::Run)?;
    if !body.files.is_empty() {
        // A manifest can ask for whatever the operator allows to those of the project.
        caller.require_scope(KeyScope::Admin)?;
    }
    let record = state.find_startable_run(&caller, &run).await?;
    let start = LabelledStart {
        labels: body.labels,
        limits: RunLimitsRequest { calls: body.max_calls, cost_usd: body.max_cost },
        idempotency_key: idempotency_key(&headers)?,
        asked: serde_json::json!([run, body.from, body.only, body.rerun, body.files, body.input]),
    };
    if body.only && body.from.is_none() {
        let problem = Problem::bad_request("`only` needs the step that is to run");
        return Err(problem.with_help("name it in `from`"));
    }
    let request = ReuseRequest {
        only: if body.only { body.from.clone() } else { None },
        from: body.from,
        rerun: body.rerun,
        input: body.input.map(Value::from_json),
        ..ReuseRequest::for_whole_run(&record.run)
    };
    let (engine, stored) = state.engines.for_stored_run(&record.run).await?;
    let edited = if body.files.is_empty() { None } else { Some(edited_flow(&state, &stored, &body.files).await?) };
    if body.dry_run {
        let store = state.store().clone();
        let preview = match &edited {
            Some(flow) => preview_edit(&engine, store, flow, &request).await?,
            None => preview_fork(&engine, store, &request).await?,
        };
        let preview =
            fork_preview(&preview, &engine.as_begun(&stored).plan_flow(edited.as_ref().unwrap_or(&stored.flow)));
        return Ok(JsonResponse(preview).into_response());
    }
    let prepared = match start.prepare_start(&state, &caller, &record.flow).await? {
        StartDecision::New(prepared) => prepared,
        StartDecision::Known(known) => return created(&state, &known.run).await,
    };
    let engine = prepared.limit_engine(engine);
    let mut new = match &edited {
        Some(flow) => engine.edit_run(flow, &request).await?,
        None => engine.fork_run(&request).await?,
    };
    new.ready = prepared.apply_to(new.ready);
    let started = state.local.start_edited(new).await;
    let started = prepared.resolve_start(&state, started).await?;
    created(&state, &started.run).await
}

async fn created(state: &AppState, run: &str) -> ApiResult<Response> {
    let record = state.runs.record(run).await?;
    let location = [(header::LOCATION, format!("/api/v1/runs/{run}"))];
    Ok((StatusCode::CREATED, location, JsonResponse(RunSummary::from(&record))).into_response())
}

/// The flow of a run with other texts of its files.
pub async fn edited_flow(state: &AppState, stored: &StoredRun, files: &BTreeMap<String, String>) -> ApiResult<Flow> {
    let started = &stored.started;
    let loaded = load_edited_program(&**state.store(), &started.run, &started.program, files).await?;
    let (flow, name) = (Flow::from(loaded), &started.program.flow);
    // What a flow may do, and how much of it, is set by its name.
    if flow.name() != name {
        let why = format!("the edited files are those of the flow `{}`, and the run is one of `{name}`", flow.name());
        return Err(Problem::bad_request(why).with_help("keep the name of the flow, or start a run of the other one"));
    }
    Ok(flow)
}

/// With which run to compare.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct DiffQuery {
    /// The other run.
    pub with: String,
}

/// Compares a run with another one: steps by key, prompts and answers word by word, tokens, cost and time.
#[utoipa::path(get, path = "/api/v1/runs/{run}/diff", tag = "runs", params(("run" = String, Path), DiffQuery), responses((status = 200, body = RunComparison), (status = 410, body = Problem, description = "The store has removed the content of the run")))]
pub async fn diff_runs(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
    Path(run): Path<String>,
    Query(query): Query<DiffQuery>,
) -> ApiResult<JsonResponse<Json>> {
    caller.require_scope(KeyScope::Read)?;
    let a = state.find_run(&caller, &run).await?;
    let b = state.find_run(&caller, &query.with).await?;
    let longer = if a.entries >= b.entries { a.clone() } else { b.clone() };
    let store = state.store().clone();
    let compare = move || async move { Ok(diff_json(&compare_runs(store, &a.run, &b.run).await?)) };
    Ok(JsonResponse(state.replay_run(&longer, compare).await?))
}
