//! How a run ended for somebody who waits for its result.

use std::time::Duration;

use http::StatusCode;
use serde_json::{Value as Json, json};
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use trefoil_host::durable::{read_outcome, suspension_reason};
use trefoil_host::stored_runs::waiting_steps;
use trefoil_machine::event::AwaitedActivity;
use trefoil_project::Error;
use trefoil_runtime::{RunOutcome, Usage};
use trefoil_store::{Record, Status};

use super::errors::OpenAiError;
use crate::problem::{ApiResult, Problem};
use crate::serving_phase::ServingPhase;
use crate::state::AppState;

/// Time between looks at a run that another process drives.
const PAUSE: Duration = Duration::from_millis(100);

/// What came of a run.
pub struct RunAnswer {
    /// Its result: a text as it is, anything else as JSON.
    pub text: String,
    /// The tokens of all its calls, as OpenAI has them; null if those of a call are unknown.
    pub usage: Json,
}

impl RunAnswer {
    fn of_outcome(outcome: &RunOutcome) -> Option<Self> {
        let result = outcome.result.as_ref().ok()?;
        Some(Self { text: result.to_text().to_string(), usage: usage_json(&outcome.usage) })
    }
}

fn usage_json(usage: &Usage) -> Json {
    if usage.unknown_calls > 0 {
        return Json::Null;
    }
    let (input, output) = (usage.input_tokens, usage.output_tokens);
    json!({
        "prompt_tokens": input,
        "completion_tokens": output,
        "total_tokens": input.saturating_add(output),
        "prompt_tokens_details": { "cached_tokens": usage.cached_tokens },
    })
}

/// Waits until a run has ended, or does not go on without a person.
///
/// # Errors
///
/// 502 if it has failed, 409 if it waits for a person, 503 if the server is stopping.
pub async fn await_ending(
    state: &AppState,
    run: &str,
    outcome: Option<oneshot::Receiver<RunOutcome>>,
) -> Result<RunAnswer, OpenAiError> {
    let ended = find_ending(state, run, outcome).await;
    ended.map_err(|error| error.with_run(run))
}

async fn find_ending(
    state: &AppState,
    run: &str,
    outcome: Option<oneshot::Receiver<RunOutcome>>,
) -> Result<RunAnswer, OpenAiError> {
    if let Some(outcome) = outcome
        && let Ok(outcome) = outcome.await
        && let Some(answer) = RunAnswer::of_outcome(&outcome)
    {
        return Ok(answer);
    }
    loop {
        let record = state.runs.record(run).await.map_err(Problem::from)?;
        if let Some(answer) = ending_of(state, record).await? {
            return Ok(answer);
        }
        let stops = tokio::time::timeout(PAUSE, state.phase.wait_phase(ServingPhase::Closing)).await;
        if stops.is_ok() {
            let detail = format!("the server is stopping; run {run} is continued by another process");
            return Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, "STOPPING", detail).into());
        }
    }
}

/// What came of a run so far. `None`: it goes on by itself.
async fn ending_of(state: &AppState, record: Record) -> Result<Option<RunAnswer>, OpenAiError> {
    match record.status {
        Status::Completed => {
            let outcome = read_outcome(&**state.store(), record).await.map_err(Problem::from)?;
            Ok(RunAnswer::of_outcome(&outcome))
        }
        Status::Failed | Status::Cancelled => {
            let (code, message) =
                record.error.unwrap_or_else(|| ("CANCELLED".to_owned(), "the run was cancelled".to_owned()));
            Err(OpenAiError::new(StatusCode::BAD_GATEWAY, &code, format!("run {} failed: {message}", record.run)))
        }
        Status::Waiting => match waiting_error(state, &record).await? {
            Some(error) => Err(error),
            None => Ok(None),
        },
        _ => Ok(None),
    }
}

/// Why a run that waits does not go on by itself. `None`: it waits for a time, or was answered.
async fn waiting_error(state: &AppState, record: &Record) -> ApiResult<Option<OpenAiError>> {
    let waiting = waiting_steps(state.store(), record).await.map_err(Error::from)?;
    let mut open: Vec<&AwaitedActivity> = Vec::new();
    for item in &waiting {
        if item.settled.is_none() && (item.prompt.is_some() || item.is_unknown()) {
            open.push(item);
        }
    }
    let Some(first) = open.first() else {
        let stopped = suspension_reason(&**state.store(), record).await?;
        return Ok(stopped.map(|why| {
            let message = format!("run {} has stopped: {}", record.run, why.message);
            OpenAiError::new(StatusCode::CONFLICT, &why.code, message)
        }));
    };
    let mut questions = Vec::new();
    for item in &open {
        let mut question = item.describe_question(&item.step);
        if !item.accepts.is_empty() {
            question.push_str(&format!(" (answers: `{}`)", item.accepts.join("`, `")));
        }
        questions.push(question);
    }
    let body = json!({ "step": first.step_path(), "value": "ANSWER" });
    let message = format!(
        "run {run} waits for a person: {}; to answer: POST /api/v1/runs/{run}/answers {body}",
        questions.join("; "),
        run = record.run,
    );
    Ok(Some(OpenAiError::new(StatusCode::CONFLICT, "waiting_for_person", message)))
}

/// Cancels a run when it is dropped: its client has left, and nobody else waits for the result.
pub struct AbandonedRun {
    state: AppState,
    run: Option<String>,
}

impl AbandonedRun {
    /// For a run that was just started. `keep`: it goes on without its client.
    pub fn of_run(state: &AppState, run: &str, keep: bool) -> Self {
        let run = if keep { None } else { Some(run.to_owned()) };
        Self { state: state.clone(), run }
    }

    /// The client has its answer.
    pub fn keep_running(mut self) {
        self.run = None;
    }
}

impl Drop for AbandonedRun {
    fn drop(&mut self) {
        let Some(run) = self.run.take() else { return };
        // A server that stops leaves its runs to others.
        if self.state.phase.is_stopping() {
            return;
        }
        let Ok(runtime) = Handle::try_current() else { return };
        let state = self.state.clone();
        runtime.spawn(async move {
            // It may have ended by now. If the store cannot be reached, the run goes on, which is only a waste.
            let _ = state.runs.cancel_run(&run).await;
        });
    }
}
