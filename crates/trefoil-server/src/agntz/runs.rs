//! Runs: at once, started, read, cancelled.

use std::sync::{Arc, Mutex};

use axum::Extension;
use axum::Json as JsonResponse;
use axum::extract::{Path, State};
use axum::response::{IntoResponse as _, Response};
use http::{HeaderMap, StatusCode, header};
use serde_json::Value as Json;
use trefoil_host::durable::StoredRun;
use trefoil_host::service::StartedRun;
use trefoil_host::stored_runs::send_run_events;
use trefoil_machine::EntryKind;
use trefoil_project::Error;
use trefoil_runtime::locks::lock;
use trefoil_runtime::{Event, EventSink};
use trefoil_store::{Record, Status};

use super::attached_run::{CancelOnLeave, check_outcome, follow_run};
use super::errors::{AgntzFailure, AgntzResult};
use super::run_fold::RunFold;
use super::run_request::{AcceptedRun, RunBody, RunUse};
use super::run_shapes::{RunLineage, part_json, run_json, run_result};
use crate::access::{Caller, KeyScope};
use crate::api::{end_run, has_idempotency_key, idempotency_key};
use crate::problem::Problem;
use crate::request_body::JsonBody;
use crate::start::{LabelledStart, StartRequest, begin_run};
use crate::state::AppState;

/// A run, or an agent inside it.
pub struct FoundRun {
    /// The record of the run.
    pub record: Record,
    /// Where it is below those that have called it.
    pub lineage: RunLineage,
    /// The fold, and the number of the agent that was asked for. `None`: the run itself.
    pub part: Option<(RunFold, usize)>,
}

/// Runs an agent and waits for its result. A client that leaves cancels it.
pub async fn run_agent(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
    headers: HeaderMap,
    JsonBody(body): JsonBody<RunBody>,
) -> AgntzResult<Response> {
    let accepted = body.accept_request(&state, &caller, RunUse::Attached)?;
    let version = accepted.version.clone();
    let StartedRun { run, .. } = start_accepted(&state, &caller, accepted, &headers).await?;
    let mut guard = CancelOnLeave::new(&state, &run, has_idempotency_key(&headers));
    let mut reader = state.local.run_feeds().watch_run(&run, None).await?;
    let mut fold = RunFold::new(&run, reader.flow());
    let followed = follow_run(&state, &mut reader, &mut fold).await;
    guard.keep_running();
    followed?;
    check_outcome(&reader, &fold)?;
    Ok(JsonResponse(run_result(&fold, version.as_deref())).into_response())
}

/// Starts an agent.
pub async fn start_agent(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
    headers: HeaderMap,
    JsonBody(body): JsonBody<RunBody>,
) -> AgntzResult<Response> {
    let accepted = body.accept_request(&state, &caller, RunUse::Detached)?;
    let input = accepted.input.clone();
    let StartedRun { run, .. } = start_accepted(&state, &caller, accepted, &headers).await?;
    // As it was when it started: it may have ended since.
    let mut record = state.runs.record(&run).await?;
    (record.status, record.ended, record.error) = (Status::Running, None, None);
    let lineage = RunLineage { root: run.clone(), depth: 0 };
    let input = if input.is_null() { None } else { Some(&input) };
    let location = [(header::LOCATION, format!("/runs/{run}"))];
    let body = JsonResponse(run_json(&record, &lineage, input, None));
    Ok((StatusCode::CREATED, location, body).into_response())
}

/// Starts a run for a request that was found to be right.
pub async fn start_accepted(
    state: &AppState,
    caller: &Caller,
    accepted: AcceptedRun,
    headers: &HeaderMap,
) -> AgntzResult<StartedRun> {
    let start = LabelledStart { idempotency_key: idempotency_key(headers)?, ..LabelledStart::default() };
    let request = StartRequest { flow: accepted.flow, input: accepted.input, start };
    Ok(begin_run(state, caller, request).await?)
}

/// Shows a run.
pub async fn show_run(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
) -> AgntzResult<JsonResponse<Json>> {
    caller.require_scope(KeyScope::Read)?;
    let found = find_any_run(&state, &caller, &id).await?;
    Ok(JsonResponse(found_json(&state, &found).await?))
}

/// Cancels a run. One that has ended stays as it is.
pub async fn cancel_run(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
) -> AgntzResult<JsonResponse<Json>> {
    caller.require_scope(KeyScope::Run)?;
    let mut found = find_any_run(&state, &caller, &id).await?;
    if found.part.is_some() && !found.record.status.is_end() {
        let run = &found.record.run;
        let problem = Problem::new_conflict("PART_OF_RUN", format!("it is a part of the run {run}, and ends with it"));
        return Err(problem.with_help(format!("cancel the run {run}")).into());
    }
    end_run(&state, &found.record.run, found.record.status.is_end()).await?;
    found.record = state.runs.record(&found.record.run).await?;
    Ok(JsonResponse(found_json(&state, &found).await?))
}

/// The run, or the agent inside a run, with this id.
///
/// # Errors
///
/// 404, also if the caller may not see it.
pub async fn find_any_run(state: &AppState, caller: &Caller, id: &str) -> AgntzResult<FoundRun> {
    let unknown = match state.find_run(caller, id).await {
        Ok(record) => {
            let lineage = find_lineage(state, &record).await;
            return Ok(FoundRun { record, lineage, part: None });
        }
        Err(problem) if problem.status_code() == StatusCode::NOT_FOUND => {
            AgntzFailure::new(StatusCode::NOT_FOUND, "RUN_NOT_FOUND", "Run not found")
        }
        Err(problem) => return Err(problem.into()),
    };
    let Some((root, _)) = id.rsplit_once('-') else { return Err(unknown) };
    let Ok(record) = state.find_run(caller, root).await else { return Err(unknown) };
    let Some(fold) = read_fold(state, &record).await? else { return Err(unknown) };
    let Some(index) = fold.find_part(id) else { return Err(unknown) };
    let lineage = find_lineage(state, &record).await;
    Ok(FoundRun { record, lineage, part: Some((fold, index)) })
}

/// Where a run is below those that have called it, as far as they still exist.
pub async fn find_lineage(state: &AppState, record: &Record) -> RunLineage {
    let mut lineage = RunLineage { root: record.run.clone(), depth: 0 };
    let mut parent = record.parent.clone();
    while let Some(run) = parent {
        let Ok(above) = state.store().record(&run).await else { break };
        lineage = RunLineage { root: above.run, depth: lineage.depth + 1 };
        parent = above.parent;
    }
    lineage
}

/// A run as it stands.
pub async fn found_json(state: &AppState, found: &FoundRun) -> AgntzResult<Json> {
    if let Some((fold, index)) = &found.part {
        return Ok(part_json(&found.record, &found.lineage, fold, *index));
    }
    let record = &found.record;
    // Only a result needs the whole journal.
    if record.status == Status::Completed
        && let Some(fold) = read_fold(state, record).await?
    {
        return Ok(run_json(record, &found.lineage, fold.input.as_ref(), Some(&fold)));
    }
    let input = read_input(state, record).await?;
    Ok(run_json(record, &found.lineage, input.as_ref(), None))
}

/// The input of a run, if it is kept.
pub async fn read_input(state: &AppState, record: &Record) -> AgntzResult<Option<Json>> {
    if !record.content.keeps_prompts() {
        return Ok(None);
    }
    let entries = state.store().read_entries(&record.run, 0).await?;
    let Some(EntryKind::Started(started)) = entries.into_iter().next().map(|entry| entry.kind) else { return Ok(None) };
    Ok(started.input.map(|input| input.visible_value().to_json()))
}

/// What the events of a run so far add up to; `None`: they are not kept.
pub async fn read_fold(state: &AppState, record: &Record) -> AgntzResult<Option<RunFold>> {
    struct FoldSink(Mutex<RunFold>);
    impl EventSink for FoldSink {
        fn receive_event(&self, event: &Event) {
            lock(&self.0).apply_event(event);
        }
    }
    if !record.content.keeps_prompts() {
        return Ok(None);
    }
    let (store, run) = (state.store().clone(), record.run.clone());
    let read = move || async move {
        let stored = StoredRun::read_run(&*store, &run).await?;
        let sink = Arc::new(FoldSink(Mutex::new(RunFold::new(&run, &stored.flow))));
        send_run_events(&store, &stored, sink.clone()).await.map_err(Error::from)?;
        let sink = Arc::into_inner(sink);
        Ok(sink.map(|FoldSink(fold)| fold.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner)))
    };
    Ok(state.replay_run(record, read).await?)
}
