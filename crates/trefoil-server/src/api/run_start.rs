//! Starts runs: and waits for them, or not, or streams their events.

use std::collections::BTreeMap;
use std::time::Duration;

use axum::Extension;
use axum::Json as JsonResponse;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use http::{HeaderMap, StatusCode, header};
use serde::Deserialize;
use serde_json::Value as Json;
use trefoil_host::service::StartedRun;
use utoipa::ToSchema;

use super::event_stream::stream_run;
use super::run_list::run_detail;
use super::types::{RunDetail, RunSummary};
use crate::access::{Caller, KeyScope};
use crate::problem::{ApiResult, Problem};
use crate::request_body::JsonBody;
use crate::sse::wants_stream;
use crate::start::{LabelledStart, RunLimitsRequest, StartRequest, begin_run, wait_for_run};
use crate::state::AppState;

/// The longest time that a request waits for its run, in seconds.
const LONGEST_WAIT: u64 = 3_600;

/// A run to start.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct StartRunBody {
    /// The flow.
    pub flow: String,
    /// Its input: any JSON; absent: none.
    #[serde(default)]
    #[schema(value_type = Value)]
    pub input: Json,
    /// Labels of the run.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    /// How many seconds the answer may wait for the run to end, or to ask something; absent or 0: not at all.
    #[serde(default)]
    pub wait_seconds: u64,
    /// The most model calls of the run.
    #[serde(default)]
    pub max_calls: Option<u64>,
    /// The most that the run may cost, in US dollars.
    #[serde(default)]
    pub max_cost: Option<f64>,
}

/// Starts a run. With `Accept: text/event-stream`, its events follow at once. With an `Idempotency-Key`, the same request again
/// gets the same run.
#[utoipa::path(post, path = "/api/v1/runs", tag = "runs", request_body = StartRunBody,
    params(("Idempotency-Key" = Option<String>, Header, description = "The same key and body again: the same run, paid once")),
    responses((status = 201, description = "It has started, now or by the same request before", body = RunSummary),
        (status = 200, description = "It has ended, or waits for a person, within `wait_seconds`; or the stream of its events",
            content((RunDetail = "application/json"), (String = "text/event-stream"))), (status = 404, body = Problem, description = "There is nothing with this name for the caller"), (status = 409, body = Problem, description = "It does not fit how things stand"), (status = 422, body = Problem, description = "It cannot run, or is not accepted")))]
pub async fn start_run(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
    headers: HeaderMap,
    JsonBody(body): JsonBody<StartRunBody>,
) -> ApiResult<Response> {
    caller.require_scope(KeyScope::Run)?;
    let offered = state.find_flow(&caller, &body.flow)?;
    let wait = body.wait_seconds.min(LONGEST_WAIT);
    let request = StartRequest {
        flow: offered,
        input: body.input,
        start: LabelledStart {
            labels: body.labels,
            limits: RunLimitsRequest { calls: body.max_calls, cost_usd: body.max_cost },
            idempotency_key: idempotency_key(&headers)?,
            asked: Json::Null,
        },
    };
    let StartedRun { run, outcome } = begin_run(&state, &caller, request).await?;
    if wants_stream(&headers) {
        return stream_run(&state, &caller, &run, None).await;
    }
    let location = [(header::LOCATION, format!("/api/v1/runs/{run}"))];
    if wait > 0 && wait_for_run(&state, &run, outcome, Duration::from_secs(wait)).await? {
        let record = state.runs.record(&run).await?;
        let detail = run_detail(&state, record).await?;
        return Ok((StatusCode::OK, location, JsonResponse(detail)).into_response());
    }
    let record = state.runs.record(&run).await?;
    Ok((StatusCode::CREATED, location, JsonResponse(RunSummary::from(&record))).into_response())
}

/// Whether a client may send its request again.
pub fn has_idempotency_key(headers: &HeaderMap) -> bool {
    headers.contains_key("idempotency-key")
}

/// The key by which a request is recognized when it is sent again.
pub fn idempotency_key(headers: &HeaderMap) -> ApiResult<Option<String>> {
    let Some(key) = headers.get("idempotency-key") else { return Ok(None) };
    match key.to_str() {
        Ok(key) if !key.is_empty() && key.len() <= 255 => Ok(Some(key.to_owned())),
        _ => Err(Problem::bad_request("`Idempotency-Key` has 1 to 255 visible characters")),
    }
}
