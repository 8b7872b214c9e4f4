//! What can be done with a run: answer, cancel, resume, delete.

use std::sync::atomic::Ordering;

use axum::Extension;
use axum::Json as JsonResponse;
use axum::extract::{Path, State};
use axum::response::{IntoResponse as _, Response};
use http::{HeaderMap, StatusCode};
use serde::{Deserialize, Serialize};
use serde_json::json;
use trefoil_host::service::ResumePermission;
use trefoil_host::stored_runs::{DeletionRefusal, earlier_answer, plan_deletion, post_answer, waiting_steps};
use trefoil_host::{AnswerRefusal, RunCancellation};
use trefoil_machine::RunLimits;
use trefoil_machine::event::{AwaitedActivity, QuestionClosure};
use trefoil_machine::step_path::{RunPath, find_steps};
use trefoil_project::Error;
use trefoil_store::{Record, Status};
use utoipa::ToSchema;

use super::keyed_request::KeyedRequest;
use super::types::RunSummary;
use crate::access::{Caller, KeyScope, StartAllowance};
use crate::problem::{ApiResult, Problem};
use crate::request_body::JsonBody;
use crate::start::{RunLimitsRequest, run_limits};
use crate::state::AppState;

/// An answer to a question, or a decision about a step whose outcome is unknown.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AnswerBody {
    /// The step that asks: its name, or its key if the name is not unique.
    pub step: String,
    /// The answer; for a step whose outcome is unknown: `retry`, `fail` or `done`.
    pub value: String,
    /// With `done`: the result of the step, as JSON or text.
    #[serde(default)]
    pub result: Option<String>,
}

/// Answers a question of a run. The first answer counts: a second one gets 409.
#[utoipa::path(post, path = "/api/v1/runs/{run}/answers", tag = "runs", params(("run" = String, Path),
    ("Idempotency-Key" = Option<String>, Header, description = "The same key and body again: the same answer, given once")), request_body = AnswerBody,
    responses((status = 202, description = "The answer is stored, and the run goes on with it", body = RunSummary), (status = 409, body = Problem, description = "It does not fit how things stand"), (status = 410, body = Problem, description = "The store has removed the content of the run"), (status = 422, body = Problem, description = "It cannot run, or is not accepted")))]
pub async fn answer_question(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
    Path(run): Path<String>,
    headers: HeaderMap,
    JsonBody(body): JsonBody<AnswerBody>,
) -> ApiResult<Response> {
    caller.require_scope(KeyScope::Answer)?;
    let record = state.find_run(&caller, &run).await?;
    let asked = json!(["answer", record.run, body.step, body.value, body.result]);
    let mut request = KeyedRequest::read_request(&state, &caller, &headers, &asked).await?;
    if let Err(problem) = give_answer(&state, &caller, &record, &body, &mut request).await {
        let was_given = match &request {
            Some(request) => request.was_answered(&state).await?,
            None => false,
        };
        if !was_given {
            return Err(problem);
        }
    }
    let record = state.runs.record(&record.run).await?;
    Ok((StatusCode::ACCEPTED, JsonResponse(RunSummary::from(&record))).into_response())
}

async fn give_answer(
    state: &AppState,
    caller: &Caller,
    record: &Record,
    body: &AnswerBody,
    request: &mut Option<KeyedRequest>,
) -> ApiResult<()> {
    if record.status.is_end() {
        return Err(Problem::new_conflict("RUN_ENDED", format!("the run has ended: {}", record.status)));
    }
    let waiting = waiting_steps(state.store(), record).await.map_err(Error::from)?;
    let question = match find_question(&waiting, &body.step) {
        Ok(question) => question,
        Err(problem) => return Err(explain_unasked(state, record, &body.step, problem).await?),
    };
    let mut sender = caller.answer_sender("api");
    if let Some(request) = request {
        request.note_request(state, question.run.as_deref().unwrap_or(&record.run)).await?;
        sender = request.mark_sender(&sender);
    }
    post_answer(state.store(), &record.run, question, &body.value, body.result.as_deref(), Some(sender)).await?;
    state.metrics.answers_given.fetch_add(1, Ordering::Relaxed);
    Ok(())
}

/// Why a question is not open: if somebody was faster and the run has gone on, who that was.
async fn explain_unasked(state: &AppState, record: &Record, step: &str, problem: Problem) -> ApiResult<Problem> {
    if problem.code != "NOT_ASKED" {
        return Ok(problem);
    }
    let earlier = earlier_answer(state.store(), &record.run, step).await.map_err(Error::from)?;
    Ok(match earlier {
        // What it waits for now, if it waits.
        Some(given) => {
            let answered = Problem::from(AnswerRefusal::Settled(Some(QuestionClosure::Answered(given))));
            Problem { help: problem.help, ..answered }
        }
        None => problem,
    })
}

/// The question of a step.
pub fn find_question<'w>(waiting: &'w [AwaitedActivity], step: &str) -> ApiResult<&'w AwaitedActivity> {
    let paths: Vec<String> = waiting.iter().map(AwaitedActivity::step_path).collect();
    let mut named = Vec::new();
    for (index, path) in paths.iter().enumerate() {
        named.push((RunPath::from_text(path), index));
    }
    let found = find_steps(step, named);
    match found.as_slice() {
        [index] => waiting.get(*index).ok_or_else(|| Problem::new_conflict("NOT_ASKED", "the run does not ask it")),
        [] => {
            let problem = Problem::new_conflict("NOT_ASKED", format!("the run is not waiting for `{step}`"));
            match paths.is_empty() {
                true => Err(problem),
                false => Err(problem.with_help(format!("it is waiting for `{}`", paths.join("`, `")))),
            }
        }
        _ => {
            let problem = Problem::new_conflict("STEP_NOT_UNIQUE", format!("several steps are named `{step}`"));
            Err(problem.with_help(format!("name one of `{}`", paths.join("`, `"))))
        }
    }
}

/// What came of a cancellation.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct CancelResult {
    /// The run, as it is now.
    #[serde(flatten)]
    pub summary: RunSummary,
    /// Whether it has ended. Otherwise the process that drives it was asked to end it.
    pub has_ended: bool,
}

/// Cancels a run, whichever process drives it. A run that has ended stays as it is.
#[utoipa::path(post, path = "/api/v1/runs/{run}/cancel", tag = "runs", params(("run" = String, Path)),
    responses((status = 200, body = CancelResult), (status = 202, description = "Its process was asked", body = CancelResult), (status = 409, body = Problem, description = "It does not fit how things stand")))]
pub async fn cancel_run(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
    Path(run): Path<String>,
) -> ApiResult<Response> {
    caller.require_scope(KeyScope::Run)?;
    let record = state.find_run(&caller, &run).await?;
    let ended = end_run(&state, &record.run, record.status.is_end()).await?;
    let record = state.runs.record(&record.run).await?;
    let status = if ended { StatusCode::OK } else { StatusCode::ACCEPTED };
    Ok((status, JsonResponse(CancelResult { summary: RunSummary::from(&record), has_ended: ended })).into_response())
}

/// Ends a run. Returns whether it has ended.
pub async fn end_run(state: &AppState, run: &str, has_ended: bool) -> ApiResult<bool> {
    if has_ended {
        return Ok(true);
    }
    if state.local.request_cancel(run) {
        return Ok(false);
    }
    match state.runs.cancel_run(run).await {
        Ok(RunCancellation::Ended(_)) | Err(Error::Store(trefoil_store::StoreError::Ended { .. })) => Ok(true),
        Ok(RunCancellation::Asked(_)) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// What a run may do from now on. Absent: nothing else than before.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ResumeBody {
    /// Allow the tools and commands of these steps to run again even if that may not be safe; `*`: of all steps.
    #[serde(default)]
    pub rerun: Vec<String>,
    /// The most model calls of the run.
    #[serde(default)]
    pub max_calls: Option<u64>,
    /// The most that the run may cost, in US dollars.
    #[serde(default)]
    pub max_cost: Option<f64>,
}

async fn admit_changed(
    state: &AppState,
    caller: &Caller,
    record: &Record,
    limits: RunLimits,
) -> ApiResult<StartAllowance> {
    let allowance = state.gate.admit_resume(caller, record).await?;
    if allowance.is_budgeted() && limits.cost_micro.is_some() {
        // What the run may cost was taken from the budget of a day when it started.
        let detail = "a budget of the day holds for the run, so its limit of cost cannot be changed";
        return Err(
            Problem::new_conflict("BUDGETED_RUN", detail).with_help("fork it, with a higher limit (`max_cost`)")
        );
    }
    Ok(allowance)
}

/// Continues a run that has failed, was interrupted, or was answered, or that stopped before what `rerun` or a limit now allows. Nothing that
/// it has paid for is repeated.
#[utoipa::path(post, path = "/api/v1/runs/{run}/resume", tag = "runs", params(("run" = String, Path),
    ("Idempotency-Key" = Option<String>, Header, description = "The same key again: the run is continued once")), request_body = ResumeBody,
    responses((status = 202, description = "It goes on", body = RunSummary), (status = 200, description = "It had completed: there is nothing to continue", body = RunSummary), (status = 409, body = Problem, description = "It does not fit how things stand"), (status = 410, body = Problem, description = "The store has removed the content of the run"), (status = 422, body = Problem, description = "It cannot run, or is not accepted")))]
pub async fn resume_run(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
    Path(run): Path<String>,
    headers: HeaderMap,
    JsonBody(body): JsonBody<ResumeBody>,
) -> ApiResult<Response> {
    caller.require_scope(KeyScope::Run)?;
    let record = state.find_startable_run(&caller, &run).await?;
    let had_completed = record.status == Status::Completed;
    let limits = run_limits(RunLimitsRequest { calls: body.max_calls, cost_usd: body.max_cost })?;
    let permission = ResumePermission { rerun: body.rerun, limits };
    let asked = match permission == ResumePermission::default() {
        true => json!(["resume", record.run]),
        false => json!(["resume", record.run, permission.rerun, limits.calls, limits.cost_micro]),
    };
    let mut request = KeyedRequest::read_request(&state, &caller, &headers, &asked).await?;
    let was_resumed = match &request {
        Some(request) => request.was_resumed(&state).await?,
        None => false,
    };
    if !was_resumed {
        // Others under the same limits wait until the run is claimed.
        let _allowance = match had_completed {
            true => None,
            false => Some(admit_changed(&state, &caller, &record, limits).await?),
        };
        if let Some(request) = &mut request {
            request.note_request(&state, &record.run).await?;
        }
        let resumed = state.local.resume_run(&state.engines, &record.run, &permission).await?;
        if let Some(request) = &request {
            request.await_resumed(&state, resumed).await?;
        }
    }
    let record = state.runs.record(&record.run).await?;
    let status = if had_completed { StatusCode::OK } else { StatusCode::ACCEPTED };
    Ok((status, JsonResponse(RunSummary::from(&record))).into_response())
}

/// Deletes a run that no process works on, with the runs that it has called: one that has ended, or one that waits, with its questions.
#[utoipa::path(delete, path = "/api/v1/runs/{run}", tag = "runs", params(("run" = String, Path)),
    responses((status = 204, description = "It is deleted"), (status = 409, body = Problem, description = "It does not fit how things stand")))]
pub async fn delete_run(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
    Path(run): Path<String>,
) -> ApiResult<StatusCode> {
    caller.require_scope(KeyScope::Run)?;
    let record = state.find_run(&caller, &run).await?;
    delete_with_called(&state, &record.run).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Deletes a run, and those that it has called.
pub async fn delete_with_called(state: &AppState, run: &str) -> ApiResult<()> {
    let planned = plan_deletion(&**state.store(), &[run.to_owned()], false).await;
    let deletion = planned.map_err(|refusal| match refusal {
        DeletionRefusal::PartOfCaller { run, caller } => {
            let detail = format!("run {run} is a part of run {caller}, which may call it again");
            Problem::new_conflict("PART_OF_RUN", detail).with_help(format!("delete run {caller} instead"))
        }
        DeletionRefusal::NeededBy { run, open } => {
            let detail = format!("run {open} has not ended, and reuses results of run {run}");
            Problem::new_conflict("RUN_NEEDED", detail).with_help(format!("cancel run {open} first"))
        }
        DeletionRefusal::Store(error) => error.into(),
    })?;
    let top = state.store().record(run).await?;
    let mut spent_micro = 0;
    for (run, _) in &deletion.runs {
        spent_micro += state.store().record(run).await?.spent.usage.cost_micro;
    }
    for (run, _) in &deletion.runs {
        // Whoever gave the answer was told that the run goes on with it.
        let inbox = state.store().read_inbox(run).await?;
        if inbox.iter().any(|posted| posted.message.is_answer()) && !state.store().record(run).await?.status.is_end() {
            let problem = Problem::new_conflict("RUN_HELD", format!("run {run} has an answer with which it goes on"));
            return Err(problem.with_help("cancel the run first").with_retry_after(1));
        }
    }
    for (run, _) in &deletion.runs {
        state.store().delete_run(run, state.store().clock().wall_ms()).await?;
    }
    state.gate.note_deletion(&top, spent_micro).await
}
