//! The prompts that edited files would send, with the data of a run.

use std::collections::BTreeMap;

use axum::Extension;
use axum::extract::{Path, State};
use axum::response::{IntoResponse as _, Response};
use http::{StatusCode, header};
use serde::Deserialize;
use serde_json::Value as Json;
use trefoil_host::reuse::{ReuseRequest, preview_prompts};
use trefoil_host::{AnswersFrom, run_about};
use trefoil_machine::Key;
use trefoil_machine::step_path::RunPath;
use trefoil_store::Record;
use utoipa::ToSchema;

use super::published_schemas::RunTrace;
use super::run_forks::edited_flow;
use super::trace_parts::write_json;
use crate::access::{Caller, KeyScope};
use crate::problem::{ApiResult, Problem};
use crate::request_body::JsonBody;
use crate::state::AppState;

/// The most entries of a run whose prompts are previewed: that is done while somebody types.
const LONGEST_RUN: u64 = 20_000;

/// Which prompts to preview.
#[derive(Debug, Clone, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PromptsBody {
    /// Other texts for some of the files with which the run started, by path.
    #[serde(default)]
    pub files: BTreeMap<String, String>,
    /// Only the prompts of this step.
    #[serde(default)]
    pub step: Option<String>,
}

/// The prompts that edited files would send if each step had the result that it has in the run: a trace of such a run. Nothing is called, and
/// nothing is stored. Of a step that the run did not come to there is only the prompt, and nothing of what comes after it.
#[utoipa::path(post, path = "/api/v1/runs/{run}/prompts", tag = "runs", params(("run" = String, Path)), request_body = PromptsBody,
    responses((status = 200, body = RunTrace), (status = 410, body = Problem, description = "The store has removed the content of the run"), (status = 422, body = Problem, description = "The files are not accepted, or the run is too long")))]
pub async fn run_prompts(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
    Path(run): Path<String>,
    JsonBody(body): JsonBody<PromptsBody>,
) -> ApiResult<Response> {
    caller.require_scope(KeyScope::Read)?;
    if !body.files.is_empty() {
        // The same right as for a run of edited files: loading them reads what they name.
        caller.require_scope(KeyScope::Admin)?;
    }
    let record = state.find_run(&caller, &run).await?;
    if record.entries > LONGEST_RUN {
        let detail = format!("the run has {} entries; prompts of up to {LONGEST_RUN} are previewed", record.entries);
        return Err(Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "RUN_TOO_LONG", detail)
            .with_help("try one step, or ask for a dry run of a fork"));
    }
    let (shared, replayed) = (state.clone(), record.clone());
    state.replay_run(&record, move || async move { preview_trace(&shared, &replayed, body).await }).await
}

async fn preview_trace(state: &AppState, record: &Record, body: PromptsBody) -> ApiResult<Response> {
    let (engine, stored) = state.engines.for_stored_run(&record.run).await?;
    let flow = match body.files.is_empty() {
        true => stored.flow.clone(),
        false => edited_flow(state, &stored, &body.files).await?,
    };
    let request = ReuseRequest { forked: body.files.is_empty(), ..ReuseRequest::for_whole_run(&record.run) };
    let preview = preview_prompts(&engine, state.store().clone(), &flow, &request).await?;
    let about = run_about(flow.loaded_target(), &AnswersFrom::of_stored(&stored.current_start().answers));
    let text = write_json(move || {
        let mut trace = preview.to_json(&about);
        if let Some(step) = &body.step {
            keep_step(&mut trace, step);
        }
        trace
    });
    Ok(([(header::CONTENT_TYPE, "application/json")], text.await?).into_response())
}

/// Removes other steps.
fn keep_step(trace: &mut Json, step: &str) {
    let Some(steps) = trace.get_mut("steps").and_then(Json::as_array_mut) else { return };
    steps.retain(|one| match one.get("key").and_then(Json::as_str) {
        Some(key) => RunPath::from_key(&Key::from(key)).find_named(step).is_some(),
        None => false,
    });
}
